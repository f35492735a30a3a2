#include "compiler/chip_remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/error.h"

namespace poprt::compiler {

namespace {

constexpr int64_t kMostIpus = 1024;

class Attempts {
 public:
  // Estimates the program and keeps the options if it fits. Returns whether it does.
  bool attempt(const std::string& text, const ir::Graph& graph, const EstimateOptions& o) {
    const ipu::Estimate e = ipu::estimate_of(chip_program(graph, o), o.target, o.chip);
    samples_ = std::max<int64_t>(1, e.program.samples);
    Found f{e.cycles * o.chip.num_ipus / samples_,
            {text, e.cycles, e.fits(), e.tile_bytes(), e.needed_bytes(), e.borderline()}};
    if (e.fits())
      found_.push_back(std::move(f));
    else if (!closest_ || f.remedy.bytes_with_gaps < closest_->bytes_with_gaps)
      closest_ = f.remedy;
    return e.fits();
  }

  int64_t samples() const { return samples_; }

  std::vector<ipu::Remedy> cheapest(size_t most) {
    std::ranges::sort(found_, [](const Found& a, const Found& b) {
      return std::tie(a.per_sample, a.remedy.text) < std::tie(b.per_sample, b.remedy.text);
    });
    std::vector<ipu::Remedy> remedies;
    for (const Found& f : found_)
      if (remedies.size() < most) remedies.push_back(f.remedy);
    if (remedies.empty() && closest_) remedies.push_back(*closest_);
    return remedies;
  }

 private:
  struct Found {
    int64_t per_sample = 0;
    ipu::Remedy remedy;
  };
  std::vector<Found> found_;
  std::optional<ipu::Remedy> closest_;
  int64_t samples_ = 1;
};

// Tries less memory for temporary data. The first proportion that fits is the largest one, with
// which the program needs the fewest cycles.
void try_proportions(Attempts& attempts, const ir::Graph& graph, const EstimateOptions& options) {
  for (const double proportion : {0.4, 0.3, 0.2, 0.15, 0.1}) {
    if (proportion >= options.chip.available_memory_proportion) continue;
    EstimateOptions o = options;
    o.chip.available_memory_proportion = proportion;
    if (attempts.attempt(fmt::format("--available_memory_proportion {}", proportion), graph, o))
      return;
  }
}

// Tries smaller types of partial sums, weights and activations.
void try_types(Attempts& attempts, const ir::Graph& graph, const EstimateOptions& options) {
  if (options.chip.float_partials) {
    EstimateOptions o = options;
    o.chip.float_partials = false;
    attempts.attempt("--partials_type half", graph, o);
  }
  EstimateOptions o = options;
  if (options.precision == Precision::fp32 || options.precision == Precision::keep) {
    o.precision = Precision::fp16;
    if (attempts.attempt("--precision fp16", graph, o)) return;
  }
  if (o.precision == Precision::fp16 && options.target.quarter) {
    o.precision = Precision::fp8;
    attempts.attempt("--precision fp8", graph, o);
  }
}

// Tries more IPUs, until the program fits, with the given memory for temporary data and with less.
void try_ipus(Attempts& attempts, const ir::Graph& graph, const EstimateOptions& options) {
  for (const int64_t factor : {2, 4, 8, 16}) {
    EstimateOptions o = options;
    o.chip.num_ipus *= factor;
    if (o.chip.num_ipus > kMostIpus) return;
    const std::string ipus = fmt::format("--num_ipus {}", o.chip.num_ipus);
    if (attempts.attempt(ipus, graph, o)) return;
    if (o.chip.available_memory_proportion <= 0.3) continue;
    o.chip.available_memory_proportion = 0.3;
    if (attempts.attempt(ipus + " --available_memory_proportion 0.3", graph, o)) return;
  }
}

// Tries to share the code of equal operations.
void try_outlining(Attempts& attempts, const ir::Graph& graph, const EstimateOptions& options) {
  if (options.chip.outline_threshold >= 0 && options.chip.outline_threshold <= 1) return;
  EstimateOptions o = options;
  o.chip.outline_threshold = 1;
  attempts.attempt("--outline_threshold 1", graph, o);
}

// Tries other buffers: one for each stream on the host, and I/O tiles.
void try_transfers(Attempts& attempts, const ir::Graph& graph, const EstimateOptions& options) {
  if (options.chip.stream_buffers > 1) {
    EstimateOptions o = options;
    o.chip.stream_buffers = 1;
    attempts.attempt("--stream_buffering_depth 1", graph, o);
  }
  for (int64_t tiles = 32; tiles <= options.target.tiles / 4; tiles *= 2) {
    if (tiles <= options.chip.num_io_tiles) continue;
    EstimateOptions o = options;
    o.chip.num_io_tiles = tiles;
    if (attempts.attempt(fmt::format("--num_io_tiles {}", tiles), graph, o)) return;
  }
}

// Tries a half, a quarter and so on of the batch, until the program fits.
void try_batches(Attempts& attempts, int64_t samples, const EstimateOptions& options,
                 const WithBatch& with_batch) {
  for (int64_t batch = samples / 2; batch >= 1; batch /= 2) {
    try {
      const OtherBatch other = with_batch(batch);
      if (attempts.attempt(other.text, *other.graph, options)) return;
    } catch (const Error&) {
      return;  // the batch size of the model is fixed
    }
  }
}

}  // namespace

std::vector<ipu::Remedy> find_remedies(const ir::Graph& graph, const EstimateOptions& options,
                                       const WithBatch& with_batch, size_t most) {
  Attempts attempts;
  try_proportions(attempts, graph, options);
  try_types(attempts, graph, options);
  try_outlining(attempts, graph, options);
  try_ipus(attempts, graph, options);
  const int64_t samples = attempts.samples();
  try_transfers(attempts, graph, options);
  if (with_batch) try_batches(attempts, samples, options, with_batch);
  return attempts.cheapest(most);
}

}  // namespace poprt::compiler
