// Ten threads want the processor, and one that is served far worse than these has the lock.
#define MIDDLE 10
#include "priority.c"
