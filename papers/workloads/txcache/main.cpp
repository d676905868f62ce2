// main.cpp -- txcache's command line.
#include <csignal>
#include <cstdlib>
#include <string>

#include "../options.h"
#include "cache.h"
#include "self_load.h"
#include "server.h"

namespace {

using namespace workloads;

constexpr const char* about =
    "A cache that speaks memcached's text protocol, in one of the stages from locks to atomic\n"
    "transactions (docs/internals/workloads.md). Ctrl-C ends it.";

options parse(int argc, char** argv) {
  return {argc,
          argv,
          about,
          {{"preset",
            "server",
            "no network, but a load of its own, of a size",
            {"server", "small", "paper", "large"}},
           {"port", "11211", "where to listen; 0: any free port"},
           {"address", "127.0.0.1", "where to listen"},
           {"socket", "", "listen at this path instead"},
           {"threads", "4", "threads that serve"},
           {"memory", "64m", "for items; bytes, or with k, m or g"},
           {"page", "1m", "what slab classes exchange; no item is larger"},
           {"hash-power", "10", "the table begins with 2^N buckets"},
           {"use-interval", "60", "seconds between two moves of an item to its list's head"},
           {"self-load",
            "",
            "SEED,OPERATIONS,THREADS: no network; every answer is checked; THREADS may be left out,"
            " and is that of --threads then",
            {"", "1,20000", "1,625000", "1,2000000"}},
           {"self-keys", "1000", "keys of each thread of --self-load"},
           {"self-size", "400", "bytes of its largest value; in its second half, four times that"},
           {"self-check", "1", "0: a benchmark; values are not compared"},
           {"verbose", "0", "1: tells on standard error what the maintenance threads do"}},
          "where it listens, one line of JSON at the end"};
}

std::size_t size_of(const options& o, const char* name, std::size_t least) {
  const std::string& text = o.text(name);
  char* end = nullptr;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  const std::string unit = end;
  const unsigned shift = unit == "k" ? 10 : unit == "m" ? 20 : unit == "g" ? 30 : 0;
  if (text.empty() || text[0] < '0' || text[0] > '9' || (shift == 0 && !unit.empty()) ||
      number > (1ull << 46 >> shift) || (number << shift) < least)
    o.refuse("--" + std::string(name) + " needs at least " + std::to_string(least) +
             " bytes, such as 64m, not '" + text + "'");
  return number << shift;
}

unsigned number_up_to(const options& o, const char* name, std::uint64_t least, std::uint64_t most) {
  const std::uint64_t number = o.number(name, least);
  if (number > most)
    o.refuse("--" + std::string(name) + " is at most " + std::to_string(most) + ", not '" +
             o.text(name) + "'");
  return static_cast<unsigned>(number);
}

txcache::settings settings_of(const options& o) {
  constexpr std::size_t smallest_page = 4096;
  txcache::settings s;
  s.page_size = size_of(o, "page", smallest_page) / smallest_page * smallest_page;
  s.memory = size_of(o, "memory", s.page_size);
  s.hash_power =
      number_up_to(o, "hash-power", txcache::smallest_hash_power, txcache::largest_hash_power);
  s.use_interval = o.number("use-interval");
  txcache::verbose = o.flag("verbose");
  return s;
}

constexpr std::uint64_t most_threads = 256;

txcache::self_load_options load_of(const options& o) {
  txcache::self_load_options load;
  unsigned long long seed = 0, operations = 0, threads = 0;
  const char* const text = o.text("self-load").c_str();
  int end = -1;  // of two numbers, where nothing follows
  char rest = 0;
  (void)std::sscanf(text, "%llu,%llu%n", &seed, &operations, &end);
  if (end >= 0 && text[end] == '\0') threads = number_up_to(o, "threads", 1, most_threads);
  else if (std::sscanf(text, "%llu,%llu,%llu%c", &seed, &operations, &threads, &rest) != 3 ||
           threads < 1 || threads > most_threads)
    o.refuse("--self-load needs SEED,OPERATIONS,THREADS, such as 1,10000,2, not '" +
             o.text("self-load") + "'");
  load.seed = seed;
  load.operations = operations;
  load.threads = static_cast<unsigned>(threads);
  load.keys = o.number("self-keys", 1);
  load.largest_value = o.number("self-size");
  load.check = o.flag("self-check");
  return load;
}

// Before any thread: all inherit it, so that the accepting thread alone learns of signals.
void block_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void print_end() {
  const txcache::totals t = txcache::current_totals();
  const txcache::serialization s = txcache::count_serialization();
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "{\"workload\": \"txcache\", \"stage\": \"%s\", \"items\": %llu, \"expansions\": %llu, "
      "\"pages_moved\": %llu, \"evictions\": %llu, ",
      txcache::stage_name, number(t.items), number(t.expansions), number(t.pages_moved),
      number(t.evictions));
  std::printf(
      "\"transactions\": %llu, \"in_flight_switch\": %llu, \"start_serial\": %llu, "
      "\"abort_serial\": %llu}\n",
      number(s.transactions), number(s.in_flight_switch), number(s.start_serial),
      number(s.abort_serial));
}

}  // namespace

int main(int argc, char** argv) {
  const options o = parse(argc, argv);
  const txcache::settings chosen = settings_of(o);
  txcache::server_options server;
  server.threads = number_up_to(o, "threads", 1, most_threads);
  server.port = number_up_to(o, "port", 0, 65535);
  server.address = o.text("address");
  server.socket_path = o.text("socket");
  server.largest_value = chosen.page_size;
  const bool loads = !o.text("self-load").empty();
  const txcache::self_load_options load = loads ? load_of(o) : txcache::self_load_options{};

  if (!loads) block_signals();
  if (const char* const error = txcache::start(chosen)) o.refuse(error);
  if (loads) return txcache::self_load(load) ? 0 : 1;
  const std::string error = txcache::serve(server);
  txcache::stop();
  if (!error.empty()) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.c_str());
    return 2;
  }
  print_end();
  return 0;
}
