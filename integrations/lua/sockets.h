// sockets.h -- sockets for the module `thread` of lua-mt (sockets.cpp).
#pragma once

struct lua_State;

// Adds them to the table on top of the stack.
void lua_mt_add_sockets(lua_State* L);
