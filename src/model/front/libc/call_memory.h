// call_memory.h -- what calls of the kernel and of the C library read and write of the program's
// memory, announced: a race with it is one of the program. What they read, before they begin, since
// they hand it on; what they write, behind them, since only then it is known how much.
// Requires: by_program(where).
#pragma once

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstring>
#include <tuple>

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "model/front/libc/libc_range.h"

namespace syncopate::instrument {

inline void call_reads(const void* from, std::size_t bytes, engine::place where) {
  if (from == nullptr || bytes == 0) return;
  const engine_scope inside;
  engine::access_by_call(address_of(from), bytes, engine::kind::read, where);
}
inline void call_wrote(const void* to, std::size_t bytes, engine::place where) {
  if (to == nullptr || bytes == 0) return;
  const engine_scope inside;
  engine::access_by_call(address_of(to), bytes, engine::kind::write, where);
}
// A string, and its end.
inline void call_reads_text(const char* text, engine::place where) {
  if (text == nullptr) return;
  const engine_scope inside;  // strlen is ours, too
  engine::access_by_call(address_of(text), std::strlen(text) + 1, engine::kind::read, where);
}

// Announces behind a call, where it stands as a variable of it, what the call has written: what
// each of `to` points to, unless that is null.
template <class... To>
class results_of_call {
 public:
  explicit results_of_call(engine::place where, To*... to) : where_(where), to_(to...) {}
  results_of_call(const results_of_call&) = delete;
  results_of_call& operator=(const results_of_call&) = delete;
  ~results_of_call() {
    if (!by_program(where_)) return;
    const int error = errno;
    std::apply([this](auto*... to) { (call_wrote(to, sizeof *to, where_), ...); }, to_);
    errno = error;
  }

 private:
  engine::place where_;
  std::tuple<To*...> to_;
};
// The same of a room whose size the call is told and tells.
class written_room {
 public:
  written_room(engine::place where, const void* room, const socklen_t* bytes)
      : where_(where), room_(room), bytes_(bytes), size_(bytes != nullptr ? *bytes : 0) {}
  written_room(const written_room&) = delete;
  written_room& operator=(const written_room&) = delete;
  ~written_room() {
    if (!by_program(where_) || bytes_ == nullptr) return;
    const int error = errno;
    call_wrote(room_, *bytes_ < size_ ? *bytes_ : size_, where_);
    errno = error;
  }

 private:
  engine::place where_;
  const void* room_;
  const socklen_t* bytes_;
  socklen_t size_;
};

// Of buffers in several parts: the list itself and the first `bytes` of what it names.
void call_reads_parts(const iovec* parts, std::size_t count, engine::place where);
void call_wrote_parts(const iovec* parts, std::size_t count, std::size_t bytes,
                      engine::place where);

// A format of printf(), and the strings among its arguments. (The list is not changed.)
void call_reads_format(const char* format, std::va_list list, engine::place where);

// What scanf() and its like have written of `assigned` conversions, which is what they return.
void call_wrote_scanned(const char* format, std::va_list list, int assigned, engine::place where);

}  // namespace syncopate::instrument
