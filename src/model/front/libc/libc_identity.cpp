// libc_identity.cpp -- changing the process's users and groups. The C library has each OS thread of
// the process change its own, by a signal that it answers; the threads whose control blocks fibers
// use never would. Only one of them runs anything: it is enough that this one changes.
#include <cerrno>
#include <vector>

#include <grp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <syncopate/machine/system_call.h>

#include "model/front/libc/libc_range.h"
#include "model/front/program/client.h"
#include "model/front/program/identity.h"
#include "model/front/pthread/real.h"
#include "model/front/scope.h"

namespace {

template <class... Ids>
int change(long number, Ids... ids) {
  const long result = syncopate::machine::system_call(number, static_cast<long>(ids)...);
  if (result >= 0) return 0;
  errno = static_cast<int>(-result);
  return -1;
}

constexpr long as_before = -1;

}  // namespace

SYNCOPATE_EXPORT pid_t getpid() noexcept {
  using namespace syncopate::instrument;
  const bool is_programs = by_program(SYNCOPATE_CALLER) && has_client();
  return is_programs ? process_number : SYNCOPATE_REAL(getpid)();
}
SYNCOPATE_EXPORT int setuid(uid_t user) noexcept { return change(SYS_setuid, user); }
SYNCOPATE_EXPORT int setgid(gid_t group) noexcept { return change(SYS_setgid, group); }
SYNCOPATE_EXPORT int seteuid(uid_t user) noexcept {
  return change(SYS_setresuid, as_before, user, as_before);
}
SYNCOPATE_EXPORT int setegid(gid_t group) noexcept {
  return change(SYS_setresgid, as_before, group, as_before);
}
SYNCOPATE_EXPORT int setreuid(uid_t real, uid_t effective) noexcept {
  return change(SYS_setreuid, real, effective);
}
SYNCOPATE_EXPORT int setregid(gid_t real, gid_t effective) noexcept {
  return change(SYS_setregid, real, effective);
}
SYNCOPATE_EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved) noexcept {
  return change(SYS_setresuid, real, effective, saved);
}
SYNCOPATE_EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved) noexcept {
  return change(SYS_setresgid, real, effective, saved);
}
SYNCOPATE_EXPORT int setgroups(std::size_t count, const gid_t* groups) noexcept {
  return change(SYS_setgroups, count, reinterpret_cast<long>(groups));
}
SYNCOPATE_EXPORT int initgroups(const char* user, gid_t group) {
  const syncopate::instrument::engine_scope inside;
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (getgrouplist(user, group, groups.data(), &count) < 0)
    groups.resize(static_cast<std::size_t>(count));
  return setgroups(static_cast<std::size_t>(count), groups.data());
}
