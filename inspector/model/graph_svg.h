// Draws a scene as SVG.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "model/graph_layout.h"

namespace poprt::inspector {

// `colour` returns 0xRRGGBB for a node. If it is empty, the colour depends on the operator.
std::string graph_svg(const GraphModel& graph, const Scene& scene,
                      const std::function<uint32_t(int)>& colour = {});

}  // namespace poprt::inspector
