// thread_end.h -- L4: being told when the calling thread ends, whichever way it does.
#pragma once

namespace syncopate::shim {

// The recorder and the guard are told when this thread ends. Safe before the library's constructor
// has run: then they are not.
void watch_for_thread_end() noexcept;

}  // namespace syncopate::shim
