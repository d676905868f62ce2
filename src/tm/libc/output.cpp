// output.cpp -- streams and wake-ups in transactions (tm/wrap_output.h): what is to be done is kept
// in a block of the transaction's, and done by a commit action, which frees the block.
//
// The block is memory of _ITM_malloc(): where the transaction rolls back, it is gone with it, and
// so is the action. Its parts are written directly where only this transaction knows it; what
// vsnprintf's clone writes may lie in a log until the commit, and the action runs behind that.
#include "tm/libc/clone.h"
#include "tm/libc/reader.h"

#include <syncopate/tm/libc.h>

#include <pthread.h>
#include <semaphore.h>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace syncopate::tm;

extern "C" {
void _ITM_addUserCommitAction(void (*)(void*), std::uint64_t, void*);
decltype(tm_vsnprintf) print_in_transaction asm("_ZGTt12tm_vsnprintf");
}

namespace {

// Bytes for a stream; none: it is flushed.
struct note {
  std::FILE* stream;
  std::size_t size;
  int error;  // perror's
  char text[1];
};

note* new_note(std::FILE* stream, std::size_t size) noexcept {
  auto* const made = static_cast<note*>(_ITM_malloc(sizeof(note) + size));
  if (made == nullptr) {
    // As much as the C library does: it says nothing, too.
    set_transactions_errno(ENOMEM);
    return nullptr;
  }
  made->stream = stream;
  made->size = size;
  made->error = transactions_errno();
  return made;
}

void at_commit(void (*action)(void*), void* argument) noexcept {
  _ITM_addUserCommitAction(action, 1, argument);
}

void write_note(void* what) {
  auto* const n = static_cast<note*>(what);
  std::fwrite(n->text, 1, n->size, n->stream);
  std::free(n);
}
void write_error(void* what) {
  auto* const n = static_cast<note*>(what);
  errno = n->error;
  std::perror(n->stream == nullptr ? nullptr : n->text);
  std::free(n);
}
void flush_stream(void* stream) { std::fflush(static_cast<std::FILE*>(stream)); }
void post(void* semaphore) { sem_post(static_cast<sem_t*>(semaphore)); }
void signal_one(void* condition) { pthread_cond_signal(static_cast<pthread_cond_t*>(condition)); }
void signal_all(void* condition) {
  pthread_cond_broadcast(static_cast<pthread_cond_t*>(condition));
}

// Returns false where there is no memory.
bool later(std::FILE* stream, const void* bytes, std::size_t size) noexcept {
  note* const n = new_note(stream, size);
  if (n == nullptr) return false;
  _ITM_memcpyRtWn(n->text, bytes, size);
  at_commit(write_note, n);
  return true;
}

bool character_later(std::FILE* stream, int c) noexcept {
  note* const n = new_note(stream, 1);
  if (n == nullptr) return false;
  n->text[0] = static_cast<char>(c);
  at_commit(write_note, n);
  return true;
}

}  // namespace

extern "C" {

int syncopate_tm_later_vfprintf(std::FILE* stream, const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int size = print_in_transaction(nullptr, 0, format, arguments);
  note* const n = size < 0 ? nullptr : new_note(stream, static_cast<std::size_t>(size));
  if (n == nullptr) {
    va_end(again);
    return -1;
  }
  print_in_transaction(n->text, static_cast<std::size_t>(size) + 1, format, again);
  va_end(again);
  at_commit(write_note, n);
  return size;
}

int syncopate_tm_later_fprintf(std::FILE* stream, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int printed = syncopate_tm_later_vfprintf(stream, format, arguments);
  va_end(arguments);
  return printed;
}

int syncopate_tm_later_printf(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int printed = syncopate_tm_later_vfprintf(stdout, format, arguments);
  va_end(arguments);
  return printed;
}

int syncopate_tm_later_fputs(const char* text, std::FILE* stream) {
  return later(stream, text, length(text, SIZE_MAX)) ? 1 : EOF;
}

int syncopate_tm_later_puts(const char* text) {
  return later(stdout, text, length(text, SIZE_MAX)) && character_later(stdout, '\n') ? 1 : EOF;
}

int syncopate_tm_later_fputc(int c, std::FILE* stream) {
  return character_later(stream, c) ? static_cast<unsigned char>(c) : EOF;
}

int syncopate_tm_later_putchar(int c) { return syncopate_tm_later_fputc(c, stdout); }

std::size_t syncopate_tm_later_fwrite(const void* bytes, std::size_t size, std::size_t count,
                                      std::FILE* stream) {
  return later(stream, bytes, size * count) ? count : 0;
}

int syncopate_tm_later_fflush(std::FILE* stream) {
  at_commit(flush_stream, stream);
  return 0;
}

void syncopate_tm_later_perror(const char* text) {
  const std::size_t size = text == nullptr ? 0 : length(text, SIZE_MAX);
  note* const n = new_note(text == nullptr ? nullptr : stderr, size);
  if (n == nullptr) return;
  if (text != nullptr) _ITM_memcpyRtWn(n->text, text, size);
  n->text[size] = '\0';
  at_commit(write_error, n);
}

int syncopate_tm_later_sem_post(sem_t* semaphore) {
  at_commit(post, semaphore);
  return 0;
}

int syncopate_tm_later_pthread_cond_signal(pthread_cond_t* condition) {
  at_commit(signal_one, condition);
  return 0;
}

int syncopate_tm_later_pthread_cond_broadcast(pthread_cond_t* condition) {
  at_commit(signal_all, condition);
  return 0;
}

}  // extern "C"
