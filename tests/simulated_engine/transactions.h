// transactions.h -- for the programs of this folder that try hardware transactions.
#pragma once

#include <syncopate/machine.h>

#include <cstdio>

namespace htm = syncopate::machine::htm;

// Runs work() in a transaction. Returns: how that ended; cause::started when it committed.
template <class Work>
htm::status attempt(Work work, htm::mode mode = htm::mode::normal) {
  const htm::status status = htm::begin(mode);
  if (!status.started()) return status;
  work();
  htm::commit();
  return status;
}

inline const char* text(const htm::status& status) {
  static const char* const names[] = {"committed", "conflict", "capacity", "explicit", "other"};
  return names[static_cast<int>(status.why)];
}
