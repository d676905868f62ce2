// claims.h -- what the program says of itself: order that its accesses do not show, and races that
// are meant (model/front/compiler/annotations.cpp).
#pragma once

#include "harmless.h"
#include "model/explored/memory/clock.h"
#include "model/explored/report/verdict.h"
#include "model/front/engine.h"
#include "thread_table.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace syncopate::explored {

class claims {
 public:
  claims(thread_table& threads, verdict& found) : threads_(threads), verdict_(found) {}

  void begin() { harmless_ = harmless_bytes::from_the_start(); }  // an execution

  void add_harmless(address at, std::size_t bytes) { harmless_.add(at, bytes); }
  void forget_harmless(address at, std::size_t bytes) { harmless_.forget(at, bytes); }
  [[nodiscard]] bool has_harmless_in(address at, std::size_t bytes) const noexcept {
    return harmless_.has_some_in(at, bytes) != harmless_bytes::none;
  }
  // A section of the running thread in which its accesses of that kind are to be ignored.
  void ignore(engine::kind, int by);
  // Whether a plain access of it takes no part in the search for races.
  [[nodiscard]] bool is_ignored(address at, std::size_t bytes, bool writes) {
    const harmless_bytes::kind harmless = harmless_.has_some_in(at, bytes);
    const thread& t = threads_.running();
    const bool ignored =
        (writes ? t.ignored_writes : t.ignored_reads) != 0 || harmless == harmless_bytes::meant;
    verdict_.ignored |= ignored;
    return ignored || harmless == harmless_bytes::shared;
  }

  // The word on which claims of that address and side meet. It stays where it is.
  [[nodiscard]] address word_of(address, int side);
  // A claim has let the running thread know more than `before`.
  void note_believed(clock before, const clock& now, place);

 private:
  thread_table& threads_;
  verdict& verdict_;
  harmless_bytes harmless_;
  std::map<std::pair<address, int>, std::unique_ptr<std::uint32_t>> words_;
};

}  // namespace syncopate::explored
