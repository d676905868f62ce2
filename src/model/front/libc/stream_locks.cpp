#include "model/front/libc/stream_locks.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <vector>

#include <link.h>
#include <pthread.h>
#include <sys/mman.h>

#include "model/front/libc/call_memory.h"
#include "model/front/libc/libc_range.h"
#include "model/front/program/layout.h"
#include "model/front/program/standard_streams.h"
#include "model/front/pthread/objects.h"

extern "C" void _IO_doallocbuf(std::FILE*);  // glibc's: gives a stream its buffer

namespace syncopate::instrument {

namespace {

constinit bool program_locks = false;

// A line for each, at addresses of their own: the machine sees them.
constexpr std::size_t most_locks = 16'384;
struct alignas(64) stream_lock {
  pthread_mutex_t mutex;
};
stream_lock* lock_table() {
  static void* const all =
      mmap(reinterpret_cast<void*>(layout::stream_locks), most_locks * sizeof(stream_lock),
           PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  return all != MAP_FAILED ? static_cast<stream_lock*>(all) : nullptr;
}

// By stream. None is ever thrown away: their addresses are the same in each execution.
std::map<std::FILE*, stream_lock*>& locks() {
  static auto& all = *new std::map<std::FILE*, stream_lock*>;
  return all;
}

// By the program, since it began.
std::vector<std::FILE*>& opened() {
  static auto& all = *new std::vector<std::FILE*>;
  return all;
}

void make_free(pthread_mutex_t& m) {
  std::memset(&m, 0, sizeof m);
  m.__data.__kind = PTHREAD_MUTEX_RECURSIVE_NP;
}

pthread_mutex_t& lock_of(std::FILE* stream) {
  const engine_scope inside;
  const auto [at, is_new] = locks().try_emplace(stream);
  if (is_new) {
    const std::size_t number = locks().size() - 1;
    const bool has_place = number < most_locks && lock_table() != nullptr;
    at->second = has_place ? lock_table() + number : new stream_lock;
    make_free(at->second->mutex);
  }
  return at->second->mutex;
}

bool takes_lock(std::string_view function) {
  return !function.ends_with("_unlocked") && !function.starts_with("__");
}

// By std::cout and its like, which need not lock it any more.
bool is_apart(engine::place where) {
  return standard_streams_apart() && cpp_library_code.has(where);
}

bool is_standard(const std::FILE* stream) {
  return stream == stdin || stream == stdout || stream == stderr;
}

// What a module refers to elsewhere, by the loader's tables.
struct references {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * data = nullptr, *calls = nullptr;
  std::size_t data_bytes = 0, calls_bytes = 0;
};

references references_of(const ElfW(Dyn) * dynamic) {
  references found;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const auto at = dynamic->d_un.d_ptr;
    switch (dynamic->d_tag) {
      case DT_SYMTAB: found.symbols = reinterpret_cast<const ElfW(Sym)*>(at); break;
      case DT_STRTAB: found.names = reinterpret_cast<const char*>(at); break;
      case DT_RELA: found.data = reinterpret_cast<const ElfW(Rela)*>(at); break;
      case DT_RELASZ: found.data_bytes = dynamic->d_un.d_val; break;
      case DT_JMPREL: found.calls = reinterpret_cast<const ElfW(Rela)*>(at); break;
      case DT_PLTRELSZ: found.calls_bytes = dynamic->d_un.d_val; break;
      default: break;
    }
  }
  return found;
}

bool has_locks(const references& all, const ElfW(Rela) * table, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / sizeof *table; ++i) {
    const std::string_view name = all.names + all.symbols[ELF64_R_SYM(table[i].r_info)].st_name;
    if (name == "flockfile" || name == "ftrylockfile") return true;
  }
  return false;
}

int look_at(dl_phdr_info* module, std::size_t, void*) {
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    if (module->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* const dynamic =
        reinterpret_cast<const ElfW(Dyn)*>(module->dlpi_addr + module->dlpi_phdr[i].p_vaddr);
    if (!needs_machine(dynamic)) continue;
    const references all = references_of(dynamic);
    if (all.symbols == nullptr || all.names == nullptr) continue;
    program_locks |=
        has_locks(all, all.data, all.data_bytes) || has_locks(all, all.calls, all.calls_bytes);
  }
  return program_locks ? 1 : 0;
}

}  // namespace

void find_stream_locks() { dl_iterate_phdr(look_at, nullptr); }

// (One that is locked was being used when its thread failed.)
void forget_streams() {
  const engine_scope inside;
  for (auto& [stream, lock] : locks()) make_free(lock->mutex);
  for (std::FILE* const each : opened())
    if (SYNCOPATE_REAL(ftrylockfile)(each) == 0) SYNCOPATE_REAL(fclose)(each);
  opened().clear();
}

std::FILE* open_stream(std::FILE* (*open)(void* arguments), void* arguments, engine::place where) {
  if (!by_program(where) || !engine::runs_again()) return open(arguments);
  const engine_scope inside;
  std::FILE* const stream = open(arguments);
  if (stream == nullptr) return stream;
  const int before = errno;
  _IO_doallocbuf(stream);
  errno = before;
  opened().push_back(stream);
  // By putc_unlocked and its like the program looks into both.
  const auto buffer_bytes = static_cast<std::size_t>(stream->_IO_buf_end - stream->_IO_buf_base);
  engine::allocated(address_of(stream), sizeof *stream, nullptr);
  engine::allocated(address_of(stream->_IO_buf_base), buffer_bytes, nullptr);
  return stream;
}

void forget_stream(std::FILE* stream, engine::place where) {
  const engine_scope inside;
  if (std::erase(opened(), stream) != 0) engine::freed(address_of(stream), sizeof *stream, where);
}

void lock_stream(std::FILE* stream, engine::place where) {
  objects::mutex_lock(lock_of(stream), nullptr, where);
}
bool try_lock_stream(std::FILE* stream, engine::place where) {
  return objects::mutex_trylock(lock_of(stream), where) == 0;
}
void unlock_stream(std::FILE* stream, engine::place where) {
  objects::mutex_unlock(lock_of(stream), where);
}

stream_call::stream_call(std::FILE* stream, std::string_view function, engine::place where)
    : stream_(program_locks && takes_lock(function) && by_program(where) ? stream : nullptr),
      where_(where) {
  if (stream_ != nullptr) lock_stream(stream_, where_);
  // Who does not lock it has to have it alone.
  else if ((!takes_lock(function) || is_apart(where)) && by_program(where))
    call_wrote(stream, sizeof *stream, where);
  // Who closes it meanwhile frees it.
  if (!is_standard(stream) && by_program(where)) call_reads(stream, 1, where);
}
stream_call::~stream_call() {
  if (stream_ != nullptr) unlock_stream(stream_, where_);
}

}  // namespace syncopate::instrument
