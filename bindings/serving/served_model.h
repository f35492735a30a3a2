// A model as servers present it to clients: names, types and shapes of tensors, and whether rows of
// several requests may share a batch. The Triton backend, TensorFlow's operator and poprt_serve use
// it.
//
// For example, a digits model that is compiled for 8 images has input "image" with shape
// [8, 1, 8, 8] and batch_rows 8. The same model at batch sizes 1, 4 and 20 has shape [-1, 1, 8, 8]
// and batch_rows 0.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "serving/handles.h"

namespace poprt::serving {

inline constexpr int64_t kAnySize = INT64_MAX;

// One input or output.
struct TensorSpec {
  std::string name;            // for clients: that of name_map.json, else the anchor's
  std::string anchor;          // in the executable
  poprt_dtype dtype = 0;       // a type for which datatype_name() is not null
  std::vector<int64_t> shape;  // -1: any size up to that of `limit`, or a size that depends on data
  std::vector<int64_t> limit;  // the largest sizes; kAnySize where shapes are compiled on demand
};

enum class Kind : uint8_t {
  fixed,    // every anchor has one shape
  cropped,  // outputs have sizes that depend on data
  shapes,   // one model at several shapes
  graphs,   // several models; a request names the tensors of one of them
  open,     // each shape is compiled when its first request arrives
};

struct LoadOptions {
  std::string file;  // the name of the model's file in its folder; "": see find_files()
  // Whether ONNX files are compiled, and new shapes of PopEF files that contain their source.
  bool compile = false;
  // Options of the compiler by name, as in poprt_option. For a PopEF file, only `shapes` has an
  // effect.
  std::vector<std::pair<std::string, std::string>> compile_options;
};

// The name of a type in Triton's and the Open Inference Protocol, such as "FP32"; null if they have
// none.
const char* datatype_name(poprt_dtype dtype);
// The type with that name, or POPRT_DTYPE_UNDEFINED.
poprt_dtype datatype_of(const std::string& name);

// The value of an option, or "".
std::string option_of(const LoadOptions& options, const std::string& name);

// Throws Error (invalid_argument) for an unknown option or value, and the other errors of
// poprt_compiler_create.
void check_compile_options(const LoadOptions& options);

// Returns a text such as "[2,-1,8]".
std::string shape_text(const std::vector<int64_t>& shape);

// The number of bytes of a dense tensor. Throws Error (invalid_argument) if a dimension is negative
// or the product is too large.
size_t tensor_bytes(poprt_dtype dtype, const std::vector<int64_t>& shape);

// The files of the model in a folder of a repository: `file` if it is given (except a model.poprt
// that does not exist, because Triton gives that name to a model without configuration); else all
// *.popef files, which form one model; else model.poprt; else, if `compile`, model.onnx or the only
// *.onnx file. Throws Error: not_found, or failed_precondition if `file` is an ONNX model and
// `compile` is off.
std::vector<std::string> find_files(const std::string& folder, const LoadOptions& options);

// Whether a PopEF file is for a generator (poprt_generator_create). Throws Error if the file cannot
// be opened.
bool is_generator(const std::string& popef_file);

// Throws Error (unimplemented) if the encoder of a generator takes features, such as those of
// audio, which requests to servers do not have.
void require_tokens(poprt_generator* generator);

class ServedModel {
 public:
  // Opens the model in a folder. Throws Error: those of find_files(), poprt_executable_open_files,
  // poprt_executable_load and poprt_runner_create; unimplemented for a tensor whose type has no
  // datatype_name(); data_loss for a damaged list of shapes; invalid_argument for a name_map.json
  // that is not a JSON object of names, or has a tensor that the model does not have.
  ServedModel(const std::string& folder, const LoadOptions& options);
  // Presents an executable. `names` has pairs of anchors and names for clients.
  ServedModel(Executable executable, const std::vector<std::pair<std::string, std::string>>& names);

  const std::vector<TensorSpec>& inputs() const { return inputs_; }
  const std::vector<TensorSpec>& outputs() const { return outputs_; }
  Kind kind() const { return kind_; }
  // The reason why new shapes of a PopEF file that contains its source are not compiled on demand,
  // or "".
  const std::string& note() const { return note_; }
  // The rows of a batch, if rows of several requests may share it: dimension 0 of all tensors has
  // this size (for kind open: in the shape that was compiled ahead). Otherwise 0, and refusal() is
  // the reason.
  int64_t batch_rows() const { return batch_rows_; }
  const std::string& refusal() const { return refusal_; }
  // If dimension 0 of all tensors is the same variable dimension, which a user may declare to be a
  // batch: its largest size. Otherwise 0. Always 0 for kinds fixed, cropped and graphs.
  int64_t shared_rows() const { return shared_rows_; }
  // For kind open: whether the sizes of all outputs follow from those of the inputs, so that their
  // memory can be allocated before the shape is compiled.
  bool knows_outputs() const { return knows_outputs_; }
  // For kind open: whether `shape`, a shape of inputs()[index], differs from the one that was
  // compiled ahead at most in the number of rows, so that a runner with a batching dimension can
  // compute the request. There must be a shape that was compiled ahead.
  bool fits_batch(size_t index, const std::vector<int64_t>& shape) const;

  // Creates a runner for kind(). `options` has no batching dimension, except for kind fixed, and
  // for kind open with batch_rows(), whose runner then computes only requests with fits_batch().
  Runner make_runner(const poprt_runner_options& options) const;
  // Returns the argument of poprt_runner_warm_up for lines INPUT=SHAPE/SHAPE that contain the names
  // for clients.
  std::string warm_up_text(const std::vector<std::string>& lines) const;
  const poprt_executable* executable() const { return executable_.get(); }

 private:
  void describe(const std::vector<std::pair<std::string, std::string>>& names);
  void describe_anchors(const poprt_runner* runner);
  void describe_shapes(const std::string& variants);
  void describe_open(const nlohmann::json& dimensions);
  void describe_batch();

  Executable executable_;
  std::vector<TensorSpec> inputs_, outputs_;
  Kind kind_ = Kind::fixed;
  int64_t batch_rows_ = 0, shared_rows_ = 0;
  std::string refusal_, note_;
  bool knows_outputs_ = true;
  std::vector<std::vector<int64_t>> ahead_;  // shapes of inputs() that were compiled; may be empty
};

}  // namespace poprt::serving
