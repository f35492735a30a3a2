// Views and descriptions of tensors, where PopRT has it.
#pragma once

#include "poprt/runners.hpp"
