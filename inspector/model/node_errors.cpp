#include "model/node_errors.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "model/format.h"
#include "model/run.h"
#include "model/tensor_compare.h"

namespace poprt::inspector {
namespace {

bool has_float_type(const ir::Value& v) { return is_float(v.dtype()); }

std::vector<std::string> input_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Value* v : graph.inputs()) names.push_back(v->name());
  return names;
}

// The names of the values that both compute, in the order of the left graph.
std::vector<std::string> common_values(const ir::Graph& left, const ir::Graph& right) {
  std::vector<std::string> names;
  for (const ir::Node* n : left.nodes())
    for (const ir::Value* v : n->outputs()) {
      const ir::Value* const other = v ? right.find(v->name()) : nullptr;
      if (other && other->producer() && has_float_type(*v) && has_float_type(*other))
        names.push_back(v->name());
    }
  return names;
}

std::vector<NamedTensor> values_of(const Document& document, const std::vector<std::string>& names,
                                   uint64_t seed, Progress& progress) {
  std::shared_ptr<ir::Graph> marked = document.ir->clone();
  while (!marked->outputs().empty()) marked->remove_output(marked->outputs().size() - 1);
  for (const std::string& name : names) marked->add_output(marked->find(name));
  Document made;
  made.path = document.path;
  made.kind = document.kind;
  made.ir = marked;
  return run_model(model_to_run(made, nullptr, progress), {}, seed, progress).outputs;
}

}  // namespace

std::vector<NodeError> node_errors(const Document& left, const Document& right, uint64_t seed,
                                   Progress& progress) {
  for (const Document* d : {&left, &right})
    if (!d->ir)
      fail(ErrorCode::invalid_argument,
           "{} has no graph; the errors of nodes need .onnx or IR text", d->title());
  if (input_names(*left.ir) != input_names(*right.ir))
    fail(ErrorCode::invalid_argument, "{} and {} have different inputs", left.title(),
         right.title());
  const auto names = common_values(*left.ir, *right.ir);
  if (names.empty())
    fail(ErrorCode::invalid_argument, "{} and {} have no common value of floating point",
         left.title(), right.title());
  std::map<std::string, Tensor> reference;
  for (NamedTensor& t : values_of(left, names, seed, progress))
    reference[t.name] = std::move(t.tensor);
  std::map<std::string, Tensor> other;
  for (NamedTensor& t : values_of(right, names, seed, progress))
    other[t.name] = std::move(t.tensor);
  std::vector<NodeError> errors;
  for (const std::string& name : names) {
    const std::string shown = printable(name);
    NodeError e{shown, std::numeric_limits<double>::quiet_NaN(), 0, {}};
    if (!reference.contains(shown) || !other.contains(shown)) {
      e.problem = "one of the models does not compute it";
    } else {
      const TensorDifference d =
          compare_tensors(shown, other[shown], reference[shown], {}, 0, &progress.cancel);
      e.largest = d.largest;
      // The reference is the right tensor of `d`, but the left model.
      if (!d.problem.empty())
        e.problem = compare_tensors(shown, reference[shown], other[shown], {}, 0).problem;
      else
        e.relative = d.rms == 0 ? 0 : d.rms / d.rms_right;
    }
    errors.push_back(std::move(e));
  }
  return errors;
}

}  // namespace poprt::inspector
