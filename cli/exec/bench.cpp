// poprt_exec bench: measures latency and throughput with one or several clients, and the speed of
// texts of a language model.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "common/arguments.h"
#include "common/json.h"
#include "common/random_inputs.h"
#include "common/waiting.h"
#include "compiler/driver.h"
#include "exec/commands.h"
#include "exec/support/any_shape.h"
#include "exec/support/cases.h"
#include "exec/support/clients.h"
#include "exec/support/generation_bench.h"
#include "exec/support/given_shapes.h"
#include "exec/support/latencies.h"
#include "exec/support/session_bench.h"
#include "exec/support/tensors.h"

namespace poprt::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Set by the first SIGINT while requests are measured. The second one ends the process.
volatile std::sig_atomic_t stopped_by_user = 0;
constexpr int kInterrupted = 130;  // as shells report SIGINT

void stop_measuring(int) { stopped_by_user = 1; }

// Makes SIGINT end the measurement, so that its results until then are printed.
class StopOnInterrupt {
 public:
  StopOnInterrupt() {
    struct sigaction action{};
    action.sa_handler = stop_measuring;
    action.sa_flags = SA_RESETHAND;
    ::sigaction(SIGINT, &action, &before_);
  }
  ~StopOnInterrupt() { ::sigaction(SIGINT, &before_, nullptr); }
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;

 private:
  struct sigaction before_{};
};

struct BenchArguments {
  std::string model, through = "runner", execution_precision;
  std::vector<std::string> inputs, inputs_pb;
  int threads = 0, clients = 1, warmup = 3;
  int64_t iterations = 0;
  double seconds = 2;
  bool async = false, json = false;
  CompileSettings compile;
  std::vector<NamedShape> shapes;  // with --on_demand
  bool generate = false;
  std::vector<std::string> sequences = {"1"};
  GenerationSettings generation;
};

// The memory of one client for one request.
struct Buffers {
  std::vector<AnchorMemory> in, out;
  std::vector<poprt_input> inputs;
  std::vector<poprt_output> outputs;
  // Pointers by position, for an executable with one model.
  std::vector<const void*> in_data;
  std::vector<void*> out_data;
  std::unique_ptr<ShapedRequest> shaped;  // used instead with --on_demand

  Buffers(const Case& c, const BenchArguments& a, poprt_runner* runner) {
    if (a.compile.on_demand) {
      shaped = std::make_unique<ShapedRequest>(
          runner, arrays_of_shapes(a.shapes, read_arrays(a.inputs, a.inputs_pb, runner), runner),
          true);
      return;
    }
    std::vector<const poprt_anchor*> anchors;
    for (const Case::Tensor& t : c.inputs) {
      anchors.push_back(t.anchor);
      in.emplace_back(t.anchor);
    }
    for (const Case::Tensor& t : c.outputs) out.emplace_back(t.anchor);
    fill_inputs(anchors, in, of_case(a.inputs, c), of_case(a.inputs_pb, c), Missing::random);
    for (size_t i = 0; i < in.size(); i++)
      inputs.push_back(
          {poprt_anchor_name(c.inputs[i].anchor), 0, in[i].data(), c.inputs[i].bytes()});
    for (size_t i = 0; i < out.size(); i++)
      outputs.push_back(
          {poprt_anchor_name(c.outputs[i].anchor), 0, out[i].data(), c.outputs[i].bytes()});
    if (!c.name.empty()) return;
    in_data.resize(c.positions);
    for (size_t i = 0; i < in.size(); i++) in_data[c.inputs[i].index] = in[i].data();
    for (AnchorMemory& m : out) out_data.push_back(m.data());
  }

  void execute(poprt_runner* runner) const {
    if (shaped) return shaped->run();
    check(out_data.empty() ? poprt_runner_execute(runner, inputs.data(), inputs.size(),
                                                  outputs.data(), outputs.size())
                           : poprt_runner_execute_indexed(runner, in_data.data(), out_data.data()));
  }

 private:
  // Returns the words for one of several models.
  static std::vector<std::string> of_case(std::vector<std::string> words, const Case& c) {
    if (!c.name.empty())
      std::erase_if(words, [&](const std::string& w) { return graph_of(w) != c.name + "/"; });
    return words;
  }
};

// Number of batches in one call of the device.
int64_t batches_per_step(const Executable& executable) {
  poprt_popef_metadata* metadata = nullptr;
  check(poprt_executable_popef_metadata(executable.get(), &metadata));
  const int64_t batches = poprt_popef_metadata_get(metadata, POPRT_POPEF_DEVICE_ITERATIONS);
  poprt_popef_metadata_free(metadata);
  return batches;
}

// Number of requests that one asynchronous client keeps in flight: two steps, because an incomplete
// step waits, but at most kMost, because each request has its own memory.
size_t in_flight_of(int64_t batches) {
  constexpr int64_t kLeast = 8, kMost = 1024;
  if (2 * batches > kMost)
    print_error(
        "poprt_exec bench: warning: a step has {} batches, which {} requests in flight do not "
        "fill; steps wait for their timeout\n",
        batches, kMost);
  return static_cast<size_t>(std::clamp(2 * batches, kLeast, kMost));
}

// The memory of one client: of each request that it has in flight.
using ClientMemory = std::vector<std::unique_ptr<Buffers>>;

ClientMemory memory_of_client(const BenchArguments& a, const Case& c, poprt_runner* runner,
                              size_t in_flight) {
  if (!a.async) in_flight = 1;
  if (a.iterations > 0) in_flight = std::min(in_flight, static_cast<size_t>(a.iterations));
  ClientMemory memory;
  for (size_t i = 0; i < in_flight; i++) memory.push_back(std::make_unique<Buffers>(c, a, runner));
  return memory;
}

void client(poprt_runner* runner, const ClientMemory& memory, const BenchArguments& a,
            Clock::time_point until, std::vector<double>& ms) {
  int64_t begun = 0;
  const auto more = [&] {
    if (stopped_by_user && begun > 0) return false;
    return a.iterations > 0 ? begun < a.iterations : Clock::now() < until || begun == 0;
  };
  if (!a.async) {
    for (; more(); begun++) {
      const auto t0 = Clock::now();
      memory[0]->execute(runner);
      ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - t0).count());
    }
    return;
  }
  struct Slot {
    const Buffers* buffers = nullptr;
    Request request;
    Clock::time_point start;
    // If another request failed, the runner may still use the memory of this one.
    ~Slot() {
      if (request) poprt_error_free(poprt_request_wait(request.get(), -1));
    }
  };
  const size_t in_flight = memory.size();
  std::vector<Slot> slots(in_flight);
  for (size_t i = 0; i < in_flight; i++) slots[i].buffers = memory[i].get();
  const auto finish = [&](Slot& s) {
    if (!s.request) return;
    check(poprt_request_wait(s.request.get(), -1));
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - s.start).count());
    s.request.reset();
  };
  size_t next = 0;  // the slot with the oldest request
  for (;; next = (next + 1) % in_flight) {
    Slot& s = slots[next];
    finish(s);
    if (!more()) break;
    begun++;
    s.start = Clock::now();
    poprt_request* request = nullptr;
    check(poprt_runner_execute_async(runner, s.buffers->inputs.data(), s.buffers->inputs.size(),
                                     s.buffers->outputs.data(), s.buffers->outputs.size(), nullptr,
                                     nullptr, &request));
    s.request.reset(request);
  }
  // The last requests count, too, because the time of the measurement includes them.
  for (size_t i = 0; i < in_flight; i++) finish(slots[(next + i) % in_flight]);
}

// Returns the latencies of all clients in any order.
SessionTimes through_runner(const BenchArguments& a, const Runner& runner, const Case& c,
                            size_t in_flight, double share) {
  // Random inputs are made before the time begins.
  std::vector<ClientMemory> memory;
  for (int i = 0; i < a.clients; i++)
    memory.push_back(memory_of_client(a, c, runner.get(), in_flight));
  for (int i = 0; i < a.warmup && !stopped_by_user; i++) memory[0][0]->execute(runner.get());
  std::vector<std::vector<double>> each(memory.size());
  const auto begin = Clock::now();
  const auto until = begin + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(a.seconds * share));
  run_clients(each.size(), [&](size_t i) { client(runner.get(), memory[i], a, until, each[i]); });
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();

  SessionTimes times{{}, seconds};
  for (const auto& e : each) times.ms.insert(times.ms.end(), e.begin(), e.end());
  return times;
}

SessionTimes through_session(const BenchArguments& a, const Executable& executable,
                             size_t in_flight) {
  SessionBench b;
  b.executable = executable.get();
  b.queues = a.through == "queues";
  b.threads = a.threads;
  b.warmup = a.warmup;
  b.transfers = batches_per_step(executable);
  b.in_flight = in_flight;
  b.inputs = a.inputs;
  b.inputs_pb = a.inputs_pb;
  Clock::time_point until;
  return bench_session(b, [&](size_t done) {
    if (stopped_by_user && done > 0) return false;
    if (a.iterations > 0) return static_cast<int64_t>(done) < a.iterations;
    if (done == 0)
      until = Clock::now() +
              std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(a.seconds));
    return done == 0 || Clock::now() < until;
  });
}

// The results of one case.
struct Measured {
  std::string name;
  Latencies latencies;

  Measured(std::string of, SessionTimes times)
      : name(std::move(of)), latencies(std::move(times.ms), times.seconds) {}
};

// Files can be given for a model of one shape. If there are several models, the name of an input
// starts with that of its graph, such as graph0/.
void check_inputs(const BenchArguments& a, const Cases& cases, const poprt_runner* runner) {
  if (cases.kind == Cases::shapes && (!a.inputs.empty() || !a.inputs_pb.empty()))
    throw Usage("inputs of a model at several shapes are random; omit --input");
  for (const auto* words : {&a.inputs, &a.inputs_pb})
    for (const std::string& word : *words)
      if (cases.kind == Cases::graphs && graph_of(word).empty())
        find_anchor(inputs_of(runner), word.substr(0, word.find('=')), "input");
}

std::vector<Measured> measure(const BenchArguments& a, const Executable& executable,
                              const Runner& runner, size_t in_flight) {
  std::vector<Measured> measured;
  if (!runner) {
    measured.emplace_back("", through_session(a, executable, in_flight));
    return measured;
  }
  const Cases cases = cases_of(executable.get(), runner.get());
  check_inputs(a, cases, runner.get());
  const double share = 1.0 / static_cast<double>(cases.list.size());
  for (const Case& c : cases.list) {
    if (stopped_by_user && !measured.empty()) break;
    measured.emplace_back(c.name, through_runner(a, runner, c, in_flight, share));
  }
  return measured;
}

void check_generation(const BenchArguments& a) {
  const std::pair<bool, const char*> others[] = {
      {!a.inputs.empty(), "--input"},
      {!a.inputs_pb.empty(), "--input-pb"},
      {a.clients != 1, "--clients"},
      {a.async, "--async"},
      {a.compile.on_demand, "--on_demand"},
      {a.through != "runner", "--through"},
      {!a.execution_precision.empty(), "--execution_precision"}};
  for (const auto& [given, name] : others)
    if (given) throw Usage(fmt::format("{} has no effect with --generate", name));
  if (a.compile.any_given() || a.compile.allow_unknown_inputs || a.compile.batch_axis >= 0)
    throw Usage(
        "options of the compilation have no effect with --generate; poprt_exec generate --save "
        "writes a PopEF file");
}

int bench_generation(const BenchArguments& a) {
  check_generation(a);
  std::vector<int64_t> numbers;
  for (const std::string& word : a.sequences) numbers.push_back(std::stoll(word));
  GenerationSettings settings = a.generation;
  settings.model = a.model;
  settings.threads = a.threads;
  settings.warmup = a.warmup;
  settings.most_sequences = std::ranges::max(numbers);
  std::vector<GenerationTimes> measured;
  // Before anything is measured, SIGINT ends the process.
  std::optional<StopOnInterrupt> stop;
  for (const int64_t sequences : numbers) {
    if (stopped_by_user) break;
    std::optional<Waiting> waiting;
    waiting.emplace(a.model.ends_with(".popef") ? "open" : "compile");
    GenerationBench bench(settings, sequences);
    if (!stop) stop.emplace();
    waiting.emplace("measure");
    const auto until =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                           a.seconds / static_cast<double>(numbers.size())));
    GenerationTimes times = bench.measure(
        [&](int64_t done) {
          return a.iterations > 0 ? done < a.iterations : done == 0 || Clock::now() < until;
        },
        [] { return stopped_by_user != 0; });
    waiting.reset();
    if (times.repetitions == 0) break;
    // Each row is printed at once, because the next model may take long to compile.
    if (!a.json && measured.empty())
      fmt::print("prompts of {} tokens, {} new tokens; min / median / max of all sequences\n{}",
                 settings.prompt_tokens, settings.new_tokens, GenerationTimes::header());
    if (!a.json) fmt::print("{}", times.row());
    std::fflush(stdout);
    measured.push_back(std::move(times));
  }
  if (a.json) {
    nlohmann::json j = {{"model", a.model},
                        {"prompt_tokens", settings.prompt_tokens},
                        {"new_tokens", settings.new_tokens},
                        {"seed", settings.seed},
                        {"interrupted", stopped_by_user != 0},
                        {"cases", nlohmann::json::array()}};
    for (const GenerationTimes& times : measured) j["cases"].push_back(times.json());
    print_json(j);
  }
  return stopped_by_user ? kInterrupted : 0;
}

// Takes variable dimensions of an ONNX model from the files of its inputs.
void shapes_from_inputs(BenchArguments& a) {
  std::vector<std::string> words = a.inputs;
  words.insert(words.end(), a.inputs_pb.begin(), a.inputs_pb.end());
  if (words.empty() || a.model.ends_with(".popef")) return;
  const auto graph = compiler::read_model({.path = a.model}, a.compile.allow_links);
  check_given_names(*graph, words);
  shapes_from_files(*graph, words, a.compile);
}

int bench(BenchArguments& a) {
  if (a.generate) return bench_generation(a);
  if (std::filesystem::is_directory(a.model))
    throw Usage(fmt::format("'{}' is a folder; a language model needs --generate", a.model));
  const bool session = a.through != "runner";
  if (session && (a.clients > 1 || a.async))
    throw Usage(fmt::format("--through {} has one client, without --async", a.through));
  if (session && !a.execution_precision.empty())
    throw Usage("--execution_precision needs --through runner");
  if (a.compile.on_demand) {
    if (session || a.async) throw Usage("--on_demand does not support --through and --async");
    a.shapes = parse_single_shapes(std::exchange(a.compile.input_shape, {}));
  }
  const auto t0 = Clock::now();
  std::optional<Waiting> waiting;
  waiting.emplace(a.model.ends_with(".popef") ? "open" : "compile");
  shapes_from_inputs(a);
  const Executable executable = load_model(a.model, a.compile);
  require_no_generator(executable.get(), a.model);
  Runner runner;
  if (!session)
    runner = make_runner(executable.get(), {.threads = a.threads,
                                            .execution_precision = a.execution_precision.c_str()});
  const double load_ms = std::chrono::duration<double, std::milli>(Clock::now() - t0).count();
  const size_t in_flight = a.async || session ? in_flight_of(batches_per_step(executable)) : 1;
  waiting.emplace("measure");
  std::vector<Measured> measured;
  {
    const StopOnInterrupt stop;
    measured = measure(a, executable, runner, in_flight);
  }
  waiting.reset();
  const int code = stopped_by_user ? kInterrupted : 0;
  const bool one = measured.size() == 1 && measured[0].name.empty();
  if (a.json) {
    nlohmann::json j = {{"model", a.model},     {"load_ms", load_ms},
                        {"through", a.through}, {"clients", a.clients},
                        {"async", a.async},     {"interrupted", stopped_by_user != 0}};
    if (one) j.update(measured[0].latencies.json());
    for (const Measured& m : measured)
      if (!one) (j["cases"].emplace_back(m.latencies.json()))["name"] = m.name;
    print_json(j);
    return code;
  }
  const std::string how = a.async   ? fmt::format(", {} requests in flight each", in_flight)
                          : session ? fmt::format(", through {}", a.through)
                                    : "";
  size_t requests = 0;
  for (const Measured& m : measured) requests += m.latencies.count();
  fmt::print("load {:.2f} ms, {} requests, {} client{}{}\n", load_ms, requests, a.clients,
             a.clients == 1 ? "" : "s", how);
  for (const Measured& m : measured) {
    if (!one) fmt::print("{}: {} requests\n", printable(m.name), m.latencies.count());
    fmt::print("{}", m.latencies.text());
  }
  return code;
}

void add_generation_options(Command& c, BenchArguments& a) {
  c.group("Language models");
  GenerationSettings& g = a.generation;
  const Option* generate = c.add_flag("--generate", a.generate,
                                      "Measure texts: tokens per second of prompts and new tokens, "
                                      "and the time to the first token");
  c.add_option("--sequences", a.sequences, "1,3,8: numbers of texts that run together [1]")
      ->delimiter(',')
      ->check(between(int64_t{1}, int64_t{1024}))
      ->needs(generate);
  c.add_option("--prompt_tokens", g.prompt_tokens, "Tokens of each prompt, which are random")
      ->check(between(int64_t{1}, int64_t{1} << 24))
      ->capture_default_str()
      ->needs(generate);
  c.add_option("--new_tokens", g.new_tokens, "Tokens of each text after its prompt")
      ->check(between(int64_t{2}, int64_t{1} << 24))
      ->capture_default_str()
      ->needs(generate);
  c.add_option("--max_length", g.max_length,
               "Tokens that the caches have room for [the context of the model, at most 2048]")
      ->check(between(int64_t{1}, int64_t{1} << 24))
      ->needs(generate);
  c.add_option("--prefill", g.prefill, "Tokens of a prompt that one run computes [32 and 128]")
      ->check(between(int64_t{1}, int64_t{1} << 24))
      ->needs(generate);
  c.add_option("--cache_precision", g.cache_precision,
               "int8: caches of keys and values have 8 bits [the precision of the model]")
      ->check(one_of({"int8"}))
      ->needs(generate);
  c.add_option("--seed", g.seed, "Seed of the prompts")->capture_default_str()->needs(generate);
}

}  // namespace

void add_bench(Command& app, std::function<int()>& action) {
  auto a = std::make_shared<BenchArguments>();
  Command* c = app.add_command("bench", "Measure latency and throughput");
  c->add_option("MODEL", a->model,
                ".popef, or .onnx (compiled first); with --generate also a folder, as of generate")
      ->required();
  c->add_option("--input", a->inputs, "NAME=FILE.npy (other inputs are random)")->many();
  c->add_option("--input-pb", a->inputs_pb, "NAME=FILE.pb")->many();
  c->add_flag(
      "--on_demand", a->compile.on_demand,
      "Compile the source of a .popef file (--embed_source) at the shapes of --input_shape");
  c->add_option("--threads", a->threads, "Compute threads [all CPUs]")->check(between(0, 1024));
  add_precision_option(*c, a->execution_precision);
  c->add_option("--clients", a->clients, "Client threads")
      ->check(between(1, 1024))
      ->capture_default_str();
  c->add_flag("--async", a->async, "Clients keep several requests in flight");
  c->add_option("--through", a->through, "runner, or only a session's callbacks or queues")
      ->check(one_of({"runner", "callbacks", "queues"}))
      ->capture_default_str();
  c->add_option("--iterations", a->iterations,
                "Requests of each client, or texts of each sequence [by time]")
      ->check(at_least<int64_t>(1));
  c->add_option("--seconds", a->seconds,
                "Seconds to measure in total, for all models, shapes and --sequences")
      ->check(between(1e-3, 1e6))
      ->capture_default_str();
  const Option* warmup =
      c->add_option("--warmup", a->warmup, "Runs before measuring [3, with --generate 1]")
          ->check(at_least(0));
  c->add_flag("--json", a->json, "Report as JSON");
  add_generation_options(*c, *a);
  add_compile_options(*c, a->compile);
  c->callback([a, warmup, &action] {
    if (a->generate && !warmup->count()) a->warmup = 1;
    action = [a] { return bench(*a); };
  });
}

}  // namespace poprt::cli
