// objects.cpp -- two threads and one pthread object, named by the argument: few enough steps that
// the explored machine tries every interleaving.

#include <cassert>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

namespace {

int value = 0;  // not atomic: what protects it must order every access

template <class First, class Second>
void both(First first, Second second) {
  std::thread other(second);
  first();
  other.join();
}

void mutex() {
  std::mutex m;
  const auto add = [&] {
    const std::scoped_lock lock(m);
    ++value;
  };
  both(add, add);
  assert(value == 2);
}

void condition() {
  std::mutex m;
  std::condition_variable changed;
  bool ready = false;
  both(
      [&] {
        {
          const std::scoped_lock lock(m);
          value = 1;
          ready = true;
        }
        changed.notify_one();
      },
      [&] {
        std::unique_lock lock(m);
        changed.wait(lock, [&] { return ready; });
        assert(value == 1);
      });
}

// The waiter looks at the flag, the other sets it and notifies, the waiter sleeps: for ever.
void lost_wakeup() {
  std::mutex m;
  std::condition_variable changed;
  std::atomic<bool> ready{false};
  both(
      [&] {
        ready = true;  // without the mutex
        changed.notify_one();
      },
      [&] {
        std::unique_lock lock(m);
        while (!ready) changed.wait(lock);
      });
}

void rwlock() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  both(
      [&] {
        pthread_rwlock_wrlock(&lock);
        ++value;
        pthread_rwlock_unlock(&lock);
      },
      [&] {
        pthread_rwlock_rdlock(&lock);
        assert(value < 2);
        pthread_rwlock_unlock(&lock);
      });
}

// The serial thread may destroy the barrier while the other is on its way out.
void barrier() {
  auto* const b = new pthread_barrier_t;
  pthread_barrier_init(b, nullptr, 2);
  const auto meet = [&] {
    if (pthread_barrier_wait(b) != PTHREAD_BARRIER_SERIAL_THREAD) return;
    assert(value == 1);
    pthread_barrier_destroy(b);
    delete b;
  };
  both(
      [&] {
        value = 1;
        meet();
      },
      meet);
}

void spin() {
  pthread_spinlock_t lock;
  pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
  const auto add = [&] {
    pthread_spin_lock(&lock);
    ++value;
    pthread_spin_unlock(&lock);
  };
  both(add, add);
  assert(value == 2);
}

void semaphore() {
  sem_t s;
  sem_init(&s, 0, 0);
  both(
      [&] {
        value = 1;
        sem_post(&s);
      },
      [&] {
        sem_wait(&s);
        assert(value == 1);
      });
}

void once() {
  std::once_flag flag;
  const auto use = [&] {
    std::call_once(flag, [] { ++value; });
    assert(value == 1);
  };
  both(use, use);
}

int make() { return ++value; }
void local_static() {
  const auto use = [] {
    static const int object = make();
    assert(object == 1 && value == 1);
  };
  both(use, use);
}

// The machine cannot be in two processes.
void fork_fails() {
  errno = 0;
  assert(fork() == -1 && errno == ENOSYS);
  assert(vfork() == -1);
}

struct {
  const char* name;
  void (*run)();
} const cases[] = {
    {"mutex", mutex},
    {"condition", condition},
    {"lost_wakeup", lost_wakeup},
    {"rwlock", rwlock},
    {"barrier", barrier},
    {"spin", spin},
    {"once", once},
    {"semaphore", semaphore},
    {"local_static", local_static},
    {"fork_fails", fork_fails},
};

}  // namespace

int main(int argc, char** argv) {
  for (const auto& one : cases) {
    if (argc != 2 || std::strcmp(argv[1], one.name) != 0) continue;
    one.run();
    return 0;
  }
  return 2;
}
