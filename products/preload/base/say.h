// say.h -- one line on standard error.
#pragma once

#include <cstddef>
#include <initializer_list>

#include <unistd.h>

namespace syncopate::shim {

// By raw write: standard streams may be closed or not there yet. Allocates nothing.
inline void say(std::initializer_list<const char*> parts) noexcept {
  char line[512];
  std::size_t n = 0;
  for (const char* part : parts)
    for (; *part != '\0' && n < sizeof line - 1; ++part) line[n++] = *part;
  line[n++] = '\n';
  if (::write(STDERR_FILENO, line, n) < 0) return;
}

}  // namespace syncopate::shim
