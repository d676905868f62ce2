// json.h -- the JSON writer that the tools share with the machines.
#pragma once

#include "base/json.h"

namespace syncopate::tools {

using syncopate::json_writer;

}  // namespace syncopate::tools
