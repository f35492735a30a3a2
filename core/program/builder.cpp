#include "program/builder.h"

#include <algorithm>

#include "base/checked.h"
#include "program/fill_form.h"

namespace poprt::program {

BufferId Builder::add(Buffer buffer) {
  program_.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

BufferId Builder::arena(uint64_t offset, uint64_t bytes, DType dtype, Shape shape) {
  program_.arena_bytes = std::max(program_.arena_bytes, align_up(checked_add(offset, bytes), 64));
  return add({Space::arena, 0, offset, bytes, dtype, std::move(shape)});
}

BufferId Builder::input(uint32_t anchor, uint64_t offset, uint64_t bytes, DType dtype,
                        Shape shape) {
  return add({Space::input, anchor, offset, bytes, dtype, std::move(shape)});
}

BufferId Builder::output(uint32_t anchor, uint64_t offset, uint64_t bytes, DType dtype,
                         Shape shape) {
  return add({Space::output, anchor, offset, bytes, dtype, std::move(shape)});
}

BufferId Builder::weights(uint64_t bytes, DType dtype, Shape shape,
                          std::function<void(std::span<std::byte>)> fill) {
  const uint64_t offset = program_.weights_bytes;
  program_.weights_bytes = align_up(checked_add(offset, bytes), 64);
  weights_.push_back({offset, bytes, std::move(fill)});
  return add({Space::weights, 0, offset, bytes, dtype, std::move(shape)});
}

BufferId Builder::weights(uint64_t bytes, DType dtype, Shape shape, const WeightForm& form) {
  const uint64_t key = form.fingerprint();
  for (auto [it, end] = placed_.equal_range(key); it != end; ++it)
    if (it->second.bytes == bytes && it->second.form == form)
      return add({Space::weights, 0, it->second.offset, bytes, dtype, std::move(shape)});
  placed_.emplace(key, Placed{form, program_.weights_bytes, bytes});
  return weights(bytes, dtype, std::move(shape), FillForm{form});
}

uint32_t Builder::add_input(Anchor anchor) {
  program_.inputs.push_back(std::move(anchor));
  return static_cast<uint32_t>(program_.inputs.size() - 1);
}

uint32_t Builder::add_output(Anchor anchor) {
  program_.outputs.push_back(std::move(anchor));
  return static_cast<uint32_t>(program_.outputs.size() - 1);
}

void Builder::emit(std::string_view kernel, std::span<const BufferId> operands,
                   std::span<const int64_t> ints, std::span<const float> floats, std::string name) {
  const auto [it, added] =
      kernel_ids_.emplace(std::string(kernel), static_cast<uint32_t>(program_.kernels.size()));
  if (added) program_.kernels.emplace_back(kernel);
  program_.main.push_back({it->second,
                           {operands.begin(), operands.end()},
                           {ints.begin(), ints.end()},
                           {floats.begin(), floats.end()},
                           std::move(name)});
}

}  // namespace poprt::program
