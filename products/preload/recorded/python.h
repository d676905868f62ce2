// python.h -- the functions of Python that a thread is in, where its locks are made, waited for
// and released.
#pragma once

namespace syncopate::shim {

// Whether a call of sem_init() makes a lock of Python's. From the first such on, stacks may have
// Python's functions in them.
bool makes_pythons_lock(const void* caller) noexcept;
// Whether a call for a semaphore that processes share is made for a lock of multiprocessing's.
bool uses_pythons_lock(const void* caller) noexcept;

}  // namespace syncopate::shim
