// memory_resources.h -- std::pmr's resources, whose code the C++ library has compiled.
#pragma once

namespace syncopate::instrument {

// Once, before the program begins: from now on each of its calls of a resource that no two threads
// may use at once is a write to it.
void watch_memory_resources();

}  // namespace syncopate::instrument
