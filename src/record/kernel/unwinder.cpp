// unwinder.cpp -- see unwinder.h.
#include "record/kernel/unwinder.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

#include "record/format.h"
#include "record/kernel/kinds.h"

namespace syncopate::record::kernel {

namespace {

constexpr std::size_t most_trails = 65536;  // of one process; then all are forgotten
constexpr std::size_t trails_of_one = 64;   // with the same innermost address
constexpr unsigned stack_pointer = 7, frame_pointer = 6;

}  // namespace

std::vector<mapping> read_mappings(std::uint32_t process) {
  std::vector<mapping> found;
  std::ifstream file("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(file, line);) {
    mapping m{};
    char rights[5] = {};
    int name = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &m.begin,
                    &m.end, rights, &m.offset, &name) < 4)
      continue;
    m.executable = rights[2] == 'x';
    m.shared = rights[3] == 's';
    if (name > 0 && static_cast<std::size_t>(name) < line.size())
      m.name = line.substr(static_cast<std::size_t>(name));
    m.line = std::move(line);
    found.push_back(std::move(m));
  }
  return found;
}

// What libdwfl asks of us.
struct callbacks {
  static unwinder& of(void* argument) { return *static_cast<unwinder*>(argument); }

  // By the kernel's own link to the mapped file: right also for files that were removed or replaced
  // since, and for those of a container.
  static int find_elf(Dwfl_Module* module, void** user, const char* name, Dwarf_Addr base,
                      char** file_name, Elf** elf) {
    void** argument = nullptr;
    dwfl_module_info(module, &argument, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    const Dwfl* dwfl = nullptr;
    static_cast<void>(dwfl);
    const unwinder* self = current;
    if (self != nullptr) {
      for (const mapping& m : self->mappings_) {
        if (m.begin != base || m.name.empty() || m.name[0] != '/') continue;
        char link[96];
        std::snprintf(link, sizeof link, "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, self->process_,
                      m.begin, m.end);
        const int descriptor = ::open(link, O_RDONLY | O_CLOEXEC);
        if (descriptor < 0) break;
        *file_name = ::strdup(m.name.c_str());
        return descriptor;
      }
    }
    return dwfl_linux_proc_find_elf(module, user, name, base, file_name, elf);
  }

  // Debug information is for reports; it may be far away (debuginfod).
  static int find_nothing(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                          GElf_Word, char**) {
    return -1;
  }

  static pid_t next_thread(Dwfl*, void* argument, void** thread) {
    if (*thread != nullptr) return 0;
    *thread = argument;
    return 1;
  }
  static bool get_thread(Dwfl*, pid_t, void* argument, void** thread) {
    *thread = argument;
    return true;
  }

  static bool read(Dwfl*, Dwarf_Addr address, Dwarf_Word* word, void* argument) {
    const copied_stack& stack = *of(argument).current_;
    const std::uint64_t from = stack.registers->of[stack_pointer];
    if (address < from || address - from + sizeof *word > stack.size) return false;
    std::memcpy(word, stack.bytes + (address - from), sizeof *word);
    return true;
  }

  static bool set_registers(Dwfl_Thread* thread, void* argument) {
    const copied_stack& stack = *of(argument).current_;
    Dwarf_Word words[kernel_registers];
    std::copy(std::begin(stack.registers->of), std::end(stack.registers->of), words);
    return dwfl_thread_state_registers(thread, 0, kernel_registers, words);
  }

  static int frame(Dwfl_Frame* state, void* argument) {
    trailing& t = *static_cast<trailing*>(argument);
    Dwarf_Addr address = 0;
    if (!dwfl_frame_pc(state, &address, nullptr) || address == 0) return DWARF_CB_ABORT;
    if (!t.addresses->empty()) {
      Dwarf_Word above = 0;
      if (dwfl_frame_reg(state, stack_pointer, &above) != 0 || above <= t.below)
        return DWARF_CB_ABORT;
      t.places->push_back(static_cast<std::uint32_t>(above - sizeof above - t.from));
      t.below = above;
    }
    t.addresses->push_back(address);
    return t.addresses->size() < stack_depth ? DWARF_CB_OK : DWARF_CB_ABORT;
  }

  struct trailing {
    std::vector<std::uint64_t>* addresses;
    std::vector<std::uint32_t>* places;
    std::uint64_t from, below;
  };

  static inline const unwinder* current = nullptr;  // while libdwfl asks for files
  static inline char* debug_path = nullptr;
  static constexpr Dwfl_Callbacks files = {.find_elf = find_elf,
                                           .find_debuginfo = find_nothing,
                                           .section_address = nullptr,
                                           .debuginfo_path = &debug_path};
  static constexpr Dwfl_Thread_Callbacks threads = {.next_thread = next_thread,
                                                    .get_thread = get_thread,
                                                    .memory_read = read,
                                                    .set_initial_registers = set_registers,
                                                    .detach = nullptr,
                                                    .thread_detach = nullptr};
};

unwinder::unwinder(std::uint32_t process)
    : process_(process), dwfl_(dwfl_begin(&callbacks::files)) {
  refresh();
}

unwinder::~unwinder() {
  if (dwfl_ != nullptr) dwfl_end(dwfl_);
}

bool unwinder::refresh() {
  if (dwfl_ == nullptr) return false;
  std::vector<mapping> now = read_mappings(process_);
  const auto is_code = [](const mapping& m) { return m.executable && !m.name.empty(); };
  const auto code = [&](const std::vector<mapping>& all) {
    std::string lines;
    for (const mapping& m : all)
      if (is_code(m)) lines += m.line + "\n";
    return lines;
  };
  if (now.empty() || code(now) == code(mappings_)) return false;
  mappings_ = std::move(now);
  callbacks::current = this;
  dwfl_report_begin(dwfl_);
  dwfl_linux_proc_report(dwfl_, static_cast<pid_t>(process_));
  dwfl_report_end(dwfl_, nullptr, nullptr);
  // The files are opened now: the process may be gone when they are needed.
  dwfl_getmodules(
      dwfl_,
      [](Dwfl_Module* module, void**, const char*, Dwarf_Addr, void*) -> int {
        Dwarf_Addr bias = 0;
        dwfl_module_getelf(module, &bias);
        return DWARF_CB_OK;
      },
      nullptr, 0);
  if (!attached_)
    attached_ =
        dwfl_attach_state(dwfl_, nullptr, static_cast<pid_t>(process_), &callbacks::threads, this);
  callbacks::current = nullptr;
  trails_.clear();
  functions_.clear();
  names_.clear();
  jumps_.clear();
  trail_count_ = 0;
  return true;
}

bool unwinder::holds(const trail& t, const copied_stack& stack) {
  for (std::size_t i = 0; i < t.places.size(); ++i) {
    std::uint64_t word = 0;
    if (t.places[i] + sizeof word > stack.size) return false;
    std::memcpy(&word, stack.bytes + t.places[i], sizeof word);
    if (word != t.addresses[i + 1]) return false;
  }
  return true;
}

const std::vector<std::uint64_t>& unwinder::walk(const copied_stack& stack) {
  const user_registers& registers = *stack.registers;
  const std::uint64_t from = registers.of[stack_pointer];
  const std::uint64_t pointer = registers.of[frame_pointer] - from;
  const std::uint64_t relative = pointer < stack.size ? pointer : 0;
  std::deque<trail>& known = trails_[registers.of[16]];
  for (const trail& t : known)
    if (t.frame_pointer == relative && holds(t, stack)) return t.addresses;
  last_ = {relative, {}, {}};
  // What ended before would be taken for the beginning of other stacks.
  if (!by_tables(stack, last_)) return last_.addresses;
  if (++trail_count_ > most_trails) {
    trails_.clear();
    trail_count_ = 0;
    return last_.addresses;
  }
  known.push_front(last_);
  if (known.size() > trails_of_one) known.pop_back();
  return known.front().addresses;
}

bool unwinder::by_tables(const copied_stack& stack, trail& t) {
  const std::uint64_t from = stack.registers->of[stack_pointer];
  current_ = &stack;
  callbacks::current = this;
  callbacks::trailing into{&t.addresses, &t.places, from, from};
  const bool ended = attached_ && dwfl_getthread_frames(dwfl_, 1, callbacks::frame, &into) == 0;
  callbacks::current = nullptr;
  current_ = nullptr;
  if (t.addresses.empty()) t.addresses.push_back(stack.registers->of[16]);
  return t.addresses.size() == stack_depth || (ended && !t.places.empty());
}

namespace {

using jumps = std::unordered_map<std::uint64_t, std::string>;

// Adds where a function of a module jumps to outside of itself, as one does whose last act is
// another's call. `code`: its bytes, `from`: its address.
void add_jumps(const char* code, std::uint64_t from, std::uint64_t size, const char* name,
               jumps& found) {
  constexpr unsigned char jump = 0xe9;
  constexpr std::uint64_t jump_bytes = 5;
  for (std::uint64_t i = 0; i + jump_bytes <= size; ++i) {
    std::int32_t distance = 0;
    if (static_cast<unsigned char>(code[i]) != jump) continue;
    std::memcpy(&distance, code + i + 1, sizeof distance);
    const std::uint64_t to = from + i + jump_bytes + static_cast<std::uint64_t>(distance);
    if (to >= from && to < from + size) continue;
    const auto [entry, is_new] = found.try_emplace(to, name);
    if (!is_new && !same_lock(entry->second, name)) entry->second.clear();
  }
}

// The same of all exported functions; addresses are without the module's bias.
jumps jumps_of(Elf* elf) {
  jumps found;
  std::size_t bytes = 0;
  const char* file = elf_rawfile(elf, &bytes);
  Elf_Scn* section = nullptr;
  while (file != nullptr && (section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header, code;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    GElf_Sym symbol;
    for (int i = 0; data != nullptr && gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      Elf_Scn* in = elf_getscn(elf, symbol.st_shndx);
      const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
      if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || in == nullptr || name == nullptr ||
          gelf_getshdr(in, &code) == nullptr || symbol.st_value < code.sh_addr)
        continue;
      const std::uint64_t at = symbol.st_value - code.sh_addr + code.sh_offset;
      if (code.sh_type != SHT_PROGBITS || at > bytes || symbol.st_size > bytes - at) continue;
      add_jumps(file + at, symbol.st_value, symbol.st_size, name, found);
    }
  }
  return found;
}

}  // namespace

namespace {

// Where the function around `address` starts, by the module's sorted table of functions
// (.eh_frame_hdr in the one form that linkers write); 0: not known.
std::uint64_t start_of_function(Elf* elf, std::uint64_t address) {
  constexpr unsigned char form[] = {1, 0x1b, 0x03, 0x3b};
  constexpr std::size_t head_bytes = 12, entry_bytes = 8;
  std::size_t bytes = 0;
  const char* file = elf_rawfile(elf, &bytes);
  std::size_t segments = 0;
  if (file == nullptr || elf_getphdrnum(elf, &segments) != 0) return 0;
  for (std::size_t i = 0; i < segments; ++i) {
    GElf_Phdr at;
    if (gelf_getphdr(elf, static_cast<int>(i), &at) == nullptr || at.p_type != PT_GNU_EH_FRAME)
      continue;
    if (at.p_filesz < head_bytes || at.p_offset > bytes || at.p_filesz > bytes - at.p_offset ||
        std::memcmp(file + at.p_offset, form, sizeof form) != 0)
      return 0;
    const char* table = file + at.p_offset + head_bytes;
    const auto start = [&](std::size_t index) {
      std::int32_t distance = 0;
      std::memcpy(&distance, table + index * entry_bytes, sizeof distance);
      return at.p_vaddr + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance));
    };
    std::uint32_t count = 0;
    std::memcpy(&count, table - sizeof count, sizeof count);
    std::size_t low = 0,
                high = std::min<std::size_t>(count, (at.p_filesz - head_bytes) / entry_bytes);
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      (start(middle) <= address ? low : high) = start(middle) <= address ? middle + 1 : middle;
    }
    return low != 0 ? start(low - 1) : 0;
  }
  return 0;
}

}  // namespace

std::string unwinder::by_jumps(Dwfl_Module* module, std::uint64_t address) {
  Dwarf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module, &bias);
  if (elf == nullptr) return "";
  const auto [of, is_new] = jumps_.try_emplace(module);
  if (is_new) of->second = jumps_of(elf);
  const auto found = of->second.find(start_of_function(elf, address - bias));
  return found != of->second.end() ? found->second : "";
}

const std::string& unwinder::function(std::uint64_t address) {
  const auto [known, is_new] = functions_.try_emplace(address);
  if (is_new) known->second = find_function(address);
  return known->second;
}

std::string unwinder::find_function(std::uint64_t address) {
  Dwfl_Module* module = dwfl_addrmodule(dwfl_, address - 1);
  if (module == nullptr) return "";
  const function_names& names = names_.try_emplace(module, module).first->second;
  const function_names::found known = names.at(address - 1);
  if (known.is_sized) return known.name;
  const std::string found = by_jumps(module, address - 1);
  return found.empty() && known.name != nullptr ? known.name : found;
}

bool unwinder::knows(std::uint64_t address) const {
  return std::any_of(mappings_.begin(), mappings_.end(), [&](const mapping& m) {
    return m.executable && address >= m.begin && address < m.end;
  });
}

std::string unwinder::described() const {
  std::string text;
  bool before = false;
  for (const mapping& m : mappings_) {
    if (!m.name.empty() || before) text += m.line + "\n";
    before = !m.name.empty();
  }
  for (const mapping& m : mappings_) {
    if (m.offset != 0 || m.name.empty() || m.name[0] != '/') continue;
    Dwfl_Module* module = dwfl_addrmodule(dwfl_, m.begin);
    Dwarf_Addr start = 0, bias = 0;
    if (module == nullptr) continue;
    dwfl_module_info(module, nullptr, &start, nullptr, nullptr, nullptr, nullptr, nullptr);
    if (start != m.begin || dwfl_module_getelf(module, &bias) == nullptr) continue;
    const unsigned char* id = nullptr;
    GElf_Addr where = 0;
    const int bytes = dwfl_module_build_id(module, &id, &where);
    char line[64];
    std::snprintf(line, sizeof line, "build-id %" PRIx64 " %" PRIx64 " ", m.begin,
                  static_cast<std::uint64_t>(bias));
    text += line;
    for (int i = 0; i < bytes; ++i) {
      std::snprintf(line, sizeof line, "%02x", id[i]);
      text += line;
    }
    text += bytes > 0 ? "\n" : "-\n";
  }
  return text;
}

}  // namespace syncopate::record::kernel
