/* places.c -- names for the yield points of lua-mt (places.h). */
#include "places.h"

#include "ldebug.h"
#include "lgc.h"
#include "lobject.h"
#include "lopcodes.h"
#include "lopnames.h"
#include "lstate.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <syncopate/gil.h>

const char lua_mt_places[lua_mt_place_count][24] = {
    [lua_mt_at_main] = "the program's start", [lua_mt_at_start] = "a thread's start",
    [lua_mt_at_end] = "the program's end",    [lua_mt_at_join] = "thread:join",
    [lua_mt_at_lock] = "mutex:lock",          [lua_mt_at_wait] = "condition:wait",
    [lua_mt_at_send] = "channel:send",        [lua_mt_at_receive] = "channel:receive",
    [lua_mt_at_sleep] = "thread.sleep",       [lua_mt_at_stream] = "a stream, or a command",
    [lua_mt_at_socket] = "a socket",
};

/* The end of a file's name says more than its start. */
enum { longest_source = 28 };

/* pc: behind its instruction, as the interpreter has it at a yield point. */
static bool name_in(const Proto* p, const void* pc, char* to, size_t room) {
  const Instruction* const next = pc;
  if (next <= p->code || next > p->code + p->sizecode) return false;
  char id[LUA_IDSIZE] = "?";
  if (p->source != NULL) luaO_chunkid(id, getstr(p->source), tsslen(p->source));
  const size_t length = strlen(id);
  const bool cut = length > longest_source;
  const char* const source = cut ? id + length - longest_source : id;
  const char* const opcode = opnames[GET_OPCODE(next[-1])];
  const int line = luaG_getfuncline(p, pcRel(next, p));
  if (line >= 0) snprintf(to, room, "%s%s:%d %s", cut ? ".." : "", source, line, opcode);
  else snprintf(to, room, "%s%s %s", cut ? ".." : "", source, opcode); /* stripped */
  return true;
}

static bool name_among(const GCObject* list, const void* pc, char* to, size_t room) {
  for (; list != NULL; list = list->next)
    if (list->tt == LUA_VPROTO && name_in(&cast_u(list)->p, pc, to, room)) return true;
  return false;
}

/* A place of ours, or an instruction of a function that there still is. */
static void name_point(const void* pc, char* to, size_t room, void* context) {
  for (int place = 0; place < lua_mt_place_count; ++place)
    if (pc == lua_mt_places[place]) {
      snprintf(to, room, "%s", lua_mt_places[place]);
      return;
    }
  const lua_State* const L = context;
  name_among(G(L)->allgc, pc, to, room);
}

void lua_mt_name_points(lua_State* L) { syncopate_gil_name_points(name_point, L); }
