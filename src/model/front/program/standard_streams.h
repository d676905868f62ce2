// standard_streams.h -- std::cout and its like, which the C++ library keeps.
#pragma once

namespace syncopate::instrument {

// Once, before the program begins; and before it begins again.
void keep_standard_streams();
void restore_standard_streams();

// Whether the program has had them leave C's streams (sync_with_stdio(false)): threads that use one
// at once race then. Here they go on through C's: what they hold back is no file's twice, and what
// they do is put back.
bool standard_streams_apart();

}  // namespace syncopate::instrument
