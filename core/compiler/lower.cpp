#include "compiler/lower.h"

#include <unordered_set>

#include "base/checked.h"
#include "compiler/flow/specialize.h"
#include "compiler/memory_plan.h"
#include "ops/op.h"

namespace poprt::compiler {
namespace {

using ops::LowerContext;
using program::BufferId;
using program::Space;

// Graph outputs that no node makes, or that are listed twice, are copied from by an Identity, so
// that every output has a producer of its own.
void give_outputs_producers(ir::Graph& graph) {
  std::unordered_set<const ir::Value*> seen;
  for (size_t i = 0; i < graph.outputs().size(); i++) {
    ir::Value* v = graph.outputs()[i];
    if (v->producer() && seen.insert(v).second) continue;
    ir::Node* copy = graph.add_node("Identity", "", {v});
    copy->output()->type = v->type;
    graph.set_output(i, copy->output());
    seen.insert(copy->output());
  }
}

class Lowering {
 public:
  explicit Lowering(ir::Graph& graph, std::vector<std::string> input_names,
                    std::vector<std::string> output_names)
      : graph_(graph), plan_(graph) {
    for (size_t i = 0; i < graph.inputs().size(); i++)
      builder_.add_input({input_names[i], graph.inputs()[i]->dtype(), graph.inputs()[i]->shape()});
    for (size_t i = 0; i < graph.outputs().size(); i++)
      builder_.add_output(
          {output_names[i], graph.outputs()[i]->dtype(), graph.outputs()[i]->shape()});
  }

  Executable run(const std::function<void(double)>& progress);

  BufferId buffer_of(const ir::Value* v) {
    if (const auto it = buffers_.find(v); it != buffers_.end()) return it->second;
    BufferId id;
    if (v->is_constant()) {
      const Tensor tensor = v->constant();
      if (dtype_bits(tensor.dtype()) == 0)
        fail(ErrorCode::unimplemented,
             "constant '{}' is {}: strings cannot be stored on the device", v->name(),
             dtype_name(tensor.dtype()));
      id = builder_.weights(tensor.bytes(), tensor.dtype(), tensor.shape(),
                            program::WeightForm::plain(tensor));
    } else {
      const Place p = plan_.place(v);
      id = add({p.storage, p.offset}, dtype_bytes(v->dtype(), element_count(v->shape())),
               v->dtype(), v->shape());
    }
    buffers_[v] = id;
    return id;
  }

  bool same_bytes(const ir::Value* a, const ir::Value* b) const {
    return plan_.same_bytes(a, b, 0);
  }

  BufferId temporary(DType dtype, Shape shape) {
    const uint64_t bytes = dtype_bytes(dtype, element_count(shape));
    return add({plan_.add_temporary(bytes, position_), 0}, bytes, dtype, std::move(shape));
  }

  BufferId state(int64_t key, DType dtype, Shape shape) {
    const uint64_t bytes = dtype_bytes(dtype, element_count(shape));
    if (key < 0) return add({plan_.add_state(bytes), 0}, bytes, dtype, std::move(shape));
    const auto it = states_.find(key);
    const BufferId id = it == states_.end()
                            ? add({plan_.add_state(bytes), 0}, bytes, dtype, std::move(shape))
                            : it->second;
    if (builder_.buffer(id).bytes != bytes)
      fail(ErrorCode::internal, "state {} has {} and {} bytes", key, builder_.buffer(id).bytes,
           bytes);
    return states_[key] = id;
  }

  BufferId view(BufferId of, uint64_t offset, DType dtype, Shape shape) {
    const uint64_t bytes = dtype_bytes(dtype, element_count(shape));
    const program::Buffer base = builder_.buffer(of);
    if (checked_add(offset, bytes) > base.bytes)
      fail(ErrorCode::internal, "a view of {} bytes at {} does not fit {} bytes", bytes, offset,
           base.bytes);
    if (const auto it = arena_.find(of); it != arena_.end())
      return add({it->second.storage, it->second.offset + offset}, bytes, dtype, std::move(shape));
    program::Buffer b = base;
    b.offset += offset;
    b.bytes = bytes;
    b.dtype = dtype;
    b.shape = std::move(shape);
    builder_.program().buffers.push_back(std::move(b));
    return static_cast<BufferId>(builder_.program().buffers.size() - 1);
  }

 private:
  BufferId add(Place p, uint64_t bytes, DType dtype, Shape shape) {
    const Storage& s = plan_.storage(p.storage);
    if (s.space == Space::input)
      return builder_.input(s.anchor, p.offset, bytes, dtype, std::move(shape));
    if (s.space == Space::output)
      return builder_.output(s.anchor, p.offset, bytes, dtype, std::move(shape));
    const BufferId id = builder_.arena(0, 0, dtype, std::move(shape));  // place and size follow
    builder_.program().buffers[id].bytes = bytes;
    arena_[id] = p;
    return id;
  }

  void lower_node(const ir::Node& node);
  void copy_part(BufferId from, uint64_t from_offset, BufferId to, uint64_t to_offset,
                 const ir::Value* part, const ir::Node& node);

  ir::Graph& graph_;
  MemoryPlan plan_;
  program::Builder builder_;
  std::unordered_map<const ir::Value*, BufferId> buffers_;
  std::unordered_map<int64_t, BufferId> states_;
  std::unordered_map<BufferId, Place> arena_;  // buffers whose offset is planned at the end
  int64_t position_ = 0;
};

class NodeContext final : public LowerContext {
 public:
  NodeContext(const ir::Node& n, program::Builder& b, Lowering& l)
      : LowerContext(n, b), lowering_(l) {}

  BufferId in(size_t i) override {
    const ir::Value* v = node.input(i);
    return v ? lowering_.buffer_of(v) : kNone;
  }
  BufferId out(size_t i) override {
    const ir::Value* v = node.output(i);
    if (!v || !v->type.is_static()) return kNone;
    if (v->uses().empty() && !v->graph().is_output(v)) return kNone;
    return lowering_.buffer_of(v);
  }
  bool in_place(size_t i) const override {
    return lowering_.same_bytes(node.input(i), node.output());
  }
  BufferId temporary(DType dtype, Shape shape) override {
    return lowering_.temporary(dtype, std::move(shape));
  }
  BufferId state(int64_t key, DType dtype, Shape shape) override {
    return lowering_.state(key, dtype, std::move(shape));
  }
  BufferId view(BufferId of, uint64_t offset, DType dtype, Shape shape) override {
    return lowering_.view(of, offset, dtype, std::move(shape));
  }

 private:
  Lowering& lowering_;
};

void Lowering::copy_part(BufferId from, uint64_t from_offset, BufferId to, uint64_t to_offset,
                         const ir::Value* part, const ir::Node& node) {
  if (element_count(part->shape()) == 0) return;
  const BufferId operands[] = {view(from, from_offset, part->dtype(), part->shape()),
                               view(to, to_offset, part->dtype(), part->shape())};
  builder_.emit("copy", operands, {}, {}, node.name.empty() ? part->name() : node.name);
}

void Lowering::lower_node(const ir::Node& node) {
  const auto part_bytes = [](const ir::Value* v) {
    return dtype_bytes(v->dtype(), element_count(v->shape()));
  };
  if (plan_.is_free_view(&node)) return;
  if (is_contiguous_concat(node)) {
    uint64_t offset = 0;
    for (const ir::Value* v : node.inputs()) {
      if (!plan_.same_bytes(v, node.output(), offset))
        copy_part(buffer_of(v), 0, buffer_of(node.output()), offset, v, node);
      offset += part_bytes(v);
    }
    return;
  }
  if (is_contiguous_split(node)) {
    uint64_t offset = 0;
    for (const ir::Value* v : node.outputs()) {
      const bool used = !v->uses().empty() || graph_.is_output(v);
      if (used && !plan_.same_bytes(v, node.input(0), offset))
        copy_part(buffer_of(node.input(0)), offset, buffer_of(v), 0, v, node);
      offset += part_bytes(v);
    }
    return;
  }
  const ops::OpDef& op = ops::op_of(node);
  if (!op.lower) fail(ErrorCode::unimplemented, "{}: has no lowering", node.describe());
  NodeContext ctx(node, builder_, *this);
  ops::lower(op, ctx);
}

Executable Lowering::run(const std::function<void(double)>& progress) {
  const std::vector<ir::Node*> nodes = graph_.nodes();
  for (ir::Node* n : nodes) {
    lower_node(*n);
    position_++;
    if (progress) progress(static_cast<double>(position_) / static_cast<double>(nodes.size()));
  }
  const uint64_t arena_bytes = plan_.plan_offsets();
  for (const auto& [id, place] : arena_)
    builder_.program().buffers[id].offset = plan_.storage(place.storage).offset + place.offset;
  Executable out;
  out.program = std::move(builder_.program());
  out.program.arena_bytes = arena_bytes;
  out.program.state_bytes = plan_.state_bytes();
  out.weights = std::move(builder_.weight_records());
  program::verify(out.program);
  return out;
}

}  // namespace

Executable lower(ir::Graph& graph, const std::function<void(double)>& progress) {
  std::vector<std::string> inputs, outputs;
  for (const ir::Value* v : graph.inputs()) inputs.push_back(v->name());
  for (const ir::Value* v : graph.outputs()) outputs.push_back(v->name());
  give_outputs_producers(graph);
  flatten_control_flow(graph);
  for (const ir::Node* n : graph.nodes())
    for (const ir::Value* v : n->outputs())
      if (!v->type.is_static() && (!v->uses().empty() || graph.is_output(v)))
        fail(ErrorCode::invalid_argument,
             "{}: the shape of '{}' is {} and depends on run-time values; the device runs static "
             "shapes only",
             n->describe(), v->name(), type_string(v->type));
  return Lowering(graph, std::move(inputs), std::move(outputs)).run(progress);
}

}  // namespace poprt::compiler
