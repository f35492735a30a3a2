// DeviceManager and Device, where PopRT has it.
#pragma once

#include "poprt/device.hpp"
