#include "model/front/program/begun_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio_ext.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/front/libc/libc_range.h"
#include "model/front/program/options.h"

namespace syncopate::instrument {

namespace {

constexpr int lowest_descriptor = 150;  // the program's own stay the numbers that they are
constexpr std::size_t most_input = std::size_t{1} << 30;
constexpr int patience_ms = 2000;

struct begun_file {
  int number;
  int descriptor_flags, status_flags;
  off_t at;              // where it stood; -1: it is no file, or others are told by it
  int copy = -1;         // while the program may have another one there
  bool changed = false;  // its status flags
};

// One of the C library's three streams. Its buffer must not lie in the program's heap, which goes
// back in time, nor among its variables.
class standard_stream {
 public:
  standard_stream(std::FILE* stream, int file, const char* mode)
      : stream_(stream), file_(file), mode_(mode) {
    // (Standard output has one of ours.)
    if (file == STDIN_FILENO) std::setvbuf(stream, new char[usual], _IOFBF, usual);
    if (file == STDERR_FILENO) std::setvbuf(stream, nullptr, _IONBF, 0);
    buffer_ = stream->_IO_buf_base;
    bytes_ = static_cast<std::size_t>(stream->_IO_buf_end - buffer_);
    by_line_ = ::__flbf(stream) != 0;
  }
  // (glibc has no other way to have one again that was closed.)
  void restore() const {
    if (stream_->_fileno < 0 && ::freopen("/dev/null", mode_, stream_) == nullptr) return;
    if (stream_->_fileno != file_) {
      ::close(stream_->_fileno);
      stream_->_fileno = file_;
    }
    ::clearerr(stream_);
    stream_->_mode = 0;  // neither of bytes nor of wide characters
    if (stream_->_IO_buf_base == buffer_ && (::__flbf(stream_) != 0) == by_line_) return;
    if (bytes_ <= 1) std::setvbuf(stream_, nullptr, _IONBF, 0);
    else std::setvbuf(stream_, buffer_, by_line_ ? _IOLBF : _IOFBF, bytes_);
  }

 private:
  static constexpr std::size_t usual = 4096;

  std::FILE* stream_;
  int file_;
  const char* mode_;
  char* buffer_;
  std::size_t bytes_;
  bool by_line_;
};

struct begun_files {
  std::vector<begun_file> all;
  std::vector<standard_stream> streams;
  // Standard input gives what it has once.
  bool flows = false;
  int waiting = 0;  // bytes that had come when it was looked at last
};
constinit begun_files* kept = nullptr;
constinit bool is_part = false;  // of a search that several processes make

begun_file* find(int number) {
  if (kept == nullptr) return nullptr;
  const auto at = std::find_if(kept->all.begin(), kept->all.end(),
                               [&](const begun_file& each) { return each.number == number; });
  return at != kept->all.end() ? &*at : nullptr;
}

// Who writes a file goes on behind what the last execution has written: its text is shown so.
off_t place_in(int file, int status_flags) {
  struct stat kind {};
  if ((status_flags & O_ACCMODE) != O_RDONLY || ::fstat(file, &kind) != 0 || !S_ISREG(kind.st_mode))
    return -1;
  return ::lseek(file, 0, SEEK_CUR);
}

bool gives_once(int file) {
  struct stat kind {};
  if (::fstat(file, &kind) != 0) return false;
  return S_ISFIFO(kind.st_mode) || S_ISSOCK(kind.st_mode) ||
         (S_ISCHR(kind.st_mode) && ::isatty(file) != 0);
}

int bytes_waiting() {
  int bytes = 0;
  return ::ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 ? bytes : 0;
}

// Whether nobody can send more.
bool has_ended() {
  pollfd one{STDIN_FILENO, POLLIN | POLLRDHUP, 0};
  return ::poll(&one, 1, 0) == 1 && (one.revents & (POLLHUP | POLLRDHUP)) != 0;
}

void tell_of_waiting() {
  pollfd one{STDIN_FILENO, POLLIN, 0};
  if (::isatty(STDIN_FILENO) != 0 || ::poll(&one, 1, patience_ms) == 0)
    complain("standard input is read to its end first: each execution reads it anew");
}

void put_all(int to, const char* from, std::size_t bytes) {
  while (bytes != 0) {
    const ssize_t n = SYNCOPATE_REAL(write)(to, from, bytes);
    if (n <= 0) fail("standard input cannot be kept: %s", std::strerror(errno));
    from += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

// Where it ends, it is a file from now on.
void read_input_to_its_end() {
  const int all = ::memfd_create("standard input", MFD_CLOEXEC);
  if (all < 0) fail("standard input cannot be kept: %s", std::strerror(errno));
  static char some[1 << 16];
  for (std::size_t bytes = 0;;) {
    const ssize_t n = SYNCOPATE_REAL(read)(STDIN_FILENO, some, sizeof some);
    if (n < 0 && errno == EAGAIN) {
      pollfd one{STDIN_FILENO, POLLIN, 0};
      ::poll(&one, 1, -1);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    bytes += static_cast<std::size_t>(n);
    if (bytes > most_input)
      fail("standard input does not end: each execution has to read all of it");
    put_all(all, some, static_cast<std::size_t>(n));
  }
  ::lseek(all, 0, SEEK_SET);
  ::dup2(all, STDIN_FILENO);
  ::close(all);
  kept->flows = false;
  if (begun_file* const input = find(STDIN_FILENO); input != nullptr) {
    input->at = 0;
    input->status_flags = ::fcntl(STDIN_FILENO, F_GETFL);
  }
}

// By a call that is not seen.
bool input_was_read() { return stdin->_IO_read_base != nullptr || bytes_waiting() < kept->waiting; }

void forget_what_was_read() {
  ::__fpurge(stdin);
  stdin->_offset = -1;  // the stream does not know where the file stands
}

}  // namespace

void keep_begun_files() {
  kept = new begun_files;
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return;
  const int own = ::dirfd(folder);
  while (const dirent* const entry = ::readdir(folder)) {
    const int number = std::atoi(entry->d_name);
    if (entry->d_name[0] == '.' || number == own) continue;
    const int status_flags = ::fcntl(number, F_GETFL);
    kept->all.push_back(
        {number, ::fcntl(number, F_GETFD), status_flags, place_in(number, status_flags)});
  }
  ::closedir(folder);
  kept->streams = {
      {stdin, STDIN_FILENO, "r"}, {stdout, STDOUT_FILENO, "w"}, {stderr, STDERR_FILENO, "w"}};
  kept->flows = gives_once(STDIN_FILENO);
  if (!kept->flows) return;
  if (has_ended()) read_input_to_its_end();
  else kept->waiting = bytes_waiting();
}

void restore_begun_files() {
  if (kept->flows && input_was_read()) {
    if (is_part) ::_exit(1);
    fail(
        "the program has read standard input, of which no other execution can read the same: give"
        " it a file");
  }
  for (begun_file& each : kept->all) {
    if (each.copy >= 0) {
      ::dup3(each.copy, each.number, each.descriptor_flags == FD_CLOEXEC ? O_CLOEXEC : 0);
      ::close(each.copy);
      each.copy = -1;
    }
    if (each.changed) ::fcntl(each.number, F_SETFL, each.status_flags);
    each.changed = false;
    if (each.at >= 0) ::lseek(each.number, each.at, SEEK_SET);
  }
  for (const standard_stream& each : kept->streams) each.restore();
  if (!kept->flows) forget_what_was_read();
}

void part_begun_files() {
  is_part = true;
  for (const begun_file& each : kept->all) {
    if (each.at < 0) continue;
    char path[40];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", each.number);
    const int own = ::open(path, each.status_flags | O_CLOEXEC);
    if (own < 0) continue;
    ::dup3(own, each.number, each.descriptor_flags == FD_CLOEXEC ? O_CLOEXEC : 0);
    ::close(own);
  }
}

void note_replaced(int file, engine::place where) {
  if (!by_program(where)) return;
  const engine_scope inside;
  begun_file* const one = find(file);
  if (one == nullptr || one->copy >= 0) return;
  one->copy = ::fcntl(file, F_DUPFD_CLOEXEC, lowest_descriptor);
  if (one->copy < 0) one->copy = ::fcntl(file, F_DUPFD_CLOEXEC, 3);  // few are allowed
}

void note_flags(int file, engine::place where) {
  if (!by_program(where)) return;
  if (begun_file* const one = find(file); one != nullptr) one->changed = true;
}

void note_asked(int file, engine::place where) {
  if (kept == nullptr || !kept->flows || file != STDIN_FILENO || !by_program(where)) return;
  const begun_file* const input = find(file);
  if (input == nullptr || input->copy >= 0) return;  // another one is there
  const engine_scope inside;
  // The process that shares it would not have what is read here; it makes this part itself.
  if (is_part) ::_exit(1);
  tell_of_waiting();
  read_input_to_its_end();
}

}  // namespace syncopate::instrument
