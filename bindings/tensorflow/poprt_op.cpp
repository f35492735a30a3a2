// PoprtRun, an operator of TensorFlow that runs a PopEF file:
//
//   outputs = PoprtRun(filename, inputs; input_names, output_names, timeout_us, threads)
//
// `inputs` and `outputs` are tensors of the anchors in `input_names` and `output_names`. All
// kernels of a process that name the same file with equal timeout_us and threads share one runner,
// so that calls of several threads share batches. Loading the library registers the operator.
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "serving/served_model.h"
#include "tensorflow_api.h"

namespace poprt::tensorflow {
namespace {

using serving::Error;
using serving::TensorSpec;

template <auto free_function>
struct Free {
  template <class T>
  void operator()(T* handle) const {
    free_function(handle);
  }
};
using Status = std::unique_ptr<TF_Status, Free<TF_DeleteStatus>>;
using Tensor = std::unique_ptr<TF_Tensor, Free<TF_DeleteTensor>>;

constexpr std::pair<TF_DataType, poprt_dtype> kTypes[] = {
    {TF_FLOAT, POPRT_DTYPE_F32},     {TF_DOUBLE, POPRT_DTYPE_F64}, {TF_HALF, POPRT_DTYPE_F16},
    {TF_BFLOAT16, POPRT_DTYPE_BF16}, {TF_INT8, POPRT_DTYPE_S8},    {TF_UINT8, POPRT_DTYPE_U8},
    {TF_INT16, POPRT_DTYPE_S16},     {TF_UINT16, POPRT_DTYPE_U16}, {TF_INT32, POPRT_DTYPE_S32},
    {TF_UINT32, POPRT_DTYPE_U32},    {TF_INT64, POPRT_DTYPE_S64},  {TF_UINT64, POPRT_DTYPE_U64},
    {TF_BOOL, POPRT_DTYPE_BOOL},
};

poprt_dtype dtype_of(TF_DataType type) {
  for (const auto& [theirs, ours] : kTypes)
    if (theirs == type) return ours;
  return POPRT_DTYPE_UNDEFINED;
}

TF_Code code_of(poprt_error_code code) {
  switch (code) {
    case POPRT_INVALID_ARGUMENT: return TF_INVALID_ARGUMENT;
    case POPRT_NOT_FOUND: return TF_NOT_FOUND;
    case POPRT_ALREADY_EXISTS: return TF_ALREADY_EXISTS;
    case POPRT_PERMISSION_DENIED: return TF_PERMISSION_DENIED;
    case POPRT_RESOURCE_EXHAUSTED: return TF_RESOURCE_EXHAUSTED;
    case POPRT_FAILED_PRECONDITION: return TF_FAILED_PRECONDITION;
    case POPRT_OUT_OF_RANGE: return TF_OUT_OF_RANGE;
    case POPRT_UNIMPLEMENTED: return TF_UNIMPLEMENTED;
    case POPRT_UNAVAILABLE: return TF_UNAVAILABLE;
    case POPRT_DATA_LOSS: return TF_DATA_LOSS;
    case POPRT_DEADLINE_EXCEEDED: return TF_DEADLINE_EXCEEDED;
    case POPRT_CANCELLED: return TF_CANCELLED;
    case POPRT_ABORTED: return TF_ABORTED;
    case POPRT_UNKNOWN: return TF_UNKNOWN;
    default: return TF_INTERNAL;
  }
}

// Throws if the status is an error of TensorFlow.
void check(const Status& status) {
  if (TF_GetCode(status.get()) != TF_OK) throw Error(POPRT_INTERNAL, TF_Message(status.get()));
}

// Calls `function` at the border of TensorFlow's interface. Returns null or the error.
template <class Function>
Status attempt(Function&& function) noexcept {
  const auto failed = [](TF_Code code, const char* message) {
    Status status(TF_NewStatus());
    TF_SetStatus(status.get(), code, message);
    return status;
  };
  try {
    function();
    return nullptr;
  } catch (const Error& e) {
    return failed(code_of(e.code()), e.what());
  } catch (const std::bad_alloc&) {
    return failed(TF_RESOURCE_EXHAUSTED, "there is not enough memory");
  } catch (const std::exception& e) {
    return failed(TF_INTERNAL, e.what());
  }
}

struct Options {
  std::vector<std::string> input_names, output_names;  // if empty: all, in the model's order
  int64_t timeout_us = 0;  // how long an incomplete batch waits for rows of other calls
  int64_t threads = 0;     // 0: the runner's default
};

// A PopEF file and its runner.
class Model {
 public:
  Model(const std::string& path, const Options& options) : served_(open(path), {}) {
    poprt_runner_options runner = {};
    runner.struct_size = sizeof runner;
    runner.threads = static_cast<int32_t>(options.threads);
    runner.use_batching_dim = served_.kind() == serving::Kind::fixed && served_.batch_rows() > 0;
    runner.timeout_ns = options.timeout_us > 0 ? options.timeout_us * 1000 : 1;
    runner_ = served_.make_runner(runner);
  }
  const serving::ServedModel& served() const { return served_; }
  poprt_runner* runner() const { return runner_.get(); }

 private:
  static serving::Executable open(const std::string& path) {
    const char* const paths[] = {path.c_str()};
    poprt_executable* executable = nullptr;
    serving::check(poprt_executable_open_files(paths, 1, nullptr, &executable));
    return serving::Executable(executable);
  }
  serving::ServedModel served_;
  serving::Runner runner_;
};

// Returns the model of a file. Opens the file unless the process has it open with these options.
std::shared_ptr<Model> shared_model(const std::string& path, const Options& options) {
  static std::mutex mutex;
  static std::map<std::tuple<std::string, int64_t, int64_t>, std::weak_ptr<Model>> models;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Model>& known = models[{path, options.timeout_us, options.threads}];
  std::shared_ptr<Model> model = known.lock();
  if (!model) known = model = std::make_shared<Model>(path, options);
  return model;
}

// Returns the anchors with these names, or all anchors if there are no names.
std::vector<const TensorSpec*> find_anchors(const std::vector<TensorSpec>& specs, const char* kind,
                                            const std::vector<std::string>& names) {
  std::vector<const TensorSpec*> found;
  for (const TensorSpec& spec : specs)
    if (names.empty()) found.push_back(&spec);
  std::string all;
  for (const TensorSpec& spec : specs) all += (all.empty() ? "'" : ", '") + spec.anchor + "'";
  for (const std::string& name : names) {
    const size_t before = found.size();
    for (const TensorSpec& spec : specs)
      if (spec.anchor == name) found.push_back(&spec);
    if (found.size() == before)
      throw Error(POPRT_NOT_FOUND, std::string("there is no ") + kind + " '" + name + "'; " + kind +
                                       "s are: " + all);
  }
  return found;
}

class Kernel {
 public:
  explicit Kernel(TF_OpKernelConstruction* context) {
    options_.input_names = strings(context, "input_names");
    options_.output_names = strings(context, "output_names");
    options_.timeout_us = integer(context, "timeout_us", INT64_MAX / 1000);
    options_.threads = integer(context, "threads", 1024);
  }

  void compute(TF_OpKernelContext* context) {
    const std::vector<Tensor> tensors = inputs_of(context);
    const std::shared_ptr<Model> model = model_of(*tensors[0]);
    const auto names = find_anchors(model->served().inputs(), "input", options_.input_names);
    if (tensors.size() - 1 != names.size())
      throw Error(POPRT_INVALID_ARGUMENT, "expected " + std::to_string(names.size()) +
                                              " inputs, given " +
                                              std::to_string(tensors.size() - 1));
    std::vector<poprt_tensor> inputs;
    std::vector<std::vector<int64_t>> shapes;
    shapes.reserve(names.size());
    for (size_t i = 0; i < names.size(); i++)
      inputs.push_back(described(*names[i], *tensors[i + 1], shapes.emplace_back()));
    poprt_outputs* computed = nullptr;
    serving::check(poprt_runner_run(model->runner(), inputs.data(), inputs.size(), &computed));
    const serving::Outputs outputs(computed);
    write(context, outputs.get(),
          find_anchors(model->served().outputs(), "output", options_.output_names));
  }

 private:
  static int64_t integer(TF_OpKernelConstruction* context, const char* name, int64_t largest) {
    const Status status(TF_NewStatus());
    int64_t value = 0;
    TF_OpKernelConstruction_GetAttrInt64(context, name, &value, status.get());
    check(status);
    if (value < 0 || value > largest)
      throw Error(POPRT_INVALID_ARGUMENT, std::string(name) + ": expected 0 to " +
                                              std::to_string(largest) + ", given " +
                                              std::to_string(value));
    return value;
  }

  static std::vector<std::string> strings(TF_OpKernelConstruction* context, const char* name) {
    const Status status(TF_NewStatus());
    int32_t count = 0, bytes = 0;
    TF_OpKernelConstruction_GetAttrSize(context, name, &count, &bytes, status.get());
    check(status);
    if (count <= 0) return {};
    std::vector<char*> values(static_cast<size_t>(count));
    std::vector<size_t> lengths(values.size());
    std::vector<char> storage(static_cast<size_t>(bytes) + 1);
    TF_OpKernelConstruction_GetAttrStringList(context, name, values.data(), lengths.data(), count,
                                              storage.data(), storage.size(), status.get());
    check(status);
    std::vector<std::string> texts;
    for (size_t i = 0; i < values.size(); i++) texts.emplace_back(values[i], lengths[i]);
    return texts;
  }

  static std::vector<Tensor> inputs_of(TF_OpKernelContext* context) {
    const Status status(TF_NewStatus());
    std::vector<Tensor> tensors;
    for (int i = 0; i < TF_NumInputs(context); i++) {
      TF_Tensor* tensor = nullptr;
      TF_GetInput(context, i, &tensor, status.get());
      check(status);
      tensors.emplace_back(tensor);
    }
    return tensors;
  }

  // Returns the model of the file that the scalar `filename` names. The name may change between
  // calls, because it depends on the folder from which a SavedModel is loaded.
  std::shared_ptr<Model> model_of(const TF_Tensor& filename) {
    if (TF_TensorType(&filename) != TF_STRING || TF_NumDims(&filename) != 0)
      throw Error(POPRT_INVALID_ARGUMENT, "filename: expected a scalar string");
    const auto* text = static_cast<const TF_TString*>(TF_TensorData(&filename));
    const std::string path(TF_StringGetDataPointer(text), TF_StringGetSize(text));
    const std::lock_guard lock(mutex_);
    if (!model_ || path != path_) {
      model_ = shared_model(path, options_);
      path_ = path;
    }
    return model_;
  }

  static poprt_tensor described(const TensorSpec& spec, const TF_Tensor& tensor,
                                std::vector<int64_t>& shape) {
    if (dtype_of(TF_TensorType(&tensor)) != spec.dtype)
      throw Error(POPRT_INVALID_ARGUMENT,
                  "input '" + spec.anchor + "': expected " + poprt_dtype_name(spec.dtype) +
                      ", given TensorFlow's type " + std::to_string(TF_TensorType(&tensor)));
    for (int d = 0; d < TF_NumDims(&tensor); d++) shape.push_back(TF_Dim(&tensor, d));
    return {spec.anchor.c_str(), 0, TF_TensorData(&tensor), TF_TensorByteSize(&tensor),
            spec.dtype,          0, shape.data(),           shape.size()};
  }

  static void write(TF_OpKernelContext* context, const poprt_outputs* outputs,
                    const std::vector<const TensorSpec*>& names) {
    const Status status(TF_NewStatus());
    if (names.size() != static_cast<size_t>(TF_NumOutputs(context)))
      throw Error(POPRT_INVALID_ARGUMENT, "Tout: expected " + std::to_string(names.size()) +
                                              " types, given " +
                                              std::to_string(TF_NumOutputs(context)));
    for (size_t i = 0; i < names.size(); i++) {
      const auto index = static_cast<int>(i);
      const poprt_tensor* from = nullptr;
      for (size_t o = 0; o < poprt_outputs_count(outputs) && !from; o++)
        if (names[i]->anchor == poprt_outputs_at(outputs, o)->name)
          from = poprt_outputs_at(outputs, o);
      if (!from) throw Error(POPRT_INTERNAL, "the run has no output '" + names[i]->anchor + "'");
      const TF_DataType type = TF_ExpectedOutputDataType(context, index);
      if (dtype_of(type) != from->dtype)
        throw Error(POPRT_INVALID_ARGUMENT,
                    "output '" + names[i]->anchor + "' is " + poprt_dtype_name(from->dtype) +
                        "; Tout has TensorFlow's type " + std::to_string(type));
      const size_t bytes =
          serving::tensor_bytes(from->dtype, {from->shape, from->shape + from->rank});
      const Tensor to(TF_AllocateOutput(context, index, type, from->shape,
                                        static_cast<int>(from->rank), bytes, status.get()));
      check(status);
      if (bytes) std::memcpy(TF_TensorData(to.get()), from->data, bytes);
    }
  }

  Options options_;
  std::mutex mutex_;  // guards path_ and model_
  std::string path_;
  std::shared_ptr<Model> model_;
};

void* create(TF_OpKernelConstruction* context) {
  Kernel* kernel = nullptr;
  if (const Status error = attempt([&] { kernel = new Kernel(context); }))
    TF_OpKernelConstruction_Failure(context, error.get());
  return kernel;
}

void compute(void* kernel, TF_OpKernelContext* context) {
  if (const Status error = attempt([&] { static_cast<Kernel*>(kernel)->compute(context); }))
    TF_OpKernelContext_Failure(context, error.get());
}

void destroy(void* kernel) { delete static_cast<Kernel*>(kernel); }

// All shapes are unknown, because the file is known only when the kernel runs.
void infer(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeInferenceContextSetUnknownShape(context, status);
}

[[gnu::constructor]] void register_operator() {
  TF_OpDefinitionBuilder* definition = TF_NewOpDefinitionBuilder("PoprtRun");
  TF_OpDefinitionBuilderAddInput(definition, "filename: string");
  TF_OpDefinitionBuilderAddInput(definition, "inputs: Tin");
  TF_OpDefinitionBuilderAddOutput(definition, "outputs: Tout");
  TF_OpDefinitionBuilderAddAttr(definition, "Tin: list(type) >= 0");
  TF_OpDefinitionBuilderAddAttr(definition, "Tout: list(type) >= 1");
  TF_OpDefinitionBuilderAddAttr(definition, "input_names: list(string) = []");
  TF_OpDefinitionBuilderAddAttr(definition, "output_names: list(string) = []");
  TF_OpDefinitionBuilderAddAttr(definition, "timeout_us: int = 0");
  TF_OpDefinitionBuilderAddAttr(definition, "threads: int = 0");
  TF_OpDefinitionBuilderSetIsStateful(definition, true);  // not folded: it reads a file
  TF_OpDefinitionBuilderSetShapeInferenceFunction(definition, infer);
  const Status status(TF_NewStatus());
  TF_RegisterOpDefinition(definition, status.get());
  TF_RegisterKernelBuilder(
      "PoprtRun", TF_NewKernelBuilder("PoprtRun", "CPU", create, compute, destroy), status.get());
}

}  // namespace
}  // namespace poprt::tensorflow
