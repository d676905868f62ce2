// sections.h -- what the programs with fine-grained critical sections share: the locks that the
// paper elides, none at all, and a thread's part of what all threads do.
#pragma once

#include <syncopate/elide/elided_lock.h>
#include <syncopate/locks/tatas_lock.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace workloads {

// The choice of Yoo et al., SC 2013: five attempts, then the lock.
using elided_lock = syncopate::elide::elided_lock<syncopate::tatas_lock<>>;

// In the place of an object's lock, where another one or none protects it.
struct no_lock {};

// What the paper's library makes of every critical section: one lock, elided.
struct alignas(128) whole_program {
  elided_lock lock;
};
inline whole_program program;

// The numbers from `first` to before `last`. (clang 14 does not compile libstdc++'s views.)
struct index_range {
  struct iterator {
    std::uint32_t at;
    const std::uint32_t& operator*() const { return at; }
    iterator& operator++() {
      ++at;
      return *this;
    }
    friend bool operator==(const iterator&, const iterator&) = default;
  };
  std::uint32_t first, last;
  [[nodiscard]] iterator begin() const { return {first}; }
  [[nodiscard]] iterator end() const { return {last}; }
  [[nodiscard]] std::size_t size() const { return last - first; }
};

// A thread's part of what all threads do.
struct share_of {
  std::uint32_t thread, threads;
  [[nodiscard]] index_range indices(std::size_t count) const {
    return {static_cast<std::uint32_t>(count * thread / threads),
            static_cast<std::uint32_t>(count * (thread + 1) / threads)};
  }
  template <class T>
  [[nodiscard]] std::span<const T> of(const std::vector<T>& all) const {
    const index_range mine = indices(all.size());
    return std::span(all).subspan(mine.first, mine.size());
  }
};

}  // namespace workloads
