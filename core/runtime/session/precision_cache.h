// Models whose products are computed in another precision than they were compiled for. Their
// weights are packed once and kept in a cache folder.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/session/model.h"

namespace poprt::runtime {

struct PrecisionCache {
  std::optional<std::filesystem::path> folder;  // nullopt: the weights stay in memory
  std::string build;                            // a text that differs between builds of the library
};

// Returns the model with products in `precision`: f32, bf16, f16 or auto
// (device/execution_precision.h). The first call with a model, precision and build packs the
// weights and writes them to the folder; later calls map that file. A file that is damaged, or that
// was made from another model, is replaced. Logs a warning if bf16 or f16 changes no product.
// Throws invalid_argument (an unknown precision, or another than f32 for a model that was compiled
// with `reproducible`), and the errors of device::with_execution_precision().
std::shared_ptr<const Model> with_execution_precision(const std::shared_ptr<const Model>& model,
                                                      std::string_view precision,
                                                      const PrecisionCache& cache);

}  // namespace poprt::runtime
