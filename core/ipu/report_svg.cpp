#include <fmt/format.h>

#include <algorithm>

#include "ipu/report.h"

namespace poprt::ipu {
namespace {

constexpr int kWidth = 960, kPanel = 180, kLeft = 70, kRight = 20;
constexpr double kInner = kWidth - kLeft - kRight;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

std::string text_at(double x, double y, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, y, escaped(text));
}

std::string box(double x, double y, double w, double h, const char* colour,
                const std::string& title) {
  return fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
      "fill=\"{}\"><title>{}</title></rect>\n",
      x, y, w, h, colour, escaped(title));
}

// An area over values from left to right; the value `most` has the height of the panel.
std::string area(double top, const std::vector<int64_t>& values, int64_t most, const char* colour) {
  if (values.empty() || most <= 0) return {};
  std::string points = fmt::format("{},{:.1f}", kLeft, top + kPanel - 40);
  const double height = kPanel - 60;
  for (size_t i = 0; i < values.size(); i++) {
    const double y =
        top + kPanel - 40 - height * static_cast<double>(values[i]) / static_cast<double>(most);
    const double step = kInner / static_cast<double>(values.size());
    points += fmt::format(" {:.1f},{:.1f} {:.1f},{:.1f}", kLeft + step * static_cast<double>(i), y,
                          kLeft + step * static_cast<double>(i + 1), y);
  }
  points += fmt::format(" {:.1f},{:.1f}", kLeft + kInner, top + kPanel - 40);
  return fmt::format("<polygon points=\"{}\" fill=\"{}\"/>\n", points, colour);
}

std::string memory_panel(double top, const TileMemory& m) {
  const int64_t most = std::max(m.available, m.bytes);
  std::string out = text_at(kLeft, top + 14,
                            fmt::format("IPU {}: bytes by tile, of {} (line)", m.ipu, m.available));
  out += area(top, m.by_tile, most, "#4878b0");
  const double y = top + kPanel - 40 -
                   (kPanel - 60) * static_cast<double>(m.available) / static_cast<double>(most);
  out += fmt::format("<line x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\" stroke=\"#c03030\"/>\n",
                     kLeft, y, kWidth - kRight, y);
  return out;
}

std::string liveness_panel(double top, const TileMemory& m) {
  const int64_t most =
      m.liveness.empty() ? 0 : *std::max_element(m.liveness.begin(), m.liveness.end());
  return text_at(kLeft, top + 14,
                 fmt::format("IPU {}: bytes that are not always live, by operation, at most {}",
                             m.ipu, most)) +
         area(top, m.liveness, most, "#58a068");
}

std::string trace_panel(double top, const Estimate& e) {
  std::string out = text_at(kLeft, top + 14,
                            fmt::format("Phases over {} cycles: compute blue, exchange orange, "
                                        "sync and control grey",
                                        e.cycles));
  double x = kLeft;
  const double scale = e.cycles ? kInner / static_cast<double>(e.cycles) : 0;
  for (const ChipOp& op : e.program.ops) {
    double compute = 0, exchange = 0, rest = 0;
    for (const Superstep& s : op.cost.steps) {
      const auto times = static_cast<double>(s.repeats * op.repeats);
      compute += times * static_cast<double>(s.compute);
      exchange += times * static_cast<double>(s.exchange);
      rest += times * static_cast<double>(s.sync + s.overhead);
    }
    const std::string title = fmt::format("{} {}: {} cycles", op.type, op.name, op.cycles());
    const std::pair<double, const char*> parts[] = {
        {rest, "#a0a0a0"}, {exchange, "#e09040"}, {compute, "#4878b0"}};
    for (const auto& [cycles, colour] : parts) {
      if (cycles <= 0) continue;
      out += box(x, top + 30, cycles * scale, kPanel - 80, colour, title);
      x += cycles * scale;
    }
  }
  return out;
}

std::string types_panel(double top, const Estimate& e) {
  std::string out = text_at(kLeft, top + 14, "Cycles by operator");
  const auto types = cycles_by_type(e);
  const int64_t most = types.empty() ? 0 : types[0].cycles;
  for (size_t i = 0; i < std::min<size_t>(types.size(), 8); i++) {
    if (types[i].cycles == 0) continue;
    const double y = top + 24 + 17 * static_cast<double>(i);
    out += box(kLeft + 160, y,
               (kInner - 260) * static_cast<double>(types[i].cycles) / static_cast<double>(most),
               13, "#4878b0", types[i].type);
    out += text_at(kLeft, y + 11, types[i].type);
    out += text_at(kWidth - 110, y + 11, fmt::format("{}", types[i].cycles));
  }
  return out;
}

}  // namespace

std::string report_svg(const Estimate& e) {
  const size_t ipus = std::min<size_t>(e.memory.size(), 4);
  const auto panels = static_cast<double>(2 * ipus + 2);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#ffffff\"/>\n",
      kWidth, panels * kPanel);
  double top = 0;
  out += trace_panel(top, e);
  top += kPanel;
  out += types_panel(top, e);
  for (size_t i = 0; i < ipus; i++) {
    out += memory_panel(top += kPanel, e.memory[i]);
    out += liveness_panel(top += kPanel, e.memory[i]);
  }
  return out + "</svg>\n";
}

}  // namespace poprt::ipu
