// toy.cpp -- an interpreter of a dozen instructions with one global lock, to try that lock.
//
//   toy PROGRAM THREADS TURNS
//
// Every thread runs PROGRAM, a loop of TURNS turns, on one shared heap. Prints the heap's checksum,
// which is the same for every interleaving of whole instructions; fails when an invariant does not
// hold. SYNCOPATE_GIL chooses how the lock works, SYNCOPATE_GIL_STATS what is told.
#include <syncopate/elide/gil_c_interface.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

enum class op : std::uint8_t {
  add,       // mine[a] += b
  add_own,   // the thread's own line of the heap += b
  add_all,   // counter += b: every thread's conflict
  transfer,  // moves b between two accounts, chosen by mine[0]
  audit,     // the accounts' sum has to be what it was
  fill,      // writes b lines of the thread's own area
  spread,    // writes b lines of it, others at each turn
  call,      // a system call: no transaction survives it
  collect,   // asks for the lock, then writes the whole heap
  block,     // lets go of the lock around a nap
  fork,      // a child that goes on inside, alone
  stranger,  // a thread that is not attached forks
  jump,      // to a while mine[0] < turns
  halt,
};

struct instruction {
  op what;
  int a = 0, b = 0;
};

struct named_program {
  std::string_view name;
  std::vector<instruction> code;
};

const named_program programs[] = {
    {"while", {{op::add, 1, 3}, {op::add, 0, 1}, {op::jump, 0}, {op::halt}}},
    {"own", {{op::add_own, 0, 1}, {op::add, 0, 1}, {op::jump, 0}, {op::halt}}},
    {"shared", {{op::add_all, 0, 1}, {op::add, 0, 1}, {op::jump, 0}, {op::halt}}},
    {"bank", {{op::transfer, 0, 5}, {op::audit}, {op::add, 0, 1}, {op::jump, 0}, {op::halt}}},
    {"large", {{op::fill, 0, 700}, {op::add, 0, 1}, {op::jump, 0}, {op::halt}}},
    {"spread", {{op::spread, 0, 4}, {op::add, 0, 1}, {op::jump, 0}, {op::halt}}},
    {"calls", {{op::call}, {op::add_all, 0, 1}, {op::add, 0, 1}, {op::jump, 0}, {op::halt}}},
    {"collects", {{op::collect}, {op::add, 0, 1}, {op::jump, 0}, {op::halt}}},
    {"blocks", {{op::add_all, 0, 1}, {op::block}, {op::add, 0, 1}, {op::jump, 0}, {op::halt}}},
    {"forks", {{op::add_all, 0, 1}, {op::fork}, {op::add, 0, 1}, {op::jump, 0}, {op::halt}}},
    {"strangers",
     {{op::transfer, 0, 5}, {op::stranger}, {op::add, 0, 1}, {op::jump, 0}, {op::halt}}},
    // Its conflicts end half way: lengths that have shrunk should grow again.
    {"phases",
     {{op::add_all, 0, 1},
      {op::add, 0, 2},
      {op::jump, 0},
      {op::add_own, 0, 1},
      {op::add, 0, -1},
      {op::jump, 3, -1},
      {op::halt}}},
};

constexpr unsigned accounts = 64, most_threads = 16, own_lines = 1024;

struct alignas(256) padded {
  std::int64_t value = 0;
};

struct heap {
  padded counter;
  std::array<padded, accounts> account;
  std::array<padded, most_threads> own;
  std::array<padded, most_threads> results;
  std::vector<padded> area{most_threads * own_lines};
};

heap* shared = nullptr;
std::int64_t turns = 0;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "toy: %s\n", what);
  std::_Exit(1);
}

void expect(bool holds, const char* what) {
  if (!holds) fail(what);
}

void audit() {
  std::int64_t sum = 0;
  for (const padded& each : shared->account) sum += each.value;
  expect(sum == 0, "money was made or lost");
}

void transfer(std::int64_t turn, unsigned thread, int amount) {
  const auto from = static_cast<unsigned>(turn * 7 + thread * 13) % accounts;
  const auto to = static_cast<unsigned>(turn * 11 + thread * 5 + 1) % accounts;
  shared->account[from].value -= amount;
  shared->account[to].value += amount;
}

bool holds() {
  return syncopate_gil_self.state == static_cast<unsigned>(syncopate::elide::gil_state::holding);
}

void collect(unsigned thread) {
  expect(syncopate_gil_needs_lock() == 0, "the lock cannot be had");
  expect(holds(), "needs_lock() left the thread without the lock");
  for (padded& each : shared->own) each.value += thread + 1;
}

void fill(unsigned thread, std::int64_t first, int lines) {
  for (int i = 0; i < lines; ++i)
    ++shared->area[thread * own_lines + static_cast<unsigned>(first + i) % own_lines].value;
}

void block(const instruction* pc) {
  expect(syncopate_gil_block_begin() == 0, "cannot let go");
  syncopate::machine::spin(20);
  expect(syncopate_gil_block_end(pc) == 0, "cannot come back");
}

// What the child exits with: where something is wrong in it.
int in_child(const instruction* pc) {
  for (int i = 0; i < 2000; ++i)
    if (syncopate_gil_yield(pc) != 0) return 1;
  if (!holds()) return 2;  // as one that is alone
  if (syncopate_gil_leave() != 0) return 3;
  return syncopate_gil_enter(pc) != 0 ? 4 : 0;
}

void fork_child(const instruction* pc) {
  const pid_t child = ::fork();
  expect(child >= 0, "cannot fork");
  if (child == 0) std::_Exit(in_child(pc));
  int status = -1;
  expect(::waitpid(child, &status, 0) == child && status == 0, "something is wrong in the child");
}

// In a child: what a new thread is told that wants to enter.
int enter_as_newcomer() {
  ::alarm(30);  // ends it if it hangs
  int error = -1;
  std::thread newcomer([&] {
    expect(syncopate_gil_attach() == 0, "cannot attach in a child");
    error = syncopate_gil_enter(&error);
    if (error == 0) audit();  // nobody is in the middle of something
    if (error == 0) expect(syncopate_gil_leave() == 0, "cannot leave in a child");
    expect(syncopate_gil_detach() == 0, "cannot detach in a child");
  });
  newcomer.join();
  return error;
}

// What a child's new threads are told, where a thread that never used the lock has forked it.
int fork_as_stranger() {
  int status = -1;
  std::thread stranger([&] {
    const pid_t child = ::fork();
    expect(child >= 0, "cannot fork");
    if (child == 0) std::_Exit(enter_as_newcomer());
    expect(::waitpid(child, &status, 0) == child, "no child");
  });
  stranger.join();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// While this thread is inside, and while others may be.
void strangers(const instruction* pc) {
  expect(syncopate_gil_needs_lock() == 0, "the lock cannot be had");
  expect(fork_as_stranger() == EOWNERDEAD, "nobody was told that the holder is not there");
  expect(syncopate_gil_block_begin() == 0, "cannot let go");
  const int told = fork_as_stranger();
  expect(told == 0 || told == EOWNERDEAD, "something is wrong in the child of a stranger");
  expect(syncopate_gil_block_end(pc) == 0, "cannot come back");
}

// One instruction that is neither a jump nor the end.
void execute(const instruction& i, unsigned thread, std::array<std::int64_t, 2>& mine) {
  switch (i.what) {
    case op::add: mine[static_cast<unsigned>(i.a)] += i.b; break;
    case op::add_own: shared->own[thread].value += i.b; break;
    case op::add_all: shared->counter.value += i.b; break;
    case op::transfer: transfer(mine[0], thread, i.b); break;
    case op::audit: audit(); break;
    case op::fill: fill(thread, 0, i.b); break;
    case op::spread: fill(thread, mine[0] * i.b, i.b); break;
    case op::call: (void)!::write(-1, "", 0); break;
    case op::collect: collect(thread); break;
    case op::block: block(&i); break;
    case op::fork: fork_child(&i); break;
    case op::stranger: strangers(&i); break;
    default: fail("no such instruction");
  }
}

void interpret(const std::vector<instruction>& code, unsigned thread) {
  std::array<std::int64_t, 2> mine{};
  const instruction* pc = code.data();
  for (;;) {
    syncopate_gil_yield(pc);
    if (pc->what == op::halt) break;
    if (pc->what == op::jump) {
      const bool again = pc->b < 0 ? mine[0] > 0 : mine[0] < turns;
      pc = again ? code.data() + pc->a : pc + 1;
      continue;
    }
    execute(*pc++, thread, mine);
  }
  shared->results[thread].value = mine[0] + mine[1];
}

void run(const std::vector<instruction>& code, unsigned thread) {
  expect(syncopate_gil_enter(code.data()) == 0, "cannot enter");
  interpret(code, thread);
  expect(syncopate_gil_leave() == 0, "cannot leave");
  expect(syncopate_gil_detach() == 0, "cannot detach");
}

std::int64_t checksum() {
  std::int64_t sum = shared->counter.value, place = 1;
  auto add = [&](const auto& words) {
    for (const padded& each : words) sum += each.value * ++place;
  };
  add(shared->account);
  add(shared->own);
  add(shared->results);
  add(shared->area);
  return sum;
}

// All threads stay known until all have run, so that none finds itself alone.
void run_all(const std::vector<instruction>& code, unsigned count) {
  std::atomic<unsigned> ready{0};
  auto all_there = [count](unsigned n) { return n == count; };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      expect(syncopate_gil_attach() == 0, "cannot attach");
      ready.fetch_add(1, std::memory_order_release);
      syncopate::machine::wait_until(ready, std::memory_order_acquire, all_there);
      run(code, t);
    });
  for (std::thread& each : threads) each.join();
}

// For the statistics: its number in the program. Names are cut where there is no room, and any text
// is one.
void name_instruction(const void* pc, char* to, std::size_t room, void* code) {
  const auto number = static_cast<const instruction*>(pc) - static_cast<instruction*>(code);
  std::snprintf(to, room, "\"%td\" of\t\\, %s", number,
                "a program whose name is too long for this");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) fail("usage: toy PROGRAM THREADS TURNS");
  const auto count = static_cast<unsigned>(std::atoi(argv[2]));
  turns = std::atoll(argv[3]);
  expect(count >= 1 && count <= most_threads && turns >= 1, "THREADS are 1 to 16, TURNS 1 or more");
  for (const named_program& each : programs) {
    if (each.name != argv[1]) continue;
    const auto memory = std::make_unique<heap>();
    shared = memory.get();
    const std::uint64_t start = syncopate::machine::now();
    run_all(each.code, count);
    const std::uint64_t took = syncopate::machine::now() - start;
    audit();
    std::printf("%lld\n%llu\n", static_cast<long long>(checksum()),
                static_cast<unsigned long long>(took));
    syncopate_gil_name_points(name_instruction, const_cast<instruction*>(each.code.data()));
    syncopate_gil_report();
    return 0;
  }
  fail("no such program");
}
