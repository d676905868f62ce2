#include "model/front/libc/libc_range.h"

#include <cstring>

#include <link.h>

namespace syncopate::instrument {

namespace {

int look_at(dl_phdr_info* module, std::size_t, void*) {
  const char* path = module->dlpi_name != nullptr ? module->dlpi_name : "";
  const char* slash = std::strrchr(path, '/');
  const char* name = slash != nullptr ? slash + 1 : path;
  code_range* range = nullptr;
  if (std::strncmp(name, "libc.so", 7) == 0 || std::strncmp(name, "libc-", 5) == 0) {
    range = &libc_code;
  } else if (std::strncmp(name, "ld-linux", 8) == 0 || std::strncmp(name, "ld-2", 4) == 0) {
    range = &linker_code;
  } else if (std::strncmp(name, "libstdc++.so", 12) == 0) {
    range = &cpp_library_code;
  }
  if (range == nullptr) return 0;
  std::uintptr_t low = UINTPTR_MAX, high = 0;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = module->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uintptr_t start = module->dlpi_addr + header.p_vaddr;
    if (start < low) low = start;
    if (start + header.p_memsz > high) high = start + header.p_memsz;
  }
  if (low < high) *range = {low, high - low};
  return 0;
}

}  // namespace

bool needs_machine(const ElfW(Dyn) * dynamic) noexcept {
  const char* names = nullptr;
  for (const ElfW(Dyn)* each = dynamic; each->d_tag != DT_NULL; ++each)
    if (each->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(each->d_un.d_ptr);
  if (names == nullptr) return false;
  for (const ElfW(Dyn)* each = dynamic; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag != DT_NEEDED) continue;
    const char* const path = names + each->d_un.d_val;
    const char* const slash = std::strrchr(path, '/');
    if (std::strncmp(slash != nullptr ? slash + 1 : path, "libsyncopate-", 13) == 0) return true;
  }
  return false;
}

void find_libc() { dl_iterate_phdr(look_at, nullptr); }

bool is_of_library(const void* object) noexcept {
  Dl_info found;
  link_map* module = nullptr;
  const bool known =
      dladdr1(object, &found, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) != 0;
  return known && module != nullptr && module->l_name[0] != '\0' &&  // the program's own is empty
         !needs_machine(module->l_ld);
}

}  // namespace syncopate::instrument
