// call_with_words.h -- a call with as many arguments as are known only when it is made.
#pragma once

#include <cstddef>

namespace syncopate::openmp {

// So many are passed in registers at most, and a call has at least as many.
inline constexpr std::size_t fewest_words = 8;

// Calls a function of C whose parameters are pointers, or integers in the low half of a word, and
// whose result does not matter, with `words` as its arguments. The stack grows by as many words,
// one after the other: where there is no room the thread ends at its guard page.
extern "C" [[gnu::visibility("hidden")]] void syncopate_call_with_words(void (*function)(),
                                                                        void* const* words,
                                                                        std::size_t count);

}  // namespace syncopate::openmp
