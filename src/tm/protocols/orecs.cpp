#include "tm/protocols/orecs.h"

namespace syncopate::tm {

constinit orec orecs[record_count];
constinit commit_clock commits;

}  // namespace syncopate::tm
