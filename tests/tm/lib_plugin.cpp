// A library with transactions, opened at run time.
namespace {
long counter;
}

extern "C" [[gnu::transaction_safe]] void plugin_bump(long* p) { ++*p; }
extern "C" long plugin_count() {
  long now = 0;
  __transaction_atomic { now = ++counter; }
  return now;
}
