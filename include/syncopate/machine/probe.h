// probe.h -- what this machine can really do, each answer with its reason.
//
// A feature counts as usable when it was tried here and worked. Neither CPUID alone nor the
// presence of a neighboring feature decides: hypervisors and microcode report instructions that
// always abort or raise SIGILL. The instructions are tried in a child process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace syncopate::machine {

struct capability {
  std::string_view name;     // "rtm", "waitpkg", "monitorx", "invariant_tsc", "fsgsbase", ...
  bool usable;               // it was tried here and worked
  std::string reason;        // what was observed; never empty
  std::string_view meaning;  // what it decides for the user; never empty
};

// Tries every feature once more. Blocking (a few milliseconds), allocates, not
// async-signal-safe; safe to call while other threads run. Throws std::bad_alloc only.
[[nodiscard]] std::vector<capability> probe();

// Whether the named feature is usable: probed at the first call, remembered after.
// Returns false for a name that probe() does not know.
[[nodiscard]] bool usable(std::string_view name);

}  // namespace syncopate::machine
