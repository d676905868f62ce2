// watched_process.h -- one recorded process: from the kernel's events to its record.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "record/futex_wakes.h"
#include "record/kernel/kernel_side.h"
#include "record/kernel/kinds.h"
#include "record/kernel/record_file.h"
#include "record/kernel/unwinder.h"

namespace syncopate::record::kernel {

// CLOCK_MONOTONIC, which is the clock of these records.
std::uint64_t now_ns();
// Processor time and time without a processor of a thread, as the kernel counts them; 0, 0: gone.
std::pair<std::uint64_t, std::uint64_t> times_of(std::uint32_t process, std::uint32_t thread);

// What a process runs: the file's path, which is absolute or "", and its arguments as in
// /proc/PID/cmdline.
struct program_name {
  std::string executable, command;
};
program_name name_of(std::uint32_t process);  // by /proc; empty: it has ended

class watched_process {
 public:
  using thread_set = std::unordered_set<std::uint32_t>;  // by kernel thread id
  // Of futexes that processes share, in all of these: by address, threads that waited there.
  using takers = std::unordered_map<std::uint64_t, thread_set>;

  watched_process(std::uint32_t process, std::uint32_t parent, takers& of_all);

  // Makes the record, from the time `since` on, and notes the threads that run already. `called`:
  // what it runs, if it has ended. Returns 0 or an errno value.
  int begin(const std::string& path, bool redact, std::uint64_t since,
            const program_name& called = {});
  // That its only thread had this much time before.
  void had_before(std::uint64_t cpu_ns, std::uint64_t delay_ns);
  // As begin(), for threads that appeared between.
  void find_threads();

  void stack(const stack_event&);
  void waker(const stack_event&);
  void wait(const wait_event&);
  void thread_began(const event_head&);
  void thread_ended(const exit_event&);
  // Returns whether the thread is one of this process that has not ended.
  bool blocked(const blocked_key&, const blocked_sum&);
  // Of a thread that waits just now, since at least `old_enough`.
  void still_waits(const waiting_thread&, kernel_side&, std::uint64_t now,
                   std::uint64_t old_enough);
  // Once in a while: names, modules, clocks.
  void refresh(const kernel_controls&);
  // `flags` say how the recording ended, and `until` when.
  void finish(std::uint32_t flags, const kernel_controls&, std::uint64_t until);

  std::uint32_t id() const { return process_; }
  bool has_told() const { return told_; }
  void has_something_to_tell() { told_ = true; }
  bool has_threads() const { return !threads_.empty(); }
  record_file& file() { return file_; }

 private:
  struct begun_wait {
    std::uint64_t since = 0;
    std::uint32_t stack = 0, weight = 1, thread = 0;
  };
  struct futex;
  struct ended_wait {
    wait_event e;
    futex* of;
    wait_kind kind;
    begun_wait begun;
  };
  struct thread_state {
    thread_entry* entry = nullptr;
    std::uint32_t index = 0;
    std::uint64_t began = 0;
    std::uint64_t cpu_before = 0, delay_before = 0, delay_in_waits = 0;
    // Of the threads that had the entry before: how long they lived, and what the kernel counted.
    std::uint64_t lived = 0, cpu_of_others = 0, delay_of_others = 0;
    begun_wait waits, woken_by;
    std::vector<unsigned long> processors;  // the bits of those that it may use, as seen last
    // A wait that nobody was seen to end, and those behind it at once at the same futex: they are
    // over when the thread does something else. A signal may have ended the thread, which waits
    // once more where its memory is written down before; then all this is the wait that it was in.
    std::vector<ended_wait> unended;
    wait_row* ended_in_vain = nullptr;  // where its last wait is counted, if it was in vain
    std::uint32_t signal_rows = 0;      // of conditions that it has not waited for
  };
  struct futex {
    std::uint32_t lock = 0;
    lock_entry* entry = nullptr;
    wait_kind kind = wait_kind::futex;
    bool has_owner = false, is_known = false;
    std::uint32_t owner_at = 0;   // in the object; 0: its memory does not say who has it
    bool is_for_several = false;  // a semaphore that was seen with more than one to take
    bool is_placed = false;       // its memory is known, and told where processes share it
    // Of a semaphore, and of a futex of the program's own.
    thread_set takers;  // threads that waited for it, if it is this process's own
    futex_wakes wakes = futex_wakes::of(0);
    std::uint64_t round = 0;  // when the first of those who waited together was woken
  };

  thread_state& thread_of(std::uint32_t thread);
  void take_entry(thread_state&);
  static void count(thread_state&, std::uint64_t cpu_ns, std::uint64_t delay_ns);
  void fill_header(bool redact, std::uint64_t since, const program_name& called);
  void tell_lost(const kernel_controls&);
  void read_modules_if_due();
  static std::uint64_t time_of_next_read(std::uint64_t began);
  std::uint32_t unwind(const copied_stack&);
  std::uint32_t read_stack(const waiting_thread&);
  // `word`: what was at the futex when the wait by `thread` began.
  void tell_memory(futex&, std::uint64_t address);
  futex& futex_of(std::uint64_t address, std::uint32_t operation, std::uint32_t word,
                  std::uint32_t thread, std::uint32_t stack);
  void bind(futex&, const found_kind&);
  void retell(futex&, const found_kind&);
  void forget_ended(thread_set& takers);
  wait_kind kind_of_wait(futex&, const wait_event&);
  const std::vector<std::string>& functions_of(std::uint32_t stack);
  bool lives(std::uint32_t thread) const { return threads_.count(thread) != 0; }
  // A thread that lives, or has ended lately: it may have woken another before; nullptr: neither.
  const thread_state* known(std::uint32_t thread) const;
  void write(thread_state&, const ended_wait&);
  void write_unended(thread_state&);
  // Whether a wait that began there then is one with those that are unended.
  static bool goes_on(const thread_state&, std::uint64_t address, std::uint64_t since);
  void open(thread_state&, const open_wait&, std::uint64_t since);
  void release(const futex&, const begun_wait& by, std::uint64_t end);
  void count_signal(const futex&, std::uint32_t by);  // to a wait for a condition variable
  void name(thread_state&, std::uint32_t thread);
  void see_processors();
  void see_holder(thread_state&, const waiting_thread&, kernel_side&);
  static void see_end(thread_state&, const waiting_thread&);

  std::uint32_t process_, parent_;
  takers& of_all_;
  bool told_ = false;
  record_file file_;
  unwinder unwinder_;
  std::uint64_t next_read_of_modules_ = 0;
  std::vector<unsigned long> processors_of_ended_;
  std::vector<mapping> memory_;  // as it was when a futex in memory that is not known came
  std::uint64_t next_read_of_memory_ = 0, next_forgetting_ = 0;
  std::unordered_set<std::string> told_memory_;
  std::unordered_map<std::uint32_t, thread_state> threads_;
  std::unordered_map<std::uint32_t, thread_state> ended_;      // by thread id, for a second or so
  std::vector<std::pair<thread_entry*, std::uint32_t>> idle_;  // entries of those before these
  std::unordered_map<std::uint64_t, futex> futexes_;           // by address
  std::unordered_map<std::uint64_t, std::pair<lock_entry*, std::uint32_t>> objects_[16];
  std::unordered_map<std::uint32_t, std::vector<std::string>> functions_;  // by stack id
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> addresses_;
};

}  // namespace syncopate::record::kernel
