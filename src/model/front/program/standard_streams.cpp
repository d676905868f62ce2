#include "model/front/program/standard_streams.h"

#include <iostream>
#include <locale>
#include <new>

#include "model/front/libc/libc_range.h"

namespace syncopate::instrument {

namespace {

constinit bool apart = false;

// A program that reaches them through tables, as clang's, has none of its own that is put back.
template <class Char>
struct stream_state {
  std::basic_ios<Char>* stream;
  std::basic_streambuf<Char>* buffer = stream->rdbuf();
  std::basic_ostream<Char>* tie = stream->tie();
  std::ios_base::fmtflags flags = stream->flags();
  std::streamsize precision = stream->precision(), width = stream->width();
  Char fill = stream->fill();
  std::locale locale = stream->getloc();

  void restore() const {
    stream->exceptions(std::ios_base::goodbit);
    stream->rdbuf(buffer);  // good again
    stream->tie(tie);
    stream->flags(flags);
    stream->precision(precision);
    stream->width(width);
    stream->fill(fill);
    if (stream->getloc() != locale) stream->imbue(locale);
  }
};

// The global locale. What a program has put in its place is left alone, its count with it: its
// memory is put back, and its destructor would run facets of the program.
struct global_locale {
  std::locale first;

  void restore() const {
    const std::locale now;
    if (now == first) return;
    alignas(std::locale) char kept[sizeof(std::locale)];
    new (kept) std::locale(now);
    std::locale::global(first);
  }
};

struct standard_streams {
  global_locale global;
  stream_state<char> narrow[4] = {{&std::cin}, {&std::cout}, {&std::cerr}, {&std::clog}};
  stream_state<wchar_t> wide[4] = {{&std::wcin}, {&std::wcout}, {&std::wcerr}, {&std::wclog}};
};
constinit standard_streams* all = nullptr;

}  // namespace

void keep_standard_streams() { all = new standard_streams; }

void restore_standard_streams() {
  for (const auto& each : all->narrow) each.restore();
  for (const auto& each : all->wide) each.restore();
  all->global.restore();
  apart = false;
}

bool standard_streams_apart() { return apart; }

}  // namespace syncopate::instrument

using namespace syncopate::instrument;

SYNCOPATE_EXPORT bool syncopate_sync_with_stdio(bool) __asm__("_ZNSt8ios_base15sync_with_stdioEb");
SYNCOPATE_EXPORT bool syncopate_sync_with_stdio(bool together) {
  static auto* const real =
      reinterpret_cast<bool (*)(bool)>(dlsym(RTLD_NEXT, "_ZNSt8ios_base15sync_with_stdioEb"));
  if (all == nullptr || !by_program(SYNCOPATE_CALLER)) return real(together);
  const bool before = !apart;
  if (!together) apart = true;  // (there is no way back)
  return before;
}
