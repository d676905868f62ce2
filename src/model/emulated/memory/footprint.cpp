// footprint.cpp -- what the running transaction has touched so far, for who records it
// (elide/gil_recording.h).
#include <cstdint>

#include "model/emulated/htm/events.h"
#include "model/emulated/threads/thread.h"

using namespace syncopate::emulated;

// Stores at most `room` entries: a line's number times 2, plus 1 when the transaction has written
// the line; and the number of accesses. Returns how many lines there are; 0 outside transactions.
extern "C" __attribute__((visibility("default"))) unsigned syncopate_htm_footprint(
    std::uint64_t* lines, unsigned room, std::uint64_t* done) noexcept {
  const thread* const t = here.current;
  if (t == nullptr) return 0;
  unsigned count = 0;
  for (const touched_line* each = t->lines.first; each != t->lines.next; ++each, ++count) {
    if (count >= room) continue;
    lines[count] = each->at * 2 + (owner_of(each->at) == t->writer_byte ? 1 : 0);
  }
  *done = accesses(*t);
  return count;
}
