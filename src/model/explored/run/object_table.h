// object_table.h -- pthread's objects of one execution: which are initialized, which are held, and
// who waits at which condition variable with which mutex.
#pragma once

#include "model/explored/memory/clock.h"
#include "model/explored/search/trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace syncopate::explored {

class object_table {
 public:
  struct object {
    address at;
    std::size_t bytes;
    const char* what;
    place where;
    bool initialized;
    int held;
  };
  struct wait {  // the last one of a thread at a condition variable
    address condition, mutex;
    place where;
    thread_index thread;
    std::uint32_t end;  // of its thread's clock; 0: it waits
  };

  void forget() {
    all_.clear();
    waits_.clear();
    start_ = ~address{0};
    end_ = 0;
  }

  // The initialized object of that kind there, or null.
  [[nodiscard]] const object* initialized(address at, const char* what) const;
  void begin(const object& o) {
    all_.push_back(o);
    note(o.at, o.bytes);
  }
  // Held so many times more.
  void hold(address at, std::size_t bytes, const char* what, int by, place from);
  // One that is held and has bytes in there, or null.
  [[nodiscard]] const object* held_in(address at, std::size_t bytes) const;

  // A wait of another thread at that condition variable, with another mutex, that has not ended in
  // order before `own`; or null.
  [[nodiscard]] const wait* conflicting(address condition, address mutex, thread_index by,
                                        const clock& own) const;
  void begin_wait(const wait& w);
  void end_wait(address condition, thread_index by, std::uint32_t time);

  // Something else that ends with its memory is there.
  void note(address at, std::size_t bytes) {
    start_ = std::min(start_, at);
    end_ = std::max(end_, at + bytes);
  }
  [[nodiscard]] bool may_be_in(address at, std::size_t bytes) const noexcept {
    return at < end_ && start_ < at + bytes;
  }
  void end(address at, std::size_t bytes);  // those bytes are something else now

 private:
  std::vector<object> all_;
  std::vector<wait> waits_;
  address start_ = ~address{0}, end_ = 0;  // all that was noted has been in between
};

}  // namespace syncopate::explored
