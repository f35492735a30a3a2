// Memory and descriptions of tensors, at the path of Model Runtime's header.
#pragma once

#include "poprt/runner.hpp"
#include "poprt/tensor.hpp"
