// tsan_init.cpp -- called by each instrumented module's constructor. The machines with an
// engine have no use for it; the emulated machine has its own (src/model/emulated/startup.cpp).
#include "model/front/pthread/real.h"

SYNCOPATE_EXPORT void __tsan_init() {}
