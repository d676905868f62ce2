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

/* Each character by itself: a stream's lock must not be kept until the next one. */
#define l_getc(stream) lua_mt_getc(stream)
#define l_lockfile(stream) ((void)0)
#define l_unlockfile(stream) ((void)0)
#define l_pclose(L, stream) ((void)(L), lua_mt_pclose(stream))
#define l_popen(L, command, mode) ((void)(L), lua_mt_fflush(NULL), popen(command, mode))

/* What cannot be taken back. */
#define l_fseek(stream, to, from) (syncopate_gil_needs_lock(), fseeko(stream, to, from))
#define l_ftell(stream) (syncopate_gil_needs_lock(), ftello(stream))
#define l_seeknum off_t
#define setvbuf(stream, to, mode, size) \
  (syncopate_gil_needs_lock(), setvbuf(stream, to, mode, size))
#define tmpfile() (syncopate_gil_needs_lock(), tmpfile())
#define ungetc(c, stream) (syncopate_gil_needs_lock(), ungetc(c, stream))

#undef getc
#define getc lua_mt_getc
#define fread lua_mt_fread
#define fwrite lua_mt_fwrite
#define fprintf lua_mt_fprintf
#define fflush lua_mt_fflush
#define fopen lua_mt_fopen
#define fclose lua_mt_fclose

#include "liolib_lua.c"
