// A scene as a picture that browsers and editors read.
#pragma once

#include <string>

#include "model/graph_layout.h"

namespace poprt::inspector {

std::string graph_svg(const GraphModel& graph, const Scene& scene);

}  // namespace poprt::inspector
