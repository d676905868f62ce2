// registry.h -- the list of threads, for the files that change it.
#pragma once

#include <mutex>

#include "real_mutex.h"
#include "thread.h"

namespace syncopate::emulated {

// Guards the list's members, the slots' owners and the names of blocks and threads. Taken within a
// runtime_scope only: a signal's handler would wait for its own thread otherwise.
extern constinit real_mutex registry;

void make_registry() noexcept;
void leave_thread(thread&) noexcept;

}  // namespace syncopate::emulated
