// Every execution finds variables, thread_local variables, heap and mappings as the first one did,
// and what the C library, the C++ library and the kernel keep of the process.
// Expect: 0 explored: passed: [2-9]
#include <atomic>
#include <cassert>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <locale>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int initialized = 5, zero;
std::string text = "at start, in a block of the heap";
std::vector<int>* list = nullptr;
thread_local int mine = 3;
std::atomic<int> turn{0};
std::atomic<void*> mapped{nullptr};

// Memory that is mapped before main stays: here the files that the execution before has opened, plus
// one. Which numbers they get depends on the files that the process was begun with.
int* const files_before = static_cast<int*>(
    mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

void change_environment() {
  static char own[] = "MEMORY_PUT=1", other[] = "OTHER=1";
  assert(std::getenv("MEMORY_PUT") == nullptr && std::getenv("OTHER") == nullptr);
  assert(environ[0] != other);
  putenv(own);
  const std::string longer(5000, 'x');
  for (const char* name : {"A", "B", "C", "PATH", "A"}) setenv(name, longer.c_str(), 1);
  assert(std::getenv("PATH") == longer);
  unsetenv("PATH");
  environ[0] = other;
}

void change_numbers() {
  assert(std::rand() == 1804289383 && drand48() < 1e-9);  // what they begin with
  std::srand(7);
  srand48(7);
  char name[] = "", option[] = "-ab";
  char* const words[] = {name, option, nullptr};
  assert(optind == 1 && getopt(2, words, "ab") == 'a');  // not to the end
}

void change_locale() {
  assert(std::strcmp(std::setlocale(LC_ALL, nullptr), "C") == 0 &&
         std::locale() == std::locale("C"));
  std::locale::global(std::locale("C.UTF-8"));
  assert(std::strcmp(std::setlocale(LC_ALL, nullptr), "C.UTF-8") == 0);
}

void change_process() {
  for (int i = 0; i < 5; ++i)
    assert(files_before[i] == 0 || fcntl(files_before[i] - 1, F_GETFD) == -1);
  char folder[4096];
  assert(getcwd(folder, sizeof folder) != nullptr && std::strcmp(folder, "/proc") != 0);
  assert(chdir("/proc") == 0);
  assert(umask(0123) != 0123);
  const int files[] = {open("/dev/null", O_RDONLY | O_CLOEXEC), openat(AT_FDCWD, ".", O_RDONLY),
                       socket(AF_UNIX, SOCK_STREAM, 0), dup(0), dirfd(opendir("/"))};
  for (int i = 0; i < 5; ++i) files_before[i] = files[i] + 1;
}

void change_handlers() {
  struct sigaction action;
  sigset_t set;
  sigaction(SIGUSR1, nullptr, &action);
  sigprocmask(SIG_BLOCK, nullptr, &set);
  assert(action.sa_handler == SIG_DFL && sigismember(&set, SIGUSR2) == 0);
  std::signal(SIGUSR1, SIG_IGN);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  const auto aborts = [] { std::abort(); };
  assert(std::get_terminate() != std::terminate_handler(aborts) &&
         std::get_new_handler() == nullptr);
  std::set_terminate(aborts);
  std::set_new_handler(aborts);
}

int main() {
  change_environment();
  change_numbers();
  change_locale();
  change_process();
  change_handlers();
  assert(initialized == 5 && zero == 0 && mine == 3 && list == nullptr && mapped.load() == nullptr);
  assert(text == "at start, in a block of the heap");
  static bool run_before = false;
  assert(!run_before);
  run_before = true;
  initialized = 6, zero = 1, mine = 4;
  text = "changed, and much longer than it was before, so that it has another block";
  list = new std::vector<int>(100, 1);
  void* const page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mapped.store(page);
  std::thread other([] {
    assert(mine == 3);
    mine = 9;
    turn.fetch_add(1);
  });
  turn.fetch_add(1);
  turn.load(std::memory_order_relaxed);
  other.join();
  assert(mapped.load() == page);
}
