/* liolib.c -- Lua's file of this name, which lets other threads run while it waits for a stream. */
#define LUA_LIB
#include "lprefix.h"
/* All that it includes comes first, so that the macros change the file's own code only. */
#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

#include "blocking_io.h"
#include "open_streams.h"

/* Each character by itself: a stream's lock must not be kept until the next one. */
#define l_getc(stream) lua_mt_getc(stream)
#define l_lockfile(stream) ((void)0)
#define l_unlockfile(stream) ((void)0)
#define l_popen(L, command, mode) \
  ((void)(L), lua_mt_flush_all(), syncopate_gil_needs_lock(), lua_mt_opened(popen(command, mode)))

/* What Lua has marked as closed, and stays open as another thread is in it, is marked as open. `p`,
 * io_fclose and io_pclose are the file's own. */
#define CLOSE(stream, by, closef_of) \
  ((p->closef = lua_mt_in_use(stream) ? &(closef_of) : NULL), by(stream))
#define l_pclose(L, stream) ((void)(L), CLOSE(stream, lua_mt_pclose, io_pclose))

/* What cannot be taken back. */
#define l_fseek(stream, to, from) lua_mt_fseek(stream, to, from)
#define l_ftell(stream) lua_mt_ftell(stream)
#define l_seeknum off_t
#define tmpfile() (syncopate_gil_needs_lock(), lua_mt_opened(tmpfile()))

#undef getc
#define getc lua_mt_getc
#define fread lua_mt_fread
#define fwrite lua_mt_fwrite
#define fprintf lua_mt_fprintf
#define fflush lua_mt_fflush
#define fopen lua_mt_fopen
#define fclose(stream) CLOSE(stream, lua_mt_fclose, io_fclose)
#define setvbuf lua_mt_setvbuf
#define ungetc lua_mt_ungetc
#define clearerr lua_mt_clearerr
/* Not in another thread's way, nor kept by it: the flag is read as it is. */
#undef ferror
#define ferror ferror_unlocked

#include "liolib_lua.c"
