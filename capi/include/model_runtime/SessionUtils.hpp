// Predicates of anchors, at the path of Model Runtime's header.
#pragma once

#include "poprt/session.hpp"
