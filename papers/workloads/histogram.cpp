// histogram.cpp -- threads count the values of an image into one shared histogram.
//
// Source: Yoo, Hughes, Lai & Rajwar, "Performance Evaluation of Intel Transactional Synchronization
// Extensions for High-Performance Computing", SC 2013, sections 5.1, 5.2.2 and 5.4, listing 3,
// figure 5a. Written anew from the paper's description. --variant is how updates are synchronized:
//   mutex       a lock (--lock) around each update
//   atomic      one atomic addition each: the paper's baseline
//   privatize   each thread counts into a copy of its own; then the copies are added up
//   elided      one transaction for each update
//   coarsened   one for --granularity updates: listing 3, where that number is TXN_GRAN
//   adaptive    the same, and the number adjusts itself
#include "common.h"
#include "presets.h"
#include "sections.h"

#include <syncopate/barriers/central_barrier.h>
#include <syncopate/elide/coarsen.h>

#include <span>

namespace {
using namespace workloads;
namespace elide = syncopate::elide;

using image = std::vector<std::uint32_t>;  // the bin of each pixel
using histogram = std::vector<std::uint64_t>;
using pixels = std::span<const std::uint32_t>;

image make_image(std::uint64_t size, std::uint64_t bins, std::uint64_t seed) {
  random_numbers random(seed, ~std::uint64_t{0});
  image result(size);
  for (std::uint32_t& bin : result) bin = static_cast<std::uint32_t>(random.below(bins));
  return result;
}

// What all variants have to find.
histogram count_alone(const image& from, std::uint64_t bins) {
  histogram result(bins);
  for (const std::uint32_t bin : from) ++result[bin];
  return result;
}

struct shared_state {
  shared_state(std::uint64_t bin_count, std::uint32_t thread_count, named_lock& plain,
               unsigned updates)
      : bins(bin_count),
        threads(thread_count),
        granularity(updates),
        mutex(plain),
        copies(thread_count),
        all_counted(thread_count) {}

  histogram bins;
  const std::uint32_t threads;
  const unsigned granularity;
  named_lock& mutex;
  alignas(64) elided_lock elided;
  std::vector<histogram> copies;
  syncopate::central_barrier<> all_counted;
};

// One thread's share of the image.
using counter = void (*)(shared_state&, pixels, std::uint32_t thread);

// The counts' address is read once, not at each of the updates that are compared.
template <class Lock>
void count_under(Lock& lock, histogram& counts, pixels mine) {
  std::uint64_t* const bins = counts.data();
  for (const std::uint32_t bin : mine) {
    lock.lock();
    ++bins[bin];
    lock.unlock();
  }
}

void count_atomically(shared_state& s, pixels mine, std::uint32_t) {
  std::uint64_t* const bins = s.bins.data();
  for (const std::uint32_t bin : mine)
    std::atomic_ref(bins[bin]).fetch_add(1, std::memory_order_relaxed);
}

// The threads share out the bins for the second part.
void count_privately(shared_state& s, pixels mine, std::uint32_t thread) {
  const std::uint64_t bins = s.bins.size();
  histogram& copy = s.copies[thread];
  copy.assign(bins, 0);
  std::uint64_t* const counts = copy.data();
  for (const std::uint32_t bin : mine) ++counts[bin];
  s.all_counted.arrive_and_wait();
  const std::uint64_t first = bins * thread / s.threads, last = bins * (thread + 1) / s.threads;
  for (const histogram& each : s.copies)
    for (std::uint64_t bin = first; bin < last; ++bin) s.bins[bin] += each[bin];
}

// Size is a number of updates, or a granularity that adjusts itself.
template <class Size>
void count_in_batches(shared_state& s, pixels mine, Size& size) {
  std::uint64_t* const bins = s.bins.data();
  elide::coarsener batch(s.elided, size);
  for (const std::uint32_t bin : mine) batch([&] { ++bins[bin]; });
}

counter find_counter(std::string_view variant) {
  using thread = std::uint32_t;
  if (variant == "mutex")
    return [](shared_state& s, pixels p, thread) { count_under(s.mutex, s.bins, p); };
  if (variant == "atomic") return count_atomically;
  if (variant == "privatize") return count_privately;
  if (variant == "elided")
    return [](shared_state& s, pixels p, thread) { count_under(s.elided, s.bins, p); };
  if (variant == "coarsened")
    return [](shared_state& s, pixels p, thread) {
      const unsigned size = s.granularity;
      count_in_batches(s, p, size);
    };
  if (variant == "adaptive")
    return [](shared_state& s, pixels p, thread) {
      elide::granularity size;
      count_in_batches(s, p, size);
    };
  return nullptr;
}
}  // namespace

int main(int argc, char** argv) {
  const sized counts{"pixels", "of the image", {20'000, 1'000'000, 20'000'000, 100'000'000}};
  const options o(argc, argv, "Threads count the values of an image into one histogram.",
                  {{"variant", "atomic", "mutex, atomic, privatize, elided, coarsened or adaptive"},
                   {"lock", "pthread", "the lock of mutex: of `syncopate list`, or pthread"},
                   {"granularity", "8", "updates in one transaction of coarsened"},
                   threads_option,
                   tiny_preset_option(),
                   counts.as_option(),
                   {"bins", "4096", "of the histogram (8 bytes each)"},
                   pin_option,
                   seed_option});
  const counter count = find_counter(o.text("variant"));
  if (count == nullptr) o.refuse("no variant is called '" + o.text("variant") + "'");
  const auto threads = static_cast<std::uint32_t>(o.number("threads", 1));
  const std::uint64_t bins = o.number("bins", 1);
  const auto granularity = static_cast<unsigned>(o.number("granularity", 1));
  const image from = make_image(o.number("pixels", 1), bins, o.number("seed"));
  const auto mutex = make_lock(o);
  shared_state state(bins, threads, *mutex, granularity);

  const outcome result = run_threads(o, [&](std::uint32_t me) {
    const std::uint64_t first = from.size() * me / threads, last = from.size() * (me + 1) / threads;
    count(state, pixels(from).subspan(first, last - first), me);
    return last - first;
  });
  return report("histogram", o, result, state.bins == count_alone(from, bins),
                member("variant", o.text("variant")) + member("lock", o.text("lock")) +
                    member("granularity", granularity) + member("bins", bins));
}
