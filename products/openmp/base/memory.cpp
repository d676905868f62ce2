// memory.cpp -- what the compiler asks a C++ library for, for this library alone, which links
// none: operator new and delete, and destructors of thread-local objects.

#include <cstdlib>
#include <new>

// Out of memory ends the process, as both runtimes end it when a team cannot be made.
void* operator new(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
void* operator new(std::size_t size, std::align_val_t align) {
  const auto unit = static_cast<std::size_t>(align);
  void* const memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
  if (memory == nullptr) std::abort();
  return memory;
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, std::align_val_t align) { return operator new(size, align); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" int __cxa_thread_atexit_impl(void (*)(void*), void*, void*);

// Hidden: only calls from here. The C library's own function has another name.
extern "C" [[gnu::visibility("hidden")]] int __cxa_thread_atexit(void (*destructor)(void*),
                                                                 void* object, void* library) {
  return __cxa_thread_atexit_impl(destructor, object, library);
}
