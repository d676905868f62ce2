// stream_locks.h -- the locks of the C library's streams (flockfile) as mutexes of the machine: the
// C library's own would stop all threads. Only of a program that calls flockfile: no other one
// can tell in which order its threads get a stream.
#pragma once

#include <cstdio>
#include <string_view>

#include "model/front/engine.h"

namespace syncopate::instrument {

// Looks whether the program calls flockfile. Before it runs.
void find_stream_locks();
// No thread holds any, and what was opened is closed: the program begins again.
void forget_streams();

// Opens a stream by `open`, which calls the C library. Where the program's memory is put back, the
// stream and its buffer lie elsewhere: the C library has a list of all.
std::FILE* open_stream(std::FILE* (*open)(void* arguments), void* arguments, engine::place where);
void forget_stream(std::FILE*, engine::place where);  // is about to be closed

void lock_stream(std::FILE*, engine::place where);
bool try_lock_stream(std::FILE*, engine::place where);
void unlock_stream(std::FILE*, engine::place where);

// Held for a call of the C library on a stream; `function`, its name, says whether that locks it.
class stream_call {
 public:
  stream_call(std::FILE*, std::string_view function, engine::place where);
  ~stream_call();
  stream_call(const stream_call&) = delete;
  stream_call& operator=(const stream_call&) = delete;

 private:
  std::FILE* const stream_;
  const engine::place where_;
};

}  // namespace syncopate::instrument
