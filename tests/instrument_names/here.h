// here.h -- a call that returns its own return address.
#pragma once

extern "C" const void* here();
