// What calls of the kernel and of the C library read and write of the program's memory, and what a
// thread leaves behind that ends. What each program is, table.txt says.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

typedef void* (*entry)(void*);
static void run2(entry a, entry b) {
  pthread_t t;
  if (pthread_create(&t, NULL, b, NULL) != 0) abort();
  a(NULL);
  pthread_join(t, NULL);
}
static void run3(entry a, entry b, entry c) {
  pthread_t t;
  if (pthread_create(&t, NULL, c, NULL) != 0) abort();
  run2(a, b);
  pthread_join(t, NULL);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char buffer[32] = "12 and 13, 14";
static int ends[2];

// Each program: one thread makes a call on the buffer, the other one touches it. Right with the
// mutex, which `locks` says, or where the call itself orders them.
static bool locks;
static void lock(void) {
  if (locks) pthread_mutex_lock(&mutex);
}
static void unlock(void) {
  if (locks) pthread_mutex_unlock(&mutex);
}
static void* changes(void* u) {
  lock();
  buffer[0] = '3';
  unlock();
  return u;
}
static void* looks(void* u) {
  lock();
  if (buffer[0] == 'z') abort();
  unlock();
  return u;
}
static void beside(entry call, entry other, bool in_order) {
  locks = in_order;
  run2(call, other);
}
#define BESIDE(name, other)                                    \
  static void name(void) { beside(call_##name, other, true); } \
  static void name##_unlocked(void) { beside(call_##name, other, false); }

static void open_pipe(void) {
  if (pipe(ends) != 0 || write(ends[1], "abcd", 4) != 4) abort();
}
static void close_pipe(void) {
  close(ends[0]);
  close(ends[1]);
}
static void* call_read_into(void* u) {
  open_pipe();
  lock();
  if (read(ends[0], buffer, sizeof buffer) != 4) abort();
  unlock();
  close_pipe();
  return u;
}
BESIDE(read_into, looks)
static void* call_write_from(void* u) {
  open_pipe();
  lock();
  if (write(ends[1], buffer, 4) != 4) abort();
  unlock();
  close_pipe();
  return u;
}
BESIDE(write_from, changes)
static void* call_read_parts(void* u) {
  char first[2];
  const struct iovec parts[2] = {{first, 2}, {buffer, 8}};
  open_pipe();
  lock();
  if (readv(ends[0], parts, 2) != 4) abort();
  unlock();
  close_pipe();
  return u;
}
BESIDE(read_parts, looks)
static void* call_write_parts(void* u) {
  char first[2] = "xy";
  const struct iovec parts[2] = {{first, 2}, {buffer, 2}};
  open_pipe();
  lock();
  if (writev(ends[1], parts, 2) != 4) abort();
  unlock();
  close_pipe();
  return u;
}
BESIDE(write_parts, changes)
static void* call_put(void* u) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  lock();
  if (send(ends[1], buffer, 4, 0) != 4) abort();
  unlock();
  close_pipe();
  return u;
}
BESIDE(put, changes)
static void* call_receive_message(void* u) {
  struct iovec part = {buffer, sizeof buffer};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  if (send(ends[1], "abcd", 4, 0) != 4) abort();
  lock();
  if (recvmsg(ends[0], &message, 0) != 4) abort();
  unlock();
  close_pipe();
  return u;
}
BESIDE(receive_message, looks)
static void* call_write_at(void* u) {
  const int file = memfd_create("calls", 0);
  lock();
  if (pwrite(file, buffer, 4, 0) != 4) abort();
  unlock();
  close(file);
  return u;
}
BESIDE(write_at, changes)
static void* call_stream_write(void* u) {
  FILE* const nowhere = fopen("/dev/null", "w");
  lock();
  if (fwrite(buffer, 1, 4, nowhere) != 4) abort();
  unlock();
  fclose(nowhere);
  return u;
}
BESIDE(stream_write, changes)
static void* call_stream_read(void* u) {
  FILE* const zeros = fopen("/dev/zero", "r");
  setvbuf(zeros, NULL, _IONBF, 0);
  lock();
  if (fread(buffer, 1, 4, zeros) != 4) abort();
  unlock();
  fclose(zeros);
  return u;
}
BESIDE(stream_read, looks)
static void* call_print(void* u) {
  FILE* const nowhere = fopen("/dev/null", "w");
  lock();
  fprintf(nowhere, "%3d %-*.*s|%s\n", 7, 9, 2, "short", buffer);
  unlock();
  fclose(nowhere);
  return u;
}
BESIDE(print, changes)
static void* call_print_into(void* u) {
  lock();
  snprintf(buffer, sizeof buffer, "%d and %lf", 12, 13.5);
  unlock();
  return u;
}
BESIDE(print_into, looks)
static void* call_number(void* u) {
  char* behind;
  lock();
  if (strtol(buffer, &behind, 10) == 0) abort();
  unlock();
  return u;
}
BESIDE(number, changes)
static void* call_search(void* u) {
  lock();
  if (strstr(buffer, "and") == NULL || strncasecmp(buffer, "X", 1) == 0) abort();
  unlock();
  return u;
}
BESIDE(search, changes)

// A precision ends what is printed.
static void* prints_two(void* u) {
  FILE* const nowhere = fopen("/dev/null", "w");
  fprintf(nowhere, "%.2s", buffer);
  fclose(nowhere);
  return u;
}
static void* changes_third(void* u) {
  buffer[2] = 'x';
  return u;
}
static void print_part(void) { run2(prints_two, changes_third); }

static void* print_anew_of(void* u) {
  lock();
  char* made;
  if (asprintf(&made, "%s", buffer) < 0) abort();
  free(made);
  unlock();
  return u;
}
static void print_anew(void) { beside(print_anew_of, changes, true); }
static void print_anew_unlocked(void) { beside(print_anew_of, changes, false); }

// The environment is one variable of all threads. Each execution finds it as it was at first.
static void* sets_variable(void* u) {
  lock();
  if (setenv("CALLS_C", "1", 1) != 0) abort();
  unlock();
  return u;
}
static void* gets_variable(void* u) {
  lock();
  const char* const value = getenv("CALLS_C");
  if (value != NULL && *value != '1') abort();
  unlock();
  return u;
}
static void variables(void) {
  if (getenv("CALLS_C") != NULL) abort();
  beside(sets_variable, gets_variable, true);
}
static void variables_unlocked(void) { beside(sets_variable, gets_variable, false); }

// Memory is unmapped by one thread, and used by another.
static int* mapped;
static void* uses_mapped(void* u) {
  mapped[1] = 1;
  return u;
}
static void* unmaps(void* u) {
  munmap(mapped, 4096);
  return u;
}
static void map_one(void) {
  mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) abort();
}
static void unmapped_last(void) {
  map_one();
  run2(looks, uses_mapped);
  unmaps(NULL);
}
static void unmapped_beside(void) {
  map_one();
  run2(uses_mapped, unmaps);
}
static void unmapped_first(void) {
  map_one();
  run2(unmaps, uses_mapped);
}

// Two threads take two strings apart: strtok() remembers one place for all.
static void* splits_alone(void* u) {
  char own[] = "a b", *rest;
  if (strtok_r(own, " ", &rest) == NULL || strtok_r(NULL, " ", &rest) == NULL) abort();
  return u;
}
static void* splits(void* u) {
  char own[] = "a b";
  if (strtok(own, " ") == NULL) abort();
  return u;
}
static void tokens(void) { run2(splits_alone, splits_alone); }
static void tokens_of_all(void) { run2(splits, splits); }

// The C library keeps one broken-down time, and one text, for all threads.
static void* breaks_down(void* u) {
  const time_t start = 0;
  struct tm own;
  char text[26];
  if (strcmp(asctime_r(gmtime_r(&start, &own), text), "Thu Jan  1 00:00:00 1970\n")) abort();
  return u;
}
static void* breaks_down_for_all(void* u) {
  const time_t start = 0;
  if (gmtime(&start)->tm_year != 70) abort();
  return u;
}
static void* writes_date(void* u) {
  const struct tm start = {.tm_year = 70, .tm_mday = 1, .tm_wday = 4};
  if (strcmp(asctime(&start), "Thu Jan  1 00:00:00 1970\n")) abort();
  return u;
}
static void calendar(void) {
  run2(breaks_down, breaks_down);
  run2(breaks_down_for_all, writes_date);
}
// The C library has one hash table, for all threads.
static char key[] = "key";
static void* enters(void* u) {
  pthread_mutex_lock(&mutex);
  const ENTRY e = {key, key};
  assert(hsearch(e, ENTER) != NULL);
  pthread_mutex_unlock(&mutex);
  return u;
}
static void* looks_for(void* u) {
  const ENTRY e = {key, NULL};
  hsearch(e, FIND);
  return u;
}
static void with_table(entry first, entry second) {
  const ENTRY e = {key, NULL};
  assert(hcreate(8) != 0 && hsearch(e, FIND) == NULL);
  run2(first, second);
  assert(hsearch(e, FIND) != NULL);
}  // (destroyed by nobody)
static void table(void) { with_table(enters, enters); }
static void table_unlocked(void) { with_table(enters, looks_for); }

// Commands take time of this computer.
static atomic_int asked;
static void* asks_commands(void* u) {
  ++asked;
  char line[8] = "";
  FILE* const one = popen("sleep 0.002; echo one", "r");
  assert(one != NULL && fgets(line, sizeof line, one) != NULL && strcmp(line, "one\n") == 0);
  assert(pclose(one) == 0);
  return u;
}
static void commands(void) { run2(asks_commands, asks_commands); }
static void calendar_of_both(void) { run2(breaks_down_for_all, breaks_down_for_all); }
static void dates_of_both(void) { run2(writes_date, writes_date); }

// scanf's like read what they take, and one character more, and write what they convert.
static char numbers[] = "12 34 56";
static int two_numbers[3];
static char word[8];
static void* scans(void* u) {
  if (sscanf(numbers, "%d%*d", &two_numbers[0]) != 1) abort();
  return u;
}
static void* scans_both(void* u) {
  int taken = 0;
  if (sscanf("5 abc6", "%2d %7[a-c]%n", &two_numbers[1], word, &taken) != 2) abort();
  assert(taken == 5 && two_numbers[1] == 5 && strcmp(word, "abc") == 0);
  return u;
}
static void* writes_behind(void* u) {
  numbers[7] = '7';
  two_numbers[2] = 1;
  word[4] = 'd';
  return u;
}
static void* writes_number(void* u) {
  numbers[4] = '7';
  return u;
}
static void* writes_result(void* u) {
  two_numbers[1] = 1;
  return u;
}
static void* writes_word(void* u) {
  word[3] = 'd';
  return u;
}
static char marks[] = "a*b*c%", marked[8];
static void* scans_marks(void* u) {
  if (sscanf(marks, "%7[^%]", marked) != 1) abort();
  return u;
}
static void* writes_mark(void* u) {
  marks[4] = 'd';
  return u;
}
static char eight[] = "8";
static void* scans_stream(void* u) {
  FILE* const f = fmemopen(eight, 1, "r");
  if (f == NULL || fscanf(f, "%d", &two_numbers[1]) != 1) abort();
  fclose(f);
  return u;
}
static void scan(void) { run2(scans, writes_behind); }
static void scan_into(void) { run2(scans_both, writes_behind); }
static void scan_unlocked(void) { run2(scans, writes_number); }
static void scan_into_number(void) { run2(scans_both, writes_result); }
static void scan_set(void) { run2(scans_marks, writes_mark); }
static void scan_stream(void) { run2(scans_stream, writes_result); }
static void scan_into_word(void) { run2(scans_both, writes_word); }

// A buffer goes round: who has got a byte may write it again.
static void* sends_buffer(void* u) {
  if (write(ends[1], buffer, 4) != 4) abort();
  return u;
}
static void* uses_again(void* u) {
  char got[4];
  if (read(ends[0], got, 4) != 4) abort();
  buffer[0] = 'x';
  return u;
}
static void buffer_used_again(void) {
  if (pipe(ends) != 0) abort();
  run2(sends_buffer, uses_again);
  close_pipe();
}
static void* uses_at_once(void* u) {
  char got[4];
  buffer[0] = 'x';
  if (read(ends[0], got, 4) != 4) abort();
  return u;
}
static void buffer_used_at_once(void) {
  if (pipe(ends) != 0) abort();
  run2(sends_buffer, uses_at_once);
  close_pipe();
}

// A stream's lock is one as others, of the calls on it, too.
static FILE* nowhere;
static void* in_stream_lock(void* u) {
  flockfile(nowhere);
  buffer[0] = putc_unlocked('a', nowhere);
  funlockfile(nowhere);
  return u;
}
static void* behind_stream_lock(void* u) {
  buffer[0] = fputc('b', nowhere);
  return u;
}
static void* in_tried_lock(void* u) {
  if (ftrylockfile(nowhere) != 0) return u;
  buffer[0] = 'c';
  funlockfile(nowhere);
  return u;
}
static void* keeps_stream_lock(void* u) {
  flockfile(nowhere);
  flockfile(nowhere);
  funlockfile(nowhere);
  return u;
}
static void on_stream(entry a, entry b) {
  nowhere = fopen("/dev/null", "w");
  run2(a, b);
  fclose(nowhere);
}
static void stream_locked(void) { on_stream(in_stream_lock, in_stream_lock); }
static void stream_tried(void) { on_stream(in_stream_lock, in_tried_lock); }
static void stream_unlocked(void) { on_stream(in_stream_lock, behind_stream_lock); }
static void stream_kept(void) { on_stream(keeps_stream_lock, behind_stream_lock); }

// Each thread has a stream of its own; memory of one that was closed is another's.
static void* own_stream(void* u) {
  FILE* const own = fopen("/dev/null", "w");
  putc_unlocked('a', own);
  fclose(own);
  return u;
}
static void streams_of_each(void) { run3(own_stream, own_stream, own_stream); }
static void* puts_alone(void* u) {
  putc_unlocked('a', nowhere);
  return u;
}
static void stream_of_both(void) { on_stream(puts_alone, puts_alone); }

// Robust mutexes: who comes after the holder's end is told.
static pthread_mutex_t robust;
static int inside, done;
static void begin_robust(int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, type);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  if (pthread_mutex_init(&robust, &attributes) != 0) abort();
  pthread_mutexattr_destroy(&attributes);
}
static void* dies_inside(void* u) {
  if (pthread_mutex_lock(&robust) == EOWNERDEAD) pthread_mutex_consistent(&robust);
  inside = 1;
  return u;
}
static void* repairs(void* u) {
  const int error = pthread_mutex_lock(&robust);
  assert(error == 0 || error == EOWNERDEAD);
  assert(inside == (error != 0));
  inside = 0;
  if (error != 0 && pthread_mutex_consistent(&robust) != 0) abort();
  ++done;
  pthread_mutex_unlock(&robust);
  return u;
}
static void* believes(void* u) {
  if (pthread_mutex_lock(&robust) != 0) {
  }
  assert(inside == 0);
  pthread_mutex_unlock(&robust);
  return u;
}
static void* does_not_repair(void* u) {
  const int error = pthread_mutex_lock(&robust);
  if (error != ENOTRECOVERABLE) {
    inside = 0;
    pthread_mutex_unlock(&robust);
  }
  return u;
}
static void robust_repaired(void) {
  begin_robust(PTHREAD_MUTEX_NORMAL);
  run3(repairs, dies_inside, repairs);
  if (done != 2) abort();
}
static void robust_believed(void) {
  begin_robust(PTHREAD_MUTEX_NORMAL);
  run2(believes, dies_inside);
}
static void robust_lost(void) {
  begin_robust(PTHREAD_MUTEX_ERRORCHECK);
  run2(does_not_repair, dies_inside);
  // Either the thread came last, and has left it behind, or it was lost, for good.
  const int error = pthread_mutex_trylock(&robust);
  assert(error == EOWNERDEAD || error == ENOTRECOVERABLE);
  if (error == EOWNERDEAD) assert(pthread_mutex_unlock(&robust) == 0);
  assert(pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
  assert(pthread_mutex_consistent(&robust) == EINVAL);
  assert(pthread_mutex_destroy(&robust) == 0);
}
static void robust_lost_and_used(void) {
  begin_robust(PTHREAD_MUTEX_NORMAL);
  run2(does_not_repair, dies_inside);
  const int error = pthread_mutex_lock(&robust);
  assert(error == 0 || error == EOWNERDEAD);
}
static void* unlocks_foreign(void* u) {
  assert(pthread_mutex_unlock(&robust) == EPERM);
  return u;
}
static void* locks_and_unlocks(void* u) {
  assert(pthread_mutex_lock(&robust) == 0);
  ++done;
  assert(pthread_mutex_unlock(&robust) == 0);
  return u;
}
static void robust_foreign(void) {
  begin_robust(PTHREAD_MUTEX_NORMAL);
  run3(locks_and_unlocks, unlocks_foreign, locks_and_unlocks);
  assert(done == 2);
}
// At a condition variable, too.
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static void* waits_robust(void* u) {
  int error = pthread_mutex_lock(&robust);
  while (!inside && error == 0) error = pthread_cond_wait(&condition, &robust);
  assert(error == 0 || error == EOWNERDEAD);
  if (error != 0) pthread_mutex_consistent(&robust);
  pthread_mutex_unlock(&robust);
  return u;
}
static void* signals_and_dies(void* u) {
  pthread_mutex_lock(&robust);
  inside = 1;
  pthread_cond_signal(&condition);
  return u;
}
static void robust_condition(void) {
  begin_robust(PTHREAD_MUTEX_NORMAL);
  run2(waits_robust, signals_and_dies);
}

struct scenario {
  const char* name;
  void (*run)(void);
};
static const struct scenario all[] = {
    {"read_into", read_into},
    {"read_into_unlocked", read_into_unlocked},
    {"write_from", write_from},
    {"write_from_unlocked", write_from_unlocked},
    {"read_parts", read_parts},
    {"read_parts_unlocked", read_parts_unlocked},
    {"write_parts", write_parts},
    {"write_parts_unlocked", write_parts_unlocked},
    {"put", put},
    {"put_unlocked", put_unlocked},
    {"receive_message", receive_message},
    {"receive_message_unlocked", receive_message_unlocked},
    {"write_at", write_at},
    {"write_at_unlocked", write_at_unlocked},
    {"stream_write", stream_write},
    {"stream_write_unlocked", stream_write_unlocked},
    {"stream_read", stream_read},
    {"stream_read_unlocked", stream_read_unlocked},
    {"print", print},
    {"print_unlocked", print_unlocked},
    {"print_into", print_into},
    {"print_into_unlocked", print_into_unlocked},
    {"print_part", print_part},
    {"print_anew", print_anew},
    {"print_anew_unlocked", print_anew_unlocked},
    {"variables", variables},
    {"variables_unlocked", variables_unlocked},
    {"unmapped_last", unmapped_last},
    {"unmapped_beside", unmapped_beside},
    {"unmapped_first", unmapped_first},
    {"number", number},
    {"number_unlocked", number_unlocked},
    {"scan", scan},
    {"scan_into", scan_into},
    {"scan_unlocked", scan_unlocked},
    {"scan_into_number", scan_into_number},
    {"scan_into_word", scan_into_word},
    {"scan_set", scan_set},
    {"scan_stream", scan_stream},
    {"table", table},
    {"table_unlocked", table_unlocked},
    {"commands", commands},
    {"search", search},
    {"search_unlocked", search_unlocked},
    {"tokens", tokens},
    {"tokens_of_all", tokens_of_all},
    {"calendar", calendar},
    {"calendar_of_both", calendar_of_both},
    {"dates_of_both", dates_of_both},
    {"buffer_used_again", buffer_used_again},
    {"buffer_used_at_once", buffer_used_at_once},
    {"stream_locked", stream_locked},
    {"stream_tried", stream_tried},
    {"stream_unlocked", stream_unlocked},
    {"stream_kept", stream_kept},
    {"streams_of_each", streams_of_each},
    {"stream_of_both", stream_of_both},
    {"robust_repaired", robust_repaired},
    {"robust_believed", robust_believed},
    {"robust_lost", robust_lost},
    {"robust_lost_and_used", robust_lost_and_used},
    {"robust_foreign", robust_foreign},
    {"robust_condition", robust_condition},
};
int main(int argc, char** argv) {
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (argc < 2) puts(all[i].name);
    else if (strcmp(all[i].name, argv[1]) == 0) return all[i].run(), 0;
  }
  return argc < 2 ? 0 : 2;
}
