#include <algorithm>

#include "every_lock.h"

namespace conformance {
namespace {

using made = std::unique_ptr<lockable>;

template <class Lock>
made make() {
  return std::make_unique<lockable_as<Lock>>(std::make_shared<Lock>());
}

template <class Lock>
made make_of_zeros() {
  const auto zeros = std::make_shared<zeroed<Lock>>();
  return std::make_unique<lockable_as<Lock>>(std::shared_ptr<Lock>(zeros, &**zeros));
}

template <class Lock>
std::vector<made> make_neighbors() {
  struct three {
    Lock locks[3];
  };
  const auto all = std::make_shared<three>();
  std::vector<made> result;
  for (Lock& lock : all->locks)
    result.push_back(std::make_unique<lockable_as<Lock>>(std::shared_ptr<Lock>(all, &lock)));
  return result;
}

template <class Lock>
bool starts_as_zeros() {
  static_assert(std::is_trivially_destructible_v<Lock>);
  alignas(Lock) std::byte bytes[sizeof(Lock)]{};
  ::new (static_cast<void*>(bytes)) Lock;
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

const std::vector<lock_kind>& every_kind() {
  static const std::vector<lock_kind> kinds = [] {
    std::vector<lock_kind> all;
    syncopate::for_each_lock([&]<class Lock>(const syncopate::lock_entry<Lock>& entry) {
      all.push_back({suite_of(entry), Lock::traits.excludes, sleeps<Lock>, &make<Lock>,
                     &make_of_zeros<Lock>, &make_neighbors<Lock>, &starts_as_zeros<Lock>,
                     [](int threads) { return operations_for<Lock>(threads); }});
    });
    return all;
  }();
  return kinds;
}

}  // namespace conformance
