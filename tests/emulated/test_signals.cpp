// test_signals.cpp -- signals, faults and fork.
#include <atomic>
#include <csignal>
#include <cstring>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

using htm::cause;

namespace {

alignas(64) std::atomic<long> handled{0};
alignas(64) long word = 1;
alignas(64) long seen_by_handler = 0;
volatile bool inside_in_handler = false;

void on_usr1(int) {
  inside_in_handler = inside_in_handler || htm::active();
  seen_by_handler = word;
  handled.fetch_add(1);
}

void install(int number, void (*handler)(int), int flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  CHECK(sigaction(number, &action, nullptr) == 0);
}

// The handler runs after the roll-back, and sees memory as before.
void one_signal() {
  static unseen ready, inside;  // not on the stack, which an abort brings back
  const pthread_t me = pthread_self();
  std::thread other([me] {
    ready.set(1);
    inside.await(1);
    pthread_kill(me, SIGUSR1);
  });
  ready.await(1);  // a thread's beginning may touch what the transaction writes
  const long before = handled;
  const htm::status s = attempt([&] {
    word = 2;
    inside.set(1);
    for (volatile long& w = word;;) w = w + 1;
  });
  other.join();
  CHECK(s.why == cause::other && !s.may_retry && word == 1);
  CHECK(handled == before + 1 && seen_by_handler == 1 && !inside_in_handler);
}

// At any moment: in the machine's own code, in malloc, at the begin and the end.
void many_signals() {
  handled = 0;
  unseen stop;
  long sent = 0, total = 0;
  std::atomic<bool> running{true};
  std::thread target([&] {
    for (int i = 0; i < 20'000 || handled.load() < 200; ++i) {
      if (attempt([&] {
            delete[] new char[100];
            word = word + 1;
            word = word - 1;
          }).started())
        ++total;
      handled.load();  // an atomic operation, interrupted by a handler that makes one
      handled.fetch_add(0);
    }
    running = false;
    stop.await(1);
  });
  while (running.load()) {
    pthread_kill(target.native_handle(), SIGUSR1);
    ++sent;
    usleep(50);
  }
  stop.set(1);
  target.join();
  CHECK(handled >= 200 && handled <= sent && word == 1 && total > 0 && !inside_in_handler);
}

void actions() {
  struct sigaction before {};
  CHECK(sigaction(SIGUSR1, nullptr, &before) == 0 && before.sa_handler == on_usr1);
  CHECK(std::signal(SIGUSR2, on_usr1) == SIG_DFL && std::signal(SIGUSR2, SIG_IGN) == on_usr1);
  raise(SIGUSR2);
  install(SIGUSR2, on_usr1, static_cast<int>(SA_RESETHAND));
  const long had = handled;
  raise(SIGUSR2);
  CHECK(handled == had + 1);
  CHECK(sigaction(SIGUSR2, nullptr, &before) == 0 && before.sa_handler == SIG_DFL);
  CHECK(sigaction(SIGKILL, &before, nullptr) == -1);
}

// A program may block every signal; system calls in transactions are told by one.
void blocked() {
  sigset_t all, old;
  sigfillset(&all);
  CHECK(pthread_sigmask(SIG_SETMASK, &all, &old) == 0);
  const htm::status s = attempt([] {
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(110) : "rcx", "r11", "memory");
  });
  CHECK(s.why == cause::other);
  CHECK(pthread_sigmask(SIG_SETMASK, &old, nullptr) == 0);
}

void faults() {
  void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int write = 0; write < 2; ++write) {
    const htm::status s = attempt([&] {
      word = 2;
      auto* const at = static_cast<volatile long*>(page);
      if (write != 0) *at = 1;
      else word = *at;
    });
    CHECK(s.why == cause::other && word == 1);
  }
  const htm::status division = attempt([] {
    word = 2;
    volatile long zero = 0;
    word = word / zero;
  });
  CHECK(division.why == cause::other && word == 1);
  munmap(page, 4096);
}

// A handler runs between the check of a plain write and the write: here, because the page may not
// be written yet. What the handler does meanwhile must not make others believe that the write was
// made.
namespace interrupted_write {

constexpr std::size_t page_bytes = 4096;
char* page = nullptr;
unseen handler_runs, other_has_tried;
alignas(64) std::atomic<long> for_handler{0};

void on_fault(int) {
  // Accesses of its own, of both kinds, in the places where the machine keeps a thread's last ones.
  for_handler.fetch_add(1);
  word = 5;
  char copy[64];
  std::memset(copy, 1, sizeof copy);
  std::memcpy(copy, page + 1024, sizeof copy);
  for_handler.fetch_add(1);
  CHECK(mprotect(page, page_bytes, PROT_READ | PROT_WRITE) == 0);
  handler_runs.set(1);
  other_has_tried.await(1);
}

// Writes `value` to the page, which may be written in the handler only.
void write(char value) {
  CHECK(mprotect(page, page_bytes, PROT_READ) == 0);
  *static_cast<volatile char*>(page + 100) = value;
  for_handler.fetch_add(1);
}

// Speculation beside the writer. If it were not aborted, it would undo the write.
void speculation() {
  std::thread beside([] {
    handler_runs.await(1);
    const htm::status s = htm::begin(htm::mode::always_abort);
    if (s.started()) {
      page[100] = 9;
      other_has_tried.set(1);
      for (int i = 0; i < 100'000; ++i) __builtin_ia32_pause();
      htm::abort<1>();
    }
    other_has_tried.set(1);
    CHECK(s.why == cause::conflict);
  });
  write(7);
  beside.join();
  CHECK(page[100] == 7);
}

// The page is part of another thread's stack, of which that thread's transaction would put back an
// old copy.
void stack_of_another() {
  unseen is_there, may_go;
  char* const own_page = page;
  std::thread owner([&] {
    alignas(page_bytes) char frame[3 * page_bytes];
    std::memset(frame, 1, sizeof frame);
    page = frame + page_bytes;
    is_there.set(1);
    handler_runs.await(1);
    const htm::status s = htm::begin();
    if (s.started()) htm::abort<1>();
    other_has_tried.set(1);
    may_go.await(1);
    CHECK(s.why == cause::other && page[100] == 7);
  });
  is_there.await(1);
  write(7);
  may_go.set(1);
  owner.join();
  page = own_page;
}

void run() {
  page = static_cast<char*>(
      mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(page != MAP_FAILED);
  struct sigaction before {};
  CHECK(sigaction(SIGSEGV, nullptr, &before) == 0);
  install(SIGSEGV, on_fault);
  const long had = word;
  for (int i = 0; i < 40; ++i) {
    handler_runs.set(0);
    other_has_tried.set(0);
    if (i % 2 == 0) speculation();
    else stack_of_another();
  }
  word = had;
  CHECK(sigaction(SIGSEGV, &before, nullptr) == 0);
  munmap(page, page_bytes);
}

}  // namespace interrupted_write

template <class Work>
int status_of_child(Work work) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

// Outside transactions faults end the program as ever, or reach its handler.
void faults_outside() {
  int status = status_of_child([] { *static_cast<volatile int*>(nullptr) = 1; });
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  status = status_of_child([] {
    install(SIGSEGV, [](int) { _exit(42); });
    *static_cast<volatile int*>(nullptr) = 1;
  });
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

// While others' transactions run: their writes are not in the child, which has none of their marks.
void forks() {
  static long shared[64];
  unseen stop;
  std::vector<std::thread> others;
  for (long t = 0; t < 3; ++t) {
    others.emplace_back([&, t] {
      while (stop.get() == 0) {
        attempt([&] {
          for (int i = 0; i < 64; ++i) shared[i] += t - 1;
          for (int i = 0; i < 64; ++i) shared[i] -= t - 1;
        });
      }
    });
  }
  for (int i = 0; i < 30; ++i) {
    const int status = status_of_child([] {
      for (const long each : shared) CHECK(each == 0);
      CHECK(retry([] { shared[3] = 7; }) && shared[3] == 7);
      std::thread([] { CHECK(retry([] { shared[4] = 8; })); }).join();
      CHECK(shared[4] == 8);
    });
    CHECK(status == 0);
  }
  stop.set(1);
  for (std::thread& each : others) each.join();
  const htm::status s = attempt([] {
    word = 2;
    fork();
  });
  CHECK(s.why == cause::other && word == 1);
}

}  // namespace

int main() {
  install(SIGUSR1, on_usr1, SA_RESTART);
  one_signal();
  many_signals();
  actions();
  blocked();
  faults();
  faults_outside();
  interrupted_write::run();
  forks();
}
