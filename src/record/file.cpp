// file.cpp -- making, mapping and growing the record file.
#include "record/file.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace syncopate::record {

constinit std::atomic<file_header*> header{nullptr};

namespace {

struct {
  tiny_lock growth;
  int fd = -1;
  dev_t device = 0;
  ino_t inode = 0;
  std::size_t mapped = 0;
  file_header* parents = nullptr;  // in a fork's child that has not told its parent's file yet
  bool stopped = false;            // no growth any more; under `growth`, read without it as a hint
} constinit file;
constinit char file_path[longest_path + 32] = {};

constexpr char zeros[4096] = {};

// 0, or why not, as -errno.
long is_other(int fd) noexcept {
  struct stat now {};
  if (fd < 0) return -EBADF;
  if (const long result = sys::fstat(fd, &now); result != 0) return result;
  return now.st_dev == file.device && now.st_ino == file.inode ? 0 : -EBADF;
}
bool is_ours(int fd) noexcept { return is_other(fd) == 0; }

// Moves a descriptor out of the way of programs that expect theirs to be numbered 3, 4, ...
// Below 1,024 because tables of descriptors grow with the highest one.
int move_high(int fd) noexcept {
  const rlim_t limit = sys::limit(RLIMIT_NOFILE);
  const int top = limit < 1024 ? static_cast<int>(limit) : 1024;
  for (int lowest = top - 8; lowest > 16; lowest /= 2) {
    const long high = sys::call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest);
    if (high < 0) continue;
    sys::close(fd);
    return static_cast<int>(high);
  }
  return fd;
}

// I3. Our descriptor, opened anew by path if the program has closed it. Returns 0, or -EBADF where
// it is lost, -EPERM where the process may not even ask.
long lacks_descriptor() noexcept {
  const long known = is_other(file.fd);
  if (known == 0 || sys::is_refused(known)) return known == 0 ? 0 : -EPERM;
  const int fd = sys::open(file_path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return sys::is_refused(fd) ? -EPERM : -EBADF;
  if (!is_ours(fd)) {
    sys::close(fd);
    return -EBADF;
  }
  file.fd = move_high(fd);
  return 0;
}

// Zeros by the kernel's own way into the file, which makes all their pages ready at once: a store
// to a page that is not costs 2.7 us here, these and a first store 0.9. What fails is left to that.
void make_ready(std::size_t offset, std::size_t bytes) noexcept {
  constexpr std::size_t pages = 17;          // a first chunk of a table has 64 KiB of items
  if (bytes > pages * sizeof zeros) return;  // a large table's, most of which may stay unused
  iovec parts[pages];
  for (iovec& part : parts) part = {const_cast<char*>(zeros), sizeof zeros};
  sys::call(SYS_pwritev, file.fd, parts, bytes / sizeof zeros, offset, 0);
}

long write_zeros(std::size_t offset, std::size_t bytes) noexcept {
  while (bytes != 0) {
    const std::size_t part = bytes < sizeof zeros ? bytes : sizeof zeros;
    const long n = sys::call(SYS_pwrite64, file.fd, zeros, part, offset);
    if (n == -EINTR) continue;
    if (n <= 0) return n < 0 ? n : -ENOSPC;
    offset += static_cast<std::size_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
  return 0;
}

// I1. Requires: file.fd is ours. Returns 0 or -errno.
long reserve_space(std::size_t offset, std::size_t bytes) noexcept {
  // Growing beyond the limit would raise SIGXFSZ in the program, so the limit is asked first.
  if (offset + bytes > sys::limit(RLIMIT_FSIZE)) return -EFBIG;
  long result;
  do {
    result = sys::call(SYS_fallocate, file.fd, 0, offset, bytes);
  } while (result == -EINTR);
  if (result == -EOPNOTSUPP || sys::is_refused(result)) return write_zeros(offset, bytes);
  if (result == 0) make_ready(offset, bytes);
  return result;
}

void stop_growing(file_flag why) noexcept {
  file.stopped = true;
  set_flag(why);
}

// Why there is no room, from what the system said.
void stop_growing_without_room(long result) noexcept {
  if (result == -EBADF) return stop_growing(descriptor_lost);
  if (result == -EFBIG) set_flag(size_limited);
  if (result == -ENOMEM) set_flag(space_limited);
  if (sys::is_refused(result)) set_flag(growth_refused);
  stop_growing(disk_full);
}

void append_number(char* path, char separator, std::uint32_t number) noexcept {
  char* end = path + std::strlen(path);
  *end++ = separator;
  sys::put_number(end, number);
}

// Returns a descriptor of a file that did not exist before, or -errno.
int create_file(const char* path) noexcept {
  std::strcpy(file_path, path);
  constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  int fd = sys::open(file_path, flags, 0600);
  if (fd != -EEXIST) return fd;
  // Beside a file, but not beside a folder or a device.
  struct stat there {};
  if (sys::call(SYS_newfstatat, AT_FDCWD, file_path, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode))
    return S_ISDIR(there.st_mode) ? -EISDIR : -EINVAL;
  append_number(file_path, '.', sys::process_id());
  const std::size_t length = std::strlen(file_path);
  fd = sys::open(file_path, flags, 0600);
  for (std::uint32_t n = 1; fd == -EEXIST && n < 1000; ++n) {
    file_path[length] = 0;
    append_number(file_path, '.', n);
    fd = sys::open(file_path, flags, 0600);
  }
  return fd;
}

// Maps the largest range that this process may have; nullptr when none.
file_header* map_file() noexcept {
  std::size_t bytes = std::size_t{16} << 30;
  bool limited = sys::limit(RLIMIT_AS) != RLIM_INFINITY;
  for (; bytes >= (std::size_t{1} << 20); bytes /= 2) {
    const long at = sys::call(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_NORESERVE, file.fd, 0);
    if (at < 0 && at > -4096) continue;
    if (limited) {  // this is all that the program could have: take at most a quarter of it
      sys::call(SYS_munmap, at, bytes);
      bytes /= 2;
      limited = false;
      continue;
    }
    file.mapped = bytes;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel and registers give numbers
    return reinterpret_cast<file_header*>(at);
  }
  return nullptr;
}

// What of a mapped file stays mapped: a page of any size has the header.
constexpr std::size_t nothing = 0, its_header = 65536;

void let_go(std::size_t keep) noexcept {
  file_header* h = header.exchange(nullptr, std::memory_order_acq_rel);  // [H]
  file.growth.reset();
  if (h != nullptr) {
    sys::call(SYS_munmap, reinterpret_cast<char*>(h) + keep, file.mapped - keep);
    if (keep != nothing) file.parents = h;
  }
  if (is_ours(file.fd)) sys::close(file.fd);
  file.fd = -1;
}

// Arguments may hold passwords: leaves the program's name. A process that wrote a title over them,
// as servers do, has them in its first word: then its executable is its name.
template <std::size_t size, std::size_t of_path>
void redact(char (&command)[size], const char (&executable)[of_path]) noexcept {
  constexpr char instead[] = "(arguments left out)";
  static_assert(of_path + sizeof instead < size);
  const bool has_title =
      std::strchr(command, ' ') != nullptr && std::strcmp(command, executable) != 0;
  if (has_title) std::memcpy(command, executable, of_path);
  char* const rest = command + ::strnlen(command, size - sizeof instead - 1) + 1;
  const bool any = has_title || *rest != 0;
  std::memset(rest, 0, static_cast<std::size_t>(command + size - rest));
  if (any) std::memcpy(rest, instead, sizeof instead);
}

// What does not fit is cut, and the end says so: half an argument looks like a whole one.
template <std::size_t size>
void read_command(char (&command)[size]) noexcept {
  constexpr char cut[] = "...";
  if (sys::read_file("/proc/self/cmdline", command, size) == size)
    std::memcpy(command + size - sizeof cut, cut, sizeof cut);
}

void fill_header(file_header& h) noexcept {
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  h.version = version;
  h.header_bytes = sizeof h;
  h.process_id = sys::process_id();
  // The kernel names whoever took in a child whose parent has ended; and a parent that has recorded
  // nothing has no file.
  h.parent_id = file.parents != nullptr ? file.parents->process_id
                                        : static_cast<std::uint32_t>(sys::call(SYS_getppid));
  h.start_ticks = h.last_ticks = machine::ticks();
  h.start_monotonic_ns = h.last_monotonic_ns = machine::now();
  h.start_realtime_ns = static_cast<std::uint64_t>(wall.tv_sec) * 1'000'000'000u +
                        static_cast<std::uint64_t>(wall.tv_nsec);
  h.processors = static_cast<std::uint32_t>(machine::processors());
  h.ticks_per_second = machine::ticks_per_second();
  sys::call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", h.executable, sizeof h.executable - 1);
  read_command(h.command);
  const char* const asked = std::getenv("SYNCOPATE_REDACT");
  if (asked != nullptr && std::strcmp(asked, "0") != 0) redact(h.command, h.executable);
  publish(h.bytes_used, sizeof h);
  std::memcpy(h.magic, magic, sizeof h.magic);
}

}  // namespace

bool make_absolute(const char* path, char (&to)[longest_path]) noexcept {
  std::size_t used = 0;
  if (path[0] != '/') {
    const long n = sys::call(SYS_getcwd, to, sizeof to);
    if (n <= 1 || to[0] != '/') return false;
    used = static_cast<std::size_t>(n) - 1;
    if (used > 1) to[used++] = '/';
  }
  const std::size_t length = std::strlen(path);
  if (used + length >= sizeof to) return false;
  std::memcpy(to + used, path, length + 1);
  return true;
}

int open_record(const char* path) noexcept {
  const int fd = create_file(path);
  if (fd < 0) return -fd;
  file.fd = move_high(fd);
  file.stopped = false;
  struct stat made {};
  long result = sys::fstat(file.fd, &made);
  if (result == 0) {
    file.device = made.st_dev;
    file.inode = made.st_ino;
    result = reserve_space(0, sizeof(file_header));
  }
  file_header* mapped = result == 0 ? map_file() : nullptr;
  if (mapped == nullptr) {
    discard_record();
    return result < 0 ? static_cast<int>(-result) : ENOMEM;
  }
  fill_header(*mapped);
  header.store(mapped, std::memory_order_release);  // [H]
  return 0;
}

void discard_record() noexcept {
  sys::call(SYS_unlinkat, AT_FDCWD, file_path, 0);
  let_go(nothing);
}

void set_flag(file_flag flag) noexcept {
  file_header* h = header.load(std::memory_order_acquire);  // [H]
  if (h != nullptr && (load(h->flags) & flag) == 0)
    __atomic_fetch_or(&h->flags, flag, __ATOMIC_RELAXED);  // [W]
}

void give_up() noexcept {
  if (!std::exchange(enabled, false)) return;
  file_header* h = header.load(std::memory_order_acquire);  // [H]
  if (h == nullptr) return;
  store(h->last_ticks, machine::ticks());
  store(h->last_monotonic_ns, machine::now());
  set_flag(gave_up);
}

chunk_header* grow(chunk_kind kind, std::size_t bytes, std::uint32_t first) noexcept {
  bytes = round_up(bytes, 4096);
  if (load(file.stopped)) return nullptr;
  holding lock(file.growth);
  if (!lock) {
    give_up();
    return nullptr;
  }
  file_header* h = header.load(std::memory_order_acquire);  // [H]
  if (h == nullptr || file.stopped) return nullptr;
  const std::size_t offset = h->bytes_used;
  if (offset + bytes > file.mapped) {
    stop_growing_without_room(-ENOMEM);
    return nullptr;
  }
  if (const long result = lacks_descriptor(); result != 0) {
    stop_growing_without_room(result);
    return nullptr;
  }
  if (const long result = reserve_space(offset, bytes); result != 0) {
    stop_growing_without_room(result);
    return nullptr;
  }
  auto* chunk = reinterpret_cast<chunk_header*>(reinterpret_cast<char*>(h) + offset);
  chunk->kind = static_cast<std::uint32_t>(kind);
  chunk->bytes = static_cast<std::uint32_t>(bytes);
  chunk->first = first;
  chunk->ticks = machine::ticks();
  publish(h->bytes_used, offset + bytes);  // I2
  return chunk;
}

void leave_file() noexcept { let_go(its_header); }

void count_quiet_children(int more) noexcept {
  if (file.parents == nullptr) return;
  __atomic_fetch_add(&file.parents->quiet_children, static_cast<std::uint32_t>(more),
                     __ATOMIC_RELAXED);  // [W]
}

void tell_parents_file(int error) noexcept {
  count_quiet_children(-1);
  file_header* const h = std::exchange(file.parents, nullptr);
  if (h == nullptr) return;
  if (error != 0) {
    __atomic_store_n(&h->unrecorded_error, static_cast<std::uint32_t>(error),
                     __ATOMIC_RELAXED);                                // [W]
    __atomic_fetch_add(&h->unrecorded_children, 1, __ATOMIC_RELAXED);  // [W]
  }
  sys::call(SYS_munmap, h, its_header);
}

}  // namespace syncopate::record
