// barrier_check.cpp -- every barrier of barriers/all.h under every interleaving: what is done
// before a wait is seen after it, in both directions, and the next episode may begin at once.
// Usage: barrier_check NAME_barrier[:WAIT] SCENARIO; without arguments lists the pairs.
#include <syncopate/barriers/all.h>

#include <atomic>
#include <string>
#include <type_traits>

#include "check.h"

namespace {

constexpr unsigned most = 3;

template <class Barrier>
struct shared {
  explicit shared(unsigned count) : barrier(count), count(count), inside(count) {}
  Barrier barrier;
  const unsigned count;
  int slots[most]{};             // each written by one participant, read by the others
  std::atomic<unsigned> inside;  // who has still to leave
};

// Two episodes: what all wrote before the first is read after it, and may be written again after
// the second.
template <class Barrier>
void two_phases(shared<Barrier>& s, unsigned participant) {
  s.slots[participant] = 1;
  s.barrier.arrive_and_wait(participant);
  for (unsigned other = 0; other < s.count; ++other) assert(s.slots[other] == 1);
  s.barrier.arrive_and_wait(participant);
  s.slots[participant] = 2;
}

template <class Barrier>
void two() {
  auto* const s = new shared<Barrier>(2);
  auto a = [s] { two_phases(*s, 0); };
  auto b = [s] { two_phases(*s, 1); };
  check::together(a, b);
  s->barrier.check_invariants();
  delete s;
}

template <class Barrier>
void three() {
  auto* const s = new shared<Barrier>(3);
  auto a = [s] { two_phases(*s, 0); };
  auto b = [s] { two_phases(*s, 1); };
  auto c = [s] { two_phases(*s, 2); };
  check::together(a, b, c);
  s->barrier.check_invariants();
  delete s;
}

// One participant never blocks, whatever the episode.
template <class Barrier>
void alone() {
  auto* const s = new shared<Barrier>(1);
  two_phases(*s, 0);
  s->barrier.check_invariants();
  delete s;
}

// Whoever leaves last frees the barrier, at once: no wait may touch it after it has returned.
template <class Barrier>
void destroy_after_wait() {
  auto* const s = new shared<Barrier>(2);
  const auto leave = [s](unsigned participant) {
    s->barrier.arrive_and_wait(participant);
    if (s->inside.fetch_sub(1, std::memory_order_acq_rel) == 1) delete s;
  };
  auto a = [leave] { leave(0); };
  auto b = [leave] { leave(1); };
  check::together(a, b);
}

// One of two leaves at its first arrival; the other goes on alone.
template <class Barrier>
void drop() {
  if constexpr (Barrier::traits.drop) {
    auto* const s = new shared<Barrier>(2);
    auto leaver = [s] {
      s->slots[1] = 1;
      s->barrier.arrive_and_drop(1);
    };
    auto stayer = [s] {
      s->barrier.arrive_and_wait(0);
      assert(s->slots[1] == 1);
      s->barrier.arrive_and_wait(0);
    };
    check::together(leaver, stayer);
    s->barrier.check_invariants();
    delete s;
  }
}

// Arriving and waiting as two steps.
template <class Barrier>
void split() {
  if constexpr (Barrier::traits.split) {
    auto* const s = new shared<Barrier>(2);
    const auto phase = [s](unsigned participant) {
      s->slots[participant] = 1;
      auto token = s->barrier.arrive(participant);
      s->barrier.wait(token, participant);
      assert(s->slots[1 - participant] == 1);
    };
    auto a = [phase] { phase(0); };
    auto b = [phase] { phase(1); };
    check::together(a, b);
    s->barrier.check_invariants();
    delete s;
  }
}

// The invariants of a barrier, when all have arrived: by its completion.
template <template <class, class> class Barrier, class Wait, class Completion>
requires requires(const Barrier<Wait, Completion>& b) { b.check_invariants(); }
void look_at_invariants(std::type_identity<Barrier<Wait, Completion>>) {
  struct looks {
    Barrier<Wait, looks>** at;
    void operator()() const noexcept { (*at)->check_invariants(); }
  };
  Barrier<Wait, looks>* barrier = nullptr;
  barrier = new Barrier<Wait, looks>(2, looks{&barrier});
  auto stays = [barrier] {
    for (int i = 0; i < 2; ++i) barrier->arrive_and_wait(0);
  };
  auto leaves = [barrier] {
    barrier->arrive_and_wait(1);
    barrier->arrive_and_drop(1);
  };
  check::together(stays, leaves);
  delete barrier;
}
void look_at_invariants(...) {}
template <class Barrier>
void invariants() {
  look_at_invariants(std::type_identity<Barrier>{});
}

template <class Barrier>
inline constexpr check::scenario scenarios[] = {
    {"two", two<Barrier>},
    {"three", three<Barrier>},
    {"alone", alone<Barrier>},
    {"destroy_after_wait", destroy_after_wait<Barrier>},
    {"drop", drop<Barrier>},
    {"split", split<Barrier>},
    {"invariants", invariants<Barrier>},
};

// Locks have some of these names, too.
constexpr std::string_view suffix = "_barrier";

template <class Entry>
bool is_called(const Entry& entry, std::string_view text) {
  if (!text.starts_with(entry.name)) return false;
  text.remove_prefix(entry.name.size());
  if (!text.starts_with(suffix)) return false;
  text.remove_prefix(suffix.size());
  if (text.empty()) return entry.is_default || entry.wait.empty();
  return text[0] == ':' && text.substr(1) == entry.wait;
}

}  // namespace

int main(int argc, char** argv) {
  void (*chosen)() = nullptr;
  const std::string_view barrier = argc < 3 ? "" : argv[1], scenario = argc < 3 ? "" : argv[2];
  syncopate::for_each_barrier([&]<class Entry>(const Entry& entry) {
    // Every execution comes here, and what it reads is watched.
    if (argc >= 3 && !is_called(entry, barrier)) return;
    for (const check::scenario& s : scenarios<typename Entry::type>) {
      if (argc < 3)
        std::printf("%.*s%s%s%.*s %.*s\n", static_cast<int>(entry.name.size()), entry.name.data(),
                    suffix.data(), entry.wait.empty() ? "" : ":",
                    static_cast<int>(entry.wait.size()), entry.wait.data(),
                    static_cast<int>(s.name.size()), s.name.data());
      else if (s.name == scenario) chosen = s.run;
    }
  });
  if (argc < 3) return 0;
  if (chosen == nullptr) {
    std::fprintf(stderr, "barrier_check: no barrier and scenario called '%s %s'\n", argv[1],
                 argv[2]);
    return 2;
  }
  chosen();
  return 0;
}
