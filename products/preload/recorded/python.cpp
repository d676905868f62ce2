// python.cpp -- see python.h.
//
// A lock of Python's is a semaphore. The C API, which the interpreter exports, says which functions
// a thread is in. That may be asked only by the thread that has the interpreter's lock; so who has
// to wait is asked when its first attempt has failed, which is before it gives that lock up.
//
// Only calls for locks that Python has made ask: there the interpreter is between two steps of its
// own. From any other, as from an allocator that it has called, what it is asked could come back
// into what it is in the middle of.
//
// From 3.13 on some locks are words at which the interpreter parks threads itself, from 3.14 on all
// are. It makes a semaphore for each wait, behind the address that the thread waits for, and still
// has its global lock then: that is when it is asked. It has a lock of its table of waiting threads
// as well, so that nothing that it is asked may wait: what takes a lock of its own for that, as to
// trace an allocation, finds it free where there is a global lock, of one interpreter, and the
// thread is not about to wait for that very one. All else is not asked.
//
// Source        Python's C API, 3.9 and later; of 3.13 and 3.14 how it parks threads.
//
// Memory order (each tag stands at its site below)
//   [R]  release store, once, of what has been found.
//   [A]  acquire load -- synchronizes with [R].
//   [X]  relaxed: a hint that stands for itself, or behind the lock of the places.
#include "preload/recorded/python.h"

#include <syncopate/locks/futex_lock.h>
#include <syncopate/machine.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include "preload/base/real.h"
#include "record/recorder.h"
#include "record/system.h"
#include "record/told.h"

namespace syncopate::shim {

namespace {

// X(result, what it is called here, what it is called, parameters)
#define SYNCOPATE_PYTHON_API(X)                                       \
  X(void*, state_of_thread, "PyGILState_GetThisThreadState", ())      \
  X(void*, frame, "PyEval_GetFrame", ())                              \
  X(void*, frame_back, "PyFrame_GetBack", (void*))                    \
  X(void*, frame_code, "PyFrame_GetCode", (void*))                    \
  X(int, frame_line, "PyFrame_GetLineNumber", (void*))                \
  X(void, hold, "Py_IncRef", (void*))                                 \
  X(void, let_go, "Py_DecRef", (void*))                               \
  X(void*, attribute, "PyObject_GetAttrString", (void*, const char*)) \
  X(const char*, text, "PyUnicode_AsUTF8", (void*))                   \
  X(void, put_error_aside, "PyErr_Fetch", (void**, void**, void**))   \
  X(void, bring_error_back, "PyErr_Restore", (void*, void*, void*))   \
  X(void, forget_error, "PyErr_Clear", ())

struct code_range {
  std::uintptr_t begin = 0, end = 0;
  // Whether a call from there has this return address.
  [[nodiscard]] bool has(std::uint64_t returned) const noexcept {
    return returned > begin && returned <= end;
  }
};

struct python {
#define SYNCOPATE_MEMBER(result, name, symbol, parameters) result(*name) parameters = nullptr;
  SYNCOPATE_PYTHON_API(SYNCOPATE_MEMBER)
#undef SYNCOPATE_MEMBER
  void* (*current_state)() = nullptr;
  // From 3.10 on; 3.11 may collect garbage when it makes an object of a frame.
  int (*collect_no_garbage)() = nullptr;
  int (*collect_garbage)() = nullptr;
  code_range evaluates;  // Python's functions
  code_range all;        // the interpreter's own code
  // Of that, what makes a semaphore to park a thread at, and what parks it, from 3.13 on.
  code_range parks[2];
  code_range own_locks;  // where it has those of itself
  bool has_global_lock = false;
  void* (*first_one)() = nullptr;
  void* (*next_one)(void*) = nullptr;

  [[nodiscard]] bool makes_lock(const void* caller) const noexcept {
    return all.has(reinterpret_cast<std::uintptr_t>(caller)) && !parks_thread(caller);
  }
  [[nodiscard]] bool parks_thread(const void* caller) const noexcept {
    const auto returned = reinterpret_cast<std::uintptr_t>(caller);
    return parks[0].has(returned) || parks[1].has(returned);
  }
};

constinit python found_python;
constinit std::atomic<const python*> api{nullptr};

// A place in Python's code. The code is kept: another one would come to lie where it was.
struct place {
  void* code;
  int line;
  int told_by;  // the process that has told its name; a fork's child has a record of its own
};

constexpr std::uint64_t first_number = std::uint64_t{0x5079} << 48;  // no addresses
constexpr std::size_t most_places = 8192, place_slots = 2 * most_places;
constinit futex_lock places_lock;
constinit place places[place_slots]{};
constinit std::size_t places_known = 0;

// ---- what it is called ----

class line_buffer {
 public:
  void add(const char* text) noexcept {
    while (*text != '\0' && used_ < sizeof bytes_) add(*text++);
  }
  void add(char c) noexcept {
    if (used_ < sizeof bytes_) bytes_[used_++] = c;
  }
  // Each line has one name, in fields.
  void add_field(const char* text, std::size_t most) noexcept {
    for (std::size_t i = 0; i < most && text[i] != '\0'; ++i)
      add(text[i] == '\t' || text[i] == '\n' || text[i] == '\r' ? ' ' : text[i]);
  }
  void add_number(std::uint64_t n, unsigned base) noexcept {
    char digits[20];
    unsigned count = 0;
    do {
      digits[count++] = "0123456789abcdef"[n % base];
      n /= base;
    } while (n != 0);
    while (count != 0) add(digits[--count]);
  }
  void tell() const noexcept { record::tell_names(bytes_, used_); }

 private:
  char bytes_[2048];
  std::size_t used_ = 0;
};

// A text of a code object; the object that holds it, to be let go of.
void* text_of(const python& p, void* code, const char* name, const char*& text) noexcept {
  void* const object = p.attribute(code, name);
  text = object != nullptr ? p.text(object) : nullptr;
  if (text == nullptr) p.forget_error();
  return object;
}

void tell_name(const python& p, std::uint64_t number, void* code, int line) noexcept {
  const char *name = nullptr, *file = nullptr;
  void* of_name = text_of(p, code, "co_qualname", name);
  if (of_name == nullptr) of_name = text_of(p, code, "co_name", name);  // before 3.11
  void* const of_file = text_of(p, code, "co_filename", file);
  constexpr std::size_t longest_name = 500, longest_file = 1400;
  line_buffer told;
  told.add("name ");
  told.add_number(number, 16);
  told.add(' ');
  told.add_field(name != nullptr ? name : "?", longest_name);
  told.add('\t');
  told.add_field(file != nullptr ? file : "", longest_file);
  told.add('\t');
  told.add_number(line > 0 ? static_cast<unsigned>(line) : 0, 10);
  told.add("\tPython\n");
  told.tell();
  if (of_name != nullptr) p.let_go(of_name);
  if (of_file != nullptr) p.let_go(of_file);
}

// Where a place is, or is to be; its number is told in this process's record from now on.
struct known {
  std::size_t slot = place_slots;  // as many: no room
  bool is_told = false;
};

known find_place(const python& p, void* code, int line, int process) noexcept {
  if (!places_lock.try_lock()) return {};  // of no use to wait for: this is a sample
  std::size_t slot = (reinterpret_cast<std::uintptr_t>(code) / 16 * 31 +
                      static_cast<std::size_t>(line) * 0x9e3779b97f4a7c15u) %
                     place_slots;
  while (places[slot].code != nullptr && (places[slot].code != code || places[slot].line != line))
    slot = (slot + 1) % place_slots;
  place& at = places[slot];
  known found;
  if (at.code != nullptr || places_known < most_places) {
    found = {slot, at.code != nullptr && at.told_by == process};
    if (at.code == nullptr) {
      ++places_known;
      p.hold(code);
    }
    at = {code, line, process};
  }
  places_lock.unlock();
  return found;
}

// ---- where a thread is ----

// Whether a return address is that of what the kernel calls a signal's handler with: then what the
// signal has interrupted may be anything.
bool is_signals(std::uint64_t returned) noexcept {
#ifdef __x86_64__
  static constexpr unsigned char sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
#else
  static constexpr unsigned char sigreturn[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
#endif
  constexpr std::uint64_t page = 4096;
  if (returned % page > page - sizeof sigreturn) return false;  // the next one may not be there
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the stack has numbers
  return std::memcmp(reinterpret_cast<const void*>(returned), sigreturn, sizeof sigreturn) == 0;
}

unsigned calls(const std::uint64_t* pc, unsigned depth) noexcept {
  const python* const p = api.load(std::memory_order_acquire);  // [A]
  constexpr unsigned few = 3;  // an interpreter whose functions are not all in one
  if (p == nullptr) return 0;
  for (unsigned i = 0; i < depth; ++i) {
    if (p->evaluates.has(pc[i])) return i;
    if (is_signals(pc[i])) return 0;
  }
  return depth < few ? depth : few;
}

// Whether the calling thread is the one that may ask. Both are null in one that is not Python's.
bool may_ask(const python& p) noexcept {
  void* const current = p.current_state();
  return current != nullptr && current == p.state_of_thread();
}

unsigned frames(std::uint64_t (&found)[record::stack_depth]) noexcept {
  const python* const p = api.load(std::memory_order_acquire);  // [A]
  if (p == nullptr || !may_ask(*p)) return 0;
  const int process = getpid();
  void *type = nullptr, *value = nullptr, *trace = nullptr;
  const int collects = p->collect_no_garbage != nullptr ? p->collect_no_garbage() : 0;
  p->put_error_aside(&type, &value, &trace);
  unsigned count = 0;
  void* frame = p->frame();
  if (frame != nullptr) p->hold(frame);
  while (frame != nullptr && count < record::stack_depth) {
    void* const code = p->frame_code(frame);
    const int line = p->frame_line(frame);
    if (const known place = find_place(*p, code, line, process); place.slot != place_slots) {
      found[count++] = first_number | place.slot;
      if (!place.is_told) tell_name(*p, first_number | place.slot, code, line);
    }
    p->let_go(code);
    void* const back = p->frame_back(frame);
    p->let_go(frame);
    frame = back;
  }
  if (frame != nullptr) p->let_go(frame);
  p->bring_error_back(type, value, trace);
  if (collects != 0) p->collect_garbage();
  return count;
}

constexpr record::interpreter asked{frames, calls};

// ---- how it is found ----

void* symbol_beside(const Dl_info& of, const char* name) noexcept {
  void* const everywhere = dlsym(RTLD_DEFAULT, name);
  Dl_info there{};
  if (everywhere != nullptr && dladdr(everywhere, &there) != 0 && there.dli_fbase == of.dli_fbase)
    return everywhere;
  // One that was loaded for itself alone.
  void* const handle = dlopen(of.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return nullptr;
  void* const alone = dlsym(handle, name);
  real::dlclose(handle);
  Dl_info there_alone{};
  const bool is_beside =
      alone != nullptr && dladdr(alone, &there_alone) != 0 && there_alone.dli_fbase == of.dli_fbase;
  return is_beside ? alone : nullptr;
}

code_range range_of(void* function) noexcept {
  Dl_info info{};
  void* entry = nullptr;
  if (function == nullptr || dladdr1(function, &info, &entry, RTLD_DL_SYMENT) == 0 ||
      entry == nullptr)
    return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(function);
  return {begin, begin + static_cast<const ElfW(Sym)*>(entry)->st_size};
}

code_range segment_around(std::uintptr_t address) noexcept {
  code_range found{address, 0};
  const auto look = [](dl_phdr_info* module, std::size_t, void* range) {
    code_range& r = *static_cast<code_range*>(range);
    for (const ElfW(Phdr)* each = module->dlpi_phdr; each != module->dlpi_phdr + module->dlpi_phnum;
         ++each) {
      const std::uintptr_t begin = module->dlpi_addr + each->p_vaddr;
      if (each->p_type != PT_LOAD || r.begin - begin >= each->p_memsz) continue;
      r = {begin, begin + each->p_memsz};
      return 1;
    }
    return 0;
  };
  dl_iterate_phdr(look, &found);
  return found;
}

template <class Function>
bool find(const Dl_info& beside, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(symbol_beside(beside, name));
  return function != nullptr;
}

bool find_all(const Dl_info& beside, python& p) noexcept {
  bool complete = true;
#define SYNCOPATE_FIND(result, name, symbol, parameters) \
  complete = complete && find(beside, symbol, p.name);
  SYNCOPATE_PYTHON_API(SYNCOPATE_FIND)
#undef SYNCOPATE_FIND
  if (!complete) return false;
  if (!find(beside, "PyThreadState_GetUnchecked", p.current_state) &&
      !find(beside, "_PyThreadState_UncheckedGet", p.current_state))
    return false;
  if (!find(beside, "PyGC_Disable", p.collect_no_garbage) ||
      !find(beside, "PyGC_Enable", p.collect_garbage))
    p.collect_no_garbage = p.collect_garbage = nullptr;
  p.parks[0] = range_of(symbol_beside(beside, "_PySemaphore_Init"));
  p.parks[1] = range_of(symbol_beside(beside, "_PyParkingLot_Park"));
  p.evaluates = range_of(symbol_beside(beside, "_PyEval_EvalFrameDefault"));
  p.own_locks = range_of(symbol_beside(beside, "_PyRuntime"));
  p.has_global_lock = symbol_beside(beside, "_Py_MergeZeroLocalRefcount") == nullptr &&
                      p.own_locks.begin != 0 &&
                      find(beside, "PyInterpreterState_Head", p.first_one) &&
                      find(beside, "PyInterpreterState_Next", p.next_one);
  return true;
}

}  // namespace

bool makes_pythons_lock(const void* caller) noexcept {
  static constinit std::atomic<const void*> other{nullptr};  // made one, and is none of Python's
  static constinit std::atomic<bool> looked{false};
  if (const python* const p = api.load(std::memory_order_acquire))  // [A]
    return p->makes_lock(caller);
  if (looked.load(std::memory_order_relaxed) ||         // [X]
      other.load(std::memory_order_relaxed) == caller)  // [X]
    return false;
  Dl_info of{};
  if (dladdr(caller, &of) == 0 || symbol_beside(of, "PyThread_allocate_lock") == nullptr) {
    other.store(caller, std::memory_order_relaxed);  // [X]
    return false;
  }
  if (looked.exchange(true, std::memory_order_relaxed)) return false;  // [X]
  found_python.all = segment_around(reinterpret_cast<std::uintptr_t>(caller));
  if (!find_all(of, found_python)) return false;
  // From now on its functions are called: it stays where it is.
  if (void* const kept = dlopen(of.dli_fname, RTLD_NOLOAD | RTLD_LAZY | RTLD_NODELETE))
    real::dlclose(kept);
  api.store(&found_python, std::memory_order_release);  // [R]
  record::asked_interpreter = &asked;
  return found_python.makes_lock(caller);
}

bool parks_pythons_thread(const void* caller) noexcept {
  const python* const p = api.load(std::memory_order_acquire);  // [A]
  return p != nullptr && p->parks_thread(caller);
}

// Who waits for the lock of the table keeps the interpreter's.
const void* pythons_parked_for(const sem_t* semaphore) noexcept {
  const python* const p = api.load(std::memory_order_acquire);  // [A]
  if (p == nullptr || may_ask(*p)) return nullptr;
  return pythons_woken_for(semaphore);
}

const void* pythons_woken_for(const sem_t* semaphore) noexcept {
  return reinterpret_cast<const void* const*>(semaphore)[-1];
}

// What the name of a type says; its memory may be none of a type's.
static pythons_word named(std::uintptr_t type) noexcept {
  constexpr std::size_t name_at = 24;  // in PyTypeObject
  const char* name = nullptr;
  char text[20]{};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): looked at by the kernel
  const auto* const there = reinterpret_cast<const char*>(type) + name_at;
  if (!record::sys::copy_memory(there, static_cast<void*>(&name), sizeof name) ||
      !record::sys::copy_memory(name, text, sizeof text - 1))
    return pythons_word::unknown;
  if (std::strcmp(text, "_thread.lock") == 0) return pythons_word::lock;
  if (std::strcmp(text, "_thread.RLock") == 0) return pythons_word::rlock;
  if (std::strcmp(text, "_queue.SimpleQueue") == 0) return pythons_word::queue;
  return pythons_word::unknown;
}

// An object begins with its count of references and its type; the word comes next.
pythons_word what_pythons_word_is(const void* word) noexcept {
  static constinit std::atomic<std::uintptr_t> latest{0};  // a type, and in its low bits what it is
  constexpr std::uintptr_t low_bits = 7;
  std::uintptr_t type = 0;
  const char* const before = static_cast<const char*>(word) - sizeof type;
  if (!record::sys::copy_memory(before, &type, sizeof type) || (type & low_bits) != 0)
    return pythons_word::unknown;
  const std::uintptr_t known = latest.load(std::memory_order_relaxed);  // [X]
  if ((known & ~low_bits) == type) return static_cast<pythons_word>(known & low_bits);
  const pythons_word found = named(type);
  if (found != pythons_word::unknown)
    latest.store(type | static_cast<std::uintptr_t>(found), std::memory_order_relaxed);  // [X]
  return found;
}

bool may_ask_parking_python(const sem_t* semaphore) noexcept {
  const python* const p = api.load(std::memory_order_acquire);  // [A]
  if (p == nullptr || !p->has_global_lock || !may_ask(*p)) return false;
  const auto word = reinterpret_cast<std::uintptr_t>(pythons_woken_for(semaphore));
  return !p->own_locks.has(word + 1) && p->next_one(p->first_one()) == nullptr;
}

bool uses_pythons_lock(const void* caller) noexcept {
  static constinit std::atomic<const void*> yes{nullptr}, no{nullptr};  // the latest of each
  const python* const p = api.load(std::memory_order_acquire);          // [A]
  if (p == nullptr || caller == nullptr) return false;
  if (yes.load(std::memory_order_relaxed) == caller) return true;  // [X]
  if (no.load(std::memory_order_relaxed) == caller) return false;  // [X]
  Dl_info of{};
  const bool is_of_it = p->makes_lock(caller) || (dladdr(caller, &of) != 0 &&
                                                  std::strstr(of.dli_fname, "/_multiprocessing."));
  (is_of_it ? yes : no).store(caller, std::memory_order_relaxed);  // [X]
  return is_of_it;
}

}  // namespace syncopate::shim
