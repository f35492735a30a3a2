#include "ops/common/axes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/checked.h"
#include "ops/common/elementwise.h"
#include "ops/common/expansion.h"

namespace poprt::ops {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

constexpr int64_t kBlockLanes = 16;

}  // namespace

bool AxisLink::meets(int64_t input_place, int64_t output_place) const {
  const int64_t a = floor_div(input_place + shift, input_block), b = output_place / output_block;
  return extent == kNoRepeat ? a == b : floor_mod(a, extent) == floor_mod(b, extent);
}

namespace {

bool has_known_type(const ir::Value* v) { return !v || v->type.is_static(); }

// Calls the hook for a node whose input types are static. Hooks index the shape of output 0 by axes
// of inputs, so its type must be static, too.
void call_axes_hook(const OpDef& op, const ir::Node& node, AxisMap& map) {
  if (!node.outputs().empty() && !has_known_type(node.output(0))) return;
  for (size_t o = 0; o < node.outputs().size(); o++)
    map.outputs[o] = node.output(o)->type.is_static() ? node.output(o)->shape() : Shape();
  AxisMap stated = map;
  try {
    AxesContext context(node, stated);
    op.axes(context);
  } catch (const Error& e) {
    // Lowering reports errors of the node. An internal error is an error of the hook and is not
    // ignored.
    if (e.code() == ErrorCode::internal) throw;
    return;
  }
  map = std::move(stated);
}

}  // namespace

AxisMap axis_map(const ir::Node& node) {
  AxisMap map;
  for (const ir::Value* v : node.inputs())
    map.inputs.push_back(v && has_known_type(v) ? v->shape() : Shape());
  map.outputs.resize(node.outputs().size());
  const OpDef* op = find_op(node.domain, node.op_type, std::max<int64_t>(node.opset(), 1));
  if (!op || !op->axes || !std::ranges::all_of(node.inputs(), has_known_type)) return map;
  if (std::ranges::all_of(node.outputs(), has_known_type)) {
    call_axes_hook(*op, node, map);
    return map;
  }
  const auto alone = isolate(node);
  ir::Node& copy = *alone->nodes().front();
  try {
    infer(copy);
  } catch (const Error&) {
    return map;  // inference of the graph reports the error
  }
  call_axes_hook(*op, copy, map);
  return map;
}

std::optional<size_t> carried(const AxisMap& map, InputAxis from, size_t output) {
  for (const AxisLink& l : map.links) {
    if (l.input != from.input || l.input_axis != from.axis || l.output != output) continue;
    const int64_t places = map.outputs[output][l.output_axis];
    if (l.input_block == 1 && l.output_block == 1 && l.shift == 0 && l.extent >= places &&
        map.inputs[from.input][from.axis] == places)
      return l.output_axis;
  }
  return std::nullopt;
}

std::optional<size_t> aligned_with(const AxisMap& map, InputAxis from, size_t output) {
  if (map.inputs[from.input][from.axis] != 1) return carried(map, from, output);
  for (const AxisLink& l : map.links)
    if (l.input == from.input && l.input_axis == from.axis && l.output == output)
      return l.output_axis;
  return std::nullopt;
}

std::optional<size_t> carried_from(const AxisMap& map, size_t input, size_t output_axis,
                                   size_t output) {
  if (input >= map.inputs.size()) return std::nullopt;
  for (size_t a = 0; a < map.inputs[input].size(); a++)
    if (carried(map, {input, a}, output) == output_axis) return a;
  return std::nullopt;
}

std::optional<size_t> first_changed(const AxisMap& map, size_t input, size_t output) {
  for (size_t a = 0; a < map.inputs.at(input).size(); a++)
    if (carried(map, {input, a}, output) != a) return a;
  return std::nullopt;
}

std::optional<size_t> varying_axis(const AxisMap& map, size_t input, size_t output) {
  std::optional<size_t> found;
  for (size_t a = 0; a < map.inputs.at(input).size(); a++) {
    if (map.inputs[input][a] == 1) continue;
    const auto to = carried(map, {input, a}, output);
    if (found || !to) return std::nullopt;
    found = to;
  }
  return found;
}

std::vector<size_t> reduced_axes(const AxisMap& map, size_t input) {
  std::vector<size_t> axes;
  for (size_t a = 0; a < map.inputs.at(input).size(); a++)
    if (is_reduced(map, {input, a})) axes.push_back(a);
  return axes;
}

bool is_reduced(const AxisMap& map, InputAxis axis) {
  return std::ranges::any_of(
      map.reduced, [&](const auto& group) { return std::ranges::count(group, axis) > 0; });
}

bool is_linked(const AxisMap& map, InputAxis axis, size_t output) {
  return std::ranges::any_of(map.links, [&](const AxisLink& l) {
    return l.input == axis.input && l.input_axis == axis.axis && l.output == output;
  });
}

std::vector<size_t> mixed_axes(const AxisMap& map, size_t input, size_t output) {
  std::vector<size_t> axes;
  for (size_t a = 0; a < map.inputs.at(input).size(); a++)
    if (!is_linked(map, {input, a}, output) && !is_reduced(map, {input, a})) axes.push_back(a);
  return axes;
}

bool is_uniform(const AxisMap& map, OutputAxis axis) {
  return std::ranges::count(map.numbered, axis) == 0;
}

bool depends(const AxisMap& map, size_t input, size_t output) {
  return std::ranges::count(map.independent, std::pair(input, output)) == 0;
}

std::optional<size_t> carried_exclusively(const AxisMap& map, InputAxis from, size_t output) {
  const auto to = carried(map, from, output);
  if (!to) return std::nullopt;
  const bool shared = std::ranges::any_of(map.links, [&](const AxisLink& l) {
    return l.input != from.input && l.output == output && l.output_axis == *to &&
           (map.inputs[l.input][l.input_axis] != 1 || map.outputs[output][*to] == 1);
  });
  return shared ? std::nullopt : to;
}

AxesContext::AxesContext(const ir::Node& n, AxisMap& map) : node(n), map_(map) {}

const Tensor* AxesContext::constant(size_t i) const {
  const ir::Value* v = node.input(i);
  return v && v->is_constant() ? &v->constant() : nullptr;
}

std::optional<std::vector<int64_t>> AxesContext::ints(size_t i) const {
  const Tensor* t = constant(i);
  return t ? std::optional(t->to_int64s()) : std::nullopt;
}

void AxesContext::link(const AxisLink& l) {
  if (!has(l.input) || !makes(l.output)) return;
  if (l.input_axis >= in(l.input).size() || l.output_axis >= out(l.output).size() || l.extent < 1 ||
      l.input_block < 1 || l.output_block < 1)
    fail(ErrorCode::internal, "{}: axis {} of input {} and axis {} of output {} cannot be linked",
         node.describe(), l.input_axis, l.input, l.output_axis, l.output);
  map_.links.push_back(l);
}

void AxesContext::carry(size_t input, size_t axis, size_t output, size_t to) {
  if (!has(input) || !makes(output)) return;
  if (axis >= in(input).size() || to >= out(output).size())
    fail(ErrorCode::internal, "{}: input {} has no axis {}, or output {} no axis {}",
         node.describe(), input, axis, output, to);
  const int64_t places = in(input)[axis];
  if (places == out(output)[to] || places == 1)
    link({input, axis, output, to, std::max<int64_t>(places, 1)});
}

void AxesContext::reduce(std::vector<InputAxis> together) {
  map_.reduced.push_back(std::move(together));
}

void AxesContext::number(size_t output, size_t axis) {
  if (makes(output) && axis < out(output).size() && is_uniform(map_, {output, axis}))
    map_.numbered.push_back({output, axis});
}

void AxesContext::independent(size_t input, size_t output) {
  if (has(input) && output < output_count()) map_.independent.emplace_back(input, output);
}

namespace axes {

void none(AxesContext&) {}

void shapes_only(AxesContext& ctx) {
  for (size_t o = 0; o < ctx.output_count(); o++)
    for (size_t i = 0; i < ctx.input_count(); i++) ctx.independent(i, o);
}

namespace {

void number_all(AxesContext& ctx) {
  for (size_t o = 0; o < ctx.output_count(); o++)
    for (size_t d = 0; ctx.makes(o) && d < ctx.out(o).size(); d++) ctx.number(o, d);
}

}  // namespace

void by_place(AxesContext& ctx) {
  shapes_only(ctx);
  number_all(ctx);
}

void random_elements(AxesContext& ctx) {
  elementwise_first(ctx);
  number_all(ctx);
}

void random_samples(AxesContext& ctx) {
  batch(ctx);
  number_all(ctx);
}

void elementwise(AxesContext& ctx) {
  const uint32_t types = facts_of(ctx.node).type_inputs;
  for (size_t o = 0; o < ctx.output_count(); o++)
    for (size_t i = 0; i < ctx.input_count(); i++) {
      if (!ctx.has(i)) continue;
      if (in_mask(types, i))
        ctx.independent(i, o);
      else
        aligned_as(ctx, i, broadcast_input_shape(ctx.node, i), o);
    }
}

void elementwise_first(AxesContext& ctx) {
  for (size_t o = 0; o < ctx.output_count(); o++) same(ctx, 0, o);
}

void in_order(AxesContext& ctx) {
  if (ctx.makes(0)) in_order(ctx, {0, 0, ctx.in(0).size(), 0, 0, ctx.out().size()});
}

void batch(AxesContext& ctx) {
  for (size_t o = 0; o < ctx.output_count(); o++) range(ctx, 0, 0, 1, o, 0);
}

void batch_of_matrices(AxesContext& ctx) {
  const size_t rank = ctx.in(0).size();
  if (rank >= 2) range(ctx, 0, 0, rank - 2, 0, 0);
}

void same(AxesContext& ctx, size_t input, size_t output, std::span<const size_t> but) {
  if (!ctx.has(input) || !ctx.makes(output)) return;
  for (size_t d = 0; d < std::min(ctx.in(input).size(), ctx.out(output).size()); d++)
    if (std::ranges::count(but, d) == 0) ctx.carry(input, d, output, d);
}

void range(AxesContext& ctx, size_t input, size_t first, size_t last, size_t output, size_t to) {
  if (!ctx.has(input) || !ctx.makes(output)) return;
  for (size_t d = first; d < std::min(last, ctx.in(input).size()); d++)
    if (to + d - first < ctx.out(output).size()) ctx.carry(input, d, output, to + d - first);
}

void remaining(AxesContext& ctx, size_t input, size_t output, std::span<const int64_t> removed,
               bool keeps) {
  size_t to = 0;
  for (size_t d = 0; d < ctx.in(input).size(); d++) {
    const bool gone = std::ranges::count(removed, static_cast<int64_t>(d)) > 0;
    if (!gone) ctx.carry(input, d, output, to);
    if (!gone || keeps) to++;
  }
}

void aligned(AxesContext& ctx, size_t input, size_t output) {
  if (ctx.has(input)) aligned_as(ctx, input, ctx.in(input), output);
}

void aligned_as(AxesContext& ctx, size_t input, const Shape& shape, size_t output) {
  if (!ctx.has(input) || !ctx.makes(output) || shape.size() > ctx.out(output).size()) return;
  const size_t missing = ctx.out(output).size() - shape.size();
  for (size_t d = 0; d < ctx.in(input).size(); d++) ctx.carry(input, d, output, missing + d);
}

namespace {

// Entry d is the product of the sizes of the axes from d on.
std::vector<int64_t> products_from(std::span<const int64_t> shape) {
  std::vector<int64_t> p(shape.size() + 1, 1);
  for (size_t d = shape.size(); d-- > 0;) p[d] = checked_mul(p[d + 1], shape[d], "shape");
  return p;
}

// A digit of the number n of an element is n / low mod (high / low). Returns the axis whose place
// determines the digit, or nothing if there is no single one.
std::optional<size_t> axis_between(const std::vector<int64_t>& p, int64_t low, int64_t high) {
  for (size_t d = 0; d + 1 < p.size(); d++)
    if (p[d] > p[d + 1] && low >= p[d + 1] && high <= p[d] && low % p[d + 1] == 0 &&
        p[d] % high == 0)
      return d;
  return std::nullopt;
}

// Whether the elements can be counted in units of `c`: `c` elements are whole places of an axis and
// divide it into equal parts.
bool is_cut(const std::vector<int64_t>& p, int64_t c) {
  for (size_t d = 0; d + 1 < p.size(); d++)
    if (c % p[d + 1] == 0 && p[d] % c == 0) return true;
  return c == 1 && p.size() == 1;
}

// Returns the units in which the elements of both shapes can be counted (is_cut), in ascending
// order. Each is a multiple of the previous one.
std::vector<int64_t> common_cuts(const std::vector<int64_t>& p, const std::vector<int64_t>& q) {
  std::set<int64_t> candidates(p.begin(), p.end());
  candidates.insert(q.begin(), q.end());
  for (const int64_t a : p)
    for (const int64_t b : q) {
      candidates.insert(std::gcd(a, b));
      if (const int64_t l = a / std::gcd(a, b); l <= p[0] / b) candidates.insert(l * b);
    }
  std::vector<int64_t> cuts;
  for (const int64_t c : candidates)
    if (is_cut(p, c) && is_cut(q, c) && (cuts.empty() || c % cuts.back() == 0)) cuts.push_back(c);
  return cuts;
}

// If the links do not determine the whole place along an axis of the output, because axes of the
// input overlap it only in part, the number of the place affects the result.
void number_crossed(AxesContext& ctx, const InOrder& o) {
  for (size_t e = o.to; e < o.to_last; e++) {
    int64_t known = 1;
    for (const AxisLink& l : ctx.map().links)
      if (l.input == o.input && l.output == o.output && l.output_axis == e) known *= l.extent;
    if (known != ctx.out(o.output)[e]) ctx.number(o.output, e);
  }
}

// Axes with one place are carried to the axis with one place between the same other axes.
void carry_units(AxesContext& ctx, const InOrder& o, const std::vector<int64_t>& p,
                 const std::vector<int64_t>& q) {
  std::vector<bool> taken(q.size());
  for (size_t d = 0; d + 1 < p.size(); d++) {
    if (p[d] != p[d + 1]) continue;
    for (size_t e = 0; e + 1 < q.size(); e++)
      if (q[e] == q[e + 1] && q[e] == p[d] && !taken[e]) {
        taken[e] = true;
        ctx.carry(o.input, o.first + d, o.output, o.to + e);
        break;
      }
  }
}

}  // namespace

// Example: x [2,6] to y [3,4]. The products are p = {12, 6, 1} and q = {12, 4, 1}, and the common
// units are 1, 2 and 12 elements: 4 elements do not divide a row of x into equal parts, and 6
// elements are not whole rows of y. The digit between 1 and 2 belongs to axis 1 of x and to axis 1
// of y, which are linked with extent 2: the two places of an element are both even or both odd. The
// digit between 2 and 12 belongs to no single axis. The link does not determine the places of y, so
// both axes of y are numbered.
void in_order(AxesContext& ctx, const InOrder& o) {
  if (!ctx.has(o.input) || !ctx.makes(o.output)) return;
  const auto p = products_from(std::span(ctx.in(o.input)).subspan(o.first, o.last - o.first));
  const auto q = products_from(std::span(ctx.out(o.output)).subspan(o.to, o.to_last - o.to));
  if (p[0] != q[0] || p[0] == 0) return;
  const auto cuts = common_cuts(p, q);
  for (size_t i = 0; i + 1 < cuts.size(); i++) {
    const auto a = axis_between(p, cuts[i], cuts[i + 1]), b = axis_between(q, cuts[i], cuts[i + 1]);
    if (a && b)
      ctx.link({o.input, o.first + *a, o.output, o.to + *b, cuts[i + 1] / cuts[i],
                cuts[i] / p[*a + 1], cuts[i] / q[*b + 1]});
  }
  carry_units(ctx, o, p, q);
  number_crossed(ctx, o);
}

void windows(AxesContext& ctx, const Window& w, size_t axis_in, size_t axis_out) {
  for (size_t d = 0; d < w.rank(); d++) {
    if (w.kernel[d] != w.strides[d] || (w.kernel[d] != 1 && w.dilations[d] != 1)) continue;
    if (w.kernel[d] == 1 && w.pads_begin[d] == 0)
      ctx.carry(0, axis_in + d, 0, axis_out + d);
    else
      ctx.link({0, axis_in + d, 0, axis_out + d, kNoRepeat, w.kernel[d], 1, w.pads_begin[d]});
  }
}

void product(AxesContext& ctx, size_t a, size_t b) {
  const size_t ra = ctx.in(a).size(), rb = ctx.in(b).size(), ry = ctx.out().size();
  if (ra == 0 || rb == 0) return;
  const size_t batch = std::max({ra, rb, size_t{2}}) - 2;
  const auto lead = [&](size_t input, size_t rank) {
    for (size_t d = 0; d + 2 < rank; d++) ctx.carry(input, d, 0, batch + 2 + d - rank);
  };
  lead(a, ra);
  lead(b, rb);
  if (ra >= 2) ctx.carry(a, ra - 2, 0, batch);
  if (rb >= 2) ctx.carry(b, rb - 1, 0, ry - 1);
  ctx.reduce({{a, ra - 1}, {b, rb >= 2 ? rb - 2 : 0}});
}

void product_rows(AxesContext& ctx, size_t input) {
  if (!ctx.has(input) || ctx.out().size() < 2) return;
  if (ctx.in(input).size() == 1)
    ctx.carry(input, 0, 0, ctx.out().size() - 2);
  else
    aligned(ctx, input, 0);
}

void product_columns(AxesContext& ctx, size_t input) { aligned(ctx, input, 0); }

void convolution(AxesContext& ctx, size_t x, size_t w) {
  const Shape &in = ctx.in(x), &weights = ctx.in(w);
  if (in.size() < 2 || weights.empty() || ctx.out().size() < 2) return;
  const int64_t group = std::max<int64_t>(ctx.node.int_attr("group", 1), 1);
  ctx.carry(x, 0, 0, 0);
  ctx.carry(w, 0, 0, 1);
  if (group == 1)
    ctx.reduce({{x, 1}, {w, 1}});
  else
    grouped(ctx, {{x, 1}, in[1] / group, 0, 1, ctx.out()[1] / group, group});
}

void per_channel(AxesContext& ctx, size_t input, size_t axis) {
  if (ctx.has(input) && ctx.in(input).size() == 1 && axis < ctx.out().size())
    ctx.carry(input, 0, 0, axis);
}

void grouped(AxesContext& ctx, const Grouped& g) {
  if (!ctx.has(g.from.input) || !ctx.makes(g.output) || g.extent < 1) return;
  if (g.extent > 1)
    ctx.link({g.from.input, g.from.axis, g.output, g.to, g.extent, g.block, g.to_block});
  else if (ctx.in(g.from.input)[g.from.axis] == 1)
    ctx.carry(g.from.input, g.from.axis, g.output, g.to);
}

void into_blocks(AxesContext& ctx, size_t input, size_t plain_axis, size_t output) {
  ctx.link({input, plain_axis, output, 1, kNoRepeat, kBlockLanes, 1});
  ctx.link({input, plain_axis, output, 4, kBlockLanes, 1, 1});
}

void out_of_blocks(AxesContext& ctx, size_t input, size_t plain_axis, size_t output) {
  ctx.link({input, 1, output, plain_axis, kNoRepeat, 1, kBlockLanes});
  ctx.link({input, 4, output, plain_axis, kBlockLanes, 1, 1});
}

// -- Composition ----------------------------------------------------------------------------------

namespace {

// The extent of the link, or kNoRepeat if the axes are so short that nothing repeats.
int64_t period(const AxisLink& l, int64_t from_places, int64_t to_places) {
  if (l.extent == kNoRepeat || l.shift < 0) return l.extent;
  const bool once = (from_places - 1 + l.shift) / l.input_block < l.extent &&
                    (to_places - 1) / l.output_block < l.extent;
  return once ? kNoRepeat : l.extent;
}

// The canonical form of a link, in which equivalent links are equal. Nothing if the link relates
// every place to every place.
std::optional<AxisLink> canonical_link(AxisLink l, int64_t from_places, int64_t to_places) {
  l.extent = period(l, from_places, to_places);
  const bool plain = l.input_block == 1 && l.output_block == 1 && l.shift == 0;
  if (plain && from_places == to_places && l.extent == kNoRepeat) l.extent = from_places;
  if (l.extent == 1 && (from_places != 1 || to_places != 1)) return std::nullopt;
  return l;
}

}  // namespace

std::optional<AxisLink> composed(const AxisLink& first, const AxisLink& second, int64_t from_places,
                                 int64_t places, int64_t to_places) {
  const int64_t e1 = period(first, from_places, places), e2 = period(second, places, to_places);
  AxisLink l = {first.input, first.input_axis, second.output, second.output_axis};
  if (second.shift != 0) {
    // The place must be known exactly before something is added to it.
    if (first.output_block != 1 || e1 != kNoRepeat) return std::nullopt;
    l.extent = e2;
    l.input_block = checked_mul(first.input_block, second.input_block, "axes");
    l.output_block = second.output_block;
    l.shift =
        checked_add(first.shift, checked_mul(second.shift, first.input_block, "axes"), "axes");
    return canonical_link(l, from_places, to_places);
  }
  // The digits of the middle axis: the first link determines those from low1 to high1, the second
  // uses those from low2 to high2.
  const int64_t low1 = first.output_block, low2 = second.input_block, low = std::max(low1, low2);
  if (low % low1 != 0 || low % low2 != 0) return std::nullopt;
  const auto end = [](int64_t begin, int64_t extent) {
    return extent == kNoRepeat ? kNoRepeat : checked_mul(begin, extent, "axes");
  };
  const int64_t high1 = end(low1, e1), high2 = end(low2, e2), high = std::min(high1, high2);
  if (high <= low) return std::nullopt;
  for (const int64_t other : {high1, high2, high})
    if (other != kNoRepeat && high != kNoRepeat && (other % high != 0 || other % low != 0))
      return std::nullopt;
  l.extent = high == kNoRepeat ? kNoRepeat : high / low;
  l.input_block = checked_mul(first.input_block, low / low1, "axes");
  l.output_block = checked_mul(second.output_block, low / low2, "axes");
  l.shift = first.shift;
  return canonical_link(l, from_places, to_places);
}

namespace {

// The relation of the inputs of the operator to one value of its expansion.
struct Reach {
  // By input. An input that is not listed does not affect the value.
  std::map<size_t, std::vector<AxisLink>> links;
  std::set<size_t> numbered;  // axes
};

// Adds the links of another path from the input to the value. Only links that both paths have are
// kept. If only one path has a link, the number of the place along its axis affects the value.
void add_path(Reach& reach, size_t input, const std::vector<AxisLink>& links) {
  const auto [at, first] = reach.links.try_emplace(input, links);
  if (first) return;
  const auto keep_common = [&](const std::vector<AxisLink>& from,
                               const std::vector<AxisLink>& others) {
    std::vector<AxisLink> common;
    for (const AxisLink& l : from)
      if (std::ranges::count(others, l) > 0)
        common.push_back(l);
      else
        reach.numbered.insert(l.output_axis);
    return common;
  };
  keep_common(links, at->second);
  at->second = keep_common(at->second, links);
}

std::vector<AxisLink> links_through(const std::vector<AxisLink>& before, const AxisMap& map,
                                    const AxesContext& ctx, size_t input, size_t output,
                                    std::set<size_t>& numbered) {
  std::vector<AxisLink> after;
  for (const AxisLink& first : before)
    for (const AxisLink& second : map.links) {
      if (second.input != input || second.output != output ||
          second.input_axis != first.output_axis)
        continue;
      auto l =
          composed(first, second, ctx.in(first.input)[first.input_axis],
                   map.inputs[input][first.output_axis], map.outputs[output][second.output_axis]);
      if (!l) {
        numbered.insert(second.output_axis);
        continue;
      }
      l->output = 0;
      if (std::ranges::count(after, *l) == 0) after.push_back(*l);
    }
  return after;
}

// Returns the expansion of the node with all outputs or, if that fails, with the outputs that are
// read, and sets `outputs` to their numbers. Returns null if the node cannot be expanded, for
// example because a constant is missing.
std::unique_ptr<ir::Graph> expanded(const ir::Node& node, std::vector<size_t>& outputs) {
  for (const bool all : {true, false}) {
    auto graph = isolate(node);
    outputs.clear();
    for (size_t i = node.outputs().size(); i-- > 0;) {
      const ir::Value* v = node.output(i);
      const bool read = i == 0 || !v->uses().empty() || v->graph().is_output(v);
      if (all || read)
        outputs.insert(outputs.begin(), i);
      else
        graph->remove_output(i);
    }
    try {
      if (expand_node(*graph->nodes().front())) return graph;
    } catch (const Error&) {
      // Inference and lowering report the error; nothing is carried for such a node.
    }
  }
  return nullptr;
}

using Reached = std::map<const ir::Value*, Reach>;

// Relates the inputs of the expansion to the inputs of the node. The elements of a constant may
// differ from place to place, so its axes count as numbered.
Reached reached_inputs(const AxesContext& ctx, const ir::Graph& graph) {
  Reached reached;
  size_t next = 0;
  std::map<const ir::Value*, const ir::Value*> copies;
  for (size_t i = 0; i < ctx.input_count(); i++) {
    const ir::Value* v = ctx.node.input(i);
    if (!v || v->is_constant()) continue;
    const ir::Value*& copy = copies[v];
    if (!copy) copy = graph.inputs()[next++];
    std::vector<AxisLink>& links = reached[copy].links[i];
    for (size_t d = 0; d < ctx.in(i).size(); d++)
      if (ctx.in(i)[d] > 0) links.push_back({i, d, 0, d, ctx.in(i)[d]});
  }
  for (const ir::Value* v : graph.values())
    for (size_t d = 0; v->is_constant() && d < v->shape().size(); d++)
      if (v->shape()[d] > 1) reached[v].numbered.insert(d);
  return reached;
}

// Adds the axes of the output along which the number of a place may affect the result: axes linked
// to such an axis of the input and, if the input has a mixed axis, all axes without links.
void add_numbered(Reach& made, const AxisMap& map, const std::set<size_t>& numbered, size_t input,
                  size_t output) {
  const Shape& in = map.inputs[input];
  bool mixed = false;
  for (size_t d = 0; d < in.size(); d++)
    mixed =
        mixed || (in[d] > 1 && !is_linked(map, {input, d}, output) && !is_reduced(map, {input, d}));
  for (size_t e = 0; e < map.outputs[output].size(); e++) {
    bool linked = false;
    for (const AxisLink& l : map.links) {
      if (l.output != output || l.output_axis != e) continue;
      linked = true;
      if (l.input == input && numbered.contains(l.input_axis)) made.numbered.insert(e);
    }
    if (mixed && !linked) made.numbered.insert(e);
  }
}

void pass_through(const AxesContext& ctx, const ir::Node& n, Reached& reached) {
  const AxisMap map = axis_map(n);
  for (size_t o = 0; o < n.outputs().size(); o++) {
    Reach made;
    for (const OutputAxis& a : map.numbered)
      if (a.output == o) made.numbered.insert(a.axis);
    for (size_t i = 0; i < n.inputs().size(); i++) {
      const auto found = n.input(i) ? reached.find(n.input(i)) : reached.end();
      if (found == reached.end() || !depends(map, i, o)) continue;
      for (const auto& [input, links] : found->second.links)
        add_path(made, input, links_through(links, map, ctx, i, o, made.numbered));
      if (!in_mask(constant_inputs(n), i)) add_numbered(made, map, found->second.numbered, i, o);
    }
    reached[n.output(o)] = std::move(made);
  }
}

}  // namespace

void expansion(AxesContext& ctx) {
  std::vector<size_t> outputs;
  const auto graph = expanded(ctx.node, outputs);
  if (!graph) return;
  Reached reached = reached_inputs(ctx, *graph);
  for (const ir::Node* n : graph->nodes()) {
    bool plain = true;
    ir::for_each_subgraph(*n, [&](const ir::Graph&) { plain = false; });
    if (!plain) return;  // a node with subgraphs may depend on anything
    pass_through(ctx, *n, reached);
  }
  for (size_t k = 0; k < outputs.size(); k++) {
    const Reach& reach = reached[graph->outputs()[k]];
    for (const size_t axis : reach.numbered) ctx.number(outputs[k], axis);
    for (size_t i = 0; i < ctx.input_count(); i++) {
      if (!ctx.has(i) || ctx.node.input(i)->is_constant()) continue;
      const auto found = reach.links.find(i);
      if (found == reach.links.end()) {
        ctx.independent(i, outputs[k]);
        continue;
      }
      for (AxisLink l : found->second) {
        l.output = outputs[k];
        ctx.link(l);
      }
    }
  }
}

}  // namespace axes
}  // namespace poprt::ops
