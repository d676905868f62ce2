// record_file.h -- writes one record (record/format.h) of another process. One thread uses it.
//
// As in the preload recorder's file.h, bytes have disk space behind them before they are touched,
// and what is written is visible to readers at once. The file is bounded: beyond `most_bytes` it
// does not grow, and says so.
//
// Memory order (each tag stands at its site below)
//   [P]  release store: as publish() of src/record/internal.h; readers see the file meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/format.h"

namespace syncopate::record::kernel {

inline constexpr std::size_t most_bytes = std::size_t{512} << 20;

class record_file {
 public:
  record_file() = default;
  ~record_file();
  record_file(const record_file&) = delete;
  record_file& operator=(const record_file&) = delete;

  // Makes the file at `path`, which must not exist. Returns 0 or an errno value.
  int open(const std::string& path);
  bool is_open() const { return header_ != nullptr; }
  const std::string& path() const { return path_; }
  file_header& header() { return *header_; }
  void set_flag(std::uint32_t flag) { header_->flags |= flag; }
  // Removes the file, which told nothing.
  void discard();

  // Ids count from 0; those of stacks from 1, and that of lock 0 is of locks beyond the table.
  // nullptr, 0: the file cannot grow or the table is full.
  std::pair<lock_entry*, std::uint32_t> add_lock();
  std::pair<thread_entry*, std::uint32_t> add_thread();
  std::uint32_t thread_count() const { return threads_.count; }
  std::uint32_t stack_id(const std::vector<std::uint64_t>& addresses);
  void add_maps(const std::string& text);
  // The row of this thread, lock and kind; nullptr when there is no room.
  wait_row* row(std::uint32_t thread, std::uint32_t lock, wait_kind);
  // As row(), where there is one.
  wait_row* existing_row(std::uint32_t thread, std::uint32_t lock, wait_kind);
  // So many more looks found a thread running there.
  void add_samples(std::uint64_t address, bool in_kernel, std::uint32_t count);
  // What was told of this lock as of a futex of the program's own becomes what is told of lock
  // `to`, and its waits are of this kind.
  void retell(std::uint32_t lock, std::uint32_t to, wait_kind);
  // An entry that nothing refers to any longer: the next add_lock() gives it out.
  void give_back(lock_entry*, std::uint32_t id);
  // Keeps one of 2^n events, the more the record has; the weights say so. `may_change`: what the
  // lock is is not known yet, so it may be told anew.
  void add_event(std::uint32_t thread, event, bool may_change);

 private:
  struct growing {  // chunks of one kind, each larger than the one before
    chunk_header* chunk = nullptr;
    std::uint32_t room = 0, count = 0, next_bytes = 4096;
  };
  chunk_header* grow(chunk_kind, std::size_t bytes, std::uint32_t first);
  void* append(growing&, chunk_kind, std::size_t item, std::uint32_t first);

  std::string path_;
  int descriptor_ = -1;
  char* base_ = nullptr;
  file_header* header_ = nullptr;
  std::size_t reserved_ = 0;  // bytes with disk space
  growing locks_, threads_, stacks_, samples_;
  std::unordered_map<std::uint64_t, cpu_sample*> samples_at_;
  std::unordered_map<std::uint32_t, growing> rows_of_, events_of_;  // by thread
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, wait_row*> rows_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> stacks_by_hash_;
  std::vector<stack_entry*> stack_entries_;
  std::unordered_map<std::uint32_t, std::vector<event*>> may_change_;  // by lock
  std::vector<std::pair<lock_entry*, std::uint32_t>> unused_locks_;
  std::uint64_t events_ = 0, chosen_ = 0;
};

// Whether this is what a wait is called whose stack has not told what it is for.
inline bool is_at_futex(wait_kind kind) {
  return kind == wait_kind::futex || kind == wait_kind::futex_lock;
}

// Adds one wait to a row.
void add_wait(wait_row&, std::uint64_t ticks);

}  // namespace syncopate::record::kernel
