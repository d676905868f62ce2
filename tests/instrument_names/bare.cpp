#include "here.h"
#include "subject.h"

int bare_numbers[6] = {1, 2, 3, 4, 5, 6};

const void* bare_place() {
  const void* volatile place = here();
  return place;
}
