// barriers_bench.cpp -- barriers beside std::barrier and pthread_barrier, interleaved: each round
// runs each of them once, starting with the next one; medians over rounds. Processor time (user and
// system) stands beside the time that passed, since waiting may be cheap in one and not in the
// other.
//
// Usage: barriers_bench [--threads N] [--episodes N] [--rounds N] [--late MICROSECONDS]
//                       [--pin] [--burn] [NAME[:WAIT] | std | pthread]...
//   --late   thread 0 comes that much later to each episode (it sleeps meanwhile)
//   --pin    thread i on processor i modulo their number
//   --burn   a foreign busy process runs beside it
// Prints one line per barrier: nanoseconds per episode, processors kept busy.
#include <syncopate/barriers/all.h>
#include <syncopate/machine.h>

#include <algorithm>
#include <barrier>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace machine = syncopate::machine;

struct settings {
  unsigned threads = 2, episodes = 20'000, rounds = 5;
  long late = 0;  // microseconds
  bool pin = false, burn = false;
};

struct cost {
  double nanoseconds = 0;  // per episode
  double processors = 0;   // processor time per time that passed
};

struct contestant {
  std::string name;
  std::function<cost(const settings&)> run;
  std::vector<cost> costs = {};
};

double processor_seconds() {
  rusage used;
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void pin_to(unsigned processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  (void)::sched_setaffinity(0, sizeof one, &one);
}

cost measure(const settings& s, const std::function<void(unsigned)>& arrive_and_wait) {
  const double busy_before = processor_seconds();
  const std::uint64_t start = machine::now();
  {
    std::vector<std::jthread> threads;
    for (unsigned me = 0; me < s.threads; ++me) {
      threads.emplace_back([&, me] {
        if (s.pin) pin_to(me % machine::processors());
        const timespec delay{0, s.late * 1000};
        for (unsigned episode = 0; episode < s.episodes; ++episode) {
          if (s.late != 0 && me == 0) ::nanosleep(&delay, nullptr);
          arrive_and_wait(me);
        }
      });
    }
  }
  const auto passed = static_cast<double>(machine::now() - start);
  return {passed / s.episodes, (processor_seconds() - busy_before) / (passed * 1e-9)};
}

cost run_std(const settings& s) {
  std::barrier<> barrier(static_cast<std::ptrdiff_t>(s.threads));
  return measure(s, [&](unsigned) { barrier.arrive_and_wait(); });
}

cost run_pthread(const settings& s) {
  pthread_barrier_t barrier;
  ::pthread_barrier_init(&barrier, nullptr, s.threads);
  const cost result = measure(s, [&](unsigned) { ::pthread_barrier_wait(&barrier); });
  ::pthread_barrier_destroy(&barrier);
  return result;
}

bool add(std::vector<contestant>& all, const std::string& name) {
  if (name == "std") return all.push_back({name, run_std}), true;
  if (name == "pthread") return all.push_back({name, run_pthread}), true;
  bool found = false;
  syncopate::for_each_barrier([&]<class Barrier>(const syncopate::barrier_entry<Barrier>& e) {
    const std::string plain(e.name), full = plain + ":" + std::string(e.wait);
    if (found || (name != full && !(e.is_default && name == plain))) return;
    found = true;
    all.push_back({name, [](const settings& s) {
                     Barrier barrier(s.threads);
                     return measure(s, [&](unsigned me) { barrier.arrive_and_wait(me); });
                   }});
  });
  return found;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// A process that is no thread of ours and wants a processor all the time; ends with us.
pid_t start_burner() {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) machine::relax();
}

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "barriers_bench: %s\n", why.c_str());
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  std::vector<contestant> all;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&] {
      if (i + 1 >= argc) refuse(word + " needs a number");
      return std::strtoul(argv[++i], nullptr, 10);
    };
    if (word == "--threads") s.threads = static_cast<unsigned>(number());
    else if (word == "--episodes") s.episodes = static_cast<unsigned>(number());
    else if (word == "--rounds") s.rounds = static_cast<unsigned>(number());
    else if (word == "--late") s.late = static_cast<long>(number());
    else if (word == "--pin") s.pin = true;
    else if (word == "--burn") s.burn = true;
    else if (!add(all, word)) refuse("no barrier is called '" + word + "'");
  }
  if (s.threads == 0 || s.episodes == 0 || s.rounds == 0 || s.late > 999'999)
    refuse("numbers must be positive, --late below 1000000");
  if (all.empty())
    for (const char* name : {"auto", "central:adaptive", "std", "pthread"}) (void)add(all, name);

  machine::measure_wake_latency();
  const pid_t burner = s.burn ? start_burner() : 0;
  for (unsigned round = 0; round < s.rounds; ++round)
    for (std::size_t i = 0; i < all.size(); ++i) {
      contestant& c = all[(i + round) % all.size()];
      c.costs.push_back(c.run(s));
    }
  if (burner > 0) {
    ::kill(burner, SIGKILL);
    ::waitpid(burner, nullptr, 0);
  }
  for (const contestant& c : all) {
    std::vector<double> nanoseconds, processors;
    for (const cost& each : c.costs) {
      nanoseconds.push_back(each.nanoseconds);
      processors.push_back(each.processors);
    }
    std::printf("%-28s %10.0f ns per episode (%.0f to %.0f)  %5.3f processors busy\n",
                c.name.c_str(), median(nanoseconds), std::ranges::min(nanoseconds),
                std::ranges::max(nanoseconds), median(processors));
  }
  return 0;
}
