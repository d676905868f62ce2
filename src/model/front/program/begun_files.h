// begun_files.h -- the files that the process was begun with, for machines that run the program
// several times: each run finds them open, at the places where the first one did. What a pipe, a
// socket or a terminal has given is gone; so standard input, if it is one, is read to its end when
// the program first asks for it, and is a file from then on.
#pragma once

#include <cstdio>

#include "model/front/engine.h"

namespace syncopate::instrument {

// Once, in the machine's own context, before the program's first run.
void keep_begun_files();
// In the machine's own context, between two runs, after what the program has opened is closed.
void restore_begun_files();
// In a new process that shares them with its parent: they have places of their own from now on.
void part_begun_files();

// The program is about to close the file, to make another one of it, or to change its flags.
void note_replaced(int file, engine::place where);
void note_flags(int file, engine::place where);
// The program is about to ask for what comes from the file.
void note_asked(int file, engine::place where);

}  // namespace syncopate::instrument
