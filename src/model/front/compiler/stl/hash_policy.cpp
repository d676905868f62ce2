// hash_policy.cpp -- the part of std::unordered_map and its like that libstdc++ has compiled in
// its library, where no machine would see it, instrumented: how many buckets a table gets. Numbers
// are the library's, so that tables iterate in the order that they have natively.
#include <unordered_map>

#include <algorithm>
#include <cmath>

#define EXPORT __attribute__((visibility("default")))

namespace std::__detail {

extern const unsigned long __prime_list[];  // libstdc++'s; ascending

namespace {

constexpr size_t primes = 304;  // and one more number, the largest of all
constexpr size_t buckets_for_few[] = {1, 2, 2, 3, 5, 5, 7, 7, 11, 11, 11, 11, 13, 13};
constexpr double least_elements = 11;  // of a table's first buckets

size_t rounded_down(double number) { return static_cast<size_t>(std::floor(number)); }

}  // namespace

// A number of buckets not below `wanted`; from then on _M_next_resize elements need more.
EXPORT size_t _Prime_rehash_policy::_M_next_bkt(const size_t wanted) const {
  const double load = _M_max_load_factor;
  if (wanted < std::size(buckets_for_few)) {
    const size_t buckets = buckets_for_few[wanted];
    if (wanted != 0) _M_next_resize = rounded_down(static_cast<double>(buckets) * load);
    return buckets;
  }
  const unsigned long* const last = __prime_list + primes - 1;
  const unsigned long* const found = std::lower_bound(__prime_list, last, wanted);
  _M_next_resize =
      found == last ? static_cast<size_t>(-1) : rounded_down(static_cast<double>(*found) * load);
  return *found;
}

// Whether the table needs other buckets for the elements that are to come, and how many.
EXPORT pair<bool, size_t> _Prime_rehash_policy::_M_need_rehash(const size_t buckets,
                                                               const size_t elements,
                                                               const size_t more) const {
  if (elements + more <= _M_next_resize) return {false, 0};
  const double load = _M_max_load_factor;
  const double wanted =
      std::max(static_cast<double>(elements + more), _M_next_resize != 0 ? 0.0 : least_elements);
  if (wanted / load >= static_cast<double>(buckets)) {
    const size_t least = rounded_down(wanted / load) + 1;
    return {true, _M_next_bkt(std::max(least, buckets * _S_growth_factor))};
  }
  _M_next_resize = rounded_down(static_cast<double>(buckets) * load);
  return {false, 0};
}

}  // namespace std::__detail
