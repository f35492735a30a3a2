// DeviceManager and Device, at the path of PopRT's header.
#pragma once

#include "poprt/device.hpp"
