// genome.cpp -- puts a gene together from overlapping pieces of it: medium transactions on hash
// tables, with few conflicts.
//
// Source        STAMP (Cao Minh et al., IISWC 2008): phase 1 removes duplicate
//               segments, a dozen per transaction; phase 2 enters each segment's beginnings, of
//               each length, in a table of that length, and then, from the longest overlap to the
//               shortest, links a segment to one that begins as it ends; phase 3 reads the gene off
//               the chain.
// Deviations    Strings are constant, so comparing them is not part of a transaction. Where random
//               segments would leave an overlap shorter than half a segment, the generator adds
//               some. Segments that are linked already are passed over one by one, not by jump
//               pointers.
// Check         The result is the gene.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "containers/hash_table.h"
#include "program.h"
#include "transaction.h"

namespace {

using namespace workloads::stamp;
using std::size_t;
using std::uint32_t;
using std::uint64_t;

const parameters known{
    {"small", "tiny", "sim", "sim+", "paper", "large"},
    {{"gene",
      "nucleotides of the gene (suite: -g)",
      {"8192", "96", "256", "512", "16384", "65536"}},
     {"segment", "nucleotides of a segment (suite: -s)", {"32", "16", "16", "32", "64", "64"}},
     {"segments",
      "number of segments, with duplicates (suite: -n)",
      {"1048576", "1000", "16384", "32768", "16777216", "33554432"}}}};

size_t segment_length = 0;  // constant once threads run

TRANSACTION_PURE bool before(const char* a, const char* b) {
  return std::memcmp(a, b, segment_length) < 0;
}
TRANSACTION_PURE uint64_t hash_of(const char* text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < segment_length; ++i)
    hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001b3u;
  return hash ^ hash >> 32;
}

struct text_hash {
  size_t operator()(const char* text) const { return hash_of(text); }
};
struct text_less {
  bool operator()(const char* a, const char* b) const { return before(a, b); }
};

// A segment in phase 2. Chains: the first entry knows the last one, and the reverse.
struct entry {
  const char* text;
  std::vector<uint64_t> prefix_hash;  // of the first 0, 1, ... nucleotides
  shared<entry*> next = nullptr;
  shared<bool> has_previous = false;
  uint32_t overlap = 0;                      // with next
  shared<entry*> first = this, last = this;  // of its chain; right at its ends
};

// A beginning of a segment: different ones of equal hash are in the order of their addresses.
struct beginning {
  uint64_t hash;
  entry* of;
  bool operator<(const beginning& b) const { return hash != b.hash ? hash < b.hash : of < b.of; }
};
struct beginning_hash {
  size_t operator()(const beginning& b) const { return b.hash ^ b.hash >> 32; }
};
using beginnings = hash_table<beginning, char, beginning_hash>;

class sequencer {
 public:
  sequencer(program& p, const std::vector<const char*>& segments, size_t positions)
      : p_(p),
        segments_(segments),
        unique_(positions),
        mine_(p.threads()),
        tables_(segment_length),
        powers_(segment_length + 1, 1) {
    for (size_t j = 1; j < segment_length; ++j) {
      tables_[j] = std::make_unique<beginnings>(positions);
      powers_[j] = powers_[j - 1] * base;
    }
    powers_[segment_length] = powers_[segment_length - 1] * base;
  }

  uint64_t work(uint32_t thread) {
    uint64_t transactions = remove_duplicates(thread);
    p_.barrier();
    transactions += enter_beginnings(thread);
    p_.barrier();
    for (size_t overlap = segment_length - 1; overlap > 0; --overlap) {
      transactions += link(thread, overlap);
      p_.barrier();
    }
    if (thread == 0) read_off();
    return transactions;
  }

  std::string gene;
  size_t entries() const {
    size_t sum = 0;
    for (const auto& list : mine_) sum += list.size();
    return sum;
  }

 private:
  static constexpr uint64_t chunk = 12;  // the suite's
  static constexpr uint64_t base = 0x9e3779b97f4a7c15u;

  uint64_t remove_duplicates(uint32_t thread) {
    const auto part = p_.part(thread, segments_.size());
    uint64_t transactions = 0;
    for (uint64_t i = part.first; i < part.last; i += chunk, ++transactions) {
      const uint64_t last = std::min(i + chunk, part.last);
      const char* const* const segments = segments_.data();
      TRANSACTION {
        for (uint64_t s = i; s < last; ++s) unique_.insert(segments[s], 0);
      };
    }
    return transactions;
  }

  uint64_t enter_beginnings(uint32_t thread) {
    const auto part = p_.part(thread, unique_.buckets());
    for (uint64_t b = part.first; b < part.last; ++b)
      for (auto* n = unique_.at(b).first(); n != nullptr; n = n->next) {
        entry& e = mine_[thread].emplace_back();
        e.text = n->key;
        e.prefix_hash.push_back(0);
        for (size_t i = 0; i < segment_length; ++i)
          e.prefix_hash.push_back(e.prefix_hash[i] * base + static_cast<unsigned char>(e.text[i]));
      }
    for (entry& e : mine_[thread])
      for (size_t j = 1; j < segment_length; ++j) {
        const beginning key{e.prefix_hash[j], &e};
        beginnings& table = *tables_[j];
        TRANSACTION { table.insert(key, 0); };
      }
    return mine_[thread].size() * (segment_length - 1);
  }

  // Links each entry of ours without a next one to one that begins as it ends.
  uint64_t link(uint32_t thread, size_t overlap) {
    uint64_t transactions = 0;
    const beginnings& table = *tables_[overlap];
    for (entry& e : mine_[thread]) {
      if (e.next != nullptr) continue;
      const uint64_t hash = e.prefix_hash[segment_length] -
                            e.prefix_hash[segment_length - overlap] * powers_[overlap];
      const auto& bucket = table.at(beginning_hash{}({hash, nullptr}) & (table.buckets() - 1));
      const char* const end = e.text + segment_length - overlap;
      bool linked = false;
      for (auto* n = bucket.first(); n != nullptr && !linked; n = n->next) {
        entry* const start = n->key.of;
        if (n->key.hash != hash || std::memcmp(start->text, end, overlap) != 0) continue;
        TRANSACTION { linked = join(&e, start); };
        ++transactions;
      }
      if (linked) e.overlap = static_cast<uint32_t>(overlap);
    }
    return transactions;
  }

  // False where `start` has a previous one, or the chain would become a ring.
  static bool join(entry* end, entry* start) {
    entry* const first = end->first;
    if (start->has_previous || first == start) return false;
    entry* const last = start->last;
    start->has_previous = true;
    end->next = start;
    first->last = last;
    last->first = first;
    return true;
  }

  void read_off() {
    for (const auto& list : mine_)
      for (const entry& e : list) {
        if (e.has_previous) continue;
        for (const entry* at = &e; at != nullptr; at = at->next) {
          gene.append(at->text,
                      at->next != nullptr ? segment_length - at->overlap : segment_length);
        }
      }
  }

  program& p_;
  const std::vector<const char*>& segments_;
  hash_table<const char*, char, text_hash, text_less> unique_;
  std::vector<std::deque<entry>> mine_;  // each thread's; entries never move
  std::vector<std::unique_ptr<beginnings>> tables_;
  std::vector<uint64_t> powers_;
};

std::vector<const char*> cut(program& p, const std::string& gene) {
  auto random = p.random(-2);
  const size_t positions = gene.size() - segment_length + 1;
  const size_t most_apart = std::max<size_t>(1, segment_length / 2);
  std::vector<bool> taken(positions);
  std::vector<const char*> result;
  const auto take = [&](size_t at) {
    result.push_back(gene.data() + at);
    taken[at] = true;
  };
  take(0);
  take(positions - 1);
  for (uint64_t n = p.number("segments", 2); result.size() < n;) take(random.below(positions));
  for (size_t at = 0, last = 0; at < positions; ++at) {
    if (!taken[at] && at - last >= most_apart) take(at);
    if (taken[at]) last = at;
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  program p(argc, argv, "genome",
            "Puts a gene together from pieces; transactions fill hash tables and link segments.",
            known);
  segment_length = p.number("segment", 2);
  if (p.number("gene") < segment_length) p.refuse("--gene is at least --segment");
  std::string gene(p.number("gene"), ' ');
  auto random = p.random();
  for (char& c : gene) c = "acgt"[random.below(4)];
  const std::vector<const char*> segments = cut(p, gene);

  sequencer s(p, segments, gene.size() - segment_length + 1);
  p.run([&](uint32_t thread) { return s.work(thread); });
  if (p.inject_error()) s.gene[s.gene.size() / 2] ^= 1;
  p.result("segments", segments.size());
  p.result("unique_segments", s.entries());
  p.result("length", s.gene.size());
  return p.finish(s.gene == gene);
}
