// program.h -- what the RMS-TM-like programs share: how their critical sections are synchronized,
// memory and file writes inside them, a team of threads, and the comparison at the end.
//
// Source: Yoo, Hughes, Lai & Rajwar, "Performance Evaluation of Intel Transactional Synchronization
// Extensions for High-Performance Computing", SC 2013, section 4.3, after Kestor et al., "RMS-TM",
// WOSP/SIPEW 2011. --variant is one of the paper's:
//   fgl    fine-grained locks: a mutex for each object
//   sgl    a single global lock around each of the same sections
//   tsx    that one, elided: five attempts, then the lock
// --memory 1 and --files 1 are the paper's setting (its flags TM-MEM and TM-FILE off): sections
// call malloc, and write(2) where they have results. With 0, they find memory that was made ready
// outside, and leave their results in memory.
//
// A program is a struct with
//   Answer run<Sections>(team&, resources) const    Answer has ==; all variants give the same
// which is called twice: as the command line says, and by one thread without synchronization.
#pragma once

#include "../common.h"
#include "../presets.h"
#include "../sections.h"

#include <syncopate/barriers/central_barrier.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace workloads::rmstm {

// ---- sections: how an object is locked ---------------------------------------------------------
// Each has
//   lock              what an object holds to be locked
//   hold(lock&)       a guard, for as long as it lives

struct no_sections {
  using lock = no_lock;
  struct guard {
    ~guard() {}  // a variable of this type is used, as far as compilers see
  };
  static guard hold(lock&) { return {}; }
};

struct fine_sections {
  using lock = std::mutex;
  static std::unique_lock<lock> hold(lock& one) { return std::unique_lock(one); }
};

struct alignas(128) single_lock {
  std::mutex lock;
};
inline single_lock single;

struct global_sections {
  using lock = no_lock;
  static std::unique_lock<std::mutex> hold(lock&) { return std::unique_lock(single.lock); }
};

struct elided_sections {
  using lock = no_lock;
  static std::unique_lock<elided_lock> hold(lock&) { return std::unique_lock(program.lock); }
};

// ---- memory and files in sections --------------------------------------------------------------

struct resources {
  bool memory, files;  // in sections
};

// One thread's new objects of a type.
template <class T>
class fresh {
 public:
  explicit fresh(bool inside) : inside_(inside) {}
  // Before the section.
  void prepare() {
    if (!inside_ && spare_ == nullptr) spare_ = std::make_unique<T>();
  }
  // In the section, once after each prepare(). The object is the caller's.
  T* take() { return inside_ ? new T : spare_.release(); }

 private:
  const bool inside_;
  std::unique_ptr<T> spare_;
};

// Ends the program with one line: in a section of some thread nobody could go on.
[[noreturn]] inline void lose_file(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  std::_Exit(3);
}

// Lines that threads write as they find them: into a file, in the section, or into memory. The file
// has no name, and is gone when the program ends.
class result_lines {
 public:
  // Ends the program where no file can be made or written.
  result_lines(bool in_file, std::uint32_t threads) : kept_(threads) {
    if (in_file && (file_ = std::tmpfile()) == nullptr) lose_file("cannot make a temporary file");
  }
  ~result_lines() {
    if (file_ != nullptr) (void)std::fclose(file_);
  }
  result_lines(const result_lines&) = delete;
  result_lines& operator=(const result_lines&) = delete;

  // Requires: the section that protects the file is held; the line ends in a newline, its only one.
  void put(std::uint32_t thread, std::string&& line) {
    if (file_ == nullptr) return kept_[thread].push_back(std::move(line));
    // Modeled machines take no time for it by themselves; this is about what a short write takes.
    if (syncopate_work != nullptr) syncopate_work(1500);
    errno = ENOSPC;  // what a part of the line written means
    if (::write(fileno(file_), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      lose_file("cannot write a temporary file");
  }

  // All lines, in order of the alphabet.
  [[nodiscard]] std::vector<std::string> sorted() {
    std::vector<std::string> all;
    for (const auto& each : kept_) all.insert(all.end(), each.begin(), each.end());
    if (file_ != nullptr) read_back(all);
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  void read_back(std::vector<std::string>& to) {
    std::rewind(file_);
    std::string line;
    for (int c = std::getc(file_); c != EOF; c = std::getc(file_)) {
      line += static_cast<char>(c);
      if (c == '\n') to.push_back(std::exchange(line, {}));
    }
  }

  std::FILE* file_ = nullptr;
  std::vector<std::vector<std::string>> kept_;  // by thread
};

// ---- threads -----------------------------------------------------------------------------------

class team {
 public:
  // Those of the command line, whose run is measured; or one thread, the caller.
  explicit team(const options& o)
      : options_(&o), threads_(static_cast<std::uint32_t>(o.number("threads", 1))) {}
  team() = default;

  [[nodiscard]] std::uint32_t threads() const { return threads_; }
  // Runs work(thread) -> operations. Requires: called once.
  template <class Work>
  void run(Work work) {
    if (options_ != nullptr) ran_ = run_threads(*options_, work);
    else (void)work(0);
  }
  // Until all threads of run() are here.
  void meet() { together_.arrive_and_wait(); }
  [[nodiscard]] const outcome& ran() const { return ran_; }

 private:
  const options* options_ = nullptr;
  std::uint32_t threads_ = 1;
  syncopate::central_barrier<syncopate::waits::spin_then_park> together_{threads_};
  outcome ran_;
};

// ---- the command line, and the end -------------------------------------------------------------

inline std::vector<option> option_list(const std::vector<sized>& sizes) {
  std::vector<option> result{
      {"variant", "fgl", "fgl: fine-grained locks; sgl: one lock; tsx: that one, elided"},
      {"memory", "1", "1: sections allocate memory; 0: it is made ready outside"},
      {"files", "1", "1: sections write their results to a file; 0: they keep them in memory"},
      threads_option,
      preset_option(),
  };
  for (const sized& each : sizes) result.push_back(each.as_option());
  result.push_back(pin_option);
  result.push_back(seed_option);
  return result;
}

template <class Program>
auto run_variant(const Program& program, const options& o, team& threads, const resources& inside) {
  const std::string& name = o.text("variant");
  if (name == "fgl") return program.template run<fine_sections>(threads, inside);
  if (name == "sgl") return program.template run<global_sections>(threads, inside);
  if (name == "tsx") return program.template run<elided_sections>(threads, inside);
  o.refuse("no variant is called '" + name + "'; there are fgl, sgl and tsx");
}

// Runs it, and compares with what one thread finds. Returns the exit status.
template <class Program>
int run_and_check(const char* name, const options& o, const Program& program) {
  const resources inside{.memory = o.flag("memory"), .files = o.flag("files")};
  team threads(o);
  const auto found = run_variant(program, o, threads, inside);
  team one;
  const auto expected =
      program.template run<no_sections>(one, resources{.memory = false, .files = false});
  return report(name, o, threads.ran(), found == expected,
                member("variant", o.text("variant")) + member("memory", inside.memory ? 1 : 0) +
                    member("files", inside.files ? 1 : 0) + member("results", found.size()));
}

}  // namespace workloads::rmstm
