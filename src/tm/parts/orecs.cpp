#include "tm/parts/orecs.h"

namespace syncopate::tm {

constinit orec orecs[orec_count];
constinit commit_clock commits;

}  // namespace syncopate::tm
