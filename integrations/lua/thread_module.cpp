// thread_module.cpp -- the module `thread` of lua-mt: threads of the system in one Lua state.
//
//   t = thread.start(f, ...)   runs f(...) in a thread of its own
//   t:join()                   its results, or its error
//   m = thread.mutex()         m:lock(), m:unlock()
//   c = thread.condition()     c:wait(m), c:signal(), c:broadcast()
//   q = thread.channel(n)      q:send(v), q:receive(), q:close(); n values of room, 1 unless given
//   thread.sleep(s), thread.now()
//   and sockets: sockets.cpp
//
// All that is here runs inside the interpreter lock, and is plain data under it. What waits lets go
// of the lock meanwhile (wait_queue.h). Lua's errors jump over frames: no function that may raise
// one has an object with a destructor.
#include "local_state.h"
#include "places.h"
#include "runtime.h"
#include "sockets.h"
#include "wait_queue.h"

#include <syncopate/machine.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <thread>

namespace {

using lua_mt::wait_queue;

constexpr const char* thread_type = "thread.thread";
constexpr const char* mutex_type = "thread.mutex";
constexpr const char* condition_type = "thread.condition";
constexpr const char* channel_type = "thread.channel";

struct task {
  lua_State* L = nullptr;  // the thread's own stack; the first user value keeps it alive
  lua_mt_local* local = nullptr;
  bool done = false;
  int status = LUA_OK;
  wait_queue finished;
};

struct mutex {
  std::uint64_t owner = 0;  // the number of the thread that has it; 0: nobody
  wait_queue waiters;
};

struct condition {
  wait_queue waiters;
};

// Values lie in a table, the first user value, at first ... first + count - 1.
struct channel {
  lua_Integer first = 1, count = 0, room = 1;
  bool closed = false;
  wait_queue senders, receivers;
};

unsigned running = 0;  // started threads that have not finished; inside the lock
// Leaked, as a thread may wait there while another ends the process.
wait_queue& all_finished = *new wait_queue;
std::atomic<unsigned> attached{0};  // the same, until they have also told what they counted

template <class T>
T* make(lua_State* L, const char* type) {
  T* const object = ::new (lua_newuserdatauv(L, sizeof(T), 1)) T;
  luaL_setmetatable(L, type);
  return object;
}

template <class T>
T* check(lua_State* L, int index, const char* type) {
  return static_cast<T*>(luaL_checkudata(L, index, type));
}

template <class T>
int destroy(lua_State* L) {
  std::destroy_at(static_cast<T*>(lua_touserdata(L, 1)));
  return 0;
}

// ---- threads ----

// How far a thread has come that is being started.
enum beginning : std::uint32_t { begins, runs, lacks_memory };

// Tells the one that starts it whether it could be attached, and runs the task if so.
void run(task* me, std::atomic<std::uint32_t>* begun) {
  const bool is_attached = syncopate_gil_attach() == 0;
  begun->store(is_attached ? runs : lacks_memory, std::memory_order_release);
  syncopate::machine::wake(begun, 1);  // the address only: it may be gone
  if (!is_attached) return;
  lua_mt_self = me->local;
  syncopate_gil_enter(lua_mt_places[lua_mt_at_start]);
  lua_State* const L = me->L;
  me->status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  me->done = true;
  me->finished.wake_all();
  --running;
  all_finished.wake_all();
  // From here on the collector may take the task, and L with it: not before this thread has left.
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, me);
  lua_mt_give_back_local();
  syncopate_gil_leave();
  syncopate_gil_detach();
  attached.fetch_sub(1, std::memory_order_release);
}

// Blocks until it runs, as it can still fail; it does not need the lock for that.
bool start_thread(task* t) {
  std::atomic<std::uint32_t> begun{begins};
  attached.fetch_add(1, std::memory_order_relaxed);
  try {
    std::thread(run, t, &begun).detach();
    while (begun.load(std::memory_order_acquire) == begins) syncopate::machine::park(begun, begins);
    if (begun.load(std::memory_order_relaxed) == runs) return true;
  } catch (const std::exception&) {  // of the system, or of memory
  }
  attached.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

int thread_start(lua_State* L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  const int values = lua_gettop(L);  // the function and its arguments
  syncopate_gil_needs_lock();
  task* const t = make<task>(L, thread_type);
  t->L = lua_newthread(L);
  lua_setiuservalue(L, -2, 1);
  if (!lua_checkstack(t->L, values)) return luaL_error(L, "too many arguments");
  lua_insert(L, 1);
  lua_xmove(L, t->L, values);
  lua_pushvalue(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, t);  // alive for as long as it runs
  t->local = lua_mt_take_local(L);
  ++running;
  if (t->local != nullptr && start_thread(t)) return 1;
  if (t->local != nullptr) t->local->taken = false;
  --running;
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, t);
  return luaL_error(L, "the system has no thread left");
}

int thread_join(lua_State* L) {
  task* const t = check<task>(L, 1, thread_type);
  if (!t->done && t->local == lua_mt_self) return luaL_error(L, "a thread waits for itself");
  while (!t->done) t->finished.sleep(lua_mt_places[lua_mt_at_join]);
  const int results = lua_gettop(t->L);
  luaL_checkstack(L, results, "too many results");
  if (!lua_checkstack(t->L, 1)) return luaL_error(L, "too many results");
  for (int i = 1; i <= results; ++i) {  // copied: there may be another join()
    lua_pushvalue(t->L, i);
    lua_xmove(t->L, L, 1);
  }
  return t->status == LUA_OK ? results : lua_error(L);
}

// ---- mutexes and conditions ----

void lock(mutex* m) {
  while (m->owner != 0) m->waiters.sleep(lua_mt_places[lua_mt_at_lock]);
  m->owner = lua_mt_self->number;
}

int unlock(lua_State* L, mutex* m) {
  if (m->owner == 0) return luaL_error(L, "the mutex is not locked");
  m->owner = 0;
  m->waiters.wake(1);
  return 0;
}

int new_mutex(lua_State* L) { return make<mutex>(L, mutex_type), 1; }
int mutex_lock(lua_State* L) {
  mutex* const m = check<mutex>(L, 1, mutex_type);
  if (m->owner == lua_mt_self->number)
    return luaL_error(L, "this thread has locked the mutex already");
  return lock(m), 0;
}
int mutex_unlock(lua_State* L) { return unlock(L, check<mutex>(L, 1, mutex_type)); }

int new_condition(lua_State* L) { return make<condition>(L, condition_type), 1; }

int condition_wait(lua_State* L) {
  condition* const c = check<condition>(L, 1, condition_type);
  mutex* const m = check<mutex>(L, 2, mutex_type);
  unlock(L, m);  // nobody runs between this and the sleep: both are inside, without a yield
  c->waiters.sleep(lua_mt_places[lua_mt_at_wait]);
  lock(m);
  return 0;
}

int condition_signal(lua_State* L) {
  return check<condition>(L, 1, condition_type)->waiters.wake(1), 0;
}
int condition_broadcast(lua_State* L) {
  return check<condition>(L, 1, condition_type)->waiters.wake_all(), 0;
}

// ---- channels ----

int new_channel(lua_State* L) {
  const lua_Integer room = luaL_optinteger(L, 1, 1);
  luaL_argcheck(L, room >= 1, 1, "room for one value at least");
  make<channel>(L, channel_type)->room = room;
  lua_newtable(L);
  lua_setiuservalue(L, -2, 1);
  return 1;
}

int channel_send(lua_State* L) {
  channel* const c = check<channel>(L, 1, channel_type);
  luaL_checkany(L, 2);
  while (c->count == c->room && !c->closed) c->senders.sleep(lua_mt_places[lua_mt_at_send]);
  if (c->closed) return luaL_error(L, "the channel is closed");
  lua_getiuservalue(L, 1, 1);
  lua_pushvalue(L, 2);
  lua_rawseti(L, -2, c->first + c->count);  // may raise: nothing is sent then
  ++c->count;
  c->receivers.wake(1);
  return 0;
}

// The next value; nothing once the channel is closed and empty.
int channel_receive(lua_State* L) {
  channel* const c = check<channel>(L, 1, channel_type);
  while (c->count == 0 && !c->closed) c->receivers.sleep(lua_mt_places[lua_mt_at_receive]);
  if (c->count == 0) return 0;
  lua_getiuservalue(L, 1, 1);
  lua_rawgeti(L, -1, c->first);
  lua_pushnil(L);
  lua_rawseti(L, -3, c->first++);
  --c->count;
  c->senders.wake(1);
  return 1;
}

int channel_close(lua_State* L) {
  channel* const c = check<channel>(L, 1, channel_type);
  c->closed = true;
  c->senders.wake_all();
  c->receivers.wake_all();
  return 0;
}

// ---- time ----

int thread_sleep(lua_State* L) {
  const lua_Number seconds = luaL_checknumber(L, 1);
  luaL_argcheck(L, seconds >= 0 && seconds < 1e9, 1, "not a time to sleep");
  syncopate_gil_needs_lock();
  syncopate_gil_block_begin();
  std::this_thread::sleep_for(std::chrono::duration<lua_Number>(seconds));
  syncopate_gil_block_end(lua_mt_places[lua_mt_at_sleep]);
  return 0;
}

// Seconds since some moment; on modeled machines their time.
int thread_now(lua_State* L) {
  return lua_pushnumber(L, static_cast<lua_Number>(syncopate::machine::now()) * 1e-9), 1;
}

void define(lua_State* L, const char* type, const luaL_Reg* methods, lua_CFunction collect) {
  luaL_newmetatable(L, type);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, collect);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
}

constexpr luaL_Reg thread_methods[] = {{"join", thread_join}, {nullptr, nullptr}};
constexpr luaL_Reg mutex_methods[] = {
    {"lock", mutex_lock}, {"unlock", mutex_unlock}, {nullptr, nullptr}};
constexpr luaL_Reg condition_methods[] = {{"wait", condition_wait},
                                          {"signal", condition_signal},
                                          {"broadcast", condition_broadcast},
                                          {nullptr, nullptr}};
constexpr luaL_Reg channel_methods[] = {{"send", channel_send},
                                        {"receive", channel_receive},
                                        {"close", channel_close},
                                        {nullptr, nullptr}};
constexpr luaL_Reg functions[] = {
    {"start", thread_start},  {"mutex", new_mutex},    {"condition", new_condition},
    {"channel", new_channel}, {"sleep", thread_sleep}, {"now", thread_now},
    {nullptr, nullptr}};

}  // namespace

extern "C" {

int luaopen_thread(lua_State* L) {
  define(L, thread_type, thread_methods, destroy<task>);
  define(L, mutex_type, mutex_methods, destroy<mutex>);
  define(L, condition_type, condition_methods, destroy<condition>);
  define(L, channel_type, channel_methods, destroy<channel>);
  lua_createtable(L, 0, 6);
  luaL_setfuncs(L, functions, 0);
  lua_mt_add_sockets(L);
  return 1;
}

void lua_mt_await_threads(void) {
  while (running != 0) all_finished.sleep(lua_mt_places[lua_mt_at_end]);
}

void lua_mt_await_detached(void) {
  syncopate::machine::wait_until(attached, std::memory_order_acquire,
                                 [](unsigned count) { return count == 0; });
}
}
