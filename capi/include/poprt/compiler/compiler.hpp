// Compiler and CompilerOptions, at the path of PopRT's header.
#pragma once

#include "poprt/compiler.hpp"
