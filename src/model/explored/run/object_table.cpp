// object_table.cpp -- what object_table.h promises.
#include "object_table.h"

#include <string_view>

namespace syncopate::explored {

namespace {
template <class T>
const T* found(const std::vector<T>& all, typename std::vector<T>::const_iterator at) {
  return at == all.end() ? nullptr : &*at;
}
}  // namespace

const object_table::object* object_table::initialized(address at, const char* what) const {
  return found(all_, std::find_if(all_.begin(), all_.end(), [&](const object& o) {
                 return o.at == at && o.what == std::string_view(what) && o.initialized;
               }));
}

void object_table::hold(address at, std::size_t bytes, const char* what, int by, place from) {
  for (object& o : all_)
    if (o.at == at) {
      o.held += by;
      return;
    }
  if (by > 0) begin({at, bytes, what, from, false, by});
}

const object_table::object* object_table::held_in(address at, std::size_t bytes) const {
  return found(all_, std::find_if(all_.begin(), all_.end(), [&](const object& o) {
                 return o.held > 0 && o.at < at + bytes && at < o.at + o.bytes;
               }));
}

const object_table::wait* object_table::conflicting(address condition, address mutex,
                                                    thread_index by, const clock& own) const {
  return found(waits_, std::find_if(waits_.begin(), waits_.end(), [&](const wait& w) {
                 return w.condition == condition && w.mutex != mutex && w.thread != by &&
                        (w.end == 0 || !own.covers(w.thread, w.end));
               }));
}

void object_table::begin_wait(const wait& w) {
  std::erase_if(waits_, [&](const wait& other) {
    return other.condition == w.condition && other.thread == w.thread;
  });
  waits_.push_back(w);
  note(w.condition, 1);
}

void object_table::end_wait(address condition, thread_index by, std::uint32_t time) {
  for (wait& w : waits_)
    if (w.condition == condition && w.thread == by) w.end = time;
}

void object_table::end(address at, std::size_t bytes) {
  std::erase_if(waits_, [&](const wait& w) { return w.condition - at < bytes; });
  std::erase_if(all_, [&](const object& o) { return o.at < at + bytes && at < o.at + o.bytes; });
}

}  // namespace syncopate::explored
