// client.h -- a second program in the same simulation: one that uses the first, which is a server.
//
// It is a shared object with a main(), compiled for the machine as the program is
// (SYNCOPATE_CLIENT). Its threads are threads of this process, on the same machine; its variables
// are its own. It begins when the program listens for the first time; the run ends when its main
// has returned, or one of its threads has called exit().
#pragma once

#include "model/front/engine.h"

namespace syncopate::instrument {

bool has_client();

// Loads it, with its static constructors. Before main, once. Ends the process where that fails.
void load_client();

// Starts it unless it has been started. In a thread of the program, which is outside of any
// engine_scope.
void start_client(engine::place where);

// Whether the calling thread is one of the client's: those that it starts are, too.
bool is_client();

// exit() of a client's thread.
[[noreturn]] void end_client(int status, engine::place where);

// The run's status, given the program's: not 0 where the client has not ended.
int status_with_client(int status);

}  // namespace syncopate::instrument
