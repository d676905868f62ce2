// json.h -- the JSON writer that the tools share with the machines.
#pragma once

#include "../machine/json.h"

namespace syncopate::tools {

using syncopate::json_writer;

}  // namespace syncopate::tools
