// Runs a model here: once to see what it computes, or for a while to see how quickly.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/document.h"
#include "model/run_anchors.h"
#include "model/run_input.h"
#include "model/tensor_compare.h"
#include "runtime/session/model.h"

namespace poprt::inspector {

// What the runtime runs: a PopEF file itself, or a graph as it was compiled. `compilation` may be
// null for a graph, which is then compiled here; `executable` names one of several in a file.
// Throws what is wrong with it, and Error(cancelled).
std::shared_ptr<const runtime::Model> model_to_run(const Document& document,
                                                   const Compilation* compilation,
                                                   Progress& progress,
                                                   const std::string& executable = {});

struct RunResult {
  std::vector<NamedTensor> inputs, outputs;
  double load_ms = 0, run_ms = 0;
};

// One run, of one variant. Outputs whose real extent is data (an output "NAME:shape" beside them)
// have that extent. Throws not_found for a choice that names no input (listing those there are),
// what reading the inputs and running throw, and Error(cancelled).
RunResult run_model(const std::shared_ptr<const runtime::Model>& model, const InputChoices& choices,
                    uint64_t seed, Progress& progress, size_t variant = 0);

struct BenchSettings {
  int clients = 1, in_flight = 1;  // threads that submit; requests that each keeps going
  double seconds = 2;
  int threads = 0;  // that compute; 0: all CPUs
  size_t variant = 0;

  static constexpr int kMostClients = 256, kMostInFlight = 1024;
};

struct BenchResult {
  uint64_t requests = 0;
  double seconds = 0;
  std::vector<double> latency_ms;  // of each request, sorted
  static constexpr size_t kMostSlices = 40;
  std::vector<double> throughput;  // requests a second in equal slices of the time

  double per_second() const { return seconds > 0 ? static_cast<double>(requests) / seconds : 0; }
  // The q-th part, 0 to 1; 0 when there was no request.
  double latency(double q) const;
};

// Publishes telemetry while it runs, so that the queues view shows it as any other process. Throws
// invalid_argument for settings out of range, and as run_model().
BenchResult bench_model(const std::shared_ptr<const runtime::Model>& model,
                        const InputChoices& choices, uint64_t seed, const BenchSettings& settings,
                        Progress& progress);

}  // namespace poprt::inspector
