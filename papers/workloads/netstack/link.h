// link.h -- what carries packets between a stack and its peer, and may lose them.
#pragma once

#include <optional>

#include "packet.h"

namespace net {

class link {
 public:
  link() = default;
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  virtual ~link() = default;

  // Never blocks: what there is no room for is lost. Any thread, several at a time.
  virtual void send(packet p) = 0;
  // Blocks for the next packet. Nothing once the link is stopped or the other end is gone. One
  // thread at a time.
  virtual std::optional<packet> receive() = 0;
  // Makes receive() return. Any thread.
  virtual void stop() = 0;
};

}  // namespace net
