// lib_big_tls.cpp -- a library with a megabyte of thread-locals, to be opened at run time.
#include <pthread.h>

namespace {
thread_local char area[1 << 20];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
}  // namespace

extern "C" int big_tls_touch(int value) {
  if (pthread_mutex_lock(&mutex) != 0) return -1;
  for (char& byte : area) byte = static_cast<char>(value);
  const int seen = area[sizeof area - 1];
  return pthread_mutex_unlock(&mutex) != 0 ? -1 : seen;
}
