#include "litmus.h"

#include "run.h"

#include <cstdio>
#include <fstream>
#include <sstream>

namespace fuzz {

namespace {

bool read_order(const std::string& text, std::memory_order& into) {
  if (text == "rlx") into = std::memory_order_relaxed;
  else if (text == "acq") into = std::memory_order_acquire;
  else if (text == "rel") into = std::memory_order_release;
  else if (text == "acq_rel") into = std::memory_order_acq_rel;
  else if (text == "sc") into = std::memory_order_seq_cst;
  else return false;
  return true;
}

// "W x 1 rel"
bool read_operation(const std::string& text, operation& o) {
  std::istringstream words(text);
  std::string what, variable, order;
  words >> what;
  if (what != "F") words >> variable;
  if (what == "W" || what == "X") words >> o.value;
  words >> order;
  if (what == "W") o.what = kind::store;
  else if (what == "R") o.what = kind::load;
  else if (what == "X") o.what = kind::modify;  // `how` 0 is an exchange
  else if (what == "F") o.what = kind::fence;
  else return false;
  if (what != "F") o.variable = static_cast<std::uint8_t>(variable[0] - 'x');
  return o.variable < variables && !words.fail() && read_order(order, o.order);
}

bool read_thread(const std::string& line, std::vector<operation>& into) {
  std::istringstream rest(line);
  for (std::string text; std::getline(rest, text, ';');) {
    operation o;
    if (!read_operation(text, o)) return false;
    into.push_back(o);
  }
  return !into.empty();
}

void show(const std::string& name, const program& p) {
  const found f = explore_reduced(p, 1'000'000);
  std::printf("%s %llu%s%s", name.c_str(),
              static_cast<unsigned long long>(f.how.executions - f.how.redundant),
              f.how.sc_orders ? " orders" : "", f.how.s_by_graph ? " anew" : "");
  for (const std::string& outcome : f.outcomes) {
    std::printf(" |");
    for (const int value : values(p, outcome)) std::printf(" %d", value);
  }
  std::printf("\n");
}

}  // namespace

int show_litmus(const char* file) {
  std::ifstream in(file);
  std::string name, line;
  program p;
  const auto end = [&] {
    if (!p.threads.empty()) show(name, p);
    p = {};
    p.options = "spurious=0";
  };
  if (!in) {
    std::fprintf(stderr, "explore_fuzz: %s cannot be read\n", file);
    return 2;
  }
  while (std::getline(in, line)) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == ' ') {
      if (read_thread(line, p.threads.emplace_back())) continue;
      std::fprintf(stderr, "explore_fuzz: %s: not understood: %s\n", file, line.c_str());
      return 2;
    }
    if (line.find(' ') != std::string::npos) continue;  // what is expected
    end();
    name = line;
  }
  end();
  return 0;
}

}  // namespace fuzz
