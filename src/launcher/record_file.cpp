#include "launcher/record_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "base/json.h"
#include "record/format.h"

namespace syncopate::launcher {
namespace {

constexpr off_t first_bytes = 160 * 1024;  // FIRST_BYTES of syncopate/records/recordformat.py

// Whether a folder has a file NAME.PID or NAME.old.PID, records of child processes; true also where
// it cannot be read.
bool has_children(const std::string& record) {
  const std::size_t slash = record.rfind('/');
  const std::string name = record.substr(slash + 1) + ".";
  DIR* const folder = opendir(record.substr(0, slash + 1).c_str());
  if (folder == nullptr) return true;
  bool found = false;
  while (const dirent* const entry = readdir(folder)) {
    std::string_view rest = entry->d_name;
    if (!rest.starts_with(name)) continue;
    rest.remove_prefix(name.size());
    if (rest.starts_with("old.")) rest.remove_prefix(4);
    if (!rest.empty() && std::isdigit(static_cast<unsigned char>(rest[0])) != 0) found = true;
  }
  closedir(folder);
  return found;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// What the Python command's keep_measured() writes where there is no meter of energy.
std::string measured(const child& ended) {
  rusage used;
  getrusage(RUSAGE_CHILDREN, &used);
  const auto microseconds = (ended.ended_ns - ended.begun_ns + 500) / 1000;
  json_writer json;
  json.begin_object();
  json.member("seconds", static_cast<double>(microseconds) / 1e6);
  json.member("user_seconds", seconds_of(used.ru_utime));
  json.member("system_seconds", seconds_of(used.ru_stime));
  json.key("meters");
  json.begin_array();
  json.end_array();
  json.key("rejected");
  json.begin_array();
  json.end_array();
  json.end_object();
  return json.text();
}

bool is_whole(const record::file_header& header, const child& ended) {
  return std::memcmp(header.magic, record::magic, sizeof header.magic) == 0 &&
         header.version == record::version && (header.flags & record::disk_full) == 0 &&
         header.unrecorded_children == 0 &&
         header.process_id == static_cast<std::uint32_t>(ended.process);
}

bool write_at(int file, std::size_t offset, const void* data, std::size_t size) {
  return pwrite(file, data, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

// While there, a file that may not grow is an error, and ends nobody.
class growth_may_fail {
 public:
  growth_may_fail() : before_(std::signal(SIGXFSZ, SIG_IGN)) {}
  growth_may_fail(const growth_may_fail&) = delete;
  growth_may_fail& operator=(const growth_may_fail&) = delete;
  ~growth_may_fail() { std::signal(SIGXFSZ, before_); }

 private:
  const sighandler_t before_;
};

}  // namespace

bool make_room(const std::string& record) {
  const growth_may_fail here;
  if (has_children(record)) return false;
  struct stat found;
  if (lstat(record.c_str(), &found) == 0) {
    if (!S_ISREG(found.st_mode)) return false;
    if (std::rename(record.c_str(), (record + ".old").c_str()) != 0) return false;
  }
  const int file = open(record.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool room = posix_fallocate(file, 0, first_bytes) == 0;
  close(file);
  unlink(record.c_str());
  return room;
}

bool complete(const std::string& record, const child& ended) {
  const growth_may_fail here;
  if (has_children(record)) return false;
  const int file = open(record.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
  if (file < 0) return false;
  record::file_header header;
  bool done = pread(file, &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header) &&
              is_whole(header, ended);
  if (done) {
    std::string text = measured(ended);
    done = text.size() <= sizeof header.measured;
    text.resize(sizeof header.measured);
    const auto at = static_cast<std::uint64_t>(ended.ended_ns);
    done = done &&
           write_at(file, offsetof(record::file_header, measured), text.data(), text.size()) &&
           write_at(file, offsetof(record::file_header, ended_monotonic_ns), &at, sizeof at);
  }
  close(file);
  return done;
}

}  // namespace syncopate::launcher
