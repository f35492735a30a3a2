#include "compiler/shard.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/checked.h"
#include "base/log.h"
#include "compiler/fuse_graphs.h"
#include "ops/axes.h"
#include "ops/op.h"

namespace poprt::compiler {
namespace {

using ir::Graph;
using ir::Node;
using ir::Seat;
using ir::Value;

using Seats = std::unordered_map<const Node*, Seat>;

// Returns the nodes of the outermost graph that read a value, or whose subgraphs read it.
std::vector<const Node*> readers_of(const Value* v, const Graph& graph,
                                    const std::unordered_map<const Graph*, const Node*>& holders) {
  std::vector<const Node*> readers;
  for (const ir::Use& use : v->uses()) {
    const Node* n = use.node;
    while (&n->graph() != &graph) n = holders.at(&n->graph());
    readers.push_back(n);
  }
  return readers;
}

void find_holders(const Graph& graph, std::unordered_map<const Graph*, const Node*>& holders) {
  for (const Node* n : graph.nodes())
    ir::for_each_subgraph(*n, [&](const Graph& sub) {
      holders[&sub] = n;
      find_holders(sub, holders);
    });
}

std::unordered_map<const Graph*, const Node*> holders_of(const Graph& graph) {
  std::unordered_map<const Graph*, const Node*> holders;
  find_holders(graph, holders);
  return holders;
}

// Checks that each node has a stage, that the stage never decreases along an edge and that each
// stage is on one IPU.
void check_stages(const Graph& graph) {
  const auto holders = holders_of(graph);
  std::map<int64_t, const Node*> first;  // of each stage
  for (const Node* n : graph.nodes()) {
    const auto seat = ir::seat_of(*n);
    if (!seat || seat->stage < 0)
      fail(ErrorCode::invalid_argument,
           "enable_pipelining: {} has no {}: give pipelining_info to pass manual_sharding, too",
           n->describe(), seat ? ir::kPipelineStage : ir::kIpuNumber);
    const auto [other, added] = first.emplace(seat->stage, n);
    if (const auto of = ir::seat_of(*other->second); of->ipu != seat->ipu)
      fail(ErrorCode::invalid_argument,
           "stage {} is on IPU {} ({}) and on IPU {} ({}): a stage is on one IPU", seat->stage,
           of->ipu, other->second->describe(), seat->ipu, n->describe());
    for (const Value* v : n->outputs())
      for (const Node* reader : readers_of(v, graph, holders))
        if (const auto to = ir::seat_of(*reader); to && to->stage >= 0 && to->stage < seat->stage)
          fail(ErrorCode::invalid_argument,
               "{} of stage {} reads what {} of stage {} makes: stages never go back",
               reader->describe(), to->stage, n->describe(), seat->stage);
  }
}

uint64_t static_bytes(const Value* v) {
  return v->type.is_static() ? dtype_bytes(v->dtype(), element_count(v->shape())) : 0;
}

// The number of places of an input that an element of output 0 is computed from: the places along
// axes without a link to the output, such as the rows of the matrix of a MatMul and the taps of a
// Conv.
double places_read(const ops::AxisMap& map, size_t input) {
  double places = 1;
  for (size_t a = 0; a < map.inputs[input].size(); a++)
    if (!ops::is_linked(map, {input, a})) places *= static_cast<double>(map.inputs[input][a]);
  return places;
}

// Estimates the multiplications and additions of a node: for each element of the results, one per
// place of constant weights, and of other operands, that it is computed from.
double cost_of(const Node& n) {
  double made = 0;
  for (const Value* v : n.outputs())
    if (v->type.is_static()) made += static_cast<double>(element_count(v->shape()));
  // Tables that rows are selected from and constants that are added are not multiplied.
  const ops::Facts& facts = ops::op_of(n).facts;
  if (facts.moves || facts.per_element) return made;
  const ops::AxisMap map = ops::axis_map(n);
  double factors = 0;
  for (size_t i = 0; i < n.inputs().size(); i++) {
    const Value* v = n.input(i);
    if (!v || !v->is_constant() || v->shape().size() < 2) continue;
    if (const double places = places_read(map, i); places > 1) factors += places;
  }
  // Products of two operands that are not constant.
  for (const auto& group : map.reduced)
    if (group.size() > 1 && std::ranges::none_of(group, [&](const ops::InputAxis& a) {
          return n.input(a.input)->is_constant();
        }))
      factors += static_cast<double>(map.inputs[group[0].input][group[0].axis]);
  if (facts.attends) factors += 2 * places_read(map, 1);
  return made * (1 + factors);
}

// Splits the nodes in their order into parts of equal cost, or with the given ratios. Within 3 % of
// the whole cost around each boundary, the cut is where the fewest bytes are transferred.
Seats balance(const Graph& graph, const Options& options) {
  const std::vector<Node*> nodes = graph.nodes();
  const auto given = static_cast<size_t>(options.num_ipus);
  if (nodes.size() < given && !options.fewer_ipus)
    fail(ErrorCode::invalid_argument, "num_ipus={}: the model has {} nodes to share: give fewer",
         given, nodes.size());
  std::vector<double> ratios(options.split_ratios.begin(), options.split_ratios.end());
  if (ratios.empty()) ratios.assign(given, 1.0);
  if (ratios.size() != given)
    fail(ErrorCode::invalid_argument,
         "virtual_graph_split_ratios: {} are given for num_ipus={}: expected one for each",
         ratios.size(), given);
  const size_t parts = std::min(given, nodes.size());
  ratios.resize(parts);
  const double whole = std::accumulate(ratios.begin(), ratios.end(), 0.0);
  // Bytes that are transferred after each node, and the total cost up to it.
  const auto holders = holders_of(graph);
  std::unordered_map<const Node*, size_t> position;
  for (size_t i = 0; i < nodes.size(); i++) position[nodes[i]] = i;
  std::vector<double> cost(nodes.size()), crossing(nodes.size() + 1);
  for (size_t i = 0; i < nodes.size(); i++) {
    cost[i] = cost_of(*nodes[i]) + (i ? cost[i - 1] : 0);
    for (const Value* v : nodes[i]->outputs()) {
      size_t last = i;
      for (const Node* r : readers_of(v, graph, holders)) last = std::max(last, position.at(r));
      crossing[i] += static_cast<double>(static_bytes(v));
      crossing[last] -= static_cast<double>(static_bytes(v));
    }
  }
  std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
  Seats seats;
  size_t begin = 0;
  double share = 0;
  for (size_t part = 0; part < parts; part++) {
    share += ratios[part] / whole;
    const size_t most = nodes.size() - (parts - part - 1);  // each remaining part needs a node
    size_t end = most;
    if (part + 1 < parts) {
      const double target = share * cost.back(), slack = 0.03 * cost.back();
      const auto score = [&](size_t e) {
        const double miss = std::abs(cost[e - 1] - target);
        return std::pair(miss <= slack ? crossing[e - 1] : HUGE_VAL, miss);
      };
      end = begin + 1;
      for (size_t e = begin + 1; e <= most; e++)
        if (score(e) < score(end)) end = e;
    }
    const auto number = static_cast<int64_t>(part);
    for (; begin < end; begin++) seats[nodes[begin]] = {number, options.pipelining ? number : -1};
  }
  return seats;
}

// Groups nodes that run consecutively on one IPU. With stages, each stage is a group. Without, a
// group ends when the IPU has no node whose inputs are ready.
std::vector<std::vector<size_t>> order_shards(const Graph& graph, const Seats& seats,
                                              bool pipelined) {
  const std::vector<Node*> nodes = graph.nodes();
  std::vector<std::vector<size_t>> shards;
  if (pipelined) {
    std::map<int64_t, std::vector<size_t>> stages;
    for (size_t i = 0; i < nodes.size(); i++) stages[seats.at(nodes[i]).stage].push_back(i);
    for (auto& [stage, list] : stages) shards.push_back(std::move(list));
    return shards;
  }
  const auto holders = holders_of(graph);
  std::unordered_map<const Node*, size_t> position;
  for (size_t i = 0; i < nodes.size(); i++) position[nodes[i]] = i;
  std::vector<std::set<size_t>> readers(nodes.size());
  std::vector<size_t> waits(nodes.size());
  for (size_t i = 0; i < nodes.size(); i++)
    for (const Value* v : nodes[i]->outputs())
      for (const Node* r : readers_of(v, graph, holders))
        if (readers[i].insert(position.at(r)).second) waits[position.at(r)]++;
  std::map<int64_t, std::set<size_t>> ready;  // by IPU
  for (size_t i = 0; i < nodes.size(); i++)
    if (waits[i] == 0) ready[seats.at(nodes[i]).ipu].insert(i);
  while (!ready.empty()) {
    // The IPU of the first node, in graph order, whose inputs are ready.
    auto chosen = ready.begin();
    for (auto it = ready.begin(); it != ready.end(); ++it)
      if (*it->second.begin() < *chosen->second.begin()) chosen = it;
    std::vector<size_t>& shard = shards.emplace_back();
    while (!chosen->second.empty()) {
      const size_t i = *chosen->second.begin();
      chosen->second.erase(chosen->second.begin());
      shard.push_back(i);
      for (const size_t r : readers[i])
        if (--waits[r] == 0) ready[seats.at(nodes[r]).ipu].insert(r);
    }
    ready.erase(chosen);
  }
  return shards;
}

// Extracts the nodes of each shard from a copy of the graph.
class Extract {
 public:
  Extract(const Graph& graph, Cut& cut, const std::vector<uint32_t>& shard_of)
      : graph_(graph),
        cut_(cut),
        shard_of_(shard_of),
        nodes_(graph.nodes()),
        holders_(holders_of(graph)) {
    for (size_t i = 0; i < nodes_.size(); i++) position_[nodes_[i]] = i;
  }

  // Finds the results that other shards read.
  void find_transfers() {
    for (size_t i = 0; i < nodes_.size(); i++)
      for (const Value* v : nodes_[i]->outputs()) {
        const auto readers = readers_of(v, graph_, holders_);
        const bool crosses = std::ranges::any_of(
            readers, [&](const Node* r) { return shard_of_[position_.at(r)] != shard_of_[i]; });
        if (!crosses) continue;
        if (!v->type.is_static())
          fail(ErrorCode::unimplemented,
               "'{}' ({}) would cross from one IPU to another: cut where sizes do not depend on "
               "data",
               v->name(), ir::type_string(v->type));
        transfer_[v->name()] = static_cast<uint32_t>(cut_.transfers.size());
        cut_.transfers.push_back({v->name(), v->type, shard_of_[i]});
      }
  }

  ShardGraph make(uint32_t shard, const Seat& seat) const {
    ShardGraph out{graph_.clone(), {}, {}, seat};
    Graph& g = *out.graph;
    const std::vector<Node*> copies = g.nodes();
    std::vector<Value*> outputs = g.outputs();
    while (!g.outputs().empty()) g.remove_output(g.outputs().size() - 1);
    std::unordered_set<const Node*> mine;
    for (size_t i = 0; i < copies.size(); i++)
      if (shard_of_[i] == shard) mine.insert(copies[i]);
    const auto holders = holders_of(g);
    std::vector<std::pair<Value*, uint32_t>> entering, leaving;
    for (Node* n : copies)
      for (Value* v : n->outputs()) {
        const auto t = transfer_.find(v->name());
        if (t == transfer_.end()) continue;
        const auto readers = readers_of(v, g, holders);
        if (mine.contains(n))
          leaving.emplace_back(v, t->second);
        else if (std::ranges::any_of(readers, [&](const Node* r) { return mine.contains(r); }))
          entering.emplace_back(v, t->second);
      }
    const size_t own_inputs = g.inputs().size();
    for (const auto& [v, number] : entering) {
      const std::string name = v->name();
      g.rename(v, g.fresh_name(name + "_elsewhere"));
      g.replace_all_uses(v, g.add_input(name, v->type));
    }
    for (size_t i = 0; i < outputs.size(); i++)
      if (mine.contains(outputs[i]->producer())) {
        g.add_output(outputs[i]);
        out.outputs.push_back({false, static_cast<uint32_t>(i)});
      }
    for (const auto& [v, number] : leaving) {
      g.add_output(v);
      out.outputs.push_back({true, number});
    }
    for (auto n = copies.rbegin(); n != copies.rend(); ++n)
      if (!mine.contains(*n)) g.erase_node(*n);
    for (Value* v : g.values())
      if (v->is_constant() && v->uses().empty()) g.erase_value(v);
    const std::vector<Value*> inputs = g.inputs();
    for (size_t i = 0; i < inputs.size(); i++) {
      if (inputs[i]->uses().empty())
        g.erase_value(inputs[i]);
      else if (i < own_inputs)
        out.inputs.push_back({false, static_cast<uint32_t>(i)});
      else
        out.inputs.push_back({true, entering[i - own_inputs].second});
    }
    return out;
  }

 private:
  const Graph& graph_;
  Cut& cut_;
  const std::vector<uint32_t>& shard_of_;
  const std::vector<Node*> nodes_;
  const std::unordered_map<const Graph*, const Node*> holders_;
  std::unordered_map<const Node*, size_t> position_;
  std::unordered_map<std::string, uint32_t> transfer_;
};

}  // namespace

Cuts cuts_of(const Graph& graph) {
  Cuts cuts;
  // The names of a fused model's values contain the prefix of their model.
  const size_t models = std::max<size_t>(fused_graph_count(graph), 1);
  std::vector<std::string> prefixes;
  for (size_t k = 0; k < models; k++) prefixes.push_back(graph_prefix(k));
  std::vector<std::set<int64_t>> stages(models);
  for (const Node* n : graph.nodes()) {
    std::optional<Seat> seat;
    try {
      seat = ir::seat_of(*n);
    } catch (const Error&) {
      continue;
    }
    if (!seat) continue;
    cuts.any = true;
    cuts.ipus = std::max(cuts.ipus, seat->ipu + 1);
    if (seat->stage < 0) continue;
    size_t model = 0;
    for (size_t k = 1; k < models; k++)
      if (n->output() && n->output()->name().starts_with(prefixes[k])) model = k;
    stages[model].insert(seat->stage);
  }
  for (const auto& own : stages) {
    const auto count = static_cast<int64_t>(own.size());
    cuts.stages = std::max(cuts.stages, count);
    if (count > 0)
      cuts.batches =
          checked_mul(cuts.batches / std::gcd(cuts.batches, count), count, "batches_per_step");
  }
  return cuts;
}

void use_cuts(const Cuts& cuts, Options& options) {
  if (cuts.ipus == 1 && cuts.stages == 0) return;
  options.num_ipus = cuts.ipus;
  options.virtual_graph = VirtualGraph::manual;
  options.pipelining = cuts.stages > 0;
  options.batches_per_step = cuts.batches;
}

ir::Placement take_placement(Graph& graph, const Options& options) {
  const bool manual = options.virtual_graph == VirtualGraph::manual;
  ir::Placement placement;
  std::set<int64_t> ipus, stages;
  for (const Node* n : graph.nodes())
    if (const auto seat = ir::seat_of(*n)) {
      ipus.insert(seat->ipu);
      if (seat->stage >= 0) stages.insert(seat->stage);
    }
  if (options.num_ipus > 1 && options.virtual_graph == VirtualGraph::off)
    fail(ErrorCode::invalid_argument,
         "num_ipus={} needs virtual_graph_mode manual (of a model that manual_sharding has cut) or "
         "auto",
         options.num_ipus);
  if (options.pipelining && options.num_ipus == 1)
    fail(ErrorCode::invalid_argument,
         "enable_pipelining needs several IPUs: num_ipus is 1 (set it and virtual_graph_mode)");
  if (manual) {
    if (ipus.empty())
      fail(
          ErrorCode::invalid_argument,
          "virtual_graph_mode=manual: no node has {}: cut the model with `manual_sharding_config`, "
          "Sharder or pass manual_sharding, or use virtual_graph_mode=auto",
          ir::kIpuNumber);
    if (*ipus.rbegin() >= options.num_ipus)
      fail(ErrorCode::invalid_argument,
           "the model is cut for IPUs 0 to {}: num_ipus must be {} or more, found {}",
           *ipus.rbegin(), *ipus.rbegin() + 1, options.num_ipus);
    if (options.pipelining) check_stages(graph);
    placement = ir::Placement(graph);
  } else if (!ipus.empty()) {
    log().warn(
        "the model is cut for {} IPUs, which is not used: virtual_graph_mode=manual num_ipus={} "
        "uses it",
        ipus.size(), *ipus.rbegin() + 1);
  }
  if (options.pipelining) {
    const int64_t count = manual ? static_cast<int64_t>(stages.size()) : options.num_ipus;
    if (options.batches_per_step % count != 0)
      fail(ErrorCode::invalid_argument,
           "batches_per_step={} must be a multiple of the {} stages of the pipeline: give "
           "batches_per_step {}",
           options.batches_per_step, count, (options.batches_per_step + count - 1) / count * count);
  }
  ir::remove_placement(graph);
  return placement;
}

Cut cut_graph(const Graph& graph, const ir::Placement& placement, const Options& options) {
  Cut cut;
  const bool manual = options.virtual_graph == VirtualGraph::manual;
  if (options.num_ipus == 1) return cut;
  Seats seats = manual ? placement.complete(graph) : balance(graph, options);
  const std::vector<Node*> nodes = graph.nodes();
  std::set<int64_t> used;
  for (const Node* n : nodes) used.insert(seats.at(n).ipu);
  if (options.fewer_ipus && used.size() < 2) return cut;
  if (static_cast<int64_t>(used.size()) < options.num_ipus)
    log().warn("num_ipus={}: the model has become {} nodes, which are on {} of them",
               options.num_ipus, nodes.size(), used.size());
  const auto lists = order_shards(graph, seats, options.pipelining);
  std::vector<uint32_t> shard_of(nodes.size());
  for (size_t s = 0; s < lists.size(); s++)
    for (const size_t i : lists[s]) shard_of[i] = static_cast<uint32_t>(s);
  Extract extract(graph, cut, shard_of);
  extract.find_transfers();
  for (size_t s = 0; s < lists.size(); s++) {
    Seat seat = seats.at(nodes[lists[s][0]]);
    seat.stage = options.pipelining ? static_cast<int64_t>(s) : -1;
    cut.shards.push_back(extract.make(static_cast<uint32_t>(s), seat));
  }
  return cut;
}

}  // namespace poprt::compiler
