// sections.h -- what the programs with fine-grained critical sections share: the lock that the
// paper elides, none at all, and a thread's part of what all threads do.
#pragma once

#include <syncopate/elide/elided_lock.h>
#include <syncopate/locks/tatas_lock.h>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

namespace workloads {

// The choice of Yoo et al., SC 2013: five attempts, then the lock.
using elided_lock = syncopate::elide::elided_lock<syncopate::tatas_lock<>>;

// In the place of an object's lock, where another one or none protects it.
struct no_lock {};

// A thread's part of what all threads do.
struct share_of {
  std::uint32_t thread, threads;
  [[nodiscard]] auto indices(std::size_t count) const {
    return std::views::iota(static_cast<std::uint32_t>(count * thread / threads),
                            static_cast<std::uint32_t>(count * (thread + 1) / threads));
  }
  template <class T>
  [[nodiscard]] std::span<const T> of(const std::vector<T>& all) const {
    const auto mine = indices(all.size());
    return std::span(all).subspan(static_cast<std::size_t>(*mine.begin()), mine.size());
  }
};

}  // namespace workloads
