#include "exec/support/any_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "common/arguments.h"
#include "common/random_inputs.h"
#include "exec/support/tensors.h"
#include "exec/support/values.h"

namespace poprt::cli {

NamedArrays read_arrays(const std::vector<std::string>& words,
                        const std::vector<std::string>& pb_words, const poprt_runner* runner) {
  NamedArrays arrays;
  const auto anchors = inputs_of(runner);
  for (const auto& [list, option] :
       {std::pair(&words, "--input"), std::pair(&pb_words, "--input-pb")})
    for (const std::string& word : *list) {
      const GivenInput given = read_given(word, option);
      for (size_t i = 0; i < given.arrays.size(); i++) {
        const std::string name = given.array_name(i);
        const poprt_dtype dtype = poprt_anchor_dtype(anchors[find_anchor(anchors, name, "input")]);
        Array array = given.arrays[i];
        if (option != std::string_view("--input-pb"))
          array = as_stored_type(std::move(array), dtype, given.path);
        convert_to_input_type(array, name, dtype);
        arrays.emplace_back(name, std::move(array));
      }
    }
  return arrays;
}

NamedArrays arrays_of_shapes(const std::vector<NamedShape>& shapes, NamedArrays arrays,
                             const poprt_runner* runner) {
  constexpr uint64_t kMostElements = uint64_t{1} << 40;
  const auto anchors = inputs_of(runner);
  for (size_t i = 0; i < shapes.size(); i++) {
    const auto& [name, shape] = shapes[i];
    const poprt_dtype dtype = poprt_anchor_dtype(anchors[find_anchor(anchors, name, "input")]);
    if (std::ranges::find(arrays, name, &NamedArrays::value_type::first) != arrays.end())
      throw Usage(fmt::format("--input_shape: '{}' has the shape of its file, omit one", name));
    uint64_t elements = 1;
    for (const int64_t d : shape) {
      const auto size = static_cast<uint64_t>(d);
      if (size > 0 && elements > kMostElements / size)
        throw Failure(fmt::format("input '{}': shape [{}] has more than {} elements", name,
                                  fmt::join(shape, ","), kMostElements));
      elements *= size;
    }
    Array array{dtype, shape, {}, {}};
    array.data.resize((elements * poprt_dtype_bits(dtype) + 7) / 8);
    fill_random(dtype, array.data.data(), array.data.size(), i + 1);
    arrays.emplace_back(name, std::move(array));
  }
  return arrays;
}

ShapedRequest::ShapedRequest(poprt_runner* runner, NamedArrays arrays, bool random_rest)
    : runner_(runner), arrays_(std::move(arrays)) {
  const auto anchors = inputs_of(runner);
  for (size_t i = 0; random_rest && i < anchors.size(); i++) {
    const std::string name = poprt_anchor_name(anchors[i]);
    if (poprt_runner_input_has_data(runner, i) ||
        std::ranges::find(arrays_, name, &NamedArrays::value_type::first) != arrays_.end())
      continue;
    Array array{poprt_anchor_dtype(anchors[i]), shape_of(anchors[i]), {}, {}};
    array.data.resize(poprt_anchor_bytes(anchors[i]));
    fill_random(array.dtype, array.data.data(), array.data.size(), i + 1);
    arrays_.emplace_back(name, std::move(array));
  }
  for (auto& [name, array] : arrays_)
    inputs_.push_back({name.c_str(), 0, array.data.data(), array.data.size(), array.dtype, 0,
                       array.shape.data(), array.shape.size()});
}

void ShapedRequest::run() {
  if (!memory_) {
    poprt_outputs* made = nullptr;
    check(poprt_outputs_create(runner_, inputs_.data(), inputs_.size(), &made));
    memory_.reset(made);
    for (size_t i = 0; i < poprt_outputs_count(made); i++)
      outputs_.push_back(*poprt_outputs_at(made, i));
  }
  check(poprt_runner_execute_tensors(runner_, inputs_.data(), inputs_.size(), outputs_.data(),
                                     outputs_.size()));
}

Array ShapedRequest::output(const std::string& name) const {
  for (const poprt_tensor& t : outputs_) {
    if (name != t.name) continue;
    Array whole = to_npy_type(static_cast<poprt_dtype>(t.dtype), {t.shape, t.shape + t.rank},
                              t.data, t.bytes);
    for (const poprt_tensor& sizes : outputs_)
      if (is_real_size(sizes.name, static_cast<poprt_dtype>(sizes.dtype), sizes.bytes, name,
                       t.rank))
        return cropped(std::move(whole), sizes.data);
    return whole;
  }
  find_anchor(outputs_of(runner_), name, "output");
  throw Failure(fmt::format("output '{}' was not computed", name));
}

}  // namespace poprt::cli
