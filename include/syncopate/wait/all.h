// all.h -- every waiting strategy. Running ahead of a lock (speculate.h) is none: it needs the
// lock's help at unlock().
#pragma once

#include <syncopate/wait/adaptive.h>
#include <syncopate/wait/monitor.h>
#include <syncopate/wait/park.h>
#include <syncopate/wait/spin.h>
#include <syncopate/wait/spin_then_park.h>
#include <syncopate/wait/yield.h>
