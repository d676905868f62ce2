#include "model/front/program/shared_objects.h"

#include <cstdint>
#include <cstring>
#include <istream>

#include <dlfcn.h>
#include <link.h>

#include "model/front/engine.h"

namespace syncopate::instrument {

namespace {

struct range {
  engine::address low = ~engine::address{0}, high = 0;
};

// The variables of libstdc++.
int look_at(dl_phdr_info* module, std::size_t, void* found) {
  const char* const path = module->dlpi_name != nullptr ? module->dlpi_name : "";
  const char* const slash = std::strrchr(path, '/');
  if (std::strncmp(slash != nullptr ? slash + 1 : path, "libstdc++.so", 12) != 0) return 0;
  auto& all = *static_cast<range*>(found);
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) continue;
    const engine::address low = module->dlpi_addr + header.p_vaddr;
    if (low < all.low) all.low = low;
    if (low + header.p_memsz > all.high) all.high = low + header.p_memsz;
  }
  return 1;
}

// By the names of C++: the program may have them in its own memory.
constexpr const char* streams[] = {"_ZSt4cout",  "_ZSt4cerr",  "_ZSt4clog",  "_ZSt3cin",
                                   "_ZSt5wcout", "_ZSt5wcerr", "_ZSt5wclog", "_ZSt4wcin"};

}  // namespace

void tell_of_shared_objects() {
  range library;
  dl_iterate_phdr(look_at, &library);
  if (library.high == 0) return;
  engine::claim_shared(library.low, library.high - library.low);
  for (const char* const name : streams) {
    const auto at = reinterpret_cast<engine::address>(dlsym(RTLD_DEFAULT, name));
    if (at == 0 || (at >= library.low && at < library.high)) continue;
    const bool reads = std::strstr(name, "cin") != nullptr;
    engine::claim_shared(at, reads ? sizeof(std::istream) : sizeof(std::ostream));
  }
}

}  // namespace syncopate::instrument
