// self_load.cpp -- see self_load.h; what a thread does is loader.h.
#include "self_load.h"

#include <barrier>
#include <chrono>
#include <cstdio>
#include <thread>

#include "loader.h"

namespace workloads::txcache {

namespace {

using loaders = std::vector<std::unique_ptr<loader>>;

void set_shared_numbers(worker* self) {
  for (std::uint64_t n = 0; n < shared_numbers; ++n) {
    const std::string text = shared_key(n);
    (void)store(self, key_of(text), {method::set, 0, 0, 0, "0", 1});
  }
}

// Returns the seconds that both halves took.
double run_threads(const self_load_options& options, loaders& all, worker* self) {
  const std::uint64_t half = options.operations / 2;
  std::barrier half_way(options.threads, [self]() noexcept {
    tick(1000);
    flush(self, 0);
    set_shared_numbers(self);
  });
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (auto& each : all)
    threads.emplace_back([&, one = each.get()] {
      one->run(half, 1);
      half_way.arrive_and_wait();
      one->forget();
      one->run(options.operations - half, 4);
    });
  for (std::thread& t : threads) t.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// A shared number is the sum of what was added to it, unless it had to make room.
bool check_shared(const loaders& all, worker* self) {
  bool right = true;
  for (std::uint64_t n = 0; n < shared_numbers; ++n) {
    std::uint64_t sum = 0, result = 0;
    for (const auto& one : all) sum += one->added(n);
    const std::string text = shared_key(n);
    if (change(self, key_of(text), 0, false, result) != outcome::changed || result == sum) continue;
    std::fprintf(stderr, "txcache: %s is %llu, not %llu\n", text.c_str(),
                 static_cast<unsigned long long>(result), static_cast<unsigned long long>(sum));
    right = false;
  }
  return right;
}

// Returns how many keys are gone that should be there.
std::uint64_t check_own(loaders& all, bool& right) {
  std::uint64_t lost = 0;
  for (const auto& one : all) {
    one->read_all();
    lost += one->lost();
    if (one->error().empty()) continue;
    std::fprintf(stderr, "txcache: %s\n", one->error().c_str());
    right = false;
  }
  return lost;
}

void print_result(const self_load_options& options, double seconds, std::uint64_t lost,
                  bool right) {
  const totals t = current_totals();
  const serialization s = count_serialization();
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "{\"workload\": \"txcache\", \"stage\": \"%s\", \"threads\": %u, "
      "\"operations\": %llu, \"seconds\": %.6f, ",
      stage_name, options.threads, number(options.operations * options.threads), seconds);
  std::printf(
      "\"items\": %llu, \"buckets\": %llu, \"expansions\": %llu, "
      "\"pages_moved\": %llu, \"evictions\": %llu, \"lost\": %llu, ",
      number(t.items), number(t.buckets), number(t.expansions), number(t.pages_moved),
      number(t.evictions), number(lost));
  std::printf(
      "\"transactions\": %llu, \"in_flight_switch\": %llu, \"start_serial\": %llu, "
      "\"abort_serial\": %llu, \"consistent\": %s}\n",
      number(s.transactions), number(s.in_flight_switch), number(s.start_serial),
      number(s.abort_serial), right ? "true" : "false");
}

}  // namespace

bool self_load(const self_load_options& options) {
  worker* const self = add_worker();
  set_shared_numbers(self);
  loaders all;
  for (unsigned i = 0; i < options.threads; ++i)
    all.push_back(std::make_unique<loader>(options, i));
  const double seconds = run_threads(options, all, self);
  bool right = true;
  const std::uint64_t lost = check_own(all, right);
  right = check_shared(all, self) && right;
  stop();
  right = audit() && right;
  if (const totals t = current_totals(); lost != 0 && t.evictions + t.pages_moved == 0) {
    std::fprintf(stderr, "txcache: %llu keys are gone, and nothing had to make room\n",
                 static_cast<unsigned long long>(lost));
    right = false;
  }
  print_result(options, seconds, lost, right);
  return right;
}

}  // namespace workloads::txcache
