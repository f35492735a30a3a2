// Model runners, at the path of PopRT's header.
#pragma once

#include "poprt/runners.hpp"
