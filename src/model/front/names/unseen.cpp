// unseen.cpp -- see unseen.h. In the section .syncopate.unseen of each file stand strings: a place
// of inline assembly, by the compilers' plugins (compiler/gcc, compiler/clang), or "*", by
// builtins.h, for a file that was compiled without one, or "O", for one compiled with optimization.
// Which functions are called, its table of symbols says.
#include "model/front/names/unseen.h"

#include <algorithm>
#include <array>
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

// Functions of the C library that write what they are given, or what they keep, and are in no table
// (explored/run/call_table.cpp): all of a name in front of a *.
constexpr std::array<std::string_view, 36> rare{
    "strfmon",
    "strfmon_l",
    "obstack_*",
    "_obstack_*",
    "printf_size_info",
    "remque",
    "dlinfo",
    "msgctl",
    "msgrcv",
    "shmctl",
    "re_match_2",
    "re_search_2",
    "re_set_registers",
    "getnetgrent",
    "getnetgrent_r",
    "re_compile_fastmap",
    "getaliasbyname_r",
    "getaliasent_r",
    "getrpcbyname_r",
    "getrpcbynumber_r",
    "getrpcent_r",
    "getsgent_r",
    "getsgnam_r",
    "fgetsgent_r",
    "sgetsgent_r",
    "sgetspent_r",
    "getsourcefilter",
    "getipv4sourcefilter",
    "getutmp",
    "getutmpx",
    "mbrtoc8",
    "c8rtomb",
    "res_*",
    "__res_*",
    "ns_*",
    "dn_*",
};

bool is_rare(std::string_view name) {
  return std::ranges::any_of(rare, [&](std::string_view each) {
    return each.ends_with('*') ? name.starts_with(each.substr(0, each.size() - 1)) : name == each;
  });
}

void read_symbols(unseen& all, Elf* elf, Elf_Scn* section, const GElf_Shdr& header) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  for (std::size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) return;
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (symbol.st_shndx == SHN_UNDEF && name != nullptr && is_rare(name) &&
        std::ranges::find(all.calls, name) == all.calls.end())
      all.calls.emplace_back(name);
  }
}

void add(unseen& all, std::string_view text) {
  if (text == "O") {
    all.optimized = true;
    return;
  }
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
      if (header.sh_type == SHT_DYNSYM) read_symbols(all, elf, each, header);
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
  std::ranges::sort(all.calls);
  return all;
}

}  // namespace syncopate::instrument
