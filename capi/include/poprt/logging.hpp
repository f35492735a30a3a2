// Log levels and receivers, where PopRT has it.
#pragma once

#include "poprt/log.hpp"
