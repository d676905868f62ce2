// lock_until() of the locks whose waiters can give up.
#include "every_lock.h"

namespace {

using namespace conformance;

[[maybe_unused]] const int registered[] = {
    for_every_lock("TimesOutNotEarly", timed,
                   []<class Lock>() {
                     Lock lock;
                     lock.lock();
                     on_threads(1, [&](int) {
                       for (const clockid_t clock : both_clocks) {
                         const machine::deadline until = in(20 * millisecond, clock);
                         EXPECT_FALSE(lock.lock_until(until));
                         EXPECT_LE(machine::remaining(until), 0);
                       }
                     });
                     EXPECT_FALSE(lock.try_lock());
                     lock.unlock();
                     EXPECT_TRUE(lock.try_lock());
                     lock.unlock();
                   }),

    for_every_lock("ADeadlineInThePast", timed,
                   []<class Lock>() {
                     Lock lock;
                     for (const clockid_t clock : both_clocks) {
                       for (const machine::deadline past :
                            {in(-1'000 * millisecond, clock), machine::deadline{{0, 0}, clock}}) {
                         EXPECT_TRUE(lock.lock_until(past));  // what is free is taken
                         on_threads(1, [&](int) { EXPECT_FALSE(lock.lock_until(past)); });
                         lock.unlock();
                       }
                     }
                   }),

    for_every_lock("AcquiresWhenReleasedInTime", timed,
                   []<class Lock>() {
                     Lock lock;
                     for (const clockid_t clock : both_clocks) {
                       lock.lock();
                       bool acquired = false;
                       observed_thread waiter([&] {
                         acquired = lock.lock_until(in(60'000 * millisecond, clock));
                         if (acquired) lock.unlock();
                       });
                       waiter.await_sleep();
                       lock.unlock();
                       waiter.join();
                       EXPECT_TRUE(acquired);
                     }
                   }),

    // A sleeper that gives up must pass on the wake-up it may have consumed.
    for_every_lock("GivingUpLosesNoWakeUp", timed,
                   []<class Lock>() {
                     const std::uint32_t seed = test_seed();
                     Lock lock;
                     const auto acquire = [](Lock& l, random_source& random) {
                       if (below(random, 4) == 0) return l.lock(), true;
                       const clockid_t clock = both_clocks[below(random, 2)];
                       return l.lock_until(in(below(random, 400'000), clock));
                     };
                     const load how{
                         .threads = 6, .operations = 3000 / sanitizer_divisor, .seed = seed};
                     const auto lost = [] { std::abort(); };
                     EXPECT_EQ(check_with<plain_data>(lock, how, acquire, lost), verdict::holds);
                     EXPECT_TRUE(lock.try_lock());
                     lock.unlock();
                   }),

    // The same with sections so long that most deadlines pass while the lock is held.
    for_every_lock("TimeOutsUnderLongSections", timed,
                   []<class Lock>() {
                     const std::uint32_t seed = test_seed();
                     Lock lock;
                     std::atomic<int> timed_out{0};
                     const auto acquire = [&timed_out](Lock& l, random_source& random) {
                       if (!l.lock_until(in(below(random, 4'000'000))))
                         return timed_out.fetch_add(1), false;
                       const timespec nap{0, below(random, 1'500'000)};
                       ::nanosleep(&nap, nullptr);
                       return true;
                     };
                     const load how{.threads = 6, .operations = 100, .seed = seed};
                     const auto lost = [] { std::abort(); };
                     EXPECT_EQ(check_with<plain_data>(lock, how, acquire, lost), verdict::holds);
                     EXPECT_GT(timed_out.load(), 0);
                     EXPECT_TRUE(lock.try_lock());
                     lock.unlock();
                   }),
};

}  // namespace
