// poprt_exec auto_shard: chooses where a model is cut for several IPUs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <future>

#include "base/error.h"
#include "base/log_level.h"
#include "common/arguments.h"
#include "common/json.h"
#include "common/random_inputs.h"
#include "compiler/compiler.h"
#include "exec/commands.h"
#include "exec/support/shard_plans.h"
#include "ir/placement.h"
#include "onnx/export.h"
#include "onnx/import.h"
#include "ops/op.h"
#include "passes/pass.h"
#include "program/serialize.h"
#include "program/shards.h"
#include "runtime/runner/model_runner.h"

namespace poprt::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double kChipBytes = 1472.0 * 638976;  // 1 472 tiles (Mk2, C600) of 624 KiB each

struct AutoShardArguments {
  std::string input_model, output_model;
  int64_t num_ipus = 0, num_processes = 2, runs = 200;
  double memory_proportion = 0.6;
  bool optimal_perf = false, json = false;
};

struct Candidate {
  Plan plan;
  std::vector<std::vector<std::string>> cuts;  // by IPU
  std::vector<uint64_t> bytes;                 // by IPU: weights and memory
  std::shared_ptr<const runtime::Model> model;
  double latency_ms = 0, per_second = 0;

  double fullest() const { return static_cast<double>(std::ranges::max(bytes)) / kChipBytes; }
};

class Search {
 public:
  explicit Search(const AutoShardArguments& a) : a_(a), graph_(onnx::import_file(a.input_model)) {
    ops::infer(*graph_);
    apply("unique_name_for_nodes", {}, *graph_);
    parts_ = sub_graphs(*graph_);
  }

  Candidate run() {
    Candidate best = fill();
    measure(best);
    if (a_.optimal_perf) improve(best);
    return best;
  }

  void write(const Candidate& c) const {
    const auto sharded = cut(c);
    onnx::export_file(*sharded, a_.output_model);
  }

  const std::vector<SubGraph>& parts() const { return parts_; }

 private:
  static void apply(std::string_view pass, const passes::Arguments& arguments, ir::Graph& graph) {
    const passes::PassCall call{&passes::pass_of(pass), arguments};
    passes::run_passes(graph, std::span(&call, 1));
  }

  std::unique_ptr<ir::Graph> cut(const Candidate& c) const {
    auto graph = graph_->clone();
    std::string info;
    for (size_t ipu = 0; ipu < c.cuts.size(); ipu++)
      for (const std::string& node : c.cuts[ipu]) info += fmt::format("{}={}\n", node, ipu);
    info.pop_back();
    apply("manual_sharding", {{"sharding_info", info}, {"pipelining_info", info}}, *graph);
    return graph;
  }

  static std::shared_ptr<const runtime::Model> load(const compiler::Executable& e) {
    auto loaded = program::load_in_memory(e.program, e.weights);
    return runtime::make_model("auto_shard",
                               {std::make_shared<const program::Program>(std::move(loaded.program)),
                                loaded.weights, loaded.owner});
  }

  Candidate compile(Plan plan) const {
    Candidate c;
    c.plan = std::move(plan);
    c.cuts = cuts_of(*graph_, parts_, c.plan);
    const auto graph = cut(c);
    compiler::Options o;
    o.num_ipus = a_.num_ipus;
    o.virtual_graph = compiler::VirtualGraph::manual;
    o.pipelining = true;
    o.batches_per_step = a_.num_ipus;
    compiler::convert(*graph, o);
    const compiler::Executable e = compiler::compile(*graph, o);
    const program::Shards shards = program::shards_of(e.program);
    c.bytes.resize(static_cast<size_t>(a_.num_ipus));
    for (const program::Shard& s : shards.shards)
      c.bytes[static_cast<size_t>(s.ipu)] += s.arena_bytes + program::weights_bytes(e.program, s);
    c.model = load(e);
    return c;
  }

  // Equal bytes; as long as an IPU is too full, a sub-graph of it goes to a neighbour that has more
  // room.
  Candidate fill() const {
    std::vector<double> bytes;
    for (const SubGraph& p : parts_) bytes.push_back(static_cast<double>(p.bytes) + 1);
    Candidate least = compile(balanced(bytes, static_cast<size_t>(a_.num_ipus)));
    Candidate now = least;
    for (int step = 0; step < 16 && least.fullest() > a_.memory_proportion; step++) {
      const size_t full =
          static_cast<size_t>(std::ranges::max_element(now.bytes) - now.bytes.begin());
      const bool has_left = full > 0, has_right = full + 1 < now.bytes.size();
      const bool left = has_left && (!has_right || now.bytes[full - 1] < now.bytes[full + 1]);
      const size_t begin = full ? now.plan[full - 1] : 0;
      if (now.plan[full] - begin < 2) break;
      Plan plan = now.plan;
      left ? plan[full - 1]++ : plan[full]--;
      now = compile(std::move(plan));
      if (now.fullest() < least.fullest()) least = now;
    }
    if (least.fullest() > 1)
      fail(ErrorCode::resource_exhausted,
           "an IPU would hold {:.0f} MB, which is more than its {:.0f} MB: give more --num_ipus",
           least.fullest() * kChipBytes / 1e6, kChipBytes / 1e6);
    if (least.fullest() > a_.memory_proportion)
      say("poprt_exec: an IPU is {:.0f} % full, --memory_proportion allows {:.0f} %\n",
          least.fullest() * 100, a_.memory_proportion * 100);
    return least;
  }

  void measure(Candidate& c) const {
    runtime::ModelRunner runner(c.model, {});
    std::deque<std::vector<std::byte>> memory;
    std::vector<runtime::InputBinding> in;
    for (const runtime::DataDesc& d : runner.execute_inputs()) {
      if (d.popef_contains_tensor_data) continue;
      auto& data = memory.emplace_back(d.size_in_bytes);
      fill_random(static_cast<poprt_dtype>(d.anchor.dtype), data.data(), data.size(),
                  in.size() + 1);
      in.push_back({d.anchor.name, 0, data.data(), data.size()});
    }
    // As many requests are in flight as keep all stages at work, each with outputs of its own.
    std::vector<std::vector<runtime::OutputBinding>> out(4 * static_cast<size_t>(a_.num_ipus));
    for (auto& own : out)
      for (const runtime::DataDesc& d : runner.execute_outputs()) {
        auto& data = memory.emplace_back(d.size_in_bytes);
        own.push_back({d.anchor.name, 0, data.data(), data.size()});
      }
    const auto all = [&](int64_t count) {
      std::deque<runtime::RequestPtr> open;
      const auto collect = [&](size_t most) {
        for (; open.size() > most; open.pop_front()) {
          open.front()->wait();
          open.front()->check();
        }
      };
      for (int64_t i = 0; i < count; i++) {
        collect(out.size() - 1);
        open.push_back(runner.execute_async(in, out[static_cast<size_t>(i) % out.size()]));
      }
      collect(0);
    };
    all(20);
    const auto begin = Clock::now();
    all(a_.runs);
    const std::chrono::duration<double> took = Clock::now() - begin;
    c.per_second = static_cast<double>(a_.runs) / took.count();
    const auto first = Clock::now();
    constexpr int kAlone = 10;
    for (int i = 0; i < kAlone; i++) runner.execute(in, out[0]);
    c.latency_ms = std::chrono::duration<double, std::milli>(Clock::now() - first).count() / kAlone;
  }

  // What each instruction of one IPU takes says how much the sub-graphs cost; then borders move by
  // one as long as that helps.
  void improve(Candidate& best) {
    set_times(*graph_, times(), parts_);
    std::vector<double> cost;
    for (const SubGraph& p : parts_) cost.push_back(p.nanoseconds + 1e-6 * p.flops + 1e-9);
    std::vector<Plan> next{balanced(cost, static_cast<size_t>(a_.num_ipus))}, seen{best.plan};
    for (int round = 0; round < 4 && !next.empty(); round++) {
      bool better = false;
      for (Candidate& c : compile_all(next, seen)) {
        if (c.fullest() > std::max(a_.memory_proportion, best.fullest())) continue;
        measure(c);
        if (c.per_second <= best.per_second) continue;
        best = std::move(c);
        better = true;
      }
      next.clear();
      if (!better && round > 0) break;
      for (size_t border = 0; border + 1 < best.plan.size(); border++)
        for (const int by : {-1, 1}) {
          Plan plan = best.plan;
          plan[border] += static_cast<size_t>(by);
          if (plan[border] > (border ? plan[border - 1] : 0) && plan[border] < plan[border + 1])
            next.push_back(std::move(plan));
        }
    }
  }

  // As many at a time as --num_processes says.
  std::vector<Candidate> compile_all(const std::vector<Plan>& plans,
                                     std::vector<Plan>& seen) const {
    std::vector<Candidate> made;
    std::deque<std::future<Candidate>> open;
    const auto collect = [&](size_t most) {
      for (; open.size() > most; open.pop_front()) made.push_back(open.front().get());
    };
    for (const Plan& plan : plans) {
      if (std::ranges::count(seen, plan)) continue;
      seen.push_back(plan);
      collect(static_cast<size_t>(a_.num_processes) - 1);
      open.push_back(std::async(std::launch::async, [this, plan] { return compile(plan); }));
    }
    collect(0);
    return made;
  }

  // Nanoseconds by name of node, on one IPU.
  std::map<std::string, double> times() const {
    const auto graph = graph_->clone();
    compiler::convert(*graph, {});
    runtime::RunnerConfig config;
    config.session.load.profile = true;
    config.session.load.threads = 1;
    runtime::ModelRunner runner(load(compiler::compile(*graph, {})), config);
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

  const AutoShardArguments& a_;
  std::unique_ptr<ir::Graph> graph_;
  std::vector<SubGraph> parts_;
};

void print(const AutoShardArguments& a, const Candidate& c) {
  if (a.json) {
    nlohmann::ordered_json ipus = nlohmann::ordered_json::array();
    for (size_t i = 0; i < c.bytes.size(); i++)
      ipus.push_back({{"ipu", i}, {"cut", c.cuts[i]}, {"bytes", c.bytes[i]}});
    print_json({{"input_model", a.input_model},
                {"output_model", a.output_model},
                {"ipus", ipus},
                {"latency_ms", c.latency_ms},
                {"throughput", c.per_second}});
    return;
  }
  for (size_t i = 0; i < c.bytes.size(); i++)
    fmt::print("IPU {}: {:.1f} MB, {}\n", i, static_cast<double>(c.bytes[i]) / 1e6,
               c.cuts[i].empty() ? std::string("the rest")
                                 : fmt::format("cut at {}", fmt::join(c.cuts[i], ", ")));
  fmt::print("Latency: {:.2f} ms\nThroughput: {:.1f}/s\nsharded model: {}\n", c.latency_ms,
             c.per_second, a.output_model);
}

int run(AutoShardArguments a) {
  warn_of_log_level();
  if (a.num_ipus < 2)
    throw Usage(fmt::format("--num_ipus: expected more than 1, found {}", a.num_ipus));
  if (a.output_model.empty()) {
    const fs::path input = a.input_model;
    a.output_model =
        (input.parent_path() / (input.stem().string() + ".auto_sharded.onnx")).string();
  }
  std::error_code error;
  if (fs::equivalent(a.input_model, a.output_model, error))
    throw Usage("--output_model: the sharded model would overwrite its source");
  Search search(a);
  const Candidate found = search.run();
  search.write(found);
  print(a, found);
  return 0;
}

}  // namespace

void add_auto_shard(Command& app, std::function<int()>& action) {
  Command* command = app.add_command(
      "auto_shard", "Choose where a converted model is cut for several IPUs, and try it");
  const auto a = std::make_shared<AutoShardArguments>();
  command->add_option("-i,--input_model", a->input_model, "Converted ONNX model")->required();
  command->add_option("--num_ipus", a->num_ipus, "How many IPUs share it, more than 1")->required();
  command->add_option("--output_model", a->output_model,
                      "Where it goes, with attributes for virtual_graph_mode=manual; else beside "
                      "its source as NAME.auto_sharded.onnx");
  command->add_flag("--optimal_perf", a->optimal_perf,
                    "Go on with other cuts, by the time that parts take, while they are faster");
  command
      ->add_option("--num_processes", a->num_processes,
                   "Cuts that are compiled at the same time, at most 64")
      ->check(between(1, 64))
      ->capture_default_str();
  command
      ->add_option("--memory_proportion", a->memory_proportion,
                   "Part of a chip's memory that an IPU's weights and data may take")
      ->check(between(0.01, 1.0))
      ->capture_default_str();
  command->add_option("--runs", a->runs, "Asynchronous runs that are timed, behind 20 others")
      ->check(between(1, 1000000))
      ->capture_default_str();
  command->add_flag("--json", a->json, "The result as JSON");
  command->callback([&action, a] { action = [a] { return run(*a); }; });
}

}  // namespace poprt::cli
