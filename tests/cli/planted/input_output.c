// Every entry of a journal is written and brought to the disk under the journal's lock.
#include "planted.h"
static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static int journal;
static char page[4096];
static void append(unsigned number) {
  memcpy(page, &number, sizeof number);
  if (pwrite(journal, page, sizeof page, 4096l * (number % 64)) < 0 || fdatasync(journal)) abort();
}
static void* worker(void* x) {
  for (unsigned i = 0; i < 100; i++) {
    pthread_mutex_lock(&journal_lock);
    append(i);
    pthread_mutex_unlock(&journal_lock);
    work(20000);
  }
  return x;
}
int main(int argc, char** argv) {
  journal = open(argc > 1 ? argv[1] : "journal", O_RDWR | O_CREAT, 0600);
  run_threads(4, worker);
}
