#include "model/front/program/client.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "model/front/libc/libc_range.h"
#include "model/front/libc/signals.h"
#include "model/front/names/names.h"
#include "model/front/program/options.h"
#include "model/front/pthread/threads.h"

namespace syncopate::instrument {
namespace {

using main_function = int(int, char**, char**);

constinit main_function* client_main = nullptr;
enum class state : unsigned char { waits, runs, ended };
constinit state now = state::waits;

// What the client is started with, in the program's memory: where this library's variables are
// differs from build to build.
struct call {
  pthread_t thread;
  int count;
  char* words[];
};

// Words are parted by blanks. The first one without its folder: nothing may depend on that.
template <class Each>
void for_each_word(const char* text, Each each) {
  bool is_first = true;
  while (*text != '\0') {
    while (*text == ' ') ++text;
    const char* end = text;
    while (*end != '\0' && *end != ' ') ++end;
    if (end == text) break;
    if (is_first)
      for (const char* c = text; c != end; ++c)
        if (*c == '/') text = c + 1;
    each(text, static_cast<std::size_t>(end - text));
    is_first = false;
    text = end;
  }
}

call* make_call() {
  const char* const text = option("CLIENT");
  std::size_t count = 0, bytes = 0;
  for_each_word(text, [&](const char*, std::size_t length) {
    ++count;
    bytes += length + 1;
  });
  bytes += sizeof(call) + (count + 1) * sizeof(char*);
  auto* const made = static_cast<call*>(std::calloc(1, bytes));
  const engine_scope inside;  // where the environment lies is no part of results
  char* to = reinterpret_cast<char*>(made->words + count + 1);
  for_each_word(text, [&](const char* from, std::size_t length) {
    made->words[made->count++] = to;
    std::memcpy(to, from, length);
    to += length + 1;
  });
  return made;
}

void* run_client(void* given) {
  auto* const c = static_cast<call*>(given);
  set_signal_mask(~signal_bits{0});  // the program's signals are not for the client's threads
  thread_record& me = self_record();
  me.is_client = true;
  // By its own name in reports.
  const auto* const routine = reinterpret_cast<const void*>(client_main);
  on_engine([&] { note_thread_routine(me.index, routine, given); });
  end_client(client_main(c->count, c->words, environ), nullptr);
}

// By a name of one length: the loader keeps it, and what it takes moves the program's heap.
void* open_object(const char* path) {
  constexpr int least = 900, most = 999;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  const int high = ::fcntl(file, F_DUPFD_CLOEXEC, least);
  ::close(file);
  if (high < 0 || high > most) return nullptr;
  char name[] = "/proc/self/fd/000";
  name[14] = static_cast<char>('0' + high / 100);
  name[15] = static_cast<char>('0' + high / 10 % 10);
  name[16] = static_cast<char>('0' + high % 10);
  return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
}

}  // namespace

bool has_client() {
  static const bool is_set = option("CLIENT") != nullptr && !engine::runs_again();
  return is_set;
}

void load_client() {
  if (!has_client()) return;
  char path[4096] = {};
  const char* const text = option("CLIENT");
  std::memcpy(path, text, std::min(std::strcspn(text, " "), sizeof path - 1));
  void* const object = open_object(path);
  if (object == nullptr) {
    const char* const why = dlerror();
    fail("the client %s cannot be loaded: %s", path, why != nullptr ? why : std::strerror(errno));
  }
  link_map* module = nullptr;
  if (dlinfo(object, RTLD_DI_LINKMAP, &module) != 0 || !needs_machine(module->l_ld))
    fail("the client %s was not compiled for this machine: `syncopate cc -shared -fPIC`", path);
  client_main = reinterpret_cast<main_function*>(dlsym(object, "main"));
  if (client_main == nullptr) fail("the client %s has no main()", path);
}

void start_client(engine::place where) {
  if (now != state::waits || is_client()) return;
  now = state::runs;
  call* const c = make_call();
  start_thread(&c->thread, nullptr, run_client, nullptr, c, where);
}

bool is_client() { return self_record().is_client; }

void end_client(int status, engine::place where) {
  const engine_scope inside;
  now = state::ended;
  engine::finish(engine::end::exit, status & 0xff, nullptr, where);
}

int status_with_client(int status) {
  if (!has_client() || status != 0 || now == state::ended) return status;
  complain(now == state::waits
               ? "the program never listened at a socket: its client was not started"
               : "the program ended before its client did");
  return 1;
}

}  // namespace syncopate::instrument
