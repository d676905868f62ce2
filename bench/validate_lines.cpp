// validate_lines.cpp -- what lines cost on a modeled machine, by who has them and how: what
// bench/validate.py asks, which compares the answers with what was published for real machines.
//
//   validate_lines line STATE OPERATION MINE OTHER THIRD
//       cycles that the thread on processor MINE takes for one operation, load, store or atomic
//       (a compare-exchange), on a line that is `modified` by the one on OTHER, or `shared`:
//       written by OTHER, then read by THIRD
//   validate_lines pingpong ONE OTHER
//       nanoseconds from one to the other when two processors hand a flag to and fro, each by
//       compare-exchanges until one holds
//
// One number on standard output.
#include <syncopate/machine.h>

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr unsigned lines = 64;

struct alignas(256) padded {
  std::atomic<std::uint64_t> word{0};
};
padded all[lines];

[[noreturn]] void refuse(const char* what) {
  std::fprintf(stderr, "validate_lines: %s\n", what);
  std::exit(2);
}

template <class Work>
void on_processor(unsigned processor, Work work) {
  std::thread([&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) refuse("no such processor");
    work();
  }).join();
}

enum class action { load, store, atomic };

action action_of(const std::string& what) {
  if (what == "load") return action::load;
  return what == "store" ? action::store : action::atomic;
}

// Touches no other memory: that would be part of the cost.
void operate(action what, std::atomic<std::uint64_t>& word) {
  std::uint64_t expected = 1;
  switch (what) {
    case action::load: word.load(std::memory_order_relaxed); break;
    case action::store: word.exchange(2, std::memory_order_relaxed); break;
    case action::atomic: word.compare_exchange_strong(expected, 2, std::memory_order_relaxed);
  }
}

double line_cycles(const std::string& state, const std::string& operation, unsigned mine,
                   unsigned other, unsigned third) {
  on_processor(other, [] {
    for (padded& each : all) each.word.store(1, std::memory_order_seq_cst);
  });
  if (state == "shared")
    on_processor(third, [] {
      for (padded& each : all) each.word.load(std::memory_order_relaxed);
    });
  std::uint64_t took = 0, looking = 0;
  const action what = action_of(operation);
  on_processor(mine, [&, what] {
    for (padded& each : all) {
      const std::uint64_t began = syncopate::machine::ticks();
      operate(what, each.word);
      const std::uint64_t ended = syncopate::machine::ticks();
      took += ended - began;
      looking += syncopate::machine::ticks() - ended;  // what the clock itself takes
    }
  });
  return (static_cast<double>(took) - static_cast<double>(looking)) / lines;
}

double pingpong(unsigned one, unsigned other) {
  constexpr std::uint64_t turns = 200;
  std::atomic<std::uint64_t>& flag = all[0].word;
  const auto hand_over = [&flag](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t turn = 0; turn < turns;) {
      std::uint64_t expected = from;
      turn += flag.compare_exchange_strong(expected, to, std::memory_order_relaxed);
    }
  };
  std::thread partner([&] { on_processor(other, [&] { hand_over(0, 1); }); });
  std::uint64_t took = 0;
  on_processor(one, [&] {
    const std::uint64_t began = syncopate::machine::now();
    hand_over(1, 0);
    took = syncopate::machine::now() - began;
  });
  partner.join();
  return static_cast<double>(took) / (2 * turns);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t at) {
    return static_cast<unsigned>(std::strtoul(words[at].c_str(), nullptr, 10));
  };
  if (words.size() == 6 && words[0] == "line")
    std::printf("%.1f\n", line_cycles(words[1], words[2], number(3), number(4), number(5)));
  else if (words.size() == 3 && words[0] == "pingpong")
    std::printf("%.1f\n", pingpong(number(1), number(2)));
  else refuse("line STATE OPERATION MINE OTHER THIRD, or pingpong ONE OTHER");
  return 0;
}
