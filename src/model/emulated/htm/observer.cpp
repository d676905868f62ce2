//
// Memory order (each tag stands at its site below)
//   [R]  acquire load of what doomed the transaction -- synchronizes with doom() (conflict.cpp).
//   [M]  relaxed: no transaction runs that anybody could doom.
#include "observer.h"
#include "model/emulated/threads/real_mutex.h"

#include <algorithm>

#include "events.h"
#include "model/emulated/libc/library_calls.h"
#include "model/emulated/report/statistics.h"
#include "model/emulated/threads/registry.h"
#include "model/front/names/names.h"

namespace syncopate::emulated {

namespace {

// Counting is the machine's own work: it allocates for itself.
class observation {
 public:
  explicit observation(thread& t) : counts_(of(t)), lock_(counts_.lock) {}
  thread_statistics* operator->() const { return &counts_; }

 private:
  static thread_statistics& of(thread& t) {
    if (t.statistics == nullptr) t.statistics = new thread_statistics;
    return *static_cast<thread_statistics*>(t.statistics);
  }

  const own_memory_scope ours_;
  thread_statistics& counts_;
  const std::lock_guard<real_mutex> lock_;
};

// By the frame pointers of begin's callers, which instrumented code keeps. Without this library's
// own functions: a section of a pthread mutex begins where the program locks it.
call_stack stack_of_begin(const thread& t, place where) noexcept {
  call_stack stack{where};
  std::size_t depth = 0;
  std::uintptr_t frame = t.saved.preserved[1];
  std::uintptr_t low = t.saved.stack_pointer;
  for (place code = where; depth < most_frames;) {
    if (!is_own_code(reinterpret_cast<std::uintptr_t>(code))) stack[depth++] = code;
    if (frame < low || frame + 16 > t.stack_top || frame % 8 != 0) break;
    const auto* const words = reinterpret_cast<const std::uintptr_t*>(frame);
    code = reinterpret_cast<place>(words[1]);
    low = frame + 16;
    frame = words[0];
  }
  return stack;
}

place first_access(const thread& t, line l) noexcept {
  for (const touched_line* each = t.lines.first; each != t.lines.next; ++each)
    if (each->at == l) return each->first;
  return nullptr;
}

// The requester leaves it right after it has doomed us, unless it is descheduled just then.
place requester_of(const thread& t) noexcept {
  constexpr int patience = 10'000;
  place found = nullptr;
  for (int i = 0; i < patience && found == nullptr; ++i) {
    found = t.requester.load(std::memory_order_acquire);  // [R]
    __builtin_ia32_pause();
  }
  return found;
}

}  // namespace

void observe_begin(thread& t, place where) noexcept {
  const observation counts(t);
  t.requester.store(nullptr, std::memory_order_relaxed);  // [M]
  counts->site = stack_of_begin(t, where);
  ++counts->sites[counts->site].begun;
}

void observe_refused(thread& t, place where) noexcept {
  const observation counts(t);
  counts->site = stack_of_begin(t, where);
  site_counts& site = counts->sites[counts->site];
  ++site.begun;
  ++site.aborts[static_cast<std::size_t>(reason::refused)];
  ++counts->aborts[{counts->site[0], nullptr, reason::refused, 0, nullptr}];
}

void observe_commit(thread& t) noexcept {
  const observation counts(t);
  site_counts& site = counts->sites[counts->site];
  const auto lines = static_cast<std::uint32_t>(t.lines.size());
  ++site.committed;
  site.read_lines += lines - t.written_lines;
  site.written_lines += t.written_lines;
  site.accesses += accesses(t);
  site.most_read_lines = std::max(site.most_read_lines, lines - t.written_lines);
  site.most_written_lines = std::max(site.most_written_lines, t.written_lines);
}

void observe_abort(thread& t) noexcept {
  const observation counts(t);
  ++counts->sites[counts->site].aborts[static_cast<std::size_t>(t.why)];
  const line fought_over = status_word::line_of(t.status.load(std::memory_order_seq_cst));  // [Q]
  place ended = t.where;
  if (t.why == reason::conflict && fought_over != 0) {
    ended = first_access(t, fought_over);
    ++counts->conflicts[{fought_over, ended, requester_of(t)}];
  }
  ++counts->aborts[{counts->site[0], ended, t.why, t.code, t.called}];
}

void observe_fell_back(place) noexcept {
  if (here.self == nullptr) return;
  const observation counts(*here.self);
  ++counts->sites[counts->site].fell_back;
}

void observe_thread(const void* routine, const void* argument) noexcept {
  if (!observing) return;
  const own_memory_scope ours;
  const std::lock_guard lock(registry);
  instrument::note_thread_routine(self().index, routine, argument);
}

}  // namespace syncopate::emulated
