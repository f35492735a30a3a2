// The values in PopEF files, at the path of PopEF's header.
#pragma once

#include "poprt/popef_types.hpp"
