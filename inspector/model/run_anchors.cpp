#include "model/run_anchors.h"

#include <fmt/format.h>

#include "base/error.h"
#include "model/format.h"
#include "model/variant_names.h"
#include "program/link.h"
#include "runtime/runner/bucket_runner.h"
#include "runtime/runner/model_fusion_runner.h"
#include "runtime/runner/model_runner.h"
#include "runtime/session/variants.h"

namespace poprt::inspector {
namespace {

using Kind = runtime::Variants::Kind;

void check_variant(const runtime::Model& model, size_t variant) {
  const size_t count = model.variants ? model.variants->count : 1;
  if (variant >= count)
    fail(ErrorCode::invalid_argument, "variant {}: the model has {}", variant,
         counted(count, "variant"));
}

// Returns the anchors with the shapes of the variant, in the order of the model.
std::vector<program::Anchor> of_variant(const runtime::Model& model,
                                        const std::vector<program::Anchor>& anchors, size_t variant,
                                        bool inputs) {
  check_variant(model, variant);
  const std::string prefix = fmt::format("graph{}/", variant);
  std::vector<program::Anchor> list;
  for (size_t i = 0; i < anchors.size(); i++) {
    program::Anchor a = anchors[i];
    if (inputs && (a.data != program::kNoData || model.is_seed(i) ||
                   (i < model.input_data.size() && !model.input_data[i].empty()) ||
                   (model.variants &&
                    (i == model.variants->index || a.name.starts_with(program::kRealPlaces)))))
      continue;
    if (model.variants && model.variants->kind == Kind::graphs && !a.name.starts_with(prefix))
      continue;
    if (model.variants && model.variants->kind == Kind::shapes) {
      const runtime::Bucket& bucket = model.variants->buckets[variant];
      a.shape = (inputs ? bucket.inputs : bucket.outputs)[i];
    }
    if (model.replication_factor > 1)
      a.shape.insert(a.shape.begin(), static_cast<int64_t>(model.replication_factor));
    list.push_back(std::move(a));
  }
  return list;
}

}  // namespace

std::vector<std::string> run_variants(const runtime::Model& model) {
  if (!model.variants) return {};
  const auto blob = model.opaque.find(runtime::kVariants);
  std::vector<std::string> names;
  if (blob != model.opaque.end()) names = variant_names(blob->second);
  for (size_t i = names.size(); i < model.variants->count; i++)
    names.push_back(fmt::format("variant {}", i));
  return names;
}

std::vector<program::Anchor> inputs_to_give(const runtime::Model& model, size_t variant) {
  return of_variant(model, model.inputs(), variant, true);
}

std::vector<program::Anchor> outputs_to_get(const runtime::Model& model, size_t variant) {
  return of_variant(model, model.outputs(), variant, false);
}

std::unique_ptr<runtime::BaseRunner> runner_of(const std::shared_ptr<const runtime::Model>& model,
                                               runtime::RunnerConfig config) {
  if (model->variants && model->variants->kind == Kind::graphs)
    return std::make_unique<runtime::ModelFusionRunner>(model, std::move(config));
  if (model->variants && model->variants->kind == Kind::shapes)
    return std::make_unique<runtime::BucketRunner>(model, std::move(config));
  return std::make_unique<runtime::ModelRunner>(model, std::move(config));
}

}  // namespace poprt::inspector
