// parks.cpp -- see jvm.h. All of java.util.concurrent waits in Unsafe.park(), which is a native
// method: of those, JVMTI lets an agent choose the function when they are bound. The class binds
// them all again when its registerNatives() is called; so we do, and take two. What is bound
// already is not told of; so ours are bound first, and for a moment do not know the VM's. Of
// several recordings at once each has a copy of the agent, and each copy calls the next.
//
// The VM warns where such a call comes from nowhere in Java's own libraries. So it is made from a
// class of ours, defined where those are (unsafe_caller below).
//
// Memory order (each tag stands at its site below)
//   [F]  release store of the VM's function when ours is bound, acquire load by ours.
//   [R]  acquire load of `recording` (agent.cpp).
//   [T]  release store, acquire load: whether calls of bind() that this thread makes are for us;
//        another thread that binds meanwhile may see either.
#include <cstring>
#include <ctime>

#include <sched.h>

#include "jvm.h"

namespace syncopate::jvm {

namespace {

using park_function = void(JNICALL*)(JNIEnv*, jobject, jboolean, jlong);
using unpark_function = void(JNICALL*)(JNIEnv*, jobject, jobject);

std::atomic<park_function> real_park{nullptr};
std::atomic<unpark_function> real_unpark{nullptr};
std::atomic<bool> takes{false};
jfieldID blocker_field = nullptr, owner_field = nullptr, reader_field = nullptr;
jclass ownable = nullptr, of_both = nullptr, unsafe_class = nullptr;

std::uint64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

// Who has it alone; or, of those that share it, who had it first and has it still.
jobject owner_of(JNIEnv* env, jobject on) {
  jobject owner = nullptr;
  if (owner_field != nullptr && env->IsInstanceOf(on, ownable))
    owner = env->GetObjectField(on, owner_field);
  if (owner == nullptr && reader_field != nullptr && env->IsInstanceOf(on, of_both))
    owner = env->GetObjectField(on, reader_field);
  return owner;
}

}  // namespace

jobject blocker_of(JNIEnv* env, jthread thread) {
  return blocker_field != nullptr ? env->GetObjectField(thread, blocker_field) : nullptr;
}

seen_holder holder_of_blocker(JNIEnv* env, jobject on, bool with_stack) {
  const jobject owner = owner_of(env, on);
  if (owner == nullptr) return {};
  const seen_holder found = with_stack ? where_is(env, owner) : seen_holder{kernel_id(env, owner)};
  env->DeleteLocalRef(owner);
  return found;
}

namespace {

// What the calling thread parks for; no number: nothing was told.
object wait_begins(JNIEnv* env, bool timed, seen_holder& holder) {
  jthread thread = nullptr;
  if (blocker_field == nullptr || tools->GetCurrentThread(&thread) != JVMTI_ERROR_NONE ||
      thread == nullptr)
    return {};
  const jobject on = env->GetObjectField(thread, blocker_field);
  const std::uint32_t stack = recorder->wants_stack(false) ? stack_of(nullptr) : 0;
  const object what = on != nullptr ? blocker(env, on) : parked(env, thread);
  record::wait_kind kind = what.wait;
  if (kind == record::wait_kind::write && reads()) kind = record::wait_kind::read;
  // Where it is known who holds it, a wait whose stack is told asks where that thread is, too.
  if (on != nullptr && what.has_owner) holder = holder_of_blocker(env, on, stack != 0);
  recorder->wait_begins(
      {kind, what.kind, what.number, stack, holder.thread, timed, holder.thread != 0});
  if (on != nullptr) env->DeleteLocalRef(on);
  env->DeleteLocalRef(thread);
  return what;
}

// Whether a wait that began then for a lock ended without it: its time was over, or the thread was
// interrupted. (The recorder takes it of locks alone.)
bool was_in_vain(const object& what, std::uint64_t begun, std::uint64_t limit) {
  if (limit != 0 && now_ns() - begun >= limit) return true;
  if (what.kind == record::object_kind::condition || what.kind == record::object_kind::barrier)
    return false;
  jint state = 0;
  return tools->GetThreadState(nullptr, &state) == JVMTI_ERROR_NONE &&
         (state & JVMTI_THREAD_STATE_INTERRUPTED) != 0;
}

void JNICALL park(JNIEnv* env, jobject self, jboolean absolute, jlong time) {
  const park_function real = real_park.load(std::memory_order_acquire);  // [F]
  if (real == nullptr) return;                     // for a moment: it may return for no reason
  if (!recording.load(std::memory_order_acquire))  // [R]
    return real(env, self, absolute, time);
  seen_holder holder;
  const object what = wait_begins(env, absolute != JNI_FALSE || time > 0, holder);
  if (what.number == 0) return real(env, self, absolute, time);
  const std::uint64_t begun = now_ns();
  real(env, self, absolute, time);
  const bool is_limit = absolute == JNI_FALSE && time > 0;
  if (was_in_vain(what, begun, is_limit ? static_cast<std::uint64_t>(time) : 0))
    recorder->wait_fails();
  recorder->wait_ends(recorder->wait_is_long() ? stack_of(nullptr) : 0, holder.thread,
                      holder.stack);
}

// Who lets a thread go on that waits for a lock has let go of that.
void JNICALL unpark(JNIEnv* env, jobject self, jobject thread) {
  if (recording.load(std::memory_order_acquire) && thread != nullptr &&
      blocker_field != nullptr &&  // [R]
      recorder->wants_stack(true)) {
    if (const jobject on = env->GetObjectField(thread, blocker_field)) {
      const object what = known_blocker(on);  // else it is in no wait that was told of
      if (lets_go_of(what)) recorder->releases(what.kind, what.number, stack_of(nullptr));
      env->DeleteLocalRef(on);
    }
  }
  unpark_function real = nullptr;
  while ((real = real_unpark.load(std::memory_order_acquire)) == nullptr) ::sched_yield();  // [F]
  if (thread == nullptr) return real(env, self, thread);
  const bool was_asked = lets_go(env, thread);
  real(env, self, thread);
  if (!was_asked) lets_go(env, thread);  // who asked meanwhile may have seen it wait
}

// class syncopate.Unsafe { static native void bind(); static void go() { bind(); } }, as javac
// would compile it for Java 8.
struct bytes {
  unsigned char data[256];
  int size = 0;
  void one(unsigned v) { data[size++] = static_cast<unsigned char>(v); }
  void two(unsigned v) {
    one(v >> 8);
    one(v & 255);
  }
  void text(const char* t) {
    one(1);
    two(static_cast<unsigned>(std::strlen(t)));
    while (*t != 0) one(static_cast<unsigned char>(*t++));
  }
};

bytes unsafe_caller() {
  bytes b;
  b.two(0xcafe);
  b.two(0xbabe);
  b.two(0);
  b.two(52);
  b.two(11);  // constants: 1 to 10
  b.text("syncopate/Unsafe");
  b.one(7);
  b.two(1);
  b.text("java/lang/Object");
  b.one(7);
  b.two(3);
  b.text("bind");
  b.text("()V");
  b.text("go");
  b.text("Code");
  b.one(12);  // a name and its type
  b.two(5);
  b.two(6);
  b.one(10);  // a method
  b.two(2);
  b.two(9);
  b.two(0x0020);  // ACC_SUPER
  b.two(2);
  b.two(4);
  b.two(0);       // interfaces
  b.two(0);       // fields
  b.two(2);       // methods
  b.two(0x0108);  // static native
  b.two(5);
  b.two(6);
  b.two(0);
  b.two(0x0008);  // static
  b.two(7);
  b.two(6);
  b.two(1);
  b.two(8);
  b.two(0);
  b.two(16);  // bytes of the code and of what is said of it
  b.two(0);
  b.two(0);
  b.two(0);
  b.two(4);
  b.one(0xb8);  // invokestatic
  b.two(10);
  b.one(0xb1);  // return
  b.two(0);
  b.two(0);
  b.two(0);  // attributes
  return b;
}

void JNICALL bind(JNIEnv* env, jclass) {
  JNINativeMethod ours[] = {
      {const_cast<char*>("park"), const_cast<char*>("(ZJ)V"), reinterpret_cast<void*>(park)},
      {const_cast<char*>("unpark"), const_cast<char*>("(Ljava/lang/Object;)V"),
       reinterpret_cast<void*>(unpark)}};
  const jmethodID all = env->GetStaticMethodID(unsafe_class, "registerNatives", "()V");
  if (all != nullptr) {
    if (takes.load(std::memory_order_acquire)) env->RegisterNatives(unsafe_class, ours, 2);  // [T]
    // From here on as long as it takes them: another recording binds them again, too.
    tools->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_NATIVE_METHOD_BIND, nullptr);
    env->CallStaticVoidMethod(unsafe_class, all);
    if (!takes.load(std::memory_order_acquire))  // [T]
      tools->SetEventNotificationMode(JVMTI_DISABLE, JVMTI_EVENT_NATIVE_METHOD_BIND, nullptr);
  }
  env->ExceptionClear();
}

jclass found(JNIEnv* env, const char* name) {
  const jclass local = env->FindClass(name);
  env->ExceptionClear();
  return local == nullptr ? nullptr : static_cast<jclass>(env->NewGlobalRef(local));
}

void call_bind(JNIEnv* env) {
  static jclass caller = nullptr;
  if (caller == nullptr) {
    const bytes code = unsafe_caller();
    const jclass made = env->DefineClass("syncopate/Unsafe", nullptr,
                                         reinterpret_cast<const jbyte*>(code.data), code.size);
    env->ExceptionClear();
    // Another copy of the agent may have made it.
    caller = made != nullptr ? static_cast<jclass>(env->NewGlobalRef(made))
                             : found(env, "syncopate/Unsafe");
    if (caller == nullptr) return;
  }
  JNINativeMethod method{const_cast<char*>("bind"), const_cast<char*>("()V"),
                         reinterpret_cast<void*>(bind)};
  if (env->RegisterNatives(caller, &method, 1) == 0)
    if (const jmethodID id = env->GetStaticMethodID(caller, "go", "()V"))
      env->CallStaticVoidMethod(caller, id);
  env->ExceptionClear();
}

bool is_unsafes(JNIEnv* env, jmethodID method) {
  jclass of = nullptr;
  if (tools->GetMethodDeclaringClass(method, &of) != JVMTI_ERROR_NONE) return false;
  const bool found = env->IsSameObject(of, unsafe_class) != JNI_FALSE;
  env->DeleteLocalRef(of);
  return found;
}

void bind_again(JNIEnv* env, bool ours) {
  takes.store(ours, std::memory_order_release);  // [T]
  call_bind(env);
}

}  // namespace

// The address may be that of another copy of the agent, which was asked before: that one comes
// behind ours then.
void JNICALL on_bind(jvmtiEnv*, JNIEnv* env, jthread, jmethodID method, void* address,
                     void** instead) {
  if (!takes.load(std::memory_order_acquire) || !is_unsafes(env, method)) return;  // [T]
  char *name = nullptr, *signature = nullptr;
  if (tools->GetMethodName(method, &name, &signature, nullptr) != JVMTI_ERROR_NONE) return;
  if (std::strcmp(name, "park") == 0 && std::strcmp(signature, "(ZJ)V") == 0) {
    real_park.store(reinterpret_cast<park_function>(address), std::memory_order_release);  // [F]
    *instead = reinterpret_cast<void*>(park);
  } else if (std::strcmp(name, "unpark") == 0) {
    real_unpark.store(reinterpret_cast<unpark_function>(address),
                      std::memory_order_release);  // [F]
    *instead = reinterpret_cast<void*>(unpark);
  }
  tools->Deallocate(reinterpret_cast<unsigned char*>(name));
  tools->Deallocate(reinterpret_cast<unsigned char*>(signature));
}

bool take_parks(JNIEnv* env) {
  unsafe_class = found(env, "jdk/internal/misc/Unsafe");
  if (unsafe_class == nullptr) unsafe_class = found(env, "sun/misc/Unsafe");  // Java 8
  const jclass thread = found(env, "java/lang/Thread");
  ownable = found(env, "java/util/concurrent/locks/AbstractOwnableSynchronizer");
  if (unsafe_class == nullptr || thread == nullptr) return false;
  blocker_field = env->GetFieldID(thread, "parkBlocker", "Ljava/lang/Object;");
  env->ExceptionClear();
  if (ownable != nullptr)
    owner_field = env->GetFieldID(ownable, "exclusiveOwnerThread", "Ljava/lang/Thread;");
  env->ExceptionClear();
  of_both = found(env, "java/util/concurrent/locks/ReentrantReadWriteLock$Sync");
  if (of_both != nullptr)
    reader_field = env->GetFieldID(of_both, "firstReader", "Ljava/lang/Thread;");
  env->ExceptionClear();
  if (blocker_field == nullptr) return false;
  bind_again(env, true);
  return real_park.load(std::memory_order_acquire) != nullptr;  // [F]
}

void leave_parks(JNIEnv* env) {
  if (real_park.load(std::memory_order_acquire) != nullptr) bind_again(env, false);  // [F]
}

}  // namespace syncopate::jvm
