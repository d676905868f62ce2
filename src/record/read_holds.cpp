// read_holds.cpp -- reader-writer locks that a thread holds for reading, beyond the first one.
#include "record/threads.h"

namespace syncopate::record {

void read_begins_elsewhere(std::uint64_t object) noexcept {
  thread_state* t = local.state;
  if (t == nullptr) {
    entry inside;
    t = inside ? this_thread() : nullptr;
    if (t == nullptr) return;
  }
  for (std::uint64_t& held : t->entry->read_held)
    if (held == 0) return publish(held, object);
}

void read_ends_elsewhere(std::uint64_t object) noexcept {
  const thread_state* const t = local.state;
  if (t == nullptr) return;
  for (std::uint64_t& held : t->entry->read_held)
    if (held == object) return publish(held, 0u);
}

}  // namespace syncopate::record
