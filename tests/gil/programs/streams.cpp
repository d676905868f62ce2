// streams.cpp -- lua-mt's streams (integrations/lua/blocking_io.c) used by several threads at once.
//
//   streams FILE LINES
//
// One thread writes lines, one prints them, one reads others character by character, one flushes
// what is written. A fifth goes on writing beside the streams' own data, so that each look at that
// takes long: on a modeled machine others run meanwhile, as they do for long in real programs.
#include <blocking_io.h>
#include <places.h>
#include <syncopate/elide/gil_c_interface.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

// Lua's own file of them has names of its lines, too.
extern "C" const char lua_mt_places[lua_mt_place_count][24] = {};

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "streams: %s\n", what);
  std::_Exit(1);
}

// Runs `work` in a thread that is inside, and yields after each of its turns.
template <class Work>
std::thread inside(int turns, Work work) {
  return std::thread([turns, work] {
    expect(syncopate_gil_attach() == 0 && syncopate_gil_enter("begin") == 0, "cannot enter");
    for (int i = 0; i < turns; ++i) {
      work(i);
      syncopate_gil_yield("turn");
    }
    expect(syncopate_gil_leave() == 0 && syncopate_gil_detach() == 0, "cannot leave");
  });
}

// Writes to a line of the stream's data what stands there.
void disturb(std::FILE* stream) {
  std::atomic_ref<int>(stream->_fileno).fetch_add(0, std::memory_order_relaxed);
  auto* const begin = reinterpret_cast<std::uintptr_t*>(&stream->_IO_write_base);
  std::atomic_ref<std::uintptr_t>(*begin).fetch_add(0, std::memory_order_relaxed);
}

}  // namespace

int main(int argc, char** argv) {
  expect(argc == 3, "usage: streams FILE LINES");
  const int lines = std::atoi(argv[2]);
  std::FILE* const out = std::fopen(argv[1], "w+");
  std::FILE* const in = std::tmpfile();
  expect(out != nullptr && in != nullptr, "no file");
  for (int i = 0; i < lines; ++i) std::fputs("line\n", in);
  std::rewind(in);

  std::atomic<bool> done{false};
  std::thread beside([&] {
    while (!done.load(std::memory_order_relaxed))
      for (std::FILE* each : {out, in, stdout}) disturb(each);
  });
  int newlines = 0;
  std::vector<std::thread> all;
  all.push_back(inside(lines, [&](int i) {
    char text[16];
    const int length = std::snprintf(text, sizeof text, "%d\n", i);
    lua_mt_fwrite(text, 1, static_cast<std::size_t>(length), out);
    lua_mt_fprintf(out, "%s\n", "and");
  }));
  all.push_back(inside(lines, [&](int) { lua_mt_print("printed\n", 8); }));
  for (int reader = 0; reader < 2; ++reader)
    all.push_back(inside(lines, [&](int) {
      for (int c = 0; c != '\n' && (c = lua_mt_getc(in)) != EOF;) newlines += c == '\n';
    }));
  for (std::FILE* stream : {out, stdout, in})
    all.push_back(inside(lines, [stream](int) { lua_mt_fflush(stream); }));
  for (std::thread& each : all) each.join();
  done = true;
  beside.join();
  for (std::FILE* each : {out, in}) expect(std::fclose(each) == 0, "cannot close");
  std::fprintf(stderr, "%d\n", newlines);
}
