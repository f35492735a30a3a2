// Model, ModelBuilder and what they contain, at the path of PopEF's header.
#pragma once

#include "poprt/popef.hpp"
