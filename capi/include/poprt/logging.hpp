// Log levels and receivers, at the path of PopRT's header.
#pragma once

#include "poprt/log.hpp"
