// array_bench.cpp -- ArrayBench of the always-abort paper: figures 2 and 7. The four
// configurations: --footprint 10 or 100, --contended 0 or 1.
#include "array_load.h"

int main(int argc, char** argv) {
  using namespace workloads;
  const options o(argc, argv, "Threads write to random elements of an array, under one lock.",
                  {{"lock", "auto", "a lock of `syncopate list`, or pthread"},
                   threads_option,
                   {"elements", "1000000", "of the array (4 bytes each)"},
                   {"footprint", "10", "elements that one critical section writes"},
                   {"contended", "0", "1: each section begins by writing element 0"},
                   {"optimized", "0", "1: speculation leaves element 0 alone"},
                   tiny_preset_option(),
                   running_time.as_option(),
                   pin_option,
                   seed_option});
  const array_parameters p{.elements = o.number("elements", 1),
                           .footprint = o.number("footprint", 1),
                           .microseconds = o.number("microseconds"),
                           .seed = o.number("seed"),
                           .contended = o.flag("contended"),
                           .optimized = o.flag("optimized"),
                           .protect = false};
  const auto lock = make_lock(o);
  std::vector<std::uint32_t> array(p.elements);
  const outcome result = run_array(o, p, *lock, array);
  return report("array_bench", o, result, array_is_consistent(p, result, array),
                member("lock", o.text("lock")) + member("footprint", p.footprint) +
                    member("contended", p.contended) + member("optimized", p.optimized));
}
