// An instance of a model of the server.
#pragma once

#include <span>

#include "triton_api.h"

namespace poprt::triton {

class Instance {
 public:
  virtual ~Instance() = default;
  // Answers and releases every request, perhaps after the call has returned.
  virtual void execute(std::span<TRITONBACKEND_Request*> requests) = 0;
};

}  // namespace poprt::triton
