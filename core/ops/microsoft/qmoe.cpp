// Inputs: input [rows, hidden] or [B,S,hidden], router_probs [rows, experts], and for each of the
// layers fc1, fc2 and fc3? weights u8 that pack 2, 4 or 8 bits, scales, bias?; then zero points? of
// the layers, and router_weights? [rows, experts], which replace router_probs as the weights of the
// experts in the sum.
#include "ops/common/block_quantized.h"
#include "ops/common/dimension.h"
#include "ops/common/experts.h"

namespace poprt::ops::microsoft_qmoe_op {
namespace {

constexpr int64_t kDefaultBits = 4;

struct Places {
  size_t weights, scales, bias, zeros;
  const char* bits;
};
constexpr Places kFc1{2, 3, 4, 11, "fc1_expert_weight_bits"};
constexpr Places kFc2{5, 6, 7, 12, "fc2_expert_weight_bits"};
constexpr Places kFc3{8, 9, 10, 13, "fc3_expert_weight_bits"};

void refuse_forms(const Expansion& e) {
  const ir::Node& n = e.node;
  if (n.int_attr("use_sparse_mixer", 0)) e.fail_unsupported("use_sparse_mixer");
  if (const std::string type = n.string_attr("quant_type", "int"); type != "int")
    e.fail_unsupported("quant_type '{}', expected int", type);
  if (n.int_attr("weights_prepacked", -1) == 1)
    e.fail_unsupported("weights_prepacked 1; the layout belongs to one device, use 0");
  for (size_t i = 15; i < n.inputs().size(); i++)
    if (e.has(i)) e.fail_unsupported("input {}: scales of activations and global scales", i);
}

// The weights [experts, columns, depth] of a layer in the type of the input.
ExpertLayer dequantized(Expansion& e, const Places& in, int64_t depth) {
  ExpertLayer l;
  if (!e.has(in.weights)) return l;
  const int64_t bits =
      e.node.int_attr(in.bits, e.node.int_attr("expert_weight_bits", kDefaultBits));
  if (bits != 2 && bits != 4 && bits != 8)
    e.fail_unsupported("{} {}, expected 2, 4 or 8", in.bits, bits);
  const Shape w = e.shape(in.weights);
  e.check(e.dtype(in.weights) == DType::u8 && w.size() == 3 && depth * bits % 8 == 0 &&
              w[2] == depth * bits / 8,
          "the weights of experts must be u8 [experts, columns, rows * bits / 8]");
  int64_t block = e.node.int_attr("block_size", 0);
  e.check(block >= 0, "block_size must not be negative");
  const bool blocked = block > 0 && e.shape(in.scales).size() == 3;
  if (!blocked) block = depth;
  const int64_t blocks = (depth + block - 1) / block;
  const Shape scales = {w[0], w[1], blocks};
  e.check(element_count(e.shape(in.scales)) == element_count(scales),
          "scales must have a number for each column and block");
  ir::Value* zero = nullptr;
  if (!e.has(in.zeros))
    zero = e.expand(e.number(DType::u8, static_cast<double>(1 << (bits - 1))), scales);
  else
    zero = e.reshape(unpack_bits(e, e.in(in.zeros), bits, blocked ? blocks : w[1]), scales);
  l.weights = e.cast(scale_blocks(e, unpack_bits(e, e.in(in.weights), bits, depth),
                                  e.reshape(e.in(in.scales), scales), zero, 2, block),
                     e.dtype(0));
  l.bias = e.in_or_null(in.bias);
  return l;
}

void expand(Expansion& e) {
  refuse_forms(e);
  const Shape x = e.shape(0);
  e.check((x.size() == 2 || x.size() == 3) && x.back() > 0,
          "input must be [rows, hidden] or [batch, sequence, hidden]");
  const int64_t rows = element_count(x) / x.back(), experts = dimension(e, e.in(2), 0);
  const int64_t columns = dimension(e, e.in(2), 1) / (has_fused_gate(e) ? 2 : 1);
  ExpertsCall call;
  call.x = e.reshape(e.in(0), {rows, x.back()});
  call.fc1 = dequantized(e, kFc1, x.back());
  call.fc2 = dequantized(e, kFc2, columns);
  call.fc3 = dequantized(e, kFc3, x.back());
  const Routed r = route(e, e.in(1), rows, experts);
  call.chosen = r.chosen;
  if (e.has(14)) {
    e.check(e.shape(14) == Shape{rows, experts}, "router_weights must be [rows, experts]");
    call.shares = e.newest("GatherElements", {e.in(14), r.chosen}, {{"axis", int64_t{1}}});
    if (e.node.int_attr("normalize_routing_weights", 0))
      call.shares = e.add("Div", {call.shares, e.newest("ReduceSum", {call.shares, e.ints({1})},
                                                        {{"keepdims", int64_t{1}}})});
  } else {
    call.shares = e.newest("Softmax", {r.logits}, {{"axis", int64_t{1}}});
  }
  e.out(0, e.reshape(apply_experts(e, call), x));
}

}  // namespace
}  // namespace poprt::ops::microsoft_qmoe_op

POPRT_EXPANSION_WITH_FACTS(microsoft_qmoe_op, "com.microsoft", "QMoE", expand,
                           .trial = {
                               "T[4,16]; T[4,2]; u8[2,16,8]; T[2,16]; _; u8[2,16,8]; T[2,16]"})
