// kernel_side.cpp -- see kernel_side.h.
//
// Memory order (each tag stands at its site below)
//   [B]  relaxed: a bit that is looked at by itself; what is said of a process lies elsewhere.
#include "record/kernel/kernel_side.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <tuple>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

// The compiled program for the kernel, put in by the build (program.S).
extern "C" {
extern const char kernel_program_begin[] __attribute__((visibility("hidden")));
extern const char kernel_program_end[] __attribute__((visibility("hidden")));
}

namespace syncopate::record::kernel {

namespace {

constexpr char kernel_types[] = "/sys/kernel/btf/vmlinux";
constexpr ino_t first_process_namespace = 0xEFFFFFFC;
constexpr unsigned switch_arguments_with_state = 5;  // and the one that says which program listens
constexpr unsigned samples_a_second = 97;            // no divisor of what programs do so often

int keep_quiet(libbpf_print_level, const char*, va_list) { return 0; }

bool kernel_is_older_than(int major, int minor) {
  utsname name{};
  int its_major = 0, its_minor = 0;
  if (::uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &its_major, &its_minor) != 2)
    return false;
  return its_major < major || (its_major == major && its_minor < minor);
}

// Whether this kernel's sched_switch says which state the thread left in.
bool state_is_told() {
  btf* types = btf__load_vmlinux_btf();
  if (types == nullptr) return true;
  bool told = true;
  const int name = btf__find_by_name_kind(types, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
  if (name > 0) {
    const btf_type* pointer = btf__type_by_id(types, btf__type_by_id(types, name)->type);
    const btf_type* function = pointer != nullptr ? btf__type_by_id(types, pointer->type) : nullptr;
    if (function != nullptr) told = btf_vlen(function) >= switch_arguments_with_state;
  }
  btf__free(types);
  return told;
}

std::string why_not(int error) {
  if (error == EPERM || error == EACCES)
    return std::string(
               "the kernel's view needs root's rights (or CAP_BPF, CAP_PERFMON and "
               "CAP_SYS_PTRACE); ") +
           (geteuid() != 0 ? "run it with sudo"
                           : "root lacks some of these here, as in a container");
  return std::string("the kernel does not take the program that looks at waits: ") +
         std::strerror(error) + "; `syncopate doctor` says what it lacks";
}

}  // namespace

std::string obstacle() {
  if (kernel_is_older_than(5, 15)) return "the kernel's view needs Linux 5.15 or later";
  if (::access("/sys/kernel", F_OK) != 0)
    return "/sys, where the kernel describes its types, is not mounted here";
  if (::access(kernel_types, F_OK) != 0)
    return "this kernel does not describe its types (no /sys/kernel/btf/vmlinux); it needs "
           "CONFIG_DEBUG_INFO_BTF";
  struct stat space {};
  if (::stat("/proc/self/ns/pid", &space) == 0 && space.st_ino != first_process_namespace)
    return "process numbers here are a container's own; run the kernel's view outside of it";
  return "";
}

kernel_side::kernel_side(listener l) : listener_(std::move(l)) { libbpf_set_print(keep_quiet); }

kernel_side::~kernel_side() {
  for (bpf_link* link : links_) bpf_link__destroy(link);
  bpf_link__destroy(seeder_);
  bpf_link__destroy(looker_);
  ring_buffer__free(ring_);
  for (const auto& [at, bytes] : shared_) ::munmap(at, bytes);
  bpf_object__close(object_);
}

std::string kernel_side::start(bool follows_children) {
  const std::string first = obstacle();
  if (!first.empty()) return first;
  const auto bytes = static_cast<std::size_t>(kernel_program_end - kernel_program_begin);
  object_ = bpf_object__open_mem(kernel_program_begin, bytes, nullptr);
  if (object_ == nullptr) return why_not(errno);
  bpf_map* each = nullptr;
  bpf_object__for_each_map(each, object_) {
    const char* name = bpf_map__name(each);
    std::size_t size = 0;
    if (std::strstr(name, ".rodata") != nullptr) {
      const void* initial = bpf_map__initial_value(each, &size);
      if (initial == nullptr || size < 2) return why_not(EINVAL);
      std::vector<unsigned char> constants(size);
      std::memcpy(constants.data(), initial, size);
      constants[0] = state_is_told() ? 1 : 0;  // in the order in which waits.bpf.c has them
      constants[1] = follows_children ? 1 : 0;
      if (bpf_map__set_initial_value(each, constants.data(), size) != 0) return why_not(EINVAL);
    }
  }
  if (const int failed = bpf_object__load(object_); failed != 0) return why_not(-failed);
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object_) {
    const std::string name = bpf_program__name(program);
    if (name == "on_sample") {
      sample_with(program);
      continue;
    }
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr) return why_not(errno);
    if (name == "on_task") seeder_ = link;
    else if (name == "on_look") looker_ = link;
    else links_.push_back(link);
  }
  controls_ = static_cast<kernel_controls*>(share(".data"));
  if (controls_ == nullptr) return why_not(errno);
  recorded_ = static_cast<std::uint64_t*>(share(".bss"));
  if (recorded_ == nullptr) return why_not(errno);
  ring_ = ring_buffer__new(
      map("events"),
      [](void* self, void* data, std::size_t) {
        static_cast<kernel_side*>(self)->listener_(*static_cast<const event_head*>(data));
        return 0;
      },
      this, nullptr);
  return ring_ != nullptr ? "" : why_not(errno);
}

// Lets the clock of each processor run it. Where that cannot be, nobody tells where threads run.
void kernel_side::sample_with(bpf_program* program) {
  perf_event_attr how{};
  how.size = sizeof how;
  how.type = PERF_TYPE_SOFTWARE;
  how.config = PERF_COUNT_SW_CPU_CLOCK;
  how.freq = 1;
  how.sample_freq = samples_a_second;
  const long processors = ::sysconf(_SC_NPROCESSORS_CONF);
  for (long each = 0; each < processors; ++each) {
    const long clock = ::syscall(SYS_perf_event_open, &how, -1, each, -1, PERF_FLAG_FD_CLOEXEC);
    if (clock < 0) continue;  // that one is off
    // The link closes what it is attached to.
    bpf_link* link = bpf_program__attach_perf_event(program, static_cast<int>(clock));
    if (link != nullptr) links_.push_back(link);
    else ::close(static_cast<int>(clock));
  }
}

// Maps the variables of the program in the kernel that lie in this section; null: errno says why.
void* kernel_side::share(const char* section) {
  bpf_map* each = nullptr;
  bpf_object__for_each_map(each, object_) {
    if (std::strstr(bpf_map__name(each), section) == nullptr) continue;
    const std::size_t bytes = bpf_map__value_size(each);
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(each), 0);
    if (at == MAP_FAILED) return nullptr;
    shared_.emplace_back(at, bytes);
    return at;
  }
  errno = EINVAL;
  return nullptr;
}

int kernel_side::map(const char* name) const {
  return bpf_object__find_map_fd_by_name(object_, name);
}

namespace {

std::uint64_t bit_of(std::uint32_t process) { return std::uint64_t{1} << process % 64; }

}  // namespace

void kernel_side::add(std::uint32_t process) {
  __atomic_fetch_or(&recorded_[process / 64 % recorded_words], bit_of(process),
                    __ATOMIC_RELAXED);  // [B]
}

void kernel_side::forget(std::uint32_t process) {
  __atomic_fetch_and(&recorded_[process / 64 % recorded_words], ~bit_of(process),
                     __ATOMIC_RELAXED);  // [B]
}

namespace {

// Lets the kernel run a program of ours on each task. Returns what these tell.
std::vector<char> on_all_tasks(const bpf_link* program) {
  constexpr std::size_t at_once = 1 << 15;
  std::vector<char> told;
  const int reader = bpf_iter_create(bpf_link__fd(program));
  if (reader < 0) return told;
  for (ssize_t got = 1; got > 0;) {
    const std::size_t before = told.size();
    told.resize(before + at_once);
    got = ::read(reader, told.data() + before, at_once);
    told.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  ::close(reader);
  return told;
}

}  // namespace

void kernel_side::seed() { on_all_tasks(seeder_); }

void kernel_side::poll(int milliseconds) {
  ring_buffer__poll(ring_, milliseconds);
  ring_buffer__consume(ring_);
}

namespace {

// All of a hash map, as far as it stands still.
template <class Key, class Value>
std::vector<std::pair<Key, Value>> all_of(int map) {
  std::vector<std::pair<Key, Value>> found;
  constexpr std::uint32_t at_once = 1024;
  std::vector<Key> keys(at_once);
  std::vector<Value> values(at_once);
  std::uint32_t in = 0, out = 0;
  bool first = true;
  for (;;) {
    std::uint32_t count = at_once;
    const int failed = bpf_map_lookup_batch(map, first ? nullptr : &in, &out, keys.data(),
                                            values.data(), &count, nullptr);
    if (failed != 0 && failed != -ENOENT) break;
    for (std::uint32_t i = 0; i < count; ++i) found.emplace_back(keys[i], values[i]);
    if (failed != 0) break;
    in = out;
    first = false;
  }
  return found;
}

}  // namespace

std::vector<waiting_thread> kernel_side::threads() const {
  const std::vector<char> told = on_all_tasks(looker_);
  std::vector<waiting_thread> found(told.size() / sizeof(waiting_thread));
  if (!found.empty()) std::memcpy(found.data(), told.data(), found.size() * sizeof found[0]);
  return found;
}

std::vector<waiting_thread> kernel_side::waiting() const {
  std::vector<waiting_thread> found = threads();
  std::erase_if(found, [](const waiting_thread& each) { return each.since == 0; });
  return found;
}

bool kernel_side::is_waiting_since(std::uint32_t thread, std::uint64_t since) {
  waiting_thread now{};
  return bpf_map_lookup_elem(map("waiting"), &thread, &now) == 0 && now.since == since;
}

std::vector<std::pair<blocked_key, blocked_sum>> kernel_side::blocked(std::uint64_t now) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, blocked_sum> sums;
  const auto add = [&](const blocked_key& key, const blocked_sum& more) {
    blocked_sum& sum = sums[{key.process, key.thread, key.call}];
    sum.times += more.times;
    sum.ns += more.ns;
    sum.longest = std::max(sum.longest, more.longest);
  };
  for (const auto& [key, sum] : all_of<blocked_key, blocked_sum>(map("blocked"))) add(key, sum);
  for (const waiting_thread& w : threads()) {
    if (w.blocked.times != 0) add({w.process, w.thread, w.blocked_in}, w.blocked);
    const std::uint64_t until = w.woken != 0 ? w.woken : now;
    if (w.since == 0 || w.since > until || w.flags & waits_at_futex) continue;
    const std::uint64_t ns = until - w.since;
    add({w.process, w.thread, w.call}, {1, ns, ns});
  }
  std::vector<std::pair<blocked_key, blocked_sum>> found;
  for (const auto& [key, sum] : sums) {
    const auto [process, thread, call] = key;
    found.push_back({{process, thread, call}, sum});
  }
  return found;
}

std::vector<std::pair<sample_key, std::uint32_t>> kernel_side::cpu_samples() {
  const int from = map("samples");
  auto found = all_of<sample_key, std::uint32_t>(from);
  for (const auto& [key, count] : found) bpf_map_delete_elem(from, &key);
  return found;
}

void kernel_side::forget_blocked_of(std::uint32_t thread) {
  for (const auto& [key, sum] : all_of<blocked_key, blocked_sum>(map("blocked")))
    if (key.thread == thread) forget_blocked(key);
}

void kernel_side::forget_blocked(const blocked_key& key) {
  bpf_map_delete_elem(map("blocked"), &key);
}

}  // namespace syncopate::record::kernel
