// test_cond_cancel.cpp -- cancellation in condition waits: the mutex is held in the handler, no
// signal is lost.
#include "thread.h"

namespace {

enum class Form { wait, timedwait, clockwait };
const Form forms[] = {Form::wait, Form::timedwait, Form::clockwait};

struct Scene {
  pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  Form form = Form::wait;
  int waiting = 0;
  int handlers = 0;
  int permits = 0;
  int taken = 0;
  int go = 0;
};

int wait_once(Scene* scene) {
  const timespec deadline = in_ms(CLOCK_REALTIME, 50000);
  const timespec deadline_monotonic = in_ms(CLOCK_MONOTONIC, 50000);
  switch (scene->form) {
    case Form::timedwait: return pthread_cond_timedwait(&scene->cond, &scene->mutex, &deadline);
    case Form::clockwait:
      return pthread_cond_clockwait(&scene->cond, &scene->mutex, CLOCK_MONOTONIC,
                                    &deadline_monotonic);
    default: return pthread_cond_wait(&scene->cond, &scene->mutex);
  }
}

// Runs in the canceled thread; an errorcheck mutex knows whether this thread holds it.
void on_cancel(void* argument) {
  auto* scene = static_cast<Scene*>(argument);
  CHECK_ERR(pthread_mutex_trylock(&scene->mutex), EBUSY);
  CHECK_ERR(pthread_mutex_lock(&scene->mutex), EDEADLK);
  ++scene->handlers;
  CHECK_OK(pthread_mutex_unlock(&scene->mutex));
}

void* wait_for_permit(void* argument) {
  auto* scene = static_cast<Scene*>(argument);
  CHECK_OK(pthread_mutex_lock(&scene->mutex));
  add_int(&scene->waiting, 1);
  pthread_cleanup_push(on_cancel, scene);
  while (scene->permits == 0) CHECK_OK(wait_once(scene));
  pthread_cleanup_pop(0);
  --scene->permits;
  ++scene->taken;
  CHECK_OK(pthread_mutex_unlock(&scene->mutex));
  return scene;
}

pthread_t start(void* (*body)(void*), Scene* scene) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, body, scene) != 0) abort();
  return thread;
}

bool canceled(pthread_t thread) {
  void* result = nullptr;
  if (pthread_join(thread, &result) != 0) abort();
  return result == PTHREAD_CANCELED;
}

void cancel_a_waiter(Form form) {
  for (int round = 0; round < 10; ++round) {
    Scene scene;
    scene.form = form;
    const pthread_t thread = start(wait_for_permit, &scene);
    await_int(&scene.waiting, 1);
    if (round % 2 != 0) sleep_ms(1);
    CHECK_OK(pthread_cancel(thread));
    CHECK(canceled(thread));
    CHECK_EQ(scene.handlers, 1);
    CHECK_OK(pthread_cond_destroy(&scene.cond));
    CHECK_OK(pthread_mutex_destroy(&scene.mutex));
  }
}

// Canceled while it waits for the mutex again: the handler runs only once the mutex is free.
void cancel_while_the_mutex_is_taken(Form form) {
  Scene scene;
  scene.form = form;
  const pthread_t thread = start(wait_for_permit, &scene);
  await_int(&scene.waiting, 1);
  CHECK_OK(pthread_mutex_lock(&scene.mutex));
  CHECK_OK(pthread_cancel(thread));
  sleep_ms(3);
  CHECK_EQ(get_int(&scene.handlers), 0);
  CHECK_OK(pthread_mutex_unlock(&scene.mutex));
  CHECK(canceled(thread));
  CHECK_EQ(scene.handlers, 1);
}

void* wait_with_cancel_pending(void* argument) {
  auto* scene = static_cast<Scene*>(argument);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  set_int(&scene->waiting, 1);
  await_int(&scene->go, 2);  // canceled meanwhile
  CHECK_OK(pthread_mutex_lock(&scene->mutex));
  pthread_cleanup_push(on_cancel, scene);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
  scene->permits = 1;  // the wait must act on the pending request before anything else
  wait_once(scene);
  scene->permits = 2;
  pthread_cleanup_pop(1);
  return nullptr;
}

void pending_before_the_call(Form form) {
  Scene scene;
  scene.form = form;
  const pthread_t thread = start(wait_with_cancel_pending, &scene);
  await_int(&scene.waiting, 1);
  CHECK_OK(pthread_cancel(thread));
  set_int(&scene.go, 2);
  CHECK(canceled(thread));
  CHECK_EQ(scene.handlers, 1);
  CHECK_EQ(scene.permits, 1);
}

void* wait_disabled(void* argument) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  return wait_for_permit(argument);
}

void disabled(Form form) {
  Scene scene;
  scene.form = form;
  const pthread_t thread = start(wait_disabled, &scene);
  await_int(&scene.waiting, 1);
  CHECK_OK(pthread_cancel(thread));
  sleep_ms(2);
  CHECK_OK(pthread_mutex_lock(&scene.mutex));
  scene.permits = 1;
  CHECK_OK(pthread_cond_signal(&scene.cond));
  CHECK_OK(pthread_mutex_unlock(&scene.mutex));
  CHECK(!canceled(thread));
  CHECK_EQ(scene.handlers, 0);
}

// One of two waiters is canceled while one permit is signaled: whoever remains must get the permit.
void cancel_does_not_swallow_a_signal(Form form) {
  for (int round = 0; round < 60; ++round) {
    Scene scene;
    scene.form = form;
    const pthread_t first = start(wait_for_permit, &scene);
    const pthread_t second = start(wait_for_permit, &scene);
    await_int(&scene.waiting, 2);
    if (round % 3 == 0) CHECK_OK(pthread_cancel(first));
    CHECK_OK(pthread_mutex_lock(&scene.mutex));
    scene.permits = 1;
    CHECK_OK(pthread_cond_signal(&scene.cond));
    if (round % 3 == 1) CHECK_OK(pthread_cancel(first));
    CHECK_OK(pthread_mutex_unlock(&scene.mutex));
    if (round % 3 == 2) CHECK_OK(pthread_cancel(first));
    // Not by what join says: after a late SIGCANCEL glibc calls a thread canceled that returned.
    (void)canceled(first);
    if (scene.handlers == 0) {  // it had its permit already: the second waits for another
      CHECK_OK(pthread_mutex_lock(&scene.mutex));
      ++scene.permits;
      CHECK_OK(pthread_cond_signal(&scene.cond));
      CHECK_OK(pthread_mutex_unlock(&scene.mutex));
    }
    CHECK(!canceled(second));  // the watchdog reports a lost signal
    CHECK_EQ(scene.permits, 0);
    CHECK_OK(pthread_cond_destroy(&scene.cond));
  }
}

}  // namespace

int main() {
  check_begin();
  for (const Form form : forms) {
    cancel_a_waiter(form);
    cancel_while_the_mutex_is_taken(form);
    pending_before_the_call(form);
    disabled(form);
    cancel_does_not_swallow_a_signal(form);
  }
  return check_end();
}
