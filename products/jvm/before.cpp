// before.cpp -- see jvm.h. Events tell of waits that begin. In a VM that has run for long, most
// threads wait already, for ever if they are in a deadlock: each is asked once what it waits for.
// JVMTI cannot say that in a VM that was started without it; java.lang.management can, and calls a
// monitor by its class and its identity hash code.
//
// Whether such a wait ends, JVMTI's events tell of monitors. Of one that parks, the VM's own
// function is under way, which we do not see return: who unparks it tells that. One that parks with
// a time limit goes on by itself, so its wait is not told.
//
// Between the question and what is told of the answer a thread may have gone on. So that is taken
// back where a second answer is another one, or somebody has let the thread go meanwhile.
//
// Memory order (each tag stands at its site below)
//   [W]  seq_cst: who unparks a thread and does not see behind it that threads are asked, has
//        unparked that one before it is.
//   [D]  relaxed: at the end of a recording.
#include <syncopate/locks/futex_lock.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "jvm.h"

namespace syncopate::jvm {

namespace {

struct told_thread {
  jweak thread;
  std::uint32_t id;
  bool parks;
};

constinit futex_lock table_lock;  // (pthread's would be recorded)
std::vector<told_thread> told;
std::vector<std::uint32_t> let_go;  // while threads are asked
bool asks = false;
std::atomic<bool> any{false};

// What a thread waits for.
enum class way { nothing, monitor, notification, parking };
struct answer {
  way how = way::nothing;
  bool timed = false;
  std::string of_class;  // of a monitor; empty: not known
  jint hash = 0;
  jlong owner = 0;  // Java's number of the thread that has it; -1: nobody
  friend bool operator==(const answer&, const answer&) = default;
};

way way_of(jint state) {
  if ((state & JVMTI_THREAD_STATE_PARKED) != 0) return way::parking;
  if ((state & JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER) != 0) return way::monitor;
  return (state & JVMTI_THREAD_STATE_IN_OBJECT_WAIT) != 0 ? way::notification : way::nothing;
}

answer answer_of(jthread thread) {
  jint state = 0;
  if (tools->GetThreadState(thread, &state) != JVMTI_ERROR_NONE) return {};
  return {way_of(state), (state & JVMTI_THREAD_STATE_WAITING_WITH_TIMEOUT) != 0, "", 0, 0};
}

std::string text_of(JNIEnv* env, jstring from) {
  const char* const bytes = from != nullptr ? env->GetStringUTFChars(from, nullptr) : nullptr;
  std::string found = bytes != nullptr ? bytes : "";
  if (bytes != nullptr) env->ReleaseStringUTFChars(from, bytes);
  return found;
}

// java.lang.management. A VM may be without it.
class management {
 public:
  explicit management(JNIEnv* env) : env_(env) {
    const jclass factory = found("ManagementFactory"), bean = found("ThreadMXBean"),
                 info = found("ThreadInfo"), lock = found("LockInfo"),
                 thread = checked(env->FindClass("java/lang/Thread"));
    if (factory == nullptr || bean == nullptr || info == nullptr || lock == nullptr) return;
    const jmethodID get = checked(env->GetStaticMethodID(factory, "getThreadMXBean",
                                                         "()Ljava/lang/management/ThreadMXBean;"));
    infos_ = method(bean, "getThreadInfo", "([J)[Ljava/lang/management/ThreadInfo;");
    lock_ = method(info, "getLockInfo", "()Ljava/lang/management/LockInfo;");
    owner_ = method(info, "getLockOwnerId", "()J");
    class_ = method(lock, "getClassName", "()Ljava/lang/String;");
    hash_ = method(lock, "getIdentityHashCode", "()I");
    number_ = checked(env->GetFieldID(thread, "tid", "J"));
    if (get != nullptr && infos_ != nullptr && lock_ != nullptr && owner_ != nullptr &&
        class_ != nullptr && hash_ != nullptr && number_ != nullptr)
      bean_ = checked(env->CallStaticObjectMethod(factory, get));
  }

  [[nodiscard]] bool is_there() const { return bean_ != nullptr; }

  // What Java calls the threads; -1: it is not known.
  [[nodiscard]] std::vector<jlong> all_numbers(const std::vector<jthread>& threads) const {
    std::vector<jlong> found;
    for (const jthread each : threads)
      found.push_back(bean_ != nullptr ? env_->GetLongField(each, number_) : -1);
    return found;
  }

  // Adds to the answers which monitors they are of.
  void complete(const std::vector<jthread>& threads, std::vector<answer>& answers) const {
    const auto count = static_cast<jsize>(threads.size());
    const jlongArray numbers = bean_ != nullptr ? env_->NewLongArray(count) : nullptr;
    if (numbers == nullptr) return env_->ExceptionClear();
    const std::vector<jlong> all = all_numbers(threads);
    env_->SetLongArrayRegion(numbers, 0, count, all.data());
    if (env_->ExceptionCheck() != JNI_FALSE) return env_->ExceptionClear();
    const auto infos =
        static_cast<jobjectArray>(checked(env_->CallObjectMethod(bean_, infos_, numbers)));
    for (jsize i = 0; infos != nullptr && i < count; ++i)
      complete(infos, i, answers[static_cast<std::size_t>(i)]);
    env_->DeleteLocalRef(numbers);
  }

 private:
  // What a call of Java's code has returned; none where that failed.
  template <class Value>
  Value checked(Value returned) const {
    if (env_->ExceptionCheck() == JNI_FALSE) return returned;
    env_->ExceptionClear();
    return {};
  }

  [[nodiscard]] jclass found(const char* name) const {
    return checked(env_->FindClass((std::string("java/lang/management/") + name).c_str()));
  }
  jmethodID method(jclass of, const char* name, const char* type) const {
    return checked(env_->GetMethodID(of, name, type));
  }

  void complete(jobjectArray infos, jsize i, answer& a) const {
    if (a.how != way::monitor && a.how != way::notification) return;
    const jobject info = checked(env_->GetObjectArrayElement(infos, i));  // null: it has ended
    const jobject lock = info != nullptr ? checked(env_->CallObjectMethod(info, lock_)) : nullptr;
    if (lock != nullptr) {
      const auto name = static_cast<jstring>(checked(env_->CallObjectMethod(lock, class_)));
      a.of_class = text_of(env_, name);
      a.hash = checked(env_->CallIntMethod(lock, hash_));
      a.owner = a.how == way::monitor ? checked(env_->CallLongMethod(info, owner_)) : -1;
      env_->DeleteLocalRef(name);
    }
    env_->DeleteLocalRef(lock);
    env_->DeleteLocalRef(info);
  }

  JNIEnv* env_;
  jobject bean_ = nullptr;
  jmethodID infos_ = nullptr, lock_ = nullptr, owner_ = nullptr, class_ = nullptr, hash_ = nullptr;
  jfieldID number_ = nullptr;
};

std::vector<answer> all_answers(const management& m, const std::vector<jthread>& threads) {
  std::vector<answer> found;
  for (const jthread each : threads) found.push_back(answer_of(each));
  m.complete(threads, found);
  return found;
}

// The class with that identity hash code, whose own monitor threads wait for; null: there is none.
jclass class_with(JNIEnv* env, jint hash) {
  jint count = 0;
  jclass *all = nullptr, found = nullptr;
  if (tools->GetLoadedClasses(&count, &all) != JVMTI_ERROR_NONE) return nullptr;
  const inner_frame frame(env);
  for (jint i = 0; i < count; ++i) {
    jint its = 0;
    const bool is_it =
        found == nullptr && tools->GetObjectHashCode(all[i], &its) == 0 && its == hash;
    if (is_it) found = all[i];
    else env->DeleteLocalRef(all[i]);
  }
  tools->Deallocate(reinterpret_cast<unsigned char*>(all));
  return found;
}

std::uint64_t number_of_monitor(JNIEnv* env, jthread thread, const answer& a) {
  const jclass of = a.of_class == "java.lang.Class" ? class_with(env, a.hash) : nullptr;
  if (of != nullptr) return monitor(env, of, thread).number;
  return unseen_monitor(env, a.of_class, a.hash, thread).number;
}

record::told_wait of_monitor(JNIEnv* env, jthread thread, const answer& a, seen_holder holder) {
  using record::object_kind, record::wait_kind;
  const std::uint64_t number = number_of_monitor(env, thread, a);
  const std::uint32_t stack = stack_of(thread);
  if (a.how == way::monitor)
    return {wait_kind::mutex,   object_kind::mutex, number, stack, holder.thread, false,
            holder.thread != 0, holder.stack};
  if (joins(thread))
    return {wait_kind::join, object_kind::thread, number, stack, 0, a.timed, false};
  return {wait_kind::condition, object_kind::condition, number, stack, 0, a.timed, false};
}

record::told_wait of_parking(JNIEnv* env, jthread thread) {
  const jobject on = blocker_of(env, thread);
  const object what = on != nullptr ? blocker(env, on, thread) : parked(env, thread, thread);
  const bool shared = what.wait == record::wait_kind::write && reads(thread);
  const seen_holder holder =
      on != nullptr && what.has_owner ? holder_of_blocker(env, on, true) : seen_holder{};
  env->DeleteLocalRef(on);
  return {shared ? record::wait_kind::read : what.wait,
          what.kind,
          what.number,
          stack_of(thread),
          holder.thread,
          false,
          holder.thread != 0,
          holder.stack};
}

bool is_told(const answer& a, bool sees_parks) {
  if (a.how == way::parking) return sees_parks && !a.timed;
  return !a.of_class.empty();
}

// The thread that Java calls so, which has what another waits for.
seen_holder holder_called(JNIEnv* env, const std::vector<jthread>& threads,
                          const std::vector<jlong>& numbers, jlong number) {
  const auto found = std::find(numbers.begin(), numbers.end(), number);
  if (number <= 0 || found == numbers.end()) return {};
  return where_is(env, threads[static_cast<std::size_t>(found - numbers.begin())]);
}

void tell_line(const std::string& line) { recorder->names(line.data(), line.size()); }

void tell_all(JNIEnv* env, const std::vector<jthread>& threads, bool sees_parks) {
  const management m(env);
  if (!m.is_there()) tell_line("no waits before at monitors\n");
  const std::vector<jlong> numbers = m.all_numbers(threads);
  const std::vector<answer> first = all_answers(m, threads);
  std::vector<std::uint32_t> ids(threads.size());
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const std::uint32_t id = kernel_id(env, threads[i]);
    if (id != 0) recorder->thread_runs(id);
    if (!is_told(first[i], sees_parks)) continue;
    ids[i] = id;
    if (ids[i] == 0) continue;
    recorder->waits_already(ids[i],
                            first[i].how == way::parking
                                ? of_parking(env, threads[i])
                                : of_monitor(env, threads[i], first[i],
                                             holder_called(env, threads, numbers, first[i].owner)));
  }
  const std::vector<answer> again = all_answers(m, threads);
  const std::scoped_lock lock(table_lock);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (ids[i] == 0) continue;
    const bool goes = std::find(let_go.begin(), let_go.end(), ids[i]) != let_go.end();
    if (goes || again[i] != first[i]) recorder->goes_on(ids[i], false);
    else told.push_back({env->NewWeakGlobalRef(threads[i]), ids[i], first[i].how == way::parking});
  }
}

}  // namespace

void tell_waits_before(JNIEnv* env, bool sees_parks) {
  jthread self = nullptr;
  jint count = 0;
  jthread* found = nullptr;
  if (tools->GetCurrentThread(&self) != JVMTI_ERROR_NONE ||
      tools->GetAllThreads(&count, &found) != JVMTI_ERROR_NONE ||
      env->PushLocalFrame(count + inner_frame::references) != 0)
    return env->ExceptionClear();
  {
    const std::scoped_lock lock(table_lock);
    asks = true;
  }
  any.store(sees_parks, std::memory_order_seq_cst);  // [W]
  std::vector<jthread> threads;
  for (jint i = 0; i < count; ++i)
    if (env->IsSameObject(found[i], self) == JNI_FALSE) threads.push_back(found[i]);
  tell_all(env, threads, sees_parks);
  for (jint i = 0; i < count; ++i) env->DeleteLocalRef(found[i]);
  tools->Deallocate(reinterpret_cast<unsigned char*>(found));
  env->PopLocalFrame(nullptr);
  tell_line("waits before\n");  // they were asked for
  const std::scoped_lock lock(table_lock);
  asks = false;
  let_go.clear();
}

bool lets_go(JNIEnv* env, jthread thread) {
  if (!any.load(std::memory_order_seq_cst)) return false;  // [W]
  const std::uint32_t id = kernel_id(env, thread);
  if (id == 0) return true;
  const std::scoped_lock lock(table_lock);
  if (asks) let_go.push_back(id);
  const auto found = std::find_if(told.begin(), told.end(),
                                  [&](const told_thread& t) { return t.id == id && t.parks; });
  if (found == told.end()) return true;
  recorder->goes_on(id, true);
  env->DeleteWeakGlobalRef(found->thread);
  told.erase(found);
  return true;
}

void forget_waits_before(JNIEnv* env) {
  any.store(false, std::memory_order_relaxed);  // [D]
  const std::scoped_lock lock(table_lock);
  for (const told_thread& t : told) {
    if (const jobject thread = t.parks ? env->NewLocalRef(t.thread) : nullptr) {
      if (answer_of(thread).how != way::parking) recorder->goes_on(t.id, false);
      env->DeleteLocalRef(thread);
    }
    env->DeleteWeakGlobalRef(t.thread);
  }
  told.clear();
}

}  // namespace syncopate::jvm
