// Runs a model: once to show its outputs, or repeatedly to measure its speed.
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

// Returns the model for the runtime: the PopEF file, or the compiled graph. If `compilation` is
// null, the graph is compiled here. `executable` selects one of several in a file. Throws
// invalid_argument for a document that is no model, failed_precondition for one that does not
// compile, the errors of reading a PopEF file, and Error(cancelled).
std::shared_ptr<const runtime::Model> model_to_run(const Document& document,
                                                   const Compilation* compilation,
                                                   Progress& progress,
                                                   const std::string& executable = {});

struct RunResult {
  std::vector<NamedTensor> inputs, outputs;
  // The first run also reads the weights from the file. `warm_ms` is the median of `warm_runs` runs
  // after it, which are omitted for slow models.
  double load_ms = 0, run_ms = 0, warm_ms = 0;
  int warm_runs = 0;
};

// Runs one variant once, and then some times more to measure it. The outputs are those of the first
// run. An output with an output "NAME:shape" is cropped to that shape. Throws not_found for a
// choice with an unknown input name (with the existing names), the errors of reading inputs and of
// running, and Error(cancelled).
RunResult run_model(const std::shared_ptr<const runtime::Model>& model, const InputChoices& choices,
                    uint64_t seed, Progress& progress, size_t variant = 0);

struct BenchSettings {
  int clients = 1, in_flight = 1;  // submitting threads; requests that each keeps in flight
  double seconds = 2;
  int threads = 0;  // compute threads; 0: POPRT_THREADS from the environment, or all CPUs
  size_t variant = 0;

  static constexpr int kMostClients = 256, kMostInFlight = 1024;
};

struct BenchResult {
  uint64_t requests = 0;
  double seconds = 0;
  std::vector<double> latency_ms;  // per request, sorted
  static constexpr size_t kMostSlices = 40;
  std::vector<double> throughput;  // requests per second in equal slices of the time

  double per_second() const { return seconds > 0 ? static_cast<double>(requests) / seconds : 0; }
  // The quantile `q` (0 to 1); 0 if there were no requests.
  double latency(double q) const;
};

// Publishes telemetry while it runs, so that the queues view shows it like another process. Throws
// invalid_argument for settings out of range, unavailable with the message of a request that
// failed, and the errors of run_model().
BenchResult bench_model(const std::shared_ptr<const runtime::Model>& model,
                        const InputChoices& choices, uint64_t seed, const BenchSettings& settings,
                        Progress& progress);

}  // namespace poprt::inspector
