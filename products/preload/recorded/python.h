// python.h -- the functions of Python that a thread is in, where its locks are made, waited for
// and released.
#pragma once

#include <cstdint>

#include <semaphore.h>

namespace syncopate::shim {

// Whether a call of sem_init() makes a lock of Python's. From the first such on, stacks may have
// Python's functions in them.
bool makes_pythons_lock(const void* caller) noexcept;
// Whether a call of sem_init() makes what the interpreter, from 3.13 on, parks a thread at: each
// wait has a semaphore of its own, in the calling thread's stack.
bool parks_pythons_thread(const void* caller) noexcept;
// The address of the lock, or event, that such a semaphore's thread waits for, as it begins to;
// nullptr: it waits for another's short step in the interpreter, at a semaphore made likewise.
const void* pythons_parked_for(const sem_t*) noexcept;
// The same for who wakes it: some address where it is of that other kind.
const void* pythons_woken_for(const sem_t*) noexcept;
// What such an address is in.
enum class pythons_word : std::uint8_t { unknown, lock, rlock, queue };
pythons_word what_pythons_word_is(const void*) noexcept;
// Whether the interpreter may be asked there, while it parks a thread at it or wakes one.
bool may_ask_parking_python(const sem_t*) noexcept;
// Whether a call for a semaphore that processes share is made for a lock of multiprocessing's.
bool uses_pythons_lock(const void* caller) noexcept;

}  // namespace syncopate::shim
