// robust_holds.cpp -- see robust_holds.h.
#include "model/front/pthread/robust_holds.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "model/front/scope.h"

namespace syncopate::instrument {

namespace {

struct hold {
  pthread_mutex_t* mutex;
  unsigned thread;
};

std::vector<hold>& holds() {
  static auto& all = *new std::vector<hold>;
  return all;
}

template <class Which>
pthread_mutex_t* take_latest(Which which) {
  const engine_scope inside;
  auto& all = holds();
  const auto latest = std::find_if(all.rbegin(), all.rend(), which);
  if (latest == all.rend()) return nullptr;
  pthread_mutex_t* const found = latest->mutex;
  all.erase(std::next(latest).base());
  return found;
}

}  // namespace

void note_robust_hold(pthread_mutex_t& m, unsigned thread) {
  const engine_scope inside;
  holds().push_back({&m, thread});
}

void forget_robust_hold(pthread_mutex_t& m) {
  const engine_scope inside;
  std::erase_if(holds(), [&](const hold& h) { return h.mutex == &m; });
}

pthread_mutex_t* take_robust_hold(unsigned thread) {
  return take_latest([&](const hold& h) { return h.thread == thread; });
}

pthread_mutex_t* take_robust_hold() {
  return take_latest([](const hold&) { return true; });
}

void forget_robust_holds() {
  const engine_scope inside;
  holds().clear();
}

}  // namespace syncopate::instrument
