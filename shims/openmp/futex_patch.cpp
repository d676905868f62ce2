// futex_patch.cpp -- see futex_patch.h.
//
// A site (futex_sites.h) becomes a jump to a stub of its own, near enough for a 32-bit distance;
// the stub calls syncopate_futex_entry, repeats the comparison and jumps back. No page is ever
// writable and executable at once.

#include "openmp/futex_patch.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "openmp/futex_sites.h"

#if defined(__x86_64__)

extern "C" void syncopate_futex_entry();

namespace syncopate::openmp {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t stub_bytes = 48;
constexpr std::size_t stubs_bytes = (futex_sites::most * stub_bytes + page - 1) / page * page;

std::uint8_t* page_of(std::uint8_t* p) noexcept {
  return reinterpret_cast<std::uint8_t*>(reinterpret_cast<std::uintptr_t>(p) & ~(page - 1));
}

// The kernel's count; a program that reads no /proc is taken to have several.
bool has_one_thread() noexcept {
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[4096];
  const ssize_t length = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (length <= 0) return false;
  text[length] = '\0';
  const char* const found = std::strstr(text, "\nThreads:");
  return found != nullptr && std::strtol(found + 9, nullptr, 10) == 1;
}

// Free memory behind the code, well within the reach of a 32-bit distance.
std::uint8_t* make_room(std::uint8_t* after) noexcept {
  constexpr std::uintptr_t step = 1u << 20, farthest = 1u << 30;
  const auto from = reinterpret_cast<std::uintptr_t>(page_of(after));
  for (std::uintptr_t away = 4 * step; away < farthest; away += step) {
    void* const room =
        ::mmap(reinterpret_cast<void*>(from + away), stubs_bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (room != MAP_FAILED) return static_cast<std::uint8_t*>(room);
  }
  return nullptr;
}

class writer {
 public:
  explicit writer(std::uint8_t* at) noexcept : at_(at) {}
  template <std::size_t N>
  void code(const std::uint8_t (&bytes)[N]) noexcept {
    std::memcpy(at_, bytes, N);
    at_ += N;
  }
  void distance_to(const std::uint8_t* target) noexcept {
    const auto distance = static_cast<std::int32_t>(target - (at_ + 4));
    std::memcpy(at_, &distance, 4);
    at_ += 4;
  }
  void address(void (*function)()) noexcept { std::memcpy(at_, &function, sizeof function); }

 private:
  std::uint8_t* at_;
};

constexpr std::uint8_t jump[] = {0xe9}, nop[] = {0x90};

void write_stub(std::uint8_t* stub, const std::uint8_t* site) noexcept {
  constexpr std::uint8_t leave_red_zone[] = {0x48, 0x8d, 0x64, 0x24, 0x80};  // lea -128(%rsp),%rsp
  constexpr std::uint8_t call[] = {0xff, 0x15};                              // call *disp32(%rip)
  constexpr std::uint8_t return_to_it[] = {0x48, 0x8d, 0xa4, 0x24,
                                           0x80, 0,    0,    0};  // lea 128(%rsp),%rsp
  constexpr std::uint8_t compare[] = {0x48, 0x83, 0xf8, 0xda};    // cmp $-ENOSYS,%rax
  std::uint8_t* const entry = stub + stub_bytes - 8;
  writer w(stub);
  w.code(leave_red_zone);
  w.code(call);
  w.distance_to(entry);
  w.code(return_to_it);
  w.code(compare);
  w.code(jump);
  w.distance_to(site + futex_sites::bytes);
  writer(entry).address(syncopate_futex_entry);
}

void write_site(std::uint8_t* site, const std::uint8_t* stub) noexcept {
  writer w(site);
  w.code(jump);
  w.distance_to(stub);
  w.code(nop);
}

}  // namespace

const char* patch_futexes(const void* base) noexcept {
  const futex_sites sites = find_futex_sites(base);
  if (sites.refused != nullptr) return sites.refused;
  if (!has_one_thread()) return "other threads run already";
  std::uint8_t* const stubs = make_room(sites.end);
  if (stubs == nullptr) return "there is no free memory near it";
  std::uint8_t* const first = page_of(sites.begin);
  const auto length = static_cast<std::size_t>(sites.end - first);
  for (std::size_t i = 0; i < sites.count; ++i) write_stub(stubs + i * stub_bytes, sites.at[i]);
  if (::mprotect(stubs, stubs_bytes, PROT_READ | PROT_EXEC) != 0 ||
      ::mprotect(first, length, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(stubs, stubs_bytes);
    return "the system does not let its code be changed";
  }
  for (std::size_t i = 0; i < sites.count; ++i) write_site(sites.at[i], stubs + i * stub_bytes);
  // Nothing else can go on: the code would stay where it cannot be run.
  if (::mprotect(first, length, PROT_READ | PROT_EXEC) != 0) std::abort();
  return nullptr;
}

}  // namespace syncopate::openmp

#else

namespace syncopate::openmp {
const char* patch_futexes(const void*) noexcept { return "it is not code for x86-64"; }
}  // namespace syncopate::openmp

#endif
