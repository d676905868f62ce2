// claim.cpp -- a socket's name that no file stands for, so that nothing is left behind.
#include "launcher/claim.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace syncopate::launcher {
namespace {

std::uint64_t fnv_1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

int claim(const std::string& record) {
  const std::size_t name = record.rfind('/') + 1;
  struct stat folder;
  if (stat(record.substr(0, name).c_str(), &folder) != 0) return -1;
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1,
                                   "syncopate-record/%" PRIu64 ".%" PRIu64 ".%016" PRIx64,
                                   std::uint64_t{folder.st_dev}, std::uint64_t{folder.st_ino},
                                   fnv_1a(std::string_view(record).substr(name)));
  const int kept = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (kept < 0) return -1;
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (bind(kept, reinterpret_cast<const sockaddr*>(&address), bytes) == 0) return kept;
  close(kept);
  return -1;
}

void keep_claim(int descriptor) { fcntl(descriptor, F_SETFD, 0); }

}  // namespace syncopate::launcher
