// report.cpp -- see report.h.
#include "report.h"

#include "base/json.h"
#include "sites.h"

#include "model/front/names/names.h"
#include "model/front/program/layout.h"
#include "model/front/pthread/threads.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>

namespace syncopate::explored {

namespace layout = instrument::layout;

namespace {

std::string grouped(std::uint64_t n) {
  const std::string digits = std::to_string(n);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string value_of(word v) {
  char text[48];
  const auto high = static_cast<std::uint64_t>(v >> 64), low = static_cast<std::uint64_t>(v);
  if (high != 0) std::snprintf(text, sizeof text, "0x%" PRIx64 "%016" PRIx64, high, low);
  else if (low < 100'000) std::snprintf(text, sizeof text, "%" PRIu64, low);
  else std::snprintf(text, sizeof text, "0x%" PRIx64, low);
  return text;
}

// Where a reader knows the code: at the place, or where the library was called that it lies in.
std::string code_position(place where, const caller_places& callers) {
  if (where == nullptr) return "?";
  std::vector<place> all{where};
  for (const place caller : callers)
    if (caller != nullptr) all.push_back(caller);
  return instrument::known_frames(all.data(), all.size(), 1).front().text();
}

// pthread's objects by their own names: what the C library calls their first parts is not for
// users.
std::string without_parts(std::string name) {
  for (const std::string_view part : {".__data", ".__size[0]"})
    if (name.ends_with(part)) name.resize(name.size() - part.size());
  return name;
}

// Names take milliseconds each. Blocks of the heap get letters, explained below the table.
class names {
 public:
  const std::string& code(place where, const caller_places& callers = {}) {
    auto [at, fresh] = code_.try_emplace({where, callers});
    if (fresh) at->second = without_arguments(code_position(where, callers));
    return at->second;
  }
  const std::string& data(address where) {
    auto [at, fresh] = data_.try_emplace(where);
    if (fresh) at->second = name_data(where);
    return at->second;
  }
  // Of its own, where no table is beside it. Nothing for what is ours and stands for what a
  // library keeps.
  static std::string object(address where) {
    if (where == 0 || (where >= layout::library && where < layout::library_end)) return {};
    const instrument::data_position p = instrument::data_position_of(where);
    const bool in_block =
        p.where == instrument::region::heap || p.where == instrument::region::freed;
    if (in_block)
      return "byte " + std::to_string(p.offset) + " of the " + without_arguments(p.object);
    const std::string name = without_parts(without_arguments(p.text()));
    return p.where == instrument::region::stack ? "a variable on the " + name : name;
  }
  [[nodiscard]] std::string legend() const {
    std::string text;
    for (const auto& [start, block] : blocks_)
      text += "  block " + block.letter + ": " + block.text + "\n";
    return text;
  }

 private:
  struct block {
    std::string letter, text;
  };

  std::string name_data(address where) {
    const instrument::data_position p = instrument::data_position_of(where);
    if (p.where != instrument::region::heap && p.where != instrument::region::freed)
      return without_parts(without_arguments(p.text()));
    auto [at, fresh] = blocks_.try_emplace(p.start);
    if (fresh) {
      const auto n = blocks_.size() - 1;
      at->second.letter = static_cast<char>('A' + n % 26);
      if (n >= 26) at->second.letter += std::to_string(n / 26);
      at->second.text = without_arguments(p.object);
    }
    std::string text = at->second.letter + p.member;
    if (p.member.empty()) text += "+" + std::to_string(where - p.start);
    return text;
  }

  std::map<std::pair<place, caller_places>, std::string> code_;
  std::map<address, std::string> data_;
  std::map<address, block> blocks_;
};

std::string end_of(unsigned thread) { return "the end of thread " + std::to_string(thread); }

const char* verb(action a) {
  switch (a) {
    case action::none: return "?";
    case action::load: return "load";
    case action::store: return "store";
    case action::modify: return "modify";
    case action::compare_exchange: return "compare-exchange";
    case action::fence: return "fence";
    case action::await: return "wait until";
    case action::take: return "take";
    case action::park: return "park";
    case action::expire: return "parked";
    case action::wake: return "wake";
    case action::requeue: return "requeue";
    case action::arrive: return "arrive";
    case action::leave: return "leave";
    case action::dismiss: return "wait until all have left";
    case action::share: return "take";
    case action::unshare: return "give back";
    case action::relax: return "poll";
    case action::time: return "clock";
    case action::compute: return "compute on";
    case action::transaction: return "transaction";
  }
  return "?";
}

// Which message it read, unless it is the newest.
std::string old_message(const step& s) {
  if (s.chosen >= max_choices || s.stale == 0 || s.what == action::store) return {};
  return " (old: " + std::to_string(s.stale) + " newer, this one " +
         (s.source == 0 ? "from the start" : "by step " + std::to_string(s.source)) + ")";
}

// What it did, and to which atomic variables.
std::string transaction_text(const step& s, names& known) {
  using syncopate::machine::htm::cause;
  static const char* const causes[] = {"commits", "aborts: conflict", "aborts: capacity",
                                       "aborts: ", "aborts"};
  if (s.chosen == tx_runs && s.touched == nullptr) return " runs";
  std::string text = std::string(" ") + causes[s.result];
  if (s.result == static_cast<int>(cause::explicit_)) text += std::to_string(s.code);
  if (s.chosen != tx_runs) return text + " (at once)";
  for (const footprint::word& w : s.touched->words)
    text += (&w == &s.touched->words[0] ? "; " : ", ") +
            std::string(w.wrote ? "writes " : "reads ") + known.data(w.at);
  return text;
}

// What a step is about. The word that a join awaits is of the thread that has set it: another one
// may have its record since, which cleared it then.
std::string object_of(const step& s, const std::vector<step>& all, names& known) {
  if (!instrument::is_end_of_thread(s.at)) return known.data(s.at);
  const step& end = s.source != 0 ? all[s.source - 1] : s;
  return end.what == action::store && end.after != 0 ? end_of(end.thread) : "the end of a thread";
}

std::string text_of(const step& s, const std::vector<step>& all, names& known) {
  std::string text = verb(s.what);
  if (s.what == action::fence) return text + " " + name(s.order);
  if (s.what == action::compute) return text;
  if (s.what == action::time) return text + (s.chosen == impatient ? ": much time has passed" : "");
  if (s.what == action::relax)
    return text +
           (s.chosen == impatient ? ": gives up waiting" : " " + known.data(s.at) + ": news");
  if (s.what == action::transaction) return text + transaction_text(s, known);
  text += " " + object_of(s, all, known);
  switch (s.what) {
    case action::load: text += std::string(" ") + name(s.order) + ": " + value_of(s.before); break;
    case action::store:
      text += std::string(" ") + name(s.order) + ": " + value_of(s.after);
      if (s.stale != 0)
        text += " (" + std::to_string(s.stale) + " later in its modification order)";
      break;
    case action::modify:
      text +=
          std::string(" ") + name(s.order) + ": " + value_of(s.before) + " to " + value_of(s.after);
      break;
    case action::compare_exchange:
      text += std::string(" ") + name(s.order) + ": " +
              (s.wrote ? value_of(s.before) + " to " + value_of(s.after)
                       : "fails, finds " + value_of(s.before));
      break;
    case action::await:
      text += std::string(" ") + name(s.order) +
              (s.chosen == too_late ? ": comes too late"
               : s.result == 1      ? ": time is over"
                                    : ": " + value_of(s.before));
      break;
    case action::take:
      text += s.result == 1 ? ": time is over, finds " + value_of(s.before)
                            : ": " + value_of(s.before) + " to " + value_of(s.after);
      break;
    case action::park:
      text += s.where == memory::none ? ": is in the queue"
              : s.result == 0         ? ": sleeps, finds " + value_of(s.before)
                                      : ": does not sleep, finds " + value_of(s.before);
      break;
    case action::arrive: text += ": as number " + std::to_string(s.result + 1); break;
    case action::leave: text += s.result == 1 ? ": is the one" : ""; break;
    case action::share:
    case action::unshare: text += s.expected != 0 ? ": exclusively" : ": as a reader"; break;
    case action::expire: text += s.result == 1 ? ": time is over" : ": wakes without cause"; break;
    case action::wake:
    case action::requeue: text += ": " + std::to_string(s.result); break;
    default: break;
  }
  return text + old_message(s);
}

// What a thread waits for.
std::string awaited(const operation& next, names& known) {
  if (!instrument::is_end_of_thread(next.at))
    return "a value of " + known.data(next.at) + ", now " +
           value_of(memory::peek(next.at, next.bytes));
  const auto* const record =
      instrument::find_record(next.at - offsetof(instrument::thread_record, ended));
  return record != nullptr ? end_of(record->index) : "the end of a thread";
}

std::string state_of(const failure::thread_end& t, names& known) {
  if (t.running) return "runs";
  if (t.ended) return "has ended";
  if (t.next.what == action::none) return "has been woken";
  // The word is of the thread's record here, no variable of the program.
  if (t.next.what == action::store && instrument::is_end_of_thread(t.next.at))
    return "is about to end, " + known.code(t.next.from, t.next.callers);
  std::string text = t.reads_nothing ? "goes round in a loop that reads nothing any more"
                     : t.spins       ? "spins, and nobody changes what it polls"
                     : t.parked      ? "is parked on " + known.data(t.next.at)
                     : t.next.what == action::leave ? "waits for others at " + known.data(t.next.at)
                     : t.next.what == action::share ? "waits to have " + known.data(t.next.at)
                     : t.next.what == action::await || t.next.what == action::take
                         ? "waits for " + awaited(t.next, known)
                         : std::string("is about to ") + verb(t.next.what) +
                               (t.next.at != 0 ? " " + known.data(t.next.at) : "");
  return text + ", " + known.code(t.next.from, t.next.callers);
}

}  // namespace

std::string without_arguments(const std::string& name) {
  std::string text;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool is_operator = text.ends_with("operator") || text.ends_with("operator<") ||
                             (c == '>' && i != 0 && name[i - 1] == '-');
    if (c == '<' && !is_operator) ++depth;
    if (depth == 0) text += c;
    if (c == '>' && !is_operator && depth > 0) --depth;
  }
  return text;
}

// Whose release sequences the program's stores have continued.
static const char* languages(const verdict& v) {
  if (!v.stores.cxx11) return "C++20 and C23";
  return v.stores.cxx20 ? "C++17 and C17 in some files" : "C++17 and C17";
}

// The first few.
static std::string listed(const std::vector<std::string>& all) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < all.size() && i < most; ++i) text += (i == 0 ? "" : ", ") + all[i];
  if (all.size() > most) text += " and " + grouped(all.size() - most) + " more";
  return text;
}

// Where annotations order what nothing else does, sorted: several processes find them in any order.
static std::set<std::string> places_believed(const verdict& v) {
  std::set<std::string> places;
  for (const place each : v.believed) places.insert(instrument::place_name(each));
  return places;
}
static std::string believed(const verdict& v) {
  const std::set<std::string> places = places_believed(v);
  if (places.empty()) return {};
  return ", believed: order that annotations claim at " + listed({places.begin(), places.end()}) +
         " (claims=0 doubts it)";
}

// Of the program's own code.
static std::string not_seen(const verdict& v) {
  std::string text;
  const auto add = [&](const std::string& what) {
    text += text.empty() ? ", not seen: " : "; ";
    text += what;
  };
  if (v.structs_unseen) add("structs that calls take or return by value");
  if (!v.calls.empty()) add("what these write: " + listed(v.calls));
  if (!v.assembly.empty()) add("inline assembly at " + listed(v.assembly));
  return text;
}

std::string summary(const verdict& v, const options& o, const std::string& weakened) {
  std::string text = "syncopate: explored: ";
  text += name(v.how);
  if (v.how == result::failed) text += std::string(": ") + name(v.what.kind);
  text += ": " + grouped(v.executions) + " executions";
  text += " (" + grouped(v.redundant) + " redundant, " + grouped(v.cut) + " cut), ";
  text += grouped(v.steps) + " steps, " + std::to_string(v.threads) + " threads";
  const auto at_most = [&](const char* what, unsigned most) {
    text += std::string(", ") + what + " at most " + std::to_string(most);
  };
  if (v.withheld.timeouts) at_most("timeouts", o.timeouts);
  if (v.withheld.jumps) at_most("jumps", o.jumps);
  if (v.withheld.looks) at_most("looks", o.looks);
  if (v.withheld.turns) at_most("turns", static_cast<unsigned>(o.turns));
  if (v.withheld.spurious) at_most("spurious", o.spurious);
  if (v.transactions) at_most("aborts", o.aborts);
  if (v.stores.cxx11)
    text += std::string(", release sequences of ") + languages(v) +
            (v.withheld.sequences ? ", broken only before they are read" : "");
  if (v.ignored) text += ", not modeled: old values in races that the program calls benign";
  if (v.load_buffering) text += ", not modeled: load buffering";
  if (v.sc_orders) text += ", not modeled: some orders of seq_cst";
  if (v.signals) text += ", not modeled: when and where signals come";
  text += believed(v) + not_seen(v) + weakened;
  if (!v.bound.empty()) text += "; limit: " + v.bound;
  return text + "\n";
}

std::string advice(const verdict& v, const options& o) {
  if (v.how != result::bounded) return "";
  std::string text;
  if (v.endless.computes) {
    text = "  thread " + std::to_string(v.endless.thread) + " computes on and on, " +
           names().code(v.endless.at, v.endless.callers) +
           ", and does nothing that another thread could wait for.\n"
           "  If it waits for another thread, let it do so by an atomic variable\n";
  } else if (v.endless.at != nullptr) {
    names known;
    text = "  thread " + std::to_string(v.endless.thread) + " goes round in a loop, " +
           known.code(v.endless.at, v.endless.callers) + ", until " + std::to_string(o.steps) +
           " steps are made.\n  If it waits for another thread, let it call sched_yield(),"
           " std::this_thread::yield() or relax();\n  if it tries again and again, give it fewer"
           " turns in a test, or look at some executions: --set random=1\n";
  }
  const bool is_calm = o.timeouts == 0 && o.jumps == 0;
  if (v.bound == "time" && !is_calm && (v.withheld.timeouts || v.withheld.jumps))
    text += "  A calmer environment ends sooner: --set timeouts=0,jumps=0,aborts=1\n";
  return text;
}

std::string describe(const failure& f, std::size_t most_steps) {
  names known;
  std::string text = std::string("syncopate: ") + name(f.kind) + ": " + f.text;
  const std::string object = names::object(f.object);
  text += (object.empty() ? "" : ": " + object) + "\n";
  if (f.where != nullptr)
    text += "  thread " + std::to_string(f.thread) + ", " + known.code(f.where, f.callers) + "\n";
  if (f.other != nullptr) text += "  the other: " + known.code(f.other) + "\n";

  std::size_t widest = 0;
  std::vector<std::string> operations;
  const std::size_t from = f.steps.size() > most_steps ? f.steps.size() - most_steps : 0;
  for (std::size_t i = from; i < f.steps.size(); ++i) {
    operations.push_back(text_of(f.steps[i], f.steps, known));
    widest = std::max(widest, std::min<std::size_t>(operations.back().size(), 70));
  }
  text += "\n  step  thread  operation" + std::string(widest > 9 ? widest - 9 : 0, ' ') + "  at\n";
  if (from != 0) text += "   ...  (" + std::to_string(from) + " steps before)\n";
  for (std::size_t i = from; i < f.steps.size(); ++i) {
    const std::string& operation = operations[i - from];
    char start[48];
    std::snprintf(start, sizeof start, "  %4zu  %6u  ", i + 1, f.steps[i].thread);
    text += start + operation;
    if (f.steps[i].from != nullptr)
      text += std::string(operation.size() < widest ? widest - operation.size() : 0, ' ') + "  " +
              known.code(f.steps[i].from, f.steps[i].callers);
    text += '\n';
  }
  text += '\n';
  for (std::size_t t = 0; t < f.threads.size(); ++t)
    text += "  thread " + std::to_string(t) + " " + state_of(f.threads[t], known) + "\n";
  text += known.legend();
  text += "\n  To repeat it: SYNCOPATE_SCHEDULE='" + f.schedule + "'\n";
  return text;
}

std::string as_json(const verdict& v, const options& o, const std::string& weakened) {
  json_writer json;
  json.begin_object();
  json.member("machine", "explored");
  json.member("verdict", name(v.how));
  if (!v.bound.empty()) json.member("bound", v.bound);
  json.member("executions", v.executions);
  json.member("redundant", v.redundant);
  json.member("cut", v.cut);
  json.member("steps", v.steps);
  json.member("longest", v.longest);
  json.member("threads", v.threads);
  json.member("seconds", v.seconds);
  json.key("within");
  json.begin_object();
  json.member("timeouts", o.timeouts);  // of a thread, as jumps
  json.member("jumps", o.jumps);
  json.member("looks", o.looks);
  if (o.turns >= 0) json.member("turns", o.turns);
  json.member("spurious", o.spurious);
  if (v.transactions) json.member("aborts", o.aborts);
  json.member("steps", o.steps);
  json.member("preemptions", o.preemptions);
  json.member("random", o.random);
  json.member("seed", o.seed);
  json.end_object();
  json.key("withheld");  // what could have happened beyond that
  json.begin_array();
  if (v.withheld.timeouts) json.value("timeouts");
  if (v.withheld.jumps) json.value("jumps");
  if (v.withheld.looks) json.value("looks");
  if (v.withheld.turns) json.value("turns");
  if (v.withheld.spurious) json.value("spurious");
  if (v.withheld.sequences) json.value("sequences");
  json.end_array();
  json.member("release_sequences", languages(v));
  json.key("not_modeled");  // of what could matter to this program
  json.begin_array();
  if (v.ignored) json.value("benign races");
  if (v.load_buffering) json.value("load buffering");
  if (v.sc_orders) json.value("orders of seq_cst");
  if (v.signals) json.value("signals");
  json.end_array();
  json.key("believed");  // where annotations claim order that accesses do not give
  json.begin_array();
  for (const std::string& each : places_believed(v)) json.value(each);
  json.end_array();
  json.key("not_seen");  // of the program's own code
  json.begin_array();
  if (v.structs_unseen) json.value("structs by value");
  for (const std::string& each : v.calls) json.value("what " + each + " writes");
  for (const std::string& each : v.assembly) json.value("inline assembly at " + each);
  json.end_array();
  if (!weakened.empty()) json.member("weakened", weakened);
  if (v.how == result::failed) {
    json.key("failure");
    json.begin_object();
    json.member("kind", name(v.what.kind));
    json.member("text", v.what.text);
    json.member("thread", v.what.thread);
    if (v.what.where != nullptr) json.member("at", code_position(v.what.where, v.what.callers));
    if (v.what.other != nullptr) json.member("other", instrument::code_name(v.what.other));
    if (const std::string object = names::object(v.what.object); !object.empty())
      json.member("object", object);
    json.member("schedule", v.what.schedule);
    json.end_object();
  }
  json.end_object();
  return json.text() + "\n";
}

}  // namespace syncopate::explored
