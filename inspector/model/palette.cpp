#include "model/palette.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace poprt::inspector {
namespace {

constexpr std::array<uint32_t, 24> kHues = {
    0x4e8fdf, 0xd9744a, 0x3fae8a, 0xb565c9, 0xc9a227, 0xd4587e, 0x5aa845, 0x7c74d8,
    0x2fa3bd, 0xb07b4f, 0x8b9a3b, 0xa0617d, 0x2f63c4, 0xe0a070, 0x1d7f63, 0x8c3fa8,
    0xe3d06a, 0xa8324f, 0x9fd67f, 0x4a45a8, 0x7fd0e0, 0x7a5230, 0x5d6b1c, 0xe29ac0};
// Two of them never share a colour: there are as many colours as common names.
constexpr std::string_view kCommon[] = {
    "Conv",      "Add",    "MatMul",    "Relu", "Mul",    "Gemm", "Reshape", "Softmax",
    "Transpose", "Concat", "MaxPool",   "Div",  "Gather", "Sub",  "Sigmoid", "LayerNormalization",
    "Constant",  "Tanh",   "Unsqueeze", "Erf",  "Slice",  "Pow",  "Sqrt",    "ReduceMean"};
static_assert(std::size(kCommon) <= kHues.size());

}  // namespace

uint32_t hue_of(std::string_view name) {
  const auto common = std::find(std::begin(kCommon), std::end(kCommon), name);
  if (common != std::end(kCommon)) return hue_at(static_cast<size_t>(common - std::begin(kCommon)));
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hue_at(hash ^ (hash >> 15));
}

uint32_t hue_at(size_t index) { return kHues[index % kHues.size()]; }

}  // namespace poprt::inspector
