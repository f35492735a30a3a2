#include "compiler/narrow.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include "kernels/calls/conv_winograd.h"
#include "kernels/common/pack_conv.h"

namespace poprt::compiler {
namespace {

// Smaller weights are not worth an entry in the table.
constexpr uint64_t kLeastBytes = 4096;
// The table is not used if it saves less than this part of the weights.
constexpr uint64_t kLeastSaving = 32;
// Number of floats between two checks for an early exit.
constexpr size_t kPiece = 4096;

bool is_narrow(const ir::Value& v) {
  if (!v.is_constant()) return false;
  const int bits = dtype_bits(v.dtype());
  if (is_float(v.dtype())) return bits == 8 || bits == 16;
  // The byte operands of PopRT's operators are 8-bit floats.
  return v.dtype() == DType::u8 && std::ranges::any_of(v.uses(), [](const ir::Use& u) {
           return u.node->domain == "ai.graphcore";
         });
}

// Returns the offsets of the records that instructions read as f32 only.
std::unordered_set<uint64_t> float_records(const program::Program& p) {
  std::unordered_set<uint64_t> floats, others;
  for (const program::Buffer& b : p.buffers)
    if (b.space == program::Space::weights)
      (b.dtype == DType::f32 ? floats : others).insert(b.offset);
  for (const program::Anchor& a : p.inputs)
    if (a.data != program::kNoData) others.insert(a.data);
  for (const uint64_t offset : others) floats.erase(offset);
  return floats;
}

// Returns the offsets of the records with Winograd's weights, and their sources.
std::map<uint64_t, WinogradWeights> winograd_records(const program::Program& p) {
  std::map<uint64_t, WinogradWeights> records;
  for (const auto* flow : {&p.load, &p.main, &p.save})
    for (const program::Instruction& i : *flow) {
      if (p.kernels[i.kernel] != kernels::calls::ConvWinograd::kKernel) continue;
      const auto call = kernels::calls::decode<kernels::calls::ConvWinograd>(i.ints, i.floats);
      const program::Buffer& b = p.buffers[i.operands[1]];
      if (b.space == program::Space::weights)
        records.emplace(b.offset, WinogradWeights{call.conv.m, call.conv.c, call.tile});
    }
  return records;
}

std::optional<program::NarrowWeights> narrowest(std::span<const float> values) {
  program::Narrowing narrowing;
  for (size_t at = 0; at < values.size(); at += kPiece)
    if (!narrowing.add(values.subspan(at, std::min(kPiece, values.size() - at))))
      return std::nullopt;
  return narrowing.narrowest();
}

// Whether the record is the transform of its plain weights. It may have another origin.
bool is_transform_of(const program::Weight& record, const WinogradWeights& form,
                     std::span<const float> plain) {
  std::vector<float> packed(static_cast<size_t>(form.packed_floats())), made(packed.size());
  record.fill(std::as_writable_bytes(std::span(packed)));
  kernels::pack_conv_winograd({plain, 1, form.m, form.c, 3, 3}, form.tile, made);
  return std::ranges::equal(std::as_bytes(std::span(packed)), std::as_bytes(std::span(made)));
}

}  // namespace

bool has_narrow_constants(const ir::Graph& graph) {
  for (const ir::Value* v : graph.values())
    if (is_narrow(*v)) return true;
  for (const ir::Node* n : graph.nodes()) {
    bool inside = false;
    ir::for_each_subgraph(*n, [&](const ir::Graph& g) { inside |= has_narrow_constants(g); });
    if (inside) return true;
  }
  return false;
}

std::vector<program::NarrowWeights> narrow_weights(const program::Program& program,
                                                   std::span<const program::Weight> weights,
                                                   const NarrowSearch& search) {
  const std::unordered_set<uint64_t> floats = float_records(program);
  const std::map<uint64_t, WinogradWeights> transformed = winograd_records(program);
  std::vector<program::NarrowWeights> table;
  std::vector<float> values;
  for (const program::Weight& w : weights) {
    if (w.bytes < kLeastBytes || w.bytes % sizeof(float) != 0 || !floats.contains(w.offset))
      continue;
    const auto form = transformed.find(w.offset);
    if (!search.types && form == transformed.end()) continue;
    values.resize(w.bytes / sizeof(float));
    std::span<float> asked = values;
    if (form != transformed.end()) {
      if (w.bytes != static_cast<uint64_t>(form->second.packed_floats()) * sizeof(float)) continue;
      asked = asked.first(static_cast<size_t>(form->second.plain_floats()));
    }
    w.fill(std::as_writable_bytes(asked));
    auto narrow = search.types ? narrowest(asked) : std::nullopt;
    if (!narrow && search.plain && form != transformed.end())
      narrow = program::NarrowWeights{.dtype = DType::f32};
    if (!narrow) continue;
    narrow->offset = w.offset;
    narrow->bytes = w.bytes;
    if (form != transformed.end()) {
      narrow->winograd = form->second;
      if (!is_transform_of(w, form->second, asked)) continue;
    }
    table.push_back(*narrow);
  }
  // Widening copies all weights to private memory, so it must save a part of the file.
  uint64_t all = 0, saved = 0;
  for (const program::Weight& w : weights) all += w.bytes;
  for (const program::NarrowWeights& n : table)
    saved += n.bytes - dtype_bytes(n.dtype, static_cast<int64_t>(n.count()));
  if (saved < all / kLeastSaving) table.clear();
  return table;
}

}  // namespace poprt::compiler
