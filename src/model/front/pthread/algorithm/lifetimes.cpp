// lifetimes.cpp -- beginnings of objects and uses of threads, where misuse is not looked for: as
// in the C library.
#include "model/front/pthread/objects.h"
#include "model/front/pthread/on_engine.h"

namespace syncopate::instrument::objects {

void begin(void* object, std::size_t bytes, const char* /*what*/, place where) {
  touch(object, bytes, engine::kind::write, where);
}

void not_joinable(const char* /*what*/, place /*where*/) {}

}  // namespace syncopate::instrument::objects
