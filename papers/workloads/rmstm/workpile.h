// workpile.h -- records that threads take one by one, under a lock; and the list of the best that
// they keep in order: what the hmm programs do with sequences and models.
#pragma once

#include <type_traits>

#include "program.h"

namespace workloads::rmstm {

// Copies of all records, each once. With resources.files, they are read from a file in the section.
template <class Sections, class Record>
class workpile {
  static_assert(std::is_trivially_copyable_v<Record>);

 public:
  // Ends the program where no file can be made.
  workpile(const std::vector<Record>& all, resources inside) : all_(all) {
    if (!inside.files) return;
    file_ = std::tmpfile();
    if (file_ == nullptr ||
        std::fwrite(all.data(), sizeof(Record), all.size(), file_) != all.size())
      lose_file("cannot make a temporary file");
    std::rewind(file_);
  }
  ~workpile() {
    if (file_ != nullptr) (void)std::fclose(file_);
  }
  workpile(const workpile&) = delete;
  workpile& operator=(const workpile&) = delete;

  // The next one; null behind the last.
  std::unique_ptr<Record> next(fresh<Record>& memory) {
    memory.prepare();
    const auto held = Sections::hold(lock_);
    if (taken_ == all_.size()) return nullptr;
    std::unique_ptr<Record> result(memory.take());
    if (file_ == nullptr) *result = all_[taken_];
    else read(*result);
    ++taken_;
    return result;
  }

 private:
  void read(Record& to) {
    if (syncopate_work != nullptr) syncopate_work(1500);  // as result_lines::put()
    if (::read(fileno(file_), &to, sizeof to) != static_cast<ssize_t>(sizeof to))
      lose_file("cannot read a temporary file");
  }

  const std::vector<Record>& all_;
  std::FILE* file_ = nullptr;
  alignas(64) typename Sections::lock lock_;
  std::size_t taken_ = 0;
};

struct hit {
  std::int32_t score = 0;
  std::uint32_t sequence = 0, model = 0;
  hit* next = nullptr;
};

// Hits by score, best first; each is written as a line, too.
template <class Sections>
class hit_list {
 public:
  hit_list(resources inside, std::uint32_t threads) : lines_(inside.files, threads) {}
  ~hit_list() {
    while (first_ != nullptr) delete std::exchange(first_, first_->next);
  }
  hit_list(const hit_list&) = delete;
  hit_list& operator=(const hit_list&) = delete;

  void insert(const hit& found, fresh<hit>& memory, std::uint32_t thread) {
    memory.prepare();
    std::string line = text(found);
    const auto held = Sections::hold(lock_);
    hit* const added = memory.take();
    *added = found;
    hit** at = &first_;
    while (*at != nullptr && before(**at, found)) at = &(*at)->next;
    added->next = *at;
    *at = added;
    lines_.put(thread, std::move(line));
  }

  // The list, and then the lines in order. Requires: nobody inserts.
  [[nodiscard]] std::vector<std::string> all() {
    std::vector<std::string> result;
    for (const hit* each = first_; each != nullptr; each = each->next)
      result.push_back(text(*each));
    for (std::string& line : lines_.sorted()) result.push_back(std::move(line));
    return result;
  }

 private:
  static std::string text(const hit& h) {
    return std::to_string(h.sequence) + ' ' + std::to_string(h.model) + ": " +
           std::to_string(h.score) + '\n';
  }
  static bool before(const hit& a, const hit& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.sequence != b.sequence ? a.sequence < b.sequence : a.model < b.model;
  }

  result_lines lines_;
  alignas(64) typename Sections::lock lock_;
  hit* first_ = nullptr;
};

}  // namespace workloads::rmstm
