// record_survival_test.cpp -- a recording outlives what programs do to it: fork, SIGKILL, closed
// descriptors, a full disk, limits, a changed root.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <initializer_list>
#include <thread>
#include <vector>

#include "record_support.h"

namespace record_test {
namespace {

// Enough different waits that the record must grow several times.
void much_work() {
  static object many[3000];
  for (int round = 0; round < 2; ++round)
    for (object& o : many) o.contended_round();
}

std::vector<std::string> records_in(const scratch& dir) {
  std::vector<std::string> found;
  for (const auto& f : std::filesystem::directory_iterator(dir.path())) found.push_back(f.path());
  return found;
}

TEST(RecordSurvival, AForkedChildOfAThreadedProgramRecordsIntoItsOwnFile) {
  scratch dir;
  pid_t forked = 0;
  const int status = in_child([&] {
    static object shared, only_child;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    std::atomic<bool> stop = false;
    std::thread other([&] {
      static object own;
      while (!stop) own.contended_round();
    });
    for (int i = 0; i < 100; ++i) shared.contended_round();
    const pid_t child = ::fork();
    if (child == 0) {
      record::after_fork_in_child();
      for (int i = 0; i < 30; ++i) shared.contended_round();
      for (int i = 0; i < 70; ++i) only_child.contended_round();
      record::finish();
      ::_exit(0);
    }
    int ended = -1;
    ::waitpid(child, &ended, 0);
    stop = true;
    other.join();
    record::finish();
    std::ofstream(dir.path() / "child") << child;
    return ended;
  });
  ASSERT_EQ(status, 0);
  std::ifstream(dir.path() / "child") >> forked;
  const contents parent = read_record(dir.file());
  const contents child = read_record(dir.file() + "." + std::to_string(forked));
  EXPECT_EQ(parent.header.process_id, child.header.parent_id);
  EXPECT_EQ(child.header.process_id, static_cast<std::uint32_t>(forked));
  EXPECT_TRUE(parent.waits(1) == 100 || parent.waits(2) == 100);
  ASSERT_EQ(child.locks.size(), 3u);
  EXPECT_EQ(child.waits(1), 30u);
  EXPECT_EQ(child.waits(2), 70u);
  EXPECT_EQ(child.threads.size(), 1u);
  EXPECT_NE(child.header.flags & record::finished, 0u);
}

// The numbers in its objects are its parent's until it uses them itself.
TEST(RecordSurvival, AChildBelievesNoNumberOfItsParents) {
  scratch dir;
  const int status = in_child([&] {
    static object first, second, others[3];
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    first.contended_round();
    second.contended_round();
    const int ended = in_child([] {
      record::after_fork_in_child();
      for (object& o : others) o.uncontended_round();
      record::released(&second, second.slot, true);  // it was held in the parent
      record::finish();
      return 0;
    });
    record::finish();
    return ended;
  });
  ASSERT_EQ(status, 0);
  for (const std::string& file : records_in(dir)) {
    const contents c = read_record(file);
    for (const auto& row : c.rows)
      EXPECT_TRUE(file == dir.file() ||
                  row.item.kind != static_cast<std::uint32_t>(record::wait_kind::release))
          << "of lock " << row.item.lock;
  }
}

TEST(RecordSurvival, AChildThatRecordsNothingLeavesNoFile) {
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    const int ended = in_child([] {
      record::after_fork_in_child();
      return 0;
    });
    record::finish();
    return ended;
  });
  ASSERT_EQ(status, 0);
  EXPECT_EQ(records_in(dir).size(), 1u);
}

TEST(RecordSurvival, AParentsFileTellsOfChildrenThatCouldMakeNone) {
  scratch dir;
  const int status = in_child([&] {
    static object shared;
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    std::filesystem::rename(dir.path(), dir.path().string() + ".moved");
    int ended = 0;
    for (const bool has_something : {true, false, true})
      ended |= in_child([&] {
        record::after_fork_in_child();
        if (!has_something) return 0;
        return in_child([] {  // of a child that has no file itself
          record::after_fork_in_child();
          shared.contended_round();
          shared.contended_round();
          record::finish();
          return 0;
        });
      });
    std::filesystem::rename(dir.path().string() + ".moved", dir.path());
    ended |= in_child([] {
      record::after_fork_in_child();
      shared.contended_round();
      record::finish();
      return 0;
    });
    record::finish();
    return ended;
  });
  ASSERT_EQ(status, 0);
  const contents parent = read_record(dir.file());
  EXPECT_EQ(parent.header.unrecorded_children, 2u);
  EXPECT_EQ(parent.header.quiet_children, 3u);  // those that leave all to children of theirs
  EXPECT_EQ(parent.header.unrecorded_error, static_cast<std::uint32_t>(ENOENT));
  EXPECT_EQ(records_in(dir).size(), 2u);
}

TEST(RecordSurvival, AKilledProgramLeavesWhatItHadWritten) {
  scratch dir;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    if (!record::start(dir.file().c_str(), "auto", "park")) ::_exit(1);
    std::vector<std::thread> pool;
    pool.reserve(3);
    for (int t = 0; t < 3; ++t)
      pool.emplace_back([] {
        auto* own = new object[50'000];
        for (;;)
          for (int i = 0; i < 50'000; ++i) own[i].contended_round();
      });
    for (auto& t : pool) t.join();
  }
  ::usleep(150'000);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const contents c = read_record(dir.file());
  EXPECT_EQ(c.header.flags & record::finished, 0u);
  EXPECT_GT(c.locks.size(), 1u);
  EXPECT_GT(c.rows.size(), 1u);
  for (const auto& row : c.rows) EXPECT_TRUE(c.locks.contains(row.item.lock));
  for (const auto& e : c.events) {
    EXPECT_TRUE(c.locks.contains(e.item.lock));
    EXPECT_TRUE(c.stacks.contains(e.item.stack));
    EXPECT_GE(e.item.weight, 1);
  }
  for (const auto& [id, s] : c.stacks) EXPECT_EQ(s.depth == 0, id == 0);
}

TEST(RecordSurvival, ClosedDescriptorsAreOpenedAgainAndForeignOnesLeftAlone) {
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    for (int fd = 3; fd < 2048; ++fd) ::close(fd);
    // Every number that might have been the recorder's is the program's file now; more are left.
    rlimit most{};
    ::getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &most);
    const int mine = ::open(dir.file("mine").c_str(), O_RDWR | O_CREAT, 0600);
    for (int fd = 3; fd < 1024; ++fd) ::dup2(mine, fd);
    much_work();
    record::finish();
    struct stat s;
    return ::fstat(mine, &s) == 0 && s.st_size == 0 ? 0 : 2;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  EXPECT_EQ(c.locks.size(), 3001u);
  EXPECT_EQ(c.header.flags & record::descriptor_lost, 0u);
}

TEST(RecordSurvival, ALostFileStopsGrowingAndKeepsCounting) {
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    static object early;
    early.contended_round();
    std::filesystem::rename(dir.file(), dir.file("moved"));
    ::close_range(3, ~0u, 0);
    much_work();
    for (int i = 0; i < 99; ++i) early.contended_round();
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file("moved"));
  EXPECT_NE(c.header.flags & record::descriptor_lost, 0u);
  EXPECT_EQ(c.waits(1), 100u);
  EXPECT_EQ(c.locks.at(1).acquisitions, 100u);
}

TEST(RecordSurvival, AFileSizeLimitIsNotExceeded) {
  scratch dir;
  const int status = in_child([&] {
    const rlimit limit{512 << 10, 512 << 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);  // SIGXFSZ at its default: it would kill this child
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    much_work();
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  EXPECT_NE(c.header.flags & record::disk_full, 0u);
  EXPECT_NE(c.header.flags & record::size_limited, 0u);
  EXPECT_NE(c.header.flags & record::finished, 0u);
  EXPECT_LE(std::filesystem::file_size(dir.file()), 512u << 10);
}

// From now on such calls of this process fail with EPERM, as under systemd's SystemCallFilter.
bool refuse(std::initializer_list<int> calls) {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const int call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(RecordSurvival, ASandboxIsNotTakenForAFullDisk) {
  constexpr std::uint32_t all =
      record::disk_full | record::growth_refused | record::descriptor_lost;
  const struct {
    std::initializer_list<int> refused;
    std::uint32_t flags;
  } cases[] = {
      {{SYS_fallocate}, 0},  // then it writes
      {{SYS_fallocate, SYS_pwrite64}, record::disk_full | record::growth_refused},
      {{SYS_fstat}, record::disk_full | record::growth_refused},
  };
  for (const auto& each : cases) {
    scratch dir;
    const int status = in_child([&] {
      if (!record::start(dir.file().c_str(), "auto", "park") || !refuse(each.refused)) return 1;
      much_work();
      record::finish();
      return 0;
    });
    ASSERT_EQ(status, 0);
    const contents c = read_record(dir.file());
    EXPECT_EQ(c.header.flags & all, each.flags);
    EXPECT_EQ(c.locks.size() == 3001, each.flags == 0);
  }
}

// An ordinary user's way to a file system of its own. Returns whether there is one.
bool become_root_of_a_namespace() {
  const std::string user = std::to_string(::geteuid()), group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWNS | CLONE_NEWUSER) != 0) return false;
  const auto written = [](const char* path, const std::string& text) {
    return static_cast<bool>(std::ofstream(path) << text << std::flush);
  };
  return written("/proc/self/uid_map", "0 " + user + " 1") &&
         written("/proc/self/setgroups", "deny") &&
         written("/proc/self/gid_map", "0 " + group + " 1");
}

TEST(RecordSurvival, AFullDiskRaisesNoSignal) {
  scratch dir;
  const int status = in_child([&] {
    // A small file system seen by this child alone; where not even a user namespace allows one, a
    // limit on the file's size takes the same path through the recorder.
    const std::filesystem::path small = dir.path() / "small";
    std::filesystem::create_directory(small);
    const bool mounted = (::unshare(CLONE_NEWNS) == 0 || become_root_of_a_namespace()) &&
                         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("none", small.c_str(), "tmpfs", 0, "size=512k") == 0;
    const rlimit limit{512 << 10, 512 << 10};
    if (!mounted) ::setrlimit(RLIMIT_FSIZE, &limit);
    if (!record::start((small / "record").c_str(), "auto", "park")) return 1;
    much_work();
    record::finish();
    std::filesystem::copy(small / "record", dir.file());
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  EXPECT_NE(c.header.flags & record::disk_full, 0u);
  EXPECT_EQ(c.header.flags & record::space_limited, 0u);
  EXPECT_GT(c.locks.size(), 100u);
}

TEST(RecordSurvival, ARecordThatCannotBeMadeIsRefusedInOneLine) {
  // Neither into nor beside a folder or a device.
  for (const char* path : {"/nonexistent/record", "/dev/full/record", "/tmp", "/dev/null"}) {
    ::testing::internal::CaptureStderr();
    const int status = in_child([&] {
      static object o;
      const bool started = record::start(path, "auto", "park");
      o.contended_round();
      return started ? 1 : 0;
    });
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(status, 0);
    EXPECT_EQ(said.rfind("syncopate: cannot record into ", 0), 0u) << said;
    EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
  }
}

TEST(RecordSurvival, AnExistingFileIsNeverOverwritten) {
  scratch dir;
  std::ofstream(dir.file()) << "precious";
  pid_t child = 0;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    record::finish();
    std::ofstream(dir.path() / "child") << ::getpid();
    return 0;
  });
  ASSERT_EQ(status, 0);
  std::ifstream(dir.path() / "child") >> child;
  std::string kept;
  std::ifstream(dir.file()) >> kept;
  EXPECT_EQ(kept, "precious");
  EXPECT_NE(read_record(dir.file() + "." + std::to_string(child)).header.bytes_used, 0u);
}

TEST(RecordSurvival, ALimitOnAddressSpaceIsRespected) {
  scratch dir;
  const int status = in_child([&] {
    rlim_t pages = 0;  // in use already: much, under a sanitizer
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t most = pages * 4096 + (rlim_t{1} << 30);
    const rlimit limit{most, most};
    ::setrlimit(RLIMIT_AS, &limit);
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    much_work();
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  EXPECT_EQ(read_record(dir.file()).locks.size(), 3001u);
}

TEST(RecordSurvival, AChangedRootDirectoryDoesNotStopTheRecording) {
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    if (::geteuid() != 0) ::unshare(CLONE_NEWUSER);
    std::filesystem::create_directory(dir.path() / "root");
    const bool changed = ::chroot((dir.path() / "root").c_str()) == 0;
    if (!changed) ::chdir("/");  // the path that start() was given leads nowhere in both cases
    much_work();
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  EXPECT_EQ(read_record(dir.file()).locks.size(), 3001u);
}

TEST(RecordSurvival, AMillionObjectsFillTheTableAndTheRestIsCountedInLockZero) {
  constexpr std::uint64_t objects = 1'000'100;
  scratch dir;
  const int status = in_child([&] {
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    auto* many = new object[objects];
    for (std::uint64_t i = 0; i < objects; ++i) many[i].uncontended_round();
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  EXPECT_EQ(c.locks.size(), 1'000'000u);
  EXPECT_EQ(c.acquisitions(), objects);
  EXPECT_EQ(c.locks.at(0).acquisitions, objects - 999'999);
  EXPECT_NE(c.header.flags & record::table_full, 0u);
}

TEST(RecordSurvival, ASignalHandlerThatLocksInTheMiddleOfTheRecorderIsHarmless) {
  scratch dir;
  const int status = in_child([&] {
    static object in_handler, in_program[500];
    if (!record::start(dir.file().c_str(), "auto", "park")) return 1;
    struct sigaction action {};
    action.sa_handler = [](int) { in_handler.contended_round(); };
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval often{{0, 200}, {0, 200}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
    for (int i = 0; i < 100; ++i)
      for (object& o : in_program) o.contended_round();
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    record::finish();
    return 0;
  });
  ASSERT_EQ(status, 0);
  const contents c = read_record(dir.file());
  EXPECT_GE(c.locks.size(), 501u);
}

}  // namespace
}  // namespace record_test
