#include "support/sized_graph/sized_graph.h"

#include <algorithm>

#include "ir/text.h"
#include "ir/verifier.h"
#include "onnx/export.h"

namespace poprt::test::sized {
namespace {

struct Family {
  std::span<const Recipe> (*recipes)();
  uint64_t weight;
};
constexpr Family kFamilies[] = {
    {root_recipes, 10}, {shape_recipes, 45}, {tensor_recipes, 45}, {control_recipes, 12}};

void make_one_of(std::span<const Recipe> recipes, Builder& b) {
  uint64_t total = 0;
  for (const Recipe& r : recipes) total += static_cast<uint64_t>(r.weight);
  uint64_t at = b.c.below(total);
  for (const Recipe& r : recipes) {
    if (at < static_cast<uint64_t>(r.weight)) return r.make(b);
    at -= static_cast<uint64_t>(r.weight);
  }
}

void make_some(Builder& b) {
  uint64_t total = 0;
  for (const Family& f : kFamilies) total += f.weight;
  uint64_t at = b.c.below(total);
  for (const Family& f : kFamilies) {
    if (at < f.weight) return make_one_of(f.recipes(), b);
    at -= f.weight;
  }
}

Rounding rounding_of(compiler::Precision p) {
  const Rounding half{.bits = 11, .step = 0x1p-10, .tiny = 1e-6, .most = 1500, .most_factor = 1500};
  switch (p) {
    case compiler::Precision::fp16: return half;
    case compiler::Precision::fp8: {
      Rounding r = half;
      r.left = r.right = 0.07;
      r.most_factor = 60;
      return r;
    }
    case compiler::Precision::fp8_weight: {
      Rounding r = half;
      r.right = 0.07;
      r.most_factor = 60;
      return r;
    }
    default: return {};
  }
}

// Passes that keep inputs and outputs, and the results of small numbers except for their last bits.
constexpr std::string_view kExtraPasses[] = {
    "constant_folding",         "cumsum_workaround",  "eliminate_duplicate_nodes",
    "eliminate_nop_slice",      "expand_if",          "float_ops_workaround",
    "fuse_consecutive_reshape", "indices_workaround", "merge_if_with_same_cond",
    "merge_multi_slice",        "onehot_workaround",  "post_expand",
    "replace_nonzero",          "replace_pow",        "replace_where_with_mul_add",
    "shape_inference",          "topk_workaround",    "trace_folding",
    "transpose_to_reshape"};

Config some_config(Choices& c) {
  using compiler::Precision;
  Config config;
  config.precision = c.pick({Precision::keep, Precision::keep, Precision::fp32, Precision::fp16,
                             Precision::fp16, Precision::fp8, Precision::fp8_weight});
  config.opset = c.pick<int64_t>({0, 0, -1, -1, 11, 13, 16, 17, 18, 20, 22, 24, 26});
  config.narrow_int64 = c.chance(30);
  if (c.chance(20)) config.passes = {std::string(c.pick_of(kExtraPasses))};
  return config;
}

// Whether a value may be an output: a tensor that both ONNX Runtime and the device return.
bool may_be_output(const Type& t) { return !t.is_sequence && t.dtype != DType::string; }

void declare(Builder& b, Value* v) {
  const Type& t = b.type(v);
  Shape shape;
  for (const Dim& d : t.dims) shape.push_back(d.is_static() ? d.low : kUnknownDim);
  v->type = ir::ValueType::of(t.dtype, shape);
}

void choose_outputs(Builder& b) {
  constexpr size_t kMost = 5;
  std::vector<Value*> unread, read;
  for (Value* v : b.pool())
    if (v->producer() && may_be_output(b.type(v))) (v->uses().empty() ? unread : read).push_back(v);
  std::vector<Value*> chosen;
  while (!unread.empty() && chosen.size() < kMost) {
    const size_t at = b.c.below(unread.size());
    chosen.push_back(unread[at]);
    unread.erase(unread.begin() + static_cast<std::ptrdiff_t>(at));
  }
  if (!read.empty() && (chosen.empty() || b.c.chance(40))) {
    Value* v = b.c.pick_of(read);
    if (std::find(chosen.begin(), chosen.end(), v) == chosen.end()) chosen.push_back(v);
  }
  for (Value* v : chosen) {
    declare(b, v);
    b.g.add_output(v);
  }
}

// Removes nodes, inputs and constants on which no output depends.
void drop_unread(Graph& g) {
  for (bool again = true; again;) {
    again = false;
    for (Node* n : g.nodes()) {
      const auto outputs = n->outputs();
      if (std::any_of(outputs.begin(), outputs.end(),
                      [&](const Value* v) { return !v->uses().empty() || g.is_output(v); }))
        continue;
      g.erase_node(n);
      again = true;
    }
  }
  for (Value* v : g.values())
    if (!v->producer() && v->uses().empty() && !g.is_output(v)) {
      if (g.is_input(v)) g.remove_input(v);
      g.erase_value(v);
    }
}

}  // namespace

SizedGraph sized_graph(uint64_t seed) {
  constexpr size_t kLeastNodes = 8;
  Choices c(seed * 0x2545f4914f6cdd1du + 99);
  for (;;) {
    SizedGraph s;
    s.config = some_config(c);
    s.graph = std::make_unique<Graph>("sized");
    s.graph->opsets = {{"", c.pick<int64_t>({13, 14, 15, 16, 17, 17, 18, 19, 20, 21, 21, 22})}};
    Builder b(c, *s.graph, rounding_of(s.config.precision));
    const auto wanted = static_cast<size_t>(c.between(9, 16));
    make_one_of(root_recipes(), b);
    if (c.chance(60))
      make_one_of(root_recipes(), b);
    else
      make_one_of(control_recipes(), b);
    for (int tries = 0; tries < 60 && (s.graph->node_count() < wanted || b.counts.roots < 2 ||
                                       b.counts.shapes < 1);
         tries++)
      make_some(b);
    choose_outputs(b);
    drop_unread(*s.graph);
    s.counts = b.counts;
    if (s.graph->node_count() < kLeastNodes || s.counts.roots < 2 || s.counts.shapes < 1) continue;
    ir::verify(*s.graph);
    s.values.resize(kFeeds);
    s.feeds = b.feeds;
    for (size_t f = 0; f < kFeeds; f++) {
      for (const Value* v : s.graph->values()) s.values[f][v->name()] = b.val(v, f);
      std::erase_if(s.feeds[f], [&](const auto& feed) { return !s.graph->find(feed.first); });
    }
    return s;
  }
}

SizedGraph reduced(const SizedGraph& s) {
  for (size_t kept = 0; kept < s.graph->outputs().size(); kept++) {
    SizedGraph small{s.graph->clone(), s.config, s.counts, s.feeds, s.values};
    for (size_t i = small.graph->outputs().size(); i-- > 0;)
      if (i != kept) small.graph->remove_output(i);
    drop_unread(*small.graph);
    for (auto& feeds : small.feeds)
      std::erase_if(feeds, [&](const auto& feed) { return !small.graph->find(feed.first); });
    if (!check(small).faults.empty()) return small;
  }
  return {s.graph->clone(), s.config, s.counts, s.feeds, s.values};
}

std::string model_of(const SizedGraph& s) { return onnx::export_bytes(*s.graph); }

std::string Config::describe() const {
  constexpr const char* kNames[] = {"keep", "fp32", "fp16", "fp8", "fp8_weight"};
  std::string text =
      fmt::format("precision {}, opset {}", kNames[static_cast<size_t>(precision)], opset);
  if (narrow_int64) text += ", narrow_int64";
  for (const std::string& p : passes) text += ", pass " + p;
  return text;
}

std::string describe(const SizedGraph& s) {
  std::string text = "# " + s.config.describe() + "\n" + ir::to_text(*s.graph);
  const auto list = [&](const std::string& name, const Val& v) {
    text += fmt::format("# {} = {}{} [", name, dtype_name(v.dtype), shape_string(v.shape));
    for (size_t i = 0; i < v.v.size(); i++) text += fmt::format("{}{}", i ? ", " : "", v.v[i]);
    text += "]\n";
  };
  for (size_t f = 0; f < kFeeds; f++) {
    text += fmt::format("# run {}\n", f);
    for (const auto& [name, v] : s.feeds[f]) list(name, v);
    text += "# gives\n";
    for (const Value* v : s.graph->outputs()) list(v->name(), s.values[f].at(v->name()));
  }
  return text;
}

}  // namespace poprt::test::sized
