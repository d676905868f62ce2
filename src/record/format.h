// format.h -- the record file: what the recorder writes and `syncopate report` reads.
//
// A record is one file per process, mapped shared while the process runs, so that a process that is
// killed leaves everything it had written. All integers are little-endian; times are ticks of the
// recorded machine's cheap clock (two stamps of both clocks in the header give its rate).
//
//   file    = file_header (4,096 bytes) chunk*
//   chunk   = chunk_header (64 bytes) item*        chunk sizes are multiples of 4,096 bytes
//
// A reader walks the chunks from offset 4,096 by chunk_header::bytes until header.bytes_used.
// chunk_header::used items are valid; it is stored with release order after the item is written.
// Mirrored by syncopate/records/recordformat.py, whose test compares every size and offset with it.
#pragma once

#include <cstdint>

namespace syncopate::record {

inline constexpr char magic[8] = {'S', 'Y', 'N', 'C', 'R', 'E', 'C', '1'};
inline constexpr std::uint32_t version = 3;

enum file_flag : std::uint32_t {
  finished = 1,         // the process ended through exit() or by returning from main
  disk_full = 2,        // the file could not grow: no space left
  descriptor_lost = 4,  // the file could not grow: the program closed our descriptor
  table_full = 8,       // more locks than the table holds; the rest is counted in lock 0
  sampled = 16,         // some events were thinned out (weights say how much)
  size_limited = 32,   // beside disk_full: not the disk, but the limit on a file's size (ulimit -f)
  space_limited = 64,  // beside disk_full: the part of the address space that is the record's
  growth_refused = 4096,  // beside disk_full: the process may not make the calls, as in a sandbox
  detached = 128,         // the recording ended, and the process went on
  gave_up = 512,  // a thread that had one of the recorder's locks did not release it; last_ticks
                  // is when
  // Only threads that came to one of OpenMP's calls are in here, with what they waited for there.
  only_openmp = 1024,
  // A signal ended the process, and the recorder beside it has seen that; last_ticks is when.
  killed = 2048,
  // Of OpenMP's tasks some have functions whose begin and end are not seen: since then waits for
  // tasks that a run-time of OpenMP runs are not in here.
  task_waits_untold = 8192,
  replaced = 256,  // the process called exec, and what came before is all here; last_ticks is when
};

struct file_header {  // 4,096 bytes
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;  // 4,096
  std::uint64_t bytes_used;    // end of the last chunk
  std::uint32_t process_id, parent_id;
  std::uint64_t start_ticks, start_monotonic_ns, start_realtime_ns;
  std::uint64_t last_ticks, last_monotonic_ns;  // written now and then, and at the end
  std::uint32_t flags;                          // file_flag
  std::uint32_t processors;        // that its threads may use, by what they could as they ended or
                                   // in the end; of a killed process, as it was seen last
  char lock[32];                   // algorithm the program ran with, for example "auto"
  char wait[32];                   // waiting strategy, for example "spin_then_park"
  char executable[512];            // /proc/self/exe
  char command[2048];              // /proc/self/cmdline, NUL-separated; of a longer one the
                                   // beginning and "..."
  std::uint64_t capture_ticks;     // time spent capturing call stacks, all threads (approximate)
  char measured[1280];             // JSON that `syncopate record` adds: energy, processor time
  std::uint64_t ticks_per_second;  // measured at the start; the stamps above say it better, later
  // Monotonic time at which `syncopate record` saw the process end; 0: not seen.
  std::uint64_t ended_monotonic_ns;
  std::uint32_t recorder;     // recorder_kind
  std::uint32_t recorder_id;  // process that writes this, where not the recorded one does; else 0
  std::uint64_t lost_waits;   // waits, beginnings and ends of threads that are not in here, in all
                              // processes recorded at once; and the ticks of such waits
  std::uint64_t lost_ticks;
  // Of all processes recorded at once: how many stacks of waiters and of wakers were to be copied,
  // and were not, since there was no room; by_kernel only.
  std::uint64_t lost_stacks, copied_stacks;
  // Looks of `syncopate record` at threads that were in no recorded wait, and in how many of these
  // they slept in a futex call: of the C library's own locks, or a run-time's.
  std::uint32_t looks, looks_at_futex;
  // Forked children that had something to record and could not make a file of their own, as after a
  // change of their user; and the errno value of the last.
  std::uint32_t unrecorded_children, unrecorded_error;
  // Forked children, and theirs, that have come to nothing that is recorded, and so have no file;
  // not those that have called exec.
  std::uint32_t quiet_children;
  // Milliseconds of processor time that the process has used in threads that have no entry, as that
  // were not made by the pthread_create that the recorder sees; by_preload, once finished.
  std::uint32_t unseen_cpu_ms;
  char reserved[4096 - 4072];
};

enum recorder_kind : std::uint32_t {
  by_preload = 0,  // from within the process
  // From outside, by what the kernel sees (src/record/kernel): a wait is one sleep in a futex call.
  // Acquisitions are not known: lock_entry::acquisitions counts waits that ended with the lock.
  by_kernel = 1,
  by_jvm = 2,  // from within, but only what a Java VM tells (products/jvm)
};

enum class chunk_kind : std::uint32_t {
  locks = 1,
  threads,
  rows,
  events,
  stacks,
  maps,
  sites,  // this and the following: transaction_format.h
  site_rows,
  conflicts,
  unsafe_calls,
  cpu_samples,
};

struct chunk_header {   // 64 bytes
  std::uint32_t kind;   // chunk_kind
  std::uint32_t bytes;  // whole chunk, header included; a multiple of 4,096
  std::uint32_t first;  // id of the first item (locks, threads, stacks, sites); else the owner's
                        // thread id (the index of the thread_entry)
  std::uint32_t used;   // valid items; for maps: valid bytes of text
  std::uint64_t ticks;  // when the chunk was made
  char reserved[40];
};

enum class object_kind : std::uint8_t {
  mutex = 1,
  rwlock,
  spinlock,
  condition,
  barrier,
  futex,      // the program's own, used through syscall()
  semaphore,  // sem_t
  thread,     // one that others wait for to end; its address is its pthread_t
  yield,      // no lock: a call of sched_yield(), by its return address
};

enum lock_flag : std::uint16_t {
  created = 1,    // an init call was seen; create_stack says where
  destroyed = 2,  // a destroy call was seen, or its memory has gone to another object
  used_as_lock =
      4,  // of a futex of the program's own, or a shared semaphore: by who wakes (futex_wakes.h)
  in_part = 8,  // objects of this entry ended without a destroy call, and their counts with them:
                // of each the acquisitions after the last sampled one are missing
};

// Ticks to histogram bucket: two buckets per octave from 2^6 ticks; the last one is open.
//   bucket(t) = clamp(2 * floor(log2 t) + (bit below the leading one) - 12, 0, n - 1)
struct lock_entry {  // 256 bytes; id = chunk.first + index; id 0: "locks beyond the table"
  std::uint64_t address;
  std::uint8_t object;  // object_kind
  // pthread type (normal 0, recursive 1, errorcheck 2, adaptive 3); of a futex, what of Python's it
  // is in: a Lock (16), an RLock (17), a SimpleQueue (18)
  std::uint8_t type;
  std::uint16_t flags;         // lock_flag
  std::uint32_t create_stack;  // stack id of the init call, 0 when none was seen
  std::uint32_t first_stack;   // stack id of the first use seen, 0 when not captured
  std::uint32_t reserved;
  std::uint64_t created_ticks, destroyed_ticks;
  // May lag by fewer than 256 when the process was killed; a reader-writer lock's by as many for
  // each thread. Of a condition variable: how often threads that waited for it were woken.
  std::uint64_t acquisitions;
  // Ticks. Each sample is in the sum and the histogram as often as it stands for acquisitions; the
  // largest is that of all holds that were seen, also of those after a wait.
  std::uint64_t hold_samples, hold_sum, hold_max;
  std::uint32_t hold_histogram[46];
};

// What a thread waits for, written when the wait begins, so that it is there whatever becomes of
// the process. Only the thread itself writes here (but for the last two); `since` is stored last,
// with release order.
struct open_wait {
  std::uint64_t since;   // ticks; 0: the thread waits for nothing
  std::uint64_t end;     // ticks; 0: it still waits; else the wait is over, but not yet in its row;
                         // of one that tries again and again, the last try, be it over or not
  std::uint64_t caller;  // return address of the call that waits, 0 when unknown
  std::uint32_t lock, kind;  // lock id, wait_kind
  std::uint32_t holder;      // kernel thread id that held the lock when the wait began, or 0
  std::uint32_t stack;       // stack id, 0 when not captured
  std::uint32_t flags;       // open_flag
  // Not of the wait, but of its thread: what `syncopate record` last saw the kernel count of it
  // since start_ticks, for thread_entry::cpu_ns and delay_ns, and when: in milliseconds after the
  // record's start. Of use where it could not end.
  std::uint32_t seen_after_ms;
  std::uint64_t seen_cpu_ns, seen_delay_ns;
};

enum open_flag : std::uint32_t {
  timed = 1,      // the wait ends at some time by itself
  has_owner = 2,  // the lock says in its memory who holds it: where glibc's mutex, its rwlock and
                  // our semaphores (semaphore.cpp) do
  began_before = 4,  // the recording: `since` is when that began
};

inline constexpr unsigned most_read_held = 4;
struct thread_entry {                    // 192 bytes; id = chunk.first + index
  std::uint32_t thread_id;               // kernel's
  std::uint32_t start_stack;             // stack id of pthread_create's caller, 0 when unknown
  std::uint64_t start_ticks, end_ticks;  // end 0: still running when the record ended
  char name[16];
  std::uint64_t cpu_ns;    // processor time since start_ticks; 0: unknown
  std::uint64_t delay_ns;  // time that it could have run but had no processor; as cpu_ns
  std::uint64_t handle;    // pthread_t
  open_wait open;
  // Addresses of reader-writer locks that it holds for reading; 0: none. Beyond these, unknown.
  std::uint64_t read_held[most_read_held];
  // What `syncopate record` or `top` has seen of the wait that began at `seen_since`: who held the
  // lock while, before and after, that thread itself was in the wait that began at
  // `seen_holder_since`, and so could not let go of it.
  std::uint64_t seen_since, seen_holder_since;
  std::uint32_t seen_holder;  // kernel thread id
  // What the kernel said of processor time and of delay_ns at start_ticks.
  std::uint32_t cpu_before_us;
  std::uint64_t delay_before_ns;
};

enum class wait_kind : std::uint32_t {
  mutex = 1,         // lock of a mutex
  mutex_relock = 2,  // re-acquiring the mutex on the way out of a condition wait
  read = 3,          // rwlock, shared
  write = 4,         // rwlock, exclusive
  spinlock = 5,
  condition = 6,  // waiting for a condition variable (not lost to a lock)
  barrier = 7,
  futex = 8,            // the program's own FUTEX_WAIT
  elision = 9,          // no wait: counts of elided sections, in a row of their own (elision_count)
  came_last = 10,       // no wait: the thread was the last at an OpenMP barrier, or to leave a
                        // region: then wait_row::wait_sum is how long the others waited for it
  release = 11,         // no wait: releases while others waited, sampled, and how long they took
  holder = 12,          // no wait: sampled holds, and whether they ran on (holder_count)
  semaphore = 13,       // that was posted by another thread than had taken it: a signal
  join = 14,            // waiting for a thread to end
  trylock = 15,         // a trylock that failed again and again, in quick succession
  semaphore_lock = 16,  // one that was posted by who had taken it: used as a lock
  yield = 17,           // in sched_yield(), as loops that wait do
  outside = 18,         // no wait: how long a thread was at work between two of its sections
  away = 19,            // no wait: of these, where it waited elsewhere or slept, and how long
  inside = 20,          // no wait: sampled holds that were not interrupted, and how long they took
  call = 21,         // no lock: blocked in another system call, whose number is in wait_row::lock
                     // (2^32 - 1: in none, as in a page fault); by_kernel only
  speculation = 22,  // no wait: counts of runs ahead of the lock (speculation_count)
  futex_lock = 23,   // the same, at one that was known by then to be used as a lock
  in_vain = 24,      // no wait: how many waits for the lock ended without it, as by a time limit
  at_work = 25,      // no wait: how often the thread came to an OpenMP barrier, or the end of a
                     // region, and for how long it was at work before, without waits
  more_work = 26,    // no wait: how often it was the last there, at work longer than others, and
                     // how long these waited for it then, in all
  signals = 27,      // no wait: how often the thread woke others that waited for a condition
                     // variable; of those that it has not waited for, only the first ones
};

// Rows of the kind `signals` that a thread may have of what it has not waited for.
inline constexpr std::uint32_t most_signal_rows = 64;

// Where a row of kind `holder` has its counts, by index of the histogram; wait_row::waits is how
// many holds were looked at.
enum holder_count : std::uint32_t {
  preempted_holds,  // lost their processor to another thread
  preemptions,      // how often, in all
  sleeping_holds,   // gave it up, as in a system call
  faulting_holds,   // of these, how many read pages from disk, or from where these were swapped to
  // Where holds are long enough for it, of some: how many these are, in how many of them the kernel
  // gave new pages, and how many pages. wait_row::wait_sum is how long these holds took, wait_max
  // what a new page took when the recording began.
  paged_of_holds,
  paged_holds,
  pages_given,
  // Of those that are samples of all, be there a wait or not: those for reading, and all others.
  reading_holds,
  other_holds,
};

// Rows of the kinds `outside` and `away` are made of the times between some sections of a thread
// and its next of the same lock: behind each hold that is sampled for sums, with its weight, but a
// lock's first. `inside` are these holds, but for those that lost their processor; at work between
// sections is a thread when it has a processor and is in no wait that the record knows.

// Where a row of kind `elision` has its counts, by index of the histogram; wait_row::waits is how
// many sections were tried.
enum elision_count : std::uint32_t {
  committed,
  fell_back,  // sections that took the lock after their transactions had aborted
  conflicts,
  capacities,
  lock_helds,
  explicits,
  others,  // aborted transactions by cause
};

struct wait_row {            // 288 bytes; one per (thread, lock, wait_kind) that ever waited
  std::uint32_t lock, kind;  // lock id, wait_kind
  std::uint64_t waits, wait_sum, wait_max;  // ticks
  std::uint32_t histogram[64];
};

// Where a row of kind `speculation` has its counts; wait_row::waits is how many waits, or ended
// trials, it is made of.
enum speculation_count : std::uint32_t {
  runs_ahead,
  whole_sections,  // of the runs: came to the end of the section; else, by cause:
  runs_conflict,
  runs_capacity,
  runs_other,
  runs_left_out,  // would have been, but running ahead did not pay
  lines_touched,  // by all runs; 0 where the machine does not tell
  trials,         // of whether it pays
  gains,          // their sum: the time without, in thousandths of that with
};

enum class event_kind : std::uint8_t { wait = 1, hold = 2 };

struct event {               // 48 bytes
  std::uint64_t start, end;  // ticks; a hold whose start is unknown has start 0
  std::uint32_t lock;        // lock id
  std::uint32_t stack;       // stack id of the waiter, or of the holder at its release; 0: none
  std::uint32_t holder;      // wait: kernel thread id that held the lock when the wait began, or 0;
                             // hold: that of the thread whose it was, where another tells of it
  std::uint16_t weight;      // how many such events this one stands for (>= 1)
  std::uint8_t kind;         // event_kind
  std::uint8_t wait;         // wait_kind (waits), 0 (holds)
  // Of some waits that were chosen to be events when they began, and of the release behind some
  // holds; else 0: not known.
  std::uint64_t on_processor;         // how much of it the thread did not sleep: ticks
  std::uint32_t sleeps, preemptions;  // left the processor by itself, was taken off it
};

inline constexpr unsigned stack_depth = 30;
struct stack_entry {  // 256 bytes; id = chunk.first + index; id 0 is never used
  std::uint64_t hash;
  std::uint32_t depth, reserved;
  std::uint64_t pc[stack_depth];  // return addresses, innermost first
};

// Where threads of the process ran, looked at some times a second on each processor; by_kernel
// only. The first one is of places beyond the table.
struct cpu_sample {       // 16 bytes
  std::uint64_t address;  // of the next instruction; in the kernel, of the one behind its call
  std::uint32_t in_program, in_kernel;  // how often
};

static_assert(sizeof(cpu_sample) == 16);
static_assert(sizeof(file_header) == 4096 && sizeof(chunk_header) == 64);
static_assert(sizeof(lock_entry) == 256 && sizeof(thread_entry) == 192 && sizeof(open_wait) == 64);
static_assert(sizeof(wait_row) == 288 && sizeof(event) == 48 && sizeof(stack_entry) == 256);

inline unsigned bucket(std::uint64_t ticks, unsigned buckets) {
  if (ticks < 64) return 0;
  const unsigned log = 63u - static_cast<unsigned>(__builtin_clzll(ticks));
  const unsigned index = 2 * log + (static_cast<unsigned>(ticks >> (log - 1)) & 1) - 12;
  return index < buckets ? index : buckets - 1;
}

}  // namespace syncopate::record
