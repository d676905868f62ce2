"""A server and the program that uses it, in one simulation: `syncopate simulate --client`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from modeled import BUILD, ROOT

COMMAND = [sys.executable, "-m", "syncopate"]

# A thread for each connection, behind epoll; what it is sent is added up, under a lock.
SERVER = r"""
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;
int count;  /* the client has one of this name, too */
static void* serve(void* connection) {
  const int file = (int)(long)connection;
  int number;
  while (recv(file, &number, sizeof number, 0) == sizeof number) {
    pthread_mutex_lock(&lock);
    const long now = sum += number;
    pthread_mutex_unlock(&lock);
    /* Where it goes is known; TCP looks at no address. */
    struct sockaddr_in6 to = {.sin6_family = AF_INET6};
    struct iovec part = {.iov_base = (void*)&now, .iov_len = sizeof now};
    const struct msghdr message = {&to, sizeof to, &part, 1, 0, 0, 0};
    if (sendmsg(file, &message, 0) != sizeof now) return 0;
  }
  close(file);
  return 0;
}
int main(int arguments, char** words) {
  const char* const how = arguments > 1 ? words[1] : "";
  if (!strcmp(how, "silent")) return 0;
  if (kill(getpid(), 0) != 0) return 6;
  printf("process %d\n", getpid());
  const int file = socket(AF_INET6, SOCK_STREAM, 0);
  struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(4711)};
  if (bind(file, (struct sockaddr*)&at, sizeof at) != 0 || listen(file, 16) != 0) return 9;
  if (!strcmp(how, "leaves")) return 0;
  const int ready = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(ready, EPOLL_CTL_ADD, file, &event);
  for (;; ++count) {
    struct sockaddr_in6 from;
    socklen_t bytes = sizeof from;
    if (epoll_wait(ready, &event, 1, -1) != 1) return 8;
    const int connection = accept(file, (struct sockaddr*)&from, &bytes);
    if (connection < 0 || from.sin6_family != AF_INET6 || from.sin6_port == 0) return 7;
    pthread_t thread;
    pthread_create(&thread, 0, serve, (void*)(long)connection);
    pthread_detach(thread);
  }
}
"""
CLIENT = r"""
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
_Atomic int count;
static const char* how;
static void* use(void* thread) {
  const int file = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(4711)}, mine, other;
  socklen_t bytes = sizeof mine;
  if (connect(file, (struct sockaddr*)&at, sizeof at) != 0) exit(20);
  if (setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0) exit(21);
  if (getsockname(file, (struct sockaddr*)&mine, &bytes) != 0 || mine.sin_port == 0) exit(22);
  bytes = sizeof other;
  if (getpeername(file, (struct sockaddr*)&other, &bytes) != 0 || ntohs(other.sin_port) != 4711 ||
      other.sin_family != AF_INET)
    exit(23);
  long sum = 0;
  if (!strcmp(how, "waits")) recv(file, &sum, sizeof sum, 0);
  for (int i = 0; i < 20; ++i) {
    if (send(file, &i, sizeof i, 0) != sizeof i) exit(24);
    struct sockaddr_in from = {.sin_family = 77};
    bytes = sizeof from;
    if (recvfrom(file, &sum, sizeof sum, 0, (struct sockaddr*)&from, &bytes) != sizeof sum ||
        from.sin_family != 77)
      exit(25);
    ++count;
  }
  if (!strcmp(how, "exits") && thread == 0) exit(3);
  close(file);
  return 0;
}
int main(int arguments, char** words) {
  how = arguments > 1 ? words[1] : "";
  pthread_t threads[4];
  for (long i = 0; i < 4; ++i) pthread_create(&threads[i], 0, use, (void*)i);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
  printf("%s: %d answers\n", words[0], count);
  return count == 80 ? 0 : 4;
}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Path:
    """Its path; the client is beside it, as client.so."""
    folder = tmp_path_factory.mktemp("server")
    for name, text, more in (
        ("server", SERVER, ["-o", "server"]),
        ("client", CLIENT, ["-shared", "-fPIC", "-o", "client.so"]),
    ):
        (folder / f"{name}.c").write_text(text, encoding="utf-8")
        subprocess.run(
            [*COMMAND, "cc", "--machine=simulated", "-O1", f"{name}.c", *more],
            cwd=folder,
            env={**os.environ, "SYNCOPATE_NATIVE": BUILD, "PYTHONPATH": str(ROOT)},
            check=True,
            timeout=120,
        )
    return folder / "server"


def start(server: Path, client: Path, *arguments: str, **how) -> subprocess.Popen:
    """Of the server's arguments; what the client is told stands in `tells`."""
    environ = {
        "PATH": os.environ["PATH"],
        "SYNCOPATE_MACHINES": str(ROOT / "machines"),
        "SYNCOPATE_MACHINE": "test-4c",
        "SYNCOPATE_LIMIT": "2",
        "SYNCOPATE_CLIENT": f"{client} {how.get('tells', '')}",
        **how.get("environ", {}),
    }
    return subprocess.Popen(
        [str(server), *arguments],
        env=environ,
        cwd=how.get("cwd", "/"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_equal_bytes_wherever_it_runs_and_two_at_a_time(server, tmp_path):
    folder = tmp_path / "a-folder-with-a-longer-name"
    folder.mkdir()
    link = folder / "client.so"
    link.symlink_to(server.parent / "client.so")
    reports = [tmp_path / "one.json", tmp_path / "other.json"]
    runs = [
        start(server, server.parent / "client.so", environ={"SYNCOPATE_STATS": str(reports[0])}),
        start(server, link, cwd=folder,
              environ={"SYNCOPATE_STATS": str(reports[1]), "HOME": "/" + 777 * "x"}),
    ]  # fmt: skip
    for run in runs:
        out, err = run.communicate(timeout=60)
        assert run.returncode == 0, err
        assert out == "process 4194305\nclient.so: 80 answers\n"
    assert reports[0].read_bytes() == reports[1].read_bytes()
    assert '"name": "main at client.c:' in reports[0].read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("does", "tells", "status", "said"),
    [
        ("", "exits", 3, "simulated time"),
        ("silent", "", 1, "never listened at a socket: its client was not started"),
        ("leaves", "", 1, "the program ended before its client did"),
        ("", "waits", 1, "deadlock"),
    ],
)
def test_how_it_ends(server, does, tells, status, said):
    run = start(server, server.parent / "client.so", does, tells=tells)
    _, err = run.communicate(timeout=60)
    assert (run.returncode, said in err) == (status, True), err
    assert "outside of the program" not in err


def test_what_is_no_client(server):
    for client, said in (("/none", "cannot be loaded"), (server, "cannot be loaded")):
        _, err = start(server, client).communicate(timeout=60)
        assert said in err


def test_the_command_replaces_a_sweeps_value(server):
    command = [*COMMAND, "simulate", "-m", "test-4c"]
    command += ["--client", f"{server.parent}/client.so {{HOW}}", "--sweep", "HOW=works,exits"]
    environ = {**os.environ, "SYNCOPATE_NATIVE": BUILD, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, str(server)], env=environ, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, "HOW=exits: exit status 3" in done.stderr) == (3, True), done.stderr
    assert "80 answers" in done.stdout
