// all.cpp -- the list of algorithms, and what the core wants of some of them (engine.h). A new one
// is a file of this folder and its name here, twice.
#include "tm/core/engine.h"

namespace syncopate::tm {

extern const operations eager_norec_operations, encounter_time_operations, global_lock_operations,
    irrevocable_operations, lazy_operations, norec_operations, tl2_operations, two_phase_operations;

const operations* const algorithms[] = {
    &global_lock_operations, &norec_operations,       &eager_norec_operations,
    &lazy_operations,        &tl2_operations,         &encounter_time_operations,
    &two_phase_operations,   &irrevocable_operations, nullptr};

// Of few and of many threads in place: programs may call transaction_pure functions on what the
// transaction has written, as GCC's library lets them.
const parts_of_algorithms parts = {.behind_hardware = &norec_operations,
                                   .of_few_threads = &eager_norec_operations,
                                   .of_many_threads = &encounter_time_operations};

}  // namespace syncopate::tm
