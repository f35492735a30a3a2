// Compiler and CompilerOptions, where PopRT has it.
#pragma once

#include "poprt/compiler.hpp"
