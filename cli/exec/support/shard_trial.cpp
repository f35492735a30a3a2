#include "exec/support/shard_trial.h"

#include <fmt/format.h>

#include <chrono>
#include <deque>

#include "common/random_inputs.h"
#include "compiler/driver.h"
#include "passes/pass.h"
#include "program/serialize.h"
#include "program/shards.h"
#include "runtime/runner/model_runner.h"

namespace poprt::cli {
namespace {

std::shared_ptr<const runtime::Model> loaded_model(const compiler::Executable& e) {
  auto loaded = program::load_in_memory(e.program, e.weights);
  return runtime::make_model("auto_shard",
                             {std::make_shared<const program::Program>(std::move(loaded.program)),
                              loaded.weights, loaded.owner});
}

// Keeps enough requests in flight to use all stages. Each request has its own outputs.
class RequestsInFlight {
 public:
  RequestsInFlight(runtime::ModelRunner& runner, size_t ipus) : runner_(runner), out_(4 * ipus) {
    for (const runtime::DataDesc& d : runner.execute_inputs()) {
      if (d.popef_contains_tensor_data) continue;
      auto& data = memory_.emplace_back(d.size_in_bytes);
      fill_random(static_cast<poprt_dtype>(d.anchor.dtype), data.data(), data.size(),
                  in_.size() + 1);
      in_.push_back({d.anchor.name, 0, data.data(), data.size()});
    }
    for (auto& own : out_)
      for (const runtime::DataDesc& d : runner.execute_outputs()) {
        auto& data = memory_.emplace_back(d.size_in_bytes);
        own.push_back({d.anchor.name, 0, data.data(), data.size()});
      }
  }

  void several(int64_t count) {
    std::deque<runtime::RequestPtr> open;
    const auto collect = [&](size_t most) {
      for (; open.size() > most; open.pop_front()) {
        open.front()->wait();
        open.front()->check();
      }
    };
    for (int64_t i = 0; i < count; i++) {
      collect(out_.size() - 1);
      open.push_back(runner_.execute_async(in_, out_[static_cast<size_t>(i) % out_.size()]));
    }
    collect(0);
  }

  void alone() { runner_.execute(in_, out_[0]); }

 private:
  runtime::ModelRunner& runner_;
  std::deque<std::vector<std::byte>> memory_;
  std::vector<runtime::InputBinding> in_;
  std::vector<std::vector<runtime::OutputBinding>> out_;
};

}  // namespace

std::unique_ptr<ir::Graph> cut_graph(const ir::Graph& graph,
                                     const std::vector<std::vector<std::string>>& cuts) {
  auto made = graph.clone();
  std::string info;
  for (size_t ipu = 0; ipu < cuts.size(); ipu++)
    for (const std::string& node : cuts[ipu])
      info += fmt::format("{}{}={}", info.empty() ? "" : "\n", node, ipu);
  const passes::PassCall call{&passes::pass_of("manual_sharding"),
                              {{"sharding_info", info}, {"pipelining_info", info}}};
  passes::run_passes(*made, std::span(&call, 1));
  return made;
}

Candidate compile_plan(const ir::Graph& graph, const std::vector<SubGraph>& parts,
                       const Plan& plan) {
  Candidate c;
  c.plan = plan;
  c.cuts = cuts_of(graph, parts, plan);
  auto cut = cut_graph(graph, c.cuts);
  compiler::DriverOptions o;
  o.num_ipus = static_cast<int64_t>(plan.size());
  o.virtual_graph = compiler::VirtualGraph::manual;
  o.pipelining = true;
  o.batches_per_step = o.num_ipus;
  const compiler::Executable e = compiler::compile_model(std::move(cut), o);
  const program::Shards shards = program::shards_of(e.program);
  c.bytes.resize(plan.size());
  for (const program::Shard& s : shards.shards)
    c.bytes[static_cast<size_t>(s.ipu)] +=
        s.arena_bytes + program::weight_bytes_read_by(e.program, s);
  c.model = loaded_model(e);
  return c;
}

void measure_candidate(Candidate& c, int64_t runs) {
  runtime::ModelRunner runner(c.model, {});
  RequestsInFlight requests(runner, c.plan.size());
  const Times times = time_requests(
      runs, [&](int64_t count) { requests.several(count); }, [&] { requests.alone(); },
      [] {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        return std::chrono::duration<double>(now).count();
      });
  c.per_second = times.per_second;
  c.latency_ms = times.latency_ms;
}

std::map<std::string, double> node_times(const ir::Graph& graph) {
  runtime::RunnerConfig config;
  config.session.load.profile = true;
  config.session.load.threads = 1;
  runtime::ModelRunner runner(loaded_model(compiler::compile_model(graph.clone(), {})), config);
  std::vector<std::vector<std::byte>> memory;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const auto& d : runner.execute_inputs())
    in.push_back(memory.emplace_back(d.size_in_bytes).data());
  for (const auto& d : runner.execute_outputs())
    out.push_back(memory.emplace_back(d.size_in_bytes).data());
  for (int i = 0; i < 5; i++) runner.execute(in.data(), out.data());
  std::map<std::string, double> by_node;
  for (const auto& row : runner.profile()) by_node[row.name] += static_cast<double>(row.min_ns);
  return by_node;
}

}  // namespace poprt::cli
