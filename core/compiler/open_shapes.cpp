#include "compiler/open_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "compiler/fix_shapes.h"
#include "compiler/flow/specialize.h"
#include "compiler/fuse_graphs.h"
#include "compiler/outputs.h"
#include "ops/bound.h"
#include "ops/facts.h"
#include "ops/op.h"

namespace poprt::compiler {
namespace {

using program::OpenAnchor;

bool has_static_interface(const ir::Graph& graph) {
  return std::ranges::all_of(graph.inputs(),
                             [](const ir::Value* v) { return v->type.is_static(); });
}

// Whether requests may decide the shapes: the model is not fused, and all inputs are tensors of
// known rank.
bool may_be_open(const ir::Graph& graph) {
  if (fused_graph_count(graph) > 0) return false;
  for (const ir::Node* n : graph.nodes())
    if (n->is("ContainerInput", "poprt")) return false;
  return std::ranges::all_of(graph.inputs(), [](const ir::Value* v) { return v->type.has_shape; });
}

// Throws unimplemented for an operator that no shape makes possible. The type inference of a
// compilation refuses it as well, also in nodes that no output needs.
void check_operators(const ir::Graph& graph) {
  for (const ir::Node* n : graph.nodes()) {
    ops::op_of(*n);
    ir::for_each_subgraph(*n, [](const ir::Graph& sub) { check_operators(sub); });
  }
}

// Throws invalid_argument if an input decides a size that no shape of the request bounds, so that
// no request could be computed.
void check_sizes(const ir::Graph& graph) {
  for (const ir::Node* n : graph.nodes()) {
    const ir::Value* y = n->output();
    if (!y || ops::facts_of(*n).data_sized || (y->uses().empty() && !graph.is_output(y))) continue;
    if (const ir::Value* v = ops::shape_deciding_input(*n))
      fail(ErrorCode::invalid_argument, "{}: input '{}' decides the shape of '{}': {}",
           n->describe(), v->name(), y->name(), ops::shape_remedy(*n));
  }
}

std::string name_of_size(const ir::Value& v, size_t d) {
  if (d < v.type.symbols.size() && !v.type.symbols[d].empty()) return v.type.symbols[d];
  return fmt::format("{}:{}", v.name(), d);
}

OpenAnchor describe_input(const ir::Value& v) {
  OpenAnchor a{v.name(), v.dtype(), {}, {}};
  for (size_t d = 0; d < v.type.shape.size(); d++) {
    const bool open = v.type.shape[d] < 0;
    a.shape.push_back(open ? program::kOpen : v.type.shape[d]);
    a.names.push_back(open ? name_of_size(v, d) : std::string());
  }
  return a;
}

// A size of an output has a name only if an input has a size of this name.
OpenAnchor describe_output(const ir::Value& v, const std::set<std::string>& sizes) {
  OpenAnchor a{v.name(), v.dtype(), {}, {}};
  for (size_t d = 0; d < v.type.shape.size(); d++) {
    const bool open = v.type.shape[d] < 0;
    a.shape.push_back(open ? program::kOpen : v.type.shape[d]);
    const std::string name = d < v.type.symbols.size() ? v.type.symbols[d] : std::string();
    a.names.push_back(open && sizes.contains(name) ? name : std::string());
  }
  return a;
}

// Whether options may change the names or types of inputs and outputs.
bool may_change_types(const DriverOptions& o) {
  return o.precision != Precision::keep || o.narrow_int64 || o.eight_bits_io || !o.passes.empty() ||
         !o.requested.empty() || !o.patterns.empty() || !o.transforms.empty();
}

// Returns the graph after a conversion at small sizes, or null if no small size is possible.
std::unique_ptr<ir::Graph> converted_at_small_sizes(const ir::Graph& graph,
                                                    const DriverOptions& options) {
  const WarningFilter quiet([](const std::string&) { return false; });
  for (const int64_t size : {1, 2, 8, 32, 64, 224}) {
    const auto copy = graph.clone();
    Options own = options;
    own.batch_size = 0;
    own.batch_axis = -1;
    own.after_pass = nullptr;
    own.progress = [&options](double, std::string_view) {
      if (options.check_stopped) options.check_stopped();
    };
    own.input_shape.clear();
    for (const ir::Value* v : graph.inputs()) {
      Shape& shape = own.input_shape[v->name()] = v->type.shape;
      for (int64_t& d : shape)
        if (d < 0) d = size;
    }
    try {
      convert(*copy, own);
      return copy->clone();
    } catch (const Error& e) {
      if (e.code() == ErrorCode::cancelled) throw;
      log().info("the model cannot be converted with sizes of {}: {}", size, e.message());
    }
  }
  return nullptr;
}

// Whether the value is an output NAME:shape that specialize() adds for an output of `anchors`.
bool is_real_size(const ir::Value& v, const std::vector<OpenAnchor>& anchors) {
  const std::string& name = v.name();
  if (!name.ends_with(kShapeSuffix)) return false;
  const auto of = std::string_view(name).substr(0, name.size() - kShapeSuffix.size());
  return std::ranges::find(anchors, of, &OpenAnchor::name) != anchors.end();
}

// Copies the element types of the converted graph, and adds its outputs with the real sizes of
// other outputs. Returns false if it has other names or ranks of inputs or outputs, so that the
// open sizes may have another meaning.
bool take_types(const ir::Graph& converted, program::OpenShapes& shapes) {
  const auto take = [](const std::vector<ir::Value*>& values, std::vector<OpenAnchor>& anchors) {
    if (values.size() < anchors.size()) return false;
    for (size_t i = 0; i < anchors.size(); i++) {
      const ir::Value& v = *values[i];
      if (v.name() != anchors[i].name || v.type.shape.size() != anchors[i].shape.size())
        return false;
      anchors[i].dtype = v.dtype();
    }
    for (size_t i = anchors.size(); i < values.size(); i++) {
      const ir::Value& v = *values[i];
      if (!is_real_size(v, anchors)) return false;
      anchors.push_back(
          {v.name(), v.dtype(), v.shape(), std::vector<std::string>(v.shape().size())});
    }
    return true;
  };
  program::OpenShapes taken = shapes;
  if (!take(converted.inputs(), taken.inputs) || !take(converted.outputs(), taken.outputs))
    return false;
  shapes = std::move(taken);
  return true;
}

}  // namespace

std::optional<OpenModel> open_model(const ir::Graph& graph, const DriverOptions& options) {
  if (!may_be_open(graph) || has_static_interface(graph)) return std::nullopt;
  const auto copy = graph.clone();
  select_outputs(*copy, options.outputs);
  change_outputs(*copy, options.removed_outputs, options.checkpoints);
  check_operators(*copy);
  OpenModel model;
  std::set<std::string> sizes;
  for (const ir::Value* v : copy->inputs()) {
    refuse_text(*v);
    const OpenAnchor& a = model.shapes.inputs.emplace_back(describe_input(*v));
    sizes.insert(a.names.begin(), a.names.end());
  }
  sizes.erase("");
  // Outputs need not have a declared type.
  try {
    ops::infer(*copy);
  } catch (const Error& e) {
    log().info("types of outputs are unknown until a shape is compiled: {}", e.message());
  }
  if (options.max_size.empty()) check_sizes(*copy);
  for (const ir::Value* v : copy->outputs()) {
    if (!v->type.has_shape || dtype_bits(v->dtype()) == 0) return std::nullopt;
    model.shapes.outputs.push_back(describe_output(*v, sizes));
  }
  const bool other_types = may_change_types(options);
  if (other_types || may_have_real_sizes(*copy)) {
    const auto converted = converted_at_small_sizes(*copy, options);
    const bool taken = converted && take_types(*converted, model.shapes);
    if (!taken && other_types) return std::nullopt;
  }
  const auto fixed = graph.clone();
  Options own = options;
  if (!options.shapes.empty()) own.input_shape = options.shapes.back();
  fix_shapes(*fixed, own);
  model.complete = has_static_interface(*fixed);
  return model;
}

}  // namespace poprt::compiler
