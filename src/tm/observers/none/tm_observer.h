// tm_observer.h -- nobody watches: nothing is kept, and every call is empty. What the calls
// mean is said in observers/record/tm_observer.h; which of the two is compiled in, the include path
// decides.
#pragma once

#include <syncopate/machine.h>

#include "tm/logs/memory.h"

namespace syncopate::tm {

struct registers;
struct transaction;
enum class cause : unsigned char;

namespace observer {

inline constexpr bool watches = false;

struct notes {};

inline void began(transaction*, const registers&) noexcept {}
inline void attempts(transaction*) noexcept {}
inline void commits(transaction*) noexcept {}
template <class Count>
inline void commits_with(transaction*, Count) noexcept {}
inline void committed(transaction*) noexcept {}
inline void aborted(transaction*, cause) noexcept {}
inline void left_hardware(transaction*, machine::htm::status) noexcept {}
inline void canceled(transaction*) noexcept {}
inline void calls_unsafe(transaction*, const void*, const void*) noexcept {}
inline void publishes(transaction*) noexcept {}

inline void wants(const transaction*, address) noexcept {}
inline bool reads(const transaction*, address) noexcept { return true; }
inline void loses(const transaction*, address, const transaction*) noexcept {}
inline void loses_wanted(const transaction*, const transaction*) noexcept {}
inline void loses_read(const transaction*, std::size_t, const transaction*) noexcept {}
inline void thread_ended(transaction*) noexcept {}

}  // namespace observer
}  // namespace syncopate::tm
