#include "compiler/narrow_storage.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace poprt::compiler {
namespace {

// Smaller weights are not worth an entry in the table.
constexpr uint64_t kLeastBytes = 4096;
// The table is not used if it saves less than 1 / kLeastSaving of the bytes of all weights.
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

std::optional<program::NarrowWeights> narrowest(std::span<const float> values) {
  program::Narrowing narrowing;
  for (size_t at = 0; at < values.size(); at += kPiece)
    if (!narrowing.add(values.subspan(at, std::min(kPiece, values.size() - at))))
      return std::nullopt;
  return narrowing.narrowest();
}

// Whether a value of the graph, or of a graph in it, has the property.
template <class Property>
bool has_constant(const ir::Graph& graph, const Property& property) {
  for (const ir::Value* v : graph.values())
    if (property(*v)) return true;
  for (const ir::Node* n : graph.nodes()) {
    bool inside = false;
    ir::for_each_subgraph(*n, [&](const ir::Graph& g) { inside |= has_constant(g, property); });
    if (inside) return true;
  }
  return false;
}

}  // namespace

bool has_narrow_constants(const ir::Graph& graph) { return has_constant(graph, is_narrow); }

bool has_weights_of(const ir::Graph& graph, DType dtype) {
  return has_constant(graph, [dtype](const ir::Value& v) {
    return v.is_constant() && v.dtype() == dtype && v.constant().shape().size() >= 2;
  });
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
    auto narrow = narrowest(values);
    if (!narrow) continue;
    narrow->offset = w.offset;
    narrow->bytes = w.bytes;
    table.push_back(*narrow);
  }
  // When the executable is loaded, all weights are copied to private memory to widen some of them.
  // So the table must save a part of the file.
  uint64_t all = 0, saved = 0;
  for (const program::Weight& w : weights) all += w.bytes;
  for (const program::NarrowWeights& n : table)
    saved += n.bytes - dtype_bytes(n.dtype, static_cast<int64_t>(n.count()));
  if (saved < all / kLeastSaving) table.clear();
  return table;
}

}  // namespace poprt::compiler
