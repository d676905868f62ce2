// call_rules.h -- what call_table.cpp's lines are made of: which memory of the program a function
// of the C library writes, or reads, by the numbers of its arguments.
//
// A line CALL(name, type, rules...) exports `name`: a jump to called<...>::call, which announces
// what the rules say and calls the C library's function. What is written whatever happens is
// announced before, since a transaction keeps what was there; what depends on the result, behind.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <tuple>
#include <type_traits>

#include "model/front/libc/call_memory.h"

namespace syncopate::instrument::rules {

struct nothing {};  // a void function's result

template <class Of>
inline constexpr std::size_t size_of = sizeof(Of);
template <>
inline constexpr std::size_t size_of<void> = 1;
template <>
inline constexpr std::size_t size_of<const void> = 1;

template <class At>
void wrote(At* at, std::size_t elements, engine::place where) {
  call_wrote(at, elements * size_of<At>, where);
}
template <class Character>
std::size_t length_with_end(const Character* text) {
  std::size_t n = 0;
  while (text[n] != 0) ++n;
  return n + 1;
}

// ---- read: before the call ----------------------------------------------------------------------

template <std::size_t argument>
struct reads {  // what it points to
  static constexpr bool is_known_before = true;
  static void tell(const auto& all, const auto&, engine::place where) {
    call_reads(std::get<argument>(all), sizeof *std::get<argument>(all), where);
  }
};
template <std::size_t argument>
struct reads_text {
  static constexpr bool is_known_before = true;
  static void tell(const auto& all, const auto&, engine::place where) {
    const auto* const text = std::get<argument>(all);
    if (text != nullptr) call_reads(text, length_with_end(text) * sizeof *text, where);
  }
};

// ---- written, whatever happens ------------------------------------------------------------------

template <std::size_t argument>
struct whole {  // what it points to
  static constexpr bool is_known_before = true;
  static void tell(const auto& all, const auto&, engine::place where) {
    wrote(std::get<argument>(all), 1, where);
  }
};
template <std::size_t argument, std::size_t count>
struct array {  // as many elements as that argument says
  static constexpr bool is_known_before = true;
  static void tell(const auto& all, const auto&, engine::place where) {
    wrote(std::get<argument>(all), static_cast<std::size_t>(std::get<count>(all)), where);
  }
};
template <std::size_t argument, std::size_t count>
struct first {  // that many elements
  static constexpr bool is_known_before = true;
  static void tell(const auto& all, const auto&, engine::place where) {
    wrote(std::get<argument>(all), count, where);
  }
};

// ---- written, as the result says ----------------------------------------------------------------

template <std::size_t argument>
struct text {  // a string stands there then
  static constexpr bool is_known_before = false;
  static void tell(const auto& all, const auto&, engine::place where) {
    const auto* const at = std::get<argument>(all);
    if (at != nullptr) wrote(at, length_with_end(at), where);
  }
};
template <std::size_t argument>
struct resulting {  // so many elements are there
  static constexpr bool is_known_before = false;
  static void tell(const auto& all, const auto& result, engine::place where) {
    if (static_cast<long>(result) > 0)
      wrote(std::get<argument>(all), static_cast<std::size_t>(result), where);
  }
};
// A string of so many characters and its end, at most as many as the argument says.
template <std::size_t argument, std::size_t most>
struct resulting_text {
  static constexpr bool is_known_before = false;
  static void tell(const auto& all, const auto& result, engine::place where) {
    if (static_cast<long>(result) < 0) return;
    const auto n = static_cast<std::size_t>(result) + 1;
    const auto room = static_cast<std::size_t>(std::get<most>(all));
    wrote(std::get<argument>(all), n < room ? n : room, where);
  }
};

// ---- what a function keeps: threads may not call it at once -------------------------------------

struct result_kept {  // its result is there
  static constexpr bool is_known_before = false;
  static void tell(const auto&, const auto& result, engine::place where) {
    wrote(result, 1, where);
  }
};
struct result_text {  // a string
  static constexpr bool is_known_before = false;
  static void tell(const auto&, const auto& result, engine::place where) {
    if (result != nullptr) wrote(result, length_with_end(result), where);
  }
};
template <std::size_t argument>
struct handle {  // what the library keeps for it
  static constexpr bool is_known_before = true;
  static void tell(const auto& all, const auto&, engine::place where) {
    call_wrote(reinterpret_cast<const void*>(std::get<argument>(all)), 1, where);
  }
};
template <auto*... each>
struct variables {
  static constexpr bool is_known_before = true;
  static void tell(const auto&, const auto&, engine::place where) { (wrote(each, 1, where), ...); }
};
template <std::size_t argument, char* state>
struct state_unless {  // the argument points to one
  static constexpr bool is_known_before = true;
  static void tell(const auto& all, const auto&, engine::place where) {
    if (std::get<argument>(all) == nullptr) wrote(state, 1, where);
  }
};

// ---- conditions ---------------------------------------------------------------------------------

template <class... Rules>
struct if_zero {
  static constexpr bool is_known_before = false;
  static void tell(const auto& all, const auto& result, engine::place where) {
    if (result == 0) (Rules::tell(all, result, where), ...);
  }
};
template <class... Rules>
struct if_done {  // not below 0
  static constexpr bool is_known_before = false;
  static void tell(const auto& all, const auto& result, engine::place where) {
    if (static_cast<long>(result) >= 0) (Rules::tell(all, result, where), ...);
  }
};
template <class... Rules>
struct if_true {  // a pointer, or a number but 0
  static constexpr bool is_known_before = false;
  static void tell(const auto& all, const auto& result, engine::place where) {
    if (result) (Rules::tell(all, result, where), ...);
  }
};

// The library makes things once, which are not put back between executions: who answers for users
// and hosts.
struct makes_once {
  static constexpr bool is_known_before = true;
  static void tell(const auto&, const auto&, engine::place) {}
};

// ---- the call -----------------------------------------------------------------------------------

template <class Name, class Type, class... Rules>
struct called;
template <class Name, class Result, class... Arguments, class... Rules>
struct called<Name, Result(Arguments...), Rules...> {
  static Result call(Arguments... arguments) {
    const auto where = __builtin_return_address(0);
    auto* const real = find_real<Result(Arguments...)>(slot, Name::text, nullptr);
    if (!by_program(where)) return real(arguments...);
    const std::tuple<Arguments...> all{arguments...};
    (tell<Rules, true>(all, nothing{}, where), ...);
    if constexpr (std::is_void_v<Result>) {
      ask(real, arguments...);
      (tell<Rules, false>(all, nothing{}, where), ...);
    } else {
      const Result result = ask(real, arguments...);
      const int error = errno;
      (tell<Rules, false>(all, result, where), ...);
      errno = error;
      return result;
    }
  }

 private:
  static Result ask(Result (*real)(Arguments...), Arguments... arguments) {
    if constexpr ((std::is_same_v<Rules, makes_once> || ...)) {
      const engine_scope inside;
      return real(arguments...);
    } else {
      return real(arguments...);
    }
  }
  template <class Rule, bool is_before>
  static void tell(const auto& all, const auto& result, engine::place where) {
    if constexpr (Rule::is_known_before == is_before) Rule::tell(all, result, where);
  }
  static inline constinit std::atomic<void*> slot{nullptr};
};

}  // namespace syncopate::instrument::rules

#define CALL(name, type, ...)                                                                  \
  namespace {                                                                                  \
  struct name_of_##name {                                                                      \
    static constexpr const char* text = #name;                                                 \
  };                                                                                           \
  using called_##name =                                                                        \
      ::syncopate::instrument::rules::called<name_of_##name, type __VA_OPT__(, ) __VA_ARGS__>; \
  }                                                                                            \
  extern "C" {                                                                                 \
  extern decltype(&called_##name::call) const syncopate_call_##name;                           \
  decltype(&called_##name::call) const syncopate_call_##name = &called_##name::call;           \
  }                                                                                            \
  asm(".pushsection .text\n\t.globl " #name "\n\t.type " #name ", @function\n" #name           \
      ":\tjmp *syncopate_call_" #name "(%rip)\n\t.size " #name ", .-" #name "\n\t.popsection");
