// told_files.h -- files in which the kernel tells of the memory of this computer and of the
// process, in each run otherwise: a program is given numbers that are the same in every run.
#pragma once

#include <cstdio>

#include "model/front/engine.h"

namespace syncopate::instrument {

// What the program gets in the place of the file of this path: a file of memory; -1: it is none of
// them, or cannot be had so.
int open_told(const char* path, engine::place where);
std::FILE* open_told(const char* path, const char* mode, engine::place where);

}  // namespace syncopate::instrument
