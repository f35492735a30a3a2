#include "model/graph_svg.h"

#include <fmt/format.h>

#include <set>

#include "model/format.h"
#include "model/palette.h"

namespace poprt::inspector {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

using Colour = std::function<uint32_t(int)>;

// Mixes the colour with white, as the window mixes it with its background.
uint32_t pale(uint32_t colour) {
  uint32_t made = 0;
  for (const int shift : {16, 8, 0})
    made |= (255 - (255 - ((colour >> shift) & 255)) * 3 / 10) << shift;
  return made;
}

void add_box(const GraphModel& graph, const SceneBox& box, const Colour& colour, std::string& svg) {
  const bool is_node = box.node != kNone;
  const bool is_op = is_node && graph.node(box.node).kind == NodeKind::op;
  const uint32_t hue = !is_op   ? 0x7a8494
                       : colour ? colour(box.node)
                                : colour_of_name(graph.node(box.node).op);
  const uint32_t fill = is_op ? pale(hue) : box.open ? 0xf6f7f9 : is_node ? 0xe9ecef : 0xd8dee8;
  svg += fmt::format(
      R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="5" fill="#{:06x}" stroke="#{:06x}"/>)",
      box.area.x, box.area.y, box.area.width, box.area.height, fill, hue);
  const std::string title =
      is_node ? (graph.node(box.node).kind == NodeKind::op ? graph.node(box.node).op
                                                           : graph.node(box.node).name)
              : graph.group(box.group).name;
  svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" font-size="13">{}</text>)", box.area.x + 9,
                     box.area.y + 19, escaped(shortened(title, 44)));
  if (is_node && !graph.node(box.node).detail.empty())
    svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" font-size="10" fill="#5d6675">{}</text>)",
                       box.area.x + 9, box.area.y + 38,
                       escaped(shortened(graph.node(box.node).detail, 56)));
  svg += "\n";
}

void add_route(const SceneRoute& route, Direction direction, std::string& svg) {
  if (route.points.size() < 2) return;
  svg += fmt::format(R"(<path d="M{:.1f} {:.1f})", route.points[0].x, route.points[0].y);
  for (size_t i = 1; i < route.points.size(); i++) {
    const Point &a = route.points[i - 1], &b = route.points[i];
    const bool down = direction == Direction::down;
    const double x = down ? 0 : (b.x - a.x) / 2, y = down ? (b.y - a.y) / 2 : 0;
    svg += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", a.x + x, a.y + y, b.x - x,
                       b.y - y, b.x, b.y);
  }
  svg += fmt::format("\" fill=\"none\" stroke=\"#8a93a2\"{}/>\n",
                     route.arrow ? " marker-end=\"url(#arrow)\"" : "");
}

// Adds the shape to one edge of each value.
void add_labels(const GraphModel& graph, const Scene& scene, std::string& svg) {
  std::set<int> labelled;
  for (const SceneRoute& r : scene.routes) {
    const GraphValue& v = graph.value(r.value);
    if (r.points.size() < 2 || !v.has_shape || v.producer == kNone ||
        graph.node(v.producer).kind == NodeKind::input || !labelled.insert(r.value).second)
      continue;
    svg += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"10\" fill=\"#5d6675\">{}</text>\n",
        r.points[0].x + 4, r.points[0].y + (r.enters ? 38 : 13), escaped(dimensions_text(v.shape)));
  }
}

}  // namespace

std::string graph_svg(const GraphModel& graph, const Scene& scene, const Colour& colour) {
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" font-family="sans-serif">
<defs><marker id="arrow" viewBox="0 0 10 10" refX="10" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L10 5L0 10z" fill="#8a93a2"/></marker></defs>
<rect width="100%" height="100%" fill="white"/>
)",
      scene.width, scene.height);
  for (const SceneBox& box : scene.boxes)
    if (box.open) add_box(graph, box, colour, svg);
  for (const SceneRoute& route : scene.routes) add_route(route, scene.direction, svg);
  for (const SceneBox& box : scene.boxes)
    if (!box.open) add_box(graph, box, colour, svg);
  add_labels(graph, scene, svg);
  return svg + "</svg>\n";
}

}  // namespace poprt::inspector
