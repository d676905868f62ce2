// ignored_result.h -- whether the program looks at what a call returns.
#pragma once

namespace syncopate::instrument {

// Whether the code at `where`, to which a call of a function that returns an int comes back, cannot
// look at what was returned: it loses it first. False if that is not clear.
bool ignores_result(const void* where);

}  // namespace syncopate::instrument
