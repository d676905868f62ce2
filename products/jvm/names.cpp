// names.cpp -- see jvm.h. Numbers are handed out as objects and places in the code are first seen,
// and the record is told their names at once (told.h).
#include <syncopate/locks/futex_lock.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "jvm.h"

namespace syncopate::jvm {

namespace {

constexpr std::uint64_t first_code = std::uint64_t{0x4a61} << 48,  // no addresses
    first_object = std::uint64_t{0x4a6f} << 48;

struct place {
  jmethodID method;
  jlocation at;
  friend bool operator==(const place&, const place&) = default;
};
struct place_hash {
  std::size_t operator()(const place& p) const {
    return reinterpret_cast<std::uintptr_t>(p.method) * 31 + static_cast<std::size_t>(p.at);
  }
};
struct known_place {
  std::uint64_t number;
  bool is_javas_own;  // of the libraries of locks; of those one
  bool reads;         // that takes the shared side of a lock
  bool takes;         // that takes what others wait for, or gives up waiting for it
  bool gives_back;    // that gives permits of a semaphore back
  bool joins;         // that waits for a thread to end
  std::string text;   // Class.method:line
  std::string where;  // File.java:line
};

struct known_object {
  object what;
  bool is_blocker;  // `what` says what it is to those that park for it
};

struct unseen {
  std::string name;
  jint hash;
  std::uint64_t number;
};

constinit futex_lock table_lock;  // (pthread's would be recorded)
std::unordered_map<place, known_place, place_hash> places;
std::deque<known_object> objects;
std::vector<unseen> unseen_monitors;

std::string take(char* text) {
  std::string found = text != nullptr ? text : "";
  if (text != nullptr) tools->Deallocate(reinterpret_cast<unsigned char*>(text));
  for (char& c : found)  // each line has one name, in fields
    if (c == '\t' || c == '\n') c = ' ';
  return found;
}

std::string primitive_name(char signature) {
  switch (signature) {
    case 'Z': return "boolean";
    case 'B': return "byte";
    case 'C': return "char";
    case 'S': return "short";
    case 'I': return "int";
    case 'J': return "long";
    case 'F': return "float";
    case 'D': return "double";
    default: return {1, signature};
  }
}

// "Lcom/acme/Bank$Account;" as "com.acme.Bank$Account", "[I" as "int[]".
std::string of_signature(std::string name) {
  const std::size_t dimensions = std::min(name.find_first_not_of('['), name.size());
  name.erase(0, dimensions);
  if (name.size() > 2 && name.front() == 'L') name = name.substr(1, name.size() - 2);
  else if (name.size() == 1) name = primitive_name(name.front());
  for (char& c : name)
    if (c == '/') c = '.';
  // Hidden classes have an address in their names, which says nothing.
  if (const std::size_t hidden = name.find(".0x"); hidden != std::string::npos) name.resize(hidden);
  for (std::size_t i = 0; i < dimensions; ++i) name += "[]";
  return name;
}

std::string class_name(jclass of) {
  char* signature = nullptr;
  if (of == nullptr || tools->GetClassSignature(of, &signature, nullptr) != JVMTI_ERROR_NONE)
    return "?";
  return of_signature(take(signature));
}

std::string without_package(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

int line_of(const place& p) {
  jint count = 0, found = 0;
  jvmtiLineNumberEntry* table = nullptr;
  if (p.at < 0 || tools->GetLineNumberTable(p.method, &count, &table) != JVMTI_ERROR_NONE) return 0;
  jlocation best = -1;
  for (jint i = 0; i < count; ++i)
    if (table[i].start_location <= p.at && table[i].start_location > best) {
      best = table[i].start_location;
      found = table[i].line_number;
    }
  tools->Deallocate(reinterpret_cast<unsigned char*>(table));
  return found;
}

known_place describe(JNIEnv* env, const place& p) {
  jclass of = nullptr;
  tools->GetMethodDeclaringClass(p.method, &of);
  char *name = nullptr, *file = nullptr;
  tools->GetMethodName(p.method, &name, nullptr, nullptr);
  if (of != nullptr) tools->GetSourceFileName(of, &file);
  const std::string in = class_name(of), method = take(name), source = take(file);
  if (of != nullptr) env->DeleteLocalRef(of);
  const int line = line_of(p);
  known_place found{};
  found.is_javas_own = in.starts_with("java.util.concurrent.") || has(in, ".misc.Unsafe") ||
                       in == "java.lang.Object" || in == "java.lang.Thread";
  found.reads = found.is_javas_own && (has(method, "Shared") || has(method, "Read"));
  found.takes =
      found.is_javas_own && (method.starts_with("acquire") || method.starts_with("doAcquire"));
  found.gives_back = in == "java.util.concurrent.Semaphore" && method == "release";
  found.joins = in == "java.lang.Thread" && method == "join";
  found.text = without_package(in) + "." + method + (line != 0 ? ":" + std::to_string(line) : "");
  found.where = line != 0 ? source + ":" + std::to_string(line) : source;
  char lines[1024];
  {
    const std::scoped_lock lock(table_lock);
    const auto [at, is_new] = places.try_emplace(p, found);
    if (!is_new) return at->second;
    found.number = at->second.number = first_code + places.size();
  }
  const int bytes = std::snprintf(lines, sizeof lines, "name %llx %s.%s\t%s\t%d\tJava\n",
                                  static_cast<unsigned long long>(found.number), in.c_str(),
                                  method.c_str(), source.c_str(), line);
  if (bytes > 0 && static_cast<std::size_t>(bytes) < sizeof lines)
    recorder->names(lines, static_cast<std::size_t>(bytes));
  return found;
}

known_place place_of(JNIEnv* env, const jvmtiFrameInfo& frame) {
  const place p{frame.method, frame.location};
  {
    const std::scoped_lock lock(table_lock);
    if (const auto found = places.find(p); found != places.end()) return found->second;
  }
  return describe(env, p);
}

JNIEnv* environment() {
  static JavaVM* vm = nullptr;
  JNIEnv* env = nullptr;
  jsize count = 0;
  if (vm == nullptr && (JNI_GetCreatedJavaVMs(&vm, 1, &count) != JNI_OK || count == 0))
    return nullptr;
  return vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_8) == JNI_OK ? env : nullptr;
}

constexpr jint most_frames = record::stack_depth;

// The innermost frame of the thread that is the program's own.
known_place user(JNIEnv* env, jthread by) {
  jvmtiFrameInfo frames[most_frames];
  jint count = 0;
  known_place found{};
  if (tools->GetStackTrace(by, 0, most_frames, frames, &count) != JVMTI_ERROR_NONE) return {};
  for (jint i = 0; i < count; ++i) {
    found = place_of(env, frames[i]);
    if (!found.is_javas_own) break;
  }
  return found;
}

// What a class that threads park for is to them.
object of_class(JNIEnv* env, const std::string& name, jobject on) {
  using record::object_kind, record::wait_kind;
  static const jclass ownable = [env] {
    const jclass local = env->FindClass("java/util/concurrent/locks/AbstractOwnableSynchronizer");
    env->ExceptionClear();
    return local != nullptr ? static_cast<jclass>(env->NewGlobalRef(local)) : nullptr;
  }();
  const bool is_ownable = ownable != nullptr && env->IsInstanceOf(on, ownable);
  if (has(name, "ReentrantReadWriteLock") || has(name, "StampedLock"))
    return {0, object_kind::rwlock, wait_kind::write, is_ownable};
  if (name.starts_with("java.util.concurrent.Semaphore"))
    return {0, object_kind::semaphore, wait_kind::semaphore, false};
  if (name.starts_with("java.util.concurrent.CountDownLatch") || has(name, "concurrent.Phaser"))
    return {0, object_kind::barrier, wait_kind::barrier, false};
  if (is_ownable && !name.starts_with("java.util.concurrent.ThreadPoolExecutor"))
    return {0, object_kind::mutex, wait_kind::mutex, true};
  return {0, object_kind::condition, wait_kind::condition, false};
}

// "java.util.concurrent.locks.ReentrantLock$NonfairSync" is a ReentrantLock to its users.
std::string shown_class(const std::string& name) {
  std::string found = without_package(name);
  for (const char* part : {"$NonfairSync", "$FairSync", "$Sync"})
    if (const std::size_t at = found.find(part); at != std::string::npos) found.resize(at);
  return found;
}

// A new object's number, of which the record is told the name.
std::uint64_t add(JNIEnv* env, known_object it, const std::string& name, jthread by) {
  const known_place from = user(env, by);
  std::uint64_t number = 0;
  {
    const std::scoped_lock lock(table_lock);
    number = it.what.number = first_object + objects.size() + 1;
    objects.push_back(it);
  }
  char line[1024];
  const int bytes = std::snprintf(
      line, sizeof line, "lock %llx %s%s%s\t%s\n", static_cast<unsigned long long>(number),
      name.c_str(), from.text.empty() ? "" : " at ", from.text.c_str(), from.where.c_str());
  if (bytes > 0 && static_cast<std::size_t>(bytes) < sizeof line)
    recorder->names(line, static_cast<std::size_t>(bytes));
  return number;
}

void set_number(jobject on, std::uint64_t number) {
  tools->SetTag(on, static_cast<jlong>(number - first_object));
}

// The number that threads waited for already; 0: none did for this one.
std::uint64_t seen_at_last(jobject on, const std::string& name) {
  jint hash = 0;
  const std::scoped_lock lock(table_lock);
  if (unseen_monitors.empty() || tools->GetObjectHashCode(on, &hash) != JVMTI_ERROR_NONE) return 0;
  for (const unseen& each : unseen_monitors)
    if (each.hash == hash && each.name == name) return each.number;
  return 0;
}

// Gives the object its number and tells the record its name. None has one.
object add(JNIEnv* env, jobject on, known_object it, const std::string& name, jthread by) {
  it.what.number = seen_at_last(on, name);
  if (it.what.number == 0) it.what.number = add(env, it, name, by);
  set_number(on, it.what.number);
  return it.what;
}

std::string class_of(JNIEnv* env, jobject on) {
  const jclass of = env->GetObjectClass(on);
  const std::string name = class_name(of);
  env->DeleteLocalRef(of);
  return name;
}

known_object known(jobject on) {
  jlong tag = 0;
  if (tools->GetTag(on, &tag) != JVMTI_ERROR_NONE || tag <= 0) return {};
  const std::scoped_lock lock(table_lock);
  return static_cast<std::size_t>(tag) <= objects.size()
             ? objects[static_cast<std::size_t>(tag) - 1]
             : known_object{};
}

// As it is to those that do not park for it.
object numbered(JNIEnv* env, jobject on, record::object_kind kind, record::wait_kind wait,
                jthread by) {
  object what{known(on).what.number, kind, wait, false};
  if (what.number != 0) return what;
  const std::string name = class_of(env, on);
  const bool is_class = name == "java.lang.Class";
  return add(env, on, {what, false},
             is_class ? without_package(class_name(static_cast<jclass>(on))) + ".class"
                      : without_package(name),
             by);
}

}  // namespace

object monitor(JNIEnv* env, jobject on, jthread by) {
  return numbered(env, on, record::object_kind::mutex, record::wait_kind::mutex, by);
}

object parked(JNIEnv* env, jthread thread, jthread by) {
  return numbered(env, thread, record::object_kind::condition, record::wait_kind::condition, by);
}

object blocker(JNIEnv* env, jobject on, jthread by) {
  const known_object before = known(on);
  if (before.is_blocker) return before.what;
  const std::string name = class_of(env, on);
  object what = of_class(env, name, on);
  what.number = before.what.number;
  if (what.number == 0) return add(env, on, {what, true}, shown_class(name), by);
  const std::scoped_lock lock(table_lock);
  objects[what.number - first_object - 1] = {what, true};
  return what;
}

object unseen_monitor(JNIEnv* env, const std::string& of_class, jint hash, jthread by) {
  const bool is_array = of_class.starts_with('[');
  const std::string name = without_package(is_array ? of_signature(of_class) : of_class);
  object what{0, record::object_kind::mutex, record::wait_kind::mutex, false};
  {
    const std::scoped_lock lock(table_lock);
    for (const unseen& each : unseen_monitors)
      if (each.hash == hash && each.name == name) what.number = each.number;
  }
  if (what.number != 0) return what;
  what.number = add(env, {what, false}, name, by);
  const std::scoped_lock lock(table_lock);
  unseen_monitors.push_back({name, hash, what.number});
  return what;
}

object known_blocker(jobject on) {
  const known_object found = known(on);
  return found.is_blocker ? found.what : object{};
}

std::uint32_t stack_of(jthread thread, int skip) {
  JNIEnv* const env = environment();
  jvmtiFrameInfo frames[most_frames];
  jint count = 0;
  if (env == nullptr ||
      tools->GetStackTrace(thread, skip, most_frames, frames, &count) != JVMTI_ERROR_NONE)
    return 0;
  std::uint64_t numbers[most_frames];
  for (jint i = 0; i < count; ++i) numbers[i] = place_of(env, frames[i]).number;
  return recorder->stack_id(numbers, static_cast<unsigned>(count));
}

// Whether one of the thread's innermost functions is of that kind, which are Java's own.
static bool is_within(bool known_place::*kind, jthread by = nullptr) {
  constexpr jint inner = 8;
  JNIEnv* const env = environment();
  jvmtiFrameInfo frames[inner];
  jint count = 0;
  if (env == nullptr || tools->GetStackTrace(by, 0, inner, frames, &count) != JVMTI_ERROR_NONE)
    return false;
  for (jint i = 0; i < count; ++i) {
    const known_place found = place_of(env, frames[i]);
    if (found.*kind) return true;
    if (!found.is_javas_own) return false;
  }
  return false;
}

bool reads(jthread by) { return is_within(&known_place::reads, by); }

bool joins(jthread by) { return is_within(&known_place::joins, by); }

bool lets_go_of(const object& what) {
  using record::object_kind;
  if (what.number == 0) return false;
  if (what.kind == object_kind::semaphore) return is_within(&known_place::gives_back);
  return (what.kind == object_kind::mutex || what.kind == object_kind::rwlock) &&
         !is_within(&known_place::takes);
}

}  // namespace syncopate::jvm
