// unwind.cpp -- two ways to walk a stack.
//
// By unwind tables (_Unwind_Backtrace of the static libgcc: no allocation, and no lock where the C
// library has _dl_find_object) unless SYNCOPATE_STACKS=fp asks for frame pointers. One might
// expect "frame pointers when the chain looks valid": but code built without them, as all of
// Debian's is, uses that register freely, and functions that happen to leave it alone give a chain
// that validates while frames - the caller itself, most often - are missing from it. A wrong stack
// blames the wrong code, so a person who knows that the program has frame pointers says so. The
// tables' higher cost is bounded by the budget in threads.h.
//
// Faults: every address that the frame-pointer walk reads lies between this frame and the top of
// the thread's stack, which is mapped. The tables are trusted while the thread is on its own stack
// and each frame lies above the one before.
#include "record/unwind.h"

#include <cstdlib>
#include <cstring>

#include <elf.h>
#include <sys/auxv.h>
#include <unwind.h>

#include "record/return_address.h"

extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
extern void* __libc_stack_end;
}

namespace syncopate::record {

namespace {

constinit std::uintptr_t own_begin = 0, own_end = 0;
constinit bool frame_pointers = false;

bool is_own(std::uintptr_t pc) noexcept { return pc >= own_begin && pc < own_end; }

struct walk {
  std::uint64_t* pc;
  unsigned depth, limit;
  unsigned own_frames;
  stack_bounds bounds;           // low moves up frame by frame
  bool checked;                  // whether frames must lie in `bounds`
  std::uintptr_t frame_pointer;  // register's value in the first frame outside this library
  trail* noted;
  std::uintptr_t from;
};

#if defined(__x86_64__)
constexpr int frame_pointer_register = 6;  // rbp, in DWARF's numbering
#elif defined(__aarch64__)
constexpr int frame_pointer_register = 29;
#endif

// Return address `pc` is said to be right below its frame, at `at`. Where it is not (behind a
// signal, on other processors), there is no trail.
[[gnu::no_sanitize("address")]] void note(walk& w, std::uintptr_t at, std::uintptr_t pc) noexcept {
  trail& t = *w.noted;
  const bool own = is_own(pc);
  if (own && w.depth != 0) return;  // of a thread's start
  if (at < w.from) {
    t.inner += own ? 0 : 1;
    return;
  }
  const std::uintptr_t words = (at - w.from) / sizeof pc;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel and registers give numbers
  const auto* const there = reinterpret_cast<const std::uintptr_t*>(at);
  t.spoiled |= words > UINT16_MAX || at % sizeof pc != 0 || at + sizeof pc > w.bounds.high ||
               (own && t.own_count == trail::most_own) || *there != pc;
  if (t.spoiled) return;
  if (own) t.own[t.own_count++] = static_cast<std::uint32_t>(pc - own_begin);
  t.place[t.count++] = static_cast<std::uint16_t>(words);
}

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  walk& w = *static_cast<walk*>(argument);
  const std::uintptr_t pc = _Unwind_GetIP(context);
  if (pc == 0) return _URC_NORMAL_STOP;
  if (w.noted != nullptr) note(w, _Unwind_GetCFA(context) - sizeof pc, pc);
  // Innermost, and where a thread starts through a trampoline of the shim.
  if (is_own(pc)) return ++w.own_frames < stack_depth ? _URC_NO_REASON : _URC_NORMAL_STOP;
  if (w.depth == 0) w.frame_pointer = _Unwind_GetGR(context, frame_pointer_register);
  w.pc[w.depth++] = pc;
  if (w.depth == w.limit) return _URC_NORMAL_STOP;
  const std::uintptr_t frame = _Unwind_GetCFA(context);
  if (w.checked && (frame < w.bounds.low || frame >= w.bounds.high)) return _URC_NORMAL_STOP;
  w.bounds.low = frame;
  return _URC_NO_REASON;
}

struct way_out {
  std::uintptr_t frame;
  stack_bounds bounds;
  unsigned frames;
  bool is_above, knows;
};

// A handler's stack may be a part of the thread's own, so that all frames are looked at.
_Unwind_Reason_Code look_out(_Unwind_Context* context, void* argument) {
  constexpr unsigned most_frames = 1000;
  way_out& out = *static_cast<way_out*>(argument);
  int is_interrupted = 0;
  _Unwind_GetIPInfo(context, &is_interrupted);
  const std::uintptr_t at = _Unwind_GetCFA(context);
  out.knows = is_interrupted == 0 && ++out.frames < most_frames;
  out.is_above |= at > out.frame && at >= out.bounds.low && at < out.bounds.high;
  return out.knows ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

// Adds callers to the `depth` return addresses in `pc` by following saved frame pointers, until
// the chain leaves [low, high) or stops going upwards; returns the new depth. What it reads are
// other functions' frames, which the address sanitizer would take for an error.
[[gnu::no_sanitize("address")]] unsigned walk_frame_pointers(const stack_bounds& bounds,
                                                             std::uintptr_t frame,
                                                             std::uint64_t* pc,
                                                             unsigned depth) noexcept {
  std::uintptr_t low = bounds.low;
  while (depth < stack_depth && frame >= low && frame + 16 <= bounds.high && frame % 8 == 0) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel and registers give numbers
    const auto* saved = reinterpret_cast<const volatile std::uintptr_t*>(frame);
    const std::uintptr_t next = saved[0], caller = without_signature(saved[1]);
    if (caller < 4096) break;
    if (!is_own(caller)) pc[depth++] = caller;
    low = frame + 16;
    frame = next;
  }
  return depth;
}

}  // namespace

// Innermost first: each that holds shows that the next place is one that a walk would read.
[[gnu::no_sanitize("address", "thread")]] bool trail::holds(
    std::uintptr_t frame, const std::uint64_t* pc) const noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel and registers give numbers
  const auto* const words = reinterpret_cast<const volatile std::uint64_t*>(frame);
  for (unsigned i = 0; i < own_count; ++i)
    if (words[place[i]] != own_begin + own[i]) return false;
  for (unsigned i = own_count; i < count; ++i)
    if (words[place[i]] != pc[i - own_count + inner]) return false;
  return true;
}

stack_bounds find_stack_bounds() noexcept {
  // The stack's size is not known without pthread_getattr_np(), which allocates: take the default
  // one. It errs to the safe side for larger stacks, and a coroutine's stack, made by malloc() or
  // mmap(), is almost never within it.
  constexpr std::uintptr_t least = 8u << 20, most = 64u << 20;
  const rlim_t limit = sys::limit(RLIMIT_STACK);
  const std::uintptr_t size = limit < least ? least : limit > most ? most : limit;
  // The C library keeps a thread's descriptor directly above its stack.
  const std::uintptr_t high = sys::process_id() == sys::thread_id()
                                  ? reinterpret_cast<std::uintptr_t>(__libc_stack_end)
                                  : reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  return {high - size, high};
}

unsigned walk_stack(const stack_bounds& bounds, std::uint64_t (&pc)[stack_depth], trail* noted,
                    std::uintptr_t from) noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const bool on_own_stack = here > bounds.low && here < bounds.high;
  // Up to the caller, only our own frames are walked, and we know that their tables are right.
  // That is as far as one may go on a foreign stack.
  const bool only_caller = frame_pointers || !on_own_stack;
  if (noted != nullptr && only_caller) noted->spoiled = true;  // cheap, or on a stack not ours
  walk w{pc, 0, only_caller ? 1 : stack_depth, 0, bounds, on_own_stack, 0, noted, from};
  _Unwind_Backtrace(visit, &w);
  if (!frame_pointers || !on_own_stack) return w.depth;
  const unsigned depth = walk_frame_pointers({here, bounds.high}, w.frame_pointer, pc, w.depth);
  if (depth > 1) return depth;
  // No frame pointers in this one after all.
  w = {pc, 0, stack_depth, 0, bounds, true, 0, nullptr, 0};
  _Unwind_Backtrace(visit, &w);
  return w.depth;
}

bool has_left(const stack_bounds& bounds, std::uintptr_t frame) noexcept {
  way_out out{frame, bounds, 0, false, false};
  _Unwind_Backtrace(look_out, &out);
  return out.knows && out.is_above;
}

void prepare_unwinding() noexcept {
  const char* choice = std::getenv("SYNCOPATE_STACKS");
  frame_pointers = choice != nullptr && std::strcmp(choice, "fp") == 0;
  own_begin = reinterpret_cast<std::uintptr_t>(__ehdr_start);
  own_end = reinterpret_cast<std::uintptr_t>(_end);
  // Linked into a program directly, as in our unit tests, there is no "own library" to leave out.
  const std::uintptr_t program = ::getauxval(AT_PHDR);
  if (is_own(program)) own_begin = own_end = 0;
  std::uint64_t pc[stack_depth];
  walk_stack(find_stack_bounds(), pc);
}

}  // namespace syncopate::record
