/* open_streams.h -- the streams that lua-mt has opened, so that all can be flushed but those in
 * which another thread waits: fflush(NULL) would wait for that one. Requires, for all: inside. */
#ifndef LUA_MT_OPEN_STREAMS_H
#define LUA_MT_OPEN_STREAMS_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the stream, which may be NULL. Without memory it is not known here. */
FILE* lua_mt_opened(FILE* stream);
/* Before it is closed. */
void lua_mt_closing(const FILE* stream);
/* Writes what the buffers of these, and of standard output and error, have. Returns 0, or EOF. */
int lua_mt_flush_all(void);

#ifdef __cplusplus
}
#endif
#endif
