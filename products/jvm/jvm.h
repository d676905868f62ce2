// jvm.h -- what the parts of the agent share. It is loaded into a Java VM and tells the recorder
// what threads wait for there: monitors by JVMTI's events, java.util.concurrent by the calls of
// Unsafe.park that all of it ends in.
//
//   agent   life: loading, events of monitors and threads
//   parks   Unsafe.park and unpark, ours in the place of the VM's
//   before  waits of a VM that runs already, which began before the recording
//   ids     kernel thread ids, by the VM's own description of itself
//   names   numbers of objects and code, and the lines that name them
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <jvmti.h>

#include "record/told.h"

namespace syncopate::jvm {

extern jvmtiEnv* tools;
extern const record::telling* recorder;  // the process's own, or ours
extern std::atomic<bool> recording;

// A frame of local references within that of those that JVMTI has returned, as many as it likes: a
// VM that checks native code (-Xcheck:jni) warns of more in one frame than were asked for. Those of
// the outer frame are to be deleted within this one.
class inner_frame {
 public:
  explicit inner_frame(JNIEnv* env) : env_(env), is_there_(env->PushLocalFrame(references) == 0) {
    if (!is_there_) env->ExceptionClear();
  }
  inner_frame(const inner_frame&) = delete;
  inner_frame& operator=(const inner_frame&) = delete;
  ~inner_frame() {
    if (is_there_) env_->PopLocalFrame(nullptr);
  }

  static constexpr jint references = 64;  // that a function here may make

 private:
  JNIEnv* env_;
  bool is_there_;
};

// Kernel thread id of a Java thread; 0: not known, as of one that has not run since the agent is
// here, in a VM that does not describe itself as HotSpot does.
std::uint32_t kernel_id(JNIEnv*, jthread);
// The calling thread is that one; that one ends.
void note_thread(JNIEnv*, jthread);
void forget_thread(JNIEnv*, jthread);

// Who holds what a thread waits for, and where that is meanwhile: a stack id; 0: not known.
struct seen_holder {
  std::uint32_t thread = 0, stack = 0;
};
// Its stack only while the time that such questions take allows it.
seen_holder where_is(JNIEnv*, jthread holder);
// Of what a thread parks for, by what that says itself. The holder's stack if it is wanted.
seen_holder holder_of_blocker(JNIEnv*, jobject, bool with_stack);

// What a Java object is to threads that wait for it.
struct object {
  std::uint64_t number = 0;  // 0: not known
  record::object_kind kind = record::object_kind::mutex;
  record::wait_kind wait = record::wait_kind::mutex;
  bool has_owner = false;  // an AbstractOwnableSynchronizer
};
// Of a monitor; of what a thread parks for, whose class says what it is; of a thread that parks and
// does not say what for. One object may be several of these. Those that are new get a name by where
// `by` waits; nullptr: the caller.
object monitor(JNIEnv*, jobject, jthread by = nullptr);
object blocker(JNIEnv*, jobject, jthread by = nullptr);
object parked(JNIEnv*, jthread, jthread by = nullptr);
// A monitor of which only its class's name and its identity hash code are known, as of threads that
// wait for it already; it has the same number when it comes to be seen itself.
object unseen_monitor(JNIEnv*, const std::string& of_class, jint hash, jthread by);
// What threads have parked for before.
object known_blocker(jobject);

// The stack id of a thread, innermost frame first, without the first `skip`; nullptr: the caller.
std::uint32_t stack_of(jthread, int skip = 0);

// Whether the thread (nullptr: the caller) waits for the shared side of a lock, by what it has
// called of Java's own; whether for a thread to end.
bool reads(jthread = nullptr);
bool joins(jthread = nullptr);
// What a thread says that it parks for; nullptr: nothing.
jobject blocker_of(JNIEnv*, jthread);
// Whether it lets go of such an object as it wakes another that waits for it. Who takes one that is
// shared, or waits for it no longer, may wake the next one, too.
bool lets_go_of(const object&);

// Puts ours in the place of Unsafe.park and unpark, or the VM's own back. Whether that worked.
bool take_parks(JNIEnv*);
void leave_parks(JNIEnv*);

// Tells the waits of all threads that wait already; of those that park if it is told who is let go
// on. Requires: all events are told.
void tell_waits_before(JNIEnv*, bool sees_parks);
// That this thread is let go on, if its wait was told so. Whether threads were asked already.
bool lets_go(JNIEnv*, jthread);
// At a recording's end: which of those waits are over, though nobody has seen their end.
void forget_waits_before(JNIEnv*);
void JNICALL on_bind(jvmtiEnv*, JNIEnv*, jthread, jmethodID, void* address, void** instead);

}  // namespace syncopate::jvm
