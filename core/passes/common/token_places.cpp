#include "passes/common/token_places.h"

#include <algorithm>

#include "ops/axes.h"
#include "ops/common/axes.h"
#include "ops/op.h"

namespace poprt::passes {
namespace {

using ir::Node;
using ir::Value;

// Describes the axes of a value with tokens that contain row and place of a token, as links from an
// imaginary value [rows, length].
std::vector<ops::AxisLink> token_digits(Tokens form, TokenPlaces places) {
  if (form == Tokens::matrix) return {{0, 0, 0, 0, places.rows}, {0, 1, 0, 1, places.length}};
  return {{0, 0, 0, 0, places.rows, 1, places.length}, {0, 1, 0, 0, places.length}};
}

bool has_form(const Shape& shape, Tokens form, TokenPlaces places) {
  if (form == Tokens::matrix)
    return shape.size() > 1 && shape[0] == places.rows && shape[1] == places.length;
  return !shape.empty() && shape[0] == places.rows * places.length;
}

struct Question {
  const Node& node;
  std::span<const Tokens> inputs;
  TokenPlaces places;
  ops::AxisMap map = ops::axis_map(node);
  ByToken answer = {};

  // Whether rows and places of input i become those of an output of that form.
  bool keeps_tokens(size_t i, size_t output, Tokens form) const {
    const auto wanted = token_digits(form, places);
    for (const ops::AxisLink& token : token_digits(inputs[i], places)) {
      const int64_t count = token.input_axis == 0 ? places.rows : places.length;
      if (count == 1) continue;
      const ops::AxisLink& goal = wanted[token.input_axis];
      const auto reaches = [&](const ops::AxisLink& l) {
        if (l.input != i || l.output != output || l.input_axis != token.output_axis ||
            l.output_axis != goal.output_axis)
          return false;
        const int64_t middle = map.inputs[i][l.input_axis],
                      end = map.outputs[output][l.output_axis];
        const auto made = ops::axes::composed(token, l, count, middle, end);
        const auto identity = ops::AxisLink{0, 0, 0, l.output_axis, end};
        const auto same = ops::axes::composed(goal, identity, count, end, end);
        return made && same && made->extent == same->extent &&
               made->input_block == same->input_block && made->output_block == same->output_block &&
               made->shift == same->shift;
      };
      if (!std::ranges::any_of(map.links, reaches)) return false;
    }
    return true;
  }

  // Whether input i, which does not depend on tokens, is equal for all tokens or (for a matrix) for
  // all rows.
  bool fits_all_tokens(size_t i, size_t output, Tokens form) {
    bool by_place = false;
    for (const ops::AxisLink& l : map.links) {
      if (l.input != i || l.output != output || map.inputs[i][l.input_axis] == 1) continue;
      if (l.output_axis == 0) return false;
      by_place = by_place || (l.output_axis == 1 && form == Tokens::matrix);
    }
    if (!by_place) return true;
    // Only the operand of an elementwise node can be replaced by one with a value for each token.
    if (!ops::facts_of(node).per_element) return false;
    answer.by_place.push_back(i);
    return true;
  }

  bool fits(size_t output, Tokens form) {
    if (!has_form(map.outputs[output], form, places)) return false;
    for (size_t axis = 0; axis < (form == Tokens::matrix ? 2u : 1u); axis++)
      if (!ops::is_uniform(map, {output, axis})) return false;
    answer.by_place.clear();
    for (size_t i = 0; i < inputs.size(); i++) {
      if (!node.input(i) || !ops::depends(map, i, output)) continue;
      if (inputs[i] == Tokens::none ? !fits_all_tokens(i, output, form)
                                    : !keeps_tokens(i, output, form))
        return false;
    }
    return true;
  }

  // Whether the node multiplies weights or looks up rows of a table.
  bool is_heavy() const {
    for (size_t i = 0; i < inputs.size(); i++)
      if (inputs[i] == Tokens::none && node.input(i) &&
          ops::in_mask(ops::facts_of(node).weight_inputs, i))
        for (size_t a = 0; a < map.inputs[i].size(); a++)
          if (!ops::is_linked(map, {i, a}) && map.inputs[i][a] > 1) return true;
    return false;
  }
};

}  // namespace

std::optional<ByToken> computed_by_token(const Node& node, std::span<const Tokens> inputs,
                                         TokenPlaces places) {
  bool any = false;
  for (size_t i = 0; i < inputs.size(); i++) {
    if (inputs[i] == Tokens::none) continue;
    if (inputs[i] == Tokens::elsewhere || !node.input(i)->type.is_static() ||
        !has_form(node.input(i)->shape(), inputs[i], places))
      return std::nullopt;
    any = true;
  }
  if (!any) return std::nullopt;
  for (const Value* v : node.outputs())
    if (!v->type.is_static()) return std::nullopt;
  Question q{node, inputs, places};
  for (const Tokens form : {Tokens::matrix, Tokens::flat}) {
    bool all = true;
    for (size_t o = 0; all && o < node.outputs().size(); o++) all = q.fits(o, form);
    if (!all) continue;
    q.answer.result = form;
    q.answer.heavy = q.is_heavy();
    return q.answer;
  }
  return std::nullopt;
}

}  // namespace poprt::passes
