// RuntimeConfig and the configurations of other runners, where PopRT has it.
#pragma once

#include "poprt/runners.hpp"
