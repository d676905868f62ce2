// fork.h -- a child of fork has one thread: no other one's transaction may be half done in it.
#pragma once

namespace syncopate::emulated {

void watch_forks() noexcept;

}  // namespace syncopate::emulated
