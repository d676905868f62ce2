// callers.h -- which call of the program a call of pthread comes from.
#pragma once

#include "model/front/engine.h"

namespace syncopate::instrument {

// `where`, or if that lies in the C++ library, where the program called the C++ library: the place
// of t.join() instead of that in std::thread::join(). Unwinds the stack, for microseconds: not for
// what programs do often.
engine::place program_caller(engine::place where);

}  // namespace syncopate::instrument
