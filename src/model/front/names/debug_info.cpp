// debug_info.cpp -- names of code and variables from symbol tables and DWARF (libdwfl).
#include "debug_info.h"

#include "debug_dies.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

namespace syncopate::instrument {

namespace {

// Separate debug files of this machine, yes; fetching them over the network in a report, no.
int find_separate_debug_file(Dwfl_Module* module, void** user, const char* name, Dwarf_Addr base,
                             const char* file, const char* link, GElf_Word crc, char** found) {
  if (std::getenv("DEBUGINFOD_URLS") != nullptr) return -1;
  return dwfl_standard_find_debuginfo(module, user, name, base, file, link, crc, found);
}

Dwfl* session() {
  static const Dwfl_Callbacks callbacks = {
      .find_elf = dwfl_linux_proc_find_elf,
      .find_debuginfo = find_separate_debug_file,
      .section_address = nullptr,
      .debuginfo_path = nullptr,
  };
  static Dwfl* const the_session = dwfl_begin(&callbacks);
  return the_session;
}

bool look_for_modules() {
  if (session() == nullptr) return false;
  dwfl_report_begin_add(session());
  const int status = dwfl_linux_proc_report(session(), getpid());
  return dwfl_report_end(session(), nullptr, nullptr) == 0 && status == 0;
}

struct load_place {
  std::uintptr_t sought;
  std::uintptr_t start = 0;
};

// An address in the same module that comes from its file: zeroed variables beyond the file's last
// page are anonymous memory, which libdwfl counts to no module.
std::uintptr_t loaded_address(std::uintptr_t address) {
  load_place place{address};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& result = *static_cast<load_place*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && result.sought - start < segment.p_memsz) {
            result.start = start;
            return 1;
          }
        }
        return 0;
      },
      &place);
  return place.start == 0 ? address : place.start;
}

std::string module_name(Dwfl_Module* module) {
  const char* name =
      dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  const std::string path = name == nullptr ? "?" : name;
  return path.substr(path.rfind('/') + 1);
}

std::string symbol_at(Dwfl_Module* module, std::uintptr_t pc) {
  GElf_Off offset = 0;
  GElf_Sym symbol;
  const char* name = dwfl_module_addrinfo(module, pc, &offset, &symbol, nullptr, nullptr, nullptr);
  if (name != nullptr) return demangled(name);
  char text[32];
  Dwarf_Addr start = 0;
  dwfl_module_info(module, nullptr, &start, nullptr, nullptr, nullptr, nullptr, nullptr);
  std::snprintf(text, sizeof text, "+%#zx", static_cast<std::size_t>(pc - start));
  return module_name(module) + text;
}

// The concrete function that holds the pc and the inlined calls in it that do, outermost first. The
// whole tree is searched: the code of a local class's function lies outside the function around it,
// which is why dwarf_getscopes() misses it.
bool find_scopes(Dwarf_Die* parent, Dwarf_Addr pc, std::vector<Dwarf_Die>& scopes) {
  Dwarf_Die die;
  if (dwarf_child(parent, &die) != 0) return false;
  do {
    const int tag = dwarf_tag(&die);
    const bool function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
    if (function && dwarf_haspc(&die, pc) > 0) {
      scopes.push_back(die);
      find_scopes(&die, pc, scopes);
      return true;
    }
    const bool may_contain = tag == DW_TAG_subprogram || tag == DW_TAG_namespace ||
                             tag == DW_TAG_lexical_block || tag == DW_TAG_structure_type ||
                             tag == DW_TAG_class_type;
    if (may_contain && find_scopes(&die, pc, scopes)) return true;
  } while (dwarf_siblingof(&die, &die) == 0);
  return false;
}

struct unit_at {
  Dwarf_Die* die = nullptr;  // the compilation unit; null when none has the pc
  Dwarf_Addr bias = 0;
};

// clang writes no .debug_aranges, the index that dwfl_module_addrdie() looks into, and elfutils
// 0.188 misreads its DWARF 5 range lists, so the functions decide, not the unit's own ranges.
unit_at find_unit(Dwfl_Module* module, std::uintptr_t pc) {
  unit_at unit;
  unit.die = dwfl_module_addrdie(module, pc, &unit.bias);
  if (unit.die != nullptr) return unit;
  while ((unit.die = dwfl_module_nextcu(module, unit.die, &unit.bias)) != nullptr) {
    std::vector<Dwarf_Die> scopes;
    if (find_scopes(unit.die, pc - unit.bias, scopes)) break;
  }
  return unit;
}

struct line_position {
  std::string file;
  int line = 0;
};

line_position line_at(const unit_at& unit, std::uintptr_t pc) {
  line_position result;
  if (Dwarf_Line* line = dwarf_getsrc_die(unit.die, pc - unit.bias); line != nullptr) {
    const char* file = dwarf_linesrc(line, nullptr, nullptr);
    if (file != nullptr && dwarf_lineno(line, &result.line) == 0) result.file = file;
  }
  return result;
}

line_position call_of(Dwarf_Die* inlined, Dwarf_Die* unit) {
  line_position result;
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0;
  Dwarf_Word line = 0;
  Dwarf_Files* files = nullptr;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) == 0 &&
      dwarf_getsrcfiles(unit, &files, nullptr) == 0) {
    if (const char* name = dwarf_filesrc(files, file, nullptr, nullptr)) result.file = name;
  }
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) == 0) {
    result.line = static_cast<int>(line);
  }
  return result;
}

std::vector<source_position> inlined_frames(Dwarf_Die* unit, Dwarf_Addr pc,
                                            line_position innermost) {
  std::vector<Dwarf_Die> scopes;
  find_scopes(unit, pc, scopes);
  std::vector<source_position> frames;
  line_position at = std::move(innermost);
  for (std::size_t i = scopes.size(); i-- > 0;) {
    frames.push_back({qualified_name(&scopes[i]), at.file, at.line});
    at = call_of(&scopes[i], unit);
  }
  return frames;
}

struct thread_block {
  std::uintptr_t thread_pointer;  // of the calling thread
  std::uintptr_t distance;        // sought: an address's distance below its thread pointer
  std::uintptr_t module_start = 0;
  std::uintptr_t offset = 0;  // found: in the module's block
};

// Static thread-local blocks lie at the same distance from every thread's pointer.
int match_thread_block(dl_phdr_info* info, std::size_t, void* data) {
  auto& sought = *static_cast<thread_block*>(data);
  if (info->dlpi_tls_data == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_TLS) continue;
    const std::uintptr_t below =
        sought.thread_pointer - reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
    if (sought.distance > below || below - sought.distance >= info->dlpi_phdr[i].p_memsz) return 0;
    sought.offset = below - sought.distance;
    for (int j = 0; j < info->dlpi_phnum; ++j) {
      if (info->dlpi_phdr[j].p_type == PT_LOAD) {
        sought.module_start = info->dlpi_addr + info->dlpi_phdr[j].p_vaddr;
        return 1;
      }
    }
  }
  return 0;
}

// A variable by the symbol table alone. `value_of` an ordinary symbol is its address.
std::optional<variable> by_symbols(Dwfl_Module* module, std::uintptr_t address,
                                   bool is_thread_local) {
  const int symbols = dwfl_module_getsymtab(module);
  for (int i = 1; i < symbols; ++i) {
    GElf_Sym symbol;
    GElf_Addr value = 0;
    const char* name =
        dwfl_module_getsym_info(module, i, &symbol, &value, nullptr, nullptr, nullptr);
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (name == nullptr || type != (is_thread_local ? STT_TLS : STT_OBJECT)) continue;
    const std::uintptr_t start = is_thread_local ? symbol.st_value : value;
    if (symbol.st_shndx == SHN_UNDEF || address - start >= symbol.st_size) continue;
    variable found;
    found.name = demangled(name);
    found.start = start;
    found.bytes = symbol.st_size;
    found.offset = address - start;
    return found;
  }
  return std::nullopt;
}

// By DWARF where the variable has any, which also knows its members.
variable find_variable(Dwfl_Module* module, std::uintptr_t address, bool is_thread_local) {
  if (auto below = variable_below(module, address, is_thread_local)) {
    variable found;
    found.start = below->start;
    found.offset = address - below->start;
    found.bytes = bytes_of(&below->die);
    if (found.offset < found.bytes) {
      found.name = qualified_name(&below->die);
      found.member = member_path(&below->die, found.offset);
      return found;
    }
  }
  return by_symbols(module, address, is_thread_local).value_or(variable{});
}

}  // namespace

unsigned long long libraries_loaded() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

Dwfl_Module* module_at(std::uintptr_t address) {
  static unsigned long long seen = ~0ull;
  if (const unsigned long long loaded = libraries_loaded(); loaded != seen) {
    if (!look_for_modules()) return nullptr;
    seen = loaded;
  }
  return dwfl_addrmodule(session(), loaded_address(address));
}

std::string demangled(const char* symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  if (text == nullptr) return symbol;
  std::string result = text;
  std::free(text);
  return result;
}

std::vector<source_position> frames_at(std::uintptr_t pc) {
  Dwfl_Module* module = module_at(pc);
  if (module == nullptr) return {};
  const unit_at unit = find_unit(module, pc);
  if (unit.die == nullptr) return {{symbol_at(module, pc), "", 0}};
  const line_position line = line_at(unit, pc);
  std::vector<source_position> frames = inlined_frames(unit.die, pc - unit.bias, line);
  if (frames.empty()) frames.push_back({symbol_at(module, pc), line.file, line.line});
  return frames;
}

std::string function_symbol(std::uintptr_t entry) {
  Dwfl_Module* module = module_at(entry);
  GElf_Off offset = 0;
  GElf_Sym symbol{};
  const char* name = module == nullptr ? nullptr
                                       : dwfl_module_addrinfo(module, entry, &offset, &symbol,
                                                              nullptr, nullptr, nullptr);
  return name == nullptr || offset != 0 || GELF_ST_TYPE(symbol.st_info) != STT_FUNC
             ? std::string()
             : demangled(name);
}

variable variable_at(std::uintptr_t address) {
  Dwfl_Module* module = module_at(address);
  return module == nullptr ? variable{} : find_variable(module, address, false);
}

variable thread_local_at(std::uintptr_t address, std::uintptr_t thread_pointer) {
  thread_block sought{reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer()),
                      thread_pointer - address};
  dl_iterate_phdr(match_thread_block, &sought);
  Dwfl_Module* module = sought.module_start == 0 ? nullptr : module_at(sought.module_start);
  if (module == nullptr) return {};
  variable found = find_variable(module, sought.offset, true);
  found.start = address - (sought.offset - found.start);
  return found;
}

}  // namespace syncopate::instrument
