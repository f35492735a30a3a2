#include "compiler/chip_remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"

namespace poprt::compiler {

namespace {

class Attempts {
 public:
  // Estimates the program and keeps the text if it fits. Returns the samples of a batch.
  int64_t attempt(const std::string& text, const ir::Graph& graph, const EstimateOptions& o) {
    const ipu::Estimate e = ipu::estimate_of(chip_program(graph, o), o.target, o.chip);
    const int64_t samples = std::max<int64_t>(1, e.program.samples);
    if (e.fits()) found_.push_back({e.cycles / samples, {text, e.cycles}});
    return samples;
  }
  size_t size() const { return found_.size(); }
  std::vector<ipu::Remedy> cheapest(size_t most) {
    std::ranges::sort(found_, [](const Found& a, const Found& b) {
      return std::tie(a.per_sample, a.remedy.text) < std::tie(b.per_sample, b.remedy.text);
    });
    std::vector<ipu::Remedy> remedies;
    for (const Found& f : found_)
      if (remedies.size() < most) remedies.push_back(f.remedy);
    return remedies;
  }

 private:
  struct Found {
    int64_t per_sample = 0;
    ipu::Remedy remedy;
  };
  std::vector<Found> found_;
};

// Tries smaller batches, the largest first, until one fits.
void try_batches(Attempts& attempts, int64_t samples, const EstimateOptions& options,
                 const WithBatch& with_batch) {
  for (const int64_t part : {2, 4, 8}) {
    const int64_t batch = samples / part;
    if (batch < 1) return;
    const size_t before = attempts.size();
    try {
      attempts.attempt(fmt::format("batch_size {}", batch), *with_batch(batch), options);
    } catch (const Error&) {
      return;  // the batch size of the model is fixed
    }
    if (attempts.size() > before) return;
  }
}

}  // namespace

std::vector<ipu::Remedy> find_remedies(const ir::Graph& graph, const EstimateOptions& options,
                                       const WithBatch& with_batch, size_t most) {
  Attempts attempts;
  int64_t samples = 1;
  const auto attempt = [&](const std::string& text, const EstimateOptions& changed) {
    samples = attempts.attempt(text, graph, changed);
  };
  for (const double proportion : {0.4, 0.3, 0.2, 0.15, 0.1}) {
    if (proportion >= options.chip.available_memory_proportion) continue;
    EstimateOptions o = options;
    o.chip.available_memory_proportion = proportion;
    attempt(fmt::format("available_memory_proportion {}", proportion), o);
  }
  if (options.chip.float_partials) {
    EstimateOptions o = options;
    o.chip.float_partials = false;
    attempt("partials_type half", o);
  }
  if (options.precision == Precision::fp32 || options.precision == Precision::keep) {
    EstimateOptions o = options;
    o.precision = Precision::fp16;
    attempt("precision fp16", o);
  }
  if (options.precision == Precision::fp16 && options.target.quarter) {
    EstimateOptions o = options;
    o.precision = Precision::fp8;
    attempt("precision fp8", o);
  }
  for (const int64_t factor : {2, 4, 8, 16}) {
    if (attempts.size() >= most) break;
    EstimateOptions o = options;
    o.chip.num_ipus *= factor;
    o.chip.available_memory_proportion = std::min(0.3, o.chip.available_memory_proportion);
    attempt(fmt::format("num_ipus {} and available_memory_proportion {}", o.chip.num_ipus,
                        o.chip.available_memory_proportion),
            o);
  }
  if (with_batch) try_batches(attempts, samples, options, with_batch);
  return attempts.cheapest(most);
}

}  // namespace poprt::compiler
