// Reads named tensors from the command line and checks them against anchors.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "common/abi.h"
#include "exec/support/npy.h"

namespace poprt::cli {

// Reads a .pb file (ONNX TensorProto); a file with any other name is read as .npy.
Array read_tensor(const std::string& path);

// The contents of one word of --input or --input-pb.
struct GivenInput {
  std::string name;  // as given in the word
  std::string path;
  bool sequence = false;  // from a .npz archive; its members are NAME[0], NAME[1] ...
  std::vector<Array>
      arrays;  // one array, any number for a sequence, none for a .none file (an optional)
  std::string array_name(size_t i) const;
};
GivenInput read_given(const std::string& word, const std::string& option);
// Throws Failure: an archive is given for an input of this type, which is no sequence.
[[noreturn]] void refuse_archive(const GivenInput& given, const std::string& type);

// Throws Usage if an output, a pair of a name and a path, would replace the model, its external
// data, the file of an input (NAME=FILE) or a file that contains no arrays, or if two outputs have
// one path.
void require_separate_files(const std::string& model,
                            std::initializer_list<const std::vector<std::string>*> inputs,
                            const std::vector<std::pair<std::string, std::string>>& outputs);

// What happens to inputs that are not given: an error, which mentions --random if the command has
// that option, or random data.
enum class Missing { error, error_that_suggests_random, random };

// Fills the memory of each input from NAME=FILE words (.npy, .npz for the elements of a sequence,
// .none for an absent optional, or .pb through --input-pb). Errors have the name of the input, its
// expected type and the type that was found. Words for which `not_needed` returns true are ignored.
void fill_inputs(const std::vector<const poprt_anchor*>& anchors, std::vector<AnchorMemory>& memory,
                 const std::vector<std::string>& words, const std::vector<std::string>& pb_words,
                 Missing missing,
                 const std::function<bool(const std::string&)>& not_needed = nullptr);

// Converts between s32 and s64, and from f32 and f64 to f16; leaves other types unchanged.
// Converted models have the narrower types, and test data usually has the wider ones. Throws
// Failure with `name` if a value does not fit.
void convert_to_input_type(Array& a, const std::string& name, poprt_dtype dtype);

// Finds an anchor by name. Throws Failure with the existing names.
size_t find_anchor(const std::vector<const poprt_anchor*>& anchors, const std::string& name,
                   const char* kind);

// Returns numeric anchor memory as doubles.
std::vector<double> as_doubles(poprt_dtype dtype, const std::vector<int64_t>& shape,
                               const void* data, size_t bytes);

std::vector<int64_t> shape_of(const poprt_anchor* anchor);

}  // namespace poprt::cli
