// The capability probe: complete answers, honest about this machine, harmless to its caller.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <set>
#include <string>

#include <sys/wait.h>

#include <syncopate/machine.h>
#include <syncopate/machine/probe.h>

#include <syncopate/machine/trial.h>

namespace {

namespace machine = syncopate::machine;

bool kernel_lists_flag(const std::string& flag) {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string word; cpuinfo >> word;) {
    if (word == flag) return true;
  }
  return false;
}

TEST(Probe, EveryAnswerHasNameReasonAndMeaning) {
  const auto answers = machine::probe();
  std::set<std::string_view> names;
  for (const auto& c : answers) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name << " is answered twice";
    EXPECT_FALSE(c.reason.empty()) << c.name;
    EXPECT_FALSE(c.meaning.empty()) << c.name;
  }
  for (const char* name :
       {"rtm", "waitpkg", "monitorx", "invariant_tsc", "fsgsbase", "rseq", "futex"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Probe, RemembersWhatItFound) {
  for (const auto& c : machine::probe()) EXPECT_EQ(machine::usable(c.name), c.usable) << c.name;
  EXPECT_FALSE(machine::usable("no such feature"));
}

TEST(Probe, ClaimsNoInstructionThatTheKernelDoesNotList) {
#if defined(__x86_64__)
  EXPECT_TRUE(!machine::usable("rtm") || kernel_lists_flag("rtm"));
  EXPECT_TRUE(!machine::usable("waitpkg") || kernel_lists_flag("waitpkg"));
  EXPECT_EQ(machine::usable("fsgsbase"), kernel_lists_flag("fsgsbase"));
#else
  EXPECT_FALSE(machine::usable("rtm"));
#endif
}

TEST(Probe, FutexIsUsableWhereThisTestRuns) { EXPECT_TRUE(machine::usable("futex")); }

TEST(Probe, LeavesNoChildAndNoSignalBehind) {
  static volatile std::sig_atomic_t child_signals;
  child_signals = 0;
  struct sigaction count = {}, before = {};
  count.sa_handler = [](int) { child_signals = child_signals + 1; };
  ASSERT_EQ(sigaction(SIGCHLD, &count, &before), 0);
  static_cast<void>(machine::probe());
  sigaction(SIGCHLD, &before, nullptr);
  EXPECT_EQ(child_signals, 0);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Trial, ReportsHowTheBodyEnded) {
  int answer = 1;
  EXPECT_EQ(machine::run_trial(answer, [](int& a) { a = 42; }), machine::trial_end::completed);
  EXPECT_EQ(answer, 42);
  EXPECT_EQ(machine::run_trial(answer, [](int&) { raise(SIGILL); }),
            machine::trial_end::illegal_instruction);
  EXPECT_EQ(machine::run_trial(answer, [](int&) { raise(SIGKILL); }),
            machine::trial_end::other_signal);
}

#if defined(__x86_64__)
TEST(Trial, SurvivesARealIllegalInstruction) {
  int answer = 0;
  EXPECT_EQ(machine::run_trial(answer,
                               [](int& a) {
                                 a = 1;
                                 asm volatile("ud2");
                                 a = 2;
                               }),
            machine::trial_end::illegal_instruction);
  EXPECT_EQ(answer, 1);
}
#endif

}  // namespace
