// current.h -- which machine this compilation is for. src/model/front/include has another file
// of this name, found first by code that is compiled for a machine other than the native one.
#pragma once

#include <syncopate/machine/native.h>
