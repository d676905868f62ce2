// adversarial.cpp -- the worst case for running ahead of a lock: always-abort, figure 13.
//
// The array is ten cache lines, each section writes a hundred times to it: a thread that runs ahead
// takes from the holder what the holder is about to write again. --protect 1 is the paper's
// mitigation: who finds that it only runs ahead, over an array so small, gives up at once.
#include "array_load.h"

int main(int argc, char** argv) {
  using namespace workloads;
  const options o(argc, argv, "Threads write again and again to a tiny array, under one lock.",
                  {{"lock", "auto", "a lock of `syncopate list`, or pthread"},
                   threads_option,
                   {"lines", "10", "cache lines (64 bytes) of the array"},
                   {"footprint", "100", "elements that one critical section writes"},
                   {"protect", "0", "1: speculation gives up at once"},
                   tiny_preset_option(),
                   running_time.as_option(),
                   pin_option,
                   seed_option});
  const array_parameters p{.elements = o.number("lines", 1) * 16,
                           .footprint = o.number("footprint", 1),
                           .microseconds = o.number("microseconds"),
                           .seed = o.number("seed"),
                           .contended = false,
                           .optimized = false,
                           .protect = o.flag("protect")};
  const auto lock = make_lock(o);
  std::vector<std::uint32_t> array(p.elements);
  const outcome result = run_array(o, p, *lock, array);
  return report("adversarial", o, result, array_is_consistent(p, result, array),
                member("lock", o.text("lock")) + member("footprint", p.footprint) +
                    member("protect", p.protect));
}
