// barrier.h -- std::barrier's interface over central_barrier, for programs that want its
// adaptive waiting by changing one name.
#pragma once

#include <syncopate/barriers/central_barrier.h>
#include <syncopate/wait/adaptive.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace syncopate {

template <class Completion = no_completion>
class barrier {
  using algorithm = central_barrier<waits::team_adaptive, Completion>;

 public:
  class arrival_token {
   public:
    arrival_token(arrival_token&&) noexcept = default;
    arrival_token& operator=(arrival_token&&) noexcept = default;

   private:
    friend barrier;
    explicit arrival_token(typename algorithm::arrival_token value) noexcept : value_(value) {}
    typename algorithm::arrival_token value_;
  };

  [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept { return INT32_MAX; }

  // Requires: 1 <= expected <= max() (std::barrier also allows 0).
  explicit barrier(std::ptrdiff_t expected, Completion completion = {})
      : algorithm_(static_cast<std::uint32_t>(expected), std::move(completion)) {}
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  [[nodiscard]] arrival_token arrive(std::ptrdiff_t update = 1) {
    return arrival_token(algorithm_.arrive_many(static_cast<std::uint32_t>(update)));
  }
  void wait(arrival_token&& token) const { algorithm_.wait(token.value_); }
  void arrive_and_wait() { algorithm_.arrive_and_wait(); }
  void arrive_and_drop() { algorithm_.arrive_and_drop(); }

 private:
  mutable algorithm algorithm_;  // wait() is const, as the standard has it
};

}  // namespace syncopate
