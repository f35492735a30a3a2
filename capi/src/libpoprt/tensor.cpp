#include "poprt/tensor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/checked.h"
#include "guard.h"
#include "request_options.h"
#include "runtime/runner/bucket_runner.h"
#include "runtime/runner/shape_runner.h"
#include "runtime/session/anchor_lookup.h"
#include "runtime/session/tensor_check.h"
#include "struct_size.h"

using namespace poprt;

// Tensors of one request. `tensors` points into the other lists.
struct poprt_outputs {
  std::vector<std::string> names;
  std::vector<Shape> shapes;
  std::vector<runtime::TensorMemory> memory;  // empty for outputs that the request lacks
  std::vector<poprt_tensor> tensors;
  bool one_batch = true;
};

namespace {

// Checks the tensors of one direction and converts them for the runner.
template <class Binding>
class Tensors {
 public:
  Tensors(const runtime::BaseRunner& runner, const poprt_tensor* given, size_t count,
          bool are_inputs) {
    const char* direction = are_inputs ? "input" : "output";
    if (count) capi::required(given, are_inputs ? "inputs" : "outputs");
    const auto& anchors = are_inputs ? runner.execute_inputs() : runner.execute_outputs();
    const auto rows = runner.request_rows();
    Binding* to = few_.data();
    if (count > few_.size()) {
      many_.resize(count);
      to = many_.data();
    }
    for (size_t i = 0; i < count; i++) to[i] = read(given[i], i, anchors, rows, direction);
    span_ = {to, count};
  }
  std::span<const Binding> span() const { return span_; }

 private:
  static const program::Anchor* find(const std::vector<runtime::DataDesc>& anchors,
                                     const poprt_tensor& t, size_t hint) {
    if (!t.name) return t.index < anchors.size() ? &anchors[t.index].anchor : nullptr;
    if (hint < anchors.size() && anchors[hint].anchor.name == t.name) return &anchors[hint].anchor;
    for (const runtime::DataDesc& d : anchors)
      if (d.anchor.name == t.name) return &d.anchor;
    return nullptr;
  }

  static Binding read(const poprt_tensor& t, size_t i,
                      const std::vector<runtime::DataDesc>& anchors,
                      const runtime::RequestRows& rows, const char* direction) {
    capi::check_reserved(t.reserved, "poprt_tensor");
    if (t.rank) capi::required(t.shape, "shape");
    const std::span shape(t.shape, t.rank);
    uint64_t bytes = t.bytes;
    const program::Anchor* anchor = find(anchors, t, i);
    if (t.dtype != POPRT_DTYPE_UNDEFINED) {
      const bool known = t.dtype > 0 && t.dtype < kDTypeCount;
      const auto dtype = known ? static_cast<DType>(t.dtype) : DType::undefined;
      const std::string name = t.name ? t.name : anchor ? anchor->name : std::to_string(t.index);
      if (dtype_bits(dtype) == 0)
        fail(ErrorCode::invalid_argument, "{} '{}': dtype {} has no size", direction, name,
             t.dtype);
      uint64_t elements = 1;
      for (const int64_t d : shape) {
        if (d < 0)
          fail(ErrorCode::invalid_argument, "{} '{}': a dimension is {}", direction, name, d);
        elements = checked_mul<uint64_t>(elements, static_cast<uint64_t>(d));
      }
      // The runner reports a missing anchor with the existing names.
      if (anchor) runtime::check_tensor(*anchor, rows, {dtype, shape}, direction);
      const uint64_t needed = dtype_bytes(dtype, static_cast<int64_t>(elements));
      if (bytes && bytes != needed)
        fail(ErrorCode::invalid_argument, "{} '{}': {}{} are {} bytes, given {} bytes", direction,
             name, dtype_name(dtype), shape_string(Shape(shape.begin(), shape.end())), needed,
             bytes);
      bytes = needed;
    }
    static constexpr int64_t kScalar = 0;  // a scalar has a shape without dimensions
    const int64_t* const dimensions = t.dtype == POPRT_DTYPE_UNDEFINED ? nullptr
                                      : t.rank                         ? t.shape
                                                                       : &kScalar;
    return {t.name ? std::string_view(t.name) : std::string_view(),
            t.index,
            t.data,
            bytes,
            dimensions,
            t.rank};
  }

  std::array<Binding, 16> few_;
  std::vector<Binding> many_;
  std::span<const Binding> span_;
};
using InputTensors = Tensors<runtime::InputBinding>;
using OutputTensors = Tensors<runtime::OutputBinding>;

std::unique_ptr<poprt_outputs> allocate(const runtime::BaseRunner& runner,
                                        std::span<const runtime::InputBinding> inputs) {
  auto made = std::make_unique<poprt_outputs>();
  const auto& descs = runner.execute_outputs();
  made->shapes = runner.output_shapes(inputs);
  // A request of any shape is one run of the model that was compiled at this shape, or padded to
  // it.
  const bool own_shape = dynamic_cast<const runtime::ShapeRunner*>(&runner) ||
                         dynamic_cast<const runtime::BucketRunner*>(&runner);
  for (const auto& d : descs) made->names.push_back(d.anchor.name);
  made->memory.resize(descs.size());
  for (const size_t i : runner.outputs_of(inputs)) {
    const DType dtype = descs[i].anchor.dtype;
    const Shape& shape = made->shapes[i];
    made->one_batch = made->one_batch && (own_shape || shape == descs[i].anchor.shape);
    const uint64_t bytes = dtype_bytes(dtype, element_count(shape));
    try {
      made->memory[i] = runtime::TensorMemory(bytes);
    } catch (const std::bad_alloc&) {
      fail(ErrorCode::resource_exhausted, "output '{}': there is no memory for {}{}, {} bytes",
           made->names[i], dtype_name(dtype), shape_string(shape), bytes);
    }
    made->tensors.push_back({made->names[i].c_str(), i, made->memory[i].data(), bytes,
                             static_cast<poprt_dtype>(dtype), 0, shape.data(), shape.size()});
  }
  return made;
}

std::vector<runtime::OutputBinding> bindings(const poprt_outputs& outputs) {
  std::vector<runtime::OutputBinding> list;
  for (const poprt_tensor& t : outputs.tensors) list.push_back({{}, t.index, t.data, t.bytes});
  return list;
}

// Returns the shape in `sizes` (tensor NAME:shape) for `of`, checked because it may come from any
// caller.
Shape real_shape(const poprt_tensor& of, const poprt_tensor& sizes) {
  Shape real(of.rank);
  if (of.rank) std::memcpy(real.data(), sizes.data, of.rank * sizeof(int64_t));
  for (size_t i = 0; i < of.rank; i++)
    if (real[i] < 0 || real[i] > of.shape[i])
      fail(ErrorCode::data_loss,
           "output '{}' has a size of {} along dimension {}, at most {} is possible", of.name,
           real[i], i, of.shape[i]);
  return real;
}

void crop(poprt_outputs& outputs) {
  if (!outputs.one_batch) return;
  std::vector<poprt_tensor> kept;
  for (const poprt_tensor& t : outputs.tensors) {
    const auto companion = std::ranges::find_if(
        outputs.tensors,
        [name = std::string(t.name) + ":shape"](auto& o) { return name == o.name; });
    const auto is_size = [&](const poprt_tensor& s, const poprt_tensor& of) {
      // Packed elements are not cropped, so the caller needs their sizes.
      return s.dtype == POPRT_DTYPE_S64 && s.rank == 1 &&
             s.shape[0] == static_cast<int64_t>(of.rank) &&
             dtype_bits(static_cast<DType>(of.dtype)) >= 8;
    };
    // The companion is removed with the crop of its value.
    const std::string_view name = t.name;
    if (name.ends_with(":shape")) {
      const auto of = std::ranges::find_if(outputs.tensors, [&](const poprt_tensor& o) {
        return name.substr(0, name.size() - 6) == o.name;
      });
      if (of != outputs.tensors.end() && is_size(t, *of)) continue;
    }
    poprt_tensor cropped = t;
    if (companion != outputs.tensors.end() && is_size(*companion, t)) {
      const Shape real = real_shape(t, *companion);
      const auto dtype = static_cast<DType>(t.dtype);
      Shape& shape = outputs.shapes[t.index];
      runtime::crop(static_cast<std::byte*>(t.data), dtype, shape, real);
      shape = real;
      cropped.shape = shape.data();
      cropped.bytes = dtype_bytes(dtype, element_count(real));
    }
    kept.push_back(cropped);
  }
  outputs.tensors = std::move(kept);
}

}  // namespace

poprt_error* poprt_runner_execute_tensors(poprt_runner* runner, const poprt_tensor* inputs,
                                          size_t input_count, const poprt_tensor* outputs,
                                          size_t output_count) {
  return capi::guard([&] {
    auto& r = *capi::required(runner, "runner").runner;
    const InputTensors in(r, inputs, input_count, true);
    const OutputTensors out(r, outputs, output_count, false);
    r.execute(in.span(), out.span());
  });
}

poprt_error* poprt_runner_submit_tensors(poprt_runner* runner, const poprt_tensor* inputs,
                                         size_t input_count, const poprt_tensor* outputs,
                                         size_t output_count, const poprt_request_options* options,
                                         poprt_request** out_request) {
  return capi::guard([&] {
    auto& r = *capi::required(runner, "runner").runner;
    const capi::Submission o(options, out_request);
    const InputTensors in(r, inputs, input_count, true);
    const OutputTensors out(r, outputs, output_count, false);
    o.return_request(r.execute_async(in.span(), out.span(), o.callback, o.options), out_request);
  });
}

poprt_error* poprt_outputs_create(poprt_runner* runner, const poprt_tensor* inputs,
                                  size_t input_count, poprt_outputs** out_outputs) {
  return capi::guard([&] {
    auto& r = *capi::required(runner, "runner").runner;
    auto& out = capi::required(out_outputs, "out_outputs");
    out = allocate(r, InputTensors(r, inputs, input_count, true).span()).release();
  });
}

poprt_error* poprt_runner_run(poprt_runner* runner, const poprt_tensor* inputs, size_t input_count,
                              poprt_outputs** out_outputs) {
  return capi::guard([&] {
    auto& r = *capi::required(runner, "runner").runner;
    auto& out = capi::required(out_outputs, "out_outputs");
    const InputTensors in(r, inputs, input_count, true);
    auto made = allocate(r, in.span());
    r.execute(in.span(), bindings(*made));
    crop(*made);
    out = made.release();
  });
}

poprt_error* poprt_outputs_crop(poprt_outputs* outputs) {
  return capi::guard([&] { crop(capi::required(outputs, "outputs")); });
}

size_t poprt_outputs_count(const poprt_outputs* outputs) {
  return outputs ? outputs->tensors.size() : 0;
}

const poprt_tensor* poprt_outputs_at(const poprt_outputs* outputs, size_t index) {
  return outputs && index < outputs->tensors.size() ? &outputs->tensors[index] : nullptr;
}

void poprt_outputs_free(poprt_outputs* outputs) { delete outputs; }
