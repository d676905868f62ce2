// intruder.cpp -- network intrusion detection: short transactions on a queue and a search tree that
// all threads share.
//
// Source        STAMP (Cao Minh et al., IISWC 2008), after design 5 of Haagdorens
//               et al.: packets go through capture (one queue), reassembly (a tree of flows, each
//               with a list of its fragments) and detection (signatures in the whole flow). Capture
//               and reassembly are a transaction each, and so is taking a complete flow to
//               detection.
// Deviations    Signatures are words of our own; a preprocessing step turns text to lower case.
//               The bytes of fragments are constant: copying them is not part of the transaction.
// Check         Every flow was put together, and exactly those were reported that the generator
//               spoiled.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "containers/list.h"
#include "containers/queue.h"
#include "containers/red_black_tree.h"
#include "program.h"
#include "transaction.h"

namespace {

using namespace workloads::stamp;
using std::uint32_t;
using std::uint64_t;

const parameters known{{"small", "tiny", "sim", "sim+", "paper", "large"},
                       {{"attacks",
                         "percentage of flows with an attack (suite: -a)",
                         {"10", "10", "10", "10", "10", "10"}},
                        {"length",
                         "most bytes, and so most fragments, of a flow (suite: -l)",
                         {"64", "8", "4", "16", "128", "128"}},
                        {"flows",
                         "number of flows (suite: -n)",
                         {"24576", "150", "2038", "4096", "262144", "1048576"}}}};

constexpr std::string_view signatures[] = {"drop all tables", "../../etc/shadow", "<script>steal",
                                           "format c:",       "xp_shell(",        "%x%x%x%n",
                                           "union select 1",  "chmod 4777 /",     "wget evil.sh",
                                           "jmp esp;nop;nop", "':: or 1=1",       "aaaaaaaa%s"};

struct packet {
  uint32_t flow, fragment, fragments, length;
  const char* data;
};

struct flow {
  list<uint32_t, const packet*> fragments;
  shared<uint32_t> count = 0;
};

struct complete {
  uint32_t flow, length;
  char* data;
};

TRANSACTION_PURE void copy_fragment(char* to, const packet* from) {
  std::memcpy(to, from->data, from->length);
}

bool has_signature(std::string_view text) {
  return std::any_of(std::begin(signatures), std::end(signatures),
                     [text](std::string_view s) { return text.find(s) != std::string_view::npos; });
}

// All flows, in fragments, in random order.
class traffic {
 public:
  explicit traffic(const program& p) : random_(p.random()), spoiled(p.number("flows", 1)) {
    const uint64_t percentage = p.number("attacks"), length = p.number("length", 1);
    if (percentage > 100) p.refuse("--attacks is at most 100");
    texts_.resize(spoiled.size());
    for (uint32_t f = 0; f < spoiled.size(); ++f) {
      spoiled[f] = random_.below(100) < percentage;
      std::string& text = texts_[f];
      if (spoiled[f]) text = signatures[random_.below(std::size(signatures))];
      else do
          text = harmless(length);
        while (has_signature(text));
      for (char& c : text)
        if (random_.below(2) == 0) c = static_cast<char>(std::toupper(c));
      split(f, text);
    }
    for (std::size_t i = packets.size(); i > 1; --i)
      std::swap(packets[i - 1], packets[random_.below(i)]);
  }

 private:
  std::string harmless(uint64_t length) {
    std::string text(1 + random_.below(length), ' ');
    for (char& c : text) c = static_cast<char>(' ' + random_.below('~' - ' '));
    for (char& c : text) c = static_cast<char>(std::tolower(c));
    return text;
  }
  void split(uint32_t flow, const std::string& text) {
    const auto length = static_cast<uint32_t>(text.size());
    const auto count = static_cast<uint32_t>(1 + random_.below(length));
    const uint32_t each = length / count;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t size = i + 1 < count ? each : length - i * each;
      packets.push_back({flow, i, count, size, text.data() + i * each});
    }
  }

  workloads::random_numbers random_;
  std::vector<std::string> texts_;  // where the packets' bytes lie

 public:
  std::vector<bool> spoiled;
  std::vector<packet> packets;
};

class detector {
 public:
  detector(const program& p, const traffic& all) : reported(p.threads()) {
    for (const packet& it : all.packets) captured_.push(&it);
  }

  uint64_t work(uint32_t thread) {
    uint64_t transactions = 0;
    for (;;) {
      const packet* it = nullptr;
      TRANSACTION {
        if (!captured_.pop(it)) it = nullptr;
      };
      ++transactions;
      if (it == nullptr) return transactions;
      TRANSACTION { reassemble(it); };
      complete whole{};
      bool found = false;
      TRANSACTION { found = assembled_.pop(whole); };
      transactions += 2;
      if (found) detect(whole, thread);
    }
  }

  // Flows without fragments left.
  [[nodiscard]] bool finished() const {
    return captured_.empty() && assembled_.empty() && flows_.first() == nullptr;
  }
  // By thread.
  std::vector<std::vector<uint32_t>> reported;
  std::size_t analyzed() const {
    std::size_t sum = 0;
    for (const auto& c : counts_) sum += c;
    return sum;
  }

 private:
  void reassemble(const packet* it) {
    auto* const known_flow = flows_.find(it->flow);
    flow* const to = known_flow != nullptr ? static_cast<flow*>(known_flow->value) : new flow;
    if (known_flow == nullptr) flows_.insert(it->flow, to);
    to->fragments.insert(it->fragment, it);
    to->count = to->count + 1;
    if (to->count == it->fragments) finish(it->flow, to);
  }

  void finish(uint32_t number, flow* done) {
    uint32_t length = 0;
    for (auto* n = done->fragments.first(); n != nullptr; n = n->next) length += n->value->length;
    char* const data = new_array<char>(length);
    uint32_t at = 0;
    for (auto* n = done->fragments.first(); n != nullptr; n = n->next) {
      copy_fragment(data + at, n->value);
      at += n->value->length;
    }
    flows_.erase(number);
    done->fragments.clear();
    delete done;
    assembled_.push({number, length, data});
  }

  void detect(const complete& whole, uint32_t thread) {
    std::string text(whole.data, whole.length);
    delete_array(whole.data);
    for (char& c : text) c = static_cast<char>(std::tolower(c));
    if (has_signature(text)) reported[thread].push_back(whole.flow);
    ++counts_[thread];
  }

  queue<const packet*> captured_;
  red_black_tree<uint32_t, flow*> flows_;
  queue<complete> assembled_;
  std::vector<std::size_t> counts_ = std::vector<std::size_t>(reported.size());
};

}  // namespace

int main(int argc, char** argv) {
  program p(argc, argv, "intruder",
            "Finds attacks in network flows; transactions take, reassemble and pass on packets.",
            known);
  const traffic all(p);
  detector those(p, all);
  p.run([&](uint32_t thread) { return those.work(thread); });

  std::vector<uint32_t> reported, expected;
  for (const auto& list : those.reported) reported.insert(reported.end(), list.begin(), list.end());
  if (p.inject_error()) {
    if (reported.empty()) reported.push_back(0);
    else reported.pop_back();
  }
  std::sort(reported.begin(), reported.end());
  for (uint32_t f = 0; f < all.spoiled.size(); ++f)
    if (all.spoiled[f]) expected.push_back(f);
  p.result("packets", all.packets.size());
  p.result("attacks", reported.size());
  return p.finish(reported == expected && those.finished() &&
                  those.analyzed() == all.spoiled.size());
}
