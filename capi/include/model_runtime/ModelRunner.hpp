// ModelRunner and ModelRunnerConfig, at the path of Model Runtime's header.
#pragma once

#include "poprt/device.hpp"
#include "poprt/runner.hpp"
#include "poprt/tensor.hpp"
