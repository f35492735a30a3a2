#include "poprt/runners.h"

#include "runner_options.h"
#include "runtime/runner/host_concat_runner.h"
#include "runtime/runner/model_fusion_runner.h"
#include "runtime/runner/pack_runner.h"
#include "struct_size.h"

using namespace poprt;

namespace {

runtime::LightRunner& light(poprt_runner* runner) {
  auto* const r = capi::required(runner, "runner").light;
  if (!r) fail(ErrorCode::invalid_argument, "the runner is not a light runner");
  return *r;
}

std::vector<std::string> names(const char* const* list, size_t count, const char* what) {
  std::vector<std::string> result;
  if (count) capi::required(list, what);
  for (size_t i = 0; i < count; i++) result.emplace_back(&capi::required(list[i], what));
  return result;
}

std::string text(const char* given) { return given ? given : ""; }

}  // namespace

poprt_error* poprt_fusion_runner_create(const poprt_executable* executable,
                                        const poprt_runner_options* options,
                                        poprt_runner** out_runner) {
  return capi::guard([&] {
    auto model = capi::required(executable, "executable").compiled();
    auto& out = capi::required(out_runner, "out_runner");
    auto config = capi::read_runner_options(options, model);  // may replace the model
    out = new poprt_runner{std::make_unique<runtime::ModelFusionRunner>(model, std::move(config))};
  });
}

poprt_error* poprt_pack_runner_create(const poprt_executable* executable,
                                      const poprt_pack_runner_options* options,
                                      poprt_runner** out_runner) {
  return capi::guard([&] {
    auto model = capi::required(executable, "executable").compiled();
    const auto o = capi::read_options(options, "poprt_pack_runner_options");
    auto& out = capi::required(out_runner, "out_runner");
    runtime::PackRunnerConfig c;
    c.runner = capi::read_runner_options(o.runner, model);
    c.timeout = std::chrono::microseconds(o.timeout_microseconds);
    c.max_valid_num = o.max_valid_num;
    c.dynamic_input_name = text(o.dynamic_input_name);
    c.unpack_info_input_name = text(o.unpack_info_input_name);
    c.mask_name = text(o.mask_name);
    c.dynamic_group = names(o.dynamic_group, o.dynamic_group_count, "dynamic_group");
    if (o.algorithm != POPRT_PACK_NEXT_FIT && o.algorithm != POPRT_PACK_FIRST_FIT)
      fail(ErrorCode::invalid_argument, "there is no pack algorithm {}", o.algorithm);
    c.algo = static_cast<runtime::PackAlgorithm>(o.algorithm);
    c.disable_data_across_rows = o.disable_data_across_rows != 0;
    if (o.compile_batch_size) c.compile_batch_size = o.compile_batch_size;
    c.enable_padding_remove = o.enable_padding_remove != 0;
    c.enable_prefetch_datastreams = !o.disable_prefetch_datastreams;
    c.delimiter_num = o.delimiter_num;
    out = new poprt_runner{std::make_unique<runtime::PackRunner>(model, std::move(c))};
  });
}

poprt_error* poprt_host_concat_runner_create(const poprt_executable* executable,
                                             const poprt_host_concat_runner_options* options,
                                             poprt_runner** out_runner) {
  return capi::guard([&] {
    auto model = capi::required(executable, "executable").compiled();
    const auto o = capi::read_options(options, "poprt_host_concat_runner_options");
    auto& out = capi::required(out_runner, "out_runner");
    runtime::HostConcatRunnerConfig config;
    config.runner = capi::read_runner_options(o.runner, model);
    if (o.host_concat_count) capi::required(o.host_concat, "host_concat");
    for (size_t i = 0; i < o.host_concat_count; i++) {
      const poprt_host_concat& g = o.host_concat[i];
      runtime::HostConcatConfig c;
      c.tensor_name = &capi::required(g.tensor_name, "tensor_name");
      c.input_tensor_names =
          names(g.input_tensor_names, g.input_tensor_count, "input_tensor_names");
      if (g.shape) c.shape.assign(g.shape, g.shape + g.rank);
      c.data_size_bytes = g.data_size_bytes;
      if (g.sizes) c.sizes.assign(g.sizes, g.sizes + g.input_tensor_count);
      if (const std::string name = c.tensor_name;
          !config.host_concat_config.emplace(name, std::move(c)).second)
        fail(ErrorCode::invalid_argument, "input '{}' is joined twice", name);
    }
    out = new poprt_runner{std::make_unique<runtime::HostConcatRunner>(model, std::move(config))};
  });
}

poprt_error* poprt_light_runner_create(const poprt_executable* executable,
                                       const poprt_runner_options* options,
                                       poprt_runner** out_runner) {
  return capi::guard([&] {
    auto model = capi::required(executable, "executable").compiled();
    auto& out = capi::required(out_runner, "out_runner");
    runtime::RunnerConfig read = capi::read_runner_options(options, model);
    auto made = std::make_unique<runtime::LightRunner>(
        model,
        runtime::LightRunnerConfig{std::move(read.session), std::move(read.replica_id_to_device)});
    auto* const same = made.get();
    out = new poprt_runner{std::move(made), nullptr, same};
  });
}

poprt_error* poprt_light_runner_reload(poprt_runner* runner) {
  return capi::guard([&] { light(runner).reload(); });
}

poprt_error* poprt_light_runner_set_input_anchor(poprt_runner* runner, const char* name,
                                                 const void* data, size_t bytes) {
  return capi::guard(
      [&] { light(runner).set_input_anchor(&capi::required(name, "name"), {data, bytes}); });
}

poprt_error* poprt_light_runner_update_weights(poprt_runner* runner) {
  return capi::guard([&] { light(runner).update_weights(); });
}

size_t poprt_light_runner_model_input_count(const poprt_runner* runner) {
  return runner && runner->light ? runner->light->model_inputs().size() : 0;
}

const poprt_anchor* poprt_light_runner_model_input(const poprt_runner* runner, size_t index) {
  return index < poprt_light_runner_model_input_count(runner)
             ? capi::to_handle(&runner->light->model_inputs()[index].anchor)
             : nullptr;
}

int32_t poprt_light_runner_model_input_has_data(const poprt_runner* runner, size_t index) {
  return index < poprt_light_runner_model_input_count(runner) &&
         runner->light->model_inputs()[index].popef_contains_tensor_data;
}
