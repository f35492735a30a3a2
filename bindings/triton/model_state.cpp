#include "model_state.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "support.h"

namespace poprt::triton {
namespace {

nlohmann::json config_of(TRITONBACKEND_Model* model) {
  TRITONSERVER_Message* message = nullptr;
  check(TRITONBACKEND_ModelConfig(model, 1, &message));
  const char* text = nullptr;
  size_t size = 0;
  TRITONSERVER_Error* error = TRITONSERVER_MessageSerializeToJson(message, &text, &size);
  nlohmann::json config;
  if (!error) config = nlohmann::json::parse(text, text + size, nullptr, false);
  log_error(TRITONSERVER_MessageDelete(message));
  check(error);
  if (!config.is_object())
    throw serving::Error(POPRT_INVALID_ARGUMENT, "the configuration is not a JSON object");
  return config;
}

void set_config(TRITONBACKEND_Model* model, const nlohmann::json& config) {
  const std::string text = config.dump();
  TRITONSERVER_Message* message = nullptr;
  check(TRITONSERVER_MessageNewFromSerializedJson(&message, text.data(), text.size()));
  TRITONSERVER_Error* error = TRITONBACKEND_ModelSetConfig(model, 1, message);
  log_error(TRITONSERVER_MessageDelete(message));
  check(error);
}

std::string version_folder(TRITONBACKEND_Model* model) {
  TRITONBACKEND_ArtifactType type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  const char* location = nullptr;
  uint64_t version = 0;
  check(TRITONBACKEND_ModelRepository(model, &type, &location));
  check(TRITONBACKEND_ModelVersion(model, &version));
  return std::string(location) + "/" + std::to_string(version);
}

Parameters parameters_of(const nlohmann::json& config, const BackendState& backend) {
  std::vector<std::string> unknown;
  Parameters parameters = read_parameters(config, unknown);
  parameters.load.compile = backend.compile;
  for (const std::string& name : unknown)
    log(TRITONSERVER_LOG_WARN, "parameter '" + name +
                                   "' has no effect; known: timeout_ns, threads, "
                                   "synchronous_execution, devices, max_shapes, max_shape_mib, "
                                   "warm_up, "
                                   "compile.OPTION");
  if (parameters.timeout_ns != 0 && parameters.synchronous_execution)
    log(TRITONSERVER_LOG_WARN,
        "parameter 'timeout_ns' has no effect, because synchronous_execution is 1");
  return parameters;
}

// Logs that an ONNX model of the folder is not used, because there is a PopEF file.
void report_ignored(const std::string& folder, const serving::LoadOptions& load) {
  namespace fs = std::filesystem;
  const std::string used = serving::find_files(folder, load)[0];
  if (!load.file.empty() || used.ends_with(".onnx")) return;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed))
    if (entry->path().extension() == ".onnx")
      log(TRITONSERVER_LOG_INFO, "'" + used + "' is used, without '" +
                                     entry->path().filename().string() + "' of the same folder");
}

// The file of the model if it is a generator, or "".
std::string generator_of(const std::string& folder, const serving::LoadOptions& load) {
  const std::vector<std::string> files = serving::find_files(folder, load);
  const bool popef = files.size() == 1 && !files[0].ends_with(".onnx");
  if (!popef || !serving::is_generator(files[0])) return {};
  if (!files[0].ends_with(".popef"))
    throw serving::Error(POPRT_INVALID_ARGUMENT,
                         "'" + files[0] +
                             "' is a generator, whose file must have the ending .popef; write "
                             "'backend: \"poprt\"' into config.pbtxt");
  return files[0];
}

// Refuses parameters compile.OPTION that have no effect. If they give an ONNX model one shape, sets
// `shapes` to fixed, so that no other shapes are compiled on demand and requests can share batches.
void complete_compile_options(const std::string& folder, serving::LoadOptions& load) {
  const std::vector<std::string> files = serving::find_files(folder, load);
  const bool onnx = files.size() == 1 && files[0].ends_with(".onnx");
  const std::string shapes = serving::option_of(load, "shapes");
  if (!onnx && shapes == "on_demand" && !load.compile)
    throw serving::Error(POPRT_FAILED_PRECONDITION,
                         "parameter 'compile.shapes' is on_demand, which needs "
                         "--backend-config=poprt,compile=true");
  bool shaped = false;
  for (const auto& [name, value] : load.compile_options) {
    if (!onnx && name != "shapes")
      throw serving::Error(
          POPRT_INVALID_ARGUMENT,
          "parameter 'compile." + name + "' has no effect on a PopEF file; expected an ONNX file");
    shaped = shaped || name == "batch_size" ||
             (name == "input_shape" && value.find('/') == std::string::npos);
  }
  if (shaped && shapes.empty()) load.compile_options.emplace_back("shapes", "fixed");
}

}  // namespace

ModelState::ModelState(TRITONBACKEND_Model* model, const BackendState& backend)
    : ModelState(model, config_of(model), backend) {}

ModelState::ModelState(TRITONBACKEND_Model* model, nlohmann::json config,
                       const BackendState& backend)
    : folder_(version_folder(model)),
      parameters_(parameters_of(config, backend)),
      generator_(generator_of(folder_, parameters_.load)),
      free_devices_(parameters_.devices) {
  report_ignored(folder_, parameters_.load);
  bool complete = false;
  check(TRITONBACKEND_ModelAutoCompleteConfig(model, &complete));
  if (!generator_.empty()) {
    if (complete && complete_generator_config(config)) set_config(model, config);
    check_generator_config(config, parameters_);
    decoupled_ = is_decoupled(config);
    return;
  }
  complete_compile_options(folder_, parameters_.load);
  model_.emplace(folder_, parameters_.load);
  if (!model_->note().empty()) log(TRITONSERVER_LOG_WARN, model_->note());
  check_parameters(parameters_, *model_);
  if (complete && complete_config(config, *model_)) set_config(model, config);
  check_config(config, *model_);
  max_batch_ = max_batch_size(config);
}

void ModelState::warn_of_parameter(const std::string& name) const {
  constexpr size_t kMost = 32;  // names of clients must not fill the log
  {
    const std::lock_guard lock(mutex_);
    if (warned_.size() >= kMost || !warned_.insert(name).second) return;
  }
  log(TRITONSERVER_LOG_WARN, "parameter '" + name + "' of a request has no effect" +
                                 (generator_.empty() ? ""
                                                     : "; known are the names of the inputs "
                                                       "that are numbers"));
}

serving::Device ModelState::take_device(int64_t& id) {
  id = -1;
  if (parameters_.devices.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (free_devices_.empty())
    throw serving::Error(POPRT_RESOURCE_EXHAUSTED, "there are more instances than the " +
                                                       std::to_string(parameters_.devices.size()) +
                                                       " devices of parameter 'devices'");
  poprt_device_manager* created = nullptr;
  serving::check(poprt_device_manager_create(nullptr, &created));
  const serving::DeviceManager manager(created);
  poprt_device* device = nullptr;
  serving::check(poprt_device_manager_get_specific_device(created, free_devices_[0], &device));
  id = free_devices_[0];
  free_devices_.erase(free_devices_.begin());
  return serving::Device(device);
}

void ModelState::return_device(int64_t id) {
  if (id < 0) return;
  const std::lock_guard lock(mutex_);
  free_devices_.push_back(id);
}

}  // namespace poprt::triton
