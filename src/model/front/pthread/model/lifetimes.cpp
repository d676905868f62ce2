// lifetimes.cpp -- beginnings of objects and uses of threads, for the explored machine.
#include "model/front/pthread/model/lifetimes.h"

#include "model/front/pthread/objects.h"

namespace syncopate::instrument::objects {

void begin(void* object, std::size_t bytes, const char* what, place where) {
  on_engine([&] { model::begin_object(at(object), bytes, what, where); });
}

void not_joinable(const char* what, place where) { model::misuse(what, nullptr, where); }

}  // namespace syncopate::instrument::objects
