// libc_search.h -- what the C library remembers of searches, for all threads.
#pragma once

namespace syncopate::instrument {

// strtok()'s text and hsearch()'s table: the program begins again, its memory is put back.
void forget_searches();

}  // namespace syncopate::instrument
