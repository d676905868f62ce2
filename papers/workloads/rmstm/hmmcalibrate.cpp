// hmmcalibrate.cpp -- which scores a model gives to random sequences: their distribution tells
// later how much a score means.
//
// Source      Yoo et al., SC 2013, section 4.3, after RMS-TM's Hmmcalibrate (Kestor et al., 2011;
//             BioPerf's, from HMMER 2): each worker makes the next random sequence under a lock,
//             aligns it with the model, and adds its score to the histogram under another one.
//             Written anew from those descriptions.
// Sections    The next random sequence (allocates; advances the shared generator); a score in the
//             histogram, and each hundredth sample's line (writes to a file).
// Deviations  Those lines, in place of the model's file with what was fitted.
// Check       Histogram, lines, and the fitted distribution (method of moments), from a run by one
//             thread without sections.
#include <cmath>

#include "profile.h"
#include "program.h"

namespace {
using namespace workloads;
using namespace workloads::rmstm;

struct calibration {
  const profile& model;
  std::uint32_t samples, length;
  std::uint64_t seed;

  template <class Sections>
  std::vector<std::string> run(team& threads, resources inside) const {
    generator<Sections> source{.left = samples, .random = random_numbers(seed, 1)};
    distribution<Sections> scores{.bins = std::vector<std::uint32_t>(256)};
    result_lines lines(inside.files, threads.threads());
    threads.run([&](std::uint32_t me) {
      std::uint64_t sections = 1;
      fresh<sequence> memory(inside.memory);
      viterbi align;
      while (const auto next = source.next(length, memory)) {
        const std::int32_t score = align.score(model, *next);
        std::string line = std::to_string(next->number) + ": " + std::to_string(score) + '\n';
        const auto held = Sections::hold(scores.lock);
        ++scores.bins[static_cast<std::size_t>(std::clamp(score / 250 + 64, 0, 255))];
        if (next->number % 100 == 0) lines.put(me, std::move(line));
        sections += 2;
      }
      return sections;
    });
    std::vector<std::string> all = lines.sorted();
    for (const std::uint32_t each : scores.bins) all.push_back(std::to_string(each));
    all.push_back(scores.fit(samples));
    return all;
  }

 private:
  template <class Sections>
  struct generator {
    alignas(64) typename Sections::lock lock{};
    std::uint32_t left;
    random_numbers random;

    std::unique_ptr<sequence> next(std::uint32_t length, fresh<sequence>& memory) {
      memory.prepare();
      const auto held = Sections::hold(lock);
      if (left == 0) return nullptr;
      std::unique_ptr<sequence> result(memory.take());
      make_sequence(*result, --left, length, random, nullptr);
      return result;
    }
  };

  template <class Sections>
  struct distribution {
    alignas(64) typename Sections::lock lock{};
    std::vector<std::uint32_t> bins;

    // Place and scale of an extreme value distribution with the histogram's mean and variance.
    [[nodiscard]] std::string fit(std::uint32_t count) const {
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < bins.size(); ++i) {
        const double at = static_cast<double>(i);
        sum += at * bins[i];
        squares += at * at * bins[i];
      }
      const double mean = sum / count, variance = squares / count - mean * mean;
      const double scale = std::sqrt(6 * std::max(variance, 0.0)) / 3.14159265358979;
      return std::to_string(mean - 0.5772156649 * scale) + ' ' + std::to_string(scale);
    }
  };
};
}  // namespace

int main(int argc, char** argv) {
  const sized counts{"samples", "random sequences", {3'000, 50'000, 500'000}};
  const sized lengths{"length", "of a sequence", {100, 200, 250}};
  const options o(argc, argv, "Threads score random sequences with a model (hmmcalibrate).",
                  option_list({counts, lengths}));
  const std::uint64_t seed = o.number("seed"), length = lengths.of(o);
  if (length > most_length) o.refuse("--length needs 1 to 256");
  if (counts.of(o) > 1'000'000'000) o.refuse("--samples needs 1 to 1000000000");
  const profile model = make_profile(0, 48, seed);
  const calibration program{.model = model,
                            .samples = static_cast<std::uint32_t>(counts.of(o)),
                            .length = static_cast<std::uint32_t>(length),
                            .seed = seed};
  return run_and_check("hmmcalibrate", o, program);
}
