// A loop without any access to memory, in code that does not tell of its blocks as a library's does
// not, takes no simulated time: it is stopped by the processor's.
// run: SYNCOPATE_MACHINE=test-4c SYNCOPATE_LIMIT=1
#ifdef __clang__
[[clang::no_sanitize("coverage")]]
#else
[[gnu::no_sanitize_coverage]]
#endif
int main(int count, char**) {
  for (unsigned x = static_cast<unsigned>(count);; x = x * 1664525 + 1) asm volatile("" : : "r"(x));
}
