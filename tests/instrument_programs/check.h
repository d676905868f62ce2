// check.h -- a program's own test: fails loudly, also where assert() is compiled out.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(condition) \
  ((condition)           \
       ? void()          \
       : (std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), std::exit(1)))
