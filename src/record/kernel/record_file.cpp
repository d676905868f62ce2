// record_file.cpp -- see record_file.h.
#include "record/kernel/record_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace syncopate::record::kernel {

namespace {

constexpr std::size_t page = 4096, grow_by = std::size_t{64} << 10;
constexpr std::uint32_t largest_chunk = 1u << 20, largest_of_thread = 64u << 10;
constexpr std::uint32_t most_locks = 65'536, most_threads = 1u << 20, most_stacks = 65'536;
constexpr std::uint32_t most_samples = 65'536;
constexpr std::size_t most_rows = 500'000;
constexpr std::uint64_t events_before_halving = 200'000;

template <class T, class V>
void publish(T& word, V value) {
  __atomic_store_n(&word, static_cast<T>(value), __ATOMIC_RELEASE);  // [P]
}

void add_waits(wait_row& to, const wait_row& from) {
  to.waits += from.waits;
  to.wait_sum += from.wait_sum;
  to.wait_max = std::max(to.wait_max, from.wait_max);
  for (std::size_t i = 0; i < std::size(to.histogram); ++i) to.histogram[i] += from.histogram[i];
}

}  // namespace

record_file::~record_file() {
  if (base_ != nullptr) ::munmap(base_, most_bytes);
  if (descriptor_ >= 0) ::close(descriptor_);
}

int record_file::open(const std::string& path) {
  path_ = path;
  descriptor_ = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor_ < 0) return errno;
  const int failed = ::posix_fallocate(descriptor_, 0, grow_by);
  if (failed != 0) return failed;
  reserved_ = grow_by;
  void* mapped = ::mmap(nullptr, most_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (mapped == MAP_FAILED) return errno;
  base_ = static_cast<char*>(mapped);
  header_ = reinterpret_cast<file_header*>(base_);
  header_->version = version;
  header_->header_bytes = sizeof *header_;
  publish(header_->bytes_used, sizeof *header_);
  const auto [overflow, id] = add_lock();
  return overflow != nullptr ? 0 : ENOSPC;
}

void record_file::discard() { ::unlink(path_.c_str()); }

chunk_header* record_file::grow(chunk_kind kind, std::size_t bytes, std::uint32_t first) {
  bytes = (bytes + page - 1) / page * page;
  const std::size_t at = header_->bytes_used, end = at + bytes;
  if (end > most_bytes) {
    set_flag(table_full);
    return nullptr;
  }
  if (end > reserved_) {
    const std::size_t more = (end - reserved_ + grow_by - 1) / grow_by * grow_by;
    const int failed =
        ::posix_fallocate(descriptor_, static_cast<off_t>(reserved_), static_cast<off_t>(more));
    if (failed != 0) {
      set_flag(failed == EFBIG ? disk_full | size_limited : disk_full);
      return nullptr;
    }
    reserved_ += more;
  }
  auto* chunk = reinterpret_cast<chunk_header*>(base_ + at);
  chunk->kind = static_cast<std::uint32_t>(kind);
  chunk->bytes = static_cast<std::uint32_t>(bytes);
  chunk->first = first;
  chunk->ticks = header_->last_ticks;
  publish(header_->bytes_used, end);
  return chunk;
}

// The next item of a chunk, which is visible, all zero, at once.
void* record_file::append(growing& g, chunk_kind kind, std::size_t item, std::uint32_t first) {
  if (g.chunk == nullptr || g.chunk->used == g.room) {
    chunk_header* chunk = grow(kind, g.next_bytes, first);
    if (chunk == nullptr) return nullptr;
    g.chunk = chunk;
    g.room = static_cast<std::uint32_t>((chunk->bytes - sizeof *chunk) / item);
    const bool by_thread = kind == chunk_kind::rows || kind == chunk_kind::events;
    g.next_bytes = std::min(2 * g.next_bytes, by_thread ? largest_of_thread : largest_chunk);
  }
  char* at = reinterpret_cast<char*>(g.chunk + 1) + g.chunk->used * item;
  publish(g.chunk->used, g.chunk->used + 1);
  ++g.count;
  return at;
}

std::pair<lock_entry*, std::uint32_t> record_file::add_lock() {
  if (!unused_locks_.empty()) {
    const auto found = unused_locks_.back();
    unused_locks_.pop_back();
    return found;
  }
  if (locks_.count >= most_locks) {
    set_flag(table_full);
    return {nullptr, 0};
  }
  const std::uint32_t id = locks_.count;
  auto* entry = static_cast<lock_entry*>(append(locks_, chunk_kind::locks, sizeof(lock_entry), id));
  return {entry, entry != nullptr ? id : 0};
}

std::pair<thread_entry*, std::uint32_t> record_file::add_thread() {
  if (threads_.count >= most_threads) return {nullptr, 0};
  const std::uint32_t id = threads_.count;
  return {
      static_cast<thread_entry*>(append(threads_, chunk_kind::threads, sizeof(thread_entry), id)),
      id};
}

std::uint32_t record_file::stack_id(const std::vector<std::uint64_t>& addresses) {
  std::uint64_t hash = 14695981039346656037u;
  for (const std::uint64_t each : addresses) hash = (hash ^ each) * 1099511628211u;
  const std::size_t depth = std::min<std::size_t>(addresses.size(), stack_depth);
  std::vector<std::uint32_t>& same = stacks_by_hash_[hash];
  for (const std::uint32_t id : same) {
    const stack_entry& known = *stack_entries_[id - 1];
    if (known.depth == depth && std::equal(known.pc, known.pc + depth, addresses.begin()))
      return id;
  }
  if (stacks_.count >= most_stacks) return 0;
  const std::uint32_t id = stacks_.count + 1;
  auto* entry =
      static_cast<stack_entry*>(append(stacks_, chunk_kind::stacks, sizeof(stack_entry), id));
  if (entry == nullptr) return 0;
  entry->hash = hash;
  std::copy_n(addresses.begin(), depth, entry->pc);
  entry->depth = static_cast<std::uint32_t>(depth);
  stack_entries_.push_back(entry);
  same.push_back(id);
  return id;
}

void record_file::add_maps(const std::string& text) {
  if (chunk_header* chunk = grow(chunk_kind::maps, sizeof *chunk + text.size(), 0)) {
    std::memcpy(chunk + 1, text.data(), text.size());
    publish(chunk->used, text.size());
  }
}

wait_row* record_file::existing_row(std::uint32_t thread, std::uint32_t lock, wait_kind kind) {
  const auto found = rows_.find({thread, lock, static_cast<std::uint32_t>(kind)});
  return found != rows_.end() ? found->second : nullptr;
}

wait_row* record_file::row(std::uint32_t thread, std::uint32_t lock, wait_kind kind) {
  if (wait_row* known = existing_row(thread, lock, kind)) return known;
  if (rows_.size() >= most_rows && lock != 0) {
    set_flag(table_full);
    return row(thread, 0, kind);
  }
  auto* made =
      static_cast<wait_row*>(append(rows_of_[thread], chunk_kind::rows, sizeof(wait_row), thread));
  if (made == nullptr) return nullptr;
  made->lock = lock;
  made->kind = static_cast<std::uint32_t>(kind);
  rows_[{thread, lock, made->kind}] = made;
  return made;
}

void record_file::add_samples(std::uint64_t address, bool in_kernel, std::uint32_t count) {
  if (samples_.count == 0 && address != 0) add_samples(0, in_kernel, 0);
  auto found = samples_at_.find(address);
  if (found == samples_at_.end()) {
    if (samples_.count >= most_samples) return add_samples(0, in_kernel, count);
    auto* made =
        static_cast<cpu_sample*>(append(samples_, chunk_kind::cpu_samples, sizeof(cpu_sample), 0));
    if (made == nullptr) return;
    made->address = address;
    found = samples_at_.emplace(address, made).first;
  }
  std::uint32_t& sum = in_kernel ? found->second->in_kernel : found->second->in_program;
  sum += count;
}

void record_file::retell(std::uint32_t lock, std::uint32_t to, wait_kind kind) {
  if (lock == to && is_at_futex(kind)) return;
  std::vector<std::pair<std::uint32_t, wait_row*>> found;
  for (const auto& [key, row] : rows_)
    if (std::get<1>(key) == lock && is_at_futex(static_cast<wait_kind>(row->kind)))
      found.emplace_back(std::get<0>(key), row);
  for (const auto& [thread, row] : found) {
    rows_.erase({thread, lock, row->kind});
    if (wait_row* known = existing_row(thread, to, kind)) {
      add_waits(*known, *row);
      *row = {
          .lock = 0, .kind = row->kind, .waits = 0, .wait_sum = 0, .wait_max = 0, .histogram = {}};
    } else {
      row->lock = to;
      row->kind = static_cast<std::uint32_t>(kind);
      rows_[{thread, to, row->kind}] = row;
    }
  }
  for (event* const each : may_change_[lock]) {
    each->lock = to;
    if (is_at_futex(static_cast<wait_kind>(each->wait)))
      each->wait = static_cast<std::uint8_t>(kind);
  }
  may_change_.erase(lock);
}

void record_file::give_back(lock_entry* entry, std::uint32_t id) {
  std::memset(entry, 0, sizeof *entry);
  unused_locks_.emplace_back(entry, id);
}

void record_file::add_event(std::uint32_t thread, event e, bool may_change) {
  const unsigned halvings =
      static_cast<unsigned>(std::min<std::uint64_t>(events_ / events_before_halving, 10));
  if (halvings != 0) {
    set_flag(sampled);
    chosen_ = chosen_ * 6364136223846793005u + 1442695040888963407u;
    if (chosen_ >> (64 - halvings) != 0) return;
    const std::uint32_t weight = std::uint32_t{e.weight} << halvings;
    e.weight = static_cast<std::uint16_t>(std::min<std::uint32_t>(weight, UINT16_MAX));
  }
  auto* to =
      static_cast<event*>(append(events_of_[thread], chunk_kind::events, sizeof(event), thread));
  if (to == nullptr) return;
  *to = e;
  ++events_;
  if (may_change) may_change_[e.lock].push_back(to);
}

void add_wait(wait_row& row, std::uint64_t ticks) {
  ++row.waits;
  row.wait_sum += ticks;
  row.wait_max = std::max(row.wait_max, ticks);
  ++row.histogram[bucket(ticks, 64)];
}

}  // namespace syncopate::record::kernel
