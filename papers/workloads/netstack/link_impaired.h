// link_impaired.h -- a link made worse (impairment.h) for what is sent through it.
#pragma once

#include "impairment.h"
#include "link.h"
#include "locking.h"

namespace net {

class impaired_link final : public link {
 public:
  impaired_link(link& good, const impairment_settings& settings)
      : good_(good), impairment_(settings) {}

  void send(packet p) override {
    const section hold(lock_);
    impairment_.pass(std::move(p), [this](packet out) { good_.send(std::move(out)); });
  }
  std::optional<packet> receive() override { return good_.receive(); }
  void stop() override { good_.stop(); }

 private:
  link& good_;
  chosen_lock lock_;
  impairment impairment_;
};

}  // namespace net
