#include "runtime/session/precision_cache.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "device/execution_precision.h"
#include "program/program_hash.h"
#include "program/serialize.h"
#include "runtime/queue/payload_buffer.h"
#include "runtime/session/executable_cache.h"
#include "runtime/session/popef_file.h"

namespace poprt::runtime {
namespace {

using program::Anchor;

CacheKey key_of(const Model& model, std::string_view precision, const std::string& build) {
  CacheKey key;
  key.name = model.name;
  key.description =
      fmt::format("{}, execution_precision {} of a runner", program::package(), precision);
  const std::string texts[] = {key.name, key.description, build,
                               fmt::format("{:016x}", content_checksum(model.image.weights))};
  key.hash = program::program_hash(model.program(), texts);
  return key;
}

bool has_anchors(const std::vector<Anchor>& a, const std::vector<Anchor>& b) {
  return std::ranges::equal(a, b, [](const Anchor& x, const Anchor& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape &&
           (x.data == program::kNoData) == (y.data == program::kNoData);
  });
}

// Returns the executable in the cache. The memory of callers has the sizes of the model's anchors,
// so an executable with others is not used.
std::shared_ptr<const Model> find(const ExecutableCache& cache, const CacheKey& key,
                                  const Model& model) {
  auto found = cache.find(key);
  if (!found || (has_anchors(found->inputs(), model.inputs()) &&
                 has_anchors(found->outputs(), model.outputs())))
    return found;
  log().warn("cache file '{}' has other inputs or outputs than '{}', packing the weights again",
             cache.path_of(key).string(), model.name);
  return nullptr;
}

// Returns the model with the program and weights of `from`.
std::shared_ptr<const Model> with_image(const Model& model, const Model& from) {
  const auto made = std::make_shared<Model>(model);
  const bool has_data =
      std::ranges::any_of(model.input_data, [](const auto& data) { return !data.empty(); });
  made->image = from.image;
  // Values of inputs are in the memory of the original model, which must then stay alive. Without
  // such values it can be freed.
  if (has_data)
    made->image.owner =
        std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
            model.image.owner, from.image.owner);
  made->payload = from.payload;
  made->file = {};
  made->narrow = {};
  made->blobs = nullptr;
  return made;
}

}  // namespace

std::shared_ptr<const Model> with_execution_precision(const std::shared_ptr<const Model>& model,
                                                      std::string_view precision,
                                                      const PrecisionCache& cache) {
  const device::ExecutionPrecision wanted = device::execution_precision_named(precision);
  if (model->reproducible && wanted != device::ExecutionPrecision::f32)
    fail(ErrorCode::invalid_argument,
         "execution_precision {}: executable '{}' was compiled with `reproducible`, which requires "
         "products of f32",
         precision, model->name);
  const auto changed = device::with_execution_precision(model->image, wanted);
  if (!changed) {
    if (wanted == device::ExecutionPrecision::bf16 || wanted == device::ExecutionPrecision::f16)
      log().warn(
          "execution_precision {} has no effect: executable '{}' has no product of f32 with "
          "constant weights",
          precision, model->name);
    return model;
  }
  std::optional<ExecutableCache> folder;
  CacheKey key;
  if (cache.folder) {
    folder.emplace(*cache.folder);
    key = key_of(*model, precision, cache.build);
    if (const auto found = find(*folder, key, *model)) return with_image(*model, *found);
  }
  const auto payload = std::make_shared<PayloadBuffer>();
  program::write_executable([&](std::span<const std::byte> bytes) { payload->append(bytes); },
                            changed->program, changed->weights);
  if (folder) {
    // The map of the file replaces the weights in memory.
    if (folder->store(key, payload->bytes()))
      if (const auto found = find(*folder, key, *model)) return with_image(*model, *found);
  }
  return with_image(*model, *open_payload(model->name, payload->bytes(), payload));
}

}  // namespace poprt::runtime
