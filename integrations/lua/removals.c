/* removals.c -- which conflicts between the transactions of several threads are removed, and how
 * what they count for themselves becomes Lua's again: in front of the collector, which runs under
 * the lock and finds Lua's own fields as if they had always been used (local_state.h, I3).
 *
 * The linker sends these functions of Lua here first (--wrap).
 */
#include "finalizers.h"
#include "local_state.h"

#include "lgc.h"
#include "lstate.h"
#include "lstring.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syncopate/gil.h>

__thread struct lua_mt_local* lua_mt_self;
struct lua_mt_removals lua_mt_removed = {.line = 64};

static struct lua_mt_local* all_locals;

/* What threads have told of what they have allocated, and is not in GCdebt yet. In a line of its
 * own: that of GCdebt is read by each allocation. */
static struct { ptrdiff_t debt; } __attribute__((aligned(256))) told;

/* debt_quantum: what a thread allocates before it tells the others. */
enum { debt_quantum = 32 * 1024, string_buckets = 8192 };

/* ---- options ---- */

static const struct {
  const char* name;
  bool* flag;
} removals[] = {{"heap", &lua_mt_removed.heap},          {"lines", &lua_mt_removed.lines},
                {"debt", &lua_mt_removed.debt},          {"objects", &lua_mt_removed.objects},
                {"strings", &lua_mt_removed.strings},    {"numbers", &lua_mt_removed.numbers},
                {"collector", &lua_mt_removed.collector}};
enum { removal_count = sizeof removals / sizeof *removals };

/* The names in [word, word + length): `all`, `none`, or one. */
static bool set_removal(const char* word, size_t length) {
  const bool all = length == 3 && memcmp(word, "all", length) == 0;
  bool found = all || (length == 4 && memcmp(word, "none", length) == 0);
  for (int i = 0; i < removal_count; ++i) {
    const bool named =
        strlen(removals[i].name) == length && memcmp(word, removals[i].name, length) == 0;
    if (all || named) *removals[i].flag = found = true;
  }
  return found;
}

static bool read_removals(const char* text) {
  for (const char* word = text; *word != '\0';) {
    const size_t length = strcspn(word, ",");
    if (!set_removal(word, length)) {
      fprintf(stderr, "lua-mt: LUA_MT_REMOVE: '%.*s' is not one of all, none", (int)length, word);
      for (int i = 0; i < removal_count; ++i) fprintf(stderr, ", %s", removals[i].name);
      fputc('\n', stderr);
      return false;
    }
    word += length + (word[length] == ',');
  }
  return true;
}

static bool read_number(const char* name, long least, long most, long* value) {
  const char* const text = getenv(name);
  if (text == NULL) return true;
  char* end = NULL;
  *value = strtol(text, &end, 10);
  if (end != text && *end == '\0' && *value >= least && *value <= most) return true;
  fprintf(stderr, "lua-mt: %s: '%s' is not a number from %ld to %ld\n", name, text, least, most);
  return false;
}

/* ---- local states ---- */

static struct lua_mt_local* free_local(void) {
  for (struct lua_mt_local* each = all_locals; each != NULL; each = each->next)
    if (!each->taken) return each;
  struct lua_mt_local* const made = aligned_alloc(_Alignof(struct lua_mt_local), sizeof *made);
  if (made == NULL) return NULL;
  memset(made, 0, sizeof *made);
  made->own_debt = -debt_quantum;
  made->next = all_locals;
  return all_locals = made;
}

static struct lua_mt_local* take_free_local(void) {
  static uint64_t last_number;
  struct lua_mt_local* const local = free_local();
  if (local == NULL) return NULL;
  local->taken = true;
  local->number = ++last_number;
  return local;
}

static void count_globally(global_State* g, struct lua_mt_local* local) {
  local->debt = &g->GCdebt;
  local->strings = &g->strt.nuse;
}

static void count_locally(global_State* g, struct lua_mt_local* local) {
  count_globally(g, local);
  if (lua_mt_removed.debt) local->debt = &local->own_debt;
  if (lua_mt_removed.strings) local->strings = &local->own_strings;
}

static void tell(struct lua_mt_local* local) {
  told.debt += local->own_debt + debt_quantum;
  local->own_debt = -debt_quantum;
}

static void settle(global_State* g, struct lua_mt_local* local) {
  tell(local);
  g->GCdebt += told.debt;
  told.debt = 0;
  g->strt.nuse += local->own_strings;
  local->own_strings = 0;
  if (local->newest == NULL) return;
  local->oldest->next = g->allgc;
  g->allgc = local->newest;
  local->newest = local->oldest = NULL;
}

static void settle_all(global_State* g) {
  for (struct lua_mt_local* each = all_locals; each != NULL; each = each->next) settle(g, each);
}

void lua_mt_make_whole(lua_State* L) {
  syncopate_gil_needs_lock();
  settle_all(G(L));
  count_globally(G(L), lua_mt_self);
}

struct lua_mt_local* lua_mt_take_local(lua_State* L) {
  struct lua_mt_local* const local = take_free_local();
  if (local != NULL) count_locally(G(L), local);
  return local;
}

void lua_mt_give_back_local(void) {
  lua_mt_self->taken = false; /* what it counted is added up with the rest */
}

bool lua_mt_begin(void) {
  const char* const wanted = getenv("LUA_MT_REMOVE");
  long line = 64, heap = 8;
  if (!read_removals(wanted == NULL ? "all" : wanted) ||
      !read_number("LUA_MT_LINE", 16, 256, &line) || !read_number("LUA_MT_HEAP", 0, 4096, &heap))
    return false;
  if ((line & (line - 1)) != 0) {
    fprintf(stderr, "lua-mt: LUA_MT_LINE: '%ld' is not a power of two\n", line);
    return false;
  }
  lua_mt_removed.line = (size_t)line;
  lua_mt_removed.allowance = heap << 20;
  lua_mt_self = take_free_local();
  if (lua_mt_self == NULL) {
    fputs("lua-mt: not enough memory\n", stderr);
    return false;
  }
  lua_mt_self->own_debt = 0;
  lua_mt_self->debt = &lua_mt_self->own_debt; /* until there is a state */
  lua_mt_self->strings = &lua_mt_self->own_strings;
  return true;
}

/* ---- in front of Lua's functions ---- */

lua_State* __real_lua_newstate(lua_Alloc allocate, void* data);
GCObject* __real_luaC_newobj(lua_State* L, int tag, size_t size);
void __real_luaC_fullgc(lua_State* L, int is_emergency);
void __real_luaC_checkfinalizer(lua_State* L, GCObject* object, Table* metatable);
void __real_luaS_resize(lua_State* L, int size);

/* After a collection: the next one is not due before so much was allocated. */
static void allow(global_State* g) {
  const bool collected = g->gckind == KGC_GEN || g->gcstate == GCSpause;
  if (lua_mt_removed.collector && collected && g->GCdebt > -lua_mt_removed.allowance)
    luaE_setdebt(g, -lua_mt_removed.allowance);
}

lua_State* __wrap_lua_newstate(lua_Alloc allocate, void* data) {
  (void)allocate, (void)data;
  lua_State* const L = __real_lua_newstate(lua_mt_allocate, NULL);
  if (L == NULL) return NULL;
  global_State* const g = G(L);
  g->GCdebt += lua_mt_self->own_debt;
  lua_mt_self->own_debt = -debt_quantum;
  settle(g, lua_mt_self);
  count_locally(g, lua_mt_self);
  if (lua_mt_removed.strings) luaS_resize(L, string_buckets);
  allow(g);
  return L;
}

GCObject* __wrap_luaC_newobj(lua_State* L, int tag, size_t size) {
  if (!lua_mt_removed.objects || !completestate(G(L))) return __real_luaC_newobj(L, tag, size);
  struct lua_mt_local* const local = lua_mt_self;
  GCObject* const object = luaM_newobject(L, novariant(tag), size);
  object->marked = luaC_white(G(L));
  object->tt = (lu_byte)tag;
  object->next = local->newest;
  if (local->newest == NULL) local->oldest = object;
  local->newest = object;
  return object;
}

/* Garbage is collected under the lock: a step touches more than fits into a transaction, and what
 * all threads have in common. */
void __wrap_luaC_step(lua_State* L) {
  global_State* const g = G(L);
  if (!gcrunning(g)) return tell(lua_mt_self);
  if (lua_mt_self->debt != &g->GCdebt) {
    tell(lua_mt_self);
    if (g->GCdebt + told.debt <= 0) return;
  }
  lua_mt_make_whole(L);
  lua_mt_collect_some(L);
  if (lua_mt_removed.collector)
    while (g->gckind == KGC_INC && g->gcstate != GCSpause && gcrunning(g)) lua_mt_collect_some(L);
  lua_mt_after_collection(L);
  allow(g);
  count_locally(g, lua_mt_self);
}

void __wrap_luaC_fullgc(lua_State* L, int is_emergency) {
  lua_mt_make_whole(L);
  __real_luaC_fullgc(L, is_emergency);
  allow(G(L));
  count_locally(G(L), lua_mt_self);
}

/* Its options with numbers have one, two or three. */
int __wrap_lua_gc(lua_State* L, int what, ...) {
  const int count = what == LUA_GCINC ? 3
                    : what == LUA_GCGEN
                        ? 2
                        : what == LUA_GCSTEP || what == LUA_GCSETPAUSE || what == LUA_GCSETSTEPMUL;
  int numbers[3] = {0, 0, 0};
  va_list rest;
  va_start(rest, what);
  for (int i = 0; i < count; ++i) numbers[i] = va_arg(rest, int);
  va_end(rest);
  lua_mt_make_whole(L);
  const int result = lua_mt_control_collector(L, what, numbers);
  count_locally(G(L), lua_mt_self);
  return result;
}

/* It looks for the object in the list of all. */
void __wrap_luaC_checkfinalizer(lua_State* L, GCObject* object, Table* metatable) {
  if (gfasttm(G(L), metatable, TM_GC) == NULL) return;
  syncopate_gil_needs_lock();
  settle_all(G(L));
  __real_luaC_checkfinalizer(L, object, metatable);
}

int lua_mt_print_integer(char* text, long long n) {
  char digits[24];
  int count = 0, length = 0;
  unsigned long long rest = n < 0 ? 0ULL - (unsigned long long)n : (unsigned long long)n;
  do digits[count++] = (char)('0' + rest % 10);
  while ((rest /= 10) != 0);
  if (n < 0) text[length++] = '-';
  while (count > 0) text[length++] = digits[--count];
  text[length] = '\0';
  return length;
}

/* The collector makes the table smaller when few strings are left. */
void __wrap_luaS_resize(lua_State* L, int size) {
  __real_luaS_resize(L, lua_mt_removed.strings && size < string_buckets ? string_buckets : size);
}
