// environment.h -- the variables of a program that is going to be started.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace syncopate::launcher {

class environment {
 public:
  // Of what main() got: `environ` is another variable where a program was linked for an older C
  // library. Of a variable that is there twice the first holds, as for the Python command.
  explicit environment(char** variables);

  // "" where it is not set.
  [[nodiscard]] std::string_view get(std::string_view variable) const;
  [[nodiscard]] bool has(std::string_view variable) const { return find(variable) != npos; }
  void set(std::string_view variable, std::string_view text);
  void drop(std::string_view variable);

  // Whether a variable is set as if it were ours, and stands in no table (base/options.def).
  [[nodiscard]] bool has_unknown() const;
  // Whether one is set that only the OpenMP library reads, which `run` and `record` load on demand.
  [[nodiscard]] bool has_openmp() const;

  // Puts a library before whatever else is preloaded. Requires: no blank, colon or semicolon in it.
  void preload(std::string_view library);

  // As execve() takes it; valid until the next change.
  [[nodiscard]] std::vector<char*> for_exec();

 private:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  [[nodiscard]] std::size_t find(std::string_view variable) const;

  std::vector<std::string> entries_;  // NAME=TEXT
};

}  // namespace syncopate::launcher
