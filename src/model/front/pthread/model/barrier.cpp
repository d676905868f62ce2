// barrier.cpp -- barriers for the explored machine: what posix/barrier.h says, with one event to
// arrive, one to leave. The machine keeps who is there (steps.h), so that groups can be told apart,
// but no orders within one.
//
// Misuse ends the run: destruction while threads wait for others that have not arrived. Threads
// that are on their way out are waited for, as in the C library.

#include "posix/barrier.h"

#include "model/front/pthread/ignored_result.h"
#include "model/front/pthread/model/lifetimes.h"
#include "model/front/pthread/model/steps.h"
#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {
namespace {

struct barrier_object {
  std::uint32_t count;  // 0: destroyed
};

class gathering {
 public:
  gathering(pthread_barrier_t& b, place where) : barrier_(b), where_(where) {}

  bool is_destroyed() const { return object().count == 0; }
  bool is_waited_at() const {
    return on_engine([&] { return model::arrived(at(&barrier_)); }) % object().count != 0;
  }
  // Whether it is told that it is the one of its group: any of them, if the program looks.
  bool arrive_and_wait() {
    model::note_use(&object().count, where_);
    const std::uint32_t count = object().count;
    const bool asks = !ignores_result(where_);
    const std::uint64_t group =
        on_engine([&] { return model::arrive(at(&barrier_), count, asks, where_); });
    // As the C library does on the way out: destruction waits for that, but nobody who frees.
    model::note_use(&object().count, where_);
    return on_engine([&] { return model::leave(at(&barrier_), group, count, where_); });
  }
  static void leave() {}
  void await_departures() {
    on_engine([&] { model::dismiss(at(&barrier_), where_); });
  }
  void mark_destroyed() {
    touch(&barrier_, sizeof barrier_, engine::kind::write, where_);
    object().count = 0;
  }

  [[noreturn]] void misused(const char* what) { model::misuse(what, &barrier_, where_); }

 private:
  barrier_object& object() const { return reinterpret_cast<barrier_object&>(barrier_); }

  pthread_barrier_t& barrier_;
  place where_;
};

struct strict : posix::nobody_watches_barrier {
  [[noreturn]] static void uses_destroyed(gathering& b) { b.misused("use of a destroyed barrier"); }
  static void about_to_destroy(gathering& b) {
    if (b.is_waited_at()) b.misused("destruction of a barrier that threads wait at");
  }
};

}  // namespace

void barrier_init(pthread_barrier_t& b, unsigned count, place /*where*/) {
  reinterpret_cast<barrier_object&>(b).count = count;
  on_engine([&] { model::begin_gathering(at(&b)); });
}

int barrier_wait(pthread_barrier_t& b, place where) {
  return posix::wait_barrier(gathering(b, where), strict());
}

int barrier_destroy(pthread_barrier_t& b, place where) {
  return posix::destroy_barrier(gathering(b, where), strict());
}

}  // namespace syncopate::instrument::objects
