// recorder.cpp -- the life of a recording: start, finish, fork; and entering it.
#include "record/recorder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "record/file.h"
#include "record/hold_watch.h"
#include "record/maps.h"
#include "record/objects.h"
#include "record/stacks.h"
#include "record/threads.h"
#include "record/unwind.h"
#include "record/usage.h"

namespace syncopate::record {

constinit bool enabled = false;
constinit std::uint64_t ticks_per_second = 1;

namespace {

struct {
  tiny_lock opening;
  bool child_waits = false;  // a fork's child that has no file yet
  std::uint32_t child = 0;   // its process id, which a process that has its memory has not
  char path[longest_path] = {};
  char lock[32] = {}, wait[32] = {};
  std::uint32_t flags = 0;
  std::uint64_t cpu_before = 0;  // processor time of the process when the file was made
} constinit recording;

void copy_name(char (&to)[32], const char* from) noexcept {
  std::strncpy(to, from != nullptr ? from : "", sizeof to - 1);
}

// Opens the record and everything that lives in it. Returns 0 or an errno value.
int open_all() noexcept {
  if (const int error = open_record(recording.path)) return error;
  file_header* h = header.load(std::memory_order_relaxed);  // [G]
  std::memcpy(h->lock, recording.lock, sizeof h->lock);
  std::memcpy(h->wait, recording.wait, sizeof h->wait);
  h->flags |= recording.flags;
  if (!prepare_stacks() || !prepare_objects()) {
    const std::uint32_t flags = load(h->flags);
    discard_record();
    if ((flags & size_limited) != 0) return EFBIG;
    return (flags & disk_full) != 0 && (flags & space_limited) == 0 ? ENOSPC : ENOMEM;
  }
  snapshot_maps();
  recording.cpu_before = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
  return 0;
}

// A fork's child gets its file at its first event: most children call exec at once, and a file for
// each of those would say nothing.
[[gnu::cold]] bool open_in_child() noexcept {
  holding lock(recording.opening);
  if (!lock) return false;
  if (!recording.child_waits) return header.load(std::memory_order_acquire) != nullptr;  // [H]
  if (recording.child != sys::process_id()) return false;
  recording.child_waits = false;
  const int error = open_all();
  tell_parents_file(error);
  if (error == 0) return true;
  enabled = false;
  return false;
}

// Whether this is a fork's child without a file, and not one that has the memory of such a one.
bool is_quiet_child() noexcept {
  return enabled && recording.child_waits && recording.child == sys::process_id();
}

// The file of this process, if it is being recorded: not of one that has its memory (vfork), or of
// whose making the recorder was not told.
file_header* own_file() noexcept {
  file_header* const h = header.load(std::memory_order_relaxed);  // [G]
  return enabled && h != nullptr && h->process_id == sys::process_id() ? h : nullptr;
}

void end_with(file_header& h, file_flag how) noexcept {
  store(h.last_ticks, machine::ticks());
  store(h.last_monotonic_ns, machine::now());
  __atomic_fetch_or(&h.flags, how, __ATOMIC_RELEASE);  // [E]
}

// Of threads without an entry; those that have one may have used more since it was written.
std::uint32_t unseen_cpu_ms() noexcept {
  const std::uint64_t used = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
  const std::uint64_t known = recording.cpu_before + recorded_cpu_ns();
  const std::uint64_t ms = used > known ? (used - known) / 1'000'000 : 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(ms, UINT32_MAX));
}

void complain(const char* path, int error) noexcept {
  const char* why = ::strerrordesc_np(error);
  const char* parts[] = {"syncopate: cannot record into ", path, ": ",
                         why != nullptr ? why : "unknown error", "\n"};
  iovec line[5];
  for (int i = 0; i < 5; ++i) line[i] = {const_cast<char*>(parts[i]), std::strlen(parts[i])};
  sys::call(SYS_writev, 2, line, 5);
}

// A choice that is none would leave stacks as they are, without a word.
void warn_of_stacks() noexcept {
  const char* const choice = std::getenv("SYNCOPATE_STACKS");
  if (choice == nullptr || *choice == '\0' || std::strcmp(choice, "fp") == 0) return;
  const char* parts[] = {"syncopate: SYNCOPATE_STACKS=", choice,
                         " is not known (fp is); stacks are unwound by tables\n"};
  iovec line[3];
  for (int i = 0; i < 3; ++i) line[i] = {const_cast<char*>(parts[i]), std::strlen(parts[i])};
  sys::call(SYS_writev, 2, line, 3);
}

// What threads have noted by themselves goes into the file.
void tell_all() noexcept {
  if (thread_state* const t = local.state) {
    end_tries(*t);
    flush(*t);
    end_wait_if_left(*t);
    tell_capture_ticks(*t);
  }
  tell_all_counts();
  add_remainders();
}

}  // namespace

entry::entry() noexcept : entered_(!local.inside) {
  if (!entered_) return;
  local.inside = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // [C]
  usable_ =
      enabled && (header.load(std::memory_order_acquire) != nullptr || open_in_child());  // [H]
}

bool start(const char* path, const char* lock_name, const char* wait_name,
           std::uint32_t flags) noexcept {
  if (enabled || header.load(std::memory_order_relaxed) != nullptr) return false;  // [G]
  local.inside = true;
  int error = ENAMETOOLONG;
  if (make_absolute(path, recording.path)) {
    copy_name(recording.lock, lock_name);
    copy_name(recording.wait, wait_name);
    recording.flags = flags;
    ticks_per_second = machine::ticks_per_second();
    prepare_unwinding();
    warn_of_stacks();
    measure_new_page();
    error = open_all();
  }
  if (error != 0) complain(path, error);
  enabled = error == 0;
  local.inside = false;
  if (enabled) thread_begin(0);
  return enabled;
}

void finish() noexcept {
  file_header* const h = own_file();
  if (h == nullptr) return;
  entry inside;
  if (!inside) return;
  thread_times* const times = read_thread_times();  // while threads still say that they end
  enabled = false;  // no thread may count on while the remainders are added
  tell_all();
  refresh_threads(times);
  h->unseen_cpu_ms = unseen_cpu_ms();
  if (const std::uint32_t usable = usable_processors(); usable != 0) h->processors = usable;
  free_thread_times(times);
  snapshot_maps_last();
  end_with(*h, record::finished);
}

void about_to_exec() noexcept {
  if (is_quiet_child()) count_quiet_children(-1);
  file_header* const h = own_file();
  if (h == nullptr) return;
  entry inside;
  if (!inside) return;
  tell_all();
  look_at_threads(static_cast<std::uint32_t>((machine::now() - h->start_monotonic_ns) / 1'000'000));
  snapshot_maps_last();
  end_with(*h, record::replaced);
}

void exec_has_failed() noexcept {
  if (is_quiet_child()) count_quiet_children(1);
  file_header* const h = own_file();
  if (h != nullptr)
    __atomic_fetch_and(&h->flags, ~std::uint32_t{record::replaced}, __ATOMIC_RELAXED);  // [R]
}

void after_fork_in_child() noexcept {
  if (!enabled) return;
  if (local.inside) {
    // A signal handler has forked in the middle of the recorder, to which it returns: that code
    // still uses the parent's file.
    enabled = false;
    return;
  }
  leave_file();
  count_quiet_children(1);
  forget_stacks();
  forget_maps();
  forget_objects();
  forget_threads();
  recording.opening.reset();
  recording.child = sys::process_id();
  recording.child_waits = true;
}

}  // namespace syncopate::record
