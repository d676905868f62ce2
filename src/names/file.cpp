#include "names/file.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <tuple>

namespace syncopate::names {
namespace {

constexpr std::uint64_t longest_guess = 1 << 16;  // a symbol of size 0 is believed this far
constexpr int most_symbols = 4'000'000;
constexpr int most_looks = 64;       // symbols before an address, of which one may reach over it
constexpr std::size_t deepest = 64;  // functions within functions: more is damage

char* debuginfo_path = nullptr;  // libdwfl's default

std::string name_of(int descriptor) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string{};
}

// As libdwfl's own; remembers in the std::string at *data where it was.
int find_debug(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base,
               const char* path, const char* link, GElf_Word checksum, char** found) {
  const int descriptor =
      dwfl_standard_find_debuginfo(module, data, name, base, path, link, checksum, found);
  if (descriptor >= 0) *static_cast<std::string*>(*data) = name_of(descriptor);
  return descriptor;
}

const char* linkage_name(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (const char* text = dwarf_formstring(dwarf_attr_integrate(die, name, &attribute)))
      return text;
  return nullptr;
}

const char* function_name(Dwarf_Die* die) {
  const char* const linked = linkage_name(die);
  return linked ? linked : dwarf_diename(die);
}

// A name with the namespaces and classes around it, where no linkage name has them, as of a
// function that was inlined everywhere. Closures, which are in functions, say no more.
std::string scoped_name(Dwarf_Die* function) {
  Dwarf_Die declaration = *function;
  Dwarf_Attribute attribute;
  for (const unsigned link : {DW_AT_abstract_origin, DW_AT_specification}) {
    Dwarf_Die behind;
    if (dwarf_formref_die(dwarf_attr(&declaration, link, &attribute), &behind))
      declaration = behind;
  }
  const char* const own = dwarf_diename(&declaration);
  if (!own) return {};
  std::string name = own;
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&declaration, &scopes);
  for (int i = 1; i < count; i++) {
    const int tag = dwarf_tag(&scopes[i]);
    const char* const around = dwarf_diename(&scopes[i]);
    if (tag == DW_TAG_subprogram) break;
    if (tag == DW_TAG_namespace) name = (around ? around : "(anonymous namespace)") + ("::" + name);
    else if ((tag == DW_TAG_structure_type || tag == DW_TAG_class_type) && around && *around != '<')
      name = around + ("::" + name);
  }
  std::free(scopes);
  return name;
}

void add_ranges(Dwarf_Die die, std::vector<range>& to) {
  Dwarf_Addr base, begin, end;
  ptrdiff_t at = 0;
  while ((at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0)
    if (begin < end) to.push_back({begin, end, die});
}

void sort(std::vector<range>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const range& a, const range& b) { return a.begin < b.begin; });
}

// The file that a skeleton unit says it is completed by.
std::string split_name(Dwarf_Die* skeleton) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_dwo_name, DW_AT_GNU_dwo_name})
    if (const char* text = dwarf_formstring(dwarf_attr(skeleton, name, &attribute))) return text;
  return {};
}

std::optional<symbol> covering(const std::vector<symbol>& of, std::uint64_t address) {
  auto at = std::upper_bound(of.begin(), of.end(), address,
                             [](std::uint64_t a, const symbol& b) { return a < b.start; });
  for (int i = 0; i < most_looks && at != of.begin(); i++) {
    --at;
    const std::uint64_t into = address - at->start;
    if (into < (at->size ? at->size : longest_guess)) return *at;
    if (into > longest_guess || at->size) return {};
  }
  return {};
}

std::optional<Dwarf_Die> covering(const std::vector<range>& of, std::uint64_t address) {
  const auto above = std::upper_bound(of.begin(), of.end(), address,
                                      [](std::uint64_t a, const range& b) { return a < b.begin; });
  if (above == of.begin() || address >= std::prev(above)->end) return {};
  return std::prev(above)->die;
}

// Functions that have code of their own, also those in namespaces and classes.
void add_functions(Dwarf_Die around, std::size_t depth, std::vector<range>& to) {
  Dwarf_Die child;
  if (depth > deepest || dwarf_child(&around, &child)) return;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram: add_ranges(child, to); [[fallthrough]];
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_class_type:
      case DW_TAG_structure_type: add_functions(child, depth + 1, to); break;
      default: break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

// The functions inlined at an address, from the outermost one on.
void add_inlined(Dwarf_Die around, std::uint64_t address, std::vector<Dwarf_Die>& to) {
  Dwarf_Die child;
  if (to.size() > deepest || dwarf_child(&around, &child)) return;
  do {
    const int tag = dwarf_tag(&child);
    if ((tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) ||
        dwarf_haspc(&child, address) <= 0)
      continue;
    if (tag == DW_TAG_inlined_subroutine) to.push_back(child);
    return add_inlined(child, address, to);
  } while (dwarf_siblingof(&child, &child) == 0);
}

// The line of the call by which an inlined function came here.
void called_from(Dwarf_Die* inlined, Dwarf_Files* files, frame& caller) {
  Dwarf_Attribute attribute;
  Dwarf_Word number = 0, line = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &number) == 0 && files)
    if (const char* path = dwarf_filesrc(files, number, nullptr, nullptr)) caller.file = path;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) == 0)
    caller.line = static_cast<int>(line);
}

}  // namespace

void look_for_debug_files_in(char* path) { debuginfo_path = path; }

std::string debug_file_of(const std::string& build_id) {
  std::vector<unsigned char> bits;
  for (std::size_t i = 0; i + 1 < build_id.size(); i += 2)
    bits.push_back(
        static_cast<unsigned char>(std::strtoul(build_id.substr(i, 2).c_str(), nullptr, 16)));
  static const Dwfl_Callbacks callbacks = {nullptr, nullptr, nullptr, &debuginfo_path};
  Dwfl* const dwfl = dwfl_begin(&callbacks);
  if (!dwfl || bits.empty()) return {};
  Dwfl_Module* const wanted = dwfl_report_module(dwfl, "wanted", 0x1000, 0x2000);
  dwfl_module_report_build_id(wanted, bits.data(), bits.size(), 0);
  char* path = nullptr;
  const int descriptor =
      dwfl_standard_find_debuginfo(wanted, nullptr, nullptr, 0, nullptr, nullptr, 0, &path);
  const std::string found = descriptor >= 0 ? name_of(descriptor) : "";
  if (descriptor >= 0) close(descriptor);
  std::free(path);
  return found;  // dwfl_end() would close descriptor 0: libdwfl asks for no callback but its own
}

file::file(const char* path)
    : callbacks_{dwfl_build_id_find_elf, find_debug, dwfl_offline_section_address, &debuginfo_path},
      dwfl_(dwfl_begin(&callbacks_)) {
  if (!dwfl_) return;
  module_ = dwfl_report_offline(dwfl_.get(), "", path, -1);
  dwfl_report_end(dwfl_.get(), nullptr, nullptr);
  if (!module_) return;
  void** data;
  dwfl_module_info(module_, &data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  *data = &debug_file_;
  elf_ = dwfl_module_getelf(module_, &bias_);
}

std::string file::build_id() const {
  const unsigned char* bits;
  GElf_Addr at;
  const int length = dwfl_module_build_id(module_, &bits, &at);
  std::string text;
  for (int i = 0; i < length; i++) {
    constexpr char digits[] = "0123456789abcdef";
    text += {digits[bits[i] >> 4], digits[bits[i] & 15]};
  }
  return text;
}

std::string file::debug_link() const {
  GElf_Word checksum;
  const char* const name = dwelf_elf_gnu_debuglink(elf_, &checksum);
  return name ? name : "";
}

int file::machine() const {
  GElf_Ehdr header;
  return gelf_getehdr(elf_, &header) ? header.e_machine : 0;
}

std::vector<segment> file::segments() const {
  std::vector<segment> found;
  std::size_t count = 0;
  if (elf_getphdrnum(elf_, &count)) return found;
  for (std::size_t i = 0; i < count; i++) {
    GElf_Phdr header;
    if (gelf_getphdr(elf_, static_cast<int>(i), &header) && header.p_type == PT_LOAD)
      found.push_back({header.p_offset, header.p_vaddr, header.p_filesz, header.p_flags});
  }
  return found;
}

void file::read_symbols() {
  if (has_symbols_) return;
  has_symbols_ = true;
  const int count = std::min(dwfl_module_getsymtab(module_), most_symbols);
  for (int i = 0; i < count; i++) {
    GElf_Sym found;
    GElf_Addr address;
    const char* name =
        dwfl_module_getsym_info(module_, i, &found, &address, nullptr, nullptr, nullptr);
    if (!name || !*name || found.st_shndx == SHN_UNDEF || address == 0) continue;
    const int kind = GELF_ST_TYPE(found.st_info);
    const symbol named{address - bias_, found.st_size, name};
    if (kind == STT_FUNC || kind == STT_GNU_IFUNC) functions_.push_back(named);
    else if (kind == STT_OBJECT) variables_.push_back(named);
  }
  const auto before = [](const symbol& a, const symbol& b) {
    return std::tuple(a.start, a.size, std::string_view(a.name)) <
           std::tuple(b.start, b.size, std::string_view(b.name));
  };
  std::sort(functions_.begin(), functions_.end(), before);
  std::sort(variables_.begin(), variables_.end(), before);
}

std::optional<symbol> file::function(std::uint64_t address) {
  return covering(functions(), address);
}

std::optional<symbol> file::variable(std::uint64_t address) {
  return covering(variables(), address);
}

Dwarf* file::dwarf() {
  Dwarf_Addr bias;
  return dwfl_module_getdwarf(module_, &bias);
}

// libdw looks in .debug_aranges for the unit of an address, which clang does not write.
void file::read_units() {
  if (has_units_) return;
  has_units_ = true;
  Dwarf* const all = dwarf();
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die, split;
  std::uint8_t kind;
  while (all && dwarf_get_units(all, unit, &unit, nullptr, &kind, &die, &split) == 0) {
    add_ranges(die, units_);
    if (kind != DW_UT_skeleton) continue;
    if (dwarf_tag(&split)) split_.emplace(dwarf_dieoffset(&die), split);
    else if (missing_split_.empty()) missing_split_ = split_name(&die);
  }
  sort(units_);
}

const file::ranges& file::code_of(Dwarf_Die unit) {
  const auto [at, is_new] = code_.try_emplace(dwarf_dieoffset(&unit));
  if (is_new) {
    const auto split = split_.find(dwarf_dieoffset(&unit));
    add_functions(split == split_.end() ? unit : split->second, 0, at->second);
    sort(at->second);
  }
  return at->second;
}

// Of what was inlined with its scopes: others are told by their symbols elsewhere.
std::string file::name_of_code(Dwarf_Die* die) {
  const char* const name = function_name(die);
  if (!name || dwarf_tag(die) != DW_TAG_inlined_subroutine || linkage_name(die))
    return name ? name : "";
  Dwarf_Attribute attribute;
  Dwarf_Die origin = *die;
  dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &attribute), &origin);
  const auto [at, is_new] = scoped_.try_emplace(dwarf_dieoffset(&origin));
  if (is_new) at->second = scoped_name(&origin);
  return at->second.empty() ? name : at->second;
}

std::vector<frame> file::frames(std::uint64_t address) {
  read_units();
  auto unit = covering(units_, address);
  if (!unit) return {};
  frame next;
  if (Dwarf_Line* const line = dwarf_getsrc_die(&*unit, address)) {
    if (const char* path = dwarf_linesrc(line, nullptr, nullptr)) next.file = path;
    dwarf_lineno(line, &next.line);
  }
  Dwarf_Files* files = nullptr;
  dwarf_getsrcfiles(&*unit, &files, nullptr);
  std::vector<Dwarf_Die> around;
  if (const auto outermost = covering(code_of(*unit), address)) {
    around.push_back(*outermost);
    add_inlined(*outermost, address, around);
  }
  std::vector<frame> found;
  for (auto die = around.rbegin(); die != around.rend(); ++die) {
    next.function = name_of_code(&*die);
    found.push_back(next);
    next = {};
    called_from(&*die, files, next);
  }
  if (found.empty()) found.push_back(next);
  if (const auto covered = function(address); covered && found.back().function.empty())
    found.back().function = covered->name;
  const bool is_known =
      std::any_of(found.begin(), found.end(), [](const frame& each) { return !each.file.empty(); });
  return is_known ? found : std::vector<frame>{};
}

// By .eh_frame_hdr, as compilers and linkers of today write it: a version, then where .eh_frame is
// and how many functions there are, four bytes each, then their table, from its own start. (libdw
// tells of a row of the tables, not of its function.)
std::uint64_t file::function_start(std::uint64_t address) {
  constexpr unsigned char form[] = {1, 0x1b, 3, 0x3b};
  struct entry {
    std::int32_t function, rules;
  };
  std::size_t segments = 0;
  elf_getphdrnum(elf_, &segments);
  for (std::size_t i = 0; i < segments; i++) {
    GElf_Phdr header;
    if (!gelf_getphdr(elf_, static_cast<int>(i), &header) || header.p_type != PT_GNU_EH_FRAME)
      continue;
    const Elf_Data* const data = elf_getdata_rawchunk(
        elf_, static_cast<std::int64_t>(header.p_offset), header.p_filesz, ELF_T_BYTE);
    if (!data || data->d_size < 12 || std::memcmp(data->d_buf, form, sizeof form) != 0) return 0;
    const auto* const bytes = static_cast<const char*>(data->d_buf);
    std::uint32_t count;
    std::memcpy(&count, bytes + 8, sizeof count);
    std::vector<entry> table(std::min<std::size_t>(count, (data->d_size - 12) / sizeof(entry)));
    std::memcpy(table.data(), bytes + 12, table.size() * sizeof(entry));
    const auto above = std::upper_bound(
        table.begin(), table.end(), static_cast<std::int64_t>(address - header.p_vaddr),
        [](std::int64_t at, const entry& each) { return at < each.function; });
    return above == table.begin() ? 0 : header.p_vaddr + std::prev(above)->function;
  }
  return 0;
}

members& file::parts() {
  if (!parts_) parts_ = std::make_unique<members>(dwarf());
  return *parts_;
}

}  // namespace syncopate::names
