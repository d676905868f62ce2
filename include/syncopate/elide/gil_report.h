// gil_report.h -- what an interpreter lock counted, as text or JSON: the paper's figure 8, and
// the yield points. For when its threads have detached. Allocates nothing.
#pragma once

#include <syncopate/elide/gil.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace syncopate::elide {

namespace detail {

struct gil_sums {
  std::uint64_t begins = 0, fallbacks = 0, aborts = 0;
  std::uint64_t by_cause[gil_abort_names.size()] = {};
};

inline std::uint64_t aborts_of(const gil_record& r) noexcept {
  std::uint64_t sum = 0;
  for (const std::uint32_t each : r.aborts) sum += each;
  return sum;
}

template <class Gil>
gil_sums sums_of(const Gil& lock) noexcept {
  gil_sums s;
  for (std::uint32_t i = 0; i < Gil::points_table::size; ++i) {
    const gil_record& r = lock.total(i);
    s.begins += r.begins;
    s.fallbacks += r.fallbacks;
    s.aborts += aborts_of(r);
    for (unsigned k = 0; k < gil_abort_names.size(); ++k) s.by_cause[k] += r.aborts[k];
  }
  return s;
}

inline double share(std::uint64_t part, std::uint64_t whole) noexcept {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

template <class Gil>
void print_lengths_json(const Gil& lock, std::uint32_t point, std::FILE* out) {
  const auto& all = lock.history();
  const char* comma = "";
  std::fputs(", \"lengths\": [", out);
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (all[i].point != point) continue;
    std::fprintf(out, "%s[%" PRIu64 ", %u]", comma, all[i].when, all[i].length);
    comma = ", ";
  }
  std::fputs("]", out);
}

inline void print_causes_json(const std::uint32_t* counts, std::FILE* out) {
  const char* comma = "";
  for (unsigned k = 0; k < gil_abort_names.size(); ++k) {
    if (counts[k] == 0) continue;
    std::fprintf(out, "%s\"%s\": %u", comma, gil_abort_names[k], counts[k]);
    comma = ", ";
  }
}

// The name that a point was given, as a member of its object.
inline void print_name_json(const char* name, std::FILE* out) {
  if (*name == '\0') return;
  std::fputs(", \"name\": \"", out);
  for (; *name != '\0'; ++name) {
    const auto c = static_cast<unsigned char>(*name);
    if (c < 0x20 || c == '"' || c == '\\') std::fprintf(out, "\\u%04x", c);
    else std::fputc(c, out);
  }
  std::fputs("\"", out);
}

}  // namespace detail

// One line of JSON. "lengths" are pairs of ticks and length, the first changes of all points.
template <class Gil>
void print_gil_json(const Gil& lock, std::FILE* out) {
  const detail::gil_sums s = detail::sums_of(lock);
  const gil_cycles& c = lock.cycles();
  std::fprintf(out,
               "{\"elided\": %s, \"overhead\": %" PRIu64 ", \"transactions\": %" PRIu64
               ", \"aborts\": %" PRIu64 ", \"fallbacks\": %" PRIu64
               ", \"cycles\": {\"useful\": %" PRIu64 ", \"aborted\": %" PRIu64
               ", \"waiting\": %" PRIu64 ", \"overhead\": %" PRIu64 "}, \"points\": [",
               lock.elides() ? "true" : "false", lock.overhead(), s.begins, s.aborts, s.fallbacks,
               c.useful, c.aborted, c.waiting, c.overhead);
  const char* comma = "";
  for (std::uint32_t i = 0; i < Gil::points_table::size; ++i) {
    const gil_record& r = lock.total(i);
    if (r.begins == 0) continue;
    std::fprintf(out,
                 "%s{\"pc\": \"%p\", \"length\": %u, \"transactions\": %" PRIu64
                 ", \"fallbacks\": %" PRIu64,
                 comma, lock.points().pc(i), lock.length(i), r.begins, r.fallbacks);
    detail::print_name_json(lock.points().name(i), out);
    std::fputs(", \"aborts\": {", out);
    detail::print_causes_json(r.aborts, out);
    std::fputs("}", out);
    detail::print_lengths_json(lock, i, out);
    std::fputs("}", out);
    comma = ", ";
  }
  std::fputs("]}\n", out);
}

// Tables for people: all, the time, the yield points where most began.
template <class Gil>
void print_gil_text(const Gil& lock, std::FILE* out) {
  const detail::gil_sums s = detail::sums_of(lock);
  const gil_cycles& c = lock.cycles();
  const std::uint64_t all = c.useful + c.aborted + c.waiting + c.overhead;
  std::fprintf(out, "interpreter lock: %s\n", lock.elides() ? "elided" : "taken");
  std::fprintf(
      out, "  transactions %" PRIu64 ", aborts %" PRIu64 " (%.1f %%), fell back %" PRIu64 "\n",
      s.begins, s.aborts, detail::share(s.aborts, s.begins + s.aborts - s.fallbacks), s.fallbacks);
  for (unsigned k = 0; k < gil_abort_names.size(); ++k)
    if (s.by_cause[k] != 0)
      std::fprintf(out, "    %-10s %" PRIu64 "\n", gil_abort_names[k], s.by_cause[k]);
  std::fprintf(out, "  time: useful %.1f %%, aborted %.1f %%, waiting %.1f %%, overhead %.1f %%\n",
               detail::share(c.useful, all), detail::share(c.aborted, all),
               detail::share(c.waiting, all), detail::share(c.overhead, all));
  if (lock.options().lengths.chooses) {
    const unsigned way = choice_state::ways[lock.choice().way];
    std::fprintf(out, "  lengths: %s %u, after %u trials\n", way == 0 ? "balanced" : "fixed", way,
                 lock.choice().trials);
  }
  std::fprintf(out, "  %-40s length  transactions    aborts  fell back\n", "yield point");
  for (std::uint32_t i = 0; i < Gil::points_table::size; ++i) {
    const gil_record& r = lock.total(i);
    if (r.begins < s.begins / 200 + 1) continue;
    if (const char* const name = lock.points().name(i); *name != '\0')
      std::fprintf(out, "  %-40s", name);
    else std::fprintf(out, "  %-40p", lock.points().pc(i));
    std::fprintf(out, " %6u %13" PRIu64 " %9" PRIu64 " %10" PRIu64 "\n", lock.length(i), r.begins,
                 detail::aborts_of(r), r.fallbacks);
  }
}

}  // namespace syncopate::elide
