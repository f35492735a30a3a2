// Owners and exceptions for the handles and errors of the C ABI, for the commands.
#pragma once

#include <poprt/poprt.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "serving/handles.h"

namespace poprt::cli {

// main() prints the message as one line on stderr and exits with 1.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Wrong usage; the exit code is 2.
class Usage : public Failure {
 public:
  using Failure::Failure;
};

// The text that --version prints.
std::string versions();

// If there is an error, frees it and throws Failure.
void check(poprt_error* error);

// Loads libraries with operators, passes, patterns and transforms. `paths` are separated by commas
// or line feeds. Throws Failure.
void load_plugins(std::string_view paths);

using serving::Compiler;
using serving::Executable;
using serving::Free;
using serving::Generator;
using serving::Request;
using serving::Runner;
using serving::Sequence;
using serving::take;
using Estimate = std::unique_ptr<poprt_estimate, Free<poprt_estimate_free>>;

// The options of poprt_runner_options that commands use.
struct RunnerOptions {
  int threads = 0;
  bool profile = false;
  const char* numerics = nullptr;
  const char* load = nullptr;
  const char* execution_precision = nullptr;
  bool verify = false;
};
Runner make_runner(const poprt_executable* executable, const RunnerOptions& given);

// Returns a text such as "f32[1,3,224,224]".
std::string anchor_type(const poprt_anchor* anchor);

std::vector<const poprt_anchor*> inputs_of(const poprt_runner* runner);
std::vector<const poprt_anchor*> outputs_of(const poprt_runner* runner);

// Zeroed memory for the data of one anchor, aligned to 64 bytes.
class AnchorMemory {
 public:
  explicit AnchorMemory(const poprt_anchor* anchor);
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  struct FreeAligned {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte[], FreeAligned> data_;
  size_t bytes_;
};

struct NamedShape {
  std::string name;
  std::vector<int64_t> shape;
};
// Parses "NAME=d0,d1,..." words. Several shapes of one input are separated by / or are in several
// words. "NAME=[]" is the shape of a scalar. Throws Usage with the word.
std::vector<NamedShape> parse_shapes(const std::vector<std::string>& words);
// The same, but throws Usage also if an input has several shapes.
std::vector<NamedShape> parse_single_shapes(const std::vector<std::string>& words);
struct ModelNames {
  std::vector<std::string> inputs, outputs;
};
// The names of the inputs and outputs of an ONNX file. Throws Failure if it cannot be read.
ModelNames model_names(const std::string& onnx, bool allow_links);

// Throws Usage if one of `names` is not in `inputs`, which are the inputs of a model. The message
// suggests the most similar input.
void check_input_names(const std::vector<std::string>& names,
                       const std::vector<std::string>& inputs);
// The same for the inputs of an ONNX file. Throws Failure if the file cannot be read.
void check_input_names(const std::vector<std::string>& names, const std::string& onnx,
                       bool allow_links);
// Splits "NAME=VALUE" at the first '='. Throws Usage, with the name of the option in the message,
// if NAME or VALUE is missing.
std::pair<std::string, std::string> split_pair(const std::string& word, const std::string& option);

// The fields of poprt_compile_options that commands share, with the memory that they point to.
struct CompileSettings {
  std::vector<std::string> input_shape;
  int64_t batch_size = 0, batch_axis = -1;
  std::string precision, winograd;
  std::vector<std::string> passes, skip_passes;
  int64_t max_tensor_size = -1, convert_version = 0;
  bool allow_links = false, strict = false, allow_unknown_inputs = false;
  bool on_demand = false;  // compile the source in a .popef file at the shapes of requests
  poprt_progress_fn progress = nullptr;
  void* user_data = nullptr;

  // The result is valid until the next call, as long as this object exists.
  const poprt_compile_options* get();
  // Throws Usage if an input shape is for an input that the ONNX file does not have, unless
  // allow_unknown_inputs is set.
  void check_names(const std::string& onnx) const;
  // The same for a model with these inputs.
  void check_names(const std::vector<std::string>& inputs) const;
  // The axis of batch_size, or -1 without a batch size.
  int64_t axis() const { return batch_size <= 0 ? -1 : batch_axis >= 0 ? batch_axis : 0; }
  // Whether an option was set that load_model() refuses for a .popef file.
  bool any_given() const;

 private:
  std::vector<std::string> shape_names() const;  // those to check

  std::vector<NamedShape> shapes_;
  std::vector<poprt_input_shape> raw_shapes_;
  std::vector<const char*> raw_passes_, raw_skip_;
  poprt_compile_options options_ = {};
};

// Opens a .popef file, or compiles any other file as ONNX. Throws Usage for settings that a .popef
// file does not accept (any_given()), for on_demand with another file, and for shapes of inputs
// that an ONNX model does not have; and Failure.
Executable load_model(const std::string& path, CompileSettings& settings);

// Throws Failure if the executable of the file `path` belongs to a generator, which only
// poprt_exec generate and poprt_exec bench --generate can run: its inputs depend on each other.
void require_no_generator(const poprt_executable* executable, const std::string& path);

}  // namespace poprt::cli
