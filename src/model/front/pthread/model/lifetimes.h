// lifetimes.h -- what the models ask of the explored machine beside engine.h: when objects begin
// and are held. The machine knows when their memory becomes something else.
#pragma once

#include <cstddef>

#include "model/front/pthread/model/words.h"

namespace syncopate::instrument::model {

// The machine's (src/model/explored). `what`: a word for reports, of static storage.
// Initialization, which is a write to all of it; a second one without destruction ends the run.
void begin_object(engine::address at, std::size_t bytes, const char* what, place where);
// by 1: one holder more; -1: one less. Memory of what is held must not go: that ends the run.
void hold_object(engine::address at, std::size_t bytes, const char* what, int by, place where);

// The calling thread waits at a condition variable with a mutex, which it holds at both ends. Waits
// that are not in order must have one mutex: else the run ends.
void begin_wait(engine::address condition, engine::address mutex, place where);
void end_wait(engine::address condition);

template <class Object>
void note_held(const Object& object, const char* what, int by, place where) {
  on_engine([&] { hold_object(at(&object), sizeof object, what, by, where); });
}

// Tells of a use of the object that is not the access of an atomic word: so that its destruction
// races with it, also if it waits for good. `byte`: one that is written by those two only.
inline void note_use(const void* byte, place where) { touch(byte, 1, engine::kind::read, where); }

}  // namespace syncopate::instrument::model
