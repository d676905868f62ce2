// array_load.h -- ArrayBench: critical sections that write to random elements of one array.
//
// Source: Izraelevitz, Xiang & Scott, "Performance Improvement via Always-Abort HTM", sections
// II-A, IV-A.1 and IV-A.6, figures 2, 7 and 13. How we deviate: elements are incremented, not only
// written, so that their sum tells whether the lock excluded.
#pragma once

#include <syncopate/wait/speculate.h>

#include "common.h"
#include "presets.h"

namespace workloads {

struct array_parameters {
  std::uint64_t elements, footprint, microseconds, seed;
  bool contended;  // each section begins at element 0
  bool optimized;  // who only runs ahead of the lock leaves element 0 alone
  bool protect;    // who only runs ahead gives up at once
};

// Runs sections for the given time.
inline outcome run_array(const options& o, const array_parameters& p, named_lock& lock,
                         std::vector<std::uint32_t>& array) {
  return run_threads(o, [&](std::uint32_t me) {
    random_numbers random(p.seed, me);
    std::vector<std::uint32_t> chosen(p.footprint);
    const std::uint64_t until = machine::now() + p.microseconds * 1000;
    std::uint64_t sections = 0;
    do {
      for (std::uint32_t& element : chosen)
        element = static_cast<std::uint32_t>(random.below(p.elements));
      lock.lock();
      if (p.protect && syncopate::speculating()) syncopate::waits::speculation::abandon();
      if (p.contended && !(p.optimized && syncopate::speculating())) ++array[0];
      for (const std::uint32_t element : chosen) ++array[element];
      lock.unlock();
      ++sections;
    } while (machine::now() < until);
    return sections;
  });
}

// Whether no increment was lost.
inline bool array_is_consistent(const array_parameters& p, const outcome& result,
                                const std::vector<std::uint32_t>& array) {
  std::uint64_t sum = 0;
  for (const std::uint32_t element : array) sum += element;
  return sum == result.operations() * (p.footprint + (p.contended ? 1 : 0));
}

}  // namespace workloads
