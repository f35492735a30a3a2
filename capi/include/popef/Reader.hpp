// Reader and the readers of blobs, at the path of PopEF's header.
#pragma once

#include "poprt/popef.hpp"
