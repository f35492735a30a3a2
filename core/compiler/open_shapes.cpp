#include "compiler/open_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "compiler/declared_types.h"
#include "compiler/flow/specialize.h"
#include "compiler/fuse_graphs.h"
#include "compiler/outputs.h"
#include "compiler/static_inputs.h"
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

// Infers the types at a different size of each open dimension of the inputs, and opens the sizes of
// outputs that are declared otherwise: converters declare the sizes of the batch that they used.
// Sizes that inference does not find, and all sizes if inference fails, stay as declared.
void open_wrong_sizes(const ir::Graph& graph, int64_t first, program::OpenShapes& shapes) {
  const auto probe = graph.clone();
  const DeclaredTypes removed(*probe);
  std::map<std::string, int64_t> sizes;
  for (size_t i = 0; i < shapes.inputs.size(); i++) {
    const OpenAnchor& a = shapes.inputs[i];
    Shape& shape = probe->inputs()[i]->type.shape;
    for (size_t d = 0; d < shape.size(); d++)
      if (shape[d] < 0)
        shape[d] =
            sizes.emplace(a.names[d], first + 2 * static_cast<int64_t>(sizes.size())).first->second;
  }
  try {
    ops::infer(*probe);
  } catch (const Error&) {
    return;
  }
  for (OpenAnchor& a : shapes.outputs) {
    const ir::Value* v = probe->find(a.name);
    if (!v || !v->type.has_shape || a.dtype == DType::undefined) continue;
    const Shape& found = v->type.shape;
    if (found.size() != a.shape.size()) {
      a.shape.assign(found.size(), program::kOpen);
      a.names.assign(found.size(), "");
    }
    for (size_t d = 0; d < found.size(); d++) {
      const int64_t declared = a.names[d].empty() ? a.shape[d] : sizes.at(a.names[d]);
      if (found[d] < 0 || declared == program::kOpen || found[d] == declared) continue;
      a.shape[d] = program::kOpen;
      a.names[d].clear();
    }
  }
}

// Whether options may change the names or types of inputs and outputs.
bool may_change_types(const DriverOptions& o) {
  return o.precision != Precision::keep || o.narrow_int64 || o.eight_bits_io || !o.passes.empty() ||
         !o.requested.empty() || !o.patterns.empty() || !o.transforms.empty();
}

// Returns the graph after a conversion with this size for every open dimension, or with the sizes
// that the options fix if it is 0. If it is not possible, returns null, and `why` receives the
// reason.
std::unique_ptr<ir::Graph> converted_at(const ir::Graph& graph, int64_t size,
                                        const DriverOptions& options, std::string& why) {
  const WarningFilter quiet([](const std::string&) { return false; });
  const auto copy = graph.clone();
  Options own = options;
  own.after_pass = nullptr;
  own.progress = [&options](double, std::string_view) {
    if (options.check_stopped) options.check_stopped();
  };
  if (size > 0) {
    own.batch_size = 0;
    own.batch_axis = -1;
    own.input_shape.clear();
    for (const ir::Value* v : graph.inputs()) {
      Shape& shape = own.input_shape[v->name()] = v->type.shape;
      for (int64_t& d : shape)
        if (d < 0) d = size;
    }
  } else if (!options.shapes.empty()) {
    own.input_shape = options.shapes.back();
  }
  try {
    convert(*copy, own);
    return copy->clone();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::cancelled) throw;
    log().info("the model cannot be converted with {}: {}",
               size > 0 ? fmt::format("sizes of {}", size) : "the sizes of the options",
               e.message());
    why = e.message();
    return nullptr;
  }
}

// Whether the value is an output NAME:shape that specialize() adds for an output of `anchors`.
bool is_real_size(const ir::Value& v, const std::vector<OpenAnchor>& anchors) {
  const std::string& name = v.name();
  if (!name.ends_with(kShapeSuffix)) return false;
  const auto of = std::string_view(name).substr(0, name.size() - kShapeSuffix.size());
  return std::ranges::find(anchors, of, &OpenAnchor::name) != anchors.end();
}

// The outputs of the model, and which of them are tensors of known rank.
struct Outputs {
  std::vector<OpenAnchor> anchors;
  std::vector<bool> known;
  bool all_known() const { return std::ranges::find(known, false) == known.end(); }
};

OpenAnchor describe_converted(const ir::Value& v) {
  const size_t rank = v.shape().size();
  return {v.name(), v.dtype(), Shape(rank, program::kOpen), std::vector<std::string>(rank)};
}

bool same_ranks(const std::vector<OpenAnchor>& a, const std::vector<OpenAnchor>& b) {
  return std::ranges::equal(a, b, [](const OpenAnchor& x, const OpenAnchor& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape.size() == y.shape.size();
  });
}

// Copies the element types of the inputs. Returns false if there are other names or ranks.
bool take_inputs(const ir::Graph& converted, std::vector<OpenAnchor>& anchors) {
  if (converted.inputs().size() != anchors.size()) return false;
  for (size_t i = 0; i < anchors.size(); i++) {
    const ir::Value& v = *converted.inputs()[i];
    if (v.name() != anchors[i].name || v.type.shape.size() != anchors[i].shape.size()) return false;
    anchors[i].dtype = v.dtype();
  }
  return true;
}

// Returns the outputs of a converted graph except the outputs NAME:shape, whose names are added to
// `sized`. Outputs of unknown rank have only open sizes. A sequence NAME becomes NAME[0], NAME[1]
// ... Returns nothing if there are other names or ranks, so that the open sizes may have another
// meaning.
std::optional<std::vector<OpenAnchor>> take_outputs(const ir::Graph& converted,
                                                    const Outputs& outputs,
                                                    std::set<std::string>& sized) {
  const std::vector<ir::Value*>& values = converted.outputs();
  std::vector<OpenAnchor> taken;
  size_t at = 0;
  for (size_t i = 0; i < outputs.anchors.size(); i++) {
    const OpenAnchor& a = outputs.anchors[i];
    if (at < values.size() && values[at]->name() == a.name) {
      OpenAnchor& made = taken.emplace_back(outputs.known[i] ? a : describe_converted(*values[at]));
      if (made.shape.size() != values[at]->shape().size()) return std::nullopt;
      made.dtype = values[at++]->dtype();
      continue;
    }
    if (outputs.known[i]) return std::nullopt;
    for (size_t k = 0; at < values.size() && values[at]->name() == fmt::format("{}[{}]", a.name, k);
         k++)
      taken.push_back(describe_converted(*values[at++]));
  }
  for (; at < values.size(); at++) {
    if (!is_real_size(*values[at], taken)) return std::nullopt;
    sized.insert(values[at]->name());
  }
  return taken;
}

// Adds outputs NAME:shape to the description and to `sized`.
void add_sizes(OpenModel& model, std::set<std::string> sized) {
  const std::vector<OpenAnchor> outputs = model.shapes.outputs;
  for (const OpenAnchor& a : outputs)
    if (const std::string name = a.name + std::string(kShapeSuffix); sized.contains(name))
      model.shapes.outputs.push_back(
          {name, DType::s64, {static_cast<int64_t>(a.shape.size())}, std::vector<std::string>(1)});
  model.sized = std::move(sized);
}

// The outputs NAME:shape of all outputs with an open size that is no size of an input by name.
std::set<std::string> all_sizes(const std::vector<OpenAnchor>& outputs) {
  std::set<std::string> sized, names;
  for (const OpenAnchor& a : outputs) names.insert(a.name);
  for (const OpenAnchor& a : outputs) {
    const std::string name = a.name + std::string(kShapeSuffix);
    for (size_t d = 0; d < a.shape.size() && !names.contains(name); d++)
      if (a.shape[d] == program::kOpen && a.names[d].empty()) sized.insert(name);
  }
  return sized;
}

// Finds the types of inputs and outputs by a conversion at the first possible one of several sizes.
// The last one, 0, means the sizes that the options fix, if they fix all. With `twice`, a second
// conversion at another size shows which sizes depend on data only if they are large enough, such
// as the size of a result of an If that slices in one branch, and whether the number of elements of
// a sequence depends on a size. Returns false if no size is possible, or if the names, the ranks or
// the number of outputs differ; then `why` receives the reason.
bool take_converted(const ir::Graph& graph, const DriverOptions& options, const Outputs& outputs,
                    bool twice, OpenModel& model, std::string& why) {
  std::optional<std::vector<OpenAnchor>> first;
  std::set<std::string> sized;
  program::OpenShapes taken = model.shapes;
  int64_t of_first = -1;
  const auto take = [&](std::initializer_list<int64_t> sizes) {
    for (const int64_t size : sizes) {
      if (size == of_first || (size == 0 && !model.complete)) continue;
      const auto converted = converted_at(graph, size, options, why);
      if (!converted) continue;
      const auto found = take_outputs(*converted, outputs, sized);
      if (!found || !take_inputs(*converted, taken.inputs)) {
        why = "the conversion changes the names or ranks of inputs or outputs";
        return false;
      }
      if (first && !same_ranks(*first, *found)) {
        why = "the number of outputs depends on the size of an input";
        return false;
      }
      first = found;
      of_first = size;
      return true;
    }
    return first.has_value();
  };
  if (!take({1, 2, 8, 32, 64, 224, 512, 0}) || (twice && !take({32, 8, 64, 224, 512, 2, 0})))
    return false;
  taken.outputs = *first;
  model.shapes = std::move(taken);
  add_sizes(model, std::move(sized));
  return true;
}

[[noreturn]] void fail_fixed(const Outputs& outputs, const std::string& why) {
  std::string what = "the options may change its inputs and outputs";
  for (size_t i = 0; i < outputs.known.size(); i++)
    if (!outputs.known[i]) {
      what = fmt::format("the type of output '{}' is not known", outputs.anchors[i].name);
      break;
    }
  fail(ErrorCode::unimplemented,
       "the model cannot be compiled at the shapes of requests, because {}, and a conversion at "
       "small sizes does not find it: {}; give `input_shape` or `batch_size`",
       what, why);
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
  const auto declared = copy->clone();
  // Outputs need not have a declared type.
  try {
    ops::infer(*copy);
  } catch (const Error& e) {
    log().info("types of outputs are unknown until a shape is compiled: {}", e.message());
  }
  if (options.max_size.empty()) check_sizes(*copy);
  Outputs outputs;
  bool has_text = false;
  for (const ir::Value* v : copy->outputs()) {
    // The labels of a classifier are text until they are converted to numbers.
    const bool text = v->dtype() == DType::string;
    const bool known = v->type.has_shape && (text || dtype_bits(v->dtype()) > 0);
    outputs.anchors.push_back(known ? describe_output(*v, sizes)
                                    : OpenAnchor{v->name(), {}, {}, {}});
    outputs.known.push_back(known);
    has_text |= text;
  }
  model.shapes.outputs = std::move(outputs.anchors);
  for (const int64_t first : {3, 8}) open_wrong_sizes(*declared, first, model.shapes);
  outputs.anchors = model.shapes.outputs;
  const auto fixed = graph.clone();
  Options own = options;
  if (!options.shapes.empty()) own.input_shape = options.shapes.back();
  fix_shapes(*fixed, own);
  model.complete = has_static_interface(*fixed);
  const bool needed = may_change_types(options) || has_text || !outputs.all_known();
  const bool real_sizes = may_have_real_sizes(*copy);
  if (!needed && !real_sizes) return model;
  std::string why;
  const bool twice = real_sizes || !outputs.all_known();
  if (take_converted(*copy, options, outputs, twice, model, why)) return model;
  if (!needed) {
    // Each of these sizes may depend on data.
    add_sizes(model, all_sizes(model.shapes.outputs));
    return model;
  }
  if (model.complete) return std::nullopt;
  fail_fixed(outputs, why);
}

}  // namespace poprt::compiler
