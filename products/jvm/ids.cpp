// ids.cpp -- see jvm.h. Threads that come by have their ids noted, by the number that Java gives
// each. (JVMTI can keep a word for each thread. But a VM may end by a signal that is asked for that
// of a thread which begins just then: HotSpot 17 does.) For the others: HotSpot exports a table of
// where the parts of its own structures lie, gHotSpotVMStructs, for its serviceability agent, which
// reads a VM from outside.
#include <syncopate/locks/futex_lock.h>

#include <cstdio>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "jvm.h"

namespace syncopate::jvm {

namespace {

// Offsets; a VM that does not tell them has none.
struct layout {
  std::uint64_t system_thread = 0;  // in its thread: a pointer to what it keeps of the system's
  std::uint64_t id = 0;             // in that: the kernel's id
};

// The VM's library, which may have been opened for its opener alone.
void* library(JNIEnv* env) {
  Dl_info of{};
  if (::dladdr(reinterpret_cast<void*>(env->functions->GetVersion), &of) == 0) return nullptr;
  return ::dlopen(of.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

layout read_layout(JNIEnv* env) {
  layout found;
  void* const vm = library(env);
  if (vm == nullptr) return found;
  const auto exported = [vm](const char* name) -> std::uint64_t {
    const void* const at = ::dlsym(vm, name);
    return at != nullptr ? *static_cast<const std::uint64_t*>(at) : 0;
  };
  const char* entry = reinterpret_cast<const char*>(exported("gHotSpotVMStructs"));
  const std::uint64_t stride = exported("gHotSpotVMStructEntryArrayStride"),
                      type = exported("gHotSpotVMStructEntryTypeNameOffset"),
                      field = exported("gHotSpotVMStructEntryFieldNameOffset"),
                      offset = exported("gHotSpotVMStructEntryOffsetOffset");
  if (stride == 0) entry = nullptr;
  for (; entry != nullptr; entry += stride) {
    const char *of = nullptr, *name = nullptr;
    std::memcpy(&of, entry + type, sizeof of);
    std::memcpy(&name, entry + field, sizeof name);
    if (of == nullptr || name == nullptr) break;
    std::uint64_t at = 0;
    std::memcpy(&at, entry + offset, sizeof at);
    if (std::strcmp(name, "_osthread") == 0) found.system_thread = at;
    else if (std::strcmp(of, "OSThread") == 0 && std::strcmp(name, "_thread_id") == 0)
      found.id = at;
  }
  ::dlclose(vm);
  return found;
}

// The thread may end meanwhile: then its memory need not be there.
bool read(std::uint64_t from, void* to, std::size_t bytes) {
  const iovec here{to, bytes};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that the VM has told
  const iovec there{reinterpret_cast<void*>(from), bytes};
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

jfieldID field_of_threads(JNIEnv* env, const char* name) {
  const jclass thread = env->FindClass("java/lang/Thread");
  const jfieldID field = thread != nullptr ? env->GetFieldID(thread, name, "J") : nullptr;
  env->ExceptionClear();
  return field;
}

constinit futex_lock table_lock;               // (pthread's would be recorded)
std::unordered_map<jlong, std::uint32_t> ids;  // by Java's numbers
thread_local jlong noted = 0;

// 0: it has none that can be read.
jlong number_of(JNIEnv* env, jthread thread) {
  static const jfieldID field = field_of_threads(env, "tid");
  return field != nullptr ? env->GetLongField(thread, field) : 0;
}

std::uint32_t id_in_vm(JNIEnv* env, jthread thread) {
  static const layout where = read_layout(env);
  static const jfieldID field = field_of_threads(env, "eetop");
  if (where.system_thread == 0 || where.id == 0 || field == nullptr) return 0;
  const auto its = static_cast<std::uint64_t>(env->GetLongField(thread, field));
  std::uint64_t system_thread = 0;
  std::uint32_t id = 0;
  if (its == 0 || !read(its + where.system_thread, &system_thread, sizeof system_thread) ||
      system_thread == 0 || !read(system_thread + where.id, &id, sizeof id))
    return 0;
  char path[48];
  std::snprintf(path, sizeof path, "/proc/self/task/%u", id);
  return ::access(path, F_OK) == 0 ? id : 0;
}

}  // namespace

std::uint32_t kernel_id(JNIEnv* env, jthread thread) {
  const jlong number = number_of(env, thread);
  {
    const std::scoped_lock lock(table_lock);
    if (const auto found = ids.find(number); found != ids.end()) return found->second;
  }
  const std::uint32_t id = id_in_vm(env, thread);
  if (id == 0 || number == 0) return id;
  const std::scoped_lock lock(table_lock);  // each unpark of it may ask again
  return ids[number] = id;
}

void note_thread(JNIEnv* env, jthread thread) {
  const jlong number = number_of(env, thread);
  if (number == 0 || number == noted) return;
  noted = number;
  const std::scoped_lock lock(table_lock);
  ids[number] = static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

void forget_thread(JNIEnv* env, jthread thread) {
  const std::scoped_lock lock(table_lock);
  ids.erase(number_of(env, thread));
}

}  // namespace syncopate::jvm
