#include "model/palette.h"

#include <array>
#include <cctype>
#include <string>

namespace poprt::inspector {
namespace {

struct Entry {
  std::string_view name;  // lower case, without '_'
  uint32_t colour;
  Family family;
  bool inside;  // also names that contain it: "conv" in "conv_winograd" and "QLinearConv"
};

// Colours were searched in CIELAB so that neighbours in the legends of common models differ for
// normal vision, protanopia, deuteranopia and tritanopia, and so that none looks like the red of
// errors. palette_test.cpp checks both.
constexpr Entry kEntries[] = {
    // Products of matrices: blue.
    {"matmul", 0x589ff5, Family::matmul, true},
    {"gemm", 0x69c0f5, Family::matmul, true},
    {"einsum", 0x3f8cc1, Family::matmul, true},
    {"matmulinteger", 0x5398d7, Family::matmul, true},
    {"matmulnbits", 0x3b74b7, Family::matmul, true},
    {"linear", 0x589ff5, Family::matmul, false},
    // Convolutions: cyan.
    {"conv", 0x37a6b7, Family::conv, true},
    {"convtranspose", 0x7bcede, Family::conv, true},
    {"convinteger", 0x77dcf7, Family::conv, true},
    {"deformconv", 0x5cb8ce, Family::conv, true},
    {"convwinograd", 0x006a6e, Family::conv, true},
    {"convstem", 0xb2dee6, Family::conv, true},
    {"convdilated", 0x6fc1db, Family::conv, true},
    {"convdepthwise", 0x348d94, Family::conv, true},
    {"convgrouped", 0x6bdcf7, Family::conv, true},
    // Attention and recurrence: pink and purple.
    {"attention", 0x874b87, Family::sequence, true},
    {"lstm", 0x8c5a8d, Family::sequence, true},
    {"gru", 0xa56aa2, Family::sequence, true},
    {"rotaryembedding", 0xf398f8, Family::sequence, true},
    {"groupqueryattention", 0xa93e9c, Family::sequence, false},
    {"rnn", 0xa56aa2, Family::sequence, false},
    {"recurrent", 0x8c5a8d, Family::sequence, true},
    {"beamsearch", 0x874b87, Family::sequence, true},
    {"greedysearch", 0x874b87, Family::sequence, true},
    {"moe", 0xa93e9c, Family::sequence, true},
    {"expert", 0xa93e9c, Family::sequence, true},
    // Normalisation: violet.
    {"layernormalization", 0xac84d0, Family::norm, true},
    {"layernorm", 0xac84d0, Family::norm, true},
    {"batchnormalization", 0x5955bd, Family::norm, true},
    {"rmsnormalization", 0x8068cf, Family::norm, true},
    {"instancenormalization", 0x9a9cd3, Family::norm, true},
    {"groupnormalization", 0x8e76d8, Family::norm, true},
    {"norm", 0xac84d0, Family::norm, true},
    // Activations: yellow.
    {"relu", 0xeabb3c, Family::activation, true},
    {"sigmoid", 0xf9d452, Family::activation, true},
    {"tanh", 0xdebb54, Family::activation, true},
    {"gelu", 0x985b09, Family::activation, true},
    {"clip", 0x9f8705, Family::activation, false},
    {"erf", 0x996b18, Family::activation, false},
    {"softmax", 0xc6a01f, Family::activation, true},
    {"silu", 0xb99310, Family::activation, true},
    {"leakyrelu", 0xdbab2b, Family::activation, false},
    {"hardswish", 0xf2c65d, Family::activation, true},
    {"elu", 0xdbab2b, Family::activation, false},
    {"celu", 0xdbab2b, Family::activation, false},
    {"selu", 0xdbab2b, Family::activation, false},
    {"prelu", 0xdbab2b, Family::activation, false},
    {"softplus", 0xf2c65d, Family::activation, false},
    {"softsign", 0xf2c65d, Family::activation, false},
    {"swish", 0xb99310, Family::activation, true},
    {"mish", 0xb99310, Family::activation, false},
    // Arithmetic and comparisons: green.
    {"add", 0xa1e5b5, Family::arithmetic, false},
    {"mul", 0x409e3a, Family::arithmetic, false},
    {"sub", 0x426833, Family::arithmetic, false},
    {"div", 0x96cb94, Family::arithmetic, false},
    {"pow", 0x658a4e, Family::arithmetic, false},
    {"sqrt", 0x58773d, Family::arithmetic, false},
    {"exp", 0x539468, Family::arithmetic, false},
    {"neg", 0x71b182, Family::arithmetic, false},
    {"where", 0x6a9c66, Family::arithmetic, false},
    {"reciprocal", 0x81b775, Family::arithmetic, false},
    {"cos", 0xafe386, Family::arithmetic, false},
    {"sin", 0x3e892b, Family::arithmetic, false},
    {"equal", 0x85cd7b, Family::arithmetic, false},
    {"elementwise", 0x79e198, Family::arithmetic, true},
    {"min", 0x4a7c4a, Family::arithmetic, false},
    {"max", 0x90bc65, Family::arithmetic, false},
    {"qlinearadd", 0xa1e5b5, Family::arithmetic, false},
    {"qlinearmul", 0x409e3a, Family::arithmetic, false},
    {"greater", 0x85cd7b, Family::arithmetic, true},
    {"less", 0x85cd7b, Family::arithmetic, true},
    {"and", 0x85cd7b, Family::arithmetic, false},
    {"or", 0x85cd7b, Family::arithmetic, false},
    {"xor", 0x85cd7b, Family::arithmetic, false},
    {"not", 0x71b182, Family::arithmetic, false},
    {"abs", 0x71b182, Family::arithmetic, false},
    {"mod", 0x426833, Family::arithmetic, false},
    {"floor", 0x58773d, Family::arithmetic, false},
    {"ceil", 0x58773d, Family::arithmetic, false},
    {"round", 0x58773d, Family::arithmetic, false},
    {"log", 0x539468, Family::arithmetic, false},
    {"sum", 0xa1e5b5, Family::arithmetic, false},
    {"mean", 0xa1e5b5, Family::arithmetic, false},
    {"bitwise", 0x85cd7b, Family::arithmetic, true},
    {"shift", 0x426833, Family::arithmetic, true},
    {"select", 0x6a9c66, Family::arithmetic, true},
    // Pooling and reductions: brown and orange.
    {"globalaveragepool", 0x895d24, Family::reduction, true},
    {"globalaverage", 0x895d24, Family::reduction, true},
    {"maxpool", 0xc88551, Family::reduction, true},
    {"averagepool", 0xb27555, Family::reduction, true},
    {"reducemean", 0xeba15f, Family::reduction, true},
    {"reducesum", 0xfecaa1, Family::reduction, true},
    {"argmax", 0x8a502d, Family::reduction, false},
    {"topk", 0xa67035, Family::reduction, true},
    {"cumsum", 0x956a50, Family::reduction, true},
    {"pool", 0xb27555, Family::reduction, true},
    {"reduce", 0xfecaa1, Family::reduction, true},
    {"argmin", 0x8a502d, Family::reduction, false},
    {"argextreme", 0x8a502d, Family::reduction, true},
    {"lppool", 0xb27555, Family::reduction, false},
    {"histogram", 0x956a50, Family::reduction, false},
    // Movement of data: grey blue.
    {"reshape", 0x717b82, Family::movement, true},
    {"transpose", 0x96a1a8, Family::movement, true},
    {"concat", 0x667b90, Family::movement, true},
    {"slice", 0xd1d8de, Family::movement, false},
    {"split", 0x4e6277, Family::movement, false},
    {"gather", 0xc0d9ee, Family::movement, true},
    {"unsqueeze", 0xb4bec9, Family::movement, false},
    {"squeeze", 0x9caebb, Family::movement, false},
    {"expand", 0x576471, Family::movement, false},
    {"flatten", 0x67727f, Family::movement, false},
    {"pad", 0x748497, Family::movement, false},
    {"resize", 0x5e636a, Family::movement, true},
    {"tile", 0x566c7e, Family::movement, false},
    {"scatternd", 0x888e96, Family::movement, true},
    {"gathernd", 0x8897a2, Family::movement, true},
    {"copy", 0x717b82, Family::movement, true},
    {"fill", 0x576471, Family::movement, true},
    {"scatter", 0x888e96, Family::movement, true},
    {"upsample", 0x5e636a, Family::movement, false},
    {"resample", 0x5e636a, Family::movement, true},
    {"depthtospace", 0x96a1a8, Family::movement, false},
    {"spacetodepth", 0x96a1a8, Family::movement, false},
    {"mapaxes", 0x96a1a8, Family::movement, true},
    {"embed", 0xc0d9ee, Family::movement, true},
    {"reverse", 0xd1d8de, Family::movement, true},
    {"block", 0x96a1a8, Family::movement, false},
    {"unblock", 0x96a1a8, Family::movement, false},
    // Conversion of types: green blue.
    {"cast", 0x30695d, Family::types, false},
    {"quantizelinear", 0x518474, Family::types, true},
    {"dequantizelinear", 0x6cebcd, Family::types, true},
    {"dynamicquantizelinear", 0x1f796b, Family::types, true},
    {"quantize", 0x518474, Family::types, true},
    {"dequantize", 0x6cebcd, Family::types, true},
    {"dynamicquantize", 0x1f796b, Family::types, true},
    {"requantize", 0x518474, Family::types, true},
    {"castlike", 0x30695d, Family::types, false},
    // Control flow, shapes and constants: grey.
    {"identity", 0xa1a491, Family::control, false},
    {"constant", 0x7e7867, Family::control, false},
    {"shape", 0xb7b3a0, Family::control, false},
    {"if", 0x66604f, Family::control, false},
    {"loop", 0xc7c5ac, Family::control, false},
    {"constantofshape", 0x999986, Family::control, false},
    {"range", 0x77705b, Family::control, false},
    {"nonzero", 0x6e6448, Family::control, false},
    {"nonmaxsuppression", 0x999379, Family::control, true},
    {"scan", 0xc7c5ac, Family::control, true},
    {"random", 0x77705b, Family::control, true},
};

// Colours of the lines of one plot.
constexpr std::array<uint32_t, 12> kLines = {0x32dac8, 0x627752, 0xe8c03a, 0x895a9a,
                                             0x86a77b, 0xedb1fa, 0x367c77, 0xb7be81,
                                             0x5d9fac, 0xb3921c, 0x7b73e4, 0x907412};
// Colours of names that are in no family.
constexpr std::array<uint32_t, 6> kOthers = {0x8d8796, 0xa39d92, 0x6f6a75,
                                             0xb9b2ad, 0x7d7a70, 0x97a0a0};

const Entry* entry_of(std::string_view name) {
  if (const size_t dot = name.rfind('.'); dot != name.npos) name.remove_prefix(dot + 1);
  std::string key;
  for (const char c : name)
    if (c != '_') key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const Entry* best = nullptr;
  for (const Entry& e : kEntries) {
    if (key == e.name) return &e;
    if (e.inside && key.find(e.name) != key.npos && (!best || e.name.size() > best->name.size()))
      best = &e;
  }
  return best;
}

}  // namespace

Family family_of(std::string_view name) {
  const Entry* const entry = entry_of(name);
  return entry ? entry->family : Family::other;
}

uint32_t colour_of_name(std::string_view name) {
  if (const Entry* const entry = entry_of(name)) return entry->colour;
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return kOthers[(hash ^ (hash >> 15)) % kOthers.size()];
}

uint32_t hue_at(size_t index) { return kLines[index % kLines.size()]; }

}  // namespace poprt::inspector
