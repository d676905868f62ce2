// random_programs.cpp -- random trees of OpenMP constructs, nested in each other as the standard
// allows, which are run and checked: that a barrier lets nobody go before all have come, that tasks
// are done where they have to be, that locks exclude, that all is run as often as written.
//
//     random_programs FIRST COUNT [SECONDS]
//
// runs the programs of these seeds, each in SECONDS at most (headway.h), and prints what each adds
// up, which is the same in every run. It ends with status 1 at the first thing that does not hold,
// with 99 where a program takes too long; the line says which seed's.
//
// Left out is what the runtimes break themselves: libgomp's task reductions and target tasks
// outside of regions (invalid frees), target tasks of LLVM 14, and its tasks of threads of the
// program's own (docs/openmp.md, "Limits").
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "headway.h"

namespace {

constexpr int most_phases = 400;
unsigned long long seed;
std::atomic<long> total{0};

[[noreturn]] void fail(const char* what, long got, long wanted) {
  std::fprintf(stderr, "seed %llu: %s: %ld, not %ld\n", seed, what, got, wanted);
  _exit(1);
}
void check(const char* what, long got, long wanted) {
  if (got != wanted) fail(what, got, wanted);
}

enum kind {
  leaf,
  spin,
  sequence,
  region,
  loop_region,
  sections_region,
  barrier,
  loop,
  sections,
  single,
  copied,
  masked,
  critical,
  atomic_wide,
  lock,
  nest,
  ordered,
  tasks_wait,
  tasks_group,
  tasks_left,
  chain,
  task_loop,
  serial_task,
  cancelled_loop,
  cancelled_group,
  settings,
  target,
  threads,
  thrown,
  doacross,
  kinds
};

struct node {
  kind what = leaf;
  int a = 0, b = 0, c = 0;
  std::vector<node> children;
};

int threads_of(const node& region) {
  static constexpr int numbers[] = {1, 2, 3, 1, 4, 2, 5, 1};
  return numbers[region.a % 8];
}

// ---- Making one ---------------------------------------------------------------------------------

struct maker {
  std::uint64_t state;
  bool in_target = false;
  std::uint64_t next() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  int below(int n) { return static_cast<int>(next() % static_cast<unsigned>(n)); }
};

// Where a node may stand: outside of all regions; in a region, where all its threads come by; in
// what one thread does of it; where no construct may be.
enum place { outside, of_team, of_thread, nowhere };

bool may_stand(kind what, place where) {
  switch (what) {
    case leaf:
    case spin:
    case atomic_wide:
    case lock:
    case nest:
    case thrown: return true;
    case critical:
    case region:
    case loop_region:
    case sections_region:
    case tasks_wait:
    case tasks_group:
    case chain:
    case task_loop:
    case serial_task:
    case cancelled_group:
    case settings:
    case target: return where != nowhere;
    case tasks_left: return where == of_team || where == of_thread;
    case threads: return where == outside;
    case barrier:
    case loop:
    case sections:
    case single:
    case copied:
    case masked:
    case ordered:
    case cancelled_loop:
    case doacross: return where == of_team || where == outside;  // where a thread is alone
    default: return false;
  }
}

node make(maker& m, place where, int depth, int budget);

std::vector<node> make_all(maker& m, place where, int depth, int budget, int most) {
  std::vector<node> made;
  for (int n = 1 + m.below(most); n > 0; --n) made.push_back(make(m, where, depth, budget / most));
  return made;
}

node make(maker& m, place where, int depth, int budget) {
  node n;
  if (depth <= 0 || budget <= 2) {
    static constexpr kind small[] = {leaf, spin,   atomic_wide, lock,
                                     nest, thrown, barrier,     critical};
    do n.what = small[m.below(8)];
    while (!may_stand(n.what, where));
  } else {
    // What much depends on comes more often.
    static constexpr kind often[] = {region, barrier, target, tasks_left};
    do n.what = m.below(4) == 0 ? often[m.below(4)] : static_cast<kind>(m.below(kinds));
    while (!may_stand(n.what, where));
#ifdef __clang__
    if (n.what == target || n.what == threads) n.what = leaf;
#endif
    if (m.in_target && (n.what == target || n.what == threads)) n.what = leaf;
  }
  n.a = m.below(1000), n.b = m.below(1000), n.c = m.below(1000);
  switch (n.what) {
    case region: n.children = make_all(m, of_team, depth - 1, budget / threads_of(n), 6); break;
    case loop_region:
    case sections_region:
    case loop:
    case sections: n.children = make_all(m, of_thread, depth - 1, budget / 8, 3); break;
    case single:
    case copied:
    case masked: n.children = make_all(m, of_thread, depth - 1, budget, 4); break;
    case tasks_wait:
    case tasks_group:
    case tasks_left:
    case task_loop:
    case serial_task: n.children = make_all(m, of_thread, depth - 1, budget / 8, 3); break;
    case target:
      m.in_target = true;
      n.children = make_all(m, outside, depth, budget, 2);
      m.in_target = false;
      break;
    case threads: n.children = make_all(m, outside, depth - 1, budget / 3, 3); break;
    default: break;
  }
  return n;
}

// ---- Running it ---------------------------------------------------------------------------------

struct team {
  std::atomic<int> arrived{0};
  std::atomic<long> made[most_phases] = {}, done[most_phases] = {};
  long exclusive = 0, exclusive_nest = 0;
  std::atomic<long> took{0}, took_nest{0};
  omp_lock_t lock;
  omp_nest_lock_t nest;
  team() { omp_init_lock(&lock), omp_init_nest_lock(&nest); }
  ~team() {
    check("under the lock", exclusive, took.load());
    check("under the nest lock", exclusive_nest, took_nest.load());
    for (int p = 0; p < most_phases; ++p) check("tasks at the end", done[p].load(), made[p].load());
    omp_destroy_lock(&lock), omp_destroy_nest_lock(&nest);
  }
};

// A thread in a team, or a task of it.
struct me {
  team* in;
  int met = 0;
};

void run(const node& n, me& m);
void run_all(const std::vector<node>& all, me& m) {
  for (const node& n : all) run(n, m);
}

// Before and behind a barrier, which may be a construct's.
void arrive(me& m) { m.in->arrived.fetch_add(1); }
void left(me& m) {
  const int n = omp_get_num_threads(), came = m.in->arrived.load();
  const int phase = m.met++ % most_phases;
  if (came < m.met * n || came > (m.met + 1) * n) fail("came to the barrier", came, m.met * n);
  check("tasks behind the barrier", m.in->done[phase].load(), m.in->made[phase].load());
}

long in_first, in_second, in_unnamed;
std::atomic<long> took_first{0}, took_second{0}, took_unnamed{0};
long double wide = 0;
std::atomic<long> took_wide{0};

void run_region(const node& n) {
  const int wanted = threads_of(n);
  team t;
  const bool parallel = n.b % 5 != 0;
  if (n.what == region) {
    switch (n.c % 4) {
      case 0: {
#pragma omp parallel num_threads(wanted) if (parallel)
        {
          me m{&t};
          run_all(n.children, m);
        }
        break;
      }
      case 1: {
        const int before = omp_get_max_threads();
        omp_set_num_threads(wanted);
#pragma omp parallel if (parallel)
        {
          me m{&t};
          run_all(n.children, m);
        }
        omp_set_num_threads(before);
        break;
      }
      case 2: {
#pragma omp parallel num_threads(wanted) proc_bind(close)
        {
          me m{&t};
          run_all(n.children, m);
        }
        break;
      }
      default: {
        long sum = 0, n_threads = 0;
#pragma omp parallel num_threads(wanted) reduction(+ : sum) shared(n_threads)
        {
          me m{&t};
          run_all(n.children, m);
          ++sum;
#pragma omp single nowait
          n_threads = omp_get_num_threads();
        }
        check("threads that add", sum, n_threads);
      }
    }
  } else if (n.what == loop_region) {
    long sum = 0;
    switch (n.c % 4) {
      case 0:
#pragma omp parallel for num_threads(wanted) schedule(static) reduction(+ : sum)
        for (int i = 0; i < 7; ++i) {
          me m{&t};
          run_all(n.children, m);
          ++sum;
        }
        break;
      case 1:
#pragma omp parallel for num_threads(wanted) schedule(dynamic, 2) reduction(+ : sum)
        for (int i = 0; i < 7; ++i) {
          me m{&t};
          run_all(n.children, m);
          ++sum;
        }
        break;
      case 2:
#pragma omp parallel for num_threads(wanted) schedule(guided) reduction(+ : sum) if (parallel)
        for (int i = 0; i < 7; ++i) {
          me m{&t};
          run_all(n.children, m);
          ++sum;
        }
        break;
      default:
#pragma omp parallel for num_threads(wanted) schedule(runtime) reduction(+ : sum)
        for (int i = 0; i < 7; ++i) {
          me m{&t};
          run_all(n.children, m);
          ++sum;
        }
    }
    check("iterations of a region", sum, 7);
  } else {
#pragma omp parallel sections num_threads(wanted)
    {
#pragma omp section
      {
        me m{&t};
        run_all(n.children, m);
      }
#pragma omp section
      {
        me m{&t};
        run_all(n.children, m);
      }
#pragma omp section
      total += 3;
    }
  }
}

void run_loop(const node& n, me& m) {
  const int count = n.b % 10;
  arrive(m);
  switch (n.a % 6) {
    case 0:
#pragma omp for schedule(static)
      for (int i = 0; i < count; ++i) run_all(n.children, m);
      break;
    case 1:
#pragma omp for schedule(dynamic)
      for (int i = 0; i < count; ++i) run_all(n.children, m);
      break;
    case 2:
#pragma omp for schedule(guided, 2) nowait
      for (int i = 0; i < count; ++i) run_all(n.children, m);
#pragma omp barrier
      break;
    case 3:
#pragma omp for schedule(runtime)
      for (int i = 0; i < count; ++i) run_all(n.children, m);
      break;
    case 4:
#pragma omp for schedule(dynamic) collapse(2)
      for (unsigned long i = 0; i < 3; ++i)
        for (int j = 0; j < count; ++j) run_all(n.children, m);
      break;
    default:
#pragma omp for schedule(nonmonotonic : dynamic, 3)
      for (unsigned long long i = 0; i < static_cast<unsigned long long>(count); ++i)
        run_all(n.children, m);
  }
  left(m);
}

// A task's own children, counted.
void run_tasks(const node& n, me& m, bool group) {
  const int count = 1 + n.a % 9;
  std::atomic<int> ended{0};
  team* const t = m.in;
  const int phase = m.met % most_phases;
  if (group) {
#pragma omp taskgroup
    {
      for (int i = 0; i < count; ++i) {
        ++t->made[phase];
#pragma omp task shared(ended, n) firstprivate(t, phase) untied priority(i % 3)
        {
          ++t->made[phase];
#pragma omp task shared(ended, n) firstprivate(t, phase)
          {
            me own{t, phase};
            run_all(n.children, own);
            ++ended;
            ++t->done[phase];
          }
          ++ended;
          ++t->done[phase];
        }
      }
    }
    check("tasks of a group", ended.load(), 2 * count);
  } else {
    for (int i = 0; i < count; ++i) {
      ++t->made[phase];
#pragma omp task shared(ended, n) firstprivate(t, phase) if (n.b % 4 != 0) final(n.c % 5 == 0)
      {
        me own{t, phase};
        run_all(n.children, own);
        ++ended;
        ++t->done[phase];
      }
      if (i == 2) {
#pragma omp taskyield
      }
    }
#pragma omp taskwait
    check("tasks that were waited for", ended.load(), count);
  }
}

void leave_tasks(const node& n, me& m) {
  team* const t = m.in;
  const int phase = m.met % most_phases;
  const node* const what = &n;
  for (int i = 0; i < 1 + n.a % 12; ++i) {
    ++t->made[phase];
#pragma omp task firstprivate(t, phase, what, i) mergeable
    {
      if (i % 3 == 0) {
        ++t->made[phase];
#pragma omp task firstprivate(t, phase)
        {
          ++total;
          ++t->done[phase];
        }
      }
      me own{t, phase};
      run_all(what->children, own);
      ++t->done[phase];
    }
  }
}

void run_chain(const node& n, me& m) {
  team* const t = m.in;
  const int phase = m.met % most_phases, count = 2 + n.a % 8;
  int values[3] = {0, 0, 0};
  for (int i = 0; i < count; ++i) {
    int* const one = &values[i % 3];
    ++t->made[phase];
#pragma omp task shared(values) firstprivate(t, phase, i, one) depend(inout : one[0])
    {
      check("order of dependences", *one, i / 3);
      *one = i / 3 + 1;
      ++t->done[phase];
    }
  }
  if (n.b % 2 == 0) {
    const int* const first = &values[0];
#pragma omp taskwait depend(in : first[0])
    (void)first;
    check("dependence waited for", values[0], (count + 2) / 3);
  }
#pragma omp taskwait
  check("the chain", values[0] + values[1] + values[2], count);
}

void run_task_loop(const node& n, me& m) {
  team* const t = m.in;
  const int phase = m.met % most_phases, count = 1 + n.a % 12;
  std::atomic<int> ended{0};
  long sum = 0;
  switch (n.b % (omp_get_level() != 0 ? 3 : 2)) {
    case 0:
#pragma omp taskloop shared(ended, n) grainsize(2)
      for (int i = 0; i < count; ++i) {
        me own{t, phase};
        run_all(n.children, own);
        ++ended;
      }
      break;
    case 1:
#pragma omp taskloop shared(ended, n) num_tasks(3) if (n.c % 3 != 0)
      for (long i = count; i > 0; --i) {
        me own{t, phase};
        run_all(n.children, own);
        ++ended;
      }
      break;
    default:
#pragma omp taskloop shared(ended) reduction(+ : sum)
      for (unsigned long long i = 0; i < static_cast<unsigned long long>(count); ++i) {
        ++sum;
        ++ended;
      }
      check("sum of a taskloop", sum, count);
  }
  check("iterations of a taskloop", ended.load(), count);
}

void run_as_thread(const node* n) {
  team t;
  me m{&t};
  run_all(n->children, m);
}
// Compilers make device code of what they see called in a target region.
void (*volatile as_thread)(const node*) = run_as_thread;

void run_target(const node& n) {
  const node* const what = &n;
  void (*const body)(const node*) = as_thread;
  switch (omp_get_level() != 0 ? n.a % 3 : 0) {
    case 0:
#pragma omp target firstprivate(what, body)
      body(what);
      break;
    case 1:
#pragma omp target nowait firstprivate(what, body)
      body(what);
#pragma omp taskwait
      break;
    default:
#pragma omp taskgroup
    {
#pragma omp target nowait firstprivate(what, body)
      body(what);
    }
  }
}

void* run_thread(void* started) {
  run_as_thread(static_cast<const node*>(started));
  return nullptr;
}

void run_threads(const node& n) {
  pthread_t started[3];
  for (pthread_t& p : started) pthread_create(&p, nullptr, run_thread, const_cast<node*>(&n));
  for (pthread_t& p : started) pthread_join(p, nullptr);
}

void under_locks(const node& n, me& m) {
  if (n.what == lock) {
    if (n.a % 3 != 0) omp_set_lock(&m.in->lock);
    else
      while (!omp_test_lock(&m.in->lock)) sched_yield();
    ++m.in->exclusive;
    omp_unset_lock(&m.in->lock);
    ++m.in->took;
  } else {
    omp_set_nest_lock(&m.in->nest);
    if (n.a % 2 == 0) omp_set_nest_lock(&m.in->nest);
    ++m.in->exclusive_nest;
    if (n.a % 2 == 0) omp_unset_nest_lock(&m.in->nest);
    omp_unset_nest_lock(&m.in->nest);
    ++m.in->took_nest;
  }
}

void under_critical(const node& n) {
  switch (n.a % 3) {
    case 0:
#pragma omp critical(first)
      ++in_first;
      ++took_first;
      break;
    case 1:
#pragma omp critical(second) hint(omp_sync_hint_contended)
    {
#pragma omp critical(first)
      ++in_first;
      ++in_second;
    }
      ++took_first, ++took_second;
      break;
    default:
#pragma omp critical
      ++in_unnamed;
      ++took_unnamed;
  }
}

void run_ordered(me& m) {
  arrive(m);
#pragma omp for ordered schedule(dynamic) nowait
  for (int i = 0; i < 9; ++i) {
#pragma omp ordered
    total += i;
  }
#pragma omp barrier
  left(m);
}

void run_doacross(me& m) {
  arrive(m);
#pragma omp for ordered(1) schedule(static, 1)
  for (int i = 0; i < 9; ++i) {
#pragma omp ordered depend(sink : i - 1)
    ++total;
#pragma omp ordered depend(source)
  }
  left(m);
}

void run(const node& n, me& m) {
  switch (n.what) {
    case spin:
      for (volatile int i = 0; i < n.a * 3;) i = i + 1;
      if (n.b % 50 == 0) usleep(100);
      break;
    case region:
    case loop_region:
    case sections_region: return run_region(n);
    case barrier: arrive(m);
#pragma omp barrier
      left(m);
      break;
    case loop: return run_loop(n, m);
    case sections: arrive(m);
#pragma omp sections
      {
#pragma omp section
        run_all(n.children, m);
#pragma omp section
        ++total;
#pragma omp section
        run_all(n.children, m);
      }
      left(m);
      break;
    case single:
      if (n.a % 3 == 0) {
#pragma omp single nowait
        {
          me own{m.in, m.met};
          run_all(n.children, own);
        }
      } else {
        arrive(m);
#pragma omp single
        run_all(n.children, m);
        left(m);
      }
      break;
    case copied: {
      long mine = omp_get_thread_num();
      arrive(m);
#pragma omp single copyprivate(mine)
      {
        run_all(n.children, m);
        mine = 4711 + n.a;
      }
      check("what is copied", mine, 4711 + n.a);
      left(m);
      break;
    }
    case masked:
#pragma omp master
      run_all(n.children, m);
      break;
    case critical: return under_critical(n);
    case atomic_wide:
#pragma omp atomic
      wide += 1;
      ++took_wide;
      break;
    case lock:
    case nest: return under_locks(n, m);
    case ordered: return run_ordered(m);
    case doacross: return run_doacross(m);
    case tasks_wait: return run_tasks(n, m, false);
    case tasks_group: return run_tasks(n, m, true);
    case tasks_left: return leave_tasks(n, m);
    case chain: return run_chain(n, m);
    case task_loop: return run_task_loop(n, m);
    case serial_task: {
      int seen = 0;
#pragma omp task if (0) shared(seen, n, m)
      {
        me own{m.in, m.met};
        run_all(n.children, own);
        seen = 1;
      }
      check("a task at once", seen, 1);
      break;
    }
    case cancelled_loop: arrive(m);
#pragma omp for schedule(dynamic)
      for (int i = 0; i < 50; ++i) {
        if (i == n.a % 50) {
#pragma omp cancel for
        }
#pragma omp cancellation point for
      }
      left(m);
      break;
    case cancelled_group:
#pragma omp taskgroup
      for (int i = 0; i < 6; ++i) {
#pragma omp task
        {
#pragma omp cancel taskgroup
        }
      }
      break;
    case settings:
      switch (n.a % 3) {
        case 0: omp_set_schedule(omp_sched_dynamic, 1 + n.b % 3); break;
        case 1: omp_set_num_threads(1 + n.b % 4); break;
        default: omp_set_schedule(omp_sched_static, 0);
      }
      break;
    case target: return run_target(n);
    case threads: return run_threads(n);
    case thrown: try { throw n.a;
      } catch (int value) {
        total += value % 7;
      }
      break;
    default: total += 1 + n.a % 5;
  }
}

unsigned seconds = 60;
headway seed_since;

void it_hangs(int) {
  if (const unsigned left = headway_left(&seed_since, seconds); left != 0) {
    alarm(left);
    return;
  }
  char line[80];
  const int length = std::snprintf(line, sizeof line, "seed %llu: hangs\n", seed);
  if (write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0) _exit(98);
  _exit(99);
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned long long first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const unsigned long long count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  if (argc > 3) seconds = static_cast<unsigned>(std::atoi(argv[3]));
  signal(SIGALRM, it_hangs);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  omp_set_dynamic(0);
  for (seed = first; seed < first + count; ++seed) {
    seed_since = headway_begin();
    alarm(seconds);
    maker m{seed * 77};
    omp_set_max_active_levels(1 + m.below(4));
    omp_set_num_threads(1 + m.below(5));
    total = 0;
    node top;
    top.what = sequence;
    top.children = make_all(m, outside, 6, 30000, 5);
    {
      team t;
      me own{&t};
      run_all(top.children, own);
    }
    check("critical, first", in_first, took_first);
    check("critical, second", in_second, took_second);
    check("critical", in_unnamed, took_unnamed);
    check("atomic", static_cast<long>(wide), took_wide);
    std::printf("%llu %ld\n", seed, total.load());
  }
  return 0;
}
