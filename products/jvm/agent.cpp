// agent.cpp -- see jvm.h. Options: "record=PATH" begins a record of its own; none: the recorder of
// the preload library is told, where that is there and records; "stop" ends a record of our own.
//
// Memory order (each tag stands at its site below)
//   [R]  release store of `recording` when everything is set up, acquire load by who tells.
//   [K]  relaxed: a budget, which may be exceeded by what threads spend at one time; a line that
//        was told, and may be told twice.
//   [E]  acq_rel exchange: one thread ends the recording.
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>

#include <dlfcn.h>

#include "jvm.h"

namespace syncopate::jvm {

jvmtiEnv* tools = nullptr;
const record::telling* recorder = nullptr;
std::atomic<bool> recording{false};

namespace {

std::string own_record;

std::uint64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::uint64_t(t.tv_sec) * 1'000'000'000u + std::uint64_t(t.tv_nsec);
}

// Who holds a monitor, the VM tells only while all threads stand still, and where a thread is only
// while that one does. So that is asked for some waits: it may take one part in a hundred of the
// time, and 50 ms at first.
class budget {
 public:
  bool allows(std::uint64_t now) {
    constexpr std::int64_t credit = 50'000'000, share = 100;
    std::uint64_t begun = 0;
    begun_.compare_exchange_strong(begun, now, std::memory_order_relaxed);  // [K]
    if (begun == 0) begun = now;
    return spent_.load(std::memory_order_relaxed) <  // [K]
           credit + static_cast<std::int64_t>(now - begun) / share;
  }
  void spend(std::uint64_t ns) {
    spent_.fetch_add(static_cast<std::int64_t>(ns), std::memory_order_relaxed);  // [K]
  }

 private:
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::int64_t> spent_{0};
};
budget asking;

// Of the wait that the calling thread is in.
thread_local seen_holder holder;

seen_holder holder_of(JNIEnv* env, jobject monitor) {
  const std::uint64_t begin = now_ns();
  if (!asking.allows(begin)) return {};
  seen_holder found;
  jvmtiMonitorUsage usage{};
  if (tools->GetObjectMonitorUsage(monitor, &usage) == JVMTI_ERROR_NONE) {
    const inner_frame frame(env);
    if (usage.owner != nullptr) {
      found.thread = kernel_id(env, usage.owner);
      if (found.thread != 0) found.stack = stack_of(usage.owner);
      env->DeleteLocalRef(usage.owner);
    }
    for (jint i = 0; i < usage.waiter_count; ++i) env->DeleteLocalRef(usage.waiters[i]);
    for (jint i = 0; i < usage.notify_waiter_count; ++i)
      env->DeleteLocalRef(usage.notify_waiters[i]);
    tools->Deallocate(reinterpret_cast<unsigned char*>(usage.waiters));
    tools->Deallocate(reinterpret_cast<unsigned char*>(usage.notify_waiters));
  }
  asking.spend(now_ns() - begin);
  return found;
}

// Of threads that carry virtual ones the record says once that there are such: what these wait for
// is not told.
void note_carrier(JNIEnv* env, jthread thread) {
  static std::atomic<bool> told{false};
  static constexpr char line[] = "virtual threads\n";
  if (!recording.load(std::memory_order_acquire) ||  // [R]
      told.load(std::memory_order_relaxed))          // [K]
    return;
  const jclass of = env->GetObjectClass(thread);
  char* name = nullptr;
  if (tools->GetClassSignature(of, &name, nullptr) == JVMTI_ERROR_NONE) {
    if (std::strcmp(name, "Ljdk/internal/misc/CarrierThread;") == 0 &&
        !told.exchange(true, std::memory_order_relaxed))  // [K]
      recorder->names(line, sizeof line - 1);
    tools->Deallocate(reinterpret_cast<unsigned char*>(name));
  }
  env->DeleteLocalRef(of);
}

void note_carriers(JNIEnv* env) {
  jint count = 0;
  jthread* threads = nullptr;
  if (tools->GetAllThreads(&count, &threads) != JVMTI_ERROR_NONE) return;
  const inner_frame frame(env);
  for (jint i = 0; i < count; ++i) {
    note_carrier(env, threads[i]);
    env->DeleteLocalRef(threads[i]);
  }
  tools->Deallocate(reinterpret_cast<unsigned char*>(threads));
}

void JNICALL on_thread_start(jvmtiEnv*, JNIEnv* env, jthread thread) {
  note_thread(env, thread);
  const bool is_ours = recorder == &record::told;  // else the preload library has seen it
  if (is_ours && recording.load(std::memory_order_acquire)) recorder->thread_begins();  // [R]
  note_carrier(env, thread);
}

void JNICALL on_thread_end(jvmtiEnv*, JNIEnv* env, jthread thread) {
  forget_thread(env, thread);
  // With the preload library, that one sees it.
  if (recorder == &record::told) recorder->thread_ends();
}

void JNICALL on_contended(jvmtiEnv*, JNIEnv* env, jthread thread, jobject on) {
  if (!recording.load(std::memory_order_acquire)) return;  // [R]
  note_thread(env, thread);
  const std::uint32_t stack = recorder->wants_stack(false) ? stack_of(nullptr) : 0;
  const object what = monitor(env, on);
  holder = stack != 0 ? holder_of(env, on) : seen_holder{};
  recorder->wait_begins({record::wait_kind::mutex, record::object_kind::mutex, what.number, stack,
                         holder.thread, false, holder.thread != 0});
}

void JNICALL on_entered(jvmtiEnv*, JNIEnv*, jthread, jobject) {
  const std::uint32_t late = recorder->wait_is_long() ? stack_of(nullptr) : 0;
  recorder->wait_ends(late, holder.thread, holder.stack);
}

// Whether it is Thread.join(), which is made of Object.wait().
bool is_join(JNIEnv* env, jobject on) {
  static const jclass of = [env] {
    const jclass local = env->FindClass("java/lang/Thread");
    return static_cast<jclass>(env->NewGlobalRef(local));
  }();
  return env->IsInstanceOf(on, of) && joins();
}

// Of Object.wait(), and of what is made of it.
void JNICALL on_wait(jvmtiEnv*, JNIEnv* env, jthread thread, jobject on, jlong timeout) {
  if (!recording.load(std::memory_order_acquire)) return;  // [R]
  note_thread(env, thread);
  const std::uint32_t stack = recorder->wants_stack(false) ? stack_of(nullptr) : 0;
  const object what = monitor(env, on);
  const bool for_thread = is_join(env, on);
  holder = {};
  recorder->wait_begins({for_thread ? record::wait_kind::join : record::wait_kind::condition,
                         for_thread ? record::object_kind::thread : record::object_kind::condition,
                         what.number, stack, 0, timeout > 0, false});
}

void JNICALL on_waited(jvmtiEnv* t, JNIEnv* env, jthread thread, jobject on, jboolean) {
  on_entered(t, env, thread, on);
}

constexpr jvmtiEvent events[] = {JVMTI_EVENT_MONITOR_CONTENDED_ENTER,
                                 JVMTI_EVENT_MONITOR_CONTENDED_ENTERED, JVMTI_EVENT_MONITOR_WAIT,
                                 JVMTI_EVENT_MONITOR_WAITED};

void begin(JNIEnv* env, bool runs_already) {
  recorder = static_cast<const record::telling*>(nullptr);
  if (!own_record.empty()) {
    recorder = &record::told;
    if (!recorder->start(own_record.c_str(), "java")) return;
  } else if (void* const there = ::dlsym(RTLD_DEFAULT, "syncopate_recorder")) {
    recorder = reinterpret_cast<const record::telling* (*)()>(there)();
    if (!recorder->is_recording() || recorder->version != record::told.version) return;
  } else {
    return;
  }
  for (const jvmtiEvent each : events) tools->SetEventNotificationMode(JVMTI_ENABLE, each, nullptr);
  recording.store(true, std::memory_order_release);  // [R]
  const bool sees_parks = take_parks(env);
  note_carriers(env);
  if (runs_already) tell_waits_before(env, sees_parks);
}

void end(JNIEnv* env, bool detached) {
  if (!recording.exchange(false, std::memory_order_acq_rel)) return;  // [E]
  if (detached) {
    forget_waits_before(env);
    leave_parks(env);
    for (const jvmtiEvent each : events)
      tools->SetEventNotificationMode(JVMTI_DISABLE, each, nullptr);
  }
  if (recorder == &record::told) recorder->finish(detached);
}

void JNICALL on_start(jvmtiEnv*, JNIEnv* env, jthread thread) {
  note_thread(env, thread);
  begin(env, false);
}

void JNICALL on_death(jvmtiEnv*, JNIEnv* env) { end(env, false); }

bool prepare(JavaVM* vm) {
  if (vm->GetEnv(reinterpret_cast<void**>(&tools), JVMTI_VERSION_1_2) != JNI_OK) return false;
  jvmtiCapabilities wanted{};
  wanted.can_generate_monitor_events = 1;
  wanted.can_get_monitor_info = 1;
  wanted.can_tag_objects = 1;
  wanted.can_get_source_file_name = 1;
  wanted.can_get_line_numbers = 1;
  wanted.can_generate_native_method_bind_events = 1;
  if (tools->AddCapabilities(&wanted) != JVMTI_ERROR_NONE) return false;
  jvmtiEventCallbacks calls{};
  calls.VMInit = on_start;
  calls.VMDeath = on_death;
  calls.ThreadStart = on_thread_start;
  calls.ThreadEnd = on_thread_end;
  calls.MonitorContendedEnter = on_contended;
  calls.MonitorContendedEntered = on_entered;
  calls.MonitorWait = on_wait;
  calls.MonitorWaited = on_waited;
  calls.NativeMethodBind = on_bind;
  if (tools->SetEventCallbacks(&calls, sizeof calls) != JVMTI_ERROR_NONE) return false;
  for (const jvmtiEvent each : {JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH, JVMTI_EVENT_THREAD_START,
                                JVMTI_EVENT_THREAD_END})
    tools->SetEventNotificationMode(JVMTI_ENABLE, each, nullptr);
  return true;
}

// A VM lets agents be loaded a moment before it lets them do anything.
bool is_live(JavaVM* vm) {
  jvmtiEnv* asked = nullptr;
  jvmtiPhase phase{};
  if (vm->GetEnv(reinterpret_cast<void**>(&asked), JVMTI_VERSION_1_2) != JNI_OK) return false;
  const bool live = asked->GetPhase(&phase) == JVMTI_ERROR_NONE && phase == JVMTI_PHASE_LIVE;
  asked->DisposeEnvironment();
  return live;
}

void read_options(const char* options) {
  constexpr char word[] = "record=";
  if (options != nullptr && std::strncmp(options, word, sizeof word - 1) == 0)
    own_record = options + sizeof word - 1;
}

jint complain() {
  std::fputs("syncopate: this Java VM does not tell of its monitors: they are not recorded\n",
             stderr);
  return JNI_OK;  // the program is to run all the same
}

}  // namespace

seen_holder where_is(JNIEnv* env, jthread thread) {
  const std::uint64_t begin = now_ns();
  seen_holder found{kernel_id(env, thread)};
  if (found.thread == 0 || !asking.allows(begin)) return found;
  found.stack = stack_of(thread);
  asking.spend(now_ns() - begin);
  return found;
}

}  // namespace syncopate::jvm

using namespace syncopate::jvm;

extern "C" {

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void*) {
  read_options(options);
  return prepare(vm) ? JNI_OK : complain();
}

// Returns 0 where it records from now on, or does no longer.
JNIEXPORT jint JNICALL Agent_OnAttach(JavaVM* vm, char* options, void*) {
  JNIEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_8) != JNI_OK) return 1;
  if (options != nullptr && std::strcmp(options, "stop") == 0) {
    end(env, true);
    return 0;
  }
  if (tools != nullptr) return 2;  // each recording has a copy of the agent
  if (!is_live(vm)) return 5;      // who asks has to ask again
  read_options(options);
  if (!prepare(vm)) return 3;
  begin(env, true);
  return recording.load(std::memory_order_acquire) ? 0 : 4;  // [R]
}

}  // extern "C"
