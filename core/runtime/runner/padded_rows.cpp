#include "runtime/runner/padded_rows.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "program/batch_rows.h"
#include "runtime/session/anchor_lookup.h"

namespace poprt::runtime {
namespace {

bool has_whole_bytes(const program::OpenAnchor& anchor) { return dtype_bits(anchor.dtype) >= 8; }

// The names of inputs with the size in their first dimension. Returns nothing if another dimension
// has it, or if such an input has elements of less than a byte.
std::optional<std::set<std::string>> inputs_with_rows(const OpenSizes& open, size_t size) {
  std::set<std::string> names;
  for (size_t i = 0; i < open.shapes().inputs.size(); i++) {
    const program::OpenAnchor& a = open.shapes().inputs[i];
    for (size_t d = 0; d < a.shape.size(); d++) {
      if (open.size_at(i, d) != static_cast<int32_t>(size)) continue;
      if (d > 0 || !has_whole_bytes(a)) return std::nullopt;
      names.insert(a.name);
    }
  }
  return names;
}

uint64_t bytes_at(const program::Anchor& anchor, int64_t rows) {
  Shape shape = anchor.shape;
  shape[0] = rows;
  return dtype_bytes(anchor.dtype, element_count(shape));
}

void check_rows(const program::Anchor& anchor, int64_t rows, const void* data, uint64_t bytes,
                std::string_view direction) {
  program::Anchor wanted = anchor;
  wanted.shape[0] = rows;
  if (bytes != wanted.bytes()) fail_wrong_size(wanted, bytes, direction);
  if (!data && bytes)
    fail(ErrorCode::invalid_argument, "{} '{}': the pointer is null", direction, anchor.name);
}

}  // namespace

std::optional<PaddableRows> paddable_rows(const OpenSizes& open, const Model& model,
                                          const OpenSizes::Sizes& sizes) {
  const auto note = model.opaque.find(program::kBatchRows);
  if (note == model.opaque.end()) return std::nullopt;
  for (const program::BatchRows& axis : program::read_batch_rows(note->second)) {
    if (axis.axis != 0 || !axis.mixed.empty()) continue;
    const std::set<std::string> wanted(axis.inputs.begin(), axis.inputs.end());
    for (size_t i = 0; i < sizes.size(); i++) {
      if (sizes[i] != axis.rows || inputs_with_rows(open, i) != wanted) continue;
      const bool fits = std::ranges::all_of(model.outputs(), [&](const program::Anchor& a) {
        return !a.shape.empty() && a.shape[0] == axis.rows && dtype_bits(a.dtype) >= 8;
      });
      if (fits) return PaddableRows{i, axis.rows};
    }
  }
  return std::nullopt;
}

PaddedRows::PaddedRows(const OpenSizes& open, const Model& model, const PaddableRows& rows,
                       int64_t wanted, std::span<const InputBinding> inputs,
                       std::span<const OutputBinding> outputs) {
  for (size_t i = 0; i < inputs.size(); i++) {
    const size_t at = open.input_at(inputs[i], i);
    const program::Anchor& a = model.inputs()[at];
    InputBinding b{{}, at, inputs[i].data, inputs[i].bytes};
    if (!a.shape.empty() && open.size_at(at, 0) == static_cast<int32_t>(rows.size)) {
      check_rows(a, wanted, b.data, b.bytes, "input");
      const TensorMemory& padded = memory_.emplace_back(a.bytes());
      auto* const to = static_cast<std::byte*>(padded.data());
      if (b.bytes) std::memcpy(to, b.data, b.bytes);
      std::memset(to + b.bytes, 0, padded.bytes() - b.bytes);
      b.data = to;
      b.bytes = padded.bytes();
    }
    inputs_.push_back(b);
  }
  for (size_t i = 0; i < outputs.size(); i++) {
    const size_t at = open.output_at(outputs[i], i);
    const program::Anchor& a = model.outputs()[at];
    check_rows(a, wanted, outputs[i].data, outputs[i].bytes, "output");
    const TensorMemory& padded = memory_.emplace_back(a.bytes());
    outputs_.push_back({{}, at, padded.data(), padded.bytes()});
    results_.push_back({static_cast<std::byte*>(outputs[i].data),
                        static_cast<const std::byte*>(padded.data()), bytes_at(a, wanted)});
  }
}

void PaddedRows::crop() const {
  for (const Result& r : results_)
    if (r.bytes) std::memcpy(r.to, r.from, r.bytes);
}

}  // namespace poprt::runtime
