// Session and SessionConfig, at the path of Model Runtime's header.
#pragma once

#include "poprt/session.hpp"
