// export.h -- marks the functions that stand in for a runtime's. They carry no symbol version,
// and so answer a request for any; except nest locks (exports.map).
#pragma once

#define SYNCOPATE_OPENMP_EXPORT extern "C" __attribute__((visibility("default")))
