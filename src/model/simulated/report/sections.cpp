#include "sections.h"

#include "model/simulated/world.h"

#include <unistd.h>
#include <algorithm>
#include <new>

#include "model/front/program/options.h"
#include "model/front/program/report_output.h"
#include "model/front/program/whole_file.h"
#include "model/front/scope.h"

namespace syncopate::simulated {

using engine::address;
using engine::place;

section_watch::of_thread& section_watch::running() {
  const unsigned index = engine::current();
  if (index >= threads_.size()) threads_.resize(index + 1);
  return threads_[index];
}

void section_watch::begun(address lock, bool shared, place where) {
  of_thread& mine = running();
  if (mine.open.size() == most_open) return;
  open_section added{lock, {}, {}};
  added.what.thread = engine::current();
  added.what.shared = shared;
  added.what.begun = ++begun_;
  added.what.where = where;
  // A transaction reads the lock's word: who writes to its line ends it.
  added.set.add(lock, sizeof(int), use::read, where);
  mine.open.push_back(std::move(added));
}

void section_watch::ended(address lock) {
  of_thread& mine = running();
  const auto last = std::find_if(mine.open.rbegin(), mine.open.rend(),
                                 [&](const open_section& each) { return each.lock == lock; });
  if (last == mine.open.rend()) return;  // another thread's, or beyond most_open
  open_section over = std::move(*last);
  mine.open.erase(std::next(last).base());
  finish(std::move(over));
}

void section_watch::called(const char* function, place where) {
  for (open_section& each : running().open) ++each.what.calls[{function, where}];
}

void section_watch::in_lock_code(bool runs) { running().in_lock_code = runs; }

void section_watch::allocated(address at, std::size_t bytes) {
  auto next = blocks_.lower_bound(at);
  if (next != blocks_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > at)
    --next;
  while (next != blocks_.end() && next->first < at + bytes) next = blocks_.erase(next);
  blocks_[at] = {bytes, begun_};
}

// Whether the address is in a block that was allocated after the section had begun.
bool section_watch::is_younger(address at, const section& than) const {
  auto next = blocks_.upper_bound(at);
  if (next == blocks_.begin()) return false;
  const auto& [start, found] = *std::prev(next);
  return at < start + found.bytes && found.allocated >= than.begun;
}

void section_watch::compare(of_lock& lock, const section& earlier, const section& later) const {
  std::vector<meeting> found = meetings(earlier.words, later.words, machine_.l1.line);
  std::erase_if(found, [&](const meeting& each) {
    return is_younger(each.first, earlier) || is_younger(each.second, earlier);
  });
  lock.totals.count_pair(found);
}

void section_watch::finish(open_section over) {
  if (locks_.size() == most_locks && !locks_.contains(over.lock)) {
    ++not_watched_;
    return;
  }
  of_lock& lock = locks_[over.lock];
  section& what = over.what;
  what.overflowed = over.set.overflowed();
  what.words = std::move(over.set).sorted();
  const footprint print = footprint_of(what, machine_);
  const thread& me = the_world->schedule.running();
  const auto tls = instrument::tls_of(me.body);
  const auto is_own = [&](const touched_word& each) {
    const address at = each.word * word_bytes;
    // Main's stack is never another thread's, and often holds what all threads use.
    const bool on_stack = me.index != 0 && at >= me.stack_low && at < me.stack_high;
    return on_stack || (at >= tls.low && at < tls.high);
  };
  std::erase_if(what.words, is_own);
  lock.totals.count(what, print);
  lock.recent.for_others(what.thread, [&](const section& other) { compare(lock, other, what); });
  kept_words_ += lock.recent.keep(std::move(what));
  if (kept_words_ > most_kept_words) forget_recent();
}

void section_watch::forget_recent() {
  for (auto& [at, lock] : locks_) lock.recent = {};
  kept_words_ = 0;
}

void watch_sections(const description& machine) {
  const char* const file = instrument::option("SECTIONS");
  if (file == nullptr) return;
  // Who reads it sees that the program was begun.
  if (!instrument::write_whole_file(file, "")) ::_exit(1);
  watched_sections = new section_watch(machine);
  instrument::observe_sections(watched_sections);
}

bool report_sections() {
  if (watched_sections == nullptr) return true;
  const instrument::engine_scope inside;
  instrument::observe_sections(nullptr);
  return instrument::write_whole_file(report::file_of_process(instrument::option("SECTIONS")),
                                      watched_sections->json());
}

}  // namespace syncopate::simulated
