// The mark that the kernel takes away when it preempts a thread, against the kernel's own count.
#include <syncopate/machine/switch_mark.h>

#include <gtest/gtest.h>

#include <csignal>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace syncopate::machine {
namespace {

// Another process on our processor, so that we are preempted for certain.
class Rival {
 public:
  Rival() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor(), &one);
    sched_setaffinity(0, sizeof one, &one);
    const pid_t parent = getpid();
    child_ = fork();
    if (child_ != 0) return;
    while (getppid() == parent) {
    }
    _exit(0);
  }
  ~Rival() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_;
  pid_t child_;
};

TEST(SwitchMark, CountsPreemptionsAsTheKernelDoes) {
  if (!switch_mark::is_possible()) return;  // the machine's C library has no such area
  const Rival rival;
  switch_mark mark;
  const switch_counts before = switches();
  mark.set();
  std::uint32_t seen = 0;
  while (seen < 3) seen += mark.taken().involuntary;
  const std::uint32_t made = switches().involuntary - before.involuntary;
  EXPECT_LE(seen, made);
  EXPECT_GE(seen + 2, made) << "what happens around the calls is not the mark's";
}

TEST(SwitchMark, SettingItAgainForgetsNothingThatIsNotTaken) {
  if (!switch_mark::is_possible()) return;
  const Rival rival;
  switch_mark mark;
  mark.set();
  const switch_counts start = switches();
  while (switches().involuntary == start.involuntary) {
  }
  EXPECT_GE(mark.taken().involuntary, 1u);
}

}  // namespace
}  // namespace syncopate::machine
