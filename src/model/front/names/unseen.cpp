// unseen.cpp -- see unseen.h. In the section .syncopate.unseen of each file stand strings: a place
// of inline assembly, by the compilers' plugins (compiler/gcc, compiler/clang), or "*", by
// builtins.h, for a file that was compiled without one.
#include "model/front/names/unseen.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <unistd.h>

#include "model/front/libc/libc_range.h"

namespace syncopate::instrument {
namespace {

void add(unseen& all, std::string_view text) {
  if (text == "*") {
    all.structs = true;
    return;
  }
  text.remove_prefix(text.rfind('/') + 1);
  for (const std::string& each : all.assembly)
    if (each == text) return;
  if (!text.empty()) all.assembly.emplace_back(text);
}

void read_section(unseen& all, Elf_Scn* section) {
  const Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return;
  const auto* at = static_cast<const char*>(data->d_buf);
  const char* const end = at + data->d_size;
  while (at < end) {
    const std::string_view text{at, strnlen(at, static_cast<std::size_t>(end - at))};
    add(all, text);
    at += text.size() + 1;
  }
}

void read_file(unseen& all, const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  elf_version(EV_CURRENT);
  Elf* const elf = elf_begin(file, ELF_C_READ, nullptr);
  std::size_t names = 0;
  if (elf != nullptr && elf_getshdrstrndx(elf, &names) == 0) {
    for (Elf_Scn* each = elf_nextscn(elf, nullptr); each != nullptr;
         each = elf_nextscn(elf, each)) {
      GElf_Shdr header;
      if (gelf_getshdr(each, &header) == nullptr) continue;
      const char* const name = elf_strptr(elf, names, header.sh_name);
      if (name != nullptr && std::strcmp(name, ".syncopate.unseen") == 0) read_section(all, each);
    }
  }
  elf_end(elf);
  ::close(file);
}

int look_at(dl_phdr_info* module, std::size_t, void* data) {
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& each = module->dlpi_phdr[i];
    if (each.p_type != PT_DYNAMIC) continue;
    const auto* const dynamic =
        reinterpret_cast<const ElfW(Dyn)*>(module->dlpi_addr + each.p_vaddr);
    if (!needs_machine(dynamic)) continue;
    const bool is_program = module->dlpi_name == nullptr || module->dlpi_name[0] == '\0';
    read_file(*static_cast<unseen*>(data), is_program ? "/proc/self/exe" : module->dlpi_name);
  }
  return 0;
}

}  // namespace

unseen what_is_unseen() {
  unseen all;
  dl_iterate_phdr(look_at, &all);
  std::ranges::sort(all.assembly, {}, [](const std::string& place) {
    const std::size_t colon = place.rfind(':');
    return std::pair(place.substr(0, colon), std::atoi(place.c_str() + colon + 1));
  });
  return all;
}

}  // namespace syncopate::instrument
