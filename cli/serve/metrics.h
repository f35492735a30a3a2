// The counters of all models and generators in Prometheus' text format.
#pragma once

#include <string>

#include "serve/model_repository.h"

namespace poprt::serve {

std::string format_metrics(const ModelRepository& repository, const Inference& inference);

}  // namespace poprt::serve
