// gil_totals.h -- what the threads of an interpreter lock have counted, once detached.
#pragma once

#include <syncopate/elide/gil_options.h>
#include <syncopate/elide/gil_points.h>
#include <syncopate/gil.h>

#include <cstdint>

namespace syncopate::elide {

// Points: how many yield points a thread has records of.
template <std::uint32_t Points, class Lock>
struct gil_totals {
  Lock lock;
  gil_record records[Points] = {};
  gil_cycles cycles;

  void add(const ::syncopate_gil_thread& me) noexcept {
    lock.lock();
    for (std::uint32_t i = 0; i < Points; ++i) {
      if (me.records[i].begins == 0 && me.records[i].fallbacks == 0) continue;
      records[i].begins += me.records[i].begins;
      records[i].fallbacks += me.records[i].fallbacks;
      for (unsigned k = 0; k < gil_abort_names.size(); ++k)
        records[i].aborts[k] += me.records[i].aborts[k];
    }
    cycles.useful += me.useful;
    cycles.aborted += me.aborted;
    cycles.waiting += me.waiting;
    cycles.overhead += me.overhead;
    lock.unlock();
  }
};

}  // namespace syncopate::elide
