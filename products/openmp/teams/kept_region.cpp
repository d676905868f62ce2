// kept_region.cpp -- see kept_region.h.
//
// Memory order (each tag stands at its site below)
//   [H]  relaxed: `refused` only ever becomes true; who sees it late keeps one more region, which
//        is as right as those before. `said`, too; one sees it first.
//   [P]  acquire load of the phase's mark -- synchronizes with mark_phase() (team.cpp).
//   [M]  relaxed: stored before its thread arrives at the meeting, read by the master behind it.
//   [G]  relaxed: between regions, the master's alone.
//   [W]  relaxed RMW: one thread registers the handler; nothing comes with it.

#include "openmp/teams/kept_region.h"

#include <syncopate/barriers/fork_join.h>

#include <algorithm>
#include <cstring>

#include <link.h>
#include <pthread.h>

#include "openmp/config.h"
#include "openmp/tasks/phase.h"
#include "openmp/tasks/settings.h"
#include "openmp/teams/arrivals.h"
#include "openmp/teams/places.h"
#include "openmp/teams/task_waits.h"
#include "record/recorder.h"

extern "C" int __cxa_thread_atexit_impl(void (*)(void*), void*, void*);
extern "C" void* __dso_handle;
extern "C" void* __tls_get_addr(void* index);

namespace syncopate::openmp {
namespace {

// More than any libgomp's thread-local storage; GCC 12's takes 136 bytes.
constexpr std::size_t most_storage = 512;

// So many regions alike before their team is kept, since its start and end take as long as some
// regions; twice as many whenever it then ran few.
constexpr std::uint32_t first_needed = 2, most_needed = 1u << 20;
constexpr std::uint64_t worth_keeping = 64;

constinit std::atomic<bool> refused{false};

bool has_all(const entry_points& real) noexcept {
  return real.GOMP_parallel_start != nullptr && real.GOMP_parallel_end != nullptr &&
         real.omp_get_dynamic != nullptr && real.omp_get_max_active_levels != nullptr &&
         real.omp_get_thread_limit != nullptr && real.omp_get_default_device != nullptr &&
         real.omp_get_schedule != nullptr && real.omp_get_cancellation != nullptr &&
         real.omp_get_thread_num != nullptr;
}

// The calling thread's storage of the module that lies at `base`.
struct storage {
  const void* base;
  unsigned char* at = nullptr;
  std::size_t size = 0;
};

// As compilers ask for it (the ABI of thread-local storage): which module's, and where in it.
struct storage_index {
  unsigned long module = 0, offset = 0;
};

struct storage_search {
  storage& wanted;
  storage_index index{};
};

int look_at(dl_phdr_info* info, std::size_t length, void* argument) {
  auto& search = *static_cast<storage_search*>(argument);
  if (reinterpret_cast<const void*>(info->dlpi_addr) != search.wanted.base) return 0;
  if (length < offsetof(dl_phdr_info, dlpi_tls_data) + sizeof info->dlpi_tls_data) return 1;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_TLS) search.wanted.size = info->dlpi_phdr[i].p_memsz;
  search.index.module = info->dlpi_tls_modid;
  return 1;
}

// The loader's list has no address where a runtime was loaded later than the thread began, since it
// is not yet noted for that thread; to ask for it as the runtime's code could, notes it. Not inside
// of the list: that waits for locks of the loader's.
storage storage_of(const runtime& of) noexcept {
  storage found{of.base};
  storage_search search{found};
  ::dl_iterate_phdr(look_at, &search);
  if (search.index.module != 0)
    found.at = static_cast<unsigned char*>(::__tls_get_addr(&search.index));
  return found;
}

void refuse(const runtime& of, const char* why) noexcept {
  if (refused.exchange(true, std::memory_order_relaxed)) return;  // [H]
  const char* parts[] = {"syncopate: regions of ", of.file, " are not kept: ", why, nullptr};
  say(parts);
}

// With SYNCOPATE_VERBOSE, once: that it does what was asked for.
void say_first(const runtime& of) noexcept {
  static constinit std::atomic<bool> said{false};
  if (!config.verbose || said.exchange(true, std::memory_order_relaxed)) return;  // [H]
  const char* parts[] = {"syncopate: a team of ", of.file, " is kept", nullptr};
  say(parts);
}

}  // namespace

class kept_region {
 public:
  // Starts the team; null where it cannot be kept.
  static kept_region* open(const runtime& of, unsigned asked) noexcept;
  // Ends it, as libgomp ends a region.
  void close() noexcept;

  // Whether libgomp would start the same team, from the same state.
  [[nodiscard]] bool fits(unsigned asked) const noexcept {
    return asked == asked_ && std::memcmp(storage_.at, outside_, storage_.size) == 0 &&
           settings_of(of_.real) == outer_;
  }
  // Returns whether the team can go on.
  [[nodiscard]] bool run(const work& what, const void* place) noexcept;

  [[nodiscard]] const runtime* of() const noexcept { return &of_; }
  [[nodiscard]] std::uint64_t regions() const noexcept { return meeting_.regions(); }
  [[nodiscard]] bool is_inside() const noexcept { return inside_region_; }
  void wake_called() noexcept { meeting_.wake_called(); }

 private:
  kept_region(const runtime& of, unsigned asked, const storage& s) noexcept
      : of_(of),
        asked_(asked),
        storage_(s),
        start_(of, asked, {}, nullptr),
        team_(*start_.order()->in),
        meeting_(team_.participants - 1) {}

  void begin_recorded(const void* place) noexcept;
  void end_recorded(frame& f) const noexcept;
  static void work_on(void* kept);
  void work_on(frame& f) noexcept;
  void end_phase(frame& f) const noexcept;
  [[nodiscard]] bool is_called_away(const frame& f) const noexcept {
    return __builtin_expect(team_.task_phase.load(std::memory_order_acquire) == f.phase, 0);  // [P]
  }
  const char* check() noexcept;
  void go_inside() noexcept;
  void go_outside() noexcept;

  // Read by all; changed_ is written once.
  const runtime& of_;
  const unsigned asked_;
  const storage storage_;
  region start_;
  team& team_;
  std::atomic<bool> changed_{false};  // a thread has changed its settings
  // The region's place in the record, and where others than its master wait at its end; 0: it is
  // not recorded.
  std::uint32_t recorded_ = 0, recorded_end_ = 0;
  // The master's alone, in lines of their own: it writes there in each region.
  alignas(128) frame master_;
  bool inside_region_ = false;
  settings outer_{}, inner_{};  // of who starts the region; of its master in it
  unsigned char outside_[most_storage], inside_[most_storage];

  fork_join<work> meeting_;
};

namespace {

thread_local constinit kept_region* kept [[gnu::tls_model("initial-exec")]] = nullptr;

// What this thread's last regions were like.
struct candidate {
  const runtime* of = nullptr;
  unsigned asked = 0;
  std::uint32_t alike = 0, needed = first_needed;
  bool ending = false;
};
thread_local constinit candidate last [[gnu::tls_model("initial-exec")]];

gomp_function function_of(const work& what) noexcept {
  return reinterpret_cast<gomp_function>(what.function);
}

void need_more() noexcept {
  last.alike = 0;
  last.needed = std::min(last.needed * 2, most_needed);
}

void end_of_thread(void*) noexcept {
  last.ending = true;
  if (kept != nullptr) end_kept(kept->of());
}

// The child has no other threads. Its regions wait for them as libgomp's do.
void after_fork_in_child() noexcept {
  if (kept != nullptr && !kept->is_inside()) kept = nullptr;
}

void watch_fork_and_end() noexcept {
  static constinit std::atomic<bool> watched{false};
  if (!watched.exchange(true, std::memory_order_relaxed))
    ::pthread_atfork(nullptr, nullptr, after_fork_in_child);  // [W]
  thread_local constinit bool ours = false;
  if (ours) return;
  ours = true;
  // Earlier than the keys' destructors, by one of which libgomp ends the threads.
  (void)__cxa_thread_atexit_impl(end_of_thread, nullptr, &__dso_handle);
}

bool may_keep(const runtime& of) noexcept {
  const entry_points& real = of.real;
  return config.barrier != nullptr && !last.ending &&
         !refused.load(std::memory_order_relaxed) &&  // [H]
         cannot_keep(of) == nullptr && real.omp_get_level() == 0 && real.omp_get_dynamic() == 0 &&
         real.omp_get_cancellation() == 0;
}

}  // namespace

void kept_region::go_inside() noexcept {
  std::memcpy(storage_.at, inside_, storage_.size);
  inside_region_ = true;
  current = &master_;
}

void kept_region::go_outside() noexcept {
  current = nullptr;
  inside_region_ = false;
  std::memcpy(inside_, storage_.at, storage_.size);
  std::memcpy(storage_.at, outside_, storage_.size);
}

kept_region* kept_region::open(const runtime& of, unsigned asked) noexcept {
  if ((asked != 0 ? asked : static_cast<unsigned>(of.real.omp_get_max_threads())) < 2)
    return nullptr;
  const storage s = storage_of(of);
  if (s.at == nullptr || s.size == 0 || s.size > most_storage)
    return refuse(of, "its thread-local storage is not as we know it"), nullptr;
  auto* const k = new kept_region(of, asked, s);
  std::memcpy(k->outside_, s.at, s.size);
  k->outer_ = settings_of(of.real);
  of.real.GOMP_parallel_start(work_on, k, asked);
  k->start_.order()->enter(k->master_);
  k->team_.kept = k;
  k->inner_ = settings_of(of.real);
  const bool complete = k->master_.in != nullptr;  // else the runtime gave fewer threads
  k->go_outside();
  const char* const wrong = complete ? k->check() : nullptr;
  if (wrong != nullptr) refuse(of, wrong);
  if (complete && wrong == nullptr) return say_first(of), k;
  k->close();
  return nullptr;
}

// Whether the exchange of the storage leaves the region, and enters it again.
const char* kept_region::check() noexcept {
  const entry_points& real = of_.real;
  const bool left =
      real.omp_get_level() == 0 && real.omp_get_num_threads() == 1 && settings_of(real) == outer_;
  go_inside();
  const bool came_back = real.omp_get_level() == 1 && real.omp_get_thread_num() == 0 &&
                         real.omp_get_num_threads() == static_cast<int>(team_.participants);
  go_outside();
  return left && came_back ? nullptr : "its thread-local storage does not tell where a thread is";
}

void kept_region::close() noexcept {
  unsigned char now[most_storage];
  std::memcpy(now, storage_.at, storage_.size);
  go_inside();
  team_.kept = nullptr;
  meeting_.fork({});
  start_.order()->leave(master_);
  of_.real.GOMP_parallel_end();
  if (std::memcmp(storage_.at, outside_, storage_.size) != 0)
    refuse(of_, "the end of one leaves something behind");
  std::memcpy(storage_.at, now, storage_.size);
  delete this;
}

// All others wait for a region, or do not yet.
void kept_region::begin_recorded(const void* place) noexcept {
  recorded_ =
      record::identify(record::object_kind::barrier, region_that_may_be_kept, place, nullptr);
  begin_region_wait(recorded_);
  recorded_end_ = end_of_region(place);
  team_.left.store(0, std::memory_order_relaxed);  // [G]
  team_.leaving.clear();
}

void kept_region::end_recorded(frame& f) const noexcept {
  if (__builtin_expect(recorded_ == 0, 1)) return;
  count_leaving(f, team_, recorded_, team_.participants);
  meet_at_end(f, recorded_, recorded_end_);
}

bool kept_region::run(const work& what, const void* place) noexcept {
  go_inside();
  if (__builtin_expect(record::enabled, 0)) begin_recorded(place);
  meeting_.fork(what);
  master_.runs = what.function;
  if (__builtin_expect(recorded_ != 0, 0)) {
    end_region_wait();
    master_.own.begin();
  }
  function_of(what)(what.data);
  end_recorded(master_);
  ++master_.phase;
  const bool same = settings_of(of_.real) == inner_;
  meeting_.join([this] { return is_called_away(master_); });
  if (is_called_away(master_)) end_phase(master_);
  if (__builtin_expect(recorded_ != 0, 0)) end_region_wait();
  go_outside();
  return same && !changed_.load(std::memory_order_relaxed) &&  // [M]
         !team_.abandoned.load(std::memory_order_relaxed);     // [M]
}

void kept_region::end_phase(frame& f) const noexcept { end_marked_phase(f, nullptr); }

void kept_region::work_on(void* started) {
  auto* const k = static_cast<kept_region*>(started);
  k->start_.order()->run([k](const work&) { k->work_on(*current); });
}

void kept_region::work_on(frame& f) noexcept {
  if (f.in != nullptr) (void)settle(f);
  const settings mine = settings_of(of_.real);
  for (std::uint64_t number = 1;; ++number) {
    bool helped = number == 1;
    const work* what;
    while ((what = meeting_.next(number, [&] { return !helped && is_called_away(f); })) ==
           nullptr) {
      end_phase(f);
      helped = true;
    }
    if (what->function == nullptr) return;
    f.runs = what->function;
    if (__builtin_expect(recorded_ != 0, 0)) f.own.begin();
    function_of (*what)(what->data);
    end_recorded(f);
    ++f.phase;
    if (settings_of(of_.real) != mine) changed_.store(true, std::memory_order_relaxed);  // [M]
    meeting_.arrive(number);
  }
}

const char* cannot_keep(const runtime& of) noexcept {
  if (of.kind != family::gnu) return "it is libomp, of which only libgomp's way is known";
  return has_all(of.real) ? nullptr : "it has no separate calls to start and end them";
}

void wake_kept(kept_region& k) noexcept { k.wake_called(); }

bool run_kept(const runtime& of, unsigned asked, unsigned flags, const work& what,
              const void* place) noexcept {
  if (kept == nullptr || kept->of() != &of || kept->is_inside() || flags != 0 ||
      !kept->fits(asked)) {
    if (current != nullptr || (kept != nullptr && kept->is_inside())) return false;
    const bool again = last.of == &of && last.asked == asked && flags == 0;
    const std::uint32_t alike = again ? last.alike + 1 : 0;
    end_kept(&of);
    last.of = &of;
    last.asked = asked;
    last.alike = alike;
    if (kept != nullptr || alike < last.needed || asked == 1 || !may_keep(of)) return false;
    watch_fork_and_end();
    kept = kept_region::open(of, asked);
    if (kept == nullptr) return need_more(), false;
  }
  if (!kept->run(what, place)) end_kept(&of);
  return true;
}

void end_kept(const runtime* of) noexcept {
  last.alike = 0;
  if (kept == nullptr || kept->of() != of || kept->is_inside()) return;
  if (kept->regions() >= worth_keeping) last.needed = first_needed;
  else need_more();
  kept_region* const k = kept;
  kept = nullptr;
  k->close();
}

void never_keep() noexcept {
  if (!config.keep) return;
  refused.store(true, std::memory_order_relaxed);  // [H]
  if (kept != nullptr) end_kept(kept->of());
}

}  // namespace syncopate::openmp
