#include "compiler/narrow.h"

#include <algorithm>
#include <unordered_set>

namespace poprt::compiler {
namespace {

// Less than this is not worth a place in the table.
constexpr uint64_t kLeastBytes = 4096;
// Floats between two looks whether it is any use to go on.
constexpr size_t kPiece = 4096;

bool is_narrow(const ir::Value& v) {
  if (!v.is_constant()) return false;
  const int bits = dtype_bits(v.dtype());
  if (is_float(v.dtype())) return bits == 8 || bits == 16;
  // The bytes of PopRT's operators are 8-bit floats.
  return v.dtype() == DType::u8 && std::ranges::any_of(v.uses(), [](const ir::Use& u) {
           return u.node->domain == "ai.graphcore";
         });
}

// Offsets of the records that instructions read as f32 and as nothing else.
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
                                                   std::span<const program::Weight> weights) {
  const std::unordered_set<uint64_t> floats = float_records(program);
  std::vector<program::NarrowWeights> table;
  std::vector<float> values;
  for (const program::Weight& w : weights) {
    if (w.bytes < kLeastBytes || w.bytes % sizeof(float) != 0 || !floats.contains(w.offset))
      continue;
    values.resize(w.bytes / sizeof(float));
    w.fill(std::as_writable_bytes(std::span(values)));
    program::Narrowing narrowing;
    bool narrow = true;
    for (size_t at = 0; narrow && at < values.size(); at += kPiece)
      narrow = narrowing.add(std::span(values).subspan(at, std::min(kPiece, values.size() - at)));
    if (!narrow) continue;
    table.push_back(*narrowing.narrowest());
    table.back().offset = w.offset;
    table.back().bytes = w.bytes;
  }
  return table;
}

}  // namespace poprt::compiler
