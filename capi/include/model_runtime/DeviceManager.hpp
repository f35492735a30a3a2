// DeviceManager, DeviceConstraints and DeviceWaitConfig, at the path of Model Runtime's header.
#pragma once

#include "poprt/device.hpp"
