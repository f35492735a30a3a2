#include "compiler/flow/specializer.h"

#include <algorithm>
#include <unordered_set>

#include "base/checked.h"
#include "ops/common/evaluate.h"
#include "ops/common/images.h"
#include "ops/common/strings.h"
#include "ops/op.h"

namespace poprt::compiler {

using ir::Graph;
using ir::Node;
using ir::Value;

namespace {

constexpr uint64_t kLargeConstant = 1 << 20;        // bytes of a folded result
constexpr uint64_t kLargeInBody = 1 << 16;          // the same where a body may run many times
constexpr uint64_t kMaxFolded = uint64_t{1} << 31;  // bytes of all folded results

}  // namespace

bool is_standard(const Node& n) { return n.domain.empty() || n.domain == "ai.onnx"; }

bool is_text(const Node& n) {
  return ops::facts_of(n).text || (is_standard(n) && ops::is_about_strings(n, {}));
}

std::shared_ptr<Graph> subgraph(const Node& n, std::string_view key) {
  const ir::Attribute* a = n.find_attr(key);
  const auto* g = a ? std::get_if<std::shared_ptr<Graph>>(a) : nullptr;
  if (!g) fail(ErrorCode::invalid_argument, "{}: attribute {} is missing", n.describe(), key);
  return *g;
}

int64_t node_count(const Graph& graph) {
  int64_t count = 0;
  for (const Node* n : graph.nodes()) {
    count++;
    ir::for_each_subgraph(*n, [&](const Graph& sub) { count += node_count(sub); });
  }
  return count;
}

std::optional<int64_t> constant_integer(const Item& item) {
  if (item.kind != Item::Kind::tensor || !item.value || item.actual || !item.value->is_constant())
    return std::nullopt;
  const Tensor& t = item.value->constant();
  if (t.dtype() == DType::string || t.count() != 1) return std::nullopt;
  return t.to_int64s()[0];
}

Value* Specializer::tensor(const Node& n, const Item& item, std::string_view what) const {
  if (item.kind != Item::Kind::tensor)
    fail_at(n, ErrorCode::invalid_argument, "{} should be a tensor and is {}", what,
            item.kind == Item::Kind::none ? "missing" : "a sequence");
  if (item.size) refuse_size(n, item);
  return item.value;
}

const Value* Specializer::static_tensor(const Node& n, const Item& item,
                                        std::string_view what) const {
  const Value* v = tensor(n, item, what);
  if (!v->type.is_static())
    fail_at(n, ErrorCode::unimplemented, "the shape of {} depends on run-time values: {}", what,
            ir::type_string(v->type));
  return v;
}

std::vector<Value*> Specializer::make(const std::string& op, const std::string& domain,
                                      std::span<Value* const> inputs, Attributes attributes,
                                      size_t outputs) {
  // Names are unique over all graphs, so that the result can be saved.
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs; i++)
    names.push_back(fmt::format("{}{}_{}", scope_, op, made_ + 1));
  Node* n = target_->add_node(op, domain, inputs, outputs, nullptr, names);
  n->name = names[0];
  for (const auto& [key, value] : attributes) n->attributes[key] = value;
  return finish(n);
}

void Specializer::count_folded(uint64_t bytes) {
  folded_ += bytes;
  if (folded_ > kMaxFolded)
    fail(ErrorCode::resource_exhausted, "constants of more than {} bytes come out of folding",
         kMaxFolded);
}

std::vector<Value*> Specializer::finish(Node* n) {
  step();
  std::vector<Value*> results(n->outputs().begin(), n->outputs().end());
  bool constants = true, text = false;
  std::vector<Tensor> inputs;
  for (const Value* v : n->inputs()) {
    constants &= !v || v->is_constant();
    text |= v && v->dtype() == DType::string;
    inputs.push_back(v && v->is_constant() ? v->constant() : Tensor());
  }
  std::vector<Tensor> values;
  if (text || is_text(*n)) {
    if (!constants) {
      ops::infer(*n);  // may know better: an operator that takes no strings at all
      fail(ErrorCode::unimplemented,
           "{}: the device holds no strings: text is computed when the model is compiled, so the "
           "node's inputs must be constant",
           n->describe());
    }
    values = ops::evaluate_strings(*n, inputs);
  } else if (ops::decodes_image(*n)) {
    ops::infer(*n);
    if (!constants)
      fail(ErrorCode::unimplemented,
           "{}: the size of an image is in its bytes: images are decoded when the model is "
           "compiled, so the node's input must be constant",
           n->describe());
    values = {ops::decode_image(*n, inputs[0])};
    count_folded(values[0].bytes());
  } else {
    ops::infer(*n);
    const ops::OpDef& op = ops::op_of(*n);
    if (constants && op.lower && op.pure) {
      uint64_t read = 0, made = 0;
      bool ready = true;
      for (const Tensor& t : inputs) read += t.bytes();
      for (const Value* v : n->outputs()) {
        ready &= v->type.is_static() && dtype_bits(v->dtype()) > 0;
        if (ready) made += dtype_bytes(v->dtype(), element_count(v->shape()));
      }
      ir::for_each_subgraph(*n, [&](const Graph&) { ready = false; });
      const bool small = depth_ > 0 ? std::max(made, read) <= kLargeInBody
                                    : made <= std::max(kLargeConstant, 2 * read);
      if (ready && small) {
        count_folded(made);
        values = ops::evaluate(*n, inputs);
      }
    }
    const auto from_shapes = op.facts.from_shapes;
    if (values.empty() && from_shapes && n->input(0)->type.is_static()) values = {from_shapes(*n)};
  }
  if (values.empty()) return results;
  for (size_t i = 0; i < results.size(); i++)
    if (i < values.size() && values[i].defined()) results[i] = constant(values[i]);
  target_->erase_node(n);
  return results;
}

Value* Specializer::reshape(Value* v, Shape shape) {
  if (v->type.is_static() && v->shape() == shape) return v;
  // 0 would mean "as the input has it".
  if (std::find(shape.begin(), shape.end(), 0) == shape.end())
    return make1("Reshape", {v, integers(shape)});
  return newest("Reshape", {v, integers(shape)}, {{"allowzero", int64_t{1}}});
}

Value* Specializer::stack(const std::vector<Value*>& parts, int64_t axis) {
  std::vector<Value*> rows;
  for (Value* v : parts) {
    Shape shape = v->shape();
    shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), 1);
    rows.push_back(reshape(v, shape));
  }
  return rows.size() == 1 ? rows[0] : make("Concat", "", rows, {{"axis", axis}})[0];
}

Value* Specializer::own(Value* v) {
  if (&v->graph() == target_ && v->producer()) return v;
  Node* n = target_->add_node("Identity", "", {v});
  n->output()->type = v->type;
  return n->output();
}

}  // namespace poprt::compiler
