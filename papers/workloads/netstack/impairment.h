// impairment.h -- what a bad network does to packets, decided by a seed.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "../random_numbers.h"
#include "packet.h"

namespace net {

struct impairment_settings {
  unsigned lost = 0, duplicated = 0, reordered = 0, damaged = 0;  // in a hundred packets
  std::uint64_t seed = 1;
  [[nodiscard]] bool any() const { return lost + duplicated + reordered + damaged > 0; }
};

class impairment {
 public:
  explicit impairment(const impairment_settings& settings)
      : settings_(settings), random_(settings.seed, 0) {}

  // Calls deliver(packet) for what comes out at the other end when `p` goes in: nothing, one
  // packet, or several. One that is reordered comes out after the next one.
  template <class Deliver>
  void pass(packet p, Deliver deliver) {
    if (happens(settings_.lost)) return;
    if (!held_ && happens(settings_.reordered)) {
      held_ = std::move(p);
      return;
    }
    if (happens(settings_.damaged)) p[random_.below(p.size())] ^= 1u << random_.below(8);
    if (happens(settings_.duplicated)) deliver(packet(p));
    deliver(std::move(p));
    if (held_) deliver(std::move(*held_));
    held_.reset();
  }

 private:
  bool happens(unsigned in_a_hundred) { return random_.below(100) < in_a_hundred; }

  const impairment_settings settings_;
  workloads::random_numbers random_;
  std::optional<packet> held_;
};

}  // namespace net
