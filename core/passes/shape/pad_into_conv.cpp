#include <algorithm>

#include "base/checked.h"
#include "passes/common/rewrite.h"

namespace poprt::passes::pad_into_conv_pass {
namespace {

using ir::Graph;
using ir::Node;

// Returns the pads per dimension ([begin..., end...]) of a Pad by constant zeros, else nullopt.
std::optional<std::vector<int64_t>> zero_pads(const Node& pad) {
  if (pad.string_attr("mode", "constant") != "constant" || pad.input(3)) return std::nullopt;
  if (pad.input(2)) {
    const auto value = const_scalar(pad.input(2));
    if (!value || *value != 0) return std::nullopt;
  } else if (pad.float_attr("value", 0) != 0) {
    return std::nullopt;
  }
  return ints_param(pad, "pads", 1);
}

void fuse(Node& n, PassContext& context) {
  Node* pad = sole_producer_of(n.input(0), "Pad");
  if (!pad || !n.input(0)->type.has_shape) return;
  const auto pads = zero_pads(*pad);
  const size_t rank = n.input(0)->shape().size();
  if (!pads || rank < 3 || pads->size() != 2 * rank) return;
  const Shape& unpadded = pad->input(0)->shape();  // convolutions reject empty inputs
  if (std::find(unpadded.begin(), unpadded.end(), 0) != unpadded.end()) return;
  const std::string auto_pad = n.string_attr("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return;
  const size_t spatial = rank - 2;
  std::vector<int64_t> all = n.ints_attr("pads");
  if (all.empty() || auto_pad == "VALID") all.assign(2 * spatial, 0);
  if (all.size() != 2 * spatial) return;
  for (const size_t half : {size_t{0}, rank}) {
    if ((*pads)[half] != 0 || (*pads)[half + 1] != 0) return;
    for (size_t i = 0; i < spatial; i++) {
      const int64_t p = (*pads)[half + 2 + i];
      if (p < 0) return;
      int64_t& to = all[(half ? spatial : 0) + i];
      to = checked_add(to, p, "pad");
    }
  }
  if (n.is("AveragePool")) {
    // The average includes the padding, as it did when Pad added it.
    const std::vector<int64_t> own = n.ints_attr("pads");
    const bool own_pads = std::any_of(own.begin(), own.end(), [](int64_t p) { return p != 0; });
    if (n.int_attr("ceil_mode", 0) != 0 || n.opset() < 7 ||
        (own_pads && n.int_attr("count_include_pad", 0) == 0))
      return;
    const std::vector<int64_t> kernel = n.ints_attr("kernel_shape");
    if (kernel.size() != spatial) return;
    for (size_t i = 0; i < spatial; i++)
      if (all[i] >= kernel[i] || all[i + spatial] >= kernel[i]) return;
  }
  if (!context.allow()) return;
  if (n.is("AveragePool")) n.attributes["count_include_pad"] = int64_t{1};
  n.attributes["pads"] = all;
  n.attributes.erase("auto_pad");
  n.set_input(0, pad->input(0));
  erase_if_dead(pad);
}

void run(Graph& graph, PassContext& context) {
  for_each_node(graph, [&](Node& n) {
    if (n.is("Conv") || n.is("AveragePool")) fuse(n, context);
  });
}

}  // namespace

extern const PassDef def;
const PassDef def = {.name = "pad_into_conv",
                     .summary = "moves zero padding of Pad into Conv and AveragePool",
                     .condition =
                         "constant zero padding of spatial dimensions without other readers; "
                         "AveragePool then counts the padding",
                     .numerics = Numerics::exact,
                     .run = run};

}  // namespace poprt::passes::pad_into_conv_pass
