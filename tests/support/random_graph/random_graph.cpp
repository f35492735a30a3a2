#include "support/random_graph/random_graph.h"

#include <algorithm>

#include "ir/text.h"
#include "ir/verifier.h"
#include "support/random_graph/recipes.h"

namespace poprt::test {
namespace {

struct Family {
  std::span<const Recipe> (*recipes)();
  uint64_t weight;
};

struct Profile {
  std::string_view name;
  Limits limits;
  std::vector<Family> families;
};

const std::vector<Profile>& all_profiles() {
  static const std::vector<Profile> all = {
      {"mixed",
       {.nodes = 14},
       {{elementwise_recipes, 30},
        {movement_recipes, 20},
        {index_recipes, 8},
        {reduction_recipes, 10},
        {convolution_recipes, 10},
        {product_recipes, 10},
        {normalization_recipes, 5},
        {quantized_recipes, 6},
        {recurrent_recipes, 3},
        {signal_recipes, 4},
        {pattern_recipes, 6},
        {control_recipes, 6}}},
      {"elementwise",
       {.nodes = 30, .elements = 512},
       {{elementwise_recipes, 80},
        {pattern_recipes, 15},
        {movement_recipes, 10},
        {recurrent_recipes, 2}}},
      {"movement",
       {.nodes = 24, .elements = 1024},
       {{movement_recipes, 70},
        {index_recipes, 12},
        {elementwise_recipes, 15},
        {reduction_recipes, 10}}},
      {"reduction",
       {.nodes = 16, .elements = 2048, .dim = 12},
       {{reduction_recipes, 50},
        {elementwise_recipes, 25},
        {movement_recipes, 20},
        {normalization_recipes, 15}}},
      {"convolution",
       {.nodes = 14, .elements = 6000, .dim = 8},
       {{convolution_recipes, 65},
        {elementwise_recipes, 30},
        {movement_recipes, 6},
        {normalization_recipes, 4},
        {pattern_recipes, 4},
        {product_recipes, 2},
        {reduction_recipes, 2}}},
      {"transformer",
       {.nodes = 16, .elements = 3000, .dim = 8},
       {{product_recipes, 45},
        {normalization_recipes, 10},
        {pattern_recipes, 15},
        {elementwise_recipes, 20},
        {movement_recipes, 15},
        {index_recipes, 5}}},
      {"quantized",
       {.nodes = 14, .elements = 2000, .dim = 8},
       {{quantized_recipes, 60},
        {elementwise_recipes, 15},
        {movement_recipes, 15},
        {convolution_recipes, 6},
        {product_recipes, 6}}},
      {"control",
       {.nodes = 8, .elements = 600},
       {{control_recipes, 40},
        {elementwise_recipes, 25},
        {movement_recipes, 15},
        {reduction_recipes, 8},
        {index_recipes, 5}}},
      {"sizes",
       {.nodes = 14, .elements = 600, .sizes_of_data = true},
       {{size_recipes, 55},
        {elementwise_recipes, 12},
        {movement_recipes, 10},
        {index_recipes, 6},
        {reduction_recipes, 8},
        {product_recipes, 3}}},
  };
  return all;
}

const Recipe& some_recipe(const Profile& p, Choices& c) {
  uint64_t total = 0;
  for (const Family& f : p.families) total += f.weight;
  uint64_t at = c.below(total);
  const Family* family = p.families.data();
  for (; at >= family->weight; family++) at -= family->weight;
  const auto recipes = family->recipes();
  total = 0;
  for (const Recipe& r : recipes) total += static_cast<uint64_t>(r.weight);
  at = c.below(total);
  for (const Recipe& r : recipes) {
    if (at < static_cast<uint64_t>(r.weight)) return r;
    at -= static_cast<uint64_t>(r.weight);
  }
  return recipes.front();
}

// Makes most values without readers and a few others outputs. A value that only the body of an If
// or a Loop reads has a use, so it is seldom chosen.
void choose_outputs(Maker& m) {
  std::vector<Value*> made;
  for (const Node* n : m.g.nodes())
    for (Value* v : n->outputs()) made.push_back(v);
  for (Value* v : made)
    if (m.c.chance(v->uses().empty() ? 92 : 12)) m.g.add_output(v);
  if (m.c.chance(3)) {  // an unchanged input or constant
    Value* v = m.find([&](const Value* x) { return !x->producer() && !m.g.is_output(x); });
    if (v) m.g.add_output(v);
  }
  if (m.g.outputs().empty() && !made.empty()) m.g.add_output(made.back());
}

// Replaces a few constants by nodes that compute them: Constant, or Identity of a constant.
void hide_constants(Maker& m) {
  for (Value* v : m.g.values()) {
    if (!v->is_constant() || v->uses().empty() || m.g.is_output(v) || !m.c.chance(4)) continue;
    Node* first = nullptr;
    for (Node* n : m.g.nodes()) {
      first = n;
      break;
    }
    Node* n = m.c.chance(50)
                  ? m.g.add_node("Constant", "", std::initializer_list<Value*>{}, 1, first)
                  : m.g.add_node("Identity", "", {m.g.add_constant("", v->constant())}, 1, first);
    if (n->op_type == "Constant") n->attributes["value"] = v->constant();
    n->output()->type = v->type;
    m.g.replace_all_uses(v, n->output());
    m.g.erase_value(v);
  }
}

}  // namespace

std::span<const std::string_view> profiles() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const Profile& p : all_profiles()) list.push_back(p.name);
    return list;
  }();
  return names;
}

RandomGraph random_graph(std::string_view profile, Choices& c) {
  const auto& all = all_profiles();
  const auto p =
      std::find_if(all.begin(), all.end(), [&](const Profile& x) { return x.name == profile; });
  if (p == all.end()) fail(ErrorCode::not_found, "there is no profile '{}'", profile);
  RandomGraph r{std::make_unique<Graph>("random"), {}};
  r.graph->opsets = {{"", c.pick<int64_t>({11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 18,
                                           19, 20, 21, 21, 22, 23, 23, 24, 24, 26, 26})},
                     {"com.microsoft", 1}};
  Maker m(c, *r.graph, p->limits);
  const auto nodes = static_cast<size_t>(c.between(1, p->limits.nodes));
  for (int64_t tries = 0;
       r.graph->node_count() < nodes && tries < 4 * p->limits.nodes && !c.exhausted(); tries++)
    some_recipe(*p, c).make(m);
  if (r.graph->node_count() == 0) m.add("Relu", {m.input(DType::f32, {2, 3})});
  choose_outputs(m);
  hide_constants(m);
  for (Value* v : r.graph->values())
    if (v->is_constant() && v->uses().empty() && !r.graph->is_output(v)) r.graph->erase_value(v);
  r.feeds = std::move(m.feeds);
  ir::verify(*r.graph);
  return r;
}

RandomGraph copy_of(const RandomGraph& g) { return {g.graph->clone(), g.feeds}; }

std::string describe(const RandomGraph& g) {
  std::string text = ir::to_text(*g.graph);
  for (const auto& [name, t] : g.feeds) {
    text += fmt::format("# {} = {}{} [", name, dtype_name(t.dtype()), shape_string(t.shape()));
    const std::vector<double> values = t.to_doubles();
    for (size_t i = 0; i < values.size() && i < 64; i++)
      text += fmt::format("{}{}", i ? ", " : "", values[i]);
    text += values.size() > 64 ? ", ...]\n" : "]\n";
  }
  return text;
}

}  // namespace poprt::test
