#include "compiler/chip_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "ipu/outline.h"
#include "ops/common/body_scope.h"
#include "ops/common/flops.h"
#include "ops/common/loop.h"
#include "ops/cost.h"
#include "passes/common/branches.h"
#include "passes/pass.h"

namespace poprt::compiler {
namespace {

// The most rounds of a loop, together with those of the loops around it, that are counted.
constexpr int64_t kMostRounds = int64_t{1} << 24;

std::string name_of(const ir::Node& node) {
  return node.name.empty() && node.output() ? node.output()->name() : node.name;
}

DType type_on_chip(DType type, Precision precision) {
  if (!is_float(type) || dtype_bits(type) <= 8) return type;
  switch (precision) {
    case Precision::fp32: return DType::f32;
    case Precision::fp16:
    case Precision::fp8:
    case Precision::fp8_weight: return DType::f16;
    case Precision::int8:
    case Precision::keep: break;
  }
  return type == DType::f64 ? DType::f32 : type == DType::bf16 ? DType::f16 : type;
}

class Maker {
 public:
  Maker(const ir::Graph& graph, const EstimateOptions& options)
      : graph_(graph),
        options_(options),
        plans_(options_.target, options_.chip.plan_options(options_.target)),
        lowering_(options_.target, options_.chip, options.plans ? *options.plans : plans_) {}

  ipu::ChipProgram run();

 private:
  size_t tensor_of(const ir::Value* v);
  bool is_weight(const ir::Value* v) const;
  void add(const ir::Node& node, int64_t repeats);
  int64_t rounds_of(const ir::Node& node, int64_t repeats);
  void add_subgraphs(const ir::Node& node, int64_t repeats);
  size_t state_of(const ipu::ChipOp& op);
  void set_layout(const ir::Node& node, const ops::OpDef* op);
  void rearrange_stream(const ir::Value* v);
  void set_lives();
  void add_transfers();
  void find_equal(ipu::ChipOp& op, const ir::Node& node);

  const ir::Graph& graph_;
  const EstimateOptions& options_;
  ipu::PlanCache plans_;
  ipu::Lowering lowering_;
  ipu::ChipProgram program_;
  std::unordered_map<const ir::Value*, size_t> tensors_;
  // The number of the layout of each value. Values of one layout are on the same tiles.
  std::unordered_map<const ir::Value*, int64_t> layout_;
  // Results that depend on weights only, which are computed once.
  std::set<const ir::Value*> computed_before_;
  int64_t layouts_ = 0;
  std::vector<const ir::Value*> unknown_;  // values of unknown size
  std::map<std::string, size_t> programs_;
};

bool Maker::is_weight(const ir::Value* v) const {
  return v->is_constant() || computed_before_.contains(v) ||
         std::ranges::find(options_.weights, v->name()) != options_.weights.end();
}

// Whether products are the only readers of a weight. The conversion to 8-bit floats changes no
// other weights, such as the table of an embedding.
bool is_multiplied(const ir::Value* v) {
  if (v->shape().size() < 2 || v->uses().empty()) return false;
  return std::ranges::all_of(v->uses(), [](const ir::Use& use) {
    return ops::facts_of(*use.node).layer != ops::LayerForm::none;
  });
}

size_t Maker::tensor_of(const ir::Value* v) {
  const auto [at, is_new] = tensors_.try_emplace(v, program_.tensors.size());
  if (!is_new) return at->second;
  ipu::ChipTensor t;
  t.name = v->name();
  if (v->type.is_static()) {
    DType type = type_on_chip(v->dtype(), options_.precision);
    const int64_t n = element_count(v->shape());
    const bool quarter =
        options_.precision == Precision::fp8 || options_.precision == Precision::fp8_weight;
    if (is_weight(v) && quarter && type == DType::f16 && is_multiplied(v)) type = DType::f8_143;
    t.bytes = ipu::chip_bytes(type, n);
    t.share = ipu::chip_bytes(type, lowering_.share(type, n));
    t.tiles = lowering_.spread(type, n);
  } else {
    unknown_.push_back(v);
  }
  t.kind = is_weight(v)          ? ipu::TensorKind::weight
           : graph_.is_input(v)  ? ipu::TensorKind::input
           : graph_.is_output(v) ? ipu::TensorKind::output
                                 : ipu::TensorKind::activation;
  program_.tensors.push_back(std::move(t));
  return at->second;
}

// Results of elementwise operations and views are on the tiles of their input.
void Maker::set_layout(const ir::Node& node, const ops::OpDef* op) {
  const bool keeps = op && (op->facts.per_element || op->sharing.view);
  int64_t layout = -1;
  if (keeps)
    for (const ir::Value* v : node.inputs())
      if (v && v->type.is_static() && node.output()->type.is_static() &&
          element_count(v->shape()) == element_count(node.output()->shape())) {
        const auto at = layout_.find(v);
        if (at != layout_.end()) layout = at->second;
        break;
      }
  if (layout < 0) layout = layouts_++;
  for (const ir::Value* v : node.outputs()) layout_[v] = layout;
}

void Maker::find_equal(ipu::ChipOp& op, const ir::Node& node) {
  std::string key = node.domain + "." + node.op_type;
  for (const auto& list : {node.inputs(), node.outputs()})
    for (const ir::Value* v : list) key += v ? " " + ir::type_string(v->type) : " -";
  key += fmt::format(" {}", op.cost.cycles());
  const auto [at, is_new] = programs_.try_emplace(key, program_.ops.size());
  if (!is_new) op.same_as = at->second;
}

// Adds the state of an operation, such as a cache. It exists during the whole run, like a weight.
size_t Maker::state_of(const ipu::ChipOp& op) {
  ipu::ChipTensor t;
  t.name = op.name + ":state";
  t.kind = ipu::TensorKind::weight;
  t.bytes = op.cost.state_bytes;
  t.share = lowering_.share(DType::u8, t.bytes);
  t.tiles = lowering_.spread(DType::u8, t.bytes);
  program_.tensors.push_back(std::move(t));
  return program_.tensors.size() - 1;
}

// The name that a value has in the model. The converter adds prefixes to the names of values of a
// body that it copies into another one.
std::string model_name(const ir::Value* v) {
  return std::string(v->graph().parent ? ops::without_body_scopes(v->name()) : v->name());
}

// The number of rounds that the caller gives for the loop, if any.
std::optional<int64_t> rounds_given(const ir::Node& node,
                                    const std::map<std::string, int64_t>& rounds) {
  std::vector<const ir::Value*> values(node.outputs().begin(), node.outputs().end());
  if (ops::facts_of(node).runs_rounds && node.input(0)) values.push_back(node.input(0));
  for (const ir::Value* v : values)
    for (const std::string& name : {v->name(), model_name(v)})
      if (const auto at = rounds.find(name); at != rounds.end()) return at->second;
  return std::nullopt;
}

// The number of rounds that a node which runs `repeats` times counts, each time.
int64_t Maker::rounds_of(const ir::Node& node, int64_t repeats) {
  const ops::Facts& facts = ops::facts_of(node);
  if (!facts.repeats || node.outputs().empty()) return 1;
  const int64_t most = kMostRounds / std::max<int64_t>(repeats, 1);
  const auto given = rounds_given(node, options_.rounds);
  const int64_t known = given ? *given : facts.repeats(node);
  const bool ends_early = !given && facts.runs_rounds && ops::may_end_early(node);
  const int64_t rounds = known >= 0 && known <= most ? known : 1;
  std::string why;
  if (known < 0 || (known > most && ends_early))
    why = "because the number of rounds is known at run time only";
  else if (known > most)
    why = fmt::format("because at most {} rounds in total are counted", kMostRounds);
  else if (ends_early)
    why = "its trip count, but its condition may end it earlier";
  if (!why.empty())
    program_.assumptions.push_back(fmt::format(
        "{} '{}' counts as {} round{}, {}; --max_size {}=N counts N rounds", node.op_type,
        name_of(node), rounds, rounds == 1 ? "" : "s", why, model_name(node.output())));
  return rounds;
}

// Of several branches, only the one with the most cycles counts. The others need memory, but no
// time.
void Maker::add_subgraphs(const ir::Node& node, int64_t repeats) {
  const int64_t rounds = rounds_of(node, repeats);
  struct Branch {
    size_t begin = 0, end = 0;
    int64_t cycles = -1;
  } most;
  ir::for_each_subgraph(node, [&](const ir::Graph& inner) {
    Branch b{program_.ops.size(), 0, 0};
    for (const ir::Node* n : inner.nodes()) add(*n, repeats * rounds);
    b.end = program_.ops.size();
    for (size_t i = b.begin; i < b.end; i++) b.cycles += program_.ops[i].cycles();
    if (b.cycles > most.cycles) std::swap(b, most);
    for (size_t i = b.begin; i < b.end; i++) program_.ops[i].repeats = 0;
  });
}

// Whether the value belongs to a subgraph of the node.
bool is_inner(const ir::Value* v, const ir::Node& node) {
  for (const ir::Graph* g = &node.graph(); g; g = g->parent)
    if (&v->graph() == g) return false;
  return true;
}

void Maker::add(const ir::Node& node, int64_t repeats) {
  const ops::OpDef* def = ops::find_op(node.domain, node.op_type, node.opset());
  const auto is_ready = [&](const ir::Value* v) { return !v || is_weight(v) || is_inner(v, node); };
  if (def && def->pure && !node.inputs().empty() && std::ranges::all_of(node.inputs(), is_ready) &&
      std::ranges::all_of(passes::values_read(node), is_ready)) {
    computed_before_.insert(node.outputs().begin(), node.outputs().end());
    return;
  }
  ipu::ChipOp op;
  op.name = name_of(node);
  op.type = node.op_type;
  op.repeats = repeats;
  bool has_subgraph = false;
  ir::for_each_subgraph(node, [&](const ir::Graph&) { has_subgraph = true; });
  if (has_subgraph) {
    add_subgraphs(node, repeats);
  } else {
    ops::CostContext context(node, lowering_,
                             [&](DType t) { return type_on_chip(t, options_.precision); });
    context.aligned = [&](size_t i) {
      const auto a = layout_.find(node.input(0)), b = layout_.find(node.input(i));
      return a != layout_.end() && b != layout_.end() && a->second == b->second;
    };
    context.quarter_products = options_.precision == Precision::fp8;
    context.weight = [&](size_t i) { return node.input(i) && is_weight(node.input(i)); };
    context.placed = [&](size_t i) {
      return node.input(i) && (is_weight(node.input(i)) ||
                               (options_.chip.num_io_tiles == 0 && graph_.is_input(node.input(i))));
    };
    const bool multiplies = ops::facts_of(node).layer != ops::LayerForm::none;
    if (multiplies && !options_.chip.rearrange_streams_on_host)
      for (const ir::Value* v : node.inputs())
        if (v && graph_.is_input(v) && !is_weight(v)) rearrange_stream(v);
    ops::add_cost(context);
    if (multiplies && !options_.chip.rearrange_anchors_on_host)
      for (const ir::Value* v : node.outputs())
        if (graph_.is_output(v)) rearrange_stream(v);
    op.cost = lowering_.take();
    const bool known =
        std::ranges::all_of(node.inputs(),
                            [](const ir::Value* v) { return !v || v->type.is_static(); }) &&
        std::ranges::all_of(node.outputs(), [](const ir::Value* v) { return v->type.is_static(); });
    if (known) op.flops = ops::flops_of(node);
  }
  set_layout(node, def);
  for (const ir::Value* v : node.inputs())
    if (v) op.inputs.push_back(tensor_of(v));
  for (const ir::Value* v : node.outputs())
    if (!v->uses().empty() || graph_.is_output(v)) op.outputs.push_back(tensor_of(v));
  // A view, or an operation that overwrites its input, needs no memory.
  const bool view = def && def->sharing.view;
  const bool in_place = def && (def->sharing.in_place & 1) && node.input(0) &&
                        node.input(0)->uses().size() == 1 && !is_weight(node.input(0));
  if ((view || in_place) && !op.inputs.empty() && op.outputs.size() == 1) {
    ipu::ChipTensor& to = program_.tensors[op.outputs[0]];
    const ipu::ChipTensor& from = program_.tensors[op.inputs[0]];
    if (to.bytes <= from.bytes && to.alias_of < 0)
      to.alias_of = from.alias_of >= 0 ? from.alias_of : static_cast<int64_t>(op.inputs[0]);
  }
  if (op.cost.state_bytes > 0) op.inputs.push_back(state_of(op));
  find_equal(op, node);
  program_.ops.push_back(std::move(op));
}

// Adds the cost of changing the order of the elements of a stream. The host has them in the order
// of their indices, and the plan of a product needs groups of channels.
void Maker::rearrange_stream(const ir::Value* v) {
  if (!v->type.is_static()) return;
  const DType type = type_on_chip(v->dtype(), options_.precision);
  lowering_.rearrange(type, element_count(v->shape()), ipu::chip_bytes(type, 1));
}

void Maker::set_lives() {
  const size_t last = program_.ops.empty() ? 0 : program_.ops.size() - 1;
  std::vector<bool> written(program_.tensors.size(), false);
  const auto owner = [&](size_t i) {
    return program_.tensors[i].alias_of >= 0 ? static_cast<size_t>(program_.tensors[i].alias_of)
                                             : i;
  };
  for (size_t i = 0; i < program_.ops.size(); i++)
    for (const auto* list : {&program_.ops[i].inputs, &program_.ops[i].outputs})
      for (const size_t t : *list) {
        ipu::ChipTensor& own = program_.tensors[owner(t)];
        if (!written[owner(t)]) own.first = i;
        written[owner(t)] = true;
        own.last = std::max(own.last, i);
      }
  // Without grouping, an input is transferred before its first use, and an output after its last
  // use.
  if (!options_.chip.group_host_sync) return;
  for (ipu::ChipTensor& t : program_.tensors) {
    if (t.kind == ipu::TensorKind::input) t.first = 0;
    if (t.kind == ipu::TensorKind::output) {
      if (t.alias_of >= 0) program_.tensors[static_cast<size_t>(t.alias_of)].last = last;
      t.last = last;
    }
  }
}

// The number of sequences if recurrent operators read an input with the time first, else the first
// dimension.
int64_t samples_of(const ir::Value* v) {
  const bool time_first =
      v->shape().size() == 3 && std::ranges::any_of(v->uses(), [](const ir::Use& use) {
        return use.input == 0 && !ops::facts_of(*use.node).states.empty() &&
               use.node->int_attr("hidden_size", 0) > 0 && use.node->int_attr("layout", 0) == 0;
      });
  return std::max<int64_t>(1, v->shape()[time_first ? 1 : 0]);
}

void Maker::add_transfers() {
  const auto stream = [&](const ir::Value* v) {
    const int64_t bytes =
        ipu::chip_bytes(type_on_chip(v->dtype(), options_.precision), element_count(v->shape()));
    program_.streams++;
    return bytes;
  };
  for (const ir::Value* v : graph_.inputs()) {
    if (is_weight(v) || !v->type.is_static()) continue;
    const int64_t bytes = stream(v);
    program_.input_bytes += bytes;
    program_.largest_input = std::max(program_.largest_input, bytes);
    if (program_.samples <= 1 && !v->shape().empty()) program_.samples = samples_of(v);
  }
  for (const ir::Value* v : graph_.outputs())
    if (v->type.is_static()) {
      const int64_t bytes = stream(v);
      program_.output_bytes += bytes;
      program_.largest_output = std::max(program_.largest_output, bytes);
    }
}

ipu::ChipProgram Maker::run() {
  for (const ir::Node* n : graph_.nodes()) add(*n, 1);
  add_transfers();
  if (!unknown_.empty())
    program_.assumptions.push_back(fmt::format(
        "{} value{} of unknown size count{} as empty, such as '{}'", unknown_.size(),
        unknown_.size() == 1 ? "" : "s", unknown_.size() == 1 ? "s" : "", unknown_[0]->name()));
  if (options_.ipu_of)
    for (ipu::ChipOp& op : program_.ops)
      op.ipu = options_.ipu_of(op.outputs.empty() ? op.name : program_.tensors[op.outputs[0]].name);
  else
    ipu::assign_ipus(program_, options_.target, options_.chip);
  ipu::outline(program_, options_.target, options_.chip);
  set_lives();
  return std::move(program_);
}

bool is_of_loop(const ir::Graph& graph, const std::string& name) {
  const auto is_of = [&](const auto& self, const ir::Graph& g) -> bool {
    return std::ranges::any_of(g.nodes(), [&](const ir::Node* n) {
      bool found = ops::facts_of(*n).repeats && rounds_given(*n, {{name, 1}});
      ir::for_each_subgraph(*n,
                            [&](const ir::Graph& inner) { found = found || self(self, inner); });
      return found;
    });
  };
  return is_of(is_of, graph);
}

}  // namespace

void check_rounds(const ir::Graph& graph, const std::map<std::string, int64_t>& rounds) {
  for (const auto& [name, n] : rounds)
    if (!is_of_loop(graph, name))
      fail(ErrorCode::not_found,
           "--max_size: '{}' is no result and no trip count of a loop of the model", name);
}

std::map<std::string, int64_t> scan_rounds(const ir::Graph& graph,
                                           const std::map<std::string, int64_t>& rounds) {
  std::map<std::string, int64_t> found;
  for (const ir::Node* n : graph.nodes()) {
    // The outputs of a Loop are its states, which follow the trip count and the condition, and then
    // the scan outputs.
    const bool scans =
        ops::facts_of(*n).runs_rounds && n->outputs().size() + 2 > n->inputs().size();
    if (const auto given = scans ? rounds_given(*n, rounds) : std::nullopt)
      found.emplace(n->outputs().back()->name(), *given);
    ir::for_each_subgraph(*n,
                          [&](const ir::Graph& inner) { found.merge(scan_rounds(inner, rounds)); });
  }
  return found;
}

void prepare_for_chip(ir::Graph& graph) {
  static constexpr const char* kPasses[] = {
      "shape_inference",       "expand_operators",   "constant_folding",
      "eliminate_deadend",     "layer_norm_pattern", "erf_gelu_pattern",
      "gelu_pattern",          "silu_pattern",       "eliminate_nop_cast",
      "eliminate_nop_reshape", "eliminate_deadend",  "eliminate_unused_initializer"};
  std::vector<const passes::PassDef*> passes;
  for (const char* name : kPasses) passes.push_back(&passes::pass_of(name));
  passes::run_passes(graph, passes);
}

ipu::ChipProgram chip_program(const ir::Graph& graph, const EstimateOptions& options) {
  if (options.precision == Precision::fp8 && !options.target.quarter)
    fail(ErrorCode::invalid_argument,
         "--precision fp8: {} has no products of 8-bit floats; use --precision fp8_weight, which "
         "only stores weights in 8 bits, or target c600",
         options.target.name);
  return Maker(graph, options).run();
}

ipu::Estimate estimate(const ir::Graph& graph, const EstimateOptions& options) {
  const auto copy = graph.clone();
  prepare_for_chip(*copy);
  return ipu::estimate_of(chip_program(*copy, options), options.target, options.chip);
}

}  // namespace poprt::compiler
