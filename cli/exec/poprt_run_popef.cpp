// poprt_exec poprt_run_popef: PopRT's program of the same name. It runs any PopEF file with random
// data through a runner of the chosen kind.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>

#include "base/log.h"
#include "common/arguments.h"
#include "common/child.h"
#include "common/random_inputs.h"
#include "common/temporary_folder.h"
#include "exec/commands.h"
#include "exec/support/clients.h"
#include "exec/support/popef_report.h"
#include "exec/support/tensors.h"

namespace poprt::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct RunPopefArguments {
  std::string popef, runner = "modelRunner", dynamic_input_name, mask_name;
  int64_t iteration = 100, threads = 1, index = 0, max_valid_num = 0, pack_timeout = 1000,
          batch_size = 0, replicas = 1, processes = 1;
  bool json = false;  // for the parent process

  bool packs() const { return runner == "packRunner"; }
};

// A runner and, for a fused executable, the model that it runs.
struct Served {
  Runner runner;
  std::string kind;
  std::string prefix;  // prefix of the anchor names of a request
};

Runner make_pack_runner(const RunPopefArguments& a, const poprt_executable* executable) {
  const bool named = !a.dynamic_input_name.empty();
  poprt_pack_runner_options options = {};
  options.struct_size = sizeof options;
  options.timeout_microseconds = a.pack_timeout;
  options.max_valid_num = static_cast<uint64_t>(a.max_valid_num);
  options.dynamic_input_name = named ? a.dynamic_input_name.c_str() : nullptr;
  options.mask_name = a.mask_name.empty() ? nullptr : a.mask_name.c_str();
  options.compile_batch_size = a.batch_size;
  poprt_runner* made = nullptr;
  check(poprt_pack_runner_create(executable, &options, &made));
  return Runner(made);
}

Served make(const RunPopefArguments& a, const poprt_executable* executable) {
  if (a.packs()) return {make_pack_runner(a, executable), a.runner, ""};
  poprt_runner* made = nullptr;
  if (a.runner == "lightRunner") {
    check(poprt_light_runner_create(executable, nullptr, &made));
  } else if (a.runner == "hostConcatRunner") {
    check(poprt_host_concat_runner_create(executable, nullptr, &made));
  } else {
    poprt_runner_options options = {};
    options.struct_size = sizeof options;
    options.replication_factor = static_cast<int32_t>(a.replicas);
    poprt_error* error = poprt_fusion_runner_create(executable, &options, &made);
    if (!error) return {Runner(made), "modelFusionRunner", fmt::format("graph{}/", a.index)};
    poprt_error_free(error);  // the executable has one model
    if (a.index != 0)
      throw Usage(
          fmt::format("--index: the model has no graph {} because it is not fused", a.index));
    check(poprt_runner_create(executable, &options, &made));
  }
  return {Runner(made), a.runner, ""};
}

// The memory of one client, and its requests.
class Client {
 public:
  Client(const RunPopefArguments& a, const Served& served, uint64_t seed)
      : packs_(a.packs()), rng_(seed) {
    const auto inputs = inputs_of(served.runner.get());
    for (size_t i = 0; i < inputs.size(); i++) {
      if (!takes(served, inputs[i]) || poprt_runner_input_has_data(served.runner.get(), i))
        continue;
      in_.emplace_back(inputs[i], inputs[i]);
      fill_random(inputs[i], in_.back().second.data(), seed + i);
    }
    for (const poprt_anchor* anchor : outputs_of(served.runner.get()))
      if (takes(served, anchor)) out_.emplace_back(anchor, anchor);
    if (in_.empty() && out_.empty())
      throw Usage(fmt::format("--index: the model has no graph {}", a.index));
  }

  void run(poprt_runner* runner) {
    // Items have random lengths. All inputs of one request fill the same part of their places.
    const double part = std::uniform_real_distribution<double>(0, 1)(rng_);
    std::vector<poprt_input> inputs;
    std::vector<poprt_output> outputs;
    for (auto& [anchor, memory] : in_)
      inputs.push_back(
          {poprt_anchor_name(anchor), 0, memory.data(),
           packs_ ? item_bytes(memory.bytes(), shape_of(anchor), part) : memory.bytes()});
    for (auto& [anchor, memory] : out_)
      outputs.push_back({poprt_anchor_name(anchor), 0, memory.data(), memory.bytes()});
    check(
        poprt_runner_execute(runner, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  }

  // Rows of one request. A pack consists of items.
  int64_t batch() const {
    std::vector<std::vector<int64_t>> shapes;
    for (const auto& [anchor, memory] : in_) shapes.push_back(shape_of(anchor));
    return packs_ ? 1 : rows_of(shapes);
  }

 private:
  static bool takes(const Served& served, const poprt_anchor* anchor) {
    return std::string_view(poprt_anchor_name(anchor)).starts_with(served.prefix);
  }
  bool packs_;
  std::mt19937_64 rng_;
  std::vector<std::pair<const poprt_anchor*, AnchorMemory>> in_, out_;
};

RunnerReport run_here(const RunPopefArguments& a) {
  poprt_executable* opened = nullptr;
  check(poprt_executable_open(a.popef.c_str(), &opened));
  const Executable executable(opened);
  const Served served = make(a, executable.get());
  // Random inputs are made before the time begins.
  std::vector<std::unique_ptr<Client>> clients;
  for (int64_t i = 0; i < a.threads; i++)
    clients.push_back(std::make_unique<Client>(a, served, static_cast<uint64_t>(i) + 1));
  const int64_t batch = clients.at(0)->batch();
  std::vector<std::vector<double>> each(clients.size());
  const auto begin = Clock::now();
  run_clients(each.size(), [&](size_t i) {
    for (int64_t n = 0; n < a.iteration; n++) {
      const auto t0 = Clock::now();
      clients[i]->run(served.runner.get());
      each[i].push_back(std::chrono::duration<double, std::milli>(Clock::now() - t0).count());
    }
  });
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  RunnerReport report{served.kind, batch, seconds, {}};
  for (const auto& e : each) report.ms.insert(report.ms.end(), e.begin(), e.end());
  return report;
}

// Returns the lines that a process has printed: warnings, and last its report or its error.
std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

// Runs replicas in separate processes that share the devices.
std::vector<RunnerReport> run_in_processes(const RunPopefArguments& a) {
  const TemporaryFolder folder;
  // These processes share devices with each other unless the user has set the variable.
  setenv("POPRT_SHARED_DEVICES", folder.path().c_str(), 0);
  std::vector<std::string> words = {"/proc/self/exe", "poprt_run_popef", "--reportAsJson"};
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    words.insert(words.end(), {name, value});
  };
  add("--popef", a.popef);
  add("--runner", a.runner);
  add("--iteration", std::to_string(a.iteration));
  add("--numThreads", std::to_string(a.threads));
  add("--index", std::to_string(a.index));
  add("--maxValidNum", std::to_string(a.max_valid_num));
  add("--packTimeout", std::to_string(a.pack_timeout));
  add("--dynamicInputName", a.dynamic_input_name);
  add("--maskName", a.mask_name);
  add("--batchSize", std::to_string(a.batch_size));
  for (const std::string& library : plugins_given()) add("--plugins", library);
  add("--replicationFactor", std::to_string(a.replicas));
  std::vector<RunnerReport> reports(static_cast<size_t>(a.processes));
  run_clients(reports.size(), [&](size_t i) {
    const auto file = folder.path() / fmt::format("{}.json", i);
    const int code = run_program(words, fmt::format("process {}", i), file);
    const std::vector<std::string> lines = lines_of(file);
    if (code != 0 || lines.empty())
      throw Failure(
          fmt::format("process {}: {}", i,
                      lines.empty() ? fmt::format("ended with code {}", code) : lines.back()));
    reports[i] = read_report(lines.back());
    // All processes print the same warnings, so those of the first one are sufficient.
    for (size_t l = 0; i == 0 && l + 1 < lines.size(); l++) fmt::print(stderr, "{}\n", lines[l]);
  });
  return reports;
}

int run(const RunPopefArguments& a) {
  if (a.replicas > 1 && a.runner != "modelRunner")
    throw Usage(
        fmt::format("--replicationFactor: a {} has one replica; give --numProcesses", a.runner));
  const std::vector<RunnerReport> reports =
      a.processes > 1 ? run_in_processes(a) : std::vector{run_here(a)};
  if (a.json)
    fmt::print("{}\n", report_line(reports[0]));
  else
    fmt::print("{}", summary(reports, {a.threads, a.iteration, a.processes, a.replicas}));
  return 0;
}

}  // namespace

void add_poprt_run_popef(Command& app, std::function<int()>& action) {
  auto a = std::make_shared<RunPopefArguments>();
  Command* c = app.add_command("poprt_run_popef", "Run any PopEF file with random data");
  c->add_option("--popef", a->popef, "PopEF file")->required();
  add_plugin_option(*c);
  c->add_option("--runner", a->runner,
                "modelRunner (for fused models the fusion runner), lightRunner, hostConcatRunner "
                "or packRunner")
      ->check(one_of({"modelRunner", "lightRunner", "hostConcatRunner", "packRunner"}))
      ->capture_default_str();
  const auto number = [&](const char* name, int64_t& to, int64_t least, const char* help) {
    return c->add_option(name, to, help)->check(at_least<int64_t>(least))->capture_default_str();
  };
  number("--iteration", a->iteration, 1, "Requests of each thread");
  c->add_option("--numThreads", a->threads, "Threads that send requests")
      ->check(between<int64_t>(1, 1024))
      ->capture_default_str();
  number("--index", a->index, 0, "Index of the graph of a fused model");
  const std::vector<std::pair<const char*, Option*>> of_packs = {
      {"--maxValidNum",
       number("--maxValidNum", a->max_valid_num, 0, "Items per pack; 0: as many as fit")},
      {"--packTimeout", number("--packTimeout", a->pack_timeout, 1,
                               "Time from a pack's first item until the pack runs, in us")},
      {"--dynamicInputName",
       c->add_option("--dynamicInputName", a->dynamic_input_name,
                     "Input of variable length; default: as described in the model")},
      {"--maskName", c->add_option("--maskName", a->mask_name, "Input that marks the real places")},
      {"--batchSize",
       number("--batchSize", a->batch_size, 0, "Rows of a pack; 0: of the dynamic input")}};
  c->add_option("--replicationFactor", a->replicas, "Replicas, each on its own IPUs")
      ->check(between<int64_t>(1, 1024))
      ->capture_default_str();
  c->add_option("--numProcesses", a->processes,
                "Processes with these replicas and threads; they share IPUs as set by "
                "POPRT_SHARED_DEVICES, or with each other")
      ->check(between<int64_t>(1, 256))
      ->capture_default_str();
  c->add_flag("--reportAsJson", a->json, "")->group("");
  c->callback([a, of_packs, &action] {
    action = [a, of_packs] {
      // A child process gets all options from its parent, so it does not warn.
      for (const auto& [name, option] : of_packs)
        if (a->runner != "packRunner" && !a->json && option->count() > 0)
          log().warn("{} has an effect only with --runner packRunner", name);
      return run(*a);
    };
  });
}

}  // namespace poprt::cli
