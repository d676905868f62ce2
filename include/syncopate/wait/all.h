// all.h -- L1: every waiting strategy. A monitor (UMWAIT / MWAITX) strategy takes its place here.
#pragma once

#include <syncopate/wait/park.h>
#include <syncopate/wait/spin.h>
#include <syncopate/wait/spin_then_park.h>
#include <syncopate/wait/yield.h>
