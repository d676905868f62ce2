// shared_objects.h -- what the C++ library lets threads share without a lock of theirs.
#pragma once

namespace syncopate::instrument {

// Tells the machine of std::cout and its like, which any thread may write to, and of the library's
// own variables, which its headers' code looks after: locales, and what they remember.
void tell_of_shared_objects();

}  // namespace syncopate::instrument
