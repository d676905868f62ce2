// gil_lengths.h -- how many yield points a transaction of the elided interpreter lock may pass.
// Pure functions from what is known of a yield point, and what happened, to what is known then.
//
// Sources
//   shrinking   Odaira, Castanos & Tomari, "Eliminating Global Interpreter Locks in Ruby through
//               Hardware Transactional Memory", PPoPP 2014, figure 3, with its constants (5.1).
//   balancing   ours. Let a transaction cost B to begin and end, and let each of its L yield points
//               take w and meet a conflict with probability q. Per point it then costs
//               B/L + q (L w), which is least where q L (L w) = B: where what aborts destroy is
//               worth as much as what beginning and ending cost. So a length shrinks while aborts
//               destroy more, and grows while they destroy much less. No target ratio has to be
//               known: B and the losses are measured. Where they are R times B, the best length is
//               L / sqrt(R): what is far too long is a quarter of it after one step. A length that
//               failed right after it grew is not tried again for twice as long each time. A yield
//               point that was not judged yet has the length of the whole program, which is judged
//               by all such points together, and so at once.
#pragma once

#include <bit>
#include <cstdint>

namespace syncopate::elide {

enum class length_rule : unsigned char {
  fixed,      // always the same
  shrinking,  // the paper's: shorter while too many abort
  balancing,  // shorter and longer
};

struct length_options {
  length_rule rule = length_rule::balancing;
  bool chooses = true;  // with `balancing`, or a fixed length where that pays better: gil_choice.h
  std::uint16_t fixed = 16;
  std::uint16_t initial = 255;
  std::uint16_t longest = 1023;  // balancing; the paper's never exceed the initial one

  // shrinking: at most threshold/period of the transactions may abort: 3 (1 %) on zEC12, 18 (6 %)
  // on Haswell.
  std::uint16_t period = 300;
  std::uint16_t threshold = 18;

  // balancing: transactions that make one judgment; the length before the first one. That one is
  // a middle one, as it is soon longer where nothing is lost.
  std::uint16_t window = 64;
  std::uint16_t middle = 32;
};

// What is known of one yield point, in a word that is loaded and stored at once.
struct length_state {
  std::uint32_t lost = 0;         // shrinking: aborts; balancing: losses, in eighths of B
  std::uint16_t begun = 0;        // transactions since the last judgment
  std::uint16_t length : 11 = 0;  // 0: nothing began here yet; balancing: not judged yet
  std::uint16_t caution : 4 = 0;  // balancing: windows to wait before growing, a power of two
  std::uint16_t grew : 1 = 0;     // balancing: the last judgment made it longer

  friend bool operator==(const length_state&, const length_state&) = default;
};
static_assert(sizeof(length_state) == 8);

namespace lengths {

// Three quarters: the attenuation rate of both rules. Never below 1.
[[nodiscard]] constexpr std::uint16_t shorter(std::uint16_t length) noexcept {
  return length > 1 ? static_cast<std::uint16_t>(length * 3 / 4) : std::uint16_t{1};
}

[[nodiscard]] constexpr std::uint16_t longer(std::uint16_t length, std::uint16_t most) noexcept {
  const unsigned next = length + length / 3u + 1;
  return next < most ? static_cast<std::uint16_t>(next) : most;
}

// Figure 3, set_transaction_length(): a transaction begins.
[[nodiscard]] constexpr length_state begins(length_state s, const length_options& o) noexcept {
  if (o.rule == length_rule::balancing) return s;
  if (s.length == 0) s.length = o.rule == length_rule::fixed ? o.fixed : o.initial;
  if (o.rule == length_rule::shrinking && s.begun < o.period) ++s.begun;
  return s;
}

// Figure 3, adjust_transaction_length(): it has aborted for the first time.
[[nodiscard]] constexpr length_state first_abort(length_state s, const length_options& o) noexcept {
  if (o.rule != length_rule::shrinking || s.length <= 1 || s.begun > o.period) return s;
  if (s.lost <= o.threshold) {
    ++s.lost;
    return s;
  }
  s.length = shorter(s.length);
  s.begun = 0;
  s.lost = 0;
  return s;
}

namespace detail {
inline constexpr std::uint32_t unit = 8;  // eighths of B
inline constexpr unsigned most_caution = 6;

// The losses were `ratio` times B.
constexpr length_state shrunk(length_state s, std::uint32_t ratio) noexcept {
  if (s.grew && s.caution < most_caution) ++s.caution;
  const unsigned divisor = ratio >= 16 ? 4 : ratio >= 4 ? 2 : 1;
  s.length = divisor == 1 ? shorter(s.length)
                          : static_cast<std::uint16_t>(s.length > divisor ? s.length / divisor : 1);
  s.grew = 0;
  return s;
}

constexpr length_state after_window(length_state s, const length_options& o) noexcept {
  const bool grows = 2 * s.lost <= unit * s.begun && s.length < o.longest;
  // A longer one that has held up: the earlier failure was chance, or is over.
  if (s.grew && s.caution > 0) --s.caution;
  s.grew = grows;
  if (grows) s.length = longer(s.length, o.longest);
  return s;
}
}  // namespace detail

// Balancing: `begun` more transactions began at the point, and `lost` eighths of B were lost. A
// point that was not judged yet has had the length `common`.
[[nodiscard]] constexpr length_state learn(length_state s, std::uint32_t begun, std::uint32_t lost,
                                           std::uint16_t common, const length_options& o) noexcept {
  const std::uint32_t count = s.begun + begun;
  s.begun = static_cast<std::uint16_t>(count < 0xffff ? count : 0xffff);
  s.lost = lost < UINT32_MAX - s.lost ? s.lost + lost : UINT32_MAX;
  // A window's worth of losses is enough, however few transactions it took.
  const std::uint32_t judged = s.begun > o.window ? s.begun : o.window;
  const bool too_much = s.lost > detail::unit * judged;
  if (!too_much && s.begun < (std::uint32_t{o.window} << s.caution)) return s;
  if (s.length == 0) s.length = common;
  s = too_much ? detail::shrunk(s, s.lost / (detail::unit * judged)) : detail::after_window(s, o);
  s.begun = 0;
  s.lost = 0;
  return s;
}

[[nodiscard]] constexpr std::uint64_t pack(length_state s) noexcept {
  return std::uint64_t{s.lost} << 32 | std::uint64_t{s.begun} << 16 | std::uint64_t{s.length} << 5 |
         std::uint64_t{s.caution} << 1 | s.grew;
}
[[nodiscard]] constexpr length_state unpack(std::uint64_t bits) noexcept {
  length_state s;
  s.lost = static_cast<std::uint32_t>(bits >> 32);
  s.begun = static_cast<std::uint16_t>(bits >> 16);
  s.length = static_cast<std::uint16_t>(bits >> 5 & 0x7ff);
  s.caution = static_cast<std::uint16_t>(bits >> 1 & 0xf);
  s.grew = static_cast<std::uint16_t>(bits & 1);
  return s;
}

}  // namespace lengths
}  // namespace syncopate::elide
