// basic_blocks.cpp -- what gcc and clang call under -fsanitize-coverage=trace-pc in each block.
#include "model/front/compiler/basic_blocks.h"

#include "model/front/engine.h"
#include "model/front/pthread/real.h"
#include "model/front/scope.h"

namespace syncopate::instrument {
namespace {

// Others run, and signals come, also while a thread computes.
constexpr std::int64_t most_at_a_time = 4096;

[[gnu::noinline, gnu::cold]] void charge_blocks() {
  if (!in_program()) {
    blocks_left = blocks_of_an_access;
    return;
  }
  const engine_scope inside;
  engine::work(0);
}

}  // namespace
}  // namespace syncopate::instrument

SYNCOPATE_EXPORT void __sanitizer_cov_trace_pc() {
  using namespace syncopate::instrument;
  if (--blocks_left < -most_at_a_time) [[unlikely]]
    charge_blocks();
}
