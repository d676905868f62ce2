// test_seccomp.cpp -- locking inside sandboxes: calls refused, and all but a few calls fatal.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include <vector>

#include "contention.h"

namespace {

sock_filter statement(unsigned short code, unsigned value) { return {code, 0, 0, value}; }

// For each of `calls`: the verdict `listed`; for every other call: `otherwise`. On all threads.
void install(const std::vector<int>& calls, unsigned listed, unsigned otherwise) {
  std::vector<sock_filter> program;
  program.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const int call : calls) {
    program.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<unsigned>(call)});
    program.push_back(statement(BPF_RET | BPF_K, listed));
  }
  program.push_back(statement(BPF_RET | BPF_K, otherwise));
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0);
}

// As container run times do: what a lock library might like to have is answered with EPERM.
void refuse_extras() {
  install(
      {SYS_membarrier, SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_getcpu, SYS_get_mempolicy,
       SYS_set_mempolicy, SYS_perf_event_open, SYS_openat, SYS_readlinkat, SYS_sched_getscheduler,
       SYS_sched_setscheduler, SYS_process_vm_readv, SYS_tgkill, SYS_futex_waitv, SYS_prlimit64},
      SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
}

// As a browser's renderer does: what glibc's own locks and threads need is allowed, the rest kills.
void allow_little() {
  install({SYS_futex,           SYS_sched_yield,  SYS_clock_gettime,
           SYS_clock_nanosleep, SYS_nanosleep,    SYS_restart_syscall,
           SYS_rt_sigprocmask,  SYS_rt_sigreturn, SYS_exit,
           SYS_exit_group,      SYS_mmap,         SYS_munmap,
           SYS_mprotect,        SYS_madvise,      SYS_brk,
           SYS_write,           SYS_clone,        SYS_clone3,
           SYS_set_robust_list, SYS_rseq},
          SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
}

void in_sandbox(void (*enter)()) {
  const pid_t child = check_fork();
  if (child == 0) {
    contend_after(4, 500, enter);
    // A thread made inside, and waits with deadlines.
    Thread([] {
      pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
      pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
      CHECK_OK(pthread_mutex_lock(&mutex));
      const timespec soon = in_ms(CLOCK_MONOTONIC, 2);
      CHECK_ERR(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
      const timespec later = in_ms(CLOCK_REALTIME, 2);
      CHECK_ERR(pthread_mutex_timedlock(&mutex, &later), ETIMEDOUT);
      CHECK_OK(pthread_mutex_unlock(&mutex));
    }).join();
    _exit(0);
  }
  CHECK_CHILD(child);
}

// All but read, write and exit kills: what is free is had without a system call, also by a thread
// that has used no lock since it was forked.
void in_strict_sandbox() {
  const pid_t child = check_fork();
  if (child == 0) {
    pthread_mutex_t mutexes[] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                                 PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    int errors = 0;
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    for (int i = 0; i < 1000; ++i) {
      for (pthread_mutex_t& mutex : mutexes) {
        errors += pthread_mutex_lock(&mutex) != 0;
        errors += pthread_cond_signal(&cond) != 0;
        errors += pthread_mutex_unlock(&mutex) != 0;
      }
      errors += pthread_rwlock_rdlock(&rwlock) != 0;
      errors += pthread_rwlock_unlock(&rwlock) != 0;
      errors += pthread_rwlock_wrlock(&rwlock) != 0;
      errors += pthread_rwlock_unlock(&rwlock) != 0;
    }
    syscall(SYS_exit, errors != 0);
  }
  CHECK_CHILD(child);
}

}  // namespace

int main() {
  check_begin();
  in_sandbox(refuse_extras);
  in_sandbox(allow_little);
  in_strict_sandbox();
  return check_end();
}
