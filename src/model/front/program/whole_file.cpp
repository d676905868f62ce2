#include "model/front/program/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "model/front/program/options.h"

namespace syncopate::instrument {

namespace {

constexpr mode_t new_mode = 0666;  // less the umask

bool is_own_output(std::string_view path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") ||
         path.starts_with("/proc/self/fd/");
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Returns: 0, or the error. Some file systems tell of a full disk at close() alone.
int write_and_close(int file, std::string_view text) {
  int error = write_all(file, text) ? 0 : errno;
  if (::close(file) != 0 && error == 0) error = errno;
  return error;
}

// A name in the same folder that ends as the file's does.
std::string beside(const std::string& path) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  char mark[64];
  std::snprintf(mark, sizeof mark, ".%d.%09ld.", static_cast<int>(::getpid()), now.tv_nsec);
  const std::size_t name = path.rfind('/') + 1;  // npos + 1 is 0
  return path.substr(0, name) + mark + path.substr(name);
}

int replace(const std::string& path, std::string_view text, const struct stat* before) {
  const std::string partial = beside(path);
  const int file =
      ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, new_mode);
  if (file < 0) return errno;
  if (before != nullptr) (void)!::fchmod(file, before->st_mode & 07777);
  int error = write_and_close(file, text);
  if (error == 0 && ::rename(partial.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(partial.c_str());
  return error;
}

int put(const std::string& path, std::string_view text) {
  struct stat before {};
  const bool is_there = ::stat(path.c_str(), &before) == 0;
  if (!is_own_output(path) && (!is_there || S_ISREG(before.st_mode)))
    return replace(path, text, is_there ? &before : nullptr);
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  return file < 0 ? errno : write_and_close(file, text);
}

}  // namespace

bool write_whole_file(const std::string& path, std::string_view text) {
  struct stat itself {};
  if (!is_own_output(path) && ::lstat(path.c_str(), &itself) == 0 && S_ISLNK(itself.st_mode)) {
    complain("%s is a symbolic link; name the file itself", path.c_str());
    return false;
  }
  const int error = put(path, text);
  if (error != 0) complain("cannot write %s: %s", path.c_str(), std::strerror(error));
  return error == 0;
}

}  // namespace syncopate::instrument
