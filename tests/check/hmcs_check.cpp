// hmcs_check.cpp -- hmcs_lock where its first waiters often queue for the root, as few hand-overs
// stay within a half: none, or one. lock_check.cpp explores the lock as it is, which with so few
// threads never gives the root away while one of the same half waits.
#include <syncopate/locks/hmcs_lock.h>
#include <syncopate/wait/spin.h>

#include "lock_scenarios.h"

namespace {

struct never_stays : syncopate::waits::spin {};
struct stays_once : syncopate::waits::spin {};

}  // namespace

template <>
inline constexpr std::uint32_t syncopate::hmcs_max_local<never_stays> = 0;
template <>
inline constexpr std::uint32_t syncopate::hmcs_max_local<stays_once> = 1;

namespace {

using passing = syncopate::hmcs_lock<never_stays>;
using staying = syncopate::hmcs_lock<stays_once>;

constexpr check::scenario scenarios[] = {
    {"never_stays_two_threads", check::two_threads<passing>},
    {"never_stays_three_threads", check::three_threads<passing>},
    {"never_stays_destroyed", check::destroy_after_unlock<passing>},
    {"never_stays_invariants", check::invariants<passing>},
    {"stays_once_two_threads", check::two_threads<staying>},
    {"stays_once_three_threads", check::three_threads<staying>},
};

}  // namespace

int main(int argc, char** argv) { return check::main(argc, argv, scenarios); }
