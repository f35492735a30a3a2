#include "compiler/lower.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/checked.h"
#include "compiler/flow/specialize.h"
#include "compiler/memory_plan.h"
#include "ops/bound.h"
#include "ops/op.h"
#include "program/control.h"
#include "program/shards.h"

namespace poprt::compiler {
namespace {

using ops::LowerContext;
using program::BufferId;
using program::Space;

// Adds an Identity for graph outputs that no node produces, or that occur twice, so that every
// output has its own producer.
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

// The location of a graph's inputs and outputs: anchors by index, or places in the arena.
struct Ports {
  struct Port {
    std::optional<uint32_t> anchor;
    uint64_t offset = 0;
  };
  std::vector<Port> inputs, outputs;
};

// Lowers the nodes of one shard, or of a whole graph, whose memory starts at `base` of the arena.
class Lowering {
 public:
  Lowering(ir::Graph& graph, program::Builder& builder, Ports ports, const Options& options,
           uint64_t base = 0)
      : graph_(graph),
        plan_(graph),
        builder_(builder),
        ports_(std::move(ports)),
        checks_indices_(!options.zero_out_of_range),
        base_(base) {}

  struct Memory {
    uint64_t arena = 0, state = 0;
  };
  Memory run(const std::function<void()>& lowered);
  // Keys of state that several nodes share.
  std::vector<int64_t> state_keys() const {
    std::vector<int64_t> keys;
    for (const auto& [key, id] : states_) keys.push_back(key);
    return keys;
  }

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
    if (s.space == Space::input || s.space == Space::output) {
      const auto& list = s.space == Space::input ? ports_.inputs : ports_.outputs;
      const Ports::Port& port = list[s.anchor];
      if (!port.anchor)
        return builder_.arena(port.offset + p.offset, bytes, dtype, std::move(shape));
      return s.space == Space::input
                 ? builder_.input(*port.anchor, p.offset, bytes, dtype, std::move(shape))
                 : builder_.output(*port.anchor, p.offset, bytes, dtype, std::move(shape));
    }
    // run() sets the offset when all lifetimes are known.
    const BufferId id = builder_.arena(0, 0, dtype, std::move(shape));
    builder_.program().buffers[id].bytes = bytes;
    arena_[id] = p;
    return id;
  }

  void lower_node(const ir::Node& node);
  void copy_part(BufferId from, uint64_t from_offset, BufferId to, uint64_t to_offset,
                 const ir::Value* part, const ir::Node& node);

  ir::Graph& graph_;
  MemoryPlan plan_;
  program::Builder& builder_;
  const Ports ports_;
  const bool checks_indices_;
  const uint64_t base_;
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
  ctx.checks_indices = checks_indices_;
  ops::lower(op, ctx);
}

Lowering::Memory Lowering::run(const std::function<void()>& lowered) {
  for (ir::Node* n : graph_.nodes()) {
    lower_node(*n);
    position_++;
    lowered();
  }
  const uint64_t arena_bytes = plan_.plan_offsets();
  for (const auto& [id, place] : arena_)
    builder_.program().buffers[id].offset =
        base_ + plan_.storage(place.storage).offset + place.offset;
  return {arena_bytes, plan_.state_bytes()};
}

// Returns the remedy for a shape that an input of the node determines, or "" if no input does.
std::string bound_of_shape(const ir::Node& n) {
  for (size_t i = 0; i < n.inputs().size(); i++) {
    const ir::Value* v = n.input(i);
    // The name is that of the model's value, before conversions of its type.
    while (v && v->producer() && v->producer()->inputs().size() == 1 &&
           ops::facts_of(*v->producer()).per_element)
      v = v->producer()->input(0);
    if (v && !v->is_constant() && ops::in_mask(ops::constant_inputs(n), i))
      return fmt::format("; input '{}' decides the shape: {}", v->name(), ops::shape_remedy(n));
  }
  return "";
}

void require_static(const ir::Graph& graph) {
  for (const ir::Node* n : graph.nodes())
    for (const ir::Value* v : n->outputs())
      if (!v->type.is_static() && (!v->uses().empty() || graph.is_output(v)))
        fail(ErrorCode::invalid_argument,
             "{}: the shape of '{}' is {} and depends on run-time values; the device runs static "
             "shapes only{}",
             n->describe(), v->name(), type_string(v->type), bound_of_shape(*n));
}

// Lowers the graphs of several shards to one program. The arena contains the transferred values,
// followed by the memory of each shard.
class ShardedLowering {
 public:
  ShardedLowering(program::Builder& builder, Cut cut, const Options& options)
      : builder_(builder), cut_(std::move(cut)), options_(options) {
    for (const CutTransfer& c : cut_.transfers) {
      program::Transfer t{c.name, c.type.dtype, c.type.shape, base_, 0, c.from, {}};
      t.bytes = dtype_bytes(t.dtype, element_count(t.shape));
      base_ = align_up(checked_add(base_, t.bytes), 64);
      const BufferId place[] = {builder_.arena(t.offset, t.bytes, t.dtype, t.shape)};
      builder_.emit(program::kControlTransfer, place, program::encode(t), {}, t.name);
      transfers_.push_back(std::move(t));
    }
  }

  void run(const std::function<void()>& lowered) {
    for (size_t s = 0; s < cut_.shards.size(); s++) add(s, lowered);
    builder_.program().arena_bytes = base_;
  }

 private:
  void add(size_t s, const std::function<void()>& lowered) {
    ShardGraph& shard = cut_.shards[s];
    give_outputs_producers(*shard.graph);
    flatten_control_flow(*shard.graph);
    require_static(*shard.graph);
    Ports ports;
    for (const Port& p : shard.inputs) ports.inputs.push_back(place(p));
    for (const Port& p : shard.outputs) ports.outputs.push_back(place(p));
    const size_t begin = builder_.program().main.size();
    builder_.emit(program::kControlShard, {}, {}, {}, fmt::format("ipu{}", shard.seat.ipu));
    Lowering lowering(*shard.graph, builder_, std::move(ports), options_, base_);
    const auto [arena, state] = lowering.run(lowered);
    for (const int64_t key : lowering.state_keys())
      if (!keys_.insert(key).second)
        fail(ErrorCode::unimplemented,
             "state that persists between runs would be shared by IPU {} and another; cut the "
             "model elsewhere",
             shard.seat.ipu);
    builder_.program().main[begin].ints =
        program::encode(program::Shard{shard.seat.ipu, shard.seat.stage, base_, arena, state});
    builder_.emit(program::kControlEnd, {}, {}, {}, fmt::format("ipu{}", shard.seat.ipu));
    base_ = align_up(checked_add(base_, arena), 64);
    builder_.program().arena_bytes = base_;
    shard.graph.reset();
  }

  Ports::Port place(const Port& p) const {
    if (!p.is_transfer) return {p.number, 0};
    return {std::nullopt, transfers_[p.number].offset};
  }

  program::Builder& builder_;
  Cut cut_;
  const Options& options_;
  std::vector<program::Transfer> transfers_;
  uint64_t base_ = 0;
  std::unordered_set<int64_t> keys_;
};

}  // namespace

Executable lower(ir::Graph& graph, const std::function<void(double)>& progress,
                 const Options& options, const ir::Placement& placement) {
  program::Builder builder;
  Ports ports;
  for (const ir::Value* v : graph.inputs())
    ports.inputs.push_back({builder.add_input({v->name(), v->dtype(), v->shape()}), 0});
  for (const ir::Value* v : graph.outputs())
    ports.outputs.push_back({builder.add_output({v->name(), v->dtype(), v->shape()}), 0});
  give_outputs_producers(graph);
  Cut cut = cut_graph(graph, placement, options);
  const bool sharded = !cut.shards.empty();
  if (!sharded) flatten_control_flow(graph);
  if (!sharded) require_static(graph);
  double done = 0;
  const auto nodes = static_cast<double>(graph.node_count());
  const auto lowered = [&] {
    if (progress) progress(std::min(1.0, ++done / nodes));
  };
  program::Program& p = builder.program();
  if (sharded) {
    ShardedLowering(builder, std::move(cut), options).run(lowered);
  } else {
    const auto [arena, state] = Lowering(graph, builder, std::move(ports), options).run(lowered);
    p.arena_bytes = arena;
    p.state_bytes = state;
  }
  Executable out;
  out.program = std::move(p);
  out.weights = std::move(builder.weight_records());
  program::verify(out.program);
  if (sharded) out.notes[program::kShards] = program::note_of_shards(out.program);
  return out;
}

}  // namespace poprt::compiler
