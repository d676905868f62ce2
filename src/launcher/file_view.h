// file_view.h -- a file's contents, mapped.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace syncopate::launcher {

class file_view {
 public:
  // Of a plain file; another one, one that cannot be read, and an empty one have no text.
  explicit file_view(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return;
    struct stat found;
    if (fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0) {
      const auto size = static_cast<std::size_t>(found.st_size);
      void* const start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
      if (start != MAP_FAILED) text_ = {static_cast<const char*>(start), size};
    }
    close(file);
  }
  file_view(const file_view&) = delete;
  file_view& operator=(const file_view&) = delete;
  ~file_view() {
    if (!text_.empty()) munmap(const_cast<char*>(text_.data()), text_.size());
  }

  [[nodiscard]] std::string_view text() const { return text_; }

  [[nodiscard]] bool contains(std::string_view part) const {
    return memmem(text_.data(), text_.size(), part.data(), part.size()) != nullptr;
  }

  // What stands at an offset. Returns: whether all of it is there.
  template <class T>
  bool read(std::size_t offset, T& into) const {
    if (offset > text_.size() || text_.size() - offset < sizeof into) return false;
    std::memcpy(&into, text_.data() + offset, sizeof into);
    return true;
  }

 private:
  std::string_view text_;
};

}  // namespace syncopate::launcher
