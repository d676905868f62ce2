// breakpoints.h -- lets a test see instructions that the processor would execute by itself: each of
// them in this program's code becomes a breakpoint (INT3), whose handler may do what it likes.
//
// Where they are, objdump tells, which also says that our bytes are the instructions they should
// be. Nothing depends on whether the processor has them, reports them, or hides them.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace breakpoints {

// The addresses in this program's file of the instructions with one of these names.
// Ends the test with a message when objdump cannot be run, or finds none.
inline std::vector<std::uintptr_t> places_in_file(std::initializer_list<std::string_view> names) {
  const std::string command =
      "objdump -d --no-show-raw-insn /proc/" + std::to_string(::getpid()) + "/exe";
  std::FILE* const listing = ::popen(command.c_str(), "r");
  std::vector<std::uintptr_t> places;
  char line[4096];
  while (listing != nullptr && std::fgets(line, sizeof line, listing) != nullptr) {
    unsigned long address = 0;
    char name[32] = "";
    if (std::sscanf(line, " %lx: %31s", &address, name) != 2) continue;
    if (std::ranges::find(names, std::string_view(name)) != names.end()) places.push_back(address);
  }
  const bool ran = listing != nullptr && ::pclose(listing) == 0;
  if (ran && !places.empty()) return places;
  std::fprintf(
      stderr, "breakpoints.h: '%s' %s\n", command.c_str(),
      ran ? "shows none of the instructions under test" : "failed; is binutils installed?");
  std::exit(1);
}

// Breakpoints in place of the named instructions of this program, for as long as it lives.
// Not thread-safe: no other thread may run those instructions while it is made or destroyed.
class set {
 public:
  explicit set(const std::vector<std::uintptr_t>& in_file) {
    for (const std::uintptr_t place : in_file) {
      auto* const code = reinterpret_cast<unsigned char*>(load_offset() + place);
      places_.push_back({code, *code});
      write(code, int3);
    }
  }
  ~set() {
    for (const auto& [code, was] : places_) write(code, was);
  }
  set(const set&) = delete;
  set& operator=(const set&) = delete;

  // The byte that a breakpoint replaced. Returns false where none of ours is.
  bool replaced(const unsigned char* code, unsigned char& byte) const {
    for (const auto& [place, was] : places_) {
      if (place == code) {
        byte = was;
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr unsigned char int3 = 0xcc;
  struct place {
    unsigned char* code;
    unsigned char was;
  };

  // What is added to an address in the file of this program: not 0 where it is position
  // independent.
  static std::uintptr_t load_offset() {
    Dl_info info;
    link_map* map = nullptr;
    if (::dladdr1(reinterpret_cast<void*>(&load_offset), &info, reinterpret_cast<void**>(&map),
                  RTLD_DL_LINKMAP) == 0)
      std::abort();
    return map->l_addr;
  }

  static void write(unsigned char* code, unsigned char byte) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    auto* const start = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(code) & -page);
    if (::mprotect(start, page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
      std::perror("breakpoints.h: the program's code cannot be made writable");
      std::exit(1);
    }
    *static_cast<volatile unsigned char*>(code) = byte;
    ::mprotect(start, page, PROT_READ | PROT_EXEC);
  }

  std::vector<place> places_;
};

}  // namespace breakpoints
