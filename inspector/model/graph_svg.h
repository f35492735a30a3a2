// A scene as a picture that browsers and editors read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "model/graph_layout.h"

namespace poprt::inspector {

// `colour` gives 0xRRGGBB of a node; by its operator when there is none.
std::string graph_svg(const GraphModel& graph, const Scene& scene,
                      const std::function<uint32_t(int)>& colour = {});

}  // namespace poprt::inspector
