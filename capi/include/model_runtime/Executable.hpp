// Executable, at the path of Model Runtime's header.
#pragma once

#include "poprt/device.hpp"
#include "poprt/executable.hpp"
