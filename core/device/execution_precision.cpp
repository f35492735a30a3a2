#include "device/execution_precision.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/half.h"
#include "kernels/calls/conv.h"
#include "kernels/calls/conv_bf16.h"
#include "kernels/calls/conv_dilated.h"
#include "kernels/calls/conv_stem.h"
#include "kernels/calls/conv_stem_bf16.h"
#include "kernels/calls/matmul.h"
#include "kernels/calls/matmul_narrow.h"
#include "kernels/common/half_products.h"
#include "kernels/common/pack_matmul.h"
#include "kernels/common/pack_narrow.h"
#include "kernels/common/repack.h"
#include "program/shards.h"

namespace poprt::device {
namespace {

using kernels::calls::NarrowProducts;
using kernels::isa::NarrowFormat;
using program::Buffer;
using program::Instruction;
using program::kNoBuffer;
using program::Program;
using program::Space;

namespace calls = kernels::calls;

// bf16 is the upper half of f32.
bool is_bf16(float value) { return (std::bit_cast<uint32_t>(value) & 0xffff) == 0; }

bool fits_f16(float value) { return !(std::abs(value) > 65504.0f); }

// The fraction of the taps of a window of stride 1, over all pixels, that is inside of the image.
double unpadded_share(int64_t in, int64_t out, int64_t kernel, int64_t pad, int64_t dilation) {
  double inside = 0;
  for (int64_t k = 0; k < kernel; k++) {
    const double shift =
        static_cast<double>(k) * static_cast<double>(dilation) - static_cast<double>(pad);
    inside += std::max(0.0, std::min(static_cast<double>(out), static_cast<double>(in) - shift) -
                                std::max(0.0, -shift));
  }
  return inside / (static_cast<double>(kernel) * static_cast<double>(out));
}
double unpadded_share(const calls::BlockedConv& c) {
  return unpadded_share(c.h, c.oh, c.kh, c.pad_h, c.dilation_h) *
         unpadded_share(c.w, c.ow, c.kw, c.pad_w, c.dilation_w);
}

class Rewriter {
 public:
  Rewriter(const Image& image, ExecutionPrecision precision)
      : weights_(image.weights), precision_(precision), to_(*image.program) {}

  std::optional<RewrittenProgram> rewrite() {
    bool changed = false;
    for (Instruction& in : to_.main) changed |= rewrite(in);
    if (!changed) return std::nullopt;
    place_weights();
    return RewrittenProgram{std::move(to_), std::move(records_)};
  }

 private:
  bool rewrite(Instruction& in) {
    const std::string& kernel = to_.kernels[in.kernel];
    if (kernel == calls::Matmul::kKernel) return rewrite_matmul(in);
    if (kernel == calls::MatmulNarrow::kKernel) return rewrite_narrow(in);
    if (kernel == calls::Conv::kKernel) return rewrite_conv(in);
    if (kernel == calls::ConvDilated::kKernel) return rewrite_dilated(in);
    if (kernel == calls::ConvStem::kKernel) return rewrite_stem(in);
    return false;
  }

  // Returns the weights of an instruction that begin at a buffer, or an empty span if the buffer is
  // no weight, not aligned or too small. The kernel reports the errors.
  template <class T>
  std::span<const T> weights_at(uint32_t buffer, int64_t count) const {
    if (buffer == kNoBuffer) return {};
    const Buffer& b = to_.buffers[buffer];
    if (b.space != Space::weights || b.offset % program::kAlignment != 0 || count <= 0 ||
        b.bytes / sizeof(T) < static_cast<uint64_t>(count))
      return {};
    return {reinterpret_cast<const T*>(weights_.data() + b.offset), static_cast<size_t>(count)};
  }

  bool has_bytes(uint32_t buffer, uint64_t bytes) const {
    return buffer != kNoBuffer && to_.buffers[buffer].bytes >= bytes;
  }

  bool rounds(std::span<const float> weights) const {
    switch (precision_) {
      case ExecutionPrecision::bf16: return true;
      case ExecutionPrecision::automatic: return std::ranges::all_of(weights, is_bf16);
      case ExecutionPrecision::f16: return std::ranges::all_of(weights, fits_f16);
      case ExecutionPrecision::f32: break;
    }
    return false;
  }

  // Changes the kernel, operands and numbers of an instruction, which keeps its name for reports.
  template <class Call>
  void become(Instruction& in, const Call& call, std::vector<uint32_t> operands) {
    const auto found = std::ranges::find(to_.kernels, Call::kKernel);
    in.kernel = static_cast<uint32_t>(found - to_.kernels.begin());
    if (found == to_.kernels.end()) to_.kernels.emplace_back(Call::kKernel);
    calls::Encoded encoded = calls::encode(call);
    in.operands = std::move(operands);
    in.ints = std::move(encoded.ints);
    in.floats = std::move(encoded.floats);
  }

  uint32_t add(Buffer buffer) {
    to_.buffers.push_back(std::move(buffer));
    return static_cast<uint32_t>(to_.buffers.size() - 1);
  }

  // Adds weights in another form. `numbers` identifies the form, so that instructions with the same
  // source share it. place_weights() sets the offset, which is 0 until then.
  template <class Fill>
  uint32_t add_weights(const void* source, std::vector<int64_t> numbers, uint64_t bytes,
                       DType dtype, Fill fill) {
    const auto [it, is_new] =
        made_.try_emplace({source, std::move(numbers)}, static_cast<uint32_t>(0));
    if (!is_new) return it->second;
    const Shape shape = {static_cast<int64_t>(bytes / dtype_bytes(dtype, 1))};
    it->second = add({Space::weights, 0, 0, bytes, dtype, shape});
    records_.push_back({0, bytes, std::move(fill)});
    new_buffers_.push_back(it->second);
    return it->second;
  }

  // Memory after the arena for the rows of a product, of `row` bytes. Instructions run one after
  // the other and share it.
  uint32_t add_rows(int64_t m, int64_t row) {
    const auto bytes = static_cast<uint64_t>(checked_mul(m, row));
    const uint64_t offset = align_up(arena_bytes_, program::kAlignment);
    to_.arena_bytes =
        std::max(to_.arena_bytes, align_up(checked_add(offset, bytes), program::kAlignment));
    return add({Space::arena, 0, offset, bytes, DType::u8, {m, row}});
  }

  // Sets the format, products and block of a product, and its operands.
  void become_narrow(Instruction& in, calls::MatmulNarrow call, NarrowFormat format,
                     std::vector<uint32_t> operands) {
    call.format = format;
    call.block = std::max<int64_t>(kernels::isa::narrow_groups(format, call.k), 1) *
                 kernels::isa::narrow_group(format);
    call.products = NarrowProducts::f32;
    if (format == NarrowFormat::bf16) {
      call.products = NarrowProducts::bf16;
      operands.push_back(add_rows(call.m, kernels::isa::narrow_pair_bytes(call.k)));
    } else if (call.m > kernels::isa::kNarrowRows) {  // fewer rows have no products of f16
      call.products = NarrowProducts::f16;
      operands.push_back(add_rows(call.m, kernels::isa::narrow_half_bytes(call.k)));
    }
    become(in, call, std::move(operands));
  }

  bool rewrite_matmul(Instruction& in) {
    const auto c = calls::decode<calls::Matmul>(in.ints, in.floats);
    if (in.operands.size() != 5 || c.k < 1 || c.m < 1) return false;
    const auto from = weights_at<float>(
        in.operands[1],
        checked_mul(kernels::matmul_panels(c.n), checked_mul(c.k, kernels::kMatmulPanel)));
    if (from.empty() || !rounds(from) ||
        !has_bytes(in.operands[0],
                   static_cast<uint64_t>(checked_mul(checked_mul(c.m, c.k), int64_t{4}))))
      return false;
    const NarrowFormat format =
        precision_ == ExecutionPrecision::f16 ? NarrowFormat::f16 : NarrowFormat::bf16;
    const auto bytes = static_cast<uint64_t>(kernels::packed_narrow_bytes(format, c.k, c.n));
    const uint32_t panels =
        add_weights(from.data(), {static_cast<int64_t>(format), c.k, c.n}, bytes, DType::u8,
                    [from, k = c.k, n = c.n, format](std::span<std::byte> to) {
                      kernels::repack_matmul(from, k, n, format, to);
                    });
    become_narrow(in, {.m = c.m, .n = c.n, .k = c.k, .epilogue = c.epilogue}, format,
                  {in.operands[0], panels, kNoBuffer, kNoBuffer, in.operands[2], in.operands[3],
                   in.operands[4]});
    return true;
  }

  bool rewrite_narrow(Instruction& in) {
    auto c = calls::decode<calls::MatmulNarrow>(in.ints, in.floats);
    const bool half = c.products == NarrowProducts::f16;
    if ((!half && c.products != NarrowProducts::f32) || in.operands.size() != (half ? 8 : 7) ||
        in.operands[2] != kNoBuffer || c.m < 1 ||
        !has_bytes(in.operands[0],
                   static_cast<uint64_t>(checked_mul(checked_mul(c.m, c.k), int64_t{4}))))
      return false;
    std::vector<uint32_t> operands = in.operands;
    operands.resize(7);  // without rows
    if (precision_ == ExecutionPrecision::f32) {
      if (!half) return false;
      c.products = NarrowProducts::f32;
      become(in, c, std::move(operands));
      return true;
    }
    if (c.format == NarrowFormat::f16) {
      const int64_t count = kernels::packed_narrow_bytes(c.format, c.k, c.n) / 2;
      const auto from = weights_at<f16_t>(operands[1], count);
      if (from.empty()) return false;
      if (precision_ == ExecutionPrecision::f16 ||
          (precision_ == ExecutionPrecision::automatic &&
           !std::ranges::all_of(from, [](f16_t v) { return is_bf16(to_float(v)); }))) {
        if (half || c.m <= kernels::isa::kNarrowRows) return false;
        become_narrow(in, c, NarrowFormat::f16, std::move(operands));
        return true;
      }
      operands[1] = add_weights(from.data(), {-1, c.k, c.n}, static_cast<uint64_t>(count) * 2,
                                DType::u8, [from, k = c.k, n = c.n](std::span<std::byte> to) {
                                  kernels::repack_halves(from, k, n, program::as_array<bf16_t>(to));
                                });
    } else if (precision_ == ExecutionPrecision::f16 || c.format != NarrowFormat::bf16) {
      return false;
    }
    become_narrow(in, c, NarrowFormat::bf16, std::move(operands));
    return true;
  }

  // The weights of a convolution, or an empty span if its products stay f32.
  std::span<const float> conv_weights(const Instruction& in, const calls::BlockedConv& c,
                                      int64_t taps) const {
    if (precision_ == ExecutionPrecision::f16 || in.operands.size() != 5) return {};
    const int64_t blocks = checked_mul(c.groups, (c.m + 15) / 16);
    const auto from = weights_at<float>(
        in.operands[1], checked_mul(checked_mul(blocks, c.c), checked_mul(taps, int64_t{16})));
    return !from.empty() && rounds(from) ? from : std::span<const float>();
  }

  template <class Fill>
  uint32_t add_conv_weights(std::span<const float> from, int64_t kind, int64_t blocks, int64_t c,
                            int64_t taps, Fill repack) {
    const auto bytes = static_cast<uint64_t>(
        checked_mul(checked_mul(blocks, (c + 1) / 2), checked_mul(taps, int64_t{64})));
    return add_weights(from.data(), {kind, blocks, c, taps}, bytes, DType::bf16,
                       [=](std::span<std::byte> to) {
                         repack(from, blocks, c, taps, program::as_array<bf16_t>(to));
                       });
  }

  // `skips_padding`: the present kernel, unlike the one of bf16, does not compute products with
  // padding. Products of bf16 are twice as fast as those of f32, so skipping less than half of them
  // does not pay.
  bool rewrite_blocked(Instruction& in, const calls::ConvBf16& call, bool skips_padding) {
    const calls::BlockedConv& c = call.conv;
    if (c.groups != 1 && c.c % 16 != 0) return false;
    const int64_t taps =
        checked_mul(checked_mul(c.kh, c.kw), call.depth ? call.depth->kd : int64_t{1});
    const auto from = conv_weights(in, c, taps);
    if (from.empty() || (skips_padding && unpadded_share(c) < 0.5)) return false;
    std::vector<uint32_t> operands = in.operands;
    operands[1] =
        add_conv_weights(from, -2, c.groups * ((c.m + 15) / 16), c.c, taps, kernels::repack_conv);
    become(in, call, std::move(operands));
    return true;
  }

  bool rewrite_conv(Instruction& in) {
    const auto c = calls::decode<calls::Conv>(in.ints, in.floats);
    if (c.single) return false;
    return rewrite_blocked(in, {c.conv, c.depth}, false);
  }

  bool rewrite_dilated(Instruction& in) {
    const auto c = calls::decode<calls::ConvDilated>(in.ints, in.floats);
    return rewrite_blocked(in, {c.conv, std::nullopt}, true);
  }

  bool rewrite_stem(Instruction& in) {
    const auto c = calls::decode<calls::ConvStem>(in.ints, in.floats);
    if (c.depth || c.conv.groups != 1 || c.conv.c >= 16 || c.conv.dilation_w != 1) return false;
    const int64_t taps = checked_mul(c.conv.kh, c.conv.kw);
    const auto from = conv_weights(in, c.conv, taps);
    if (from.empty()) return false;
    std::vector<uint32_t> operands = in.operands;
    operands[1] =
        add_conv_weights(from, -3, (c.conv.m + 15) / 16, c.conv.c, taps, kernels::repack_conv_stem);
    become(in, calls::ConvStemBf16{c.conv}, std::move(operands));
    return true;
  }

  // Bytes [begin, end) of the old weights, which begin at `to` among the new ones.
  struct Kept {
    uint64_t begin, end, to;
  };

  std::vector<Kept> kept_weights() const {
    std::vector<Kept> parts;
    const auto keep = [&](uint64_t offset, uint64_t bytes) {
      parts.push_back({offset / program::kAlignment * program::kAlignment, offset + bytes, 0});
    };
    for (const auto* list : {&to_.load, &to_.main, &to_.save})
      for (const Instruction& in : *list)
        for (const uint32_t id : in.operands)
          if (id != kNoBuffer && is_old_weight(id))
            keep(to_.buffers[id].offset, to_.buffers[id].bytes);
    for (const program::Anchor& a : to_.inputs)
      if (a.data != program::kNoData) keep(a.data, a.bytes());
    std::ranges::sort(parts, {}, &Kept::begin);
    std::vector<Kept> merged;
    for (const Kept& part : parts)
      if (!merged.empty() && part.begin <= merged.back().end)
        merged.back().end = std::max(merged.back().end, part.end);
      else
        merged.push_back(part);
    return merged;
  }

  bool is_old_weight(uint32_t id) const {
    return to_.buffers[id].space == Space::weights && !std::ranges::binary_search(new_buffers_, id);
  }

  // Gives all weights their places: the new ones first, then the old ones that are still read.
  void place_weights() {
    std::vector<Kept> kept = kept_weights();
    uint64_t end = 0;
    const auto next = [&](uint64_t bytes) {
      return std::exchange(end, align_up(checked_add(end, bytes), program::kAlignment));
    };
    for (size_t i = 0; i < new_buffers_.size(); i++) {
      records_[i].offset = next(records_[i].bytes);
      to_.buffers[new_buffers_[i]].offset = records_[i].offset;
    }
    for (Kept& part : kept) {
      part.to = next(part.end - part.begin);
      const auto from = weights_.subspan(part.begin, part.end - part.begin);
      records_.push_back({part.to, from.size(), [from](std::span<std::byte> to) {
                            if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
                          }});
    }
    const auto moved = [&](uint64_t offset, uint64_t bytes) -> std::optional<uint64_t> {
      const auto after = std::ranges::upper_bound(kept, offset, {}, &Kept::begin);
      if (after == kept.begin() || std::prev(after)->end < offset + bytes) return std::nullopt;
      return std::prev(after)->to + (offset - std::prev(after)->begin);
    };
    for (uint32_t id = 0; id < to_.buffers.size(); id++) {
      if (!is_old_weight(id)) continue;
      Buffer& b = to_.buffers[id];
      if (const auto offset = moved(b.offset, b.bytes))
        b.offset = *offset;
      else  // no instruction reads it
        b = {Space::arena, 0, 0, 0, DType::u8, {0}};
    }
    for (program::Anchor& a : to_.inputs)
      if (a.data != program::kNoData) a.data = moved(a.data, a.bytes()).value();
    to_.weights_bytes = end;
  }

  const std::span<const std::byte> weights_;
  const ExecutionPrecision precision_;
  Program to_;
  const uint64_t arena_bytes_ = to_.arena_bytes;  // without the rows
  std::map<std::pair<const void*, std::vector<int64_t>>, uint32_t> made_;
  std::vector<uint32_t> new_buffers_;  // in ascending order, one for each of the first records
  std::vector<program::Weight> records_;
};

bool computes_bf16(const Program& program) {
  return std::ranges::any_of(program.main, [&](const Instruction& in) {
    const std::string& kernel = program.kernels[in.kernel];
    if (kernel == calls::MatmulNarrow::kKernel)
      return calls::decode<calls::MatmulNarrow>(in.ints, in.floats).products ==
             NarrowProducts::bf16;
    return kernel == calls::ConvBf16::kKernel || kernel == calls::ConvStemBf16::kKernel;
  });
}

}  // namespace

ExecutionPrecision execution_precision_named(std::string_view name) {
  if (name == "f32") return ExecutionPrecision::f32;
  if (name == "bf16") return ExecutionPrecision::bf16;
  if (name == "f16") return ExecutionPrecision::f16;
  if (name == "auto") return ExecutionPrecision::automatic;
  fail(ErrorCode::invalid_argument,
       "`execution_precision`: expected f32, bf16, f16 or auto, found '{}'", name);
}

bool computes_in_f16() { return kernels::can_use_half_products(); }

std::optional<RewrittenProgram> with_execution_precision(const Image& image,
                                                         ExecutionPrecision precision,
                                                         bool half_products) {
  const Program& p = *image.program;
  if (precision == ExecutionPrecision::f32) {
    if (computes_bf16(p))
      fail(ErrorCode::failed_precondition,
           "execution_precision f32: the executable was compiled for products of bf16 and contains "
           "rounded weights; compile the model with execution_precision f32");
    if (!half_products || program::has_shards(p)) return std::nullopt;
  }
  if (program::has_shards(p))
    fail(ErrorCode::unimplemented,
         "execution_precision of a runner: the executable is divided over {} IPUs; give "
         "execution_precision when the model is compiled",
         program::ipus_of(p));
  return Rewriter(image, precision).rewrite();
}

}  // namespace poprt::device
