#include <algorithm>
#include <set>

#include "onnx/export.h"
#include "onnx/import.h"
#include "opsets/convert.h"
#include "passes/pass.h"
#include "support/run_executable.h"
#include "support/sized_graph/sized_graph.h"

namespace poprt::test::sized {
namespace {

std::unique_ptr<Graph> imported(const std::string& model) {
  return onnx::import_bytes(std::as_bytes(std::span(model)));
}

compiler::Options options_of(const Config& config) {
  compiler::Options options;
  options.precision = config.precision;
  options.narrow_int64 = config.narrow_int64;
  options.passes = config.passes;
  return options;
}

// Returns descriptions of the faults of a converted model: a declared shape or a constant that
// contradicts the values for an input, or an operator that ONNX does not define.
std::vector<std::string> scan(const Graph& g, const SizedGraph& s) {
  std::vector<std::string> faults;
  for (const Node* n : g.nodes()) {
    if (n->domain.starts_with("poprt"))
      faults.push_back(fmt::format("the converted model contains {}.{}", n->domain, n->op_type));
    ir::for_each_subgraph(*n, [&](const Graph& sub) {
      for (const std::string& fault : scan(sub, s)) faults.push_back(fault);
    });
  }
  for (size_t f = 0; f < kFeeds; f++)
    for (const Value* v : g.values()) {
      const auto found = s.values[f].find(v->name());
      if (found == s.values[f].end() || found->second.is_sequence || !v->type.has_shape) continue;
      const Shape &has = found->second.shape, &declared = v->shape();
      bool right = has.size() == declared.size();
      for (size_t d = 0; right && d < has.size(); d++)
        right = declared[d] == kUnknownDim || declared[d] == has[d];
      if (!right)
        faults.push_back(fmt::format("'{}' is declared as {}, and is {} in run {}", v->name(),
                                     shape_string(declared), shape_string(has), f));
      // Checks only constants that replace results, because passes may change original constants.
      const Value* original = s.graph->find(v->name());
      if (!right || !v->is_constant() || !original || !original->producer()) continue;
      const std::vector<double> values = v->constant().to_doubles();
      for (size_t i = 0; i < values.size(); i++)
        if (std::abs(values[i] - found->second.v[i]) >
            4 * found->second.error(i) + 0.1 * std::abs(values[i])) {
          faults.push_back(
              fmt::format("'{}' is a constant, and is another one in run {}", v->name(), f));
          break;
        }
    }
  return faults;
}

// Returns the part of an output with the sizes in output NAME:shape, which is `size`.
Val cropped(const Tensor& t, const Tensor* size) {
  Val whole = val_of(t), out;
  if (!size) return whole;
  out.dtype = whole.dtype;
  out.shape = size->to_int64s();
  if (out.shape.size() != whole.rank()) throw Invalid("NAME:shape of another rank");
  for (size_t d = 0; d < whole.rank(); d++)
    if (out.shape[d] < 0 || out.shape[d] > whole.shape[d])
      throw Invalid("NAME:shape past the bound");
  const auto strides = strides_of(whole.shape);
  for_each_index(out.shape,
                 [&](const Shape& place) { append(out, whole, offset_of(place, strides)); });
  return out;
}

std::string difference(const std::string& name, const Val& wanted, const Val& got) {
  if (got.shape != wanted.shape)
    return fmt::format("'{}' has the shape {}, expected {}", name, shape_string(got.shape),
                       shape_string(wanted.shape));
  for (size_t i = 0; i < wanted.v.size(); i++) {
    const double most = 4 * wanted.error(i);
    if (!(std::abs(got.v[i] - wanted.v[i]) <= most))
      return fmt::format("'{}' is {} at {}, expected {} (+- {:.2g})", name, got.v[i], i,
                         wanted.v[i], most);
  }
  return "";
}

std::map<std::string, Tensor> tensors_of(const std::map<std::string, Val>& feeds,
                                         const program::Program& program) {
  std::map<std::string, Tensor> fed;
  for (const program::Anchor& a : program.inputs) {
    Tensor t = tensor_of(feeds.at(a.name), a.dtype);
    if (t.shape() != a.shape)
      throw Invalid(fmt::format("input '{}' has the shape {}", a.name, shape_string(a.shape)));
    fed[a.name] = t;
  }
  return fed;
}

// Compiles the model and runs it on every input.
void run_all(const std::string& model, const compiler::Options& options, const SizedGraph& s,
             const std::string& what, Outcome& outcome, Checked& checked) {
  compiler::Executable executable;
  try {
    const auto graph = imported(model);
    compiler::convert(*graph, options);
    executable = compiler::compile(*graph, options);
  } catch (const Error& e) {
    outcome = Outcome::refused;
    checked.refusals.push_back(fmt::format("{}: {}", what, e.message()));
    return;
  }
  for (size_t f = 0; f < kFeeds; f++) {
    std::string fault;
    try {
      const auto results = run_executable(executable, tensors_of(s.feeds[f], executable.program));
      for (const Value* v : s.graph->outputs()) {
        if (!results.contains(v->name())) {
          fault = fmt::format("there is no output '{}'", v->name());
          break;
        }
        const auto size = results.find(v->name() + ":shape");
        fault = difference(
            v->name(), s.values[f].at(v->name()),
            cropped(results.at(v->name()), size == results.end() ? nullptr : &size->second));
        if (!fault.empty()) break;
      }
    } catch (const Invalid& e) {
      fault = e.what();
    } catch (const Error& e) {
      fault = e.message();
    }
    if (fault.empty()) continue;
    outcome = Outcome::wrong;
    checked.faults.push_back(fmt::format("{}, run {}: {}", what, f, fault));
    return;
  }
}

}  // namespace

std::string converted(const std::string& model, const Config& config) {
  auto graph = imported(model);
  compiler::Options options = options_of(config);
  options.keep_onnx = true;
  compiler::convert(*graph, options);
  if (config.opset > 0)
    opsets::convert(*graph, config.opset);
  else if (config.opset < 0)
    opsets::convert_to_lowest(graph, opsets::kOldestTarget);
  else
    opsets::convert_newest_nodes(*graph);
  passes::PassContext context;
  passes::pass_of("unique_name_for_nodes").run(*graph, context);
  return onnx::export_bytes(*graph);
}

Checked check(const SizedGraph& s) {
  Checked checked;
  const std::string model = model_of(s);
  std::string result;
  try {
    result = converted(model, s.config);
  } catch (const Error& e) {
    checked.converted = Outcome::refused;
    checked.refusals.push_back(fmt::format("conversion: {}", e.message()));
  }
  if (!result.empty()) {
    std::vector<std::string> faults;
    try {
      faults = scan(*imported(result), s);
    } catch (const Error& e) {
      faults.push_back(fmt::format("the converted model is not read: {}", e.message()));
    }
    for (const std::string& fault : faults) checked.faults.push_back(fault);
    // Runs without options, because the conversion has already applied them.
    run_all(result, {}, s, "converted", checked.converted, checked);
    if (!faults.empty()) checked.converted = Outcome::wrong;
  }
  run_all(model, options_of(s.config), s, "original", checked.compiled, checked);
  return checked;
}

}  // namespace poprt::test::sized
