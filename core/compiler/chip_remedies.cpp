#include "compiler/chip_remedies.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace poprt::compiler {

std::vector<ipu::Remedy> find_remedies(const ir::Graph& graph, const EstimateOptions& options,
                                       size_t most) {
  std::vector<ipu::Remedy> found;
  const auto attempt = [&](const std::string& text, EstimateOptions changed) {
    const ipu::Estimate e =
        ipu::estimate_of(chip_program(graph, changed), changed.target, changed.chip);
    if (e.fits()) found.push_back({text, e.cycles});
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
    if (found.size() >= most) break;
    EstimateOptions o = options;
    o.chip.num_ipus *= factor;
    o.chip.available_memory_proportion = std::min(0.3, o.chip.available_memory_proportion);
    attempt(fmt::format("num_ipus {} and available_memory_proportion {}", o.chip.num_ipus,
                        o.chip.available_memory_proportion),
            o);
  }
  std::ranges::sort(found, [](const ipu::Remedy& a, const ipu::Remedy& b) {
    return std::tie(a.cycles, a.text) < std::tie(b.cycles, b.text);
  });
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace poprt::compiler
