#include "model/run_anchors.h"

#include <fmt/format.h>

#include "base/error.h"
#include "model/branch_names.h"
#include "model/format.h"
#include "runtime/runner/bucket_runner.h"
#include "runtime/runner/model_fusion_runner.h"
#include "runtime/runner/model_runner.h"
#include "runtime/session/branches.h"

namespace poprt::inspector {
namespace {

using Kind = runtime::Branches::Kind;

void check_branch(const runtime::Model& model, size_t branch) {
  const size_t count = model.branches ? model.branches->count : 1;
  if (branch >= count)
    fail(ErrorCode::invalid_argument, "branch {}: the model has {}", branch,
         counted(count, "branch"));
}

// As the branch has them; in the order of the model.
std::vector<program::Anchor> of_branch(const runtime::Model& model,
                                       const std::vector<program::Anchor>& anchors, size_t branch,
                                       bool inputs) {
  check_branch(model, branch);
  const std::string prefix = fmt::format("graph{}/", branch);
  std::vector<program::Anchor> list;
  for (size_t i = 0; i < anchors.size(); i++) {
    program::Anchor a = anchors[i];
    if (inputs && (a.data != program::kNoData || model.is_seed(i) ||
                   (i < model.input_data.size() && !model.input_data[i].empty()) ||
                   (model.branches && i == model.branches->index)))
      continue;
    if (model.branches && model.branches->kind == Kind::graphs && !a.name.starts_with(prefix))
      continue;
    if (model.branches && model.branches->kind == Kind::shapes) {
      const runtime::Bucket& bucket = model.branches->buckets[branch];
      a.shape = (inputs ? bucket.inputs : bucket.outputs)[i];
    }
    if (model.replication_factor > 1)
      a.shape.insert(a.shape.begin(), static_cast<int64_t>(model.replication_factor));
    list.push_back(std::move(a));
  }
  return list;
}

}  // namespace

std::vector<std::string> run_branches(const runtime::Model& model) {
  if (!model.branches) return {};
  const auto blob = model.opaque.find(runtime::kBranches);
  std::vector<std::string> names;
  if (blob != model.opaque.end()) names = branch_names(blob->second);
  for (size_t i = names.size(); i < model.branches->count; i++)
    names.push_back(fmt::format("branch {}", i));
  return names;
}

std::vector<program::Anchor> inputs_to_give(const runtime::Model& model, size_t branch) {
  return of_branch(model, model.inputs(), branch, true);
}

std::vector<program::Anchor> outputs_to_get(const runtime::Model& model, size_t branch) {
  return of_branch(model, model.outputs(), branch, false);
}

std::unique_ptr<runtime::BaseRunner> runner_of(const std::shared_ptr<const runtime::Model>& model,
                                               runtime::RunnerConfig config) {
  if (model->branches && model->branches->kind == Kind::graphs)
    return std::make_unique<runtime::ModelFusionRunner>(model, std::move(config));
  if (model->branches && model->branches->kind == Kind::shapes)
    return std::make_unique<runtime::BucketRunner>(model, std::move(config));
  return std::make_unique<runtime::ModelRunner>(model, std::move(config));
}

}  // namespace poprt::inspector
