#include "ops/common/folding_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "ir/newest.h"
#include "ops/common/body_scope.h"
#include "ops/common/evaluate.h"
#include "ops/common/images.h"
#include "ops/common/scalar.h"
#include "ops/common/strings.h"
#include "ops/item.h"
#include "ops/op.h"

namespace poprt::ops {

using ir::Graph;
using ir::Node;
using ir::Value;

namespace {

constexpr uint64_t kLargeConstant = 1 << 20;        // bytes of a result, or twice its inputs
constexpr uint64_t kLargeInBody = 1 << 16;          // bytes of results or inputs in a repeated body
constexpr uint64_t kMaxFolded = uint64_t{1} << 31;  // bytes of all folded results

}  // namespace

bool computes_text(const Node& n) {
  return facts_of(n).text || (ir::is_onnx_domain(n.domain) && is_about_strings(n, {}));
}

Tensor extreme(DType t, bool high) {
  if (is_float(t))
    return ops::scalar_tensor(t, high ? std::numeric_limits<double>::infinity()
                                      : -std::numeric_limits<double>::infinity());
  if (t == DType::s64)
    return Tensor::scalar(high ? std::numeric_limits<int64_t>::max()
                               : std::numeric_limits<int64_t>::min());
  if (t == DType::u64) return Tensor::scalar(high ? std::numeric_limits<uint64_t>::max() : 0);
  const bool is_signed = t == DType::s8 || t == DType::s16 || t == DType::s32;
  const auto bits = static_cast<int>(dtype_bits(t)) - (is_signed ? 1 : 0);
  const double top = t == DType::boolean ? 1 : std::ldexp(1.0, bits) - 1;
  return ops::scalar_tensor(t, high ? top : is_signed ? -top - 1 : 0);
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

FoldingBuilder::Scope::Scope(FoldingBuilder& b, const Graph& body) : builder(b), outer(b.scope_) {
  b.scope_ = outer + body_scope(body.name, b.scopes_++);
  b.depth_++;
}

void FoldingBuilder::step() {
  if (++made_ > limit_)
    fail(ErrorCode::resource_exhausted,
         "unrolled control flow exceeds {} steps; large loops require static shapes", limit_);
}

std::vector<Value*> FoldingBuilder::make(const std::string& op, const std::string& domain,
                                         std::span<Value* const> inputs, Attributes attributes,
                                         size_t outputs) {
  // Names are unique across all graphs, so that the result can be saved.
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs; i++)
    names.push_back(fmt::format("{}{}_{}", scope_, op, made_ + 1));
  Node* n = target_->add_node(op, domain, inputs, outputs, nullptr, names);
  n->name = names[0];
  for (const auto& [key, value] : attributes) n->attributes[key] = value;
  return finish(n);
}

Value* FoldingBuilder::newest(const std::string& op, std::initializer_list<Value*> inputs,
                              Attributes attributes) {
  return make1(op, inputs, attributes, std::string(ir::kNewestDomain));
}

Value* FoldingBuilder::find_or_make(const std::string& op, const std::string& domain,
                                    std::initializer_list<Value*> inputs) {
  std::string key = domain + ':' + op;
  for (const Value* v : inputs) key += fmt::format(" {}", static_cast<const void*>(v));
  Value*& made = shared_nodes_[target_][key];
  if (!made) made = make1(op, inputs, {}, domain);
  return made;
}

Value* FoldingBuilder::size_of(const std::string& op, Value* a, Value* b) {
  return find_or_make(op, std::string(ir::kNewestDomain), {a, b});
}

void FoldingBuilder::count_folded(uint64_t bytes) {
  folded_ += bytes;
  if (folded_ > kMaxFolded)
    fail(ErrorCode::resource_exhausted, "constants from folding exceed {} bytes", kMaxFolded);
}

std::vector<Value*> FoldingBuilder::finish(Node* n) {
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
  if (text || computes_text(*n)) {
    if (!constants) {
      infer(*n);  // reports a better error if the operator supports no strings
      fail(ErrorCode::unimplemented,
           "{}: the device does not support strings: text is computed at compile time, so the "
           "node's inputs must be constant",
           n->describe());
    }
    values = evaluate_strings(*n, inputs);
  } else if (decodes_image(*n)) {
    infer(*n);
    if (!constants)
      fail(ErrorCode::unimplemented,
           "{}: the size of an image is encoded in its bytes: images are decoded at "
           "compile time, so the node's input must be constant",
           n->describe());
    values = {decode_image(*n, inputs[0])};
    count_folded(values[0].bytes());
  } else {
    infer(*n);
    const OpDef& op = op_of(*n);
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
        values = evaluate(*n, inputs);
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

Value* FoldingBuilder::indices(int64_t count) {
  Value*& made = indices_[count];
  if (made) return made;
  Tensor t = Tensor::zeros(DType::s64, {count});
  int64_t next = 0;
  for (int64_t& x : t.mutable_values<int64_t>()) x = next++;
  return made = constant(t);
}

Value* FoldingBuilder::reshape(Value* v, Shape shape) {
  if (v->type.is_static() && v->shape() == shape) return v;
  // A dimension of 0 would mean "copy the dimension of the input".
  if (std::find(shape.begin(), shape.end(), 0) == shape.end())
    return make1("Reshape", {v, integers(shape)});
  return newest("Reshape", {v, integers(shape)}, {{"allowzero", int64_t{1}}});
}

Value* FoldingBuilder::stack(const std::vector<Value*>& parts, int64_t axis) {
  std::vector<Value*> rows;
  for (Value* v : parts) {
    Shape shape = v->shape();
    shape.insert(shape.begin() + static_cast<ptrdiff_t>(axis), 1);
    rows.push_back(reshape(v, shape));
  }
  return rows.size() == 1 ? rows[0] : make("Concat", "", rows, {{"axis", axis}})[0];
}

Value* FoldingBuilder::as_output(Value* v) {
  if (&v->graph() == target_ && v->producer()) return v;
  Node* n = target_->add_node("Identity", "", {v});
  n->output()->type = v->type;
  return n->output();
}

}  // namespace poprt::ops
