#include "library_calls.h"

#include <cstring>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include "model/emulated/htm/transaction.h"
#include "model/emulated/memory/access.h"
#include "model/emulated/threads/registry.h"
#include "model/front/names/debug_info.h"
#include "model/front/program/options.h"
#include "model/front/scope.h"
#include "safe_functions.h"

namespace syncopate::emulated {

constinit thread_local foreign_call syncopate_emulated_outermost_call{};

namespace {

// What the assembly below gets in r11.
struct foreign_function {
  const char* name;
  std::uintptr_t real;
};

// ---- the pieces of code -------------------------------------------------------------------------

//   cmpq $0, %fs:offset_of(here.current)
//   jne inside
//   movq $0, %fs:offset_of(here.accesses.last)      # they have been made: the call may take long
//   movabs $function, %r11
//   jmp *outside
// inside:
//   movabs $function, %r11
//   jmp *handler
struct [[gnu::packed]] code_piece {
  std::uint8_t compare[5] = {0x64, 0x48, 0x83, 0x3c, 0x25};
  std::int32_t current_offset = 0;
  std::uint8_t zero = 0;
  std::uint8_t jump_if_inside[2] = {0x75, 29};
  std::uint8_t store[5] = {0x64, 0x48, 0xc7, 0x04, 0x25};
  std::int32_t last_access_offset = 0;
  std::int32_t no_access = 0;
  std::uint8_t load_function_outside[2] = {0x49, 0xbb};
  const foreign_function* function_outside = nullptr;
  std::uint8_t jump_outside[2] = {0xff, 0x25};
  std::int32_t outside_distance = 23;
  std::uint8_t load_function[2] = {0x49, 0xbb};
  const foreign_function* function = nullptr;
  std::uint8_t jump_to_handler[2] = {0xff, 0x25};
  std::int32_t handler_distance = 15;
  std::uint8_t filler[7] = {};
  void (*outside)() = nullptr;
  void (*handler)() = nullptr;
  std::uint8_t to_next_line[48] = {};
};
static_assert(sizeof(code_piece) == 128 && offsetof(code_piece, function) == 43 &&
              offsetof(code_piece, outside) == 64 && offsetof(code_piece, handler) == 72);

extern "C" [[gnu::visibility("hidden")]] void syncopate_emulated_outside();
extern "C" [[gnu::visibility("hidden")]] void syncopate_emulated_foreign();
extern "C" [[gnu::visibility("hidden")]] void syncopate_emulated_set_jump();

constexpr std::size_t pieces_in_block = 1024;
constexpr std::size_t block_bytes = pieces_in_block * sizeof(code_piece);

struct code_block {
  code_piece* first = nullptr;
  std::size_t used = pieces_in_block;
};
constinit code_block block;

// Pieces that are in use are never writable again.
void finish_block() {
  if (block.first != nullptr) mprotect(block.first, block_bytes, PROT_READ | PROT_EXEC);
  block = {};
}

// Returns: null when the system has no memory for code.
code_piece* new_piece() {
  if (block.used == pieces_in_block) {
    finish_block();
    void* const got =
        mmap(nullptr, block_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) return nullptr;
    block = {static_cast<code_piece*>(got), 0};
  }
  return &block.first[block.used++];
}

// Of a thread-local variable, from the thread pointer: the same in all threads.
std::int32_t offset_of(const void* variable) {
  const auto thread_pointer = reinterpret_cast<std::intptr_t>(__builtin_thread_pointer());
  return static_cast<std::int32_t>(reinterpret_cast<std::intptr_t>(variable) - thread_pointer);
}

// One for each function: programs compare functions' addresses.
std::uintptr_t piece_for(const char* symbol, std::uintptr_t real, bool sets_jump) {
  static auto& known = *new std::unordered_map<std::uintptr_t, std::uintptr_t>;
  if (const auto found = known.find(real); found != known.end()) return found->second;
  // The module that the name is in may go.
  const auto* const function = new foreign_function{(new std::string(symbol))->c_str(), real};
  code_piece* const piece = new_piece();
  if (piece == nullptr) return 0;
  *piece = code_piece{};
  piece->current_offset = offset_of(&here.current);
  piece->last_access_offset = offset_of(&here.accesses.last);
  piece->function = piece->function_outside = function;
  piece->outside = syncopate_emulated_outside;
  piece->handler = sets_jump ? syncopate_emulated_set_jump : syncopate_emulated_foreign;
  return known[real] = reinterpret_cast<std::uintptr_t>(piece);
}

// ---- modules ------------------------------------------------------------------------------------

struct code_range {
  std::uintptr_t low = 0, high = 0;
  bool sees_accesses = false;  // instrumented, or this library
  bool is_safe = false;
};

struct module {
  std::uintptr_t base = 0;
  const ElfW(Dyn) * dynamic = nullptr;
  std::uintptr_t read_only_low = 0, read_only_high = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela) * tables[2] = {};
  std::size_t sizes[2] = {};
};

std::vector<code_range>& ranges() {
  static auto& all = *new std::vector<code_range>;
  return all;
}
std::vector<const ElfW(Dyn) *>& done() {
  static auto& all = *new std::vector<const ElfW(Dyn)*>;
  return all;
}

// The loader has made these addresses absolute, but for the vdso's.
std::uintptr_t absolute(std::uintptr_t base, std::uintptr_t value) {
  return value < base ? base + value : value;
}

module read_module(const dl_phdr_info& info) {
  module m;
  m.base = info.dlpi_addr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const std::uintptr_t start = m.base + header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) m.dynamic = reinterpret_cast<const ElfW(Dyn)*>(start);
    if (header.p_type == PT_GNU_RELRO) {
      m.read_only_low = start;
      m.read_only_high = start + header.p_memsz;
    }
  }
  for (const ElfW(Dyn)* entry = m.dynamic; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    const std::uintptr_t value = entry->d_un.d_val;
    switch (entry->d_tag) {
      case DT_SYMTAB:
        m.symbols = reinterpret_cast<const ElfW(Sym)*>(absolute(m.base, value));
        break;
      case DT_STRTAB: m.strings = reinterpret_cast<const char*>(absolute(m.base, value)); break;
      case DT_JMPREL:
        m.tables[0] = reinterpret_cast<const ElfW(Rela)*>(absolute(m.base, value));
        break;
      case DT_PLTRELSZ: m.sizes[0] = value / sizeof(ElfW(Rela)); break;
      case DT_RELA:
        m.tables[1] = reinterpret_cast<const ElfW(Rela)*>(absolute(m.base, value));
        break;
      case DT_RELASZ: m.sizes[1] = value / sizeof(ElfW(Rela)); break;
      default: break;
    }
  }
  return m;
}

// Of what the code calls, and of functions' addresses in its data: tables of functions.
template <class Function>
void for_each_call(const module& m, Function function) {
  if (m.symbols == nullptr || m.strings == nullptr) return;
  for (int t = 0; t < 2; ++t) {
    for (std::size_t i = 0; m.tables[t] != nullptr && i < m.sizes[t]; ++i) {
      const ElfW(Rela)& entry = m.tables[t][i];
      const auto type = ELF64_R_TYPE(entry.r_info);
      const ElfW(Sym)& symbol = m.symbols[ELF64_R_SYM(entry.r_info)];
      const auto kind = ELF64_ST_TYPE(symbol.st_info);
      const bool is_address =
          type == R_X86_64_GLOB_DAT || (type == R_X86_64_64 && entry.r_addend == 0);
      const bool is_call =
          type == R_X86_64_JUMP_SLOT || (is_address && (kind == STT_FUNC || kind == STT_GNU_IFUNC));
      if (!is_call) continue;
      function(m.strings + symbol.st_name,
               reinterpret_cast<std::uintptr_t*>(m.base + entry.r_offset));
    }
  }
}

bool is_instrumented(const module& m) {
  bool found = false;
  for_each_call(m, [&](const char* symbol, std::uintptr_t*) {
    found = found || std::strcmp(symbol, "__tsan_init") == 0;
  });
  return found;
}

// This library's, once known; it has one range of code.
constinit std::uintptr_t own_low = 0, own_bytes = 0;

int note_ranges(dl_phdr_info* info, std::size_t, void*) {
  const module m = read_module(*info);
  const auto here_is = reinterpret_cast<std::uintptr_t>(&note_ranges);
  const std::size_t first = ranges().size();
  bool sees = is_instrumented(m);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uintptr_t low = info->dlpi_addr + header.p_vaddr;
    if (here_is - low < header.p_memsz) {
      own_low = low;
      own_bytes = header.p_memsz;
      sees = true;
    }
    ranges().push_back({low, low + header.p_memsz, false, is_safe_library(info->dlpi_name)});
  }
  for (std::size_t i = first; i < ranges().size(); ++i) ranges()[i].sees_accesses = sees;
  return 0;
}

const code_range* range_of(std::uintptr_t address) {
  for (const code_range& each : ranges())
    if (address >= each.low && address < each.high) return &each;
  return nullptr;
}

void write_entry(const module& m, std::uintptr_t* entry, std::uintptr_t value) {
  const auto at = reinterpret_cast<std::uintptr_t>(entry);
  constexpr std::uintptr_t page = 4096;
  void* const start = reinterpret_cast<void*>(at & ~(page - 1));
  const bool read_only = at >= m.read_only_low && at < m.read_only_high;
  if (read_only && mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return;
  *entry = value;
  if (read_only) mprotect(start, page, PROT_READ);
}

void redirect(const module& m) {
  for_each_call(m, [&](const char* symbol, std::uintptr_t* entry) {
    const code_range* const target = range_of(*entry);
    // Weak symbols that nobody defines; lazily bound ones point into the module itself.
    if (target == nullptr || target->sees_accesses || target->is_safe) return;
    const bool sets_jump = writes_jump_buffer(symbol);
    if (!sets_jump && is_safe_function(symbol)) return;
    const std::uintptr_t piece = piece_for(symbol, *entry, sets_jump);
    if (piece != 0) write_entry(m, entry, piece);
  });
}

int redirect_module(dl_phdr_info* info, std::size_t, void*) {
  const module m = read_module(*info);
  for (const ElfW(Dyn) * each : done())
    if (each == m.dynamic) return 0;
  done().push_back(m.dynamic);
  if (is_instrumented(m)) redirect(m);
  return 0;
}

}  // namespace

void redirect_library_calls() noexcept {
  const own_memory_scope ours;
  const std::lock_guard lock(registry);
  static constinit unsigned long long seen = 0;
  const unsigned long long loaded = instrument::libraries_loaded();
  if (loaded == seen) return;  // every object file's constructor asks
  seen = loaded;
  ranges().clear();
  dl_iterate_phdr(note_ranges, nullptr);
  dl_iterate_phdr(redirect_module, nullptr);
  finish_block();
}

bool is_own_code(std::uintptr_t address) noexcept { return address - own_low < own_bytes; }

bool is_seen_code(std::uintptr_t address) noexcept {
  const runtime_scope inside;
  const std::lock_guard lock(registry);
  const code_range* const found = range_of(address);
  return found != nullptr && found->sees_accesses;
}

bool is_called_back(const std::uintptr_t* frame) noexcept {
  const foreign_call& call = syncopate_emulated_outermost_call;
  const auto address = [](const std::uintptr_t* at) {
    return reinterpret_cast<std::uintptr_t>(at);
  };
  if (call.at <= address(frame + 1)) return false;
  if (*reinterpret_cast<const std::uintptr_t*>(call.at) != call.return_address) return false;
  // Or nobody has written there since: then only frames of seen code lie below.
  while (address(frame + 1) < call.at) {
    const auto* const next = reinterpret_cast<const std::uintptr_t*>(frame[0]);
    if (!is_seen_code(frame[1]) || next <= frame || address(next) >= call.at + (1 << 20))
      return true;
    frame = next;
  }
  return false;
}

// ---- what the pieces jump to, in a transaction --------------------------------------------------

extern "C" [[noreturn, gnu::visibility("hidden")]] void syncopate_emulated_library_call(
    const foreign_function* function, place where) noexcept {
  here.current->called = function->name;
  abort_transaction(*here.current, reason::library_call, where);
}

extern "C" [[gnu::visibility("hidden")]] void syncopate_emulated_log_jump(void* jump,
                                                                          place where) noexcept {
  constexpr std::size_t jump_bytes = 200;  // jmp_buf
  write_range(reinterpret_cast<std::uintptr_t>(jump), jump_bytes, where);
}

}  // namespace syncopate::emulated

using syncopate::emulated::foreign_call;
static_assert(offsetof(foreign_call, at) == 0 && offsetof(foreign_call, return_address) == 8 &&
              offsetof(foreign_call, stack_low) == 16 && offsetof(foreign_call, stack_bytes) == 24);

// The stack is as at the entry of the function. A jump buffer's function has to be jumped to: it
// notes its caller. Outside, all registers but r11 stay as they are: what is saved lies below the
// stack pointer, where signals' handlers leave 128 bytes alone.
asm(R"(
.text
.globl syncopate_emulated_outside
.hidden syncopate_emulated_outside
.type syncopate_emulated_outside, @function
.p2align 6
syncopate_emulated_outside:
  .cfi_startproc
  mov %rax, -16(%rsp)
  mov %rcx, -24(%rsp)
  mov syncopate_emulated_outermost_call@gottpoff(%rip), %rax
  mov %fs:0(%rax), %rcx
  cmp %rsp, %rcx
  jbe 1f  # none, or one from here or farther down: it has returned
  mov (%rcx), %rcx
  cmp %fs:8(%rax), %rcx
  je 2f
1:
  mov %rsp, %rcx
  sub %fs:16(%rax), %rcx
  cmp %fs:24(%rax), %rcx
  jae 2f
  mov %rsp, %fs:0(%rax)
  mov (%rsp), %rcx
  mov %rcx, %fs:8(%rax)
2:
  mov -24(%rsp), %rcx
  mov -16(%rsp), %rax
  jmp *8(%r11)
  .cfi_endproc
.size syncopate_emulated_outside, . - syncopate_emulated_outside

.globl syncopate_emulated_foreign
.hidden syncopate_emulated_foreign
.type syncopate_emulated_foreign, @function
syncopate_emulated_foreign:
  .cfi_startproc
  mov %r11, %rdi
  mov (%rsp), %rsi
  jmp syncopate_emulated_library_call
  .cfi_endproc
.size syncopate_emulated_foreign, . - syncopate_emulated_foreign

.globl syncopate_emulated_set_jump
.hidden syncopate_emulated_set_jump
.type syncopate_emulated_set_jump, @function
syncopate_emulated_set_jump:
  .cfi_startproc
  push %rdi
  .cfi_adjust_cfa_offset 8
  push %rsi
  .cfi_adjust_cfa_offset 8
  push %r11
  .cfi_adjust_cfa_offset 8
  mov 24(%rsp), %rsi
  call syncopate_emulated_log_jump
  pop %r11
  .cfi_adjust_cfa_offset -8
  pop %rsi
  .cfi_adjust_cfa_offset -8
  pop %rdi
  .cfi_adjust_cfa_offset -8
  jmp *8(%r11)
  .cfi_endproc
.size syncopate_emulated_set_jump, . - syncopate_emulated_set_jump
)");
