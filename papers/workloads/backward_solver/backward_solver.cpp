// backward_solver.cpp -- a sparse triangular solve by levels, threads meet after each level.
//
// Source: Izraelevitz, Xiang & Scott, PACT 2017, section IV-B, figure 14 and table I, after their
// description. What it leaves open is ours: how rows are dealt out (evenly, in the order of the
// schedule) and which bytes count (solver.h).
#include "program.h"

int main(int argc, char** argv) {
  using namespace workloads;
  const options o(
      argc, argv, "Solves a sparse triangular system; threads meet at a barrier after each level.",
      solver_options(
          {{"barrier", "auto", "a barrier of barriers/all.h, NAME or NAME:WAIT"}, pin_option}));
  const std::string& name = o.text("barrier");
  const auto threads = static_cast<std::uint32_t>(o.number("threads", 1));
  const auto barrier = make_barrier(name, threads);
  if (barrier == nullptr) o.refuse("no barrier is called '" + name + "'");
  return solve_and_report(o, name, [&](backward_solve& solver) {
    return run_threads(o, [&](std::uint32_t me) {
      return solver.work(me, threads, [&] { barrier->arrive_and_wait(me); });
    });
  });
}
