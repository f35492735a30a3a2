// The C ABI with owners and exceptions, as the commands use it.
#pragma once

#include <poprt/poprt.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace poprt::cli {

// What main() prints as one line on stderr before it exits with 1.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Wrong usage: exit code 2.
class Usage : public Failure {
 public:
  using Failure::Failure;
};

// Throws Failure when there is an error, and frees it.
void check(poprt_error* error);

// Libraries with operators, passes, patterns and transforms: paths separated by commas or line
// feeds. Throws Failure.
void load_plugins(std::string_view paths);

template <auto free_function>
struct Free {
  template <class T>
  void operator()(T* handle) const {
    free_function(handle);
  }
};
using Compiler = std::unique_ptr<poprt_compiler, Free<poprt_compiler_free>>;
using Executable = std::unique_ptr<poprt_executable, Free<poprt_executable_free>>;
using Runner = std::unique_ptr<poprt_runner, Free<poprt_runner_free>>;
using Request = std::unique_ptr<poprt_request, Free<poprt_request_free>>;

// Takes the text and frees the handle.
std::string take(poprt_string* string);

Runner make_runner(const poprt_executable* executable, int threads, bool profile = false,
                   const char* numerics = nullptr);

// "f32[1,3,224,224]"
std::string anchor_type(const poprt_anchor* anchor);

std::vector<const poprt_anchor*> inputs_of(const poprt_runner* runner);
std::vector<const poprt_anchor*> outputs_of(const poprt_runner* runner);

// 64-byte aligned memory of one anchor.
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

// "NAME=d0,d1,..." words; several shapes of an input have / in between, or a word each. Throws
// Usage that shows the word.
struct NamedShape {
  std::string name;
  std::vector<int64_t> shape;
};
std::vector<NamedShape> parse_shapes(const std::vector<std::string>& words);
// Throws Usage also where an input has several shapes.
std::vector<NamedShape> parse_single_shapes(const std::vector<std::string>& words);
// "NAME=VALUE" at the first '='. Throws Usage naming the option.
std::pair<std::string, std::string> split_pair(const std::string& word, const std::string& option);

// Everything of poprt_compile_options that commands share, with the memory it points to.
struct CompileSettings {
  std::vector<std::string> input_shape;
  int64_t batch_size = 0, batch_axis = -1;
  std::string precision, winograd;
  std::vector<std::string> passes, skip_passes;
  int64_t max_tensor_size = -1, convert_version = 0;
  bool allow_links = false, strict = false;
  poprt_progress_fn progress = nullptr;
  void* user_data = nullptr;

  // Valid as long as this object is, until the next call.
  const poprt_compile_options* get();
  // Whether any of it was asked for.
  bool given() const;

 private:
  std::vector<NamedShape> shapes_;
  std::vector<poprt_input_shape> raw_shapes_;
  std::vector<const char*> raw_passes_, raw_skip_;
  poprt_compile_options options_ = {};
};

// Opens a .popef file, for which settings are wrong usage, or compiles anything else as ONNX.
Executable load_model(const std::string& path, CompileSettings& settings);

}  // namespace poprt::cli
