// known_use.cpp -- for the simulated machine: threads that work, take a lock, hold it, release it,
// by drawn lengths; how fast, and what a perfect record would say of it (bench/whatif_exact.py).
//
//   known_use [NAME VALUE]...     names and what holds without them: `settings`
//
//   length   sections do so much percent of their work; the rest is gone
//   second   after each section, one of so many ns under another lock, common to all threads
//   rest     in so many of a thousand cases a thread sleeps rest-ns after a section
//   first    the first thread works so much percent of `outside`, the others all of it
//   skew     so much percent of the sections take the first lock, the others any
//   linked   1: the work after a section is as long as the section was
//   nested   1: sections also hold the second lock, taken first
//   asleep   threads sleep through so much percent of the sections, instead of working
//   runs     ... but so much percent of each of these they work first
//   queue    1: odd threads take what the even ones have put, and wait for it at a condition
// Prints a line of JSON: sections a second; as how many evenly used locks they meet; for each
// thread mean work between sections in ns, how often it was in another wait, and how long.
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "../random_lengths.h"

extern "C" void syncopate_work(std::uint64_t cycles);

namespace {

struct settings {
  double threads = 4, inside = 1000, outside = 3000, length = 100, locks = 1, second = 0, rest = 0,
         rest_ns = 5e4, first = 100, skew = 0, linked = 0, nested = 0, queue = 0, asleep = 0,
         runs = 0, uniform = 0, fixed = 0, two = 0, milliseconds = 20, ghz = 3;
};
settings o;

const std::map<std::string, double settings::*> names{{"threads", &settings::threads},
                                                      {"inside", &settings::inside},
                                                      {"outside", &settings::outside},
                                                      {"length", &settings::length},
                                                      {"locks", &settings::locks},
                                                      {"second", &settings::second},
                                                      {"rest", &settings::rest},
                                                      {"rest-ns", &settings::rest_ns},
                                                      {"first", &settings::first},
                                                      {"skew", &settings::skew},
                                                      {"linked", &settings::linked},
                                                      {"nested", &settings::nested},
                                                      {"queue", &settings::queue},
                                                      {"asleep", &settings::asleep},
                                                      {"runs", &settings::runs},
                                                      {"uniform", &settings::uniform},
                                                      {"fixed", &settings::fixed},
                                                      {"two", &settings::two},
                                                      {"milliseconds", &settings::milliseconds},
                                                      {"ghz", &settings::ghz}};

constexpr std::uint64_t second_ns = 1'000'000'000, a_wait_ns = 200;

std::uint64_t now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * second_ns + static_cast<std::uint64_t>(t.tv_nsec);
}

double draw(random_numbers& random, double mean) {
  spread how = spread::exponential;
  if (o.fixed != 0) how = spread::fixed;
  else if (o.uniform != 0) how = spread::uniform;
  else if (o.two != 0) how = spread::two;
  return draw(random, mean, how);
}

void work(double ns) {
  if (ns >= 1) syncopate_work(static_cast<std::uint64_t>(ns * o.ghz));
}

struct alignas(128) shared_lock {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  std::uint64_t items = 0, sections = 0;
};

struct alignas(128) worker {
  std::size_t number = 0;
  std::uint64_t sections = 0, aways = 0, away = 0;
  double outside = 0;

  void was_away(std::uint64_t since) {
    ++aways;
    away += now() - since;
  }
};

std::vector<shared_lock> locks;
shared_lock second;
std::uint64_t end;

void put_or_take(shared_lock& from, worker& me) {
  if (me.number % 2 == 0) {
    ++from.items;
    pthread_cond_signal(&from.changed);
    return;
  }
  const std::uint64_t began = now();
  while (from.items == 0 && now() < end) {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    ++until.tv_sec;  // longer than all the run: whoever put last wakes all
    pthread_cond_timedwait(&from.changed, &from.lock, &until);
  }
  if (now() - began > a_wait_ns) me.was_away(began);
  if (from.items != 0) --from.items;
}

void sleep(double ns) {
  work(ns * o.runs / 100);
  const double left = ns * (1 - o.runs / 100);
  if (left >= 1000) usleep(static_cast<useconds_t>(left / 1000));
}

void section(shared_lock& of, double ns, bool sleeps, worker& me) {
  const bool nested = o.nested != 0;
  if (nested) pthread_mutex_lock(&second.lock);
  pthread_mutex_lock(&of.lock);
  ++of.sections;
  ++me.sections;
  (sleeps ? sleep : work)(ns * o.length / 100);
  if (o.queue != 0) put_or_take(of, me);
  pthread_mutex_unlock(&of.lock);
  if (nested) pthread_mutex_unlock(&second.lock);
}

void take_second(worker& me) {
  const std::uint64_t began = now();
  pthread_mutex_lock(&second.lock);
  if (now() - began > a_wait_ns) me.was_away(began);
  work(o.second);
  pthread_mutex_unlock(&second.lock);
  me.outside += o.second;
}

void* run(void* argument) {
  worker& me = *static_cast<worker*>(argument);
  random_numbers random{0x9e3779b97f4a7c15u * (me.number + 1)};
  const double mean = o.outside * (me.number == 0 ? o.first / 100 : 1);
  while (now() < end) {
    const bool first = 100 * random.fraction() < o.skew;
    const double inside = draw(random, o.inside);
    const bool sleeps = o.asleep != 0 && 100 * random.fraction() < o.asleep;
    section(locks[first ? 0 : random.next() % locks.size()], inside, sleeps, me);
    if (o.second != 0) take_second(me);
    const double outside = o.linked != 0 ? inside * o.outside / o.inside : draw(random, mean);
    work(outside);
    me.outside += outside;
    if (1000 * random.fraction() >= o.rest) continue;
    const std::uint64_t began = now();
    usleep(static_cast<useconds_t>(o.rest_ns / 1000));
    me.was_away(began);
  }
  for (shared_lock& each : locks) {
    pthread_mutex_lock(&each.lock);
    pthread_cond_broadcast(&each.changed);
    pthread_mutex_unlock(&each.lock);
  }
  return nullptr;
}

int report(const std::vector<worker>& workers, double seconds) {
  double sections = 0, counted = 0, squares = 0;
  for (const worker& each : workers) sections += static_cast<double>(each.sections);
  for (const shared_lock& each : locks) {
    const auto taken = static_cast<double>(each.sections);
    counted += taken;
    squares += taken * taken;
  }
  if (sections != counted) {
    std::fprintf(stderr, "known_use: two threads were in a section at once\n");
    return 1;
  }
  std::printf("{\"rate\": %.1f, \"members\": %.3f, \"threads\": [", sections / seconds,
              sections * sections / squares);
  for (const worker& each : workers) {
    const auto turns = static_cast<double>(each.sections), aways = static_cast<double>(each.aways);
    std::printf("%s[%.1f, %.6f, %.1f]", each.number != 0 ? ", " : "", each.outside / turns,
                aways / turns, aways != 0 ? static_cast<double>(each.away) / aways : 0.0);
  }
  std::printf("]}\n");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  for (int i = 1; i + 1 < count; i += 2) {
    const auto setting = names.find(words[i]);
    if (setting == names.end()) {
      std::fprintf(stderr, "known_use: nothing is called %s\n", words[i]);
      return 2;
    }
    o.*setting->second = std::stod(words[i + 1]);
  }
  locks = std::vector<shared_lock>(static_cast<std::size_t>(o.locks));
  std::vector<worker> workers(static_cast<std::size_t>(o.threads));
  std::vector<pthread_t> threads(workers.size());
  const std::uint64_t began = now();
  end = began + static_cast<std::uint64_t>(o.milliseconds * 1e6);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    workers[i].number = i;
    if (pthread_create(&threads[i], nullptr, run, &workers[i]) != 0) return 1;
  }
  for (const pthread_t each : threads) pthread_join(each, nullptr);
  return report(workers, static_cast<double>(now() - began) / 1e9);
}
