/* places.h -- what the statistics of the lock call a yield point of lua-mt: a line of Lua, or a
 * place of lua-mt's own code. */
#ifndef LUA_MT_PLACES_H
#define LUA_MT_PLACES_H

/* Where lua-mt's own code enters the lock: what is a yield point there is the place's name. */
enum lua_mt_place {
  lua_mt_at_main,
  lua_mt_at_start,
  lua_mt_at_end,
  lua_mt_at_join,
  lua_mt_at_lock,
  lua_mt_at_wait,
  lua_mt_at_send,
  lua_mt_at_receive,
  lua_mt_at_sleep,
  lua_mt_at_stream,
  lua_mt_at_socket,
  lua_mt_place_count
};

#ifdef __cplusplus
extern "C" {
#endif

extern const char lua_mt_places[lua_mt_place_count][24];

/* Tells the names, where statistics are asked for. Requires: made whole (local_state.h), and since
 * then nobody has run Lua. */
struct lua_State;
void lua_mt_name_points(struct lua_State* L);

#ifdef __cplusplus
}
#endif
#endif
