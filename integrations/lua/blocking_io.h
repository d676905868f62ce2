/* blocking_io.h -- the C library's streams for lua-mt: as the functions of the same names, but
 * outside of the interpreter lock while they may block.
 *
 * What a stream's buffer has, or has room for, is read and written inside, at once. No stream's
 * own lock is held when the interpreter lock is entered again, so that the two are never waited
 * for in both orders. Requires, for all: inside.
 */
#ifndef LUA_MT_BLOCKING_IO_H
#define LUA_MT_BLOCKING_IO_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

int lua_mt_getc(FILE* stream);
char* lua_mt_fgets(char* to, int room, FILE* stream);
size_t lua_mt_fread(void* to, size_t size, size_t count, FILE* stream);
size_t lua_mt_fwrite(const void* from, size_t size, size_t count, FILE* stream);
/* A line for standard output: at once unless it is long. */
size_t lua_mt_print(const char* from, size_t bytes);
__attribute__((format(printf, 2, 3))) int lua_mt_fprintf(FILE* stream, const char* format, ...);
int lua_mt_fflush(FILE* stream);
FILE* lua_mt_fopen(const char* name, const char* mode);
/* Whether a thread is in the stream outside of the lock. */
bool lua_mt_in_use(FILE* stream);
/* EOF with EBUSY, and the stream stays open, while it is in use. */
int lua_mt_fclose(FILE* stream);
int lua_mt_pclose(FILE* stream);
off_t lua_mt_ftell(FILE* stream);
int lua_mt_fseek(FILE* stream, off_t to, int from);
int lua_mt_setvbuf(FILE* stream, char* to, int mode, size_t size);
void lua_mt_clearerr(FILE* stream);
int lua_mt_ungetc(int c, FILE* stream);
int lua_mt_system(const char* command);

#ifdef __cplusplus
}
#endif
#endif
