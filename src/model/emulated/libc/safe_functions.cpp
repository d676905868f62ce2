#include "safe_functions.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace syncopate::emulated {

namespace {

constexpr std::string_view jump_buffers[] = {"__sigsetjmp", "_setjmp", "setjmp"};

// Sorted.
constexpr std::string_view names[] = {
    "_Unwind_Backtrace",
    "_Unwind_DeleteException",
    "_Unwind_GetIP",
    "_Unwind_GetRegionStart",
    "_Unwind_RaiseException",
    "_Unwind_Resume",
    "_Unwind_Resume_or_Rethrow",
    // libstdc++'s, which only call pthread_cond_...: these are this library's, and seen.
    "_ZNSt18condition_variable10notify_allEv",
    "_ZNSt18condition_variable10notify_oneEv",
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE",
    "_ZNSt6chrono3_V212steady_clock3nowEv",
    "_ZNSt6chrono3_V212system_clock3nowEv",
    "_ZSt18uncaught_exceptionv",
    "_ZSt19uncaught_exceptionsv",
    "__cxa_allocate_exception",
    "__cxa_begin_catch",
    "__cxa_call_unexpected",
    "__cxa_current_exception_type",
    "__cxa_end_catch",
    "__cxa_free_exception",
    "__cxa_get_exception_ptr",
    "__cxa_get_globals",
    "__cxa_get_globals_fast",
    "__cxa_init_primary_exception",
    "__cxa_rethrow",
    "__cxa_throw",
    "__cxa_throw_bad_array_new_length",
    "__dynamic_cast",
    "__errno_location",
    "__gxx_personality_v0",
    "__longjmp_chk",
    "__tls_get_addr",
    "_longjmp",
    "abs",
    "clock_gettime",
    "div",
    "getcpu",
    "gettimeofday",
    "imaxabs",
    "labs",
    "ldiv",
    "llabs",
    "lldiv",
    "longjmp",
    "pthread_equal",
    "pthread_getspecific",
    "pthread_self",
    "sched_getcpu",
    "siglongjmp",
    "thrd_current",
    "thrd_equal",
    "time",
    "tolower",
    "toupper",
};

// <ctype.h>, <wctype.h>, numbers out of text, and libstdc++'s functions that only throw.
constexpr std::string_view starts[] = {
    "__ctype_",       "_ZSt16__throw_", "_ZSt17__throw_", "_ZSt18__throw_", "_ZSt19__throw_",
    "_ZSt20__throw_", "_ZSt21__throw_", "_ZSt22__throw_", "_ZSt23__throw_", "_ZSt24__throw_",
    "_ZSt25__throw_", "_ZSt28__throw_", "isal",           "isdi",           "issp",
    "isup",           "islo",           "ispu",           "isxd",           "ispr",
    "isgr",           "iscn",           "isbl",           "iswal",          "iswdi",
    "iswsp",          "towlo",          "towup"};

// The standard library's exceptions, whose strings lie in memory of their own.
constexpr std::string_view exceptions[] = {"17bad_function_call",
                                           "16invalid_argument",
                                           "11logic_error",
                                           "11range_error",
                                           "12bad_weak_ptr",
                                           "12domain_error",
                                           "12length_error",
                                           "12out_of_range",
                                           "13bad_exception",
                                           "13runtime_error",
                                           "14overflow_error",
                                           "15underflow_error",
                                           "20bad_array_new_length",
                                           "8bad_cast",
                                           "9bad_alloc",
                                           "9exception",
                                           "10bad_typeid"};

// _ZNSt<name>C1..., D1...; _ZNKSt<name>4whatEv.
bool is_exceptions_member(std::string_view symbol) {
  for (const std::string_view start : {"_ZNSt", "_ZNKSt"}) {
    if (!symbol.starts_with(start)) continue;
    const std::string_view rest = symbol.substr(start.size());
    for (const std::string_view each : exceptions) {
      if (!rest.starts_with(each) || rest.size() == each.size()) continue;
      const char next = rest[each.size()];
      return next == 'C' || next == 'D' || rest.substr(each.size()) == "4whatEv";
    }
  }
  return false;
}

bool contains(const std::string_view* first, const std::string_view* last, const char* symbol) {
  return std::binary_search(first, last, std::string_view(symbol));
}

}  // namespace

bool writes_jump_buffer(const char* symbol) noexcept {
  return contains(std::begin(jump_buffers), std::end(jump_buffers), symbol);
}

bool is_safe_function(const char* symbol) noexcept {
  static_assert(std::is_sorted(std::begin(names), std::end(names)));
  static_assert(std::is_sorted(std::begin(jump_buffers), std::end(jump_buffers)));
  if (contains(std::begin(names), std::end(names), symbol)) return true;
  if (is_exceptions_member(symbol)) return true;
  return std::any_of(std::begin(starts), std::end(starts), [=](std::string_view start) {
    return std::string_view(symbol).starts_with(start);
  });
}

bool is_safe_library(const char* path) noexcept {
  const char* const slash = std::strrchr(path, '/');
  const std::string_view name = slash != nullptr ? slash + 1 : path;
  return name.starts_with("libm.so") || name.starts_with("libm-") ||
         name.starts_with("libmvec.so") || name.starts_with("linux-vdso");
}

}  // namespace syncopate::emulated
