// preparation.h -- the environment with the preload library, as `run` and `record` share it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launcher/environment.h"
#include "launcher/options.h"
#include "launcher/place.h"

namespace syncopate::launcher {

// These variables with the preload library among them, and the lock: --lock's, else
// $SYNCOPATE_LOCK's, else `unless_said`. Nothing where something is not plain: a variable that
// nothing reads, or nothing that is loaded, a lock of another name, a prefix that was chosen.
std::optional<environment> prepare(const place& at, const command_line& said,
                                   std::string_view unless_said, char** variables);

// Lets one process alone say that nothing can be elided, where it is asked for.
void say_once(environment& environment);

// The program that is meant, if it is a plain one; else "".
std::string plain_program(const command_line& said, const environment& environment);

}  // namespace syncopate::launcher
