// Model runners, where PopRT has it.
#pragma once

#include "poprt/runners.hpp"
