// sockets.cpp -- sockets for the module `thread` of lua-mt: what may block is waited for outside of
// the interpreter lock.
//
//   a, b = thread.socketpair()      two connected ends
//   s = thread.listen(port)         on this computer only; port 0, unless given: any free one
//   s:port()  s:accept()            its number; the next connection
//   c = thread.connect(port)        to a listener on this computer
//   c:send(text)  c:receive(n)      all of the text; at most n bytes (4096), nothing at the end
//   c:close()                       who waits in it goes on with an error, or the end
//
// What fails returns nil, a message and the error's number, as Lua's io does. Not for modeled
// machines: their threads are one of the system's, which would wait.
//
// Invariants
//   I1  A socket's handle is closed when it is to be, and no thread is in a call of it: so the
//       number cannot come to mean another file. Both are told under the interpreter lock.
#include "sockets.h"

#include "places.h"
#include "runtime.h"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>

#include <netinet/in.h>
#include <syncopate/gil.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr const char* socket_type = "thread.socket";

struct stream_socket {
  int handle = -1;
  unsigned users = 0;  // threads in a call, outside of the lock
  bool closed = false;
};

void close_if_unused(stream_socket* s) {
  if (!s->closed || s->users != 0 || s->handle < 0) return;
  syncopate_gil_needs_lock();
  ::close(s->handle);
  s->handle = -1;
}

// What the call returns, once it was not interrupted. Requires: inside.
template <class Call>
auto outside(stream_socket* s, Call call) {
  syncopate_gil_needs_lock();
  ++s->users;
  const int handle = s->handle;
  syncopate_gil_block_begin();
  auto result = call(handle);
  while (result < 0 && errno == EINTR) result = call(handle);
  const int error = errno;
  syncopate_gil_block_end(lua_mt_places[lua_mt_at_socket]);
  --s->users;
  close_if_unused(s);
  errno = error;
  return result;
}

stream_socket* make(lua_State* L) {
  auto* const s = ::new (lua_newuserdatauv(L, sizeof(stream_socket), 0)) stream_socket;
  luaL_setmetatable(L, socket_type);
  return s;
}

// Raises an error unless the socket is open.
stream_socket* check(lua_State* L) {
  auto* const s = static_cast<stream_socket*>(luaL_checkudata(L, 1, socket_type));
  if (s->closed) luaL_error(L, "the socket is closed");
  return s;
}

int failed(lua_State* L) { return luaL_fileresult(L, 0, nullptr); }

sockaddr_in here(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::uint16_t check_port(lua_State* L, lua_Integer port) {
  luaL_argcheck(L, port >= 0 && port <= 65535, 1, "not a port: 0 to 65535");
  return static_cast<std::uint16_t>(port);
}

int new_pair(lua_State* L) {
  stream_socket* const ends[] = {make(L), make(L)};
  int handles[2];
  syncopate_gil_needs_lock();
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, handles) != 0) return failed(L);
  ends[0]->handle = handles[0];
  ends[1]->handle = handles[1];
  return 2;
}

// A new one, on the stack; failed() where it has no handle.
stream_socket* make_internet(lua_State* L) {
  stream_socket* const s = make(L);
  syncopate_gil_needs_lock();
  s->handle = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return s;
}

int new_listener(lua_State* L) {
  const sockaddr_in address = here(check_port(L, luaL_optinteger(L, 1, 0)));
  stream_socket* const s = make_internet(L);
  const int yes = 1;
  if (s->handle < 0 || ::setsockopt(s->handle, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(s->handle, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(s->handle, SOMAXCONN) != 0)
    return failed(L);
  return 1;
}

int new_connection(lua_State* L) {
  const sockaddr_in address = here(check_port(L, luaL_checkinteger(L, 1)));
  stream_socket* const s = make_internet(L);
  if (s->handle < 0) return failed(L);
  const int error = outside(s, [&address](int handle) {
    return ::connect(handle, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  });
  return error == 0 ? 1 : failed(L);
}

int socket_port(lua_State* L) {
  stream_socket* const s = check(L);
  sockaddr_in address{};
  socklen_t length = sizeof address;
  syncopate_gil_needs_lock();
  if (::getsockname(s->handle, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return failed(L);
  return lua_pushinteger(L, ntohs(address.sin_port)), 1;
}

int socket_accept(lua_State* L) {
  stream_socket* const s = check(L);
  stream_socket* const accepted = make(L);
  accepted->handle =
      outside(s, [](int handle) { return ::accept4(handle, nullptr, nullptr, SOCK_CLOEXEC); });
  return accepted->handle >= 0 ? 1 : failed(L);
}

int socket_send(lua_State* L) {
  stream_socket* const s = check(L);
  std::size_t left = 0;
  const char* text = luaL_checklstring(L, 2, &left);
  while (left != 0) {
    const ssize_t sent =
        outside(s, [text, left](int handle) { return ::send(handle, text, left, MSG_NOSIGNAL); });
    if (sent < 0) return failed(L);
    text += sent;
    left -= static_cast<std::size_t>(sent);
    check(L);  // it may have been closed meanwhile
  }
  return lua_pushboolean(L, 1), 1;
}

int socket_receive(lua_State* L) {
  stream_socket* const s = check(L);
  const lua_Integer most = luaL_optinteger(L, 2, 4096);
  luaL_argcheck(L, most >= 1 && most <= 1 << 24, 2, "1 to 16777216 bytes");
  luaL_Buffer buffer;
  char* const to = luaL_buffinitsize(L, &buffer, static_cast<std::size_t>(most));
  const ssize_t got = outside(
      s, [to, most](int handle) { return ::recv(handle, to, static_cast<std::size_t>(most), 0); });
  if (got < 0) return failed(L);
  if (got == 0) return 0;
  luaL_pushresultsize(&buffer, static_cast<std::size_t>(got));
  return 1;
}

int socket_close(lua_State* L) {
  auto* const s = static_cast<stream_socket*>(luaL_checkudata(L, 1, socket_type));
  if (s->closed) return 0;
  syncopate_gil_needs_lock();
  s->closed = true;
  if (s->users != 0) ::shutdown(s->handle, SHUT_RDWR);  // wakes them
  close_if_unused(s);
  return 0;
}

constexpr luaL_Reg methods[] = {{"port", socket_port},     {"accept", socket_accept},
                                {"send", socket_send},     {"receive", socket_receive},
                                {"close", socket_close},   {"__gc", socket_close},
                                {"__close", socket_close}, {nullptr, nullptr}};
constexpr luaL_Reg functions[] = {{"socketpair", new_pair},
                                  {"listen", new_listener},
                                  {"connect", new_connection},
                                  {nullptr, nullptr}};

}  // namespace

void lua_mt_add_sockets(lua_State* L) {
  luaL_newmetatable(L, socket_type);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
