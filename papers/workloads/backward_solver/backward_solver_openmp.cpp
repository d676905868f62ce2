// backward_solver_openmp.cpp -- the same solve as an OpenMP program, the paper's figure 14 as it
// stands: its barrier is the OpenMP runtime's, or what `syncopate run --omp-barrier` puts in its
// place. OMP_PROC_BIND and OMP_PLACES pin its threads.
#include <omp.h>

#include "program.h"

int main(int argc, char** argv) {
  using namespace workloads;
  const options o(argc, argv,
                  "Solves a sparse triangular system; an OpenMP barrier after each level.",
                  solver_options({}));
  const auto threads = static_cast<std::uint32_t>(o.number("threads", 1));
  return solve_and_report(o, "openmp", [&](backward_solve& solver) {
    outcome result;
    result.shares.resize(threads);
#pragma omp parallel num_threads(static_cast <int>(threads))
    {
      const auto me = static_cast<std::uint32_t>(omp_get_thread_num());
      const auto team = static_cast<std::uint32_t>(omp_get_num_threads());
      share& mine = result.shares[me];
#pragma omp barrier
      mine.began = machine::now();
      mine.operations = solver.work(me, team, [] {
#pragma omp barrier
      });
      mine.ended = machine::now();
    }
    return result;
  });
}
