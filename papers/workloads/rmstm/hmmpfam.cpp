// hmmpfam.cpp -- to which families of a database a sequence belongs.
//
// Source      Yoo et al., SC 2013, section 4.3, after RMS-TM's Hmmpfam (Kestor et al., 2011;
//             BioPerf's, from HMMER 2): for each sequence, threads take models from the database,
//             align the sequence with them, and put those that score well into the list of hits.
//             Written anew from those descriptions.
// Sections    The next model (allocates; reads it from a file: some 6 KB); a hit's place in the
//             list (allocates; writes a line to a file).
// Deviations  Models and sequences are random (profile.h); no null model, no E-values.
// Check       The list and the lines, from a run by one thread without sections.
#include <deque>

#include "profile.h"
#include "workpile.h"

namespace {
using namespace workloads;
using namespace workloads::rmstm;

struct classification {
  const std::vector<profile>& database;
  const std::vector<sequence>& queries;
  std::int32_t threshold;

  template <class Sections>
  std::vector<std::string> run(team& threads, resources inside) const {
    std::deque<workpile<Sections, profile>> piles;  // one a query, as the program reads them anew
    for (std::size_t i = 0; i < queries.size(); ++i) piles.emplace_back(database, inside);
    hit_list<Sections> hits(inside, threads.threads());
    threads.run([&](std::uint32_t me) {
      std::uint64_t sections = 0;
      fresh<profile> profiles(inside.memory);
      fresh<hit> new_hits(inside.memory);
      viterbi align;
      for (std::size_t q = 0; q < queries.size(); ++q) {
        while (const auto model = piles[q].next(profiles)) {
          const std::int32_t score = align.score(*model, queries[q]);
          ++sections;
          if (score < threshold) continue;
          hits.insert({.score = score, .sequence = queries[q].number, .model = model->number},
                      new_hits, me);
          ++sections;
        }
        threads.meet();
      }
      return sections;
    });
    return hits.all();
  }
};
}  // namespace

int main(int argc, char** argv) {
  const sized counts{"models", "of the database", {600, 5'000, 40'000}};
  const sized query_counts{"queries", "sequences to find families for", {4, 8, 16}};
  const sized lengths{"length", "of a sequence", {100, 200, 250}};
  const options o(argc, argv, "Threads find the families of sequences (hmmpfam).",
                  option_list({counts, query_counts, lengths}));
  const std::uint64_t seed = o.number("seed"), length = lengths.of(o);
  if (length > most_length) o.refuse("--length needs 1 to 256");
  std::vector<profile> database(counts.of(o));
  for (std::uint32_t i = 0; i < database.size(); ++i) database[i] = make_profile(i, 48, seed);
  std::vector<sequence> queries(query_counts.of(o));
  random_numbers random(seed, 1);
  for (std::uint32_t i = 0; i < queries.size(); ++i)
    make_sequence(queries[i], i, static_cast<std::uint32_t>(length), random,
                  &database[random.below(database.size())]);
  const classification program{.database = database, .queries = queries, .threshold = 12'000};
  return run_and_check("hmmpfam", o, program);
}
