// test_own_malloc.cpp -- a program whose malloc takes a pthread mutex, as jemalloc's does.
//
// A lock library that allocates in a lock path, or while it finds its functions, calls itself for
// ever.
#include "thread.h"

namespace {

pthread_mutex_t heap_mutex = PTHREAD_MUTEX_INITIALIZER;
constexpr size_t heap_size = 64u << 20;
alignas(64) char heap[heap_size];
size_t heap_used = 0;
struct Block {
  size_t size;
  Block* next;
};
Block* free_blocks[48];
__thread int depth __attribute__((tls_model("initial-exec"))) = 0;
int nested_calls = 0;
int lock_errors = 0;
long allocations = 0;

int size_class(size_t size) {
  int c = 4;
  while ((size_t{1} << c) < size) ++c;
  return c;
}

// The mutex is taken inside malloc; a malloc from within that lock call would come back here.
struct HeapLock {
  HeapLock() {
    if (++depth > 1) __atomic_add_fetch(&nested_calls, 1, __ATOMIC_RELAXED);
    if (depth > 1) return;  // report rather than recurse without end
    if (pthread_mutex_lock(&heap_mutex) != 0) __atomic_add_fetch(&lock_errors, 1, __ATOMIC_RELAXED);
  }
  ~HeapLock() {
    if (depth-- > 1) return;
    ++depth;
    if (pthread_mutex_unlock(&heap_mutex) != 0)
      __atomic_add_fetch(&lock_errors, 1, __ATOMIC_RELAXED);
    --depth;
  }
};

void* allocate(size_t size) {
  const HeapLock lock;
  ++allocations;
  const int c = size_class(size + 64);
  Block* block = free_blocks[c];
  if (block != nullptr) {
    free_blocks[c] = block->next;
  } else {
    const size_t bytes = size_t{1} << c;
    if (heap_used + bytes > heap_size) return nullptr;
    block = reinterpret_cast<Block*>(heap + heap_used);
    heap_used += bytes;
    block->size = static_cast<size_t>(c);
  }
  return reinterpret_cast<char*>(block) + 64;
}

Block* block_of(void* pointer) {
  return reinterpret_cast<Block*>(static_cast<char*>(pointer) - 64);
}

}  // namespace

extern "C" {

void* malloc(size_t size) { return allocate(size); }

void free(void* pointer) {
  if (pointer == nullptr) return;
  const HeapLock lock;
  Block* block = block_of(pointer);
  block->next = free_blocks[block->size];
  free_blocks[block->size] = block;
}

void* calloc(size_t count, size_t size) {
  void* pointer = allocate(count * size);
  if (pointer != nullptr) {
    auto* bytes = static_cast<volatile char*>(pointer);
    for (size_t i = 0; i < count * size; ++i) bytes[i] = 0;
  }
  return pointer;
}

void* realloc(void* pointer, size_t size) {
  void* fresh = allocate(size);
  if (fresh == nullptr || pointer == nullptr) return fresh;
  const size_t room = (size_t{1} << block_of(pointer)->size) - 64;
  memcpy(fresh, pointer, room < size ? room : size);
  free(pointer);
  return fresh;
}

}  // extern "C"

int main() {
  check_begin();
  run_threads(4, [](int self) {
    int bad = 0;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    for (int i = 0; i < 5000; ++i) {
      const size_t size = static_cast<size_t>((i * 37 + self) % 900 + 1);
      char* text = static_cast<char*>(malloc(size));
      if (text == nullptr) abort();
      memset(text, self, size);
      bad |= pthread_mutex_lock(&mutex) | pthread_cond_signal(&cond) | pthread_mutex_unlock(&mutex);
      bad |= pthread_rwlock_rdlock(&rwlock) | pthread_rwlock_unlock(&rwlock);
      if (text[size - 1] != self) bad = -1;
      text = static_cast<char*>(realloc(text, size + 16));
      if (text[0] != self) bad = -1;
      free(text);
    }
    CHECK_EQ(bad, 0);
  });
  CHECK(allocations >= 40000);
  CHECK_EQ(nested_calls, 0);
  CHECK_EQ(lock_errors, 0);
  return check_end();
}
