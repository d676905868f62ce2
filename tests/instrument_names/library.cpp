#include "here.h"
#include "subject.h"

namespace library {

static int variable[8];

int* numbers() { return variable; }

const void* place_of_call() {
  const void* volatile place = here();  // line 11
  return place;
}

}  // namespace library
