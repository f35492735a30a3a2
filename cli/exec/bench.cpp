// poprt_exec bench: latency and throughput under one or several clients.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "common/arguments.h"
#include "common/json.h"
#include "exec/commands.h"
#include "exec/support/session_bench.h"
#include "exec/support/tensors.h"

namespace poprt::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  std::string model, through = "runner";
  std::vector<std::string> inputs, inputs_pb;
  int threads = 0, clients = 1, warmup = 3;
  int64_t iterations = 0;
  double seconds = 2;
  bool async = false, json = false;
  CompileSettings compile;
};

// One client's memory for one request.
struct Buffers {
  std::vector<AnchorMemory> in, out;
  std::vector<const void*> in_data;
  std::vector<void*> out_data;
  std::vector<poprt_input> inputs;
  std::vector<poprt_output> outputs;

  Buffers(const poprt_runner* runner, const Arguments& a) {
    const auto ins = inputs_of(runner), outs = outputs_of(runner);
    for (const auto* anchor : ins) in.emplace_back(anchor);
    for (const auto* anchor : outs) out.emplace_back(anchor);
    fill_inputs(ins, in, a.inputs, a.inputs_pb, true);
    for (size_t i = 0; i < in.size(); i++) {
      in_data.push_back(in[i].data());
      inputs.push_back({nullptr, i, in[i].data(), in[i].bytes()});
    }
    for (size_t i = 0; i < out.size(); i++) {
      out_data.push_back(out[i].data());
      outputs.push_back({nullptr, i, out[i].data(), out[i].bytes()});
    }
  }
};

constexpr size_t kInFlight = 8;  // requests that one asynchronous client keeps going

void client(poprt_runner* runner, const Arguments& a, Clock::time_point until,
            std::vector<double>& ms) {
  const auto more = [&] {
    return a.iterations > 0 ? static_cast<int64_t>(ms.size()) < a.iterations
                            : Clock::now() < until || ms.empty();
  };
  if (!a.async) {
    Buffers b(runner, a);
    while (more()) {
      const auto t0 = Clock::now();
      check(poprt_runner_execute_indexed(runner, b.in_data.data(), b.out_data.data()));
      ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - t0).count());
    }
    return;
  }
  struct Slot {
    std::unique_ptr<Buffers> buffers;
    Request request;
    Clock::time_point start;
  };
  std::vector<Slot> slots(kInFlight);
  for (Slot& s : slots) s.buffers = std::make_unique<Buffers>(runner, a);
  for (size_t i = 0;; i = (i + 1) % kInFlight) {
    Slot& s = slots[i];
    if (s.request) {
      check(poprt_request_wait(s.request.get(), -1));
      ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - s.start).count());
      s.request.reset();
    }
    if (!more()) break;
    s.start = Clock::now();
    poprt_request* request = nullptr;
    check(poprt_runner_execute_async(runner, s.buffers->inputs.data(), s.buffers->inputs.size(),
                                     s.buffers->outputs.data(), s.buffers->outputs.size(), nullptr,
                                     nullptr, &request));
    s.request.reset(request);
  }
  for (Slot& s : slots)
    if (s.request) check(poprt_request_wait(s.request.get(), -1));
}

// All clients' milliseconds, in any order.
SessionTimes through_runner(const Arguments& a, const Runner& runner) {
  {
    Buffers b(runner.get(), a);
    for (int i = 0; i < a.warmup; i++)
      check(poprt_runner_execute_indexed(runner.get(), b.in_data.data(), b.out_data.data()));
  }
  std::vector<std::vector<double>> each(static_cast<size_t>(a.clients));
  std::vector<std::string> errors(each.size());
  std::vector<std::thread> threads;
  const auto begin = Clock::now();
  const auto until =
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(a.seconds));
  for (size_t i = 0; i < each.size(); i++)
    threads.emplace_back([&, i] {
      try {
        client(runner.get(), a, until, each[i]);
      } catch (const std::exception& e) {
        errors[i] = e.what();
      }
    });
  for (std::thread& t : threads) t.join();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  for (const std::string& e : errors)
    if (!e.empty()) throw Failure(e);

  SessionTimes times{{}, seconds};
  for (const auto& e : each) times.ms.insert(times.ms.end(), e.begin(), e.end());
  return times;
}

SessionTimes through_session(const Arguments& a, const Executable& executable) {
  SessionBench b;
  b.executable = executable.get();
  b.queues = a.through == "queues";
  b.threads = a.threads;
  b.warmup = a.warmup;
  b.in_flight = kInFlight;
  b.inputs = a.inputs;
  b.inputs_pb = a.inputs_pb;
  Clock::time_point until;
  return bench_session(b, [&](size_t done) {
    if (a.iterations > 0) return static_cast<int64_t>(done) < a.iterations;
    if (done == 0)
      until = Clock::now() +
              std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(a.seconds));
    return done == 0 || Clock::now() < until;
  });
}

int bench(Arguments& a) {
  const bool session = a.through != "runner";
  if (session && (a.clients > 1 || a.async))
    throw Usage(fmt::format("--through {} has one client, without --async", a.through));
  const auto t0 = Clock::now();
  const Executable executable = load_model(a.model, a.compile);
  Runner runner;
  if (!session) runner = make_runner(executable.get(), a.threads);
  const double load_ms = std::chrono::duration<double, std::milli>(Clock::now() - t0).count();
  const auto [ms_of_all, seconds] =
      session ? through_session(a, executable) : through_runner(a, runner);
  std::vector<double> ms = ms_of_all;
  std::sort(ms.begin(), ms.end());
  const auto at = [&](double q) {
    return ms[std::min(ms.size() - 1, static_cast<size_t>(q * static_cast<double>(ms.size())))];
  };
  const double throughput = static_cast<double>(ms.size()) / seconds;
  if (a.json) {
    const nlohmann::json j = {
        {"model", a.model},     {"load_ms", load_ms},   {"through", a.through},
        {"clients", a.clients}, {"async", a.async},     {"requests", ms.size()},
        {"min_ms", ms.front()}, {"median_ms", at(0.5)}, {"p90_ms", at(0.9)},
        {"p99_ms", at(0.99)},   {"max_ms", ms.back()},  {"requests_per_second", throughput}};
    print_json(j);
  } else {
    fmt::print("load {:.2f} ms, {} requests, {} client{}{}\n", load_ms, ms.size(), a.clients,
               a.clients == 1 ? "" : "s",
               a.async   ? fmt::format(", {} requests in flight each", kInFlight)
               : session ? fmt::format(", through {}", a.through)
                         : "");
    fmt::print("latency ms: min {:.4f}  median {:.4f}  p90 {:.4f}  p99 {:.4f}  max {:.4f}\n",
               ms.front(), at(0.5), at(0.9), at(0.99), ms.back());
    fmt::print("throughput: {:.1f} requests/s\n", throughput);
  }
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, std::function<int()>& action) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = add_command(app, "bench", "Measure latency and throughput");
  c->add_option("MODEL", a->model, ".popef, or .onnx (compiled first)")->required();
  c->add_option("--input", a->inputs, "NAME=FILE.npy (others are made up)")->expected(1, 1 << 20);
  c->add_option("--input-pb", a->inputs_pb, "NAME=FILE.pb")->expected(1, 1 << 20);
  c->add_option("--threads", a->threads, "Compute threads [all CPUs]")->check(between(0, 1024));
  c->add_option("--clients", a->clients, "Client threads")
      ->check(between(1, 1024))
      ->capture_default_str();
  c->add_flag("--async", a->async, "Clients keep several requests in flight");
  c->add_option("--through", a->through, "A runner, or a session's handlers or queues alone")
      ->check(CLI::IsMember({"runner", "callbacks", "queues"}))
      ->capture_default_str();
  c->add_option("--iterations", a->iterations, "Requests of each client [by time]")
      ->check(at_least<int64_t>(1));
  c->add_option("--seconds", a->seconds, "How long to measure")
      ->check(between(1e-3, 1e6))
      ->capture_default_str();
  c->add_option("--warmup", a->warmup, "Runs before measuring")
      ->check(at_least(0))
      ->capture_default_str();
  c->add_flag("--json", a->json, "Report as JSON");
  add_compile_options(*c, a->compile);
  c->callback([a, &action] { action = [a] { return bench(*a); }; });
}

}  // namespace poprt::cli
