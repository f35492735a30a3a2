#include "runtime/runner/bucket_runner.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "base/checked.h"
#include "base/error.h"
#include "base/fork_mutex.h"
#include "base/half.h"
#include "program/link.h"
#include "runtime/runner/memory_overlaps.h"
#include "runtime/session/anchor_lookup.h"
#include "runtime/session/tensor_check.h"

namespace poprt::runtime {
namespace {

constexpr int64_t kUnknown = -1;
// The output NAME:shape contains the real sizes of output NAME, if these depend on data.
constexpr std::string_view kRealSizes = ":shape";
constexpr size_t kNone = std::numeric_limits<size_t>::max();

template <class T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// `value` as an element of the anchor's type. Zero is valid for every type.
std::vector<std::byte> element_of(const program::Anchor& anchor, double value) {
  if (value == 0) return std::vector<std::byte>(dtype_bytes(anchor.dtype, 1));
  const auto integer = [&](auto zero) {
    using T = decltype(zero);
    // The first number that is too large; the largest integer of 64 bits is not a double.
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (std::trunc(value) != value || value < static_cast<double>(std::numeric_limits<T>::min()) ||
        value >= end)
      fail(ErrorCode::data_loss, "input '{}' is padded with {}, which {} does not have",
           anchor.name, value, dtype_name(anchor.dtype));
    return bytes_of(static_cast<T>(value));
  };
  switch (anchor.dtype) {
    case DType::boolean: return bytes_of(uint8_t{1});
    case DType::s8: return integer(int8_t{});
    case DType::u8: return integer(uint8_t{});
    case DType::s16: return integer(int16_t{});
    case DType::u16: return integer(uint16_t{});
    case DType::s32: return integer(int32_t{});
    case DType::u32: return integer(uint32_t{});
    case DType::s64: return integer(int64_t{});
    case DType::u64: return integer(uint64_t{});
    case DType::f16: return bytes_of(to_f16(static_cast<float>(value)));
    case DType::bf16: return bytes_of(to_bf16(static_cast<float>(value)));
    case DType::f32: return bytes_of(static_cast<float>(value));
    case DType::f64: return bytes_of(value);
    default: break;
  }
  fail(ErrorCode::data_loss, "input '{}' is padded with {}, but {} is padded with 0 only",
       anchor.name, value, dtype_name(anchor.dtype));
}

void fill(std::byte* to, uint64_t count, std::span<const std::byte> element) {
  if (std::ranges::all_of(element, [](std::byte b) { return b == std::byte{0}; })) {
    std::memset(to, 0, count * element.size());
    return;
  }
  for (uint64_t i = 0; i < count; i++)
    std::memcpy(to + i * element.size(), element.data(), element.size());
}

// Copies the box `real` at the origin from one dense array to another of the same rank.
void copy_box(const std::byte* from, std::span<const int64_t> from_shape, std::byte* to,
              std::span<const int64_t> to_shape, std::span<const int64_t> real, uint64_t element) {
  if (std::ranges::find(real, 0) != real.end()) return;
  if (real.empty()) {
    std::memcpy(to, from, element);
    return;
  }
  // Trailing dimensions of equal size in both arrays are contiguous.
  size_t last = real.size() - 1;
  uint64_t run = element * static_cast<uint64_t>(real[last]);
  while (last > 0 && from_shape[last] == real[last] && to_shape[last] == real[last])
    run *= static_cast<uint64_t>(real[--last]);
  uint64_t from_row = element, to_row = element;
  for (size_t d = last; d < real.size(); d++) {
    from_row *= static_cast<uint64_t>(from_shape[d]);
    to_row *= static_cast<uint64_t>(to_shape[d]);
  }
  std::vector<int64_t> at(last, 0);
  for (;;) {
    uint64_t f = 0, t = 0;
    for (size_t d = 0; d < last; d++) {
      f = f * static_cast<uint64_t>(from_shape[d]) + static_cast<uint64_t>(at[d]);
      t = t * static_cast<uint64_t>(to_shape[d]) + static_cast<uint64_t>(at[d]);
    }
    std::memcpy(to + t * to_row, from + f * from_row, run);
    size_t d = last;
    while (d > 0 && ++at[d - 1] == real[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

// Returns the index of output NAME for the output NAME:shape, or kNone for another output.
size_t sized_by(const std::vector<program::Anchor>& outputs, const program::Anchor& sizes) {
  if (!sizes.name.ends_with(kRealSizes) || sizes.dtype != DType::s64) return kNone;
  const auto name = std::string_view(sizes.name).substr(0, sizes.name.size() - kRealSizes.size());
  const auto of = std::ranges::find(outputs, name, &program::Anchor::name);
  return of != outputs.end() && sizes.shape == Shape{static_cast<int64_t>(of->shape.size())}
             ? static_cast<size_t>(of - outputs.begin())
             : kNone;
}

RunnerConfig without_checks(RunnerConfig config, const Model& model) {
  if (!model.variants || model.variants->kind != Variants::Kind::shapes)
    fail(ErrorCode::failed_precondition, "model '{}' was compiled for one shape", model.name);
  if (config.batching_dim != std::numeric_limits<uint32_t>::max())
    fail(ErrorCode::invalid_argument,
         "a model at several shapes takes any size up to the largest: leave `batching_dim` unset");
  if (config.overlap_io)
    fail(ErrorCode::invalid_argument, "a model at several shapes runs without `overlap_io`");
  config.validate_io_params = false;
  return config;
}

}  // namespace

// The part of a request that the statistics count.
struct BucketRunner::Load {
  size_t bucket = 0;
  bool padded = false;
  uint64_t elements = 0, room = 0;
};

// The copies of one request, and the callback when it is done.
struct BucketRunner::Staging : Load {
  // By anchor, in the largest size. Allocated when needed.
  std::vector<TensorMemory> inputs, outputs;
  std::vector<InputBinding> in;
  std::vector<OutputBinding> out;
  std::vector<bool> given;
  struct Cropped {
    size_t output;
    std::byte* to;
    Shape real;
  };
  std::vector<Cropped> cropped;
  // An output NAME:shape, and the shape of output NAME after its crop. Along an axis whose padding
  // the program does not know, it counts the places of the bucket.
  struct Limited {
    std::byte* sizes;
    Shape most;
  };
  std::vector<Limited> limited;
  std::vector<TensorMemory> copies;  // of inputs that are in the memory of outputs
  std::shared_ptr<const Model> model;
  RequestCallback callback;
  std::shared_ptr<Shared> shared;

  // Copies the part without padding from an output of the bucket to the caller's memory, and limits
  // sizes to this part.
  void crop() const {
    for (const Cropped& c : cropped) {
      const Shape& shape = model->variants->buckets[bucket].outputs[c.output];
      copy_box(static_cast<const std::byte*>(outputs[c.output].data()), shape, c.to, c.real, c.real,
               dtype_bytes(model->outputs()[c.output].dtype, 1));
    }
    for (const Limited& l : limited)
      for (size_t d = 0; d < l.most.size(); d++) {
        int64_t size;
        std::byte* const at = l.sizes + d * sizeof size;
        std::memcpy(&size, at, sizeof size);
        size = std::min(size, l.most[d]);
        std::memcpy(at, &size, sizeof size);
      }
  }
};

struct BucketRunner::Shared {
  // A forked child does not use what a thread of the parent may have been in the middle of
  // changing.
  ForkMutex mutex;
  std::vector<std::unique_ptr<Staging>> free;

  ~Shared() {
    const std::lock_guard lock(mutex);
    if (mutex.abandoned()) static_cast<void>(new std::vector(std::move(free)));  // never destroyed
  }

  std::unique_ptr<Staging> take() {
    const std::lock_guard lock(mutex);
    if (mutex.abandoned() || free.empty()) return std::make_unique<Staging>();
    auto s = std::move(free.back());
    free.pop_back();
    return s;
  }
  void put_back(std::unique_ptr<Staging> s) {
    s->copies.clear();
    const auto keep = std::move(s->shared);  // this may be the last reference
    const std::lock_guard lock(mutex);
    if (!mutex.abandoned()) free.push_back(std::move(s));
  }
};

BucketRunner::BucketRunner(std::shared_ptr<const Model> model, RunnerConfig config)
    : validate_(config.validate_io_params),
      model_(model),
      runner_(model, without_checks(std::move(config), *model)),
      shared_(std::make_shared<Shared>()) {
  const Variants& b = variants();
  const auto& anchors = model->inputs();
  inputs_ = runner_.execute_inputs();
  outputs_ = runner_.execute_outputs();
  const auto give_shapes = [](std::vector<DataDesc>& descs, const std::vector<Shape>& shapes) {
    for (size_t i = 0; i < descs.size(); i++) {
      DataDesc& d = descs[i];
      if (shapes[i].size() != d.anchor.shape.size()) continue;  // the input for the bucket's number
      d.anchor.shape = shapes[i];
      d.size_in_bytes = dtype_bytes(d.anchor.dtype, element_count(shapes[i]));
    }
  };
  give_shapes(inputs_, b.buckets.back().inputs);
  give_shapes(outputs_, b.buckets.back().outputs);
  for (const program::Anchor& a : model->outputs()) sized_.push_back(sized_by(model->outputs(), a));
  for (size_t i = 0; i < anchors.size(); i++) {
    const VariantAnchor& a = b.inputs[i];
    padding_.push_back(element_of(anchors[i], i == b.index ? 0 : a.pad));
    ones_.push_back(a.mask ? element_of(anchors[i], 1) : std::vector<std::byte>());
    const bool varies =
        std::ranges::any_of(a.extents, [](const Extent& e) { return e.dimension >= 0; });
    if (varies && dtype_bits(anchors[i].dtype) < 8)
      fail(ErrorCode::unimplemented,
           "input '{}' is {}: elements of less than a byte have one shape", anchors[i].name,
           dtype_name(anchors[i].dtype));
    if (varies && inputs_[i].popef_contains_tensor_data)
      fail(ErrorCode::invalid_argument, "input '{}' has several shapes and cannot be frozen",
           anchors[i].name);
    if (a.mask) inputs_[i].popef_contains_tensor_data = true;
  }
  // Requests have neither the bucket's number nor the marks of real places.
  std::erase_if(inputs_, [](const DataDesc& d) {
    return d.anchor.name == program::kBucketIndex ||
           d.anchor.name.starts_with(program::kRealPlaces);
  });
  most_.assign(b.dimensions.size(), 0);
  for (const Bucket& bucket : b.buckets)
    for (size_t d = 0; d < most_.size(); d++) most_[d] = std::max(most_[d], bucket.sizes[d]);
  counts_ = std::vector<Counts>(b.count);
}

BucketRunner::~BucketRunner() = default;

// Returns the index of the input among the model's anchors, which include the inputs that
// execute_inputs() does not list (the bucket's number and the marks of real places).
size_t BucketRunner::input_at(const InputBinding& binding, size_t hint) const {
  const auto& anchors = runner_.model().inputs();
  if (!binding.name.data()) {
    if (binding.index >= inputs_.size())
      fail(ErrorCode::not_found, "there is no input {}; the model has {}",
           static_cast<int64_t>(binding.index), inputs_.size());
    return find_anchor(anchors, inputs_[binding.index].anchor.name, binding.index, "input");
  }
  const size_t at = find_anchor(anchors, binding.name, hint, "input");
  if (at == variants().index || anchors[at].name.starts_with(program::kRealPlaces))
    fail(ErrorCode::invalid_argument, "input '{}' is the runner's: leave it out of requests",
         binding.name);
  return at;
}

namespace {

void set_size(const Variants& b, std::string_view name, int32_t dimension, int64_t size,
              std::vector<int64_t>& sizes) {
  int64_t& known = sizes[static_cast<size_t>(dimension)];
  if (known != kUnknown && known != size)
    fail(ErrorCode::invalid_argument, "input '{}': dimension '{}' is {}, another input has {}",
         name, b.dimensions[static_cast<size_t>(dimension)], size, known);
  known = size;
}

// Such as "[8 or less,16]", if the first dimension varies.
std::string accepted_shapes(const Shape& largest, const std::vector<Extent>& extents) {
  std::string text;
  for (size_t d = 0; d < extents.size(); d++)
    text += fmt::format("{}{}{}", d > 0 ? "," : "", largest[d],
                        extents[d].dimension < 0 ? "" : " or less");
  return "[" + text + "]";
}

}  // namespace

// Determines sizes from an input. Returns false if more can be determined when other sizes are
// known.
bool BucketRunner::learn(const InputBinding& binding, size_t input, Sizes& sizes) const {
  const program::Anchor& a = runner_.model().inputs()[input];
  const std::vector<Extent>& extents = variants().inputs[input].extents;
  if (binding.shape) {
    const Shape shape(binding.shape, binding.shape + binding.rank);
    bool fits = shape.size() == extents.size();
    for (size_t d = 0; fits && d < shape.size(); d++)
      if (extents[d].dimension < 0)
        fits = shape[d] == a.shape[d];
      else {
        // Checked before set_size(), because a size of -1 in a shape must not become kUnknown.
        check_size(static_cast<size_t>(extents[d].dimension), shape[d]);
        set_size(variants(), a.name, extents[d].dimension, shape[d], sizes);
      }
    if (!fits)
      fail(ErrorCode::invalid_argument, "input '{}': expected {}{}, given {}", a.name,
           dtype_name(a.dtype), accepted_shapes(a.shape, extents), shape_string(shape));
    return true;
  }
  uint64_t known = dtype_bytes(a.dtype, 1);
  int32_t open = -1;
  for (size_t d = 0; d < extents.size(); d++) {
    const int32_t dimension = extents[d].dimension;
    const int64_t size = dimension < 0 ? a.shape[d] : sizes[static_cast<size_t>(dimension)];
    if (size != kUnknown) {
      known = checked_mul<uint64_t>(known, static_cast<uint64_t>(size));
    } else if (open >= 0) {
      return false;
    } else {
      open = dimension;
    }
  }
  if (open >= 0 && known > 0 && binding.bytes % known == 0)
    set_size(variants(), a.name, open, static_cast<int64_t>(binding.bytes / known), sizes);
  return true;  // bytes that do not fit are refused later, by comparison with the shape
}

// If the bytes of the inputs allow several sizes, selects the first bucket whose inputs have
// exactly these bytes. Returns false if there is none.
bool BucketRunner::match_bucket(std::span<const InputBinding> inputs, Sizes& sizes) const {
  const auto& anchors = runner_.model().inputs();
  for (const Bucket& bucket : variants().buckets) {
    bool same = true;
    for (size_t i = 0; i < inputs.size() && same; i++) {
      const size_t at = input_at(inputs[i], i);
      same = inputs[i].bytes == dtype_bytes(anchors[at].dtype, element_count(bucket.inputs[at]));
    }
    for (size_t d = 0; d < sizes.size(); d++)
      same = same && (sizes[d] == kUnknown || sizes[d] == bucket.sizes[d]);
    if (!same) continue;
    sizes = bucket.sizes;
    return true;
  }
  return false;
}

BucketRunner::Sizes BucketRunner::sizes_of(std::span<const InputBinding> inputs) const {
  Sizes sizes(most_.size(), kUnknown);
  std::vector<size_t> open;
  for (size_t i = 0; i < inputs.size(); i++)
    if (!learn(inputs[i], input_at(inputs[i], i), sizes)) open.push_back(i);
  while (!open.empty()) {
    const size_t before = open.size();
    std::erase_if(open, [&](size_t i) { return learn(inputs[i], input_at(inputs[i], i), sizes); });
    if (open.size() < before) continue;
    if (match_bucket(inputs, sizes)) break;
    const InputBinding& b = inputs[open.front()];
    fail(ErrorCode::invalid_argument,
         "input '{}': {} bytes do not determine its shape: give the shape, too",
         runner_.model().inputs()[input_at(b, open.front())].name, b.bytes);
  }
  for (size_t d = 0; d < sizes.size(); d++)
    if (sizes[d] == kUnknown) {
      const auto has_it = [&](const Extent& e) { return e.dimension == static_cast<int32_t>(d); };
      std::string where;
      for (size_t at = 0; at < variants().inputs.size() && where.empty(); at++) {
        if (!std::ranges::any_of(variants().inputs[at].extents, has_it)) continue;
        const std::string& name = runner_.model().inputs()[at].name;
        bool given = false;
        for (size_t i = 0; i < inputs.size(); i++) given |= input_at(inputs[i], i) == at;
        if (!given)
          fail(ErrorCode::invalid_argument,
               "input '{}' is missing: no other input determines dimension '{}'", name,
               variants().dimensions[d]);
        where = fmt::format(", which input '{}' has", name);
      }
      fail(ErrorCode::invalid_argument, "no input of the request determines dimension '{}'{}",
           variants().dimensions[d], where);
    }
  for (size_t d = 0; d < sizes.size(); d++) check_size(d, sizes[d]);
  return sizes;
}

void BucketRunner::check_size(size_t dimension, int64_t size) const {
  if (size < 1 || size > most_[dimension])
    fail(ErrorCode::invalid_argument,
         "dimension '{}' is {}: expected 1 to {}, the largest shape that the model was compiled "
         "for",
         variants().dimensions[dimension], size, most_[dimension]);
}

std::string BucketRunner::text_of(const Sizes& sizes) const {
  std::string text;
  for (size_t d = 0; d < sizes.size(); d++)
    text += fmt::format("{}{} {}", d ? ", " : "", variants().dimensions[d], sizes[d]);
  return text;
}

size_t BucketRunner::bucket_of(const Sizes& sizes) const {
  const auto& buckets = variants().buckets;
  for (size_t i = 0; i < buckets.size(); i++) {
    bool holds = true;
    for (size_t d = 0; d < sizes.size(); d++)
      holds = holds && (variants().exact[d] ? sizes[d] == buckets[i].sizes[d]
                                            : sizes[d] <= buckets[i].sizes[d]);
    if (holds) return i;
  }
  std::string all;
  for (const Bucket& b : buckets)
    all += fmt::format("{}{}", all.empty() ? "" : "; ", text_of(b.sizes));
  std::string exact;
  for (size_t d = 0; d < sizes.size(); d++)
    if (variants().exact[d])
      exact += fmt::format("{}'{}'", exact.empty() ? "; padding would change results along " : ", ",
                           variants().dimensions[d]);
  fail(ErrorCode::invalid_argument,
       "the model was compiled for no shape that holds {}; there are: {}{}", text_of(sizes), all,
       exact);
}

Shape BucketRunner::shape_of(const VariantAnchor& anchor, const Shape& fixed,
                             const Sizes& sizes) const {
  Shape shape;
  for (size_t d = 0; d < fixed.size(); d++)
    shape.push_back(std::clamp<int64_t>(anchor.extents[d].of(sizes, fixed[d]), 0, fixed[d]));
  return shape;
}

std::vector<Shape> BucketRunner::output_shapes(std::span<const InputBinding> inputs) const {
  const Sizes sizes = sizes_of(inputs);
  const Bucket& bucket = variants().buckets[bucket_of(sizes)];
  std::vector<Shape> shapes;
  for (size_t i = 0; i < bucket.outputs.size(); i++)
    shapes.push_back(shape_of(variants().outputs[i], bucket.outputs[i], sizes));
  return shapes;
}

void BucketRunner::make_mask(size_t input, const Shape& real, Staging& s) const {
  const Shape& shape = variants().buckets[s.bucket].inputs[input];
  const uint64_t element = padding_[input].size();
  TensorMemory& memory = s.inputs[input];
  if (!memory.data()) memory = TensorMemory(runner_.model().inputs()[input].bytes());
  auto* const to = static_cast<std::byte*>(memory.data());
  std::memset(to, 0, static_cast<uint64_t>(element_count(shape)) * element);
  const auto count = static_cast<uint64_t>(element_count(real));
  std::vector<std::byte> ones(count * element);
  fill(ones.data(), count, ones_[input]);
  copy_box(ones.data(), real, to, shape, real, element);
}

void BucketRunner::prepare_inputs(std::span<const InputBinding> inputs, const Sizes& sizes,
                                  Staging& s) const {
  const auto& anchors = runner_.model().inputs();
  const Bucket& bucket = variants().buckets[s.bucket];
  s.inputs.resize(anchors.size());
  s.given.assign(anchors.size(), false);
  const auto bind = [&](size_t at, const void* data) {
    s.in.push_back({{}, at, data, anchors[at].bytes()});
  };
  for (size_t i = 0; i < inputs.size(); i++) {
    const InputBinding& b = inputs[i];
    const size_t at = input_at(b, i);
    const program::Anchor& a = anchors[at];
    if (s.given[at]) fail(ErrorCode::invalid_argument, "input '{}' is given twice", a.name);
    s.given[at] = true;
    const Shape real = shape_of(variants().inputs[at], bucket.inputs[at], sizes);
    const uint64_t bytes = dtype_bytes(a.dtype, element_count(real));
    if (b.bytes != bytes) fail_wrong_size({a.name, a.dtype, real}, b.bytes, "input");
    if (!b.data && bytes)
      fail(ErrorCode::invalid_argument, "input '{}': the pointer is null", a.name);
    s.elements += static_cast<uint64_t>(element_count(real));
    s.room += static_cast<uint64_t>(element_count(bucket.inputs[at]));
    if (real == bucket.inputs[at]) {
      bind(at, b.data);
      continue;
    }
    s.padded = true;
    TensorMemory& memory = s.inputs[at];
    if (!memory.data()) memory = TensorMemory(a.bytes());
    auto* const to = static_cast<std::byte*>(memory.data());
    fill(to, static_cast<uint64_t>(element_count(bucket.inputs[at])), padding_[at]);
    copy_box(static_cast<const std::byte*>(b.data), real, to, bucket.inputs[at], real,
             padding_[at].size());
    bind(at, to);
  }
  for (size_t at = 0; at < anchors.size(); at++) {
    if (s.given[at] || at == variants().index) continue;
    if (variants().inputs[at].mask) {
      make_mask(at, shape_of(variants().inputs[at], bucket.inputs[at], sizes), s);
      bind(at, s.inputs[at].data());
    } else if (validate_ && !runner_.execute_inputs()[at].popef_contains_tensor_data) {
      fail(ErrorCode::invalid_argument, "input '{}' is missing", anchors[at].name);
    }
  }
  s.in.push_back({{}, variants().index, variant_number(s.bucket), sizeof(uint32_t)});
}

void BucketRunner::prepare_outputs(std::span<const OutputBinding> outputs, const Sizes& sizes,
                                   Staging& s) const {
  const auto& anchors = runner_.model().outputs();
  const Bucket& bucket = variants().buckets[s.bucket];
  s.outputs.resize(anchors.size());
  s.given.assign(anchors.size(), false);
  for (size_t i = 0; i < outputs.size(); i++) {
    const OutputBinding& b = outputs[i];
    const size_t at = b.name.data() ? find_anchor(anchors, b.name, i, "output") : b.index;
    if (at >= anchors.size())
      fail(ErrorCode::not_found, "there is no output {}; the model has {}",
           static_cast<int64_t>(at), anchors.size());
    const program::Anchor& a = anchors[at];
    if (s.given[at]) fail(ErrorCode::invalid_argument, "output '{}' is given twice", a.name);
    s.given[at] = true;
    const Shape real = shape_of(variants().outputs[at], bucket.outputs[at], sizes);
    const uint64_t bytes = dtype_bytes(a.dtype, element_count(real));
    const Shape given_shape = b.shape ? Shape(b.shape, b.shape + b.rank) : Shape();
    if (b.shape && given_shape != real)
      fail(ErrorCode::invalid_argument, "output '{}': expected {}{}, given {}", a.name,
           dtype_name(a.dtype), shape_string(real), shape_string(given_shape));
    if (b.bytes != bytes) fail_wrong_size({a.name, a.dtype, real}, b.bytes, "output");
    if (!b.data && bytes)
      fail(ErrorCode::invalid_argument, "output '{}': the pointer is null", a.name);
    void* data = b.data;
    if (real != bucket.outputs[at]) {
      s.padded = true;
      if (!s.outputs[at].data()) s.outputs[at] = TensorMemory(a.bytes());
      data = s.outputs[at].data();
      s.cropped.push_back({at, static_cast<std::byte*>(b.data), real});
    }
    if (const size_t of = sized_[at]; of != kNone) {
      const Shape most = shape_of(variants().outputs[of], bucket.outputs[of], sizes);
      if (most != bucket.outputs[of] && real == a.shape)
        s.limited.push_back({static_cast<std::byte*>(b.data), most});
    }
    s.out.push_back({{}, at, data, a.bytes()});
  }
  for (size_t at = 0; validate_ && at < anchors.size(); at++)
    if (!s.given[at]) fail(ErrorCode::invalid_argument, "output '{}' is missing", anchors[at].name);
}

std::unique_ptr<BucketRunner::Staging> BucketRunner::prepare(
    std::span<const InputBinding> inputs, std::span<const OutputBinding> outputs) {
  const Sizes sizes = sizes_of(inputs);
  auto s = shared_->take();
  s->model = model_;
  s->in.clear();
  s->out.clear();
  s->cropped.clear();
  s->limited.clear();
  static_cast<Load&>(*s) = {};
  s->bucket = bucket_of(sizes);
  s->callback = {};
  prepare_inputs(inputs, sizes, *s);
  prepare_outputs(outputs, sizes, *s);
  separate_inputs(
      inputs.size(),
      [&](size_t i) {
        const InputBinding& b = inputs[i];
        // Other inputs were copied to the request's own memory by prepare_inputs().
        const bool in_place = s->in[i].data == b.data;
        return RequestMemory{inputs_[i].anchor.name, b.data, in_place ? b.bytes : 0};
      },
      outputs.size(),
      [&](size_t i) {
        const OutputBinding& b = outputs[i];
        return RequestMemory{b.name.data() ? b.name : runner_.model().outputs()[b.index].name,
                             b.data, b.bytes};
      },
      s->copies, [&](size_t i, const void* copy) { s->in[i].data = copy; });
  s->shared = shared_;
  return s;
}

void BucketRunner::count(const Load& load) noexcept {
  Counts& c = counts_[load.bucket];
  c.requests.fetch_add(1, std::memory_order_relaxed);
  if (load.padded) c.padded.fetch_add(1, std::memory_order_relaxed);
  c.elements.fetch_add(load.elements, std::memory_order_relaxed);
  c.room.fetch_add(load.room, std::memory_order_relaxed);
}

BucketStatistics BucketRunner::bucket_statistics(size_t bucket) const {
  const Counts& c = counts_.at(bucket);
  return {c.requests.load(std::memory_order_relaxed), c.padded.load(std::memory_order_relaxed),
          c.elements.load(std::memory_order_relaxed), c.room.load(std::memory_order_relaxed)};
}

void BucketRunner::execute(std::span<const InputBinding> inputs,
                           std::span<const OutputBinding> outputs) {
  auto s = prepare(inputs, outputs);
  runner_.execute(s->in, s->out);
  count(*s);
  s->crop();
  shared_->put_back(std::move(s));
}

RequestPtr BucketRunner::execute_async(std::span<const InputBinding> inputs,
                                       std::span<const OutputBinding> outputs,
                                       RequestCallback callback, const RequestOptions& options) {
  auto s = prepare(inputs, outputs);
  s->callback = callback;
  // The memory is in use until the request is done, whether or not it succeeds.
  RequestCallback done;
  done.context = s.get();
  done.before = [](void* context) noexcept {
    const auto* const staging = static_cast<const Staging*>(context);
    staging->crop();
    staging->callback.call_before();
  };
  done.full = [](void* context, const Request& request) noexcept {
    std::unique_ptr<Staging> mine(static_cast<Staging*>(context));
    const RequestCallback theirs = mine->callback;
    const auto shared = mine->shared;
    shared->put_back(std::move(mine));
    theirs(request.code(), request);
  };
  const Load load = *s;
  RequestPtr request = runner_.execute_async(s->in, s->out, done, options);
  static_cast<void>(s.release());  // the callback owns it now
  count(load);
  return request;
}

}  // namespace poprt::runtime
