#include "exec/support/debug_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "common/child.h"
#include "common/json.h"
#include "common/temporary_folder.h"
#include "exec/support/tensors.h"
#include "exec/support/values.h"
#include "model/run_input.h"

namespace poprt::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kMetrics[] = {"rel", "mse", "rmse", "mae", "mape", "r2"};

constexpr const char* kOnnxRuntime = R"python(import json, sys
with open(sys.argv[1]) as file:
    request = json.load(file)
answer = {}
try:
    import numpy, onnxruntime
    types = {"float": "f4", "double": "f8", "float16": "f2", "bool": "?"}
    for n in (1, 2, 4, 8):
        types["int%d" % (8 * n)], types["uint%d" % (8 * n)] = "i%d" % n, "u%d" % n
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(request["model"], options, providers=providers)
    feeds = {}
    for value in session.get_inputs():
        if value.name not in request["inputs"]:
            raise ValueError("input '%s' is missing" % value.name)
        array = numpy.load(request["inputs"][value.name])
        feeds[value.name] = array.astype(types[value.type[len("tensor("):-1]])
    names = [value.name for value in session.get_outputs()]
    for i, array in enumerate(session.run(names, feeds)):
        numpy.save(request["folder"] + "/out%d.npy" % i, array)
    answer["outputs"] = names
except ImportError as error:
    answer["missing"] = error.name
except Exception as error:
    answer["error"] = " ".join(str(error).split())
with open(sys.argv[2], "w") as file:
    json.dump(answer, file)
)python";

NamedTensors run_onnxruntime(const std::string& path, const NamedTensors& inputs) {
  const TemporaryFolder folder;
  Json request = {{"model", path}, {"folder", folder.path().string()}, {"inputs", Json::object()}};
  for (const auto& [name, tensor] : inputs) {
    const auto file = folder.path() / fmt::format("in{}.npy", request["inputs"].size());
    inspector::save_npy(file, tensor);
    request["inputs"][name] = file.string();
  }
  const auto question = folder.path() / "request.json", answer = folder.path() / "answer.json";
  std::ofstream(question) << to_text(request);
  const std::string purpose = "back end onnxruntime";
  std::vector<std::string> words = python_program(kOnnxRuntime);
  words.insert(words.end(), {question.string(), answer.string()});
  const int code = run_program(words, purpose);
  const Json found = read_json(answer);
  if (!found.is_object())
    throw Failure(fmt::format("{}: {} ended with code {}", purpose, python(), code));
  if (found.contains("missing"))
    throw Failure(
        fmt::format("{}: {} has no package {}: python3 -m pip install onnxruntime, or choose "
                    "back end poprt",
                    purpose, python(), to_text(found["missing"])));
  if (found.contains("error"))
    throw Failure(fmt::format("{}: {}", purpose, found["error"].get<std::string>()));
  NamedTensors outputs;
  for (size_t i = 0; i < found["outputs"].size(); i++)
    outputs[found["outputs"][i]] =
        inspector::read_tensor_file(folder.path() / fmt::format("out{}.npy", i));
  return outputs;
}

NamedTensors run_poprt(const std::string& path, const NamedTensors& inputs,
                       CompileSettings settings) {
  const Executable executable = load_model(path, settings);
  const Runner runner = make_runner(executable.get(), {});
  const auto ins = inputs_of(runner.get()), outs = outputs_of(runner.get());
  std::vector<AnchorMemory> memory, results;
  std::vector<const void*> in_data;
  std::vector<void*> out_data;
  for (const poprt_anchor* anchor : ins) {
    const std::string name = poprt_anchor_name(anchor);
    const auto given = inputs.find(name);
    if (given == inputs.end())
      throw Usage(
          fmt::format("--input_data: input '{}' ({}) is missing", name, anchor_type(anchor)));
    const auto dtype = static_cast<DType>(poprt_anchor_dtype(anchor));
    if (given->second.count() != element_count(shape_of(anchor)))
      throw Failure(fmt::format("input '{}' is {}, the data has shape {}", name,
                                anchor_type(anchor), shape_string(given->second.shape())));
    const Tensor data =
        given->second.dtype() == dtype
            ? given->second
            : inspector::tensor_of(dtype, shape_of(anchor), given->second.to_doubles());
    memory.emplace_back(anchor);
    std::memcpy(memory.back().data(), data.data(), data.bytes());
  }
  for (const poprt_anchor* anchor : outs) results.emplace_back(anchor);
  for (auto& m : memory) in_data.push_back(m.data());
  for (auto& m : results) out_data.push_back(m.data());
  check(poprt_runner_execute_indexed(runner.get(), in_data.data(), out_data.data()));
  NamedTensors outputs;
  for (size_t i = 0; i < outs.size(); i++) {
    const Array array = cropped(outs, results, i);
    Tensor tensor = Tensor::zeros(static_cast<DType>(array.dtype), array.shape);
    if (!array.data.empty())
      std::memcpy(tensor.mutable_data(), array.data.data(), array.data.size());
    outputs[poprt_anchor_name(outs[i])] = std::move(tensor);
  }
  return outputs;
}

// NaN equals NaN, and an infinity equals itself.
double difference(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) ? 0 : a - b;
}

double metric(const std::string& name, const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  const auto finite =
      static_cast<double>(std::ranges::count_if(a, [](double v) { return std::isfinite(v); }));
  double squares = 0, absolute = 0, relative = 0, largest = 0, error = 0, mean = 0, spread = 0;
  for (size_t i = 0; i < a.size(); i++) {
    const double d = difference(a[i], b[i]);
    squares += d * d;
    // A difference that is NaN is larger than every number, also than later ones.
    if (std::isnan(d) || std::fabs(d) > error) error = std::fabs(d);
    absolute += std::fabs(d);
    if (d != 0) relative += std::fabs(d / a[i]);
    if (!std::isfinite(a[i])) continue;
    largest = std::max(largest, std::fabs(a[i]));
    mean += a[i] / finite;
  }
  if (name == "rel") return error == 0 ? 0 : error / largest;
  if (name == "mse") return squares / n;
  if (name == "rmse") return std::sqrt(squares / n);
  if (name == "mae") return absolute / n;
  if (name == "mape") return relative / n * 100;
  for (const double v : a)
    if (std::isfinite(v)) spread += (v - mean) * (v - mean);
  return squares == 0 ? 1 : 1 - squares / spread;
}

}  // namespace

NamedTensors run_on_backend(const std::string& backend, const std::string& path,
                            const NamedTensors& inputs, const CompileSettings& settings) {
  return backend == "onnxruntime" ? run_onnxruntime(path, inputs)
                                  : run_poprt(path, inputs, settings);
}

void check_metrics(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (std::ranges::find(kMetrics, name) == std::end(kMetrics))
      throw Usage(fmt::format("--compare_method: expected {}, found '{}'",
                              fmt::join(kMetrics, " or "), name));
}

std::vector<Metric> metrics(const std::vector<std::string>& names, const Tensor& source,
                            const Tensor& other) {
  const std::vector<double> a = source.to_doubles(), b = other.to_doubles();
  std::vector<Metric> found;
  for (const std::string& name : names) found.push_back({name, metric(name, a, b)});
  return found;
}

}  // namespace poprt::cli
