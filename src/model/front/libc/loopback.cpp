#include "model/front/libc/loopback.h"
#include "model/front/compiler/critical_sections.h"
#include "model/front/libc/call_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "model/front/libc/file_waits.h"
#include "model/front/libc/libc_range.h"
#include "model/front/program/client.h"
#include "model/front/program/library_state.h"

#include <syncopate/machine/system_call.h>

namespace syncopate::instrument {
namespace {

constexpr int mark_v4 = 4, mark_v6 = 6;  // priorities
constexpr int buffer_bytes = 1 << 16;    // whatever the system's default is
constexpr std::uint16_t first_ephemeral = 32'768;

int family_of(int mark) { return mark == mark_v6 ? AF_INET6 : AF_INET; }

int mark_of(int file) {
  int mark = 0, domain = 0;
  socklen_t bytes = sizeof mark;
  const auto ask = SYNCOPATE_REAL(getsockopt);
  if (ask(file, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) != 0 || domain != AF_UNIX) return 0;
  bytes = sizeof mark;
  if (ask(file, SOL_SOCKET, SO_PRIORITY, &mark, &bytes) != 0) return 0;
  return mark == mark_v4 || mark == mark_v6 ? mark : 0;
}

void set_mark(int file, int mark) {
  SYNCOPATE_REAL(setsockopt)(file, SOL_SOCKET, SO_PRIORITY, &mark, sizeof mark);
  note_own_files(file);
}

struct unix_name {
  sockaddr_un text{};
  socklen_t bytes = 0;
};

// An abstract name begins with a zero.
unix_name name_of(int mark, unsigned port) {
  // The system's number of it; getpid() is the program's.
  const long process = machine::system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
  unix_name name;
  name.text.sun_family = AF_UNIX;
  const int n = std::snprintf(name.text.sun_path + 1, sizeof name.text.sun_path - 1,
                              "syncopate-%ld-%d-%u", process, mark, port);
  name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + std::size_t(n));
  return name;
}

unsigned port_of(const unix_name& name) {
  int mark = 0;
  long process = 0;
  unsigned port = 0;
  char text[sizeof name.text.sun_path + 1] = {};
  std::memcpy(text, name.text.sun_path, sizeof name.text.sun_path);
  if (name.bytes <= offsetof(sockaddr_un, sun_path)) return 0;
  return std::sscanf(text + 1, "syncopate-%ld-%d-%u", &process, &mark, &port) == 3 ? port : 0;
}

// What the program takes for its address. Both hosts are this one.
void show(int mark, unsigned port, sockaddr* to, socklen_t* bytes) {
  if (to == nullptr || bytes == nullptr) return;
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<std::uint16_t>(port));
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  v6.sin6_addr = in6addr_loopback;
  const void* const from = mark == mark_v6 ? static_cast<const void*>(&v6) : &v4;
  const socklen_t size = mark == mark_v6 ? sizeof v6 : sizeof v4;
  std::memcpy(to, from, std::min(size, *bytes));
  *bytes = size;
}

// The port of an address of IPv4 or IPv6; -1: it is none.
int port_in(const sockaddr* at, socklen_t bytes) {
  sockaddr_in v4{};
  if (at == nullptr || bytes < sizeof v4) return -1;
  std::memcpy(&v4, at, sizeof v4);  // the port is at the same place in both
  return v4.sin_family == AF_INET || v4.sin_family == AF_INET6 ? ntohs(v4.sin_port) : -1;
}

// Gives the socket the port, or, for 0, the next one that is free.
int bind_to(int file, int mark, unsigned port) {
  static unsigned next = first_ephemeral;
  for (;;) {
    const unix_name name = name_of(mark, port != 0 ? port : next);
    const auto* const at = reinterpret_cast<const sockaddr*>(&name.text);
    const int result = SYNCOPATE_REAL(bind)(file, at, name.bytes);
    if (result == 0 || errno != EADDRINUSE || port != 0) return result;
    ++next;
  }
}

int ask_name(decltype(getsockname)* real, int file, int mark, sockaddr* to, socklen_t* bytes) {
  unix_name name;
  name.bytes = sizeof name.text;
  const int result = real(file, reinterpret_cast<sockaddr*>(&name.text), &name.bytes);
  if (result == 0) show(mark, port_of(name), to, bytes);
  return result;
}

bool is_of_protocol(int level) {
  return level == IPPROTO_TCP || level == IPPROTO_IP || level == IPPROTO_IPV6;
}

}  // namespace

bool has_network() { return has_client(); }

bool is_tcp(int file) {
  int value = 0, type = 0;
  socklen_t bytes = sizeof value;
  const auto ask = SYNCOPATE_REAL(getsockopt);
  if (ask(file, SOL_SOCKET, SO_DOMAIN, &value, &bytes) != 0) return false;
  if (value == AF_UNIX) return has_network() && mark_of(file) != 0;
  bytes = sizeof type;
  return (value == AF_INET || value == AF_INET6) &&
         ask(file, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

int connect_socket(int file, const sockaddr* to, socklen_t bytes) {
  const int mark = has_network() ? mark_of(file) : 0;
  const int port = mark != 0 ? port_in(to, bytes) : -1;
  if (port < 0) return SYNCOPATE_REAL(connect)(file, to, bytes);
  bind_to(file, mark, 0);  // unless the program has
  for (const int family : {mark, mark_v4 + mark_v6 - mark}) {
    const unix_name name = name_of(family, static_cast<unsigned>(port));
    const auto* const at = reinterpret_cast<const sockaddr*>(&name.text);
    if (SYNCOPATE_REAL(connect)(file, at, name.bytes) == 0) return 0;
    if (errno != ECONNREFUSED) return -1;
  }
  return -1;
}

int accept_socket(int file, sockaddr* from, socklen_t* bytes, int flags) {
  const int mark = has_network() ? mark_of(file) : 0;
  if (mark == 0) return SYNCOPATE_REAL(accept4)(file, from, bytes, flags);
  unix_name peer;
  peer.bytes = sizeof peer.text;
  const int got =
      SYNCOPATE_REAL(accept4)(file, reinterpret_cast<sockaddr*>(&peer.text), &peer.bytes, flags);
  if (got < 0) return got;
  set_mark(got, mark);
  show(mark, port_of(peer), from, bytes);
  return got;
}

}  // namespace syncopate::instrument

using namespace syncopate::instrument;

SYNCOPATE_EXPORT int socket(int domain, int type, int protocol) noexcept {
  end_transaction("socket", SYNCOPATE_CALLER);
  const auto* const where = SYNCOPATE_CALLER;
  constexpr int kinds = ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  const bool is_network = by_program(where) && has_network() && (type & kinds) == SOCK_STREAM &&
                          (domain == AF_INET || domain == AF_INET6);
  if (!is_network) return note_opened(SYNCOPATE_REAL(socket)(domain, type, protocol), where);
  const int file = SYNCOPATE_REAL(socket)(AF_UNIX, type, 0);
  if (file < 0) return file;
  note_opened(file, where);
  set_mark(file, domain == AF_INET6 ? mark_v6 : mark_v4);
  SYNCOPATE_REAL(setsockopt)(file, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
  return file;
}

SYNCOPATE_EXPORT int bind(int file, const sockaddr* at, socklen_t bytes) noexcept {
  end_transaction("bind", SYNCOPATE_CALLER);
  const int mark = by_program(SYNCOPATE_CALLER) && has_network() ? mark_of(file) : 0;
  const int port = mark != 0 ? port_in(at, bytes) : -1;
  if (port < 0) return SYNCOPATE_REAL(bind)(file, at, bytes);
  return bind_to(file, mark, static_cast<unsigned>(port));
}

SYNCOPATE_EXPORT int listen(int file, int room) noexcept {
  end_transaction("listen", SYNCOPATE_CALLER);
  const auto* const where = SYNCOPATE_CALLER;
  const int result = SYNCOPATE_REAL(listen)(file, room);
  if (result == 0 && by_program(where) && has_client()) start_client(where);
  return result;
}

SYNCOPATE_EXPORT int getsockname(int file, sockaddr* to, socklen_t* bytes) noexcept {
  end_transaction("getsockname", SYNCOPATE_CALLER);
  const results_of_call told(SYNCOPATE_CALLER, bytes);
  const int mark = by_program(SYNCOPATE_CALLER) && has_network() ? mark_of(file) : 0;
  const written_room room(SYNCOPATE_CALLER, to, bytes);
  if (mark == 0) return SYNCOPATE_REAL(getsockname)(file, to, bytes);
  return ask_name(SYNCOPATE_REAL(getsockname), file, mark, to, bytes);
}
SYNCOPATE_EXPORT int getpeername(int file, sockaddr* to, socklen_t* bytes) noexcept {
  end_transaction("getpeername", SYNCOPATE_CALLER);
  const results_of_call told(SYNCOPATE_CALLER, bytes);
  const int mark = by_program(SYNCOPATE_CALLER) && has_network() ? mark_of(file) : 0;
  const written_room room(SYNCOPATE_CALLER, to, bytes);
  if (mark == 0) return SYNCOPATE_REAL(getpeername)(file, to, bytes);
  return ask_name(SYNCOPATE_REAL(getpeername), file, mark, to, bytes);
}

// Protocols' options have no effect here, and read as 0.
SYNCOPATE_EXPORT int setsockopt(int file, int level, int name, const void* value,
                                socklen_t bytes) noexcept {
  end_transaction("setsockopt", SYNCOPATE_CALLER);
  const bool is_network = by_program(SYNCOPATE_CALLER) && has_network() && mark_of(file) != 0;
  if (is_network && (is_of_protocol(level) || (level == SOL_SOCKET && name == SO_PRIORITY)))
    return 0;
  return SYNCOPATE_REAL(setsockopt)(file, level, name, value, bytes);
}
SYNCOPATE_EXPORT int getsockopt(int file, int level, int name, void* value,
                                socklen_t* bytes) noexcept {
  end_transaction("getsockopt", SYNCOPATE_CALLER);
  const results_of_call told(SYNCOPATE_CALLER, bytes);
  const int mark = by_program(SYNCOPATE_CALLER) && has_network() ? mark_of(file) : 0;
  const written_room room(SYNCOPATE_CALLER, value, bytes);
  int answer = 0;
  if (mark != 0 && level == SOL_SOCKET && name == SO_DOMAIN) answer = family_of(mark);
  else if (mark != 0 && level == SOL_SOCKET && name == SO_PROTOCOL) answer = IPPROTO_TCP;
  else if (mark == 0 || !is_of_protocol(level))
    return SYNCOPATE_REAL(getsockopt)(file, level, name, value, bytes);
  *bytes = std::min<socklen_t>(*bytes, sizeof answer);
  std::memcpy(value, &answer, *bytes);
  return 0;
}
