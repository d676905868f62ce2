// gil_options.h -- how an interpreter lock is to work, and what it counted.
#pragma once

#include <syncopate/elide/gil_lengths.h>
#include <syncopate/elide/gil_retry.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace syncopate::elide {

struct gil_options {
  bool elided = true;  // else a lock that is passed on every slice
  length_options lengths{};
  gil_tally retries{};
  // Elided: ticks to spin for the release of a held lock before queuing for it.
  std::uint32_t wait_limit = 1u << 17;
  // Plain: ticks until a holder lets a waiter in; yield points between two looks at the clock.
  // CRuby's timer has 250 ms, CPython's 5 ms; 2^23 ticks are 3 ms at 2.8 GHz.
  std::uint64_t slice = 1u << 23;
  std::uint16_t look = 1024;
};

// Where the time of the threads went, in ticks: figure 8 of the paper.
struct gil_cycles {
  std::uint64_t useful = 0;    // committed, or under the lock
  std::uint64_t aborted = 0;   // work that was undone
  std::uint64_t waiting = 0;   // for the lock
  std::uint64_t overhead = 0;  // between the work: beginning, ending, deciding
};

namespace detail {
inline std::optional<unsigned> number(std::string_view text, unsigned most) noexcept {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value >= 1 && value <= most ? std::optional{value} : std::nullopt;
}
}  // namespace detail

// gil | htm:N (fixed length) | paper[:PERCENT] (1 to 20; 6) | balance | dynamic. Nothing for
// anything else.
[[nodiscard]] inline std::optional<gil_options> parse_gil_options(std::string_view text) noexcept {
  gil_options o;
  if (text == "gil") {
    o.elided = false;
    return o;
  }
  if (text.starts_with("htm:")) {
    const auto length = detail::number(text.substr(4), 1023);
    if (!length) return std::nullopt;
    o.lengths.rule = length_rule::fixed;
    o.lengths.chooses = false;
    o.lengths.fixed = static_cast<std::uint16_t>(*length);
    return o;
  }
  if (text == "dynamic") return o;
  o.lengths.chooses = false;
  if (text == "balance") return o;
  if (!text.starts_with("paper")) return std::nullopt;
  o.lengths.rule = length_rule::shrinking;
  if (text == "paper") return o;
  const auto percent = text[5] == ':' ? detail::number(text.substr(6), 20) : std::nullopt;
  if (!percent) return std::nullopt;
  o.lengths.threshold = static_cast<std::uint16_t>(*percent * o.lengths.period / 100);
  return o;
}

}  // namespace syncopate::elide
