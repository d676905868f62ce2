// hmmsearch.cpp -- which sequences of a database belong to a family of proteins.
//
// Source      Yoo et al., SC 2013, section 4.3, after RMS-TM's Hmmsearch (Kestor et al., 2011;
//             BioPerf's, from HMMER 2): threads take sequences from the database, align them with
//             the model, and put those that score well into the list of hits. Written anew from
//             those descriptions.
// Sections    The next sequence (allocates; reads it from a file); a hit's place in the list
//             (allocates; writes a line to a file); the histogram of all scores.
// Deviations  Model and sequences are random (profile.h); no null model, no E-values.
// Check       The list, the lines and the histogram, from a run by one thread without sections.
#include "profile.h"
#include "workpile.h"

namespace {
using namespace workloads;
using namespace workloads::rmstm;

struct search {
  const profile& model;
  const std::vector<sequence>& database;
  std::int32_t threshold;

  template <class Sections>
  std::vector<std::string> run(team& threads, resources inside) const {
    workpile<Sections, sequence> pile(database, inside);
    hit_list<Sections> hits(inside, threads.threads());
    typename Sections::lock histogram_lock;
    std::vector<std::uint32_t> histogram(64);
    threads.run([&](std::uint32_t me) {
      std::uint64_t sections = 1;
      fresh<sequence> sequences(inside.memory);
      fresh<hit> new_hits(inside.memory);
      viterbi align;
      while (const auto next = pile.next(sequences)) {
        const std::int32_t score = align.score(model, *next);
        if (score >= threshold) {
          hits.insert({.score = score, .sequence = next->number}, new_hits, me);
          ++sections;
        }
        const auto held = Sections::hold(histogram_lock);
        ++histogram[static_cast<std::size_t>(std::clamp(score / 4000 + 16, 0, 63))];
        sections += 2;
      }
      return sections;
    });
    std::vector<std::string> all = hits.all();
    for (const std::uint32_t each : histogram) all.push_back(std::to_string(each));
    return all;
  }
};
}  // namespace

int main(int argc, char** argv) {
  const sized counts{"sequences", "of the database", {3'000, 50'000, 400'000}};
  const sized lengths{"length", "of a sequence", {100, 200, 250}};
  const sized states{"states", "of the model", {48, 64, 64}};
  const options o(argc, argv, "Threads search a database for members of a family (hmmsearch).",
                  option_list({counts, lengths, states}));
  const std::uint64_t seed = o.number("seed"), length = lengths.of(o);
  if (length > most_length) o.refuse("--length needs 1 to 256");
  if (states.of(o) > most_states) o.refuse("--states needs 1 to 64");
  const profile model = make_profile(0, static_cast<std::uint32_t>(states.of(o)), seed);
  std::vector<sequence> database(counts.of(o));
  random_numbers random(seed, 1);
  for (std::uint32_t i = 0; i < database.size(); ++i)
    make_sequence(database[i], i, static_cast<std::uint32_t>(length), random,
                  random.below(8) == 0 ? &model : nullptr);
  const search program{.model = model, .database = database, .threshold = 20'000};
  return run_and_check("hmmsearch", o, program);
}
