// A list of copies is made and freed under the lock, though nobody else sees it.
#include "planted.h"
struct node {
  struct node* next;
  char text[200];
};
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t sum;
__attribute__((noinline)) static struct node* copy_all(unsigned count) {
  struct node* list = 0;
  while (count--) {
    struct node* n = malloc(sizeof *n + count % 7 * 64);
    n->text[0] = count;
    n->next = list;
    list = n;
  }
  return list;
}
__attribute__((noinline)) static void free_all(struct node* list) {
  while (list) {
    struct node* next = list->next;
    free(list);
    list = next;
  }
}
static void* worker(void* x) {
  for (int i = 0; i < 1500; i++) {
    pthread_mutex_lock(&table_lock);
    struct node* list = copy_all(1500);
    sum += list->text[0];
    free_all(list);
    pthread_mutex_unlock(&table_lock);
    work(1000);
  }
  return x;
}
int main(void) { run_threads(4, worker); }
