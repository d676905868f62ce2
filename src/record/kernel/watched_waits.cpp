// watched_waits.cpp -- what a process's threads wait for: watched_process.h.
//
// Memory order (each tag stands at its site below)
//   [B]  release store of 0: what was written of the wait before is there for who still reads its
//        begin.
//   [E]  release store of the begin, behind all that is said of the wait: who reads the same begin
//        before and behind the rest has read one wait (as src/record/waits.cpp).
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <vector>

#include <sys/uio.h>

#include "record/kernel/watched_process.h"

namespace syncopate::record::kernel {

namespace {

constexpr std::uint64_t millisecond = 1'000'000;
constexpr std::uint64_t between_reads_of_modules = 10 * millisecond;
constexpr std::uint64_t reading_takes_at_most = 50;  // one part in so many of the time
constexpr std::size_t most_unended = 8;
constexpr std::size_t most_takers = 1024;
constexpr std::uint64_t between_forgettings = 10 * millisecond;
constexpr std::uint32_t futex_is_private = 128, futex_command = 127, futex_wait_bitset = 9;
constexpr std::size_t page = 4096;

// As much as is mapped of [from, from + bytes).
std::size_t read_memory(std::uint32_t process, std::uint64_t from, void* to, std::size_t bytes) {
  std::vector<iovec> remote;
  for (std::uint64_t at = from; at < from + bytes;) {
    const std::uint64_t next = std::min((at / page + 1) * page, from + bytes);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives numbers
    remote.push_back({reinterpret_cast<void*>(at), next - at});
    at = next;
  }
  const iovec local{to, bytes};
  const ssize_t got =
      ::process_vm_readv(static_cast<pid_t>(process), &local, 1, remote.data(), remote.size(), 0);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

// Whether a wait of this kind is for a lock, which it ends by having.
bool is_of_lock(wait_kind kind) {
  return kind == wait_kind::mutex || kind == wait_kind::mutex_relock || kind == wait_kind::read ||
         kind == wait_kind::write;
}

// Whether no thread has woken it, as far as known: who wakes at a futex that processes share
// may know it by another address; what inherits priorities is woken for other reasons, too.
bool ended_by_its_limit(const wait_event& e) {
  const std::uint32_t command = e.operation & futex_command;
  return e.waker == 0 && (e.flags & is_timed) != 0 && (e.operation & futex_is_private) != 0 &&
         (command == 0 || command == futex_wait_bitset);
}

std::uint16_t as_weight(std::uint32_t weight) {
  return static_cast<std::uint16_t>(std::clamp<std::uint32_t>(weight, 1, UINT16_MAX));
}

}  // namespace

// After a read that began then: a process may have many thousand lines of what is mapped.
std::uint64_t watched_process::time_of_next_read(std::uint64_t began) {
  const std::uint64_t end = now_ns();
  return end + std::max(between_reads_of_modules, (end - began) * reading_takes_at_most);
}

void watched_process::read_modules_if_due() {
  const std::uint64_t begin = now_ns();
  if (begin < next_read_of_modules_) return;
  if (unwinder_.refresh()) file_.add_maps(unwinder_.described());
  next_read_of_modules_ = time_of_next_read(begin);
}

std::uint32_t watched_process::unwind(const copied_stack& stack) {
  const std::uint64_t now = now_ns();
  if (!unwinder_.knows(stack.registers->of[16])) read_modules_if_due();
  const std::vector<std::uint64_t>& found = unwinder_.walk(stack);
  const std::uint32_t id = file_.stack_id(found);
  file_.header().capture_ticks += now_ns() - now;
  if (id != 0) addresses_.try_emplace(id, found);
  return id;
}

void watched_process::stack(const stack_event& e) {
  thread_of(e.head.thread).waits = {e.since, unwind({&e.registers, e.stack, e.bytes}),
                                    e.head.weight, e.head.thread};
}

const watched_process::thread_state* watched_process::known(std::uint32_t thread) const {
  for (const auto* const all : {&threads_, &ended_})
    if (const auto found = all->find(thread); found != all->end()) return &found->second;
  return nullptr;
}

// The waker may belong to another process: then its stack is of no use to this record.
void watched_process::waker(const stack_event& e) {
  if (e.head.process != process_ || !lives(e.waiter)) return;
  thread_of(e.waiter).woken_by = {e.since, unwind({&e.registers, e.stack, e.bytes}), e.head.weight,
                                  e.head.thread};
}

const std::vector<std::string>& watched_process::functions_of(std::uint32_t stack) {
  const auto [found, is_new] = functions_.try_emplace(stack);
  if (is_new) {
    const std::vector<std::uint64_t>& all = addresses_[stack];
    for (std::size_t i = 0; i < all.size() && i < telling_functions; ++i) {
      found->second.push_back(unwinder_.function(all[i]));
      if (kind_of({found->second.back()}, {}).kind != wait_kind::futex) break;  // that tells it
    }
  }
  return found->second;
}

// One object in memory that processes share is known by what is mapped there: it may have been
// mapped since the record's other lines were read.
void watched_process::tell_memory(futex& f, std::uint64_t address) {
  const auto around = [&]() -> const mapping* {
    for (const mapping& m : memory_)
      if (address >= m.begin && address < m.end) return &m;
    return nullptr;
  };
  const std::uint64_t begin = now_ns();
  if (around() == nullptr && begin >= next_read_of_memory_) {
    memory_ = read_mappings(process_);
    next_read_of_memory_ = time_of_next_read(begin);
  }
  const mapping* const m = around();
  f.is_placed = m != nullptr;
  if (m != nullptr && m->shared && told_memory_.insert(m->line).second)
    file_.add_maps(m->line + "\n");
}

watched_process::futex& watched_process::futex_of(std::uint64_t address, std::uint32_t operation,
                                                  std::uint32_t word, std::uint32_t thread,
                                                  std::uint32_t stack) {
  futex& f = futexes_[address];
  if (!f.is_placed && (operation & futex_is_private) == 0) tell_memory(f, address);
  const bool names_thread = word != thread && (lives(word) || ended_.count(word) != 0);
  static const std::vector<std::string> none;
  const std::vector<std::string>& functions = stack != 0 ? functions_of(stack) : none;
  const found_kind found = kind_of(functions, {address, operation, names_thread});
  // A stack that tells nothing, as before the program's modules are known, changes nothing.
  if (found.kind != wait_kind::futex || f.entry == nullptr) bind(f, found);
  if (f.kind == wait_kind::join && lives(word))
    thread_of(word).entry->handle = f.entry != nullptr ? f.entry->address : 0;
  if (stack != 0 && f.entry != nullptr && f.entry->first_stack == 0) f.entry->first_stack = stack;
  return f;
}

// What was told of a futex before any stack of a waiter said what it is a part of.
void watched_process::retell(futex& f, const found_kind& found) {
  const std::uint32_t before = f.lock;
  lock_entry* const told = f.entry;
  objects_[static_cast<unsigned>(object_kind::futex)].erase(told->address);
  auto& of_kind = objects_[static_cast<unsigned>(found.object) % std::size(objects_)];
  if (const auto known = of_kind.find(found.address); known != of_kind.end()) {
    std::tie(f.entry, f.lock) = known->second;  // as by another of its words
    f.entry->acquisitions += told->acquisitions;
    file_.retell(before, f.lock, found.kind);
    file_.give_back(told, before);
  } else {
    told->address = found.address;
    told->object = static_cast<std::uint8_t>(found.object);
    told->flags = 0;
    of_kind[found.address] = {told, before};
    file_.retell(before, before, found.kind);
  }
  for (auto* const all : {&threads_, &ended_})
    for (auto& [thread, t] : *all)
      if (open_wait now = t.entry->open; now.since != 0 && now.lock == before) {
        now.lock = f.lock;
        now.kind = static_cast<std::uint32_t>(found.kind);
        if (found.owner_at != 0) now.flags |= has_owner;
        open(t, now, now.since);
      }
}

// Makes a futex what its waiters' functions say, also in what was written before that was known.
void watched_process::bind(futex& f, const found_kind& found) {
  f.has_owner = found.has_owner;
  f.owner_at = found.owner_at;
  auto& of_kind = objects_[static_cast<unsigned>(found.object) % std::size(objects_)];
  const auto known = of_kind.find(found.address);
  if (f.entry != nullptr && !f.is_known && found.kind != wait_kind::futex) {
    retell(f, found);
  } else if (known != of_kind.end()) {
    std::tie(f.entry, f.lock) = known->second;
  } else {
    std::tie(f.entry, f.lock) = file_.add_lock();
    if (f.entry != nullptr) {
      f.entry->address = found.address;
      f.entry->object = static_cast<std::uint8_t>(found.object);
      of_kind[found.address] = {f.entry, f.lock};
    }
  }
  f.kind = found.kind;
  f.is_known = found.kind != wait_kind::futex;
}

// Threads come and go for hours: those that are gone wake nobody.
void watched_process::forget_ended(thread_set& takers) {
  const std::uint64_t now = now_ns();
  if (now < next_forgetting_) return;
  next_forgetting_ = now + between_forgettings;
  std::erase_if(takers, [](std::uint32_t thread) {
    return ::kill(static_cast<pid_t>(thread), 0) != 0 && errno == ESRCH;
  });
}

// Of a semaphore or a futex it depends on who ended the wait (format.h).
wait_kind watched_process::kind_of_wait(futex& f, const wait_event& e) {
  if (f.kind != wait_kind::semaphore && f.kind != wait_kind::futex) return f.kind;
  // Who wakes at an address, and waits at it as well, does so at one futex.
  thread_set& takers = (e.operation & futex_is_private) != 0 ? f.takers : of_all_[e.address];
  const bool by_taker = e.waker != 0 && takers.count(e.waker) != 0;
  if (takers.size() >= most_takers && takers.count(e.head.thread) == 0) forget_ended(takers);
  if (takers.size() < most_takers) takers.insert(e.head.thread);
  if (f.kind == wait_kind::semaphore) {
    if (e.waker != 0) f.wakes = f.wakes.with(by_taker, true);
    f.is_for_several |= (e.flags & for_several) != 0;
    // Then all its waits were for a lock, also the first ones. One that several may take at once is
    // none, or of a pool: workers, too, post what they have made for others to do.
    const bool is_lock = f.wakes.is_lock() && !f.is_for_several;
    if (f.entry != nullptr) f.entry->flags = is_lock ? used_as_lock : 0;
    return f.kind;
  }
  if (e.waker != 0) f.wakes = f.wakes.with(by_taker, !(e.flags & woken_with_all));
  if (e.waker != 0 && e.since > f.round) {
    f.wakes = f.wakes.waited_for(e.word).after_round();
    f.round = e.woken;
  }
  const bool is_lock = f.wakes.is_lock();
  if (f.entry != nullptr) f.entry->flags = is_lock ? used_as_lock : 0;
  return is_lock ? wait_kind::futex_lock : f.kind;
}

void watched_process::wait(const wait_event& e) {
  told_ = true;
  thread_state& t = thread_of(e.head.thread);
  if (!goes_on(t, e.address, e.since)) write_unended(t);
  const std::uint32_t stack = t.waits.since == e.since ? t.waits.stack : 0;
  futex& f = futex_of(e.address, e.operation, e.word, e.head.thread, stack);
  const wait_kind kind = kind_of_wait(f, e);
  const ended_wait ended{e, &f, kind, t.waits};
  if (e.waker != 0 || (e.flags & is_timed) != 0) {
    write_unended(t);
    return write(t, ended);
  }
  t.unended.push_back(ended);
  if (t.unended.size() > 1 || t.entry->open.since == e.since) return;
  open_wait now{};
  now.lock = f.lock;
  now.kind = static_cast<std::uint32_t>(kind);
  now.holder = f.has_owner && lives(e.owner) ? e.owner : 0;
  now.stack = stack;
  now.flags = (f.owner_at != 0 ? has_owner : 0u) | (e.flags & seeded ? began_before : 0u);
  open(t, now, e.since);
}

bool watched_process::goes_on(const thread_state& t, std::uint64_t address, std::uint64_t since) {
  if (t.unended.empty() || t.unended.size() >= most_unended) return false;
  const wait_event& last = t.unended.back().e;
  return last.address == address && since < last.head.time + millisecond;
}

void watched_process::write_unended(thread_state& t) {
  for (const ended_wait& each : t.unended) write(t, each);
  t.unended.clear();
}

void watched_process::open(thread_state& t, const open_wait& what, std::uint64_t since) {
  open_wait& to = t.entry->open;
  __atomic_store_n(&to.since, 0, __ATOMIC_RELEASE);  // [B]
  to.end = to.caller = 0;
  to.lock = what.lock;
  to.kind = what.kind;
  to.holder = what.holder;
  to.stack = what.stack;
  to.flags = what.flags;
  __atomic_store_n(&to.since, since, __ATOMIC_RELEASE);  // [E]
}

void watched_process::write(thread_state& t, const ended_wait& ended) {
  const wait_event& e = ended.e;
  futex& f = *ended.of;
  // Meanwhile another wait may have told what it is a part of.
  const wait_kind kind = f.is_known && is_at_futex(ended.kind) ? f.kind : ended.kind;
  const std::uint32_t stack = ended.begun.since == e.since ? ended.begun.stack : 0;
  __atomic_store_n(&t.entry->open.since, 0, __ATOMIC_RELEASE);  // [B]
  const std::uint64_t ticks = e.head.time - e.since;
  if (wait_row* row = file_.row(t.index, f.lock, kind)) add_wait(*row, ticks);
  if (t.ended_in_vain != nullptr && (e.flags & resumed) != 0) --t.ended_in_vain->waits;
  t.ended_in_vain = nullptr;
  const bool in_vain = is_of_lock(kind) && ended_by_its_limit(e);
  if (in_vain)
    if (wait_row* row = file_.row(t.index, f.lock, wait_kind::in_vain)) {
      ++row->waits;
      t.ended_in_vain = row;
    }
  const bool is_signal = kind == wait_kind::condition;
  if (f.entry != nullptr && !in_vain && !is_signal) ++f.entry->acquisitions;
  if (e.woken != 0) t.delay_in_waits += e.head.time - e.woken;
  std::uint32_t holder = f.has_owner && known(e.owner) != nullptr ? e.owner : 0;
  if (holder == 0 && known(e.waker) != nullptr) holder = e.waker;
  if (stack != 0 || ticks >= long_wait) {
    event made{};
    made.start = e.since;
    made.end = e.head.time;
    made.lock = f.lock;
    made.stack = stack;
    made.holder = holder;
    made.weight = ticks >= long_wait ? 1 : as_weight(ended.begun.weight);
    made.kind = static_cast<std::uint8_t>(event_kind::wait);
    made.wait = static_cast<std::uint8_t>(kind);
    made.on_processor = made.sleeps = 1;
    file_.add_event(t.index, made, !f.is_known);
  }
  if (is_signal) count_signal(f, e.waker);
  if (t.woken_by.since == e.since) release(f, t.woken_by, e.woken);
}

void watched_process::count_signal(const futex& f, std::uint32_t by) {
  if (by == 0) return;
  if (f.entry != nullptr) ++f.entry->acquisitions;
  const auto waker = threads_.find(by);
  if (waker == threads_.end()) return;
  thread_state& t = waker->second;
  const auto has = [&](wait_kind kind) {
    return file_.existing_row(t.index, f.lock, kind) != nullptr;
  };
  if (!has(wait_kind::signals) && !has(wait_kind::condition) && ++t.signal_rows > most_signal_rows)
    return;
  if (wait_row* row = file_.row(t.index, f.lock, wait_kind::signals)) ++row->waits;
}

void watched_process::release(const futex& f, const begun_wait& by, std::uint64_t end) {
  const thread_state* const waker = known(by.thread);
  if (waker == nullptr || by.stack == 0) return;
  event made{};
  made.end = end;
  made.lock = f.lock;
  made.stack = by.stack;
  made.weight = as_weight(by.weight);
  made.kind = static_cast<std::uint8_t>(event_kind::hold);
  file_.add_event(waker->index, made, !f.is_known);
}

bool watched_process::blocked(const blocked_key& key, const blocked_sum& sum) {
  auto found = threads_.find(key.thread);
  const bool alive = found != threads_.end();
  if (!alive) {
    found = ended_.find(key.thread);
    if (found == ended_.end()) return false;
  }
  wait_row* row = file_.row(found->second.index, key.call, wait_kind::call);
  if (row == nullptr) return alive;
  row->waits = sum.times;
  row->wait_sum = sum.ns;
  row->wait_max = sum.longest;
  return alive;
}

std::uint32_t watched_process::read_stack(const waiting_thread& w) {
  std::vector<unsigned char> bytes(kernel_stack_bytes);
  const std::size_t got = read_memory(process_, w.registers.of[7], bytes.data(), bytes.size());
  return unwind({&w.registers, bytes.data(), got});
}

void watched_process::still_waits(const waiting_thread& w, kernel_side& side, std::uint64_t now,
                                  std::uint64_t old_enough) {
  if (!(w.flags & waits_at_futex) || now < w.since + old_enough) return;
  const std::uint32_t thread = w.thread;
  thread_state& t = thread_of(thread);
  if (goes_on(t, w.address, w.since)) return;
  write_unended(t);
  if (t.entry->open.since == w.since) {
    see_end(t, w);
    return see_holder(t, w, side);
  }
  const bool has_one = t.waits.since == w.since;
  const std::uint32_t stack = has_one ? t.waits.stack : read_stack(w);
  // Only if it has slept all the while are what was read its entry and its stack.
  if (!side.is_waiting_since(thread, w.since)) return;
  if (!has_one) t.waits = {w.since, stack, 1, thread};
  std::uint32_t words[3] = {w.word, 0, w.owner};
  if (w.flags & seeded) read_memory(process_, w.address, words, sizeof words);
  const futex& f = futex_of(w.address, w.operation, words[0], thread, t.waits.stack);
  const std::uint32_t owner = words[2];
  told_ = true;
  open_wait found{};
  found.lock = f.lock;
  found.kind = static_cast<std::uint32_t>(f.kind);
  found.holder = f.has_owner && lives(owner) ? owner : 0;
  found.stack = t.waits.stack;
  found.flags = (w.flags & is_timed ? timed : 0u) | (f.owner_at != 0 ? has_owner : 0u) |
                (w.flags & seeded ? began_before : 0u);
  open(t, found, w.since);
  see_end(t, w);
}

// Whoever was woken may run for long without our being told that it does.
void watched_process::see_end(thread_state& t, const waiting_thread& w) {
  const bool is_known = w.waker != 0 || (w.flags & is_timed) != 0;  // as in wait()
  if (w.woken != 0 && is_known) t.entry->open.end = w.woken;
}

// Who holds the lock that a thread waits for just now, and what that thread waits for itself.
void watched_process::see_holder(thread_state& t, const waiting_thread& w, kernel_side& side) {
  const auto of = futexes_.find(w.address);
  if (of == futexes_.end() || of->second.owner_at == 0 || of->second.entry == nullptr) return;
  const std::uint64_t at = of->second.entry->address + of->second.owner_at;
  std::uint32_t owner = 0;
  if (read_memory(process_, at, &owner, sizeof owner) != sizeof owner) return;
  const auto found = threads_.find(owner);
  if (found == threads_.end()) return;
  const std::uint64_t theirs = found->second.entry->open.since;
  // It held the lock while it was in that wait, if it is in it now.
  const bool still = theirs != 0 && side.is_waiting_since(owner, theirs);
  t.entry->seen_holder_since = still ? theirs : 0;
  t.entry->seen_holder = owner;
  __atomic_store_n(&t.entry->seen_since, w.since, __ATOMIC_RELEASE);  // [E]
}

}  // namespace syncopate::record::kernel
