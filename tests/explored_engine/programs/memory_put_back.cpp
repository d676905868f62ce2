// Every execution finds variables, thread_local variables, heap and mappings as the first one did,
// and what the C library, the C++ library and the kernel keep of the process.
// Expect: 0 explored: passed: [2-9]
#include <atomic>
#include <cassert>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <exception>
#include <locale>
#include <memory_resource>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int initialized = 5, zero;
std::string text = "at start, in a block of the heap";
std::vector<int>* list = nullptr;
thread_local int mine = 3;
std::atomic<int> turn{0};
std::atomic<void*> mapped{nullptr};

// Memory that is mapped before main stays: here the files that the execution before has opened,
// plus one. Which numbers they get depends on the files that the process was begun with.
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

void change_limits() {
  rlimit files;
  char name[16], stack[1];
  stack_t signals;
  pthread_attr_t threads;
  std::size_t bytes = 0;
  getrlimit(RLIMIT_NOFILE, &files);
  prctl(PR_GET_NAME, name);
  sigaltstack(nullptr, &signals);
  pthread_getattr_default_np(&threads);
  pthread_attr_getstacksize(&threads, &bytes);
  assert(files.rlim_cur != 60 && std::strcmp(name, "changed") != 0 && bytes != 1 << 20);
  assert(signals.ss_flags == 0 && signals.ss_size > SIGSTKSZ);
  files.rlim_cur = 60;
  signals.ss_flags = SS_DISABLE;
  pthread_attr_setstacksize(&threads, 1 << 20);
  assert(setrlimit(RLIMIT_NOFILE, &files) == 0 && prctl(PR_SET_NAME, "changed") == 0 &&
         sigaltstack(&signals, nullptr) == 0 && pthread_setattr_default_np(&threads) == 0);
  assert(std::pmr::get_default_resource() == std::pmr::new_delete_resource());
  std::pmr::set_default_resource(std::pmr::null_memory_resource());
  raise(SIGUSR2);  // which nobody lets in
}

// Of the first execution: what its standard input was.
struct stat* const input_before = reinterpret_cast<struct stat*>(files_before + 16);

void change_files_begun_with() {
  struct stat now;
  assert(fstat(0, &now) == 0);
  if (input_before->st_ino == 0) *input_before = now;
  assert(now.st_ino == input_before->st_ino && now.st_dev == input_before->st_dev);
  assert(fcntl(55, F_GETFD) == -1 && fcntl(56, F_GETFD) == -1);
  int ends[2];
  assert(pipe(ends) == 0 && dup2(ends[0], 0) == 0 && dup2(ends[1], 55) == 55);
  assert(fcntl(0, F_DUPFD, 56) == 56);
  char got = 0;
  assert(write(55, "a", 1) == 1 && read(0, &got, 1) == 1 && got == 'a');
  assert(std::freopen("/dev/null", "r", stdin) == stdin && std::getchar() == EOF);
}

void change_streams() {
  assert(std::fwide(stdout, 0) == 0 && std::feof(stdin) == 0 && std::ferror(stdout) == 0);
  std::setvbuf(stdout, new char[64], _IOFBF, 64);
  std::wprintf(L"wide\n");
  std::setvbuf(stderr, new char[64], _IOFBF, 64);
  assert(std::tmpfile() != nullptr && popen("true", "r") != nullptr &&
         fmemopen(new char[10], 10, "w") != nullptr);
  std::fclose(stderr);
}

void change_mappings() {
  alignas(4096) static char page[4096];
  assert(page[0] == 0);
  page[0] = 1;
  assert(mprotect(page, sizeof page, PROT_READ) == 0);
  void* const wanted = reinterpret_cast<void*>(0x2'0000'0000);
  void* at = mmap(wanted, 4096, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  assert(at == wanted);
  at = mremap(at, 4096, 8192, MREMAP_MAYMOVE);
  void** const known = reinterpret_cast<void**>(files_before + 512);
  assert(at != MAP_FAILED && (*known == nullptr || *known == at));
  *known = at;
}

int main() {
  change_environment();
  change_numbers();
  change_locale();
  change_process();
  change_handlers();
  change_limits();
  change_streams();
  change_files_begun_with();
  change_mappings();
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
