// Small transformers as exporters write them, and sequences of random tokens to pack.
#pragma once

#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/passes/pass_case.h"

namespace poprt::test {

inline constexpr int64_t kPackRows = 2, kPackLength = 8, kPackHidden = 12;

// How a transformer is written.
struct Writing {
  std::string embedding, mask, scores;  // `mask` makes %m of %mask, `scores` %sm of %s and %m
  std::string head = "%y = Add(%out, %be)";
};

// `count` numbers of a result from `at` on are those of an item that was computed alone.
inline void expect_item(std::span<const double> result, size_t at, std::span<const double> alone,
                        size_t count, size_t item) {
  const auto floats = [&](std::span<const double> from) {
    return Tensor::of<float>(
        {static_cast<int64_t>(count)},
        std::vector<float>(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count)));
  };
  expect_close(floats(result.subspan(at)), floats(alone), 1e-5, fmt::format("item {}", item));
}

inline std::string bert_embedding() {
  return R"(
%w = Gather(%table, %ids)
%ww = Add(%w, %places)
%x = LayerNormalization(%ww, %gamma, %be) {axis = -1}
)";
}

// The types of tokens are no input of the model, but rows of a constant.
inline std::string typed_embedding() {
  std::string types;
  for (int64_t i = 0; i < kPackRows * kPackLength * kPackHidden; i++)
    types += fmt::format("{}{:.4f}", i ? ", " : "",
                         static_cast<double>(i % (kPackLength * kPackHidden) % 7) / 4.0);
  return fmt::format(R"(
const %types : f32[{},{},{}] = [{}]
%t = Gather(%table, %ids)
%w = Add(%t, %types)
%ww = Add(%w, %places)
%x = LayerNormalization(%ww, %gamma, %be) {{axis = -1}}
)",
                     kPackRows, kPackLength, kPackHidden, types);
}

// Positions are running sums over the tokens that are no padding.
inline std::string roberta_embedding() {
  return R"(
const %pad : s64[] = 0
const %axis : s64[] = 1
%is_pad = Equal(%ids, %pad)
%token = Not(%is_pad)
%tokens = Cast(%token) {to = 6}
%sum = CumSum(%tokens, %axis)
%at = Mul(%sum, %tokens)
%at64 = Cast(%at) {to = 7}
%w = Gather(%table, %ids)
%p = Gather(%table, %at64)
%ww = Add(%w, %p)
%x = LayerNormalization(%ww, %gamma, %be) {axis = -1}
)";
}

inline std::string position_ids_embedding() {
  return R"(
%w = Gather(%table, %ids)
%p = Gather(%table, %position_ids)
%ww = Add(%w, %p)
%x = LayerNormalization(%ww, %gamma, %be) {axis = -1}
)";
}

// A mask made by Unsqueeze, Cast, Sub and Mul.
inline std::string chain_mask() {
  return R"(
const %key_axes : s64[2] = [1, 2]
const %one : f32[] = 1.0
const %low : f32[] = -10000.0
%m1 = Unsqueeze(%mask, %key_axes)
%m2 = Cast(%m1) {to = 1}
%m3 = Sub(%one, %m2)
%m = Mul(%m3, %low)
)";
}

// A mask that is flattened, and of which every place is looked up.
inline std::string gathered_mask() {
  std::string index;
  for (int64_t r = 0; r < kPackRows * kPackLength; r++)
    index += (r ? ", " : "") + std::to_string(r);
  return fmt::format(R"(
const %index : s64[{0},1,1,{1}] = [{2}]
const %mask_shape : s64[4] = [{0}, 1, 1, {1}]
const %all : bool[1,1,{1},1] = fill true
const %zero : f32[] = 0.0
const %low : f32[] = -3.4028235e+38
%m1 = Cast(%mask) {{to = 9}}
%m2 = Flatten(%m1) {{axis = 2}}
%m3 = Gather(%m2, %index) {{axis = 0}}
%m4 = Reshape(%m3, %mask_shape)
%m5 = And(%all, %m4)
%m = Where(%m5, %zero, %low)
)",
                     kPackRows, kPackLength, index);
}

// DeBERTa's mask is an outer product, and its embeddings of padding are zero.
inline std::string outer_mask() {
  return R"(
const %key_axes : s64[2] = [1, 2]
const %query_axes : s64[2] = [1, 3]
%m1 = Unsqueeze(%mask, %key_axes)
%m2 = Unsqueeze(%mask, %query_axes)
%m3 = Mul(%m1, %m2)
%m4 = Cast(%m3) {to = 9}
%m = Not(%m4)
)";
}

inline std::string masked_embedding() {
  return bert_embedding() + R"(
const %last : s64[1] = [2]
%e1 = Unsqueeze(%mask, %last)
%e2 = Cast(%e1) {to = 1}
%x_masked = Mul(%x, %e2)
)";
}

inline std::string added() { return "%sm = Add(%s, %m)\n"; }
inline std::string where() {
  return "const %lowest : f32[] = -3.4028235e+38\n%sm = Where(%m, %lowest, %s)\n";
}

// DeBERTa adds scores of content to position: each query chooses those of the distances to its
// keys.
inline std::string disentangled() {
  constexpr int64_t kPairs = kPackLength * kPackLength;
  std::string distances, weights;
  for (int64_t i = 0; i < kPackRows * 3 * kPairs; i++) {
    const int64_t query = i % kPairs / kPackLength, key = i % kPackLength;
    distances += fmt::format("{}{}", i ? ", " : "", query - key + kPackLength);
  }
  for (int64_t i = 0; i < 3 * 4 * 2 * kPackLength; i++)
    weights += fmt::format("{}{:.3f}", i ? ", " : "", static_cast<double>(i * 29 % 31) / 16.0 - 1);
  return fmt::format(
      R"(
const %lowest : f32[] = -3.4028235e+38
const %by_distance : f32[1,3,4,{2}] = [{4}]
const %distances : s64[{0},3,{1},{1}] = [{3}]
%c1 = MatMul(%q, %by_distance)
%c2 = GatherElements(%c1, %distances) {{axis = 3}}
%both = Add(%s, %c2)
%sm = Where(%m, %lowest, %both)
)",
      kPackRows, kPackLength, 2 * kPackLength, distances, weights);
}

inline std::string transformer(const Writing& w) {
  const std::string x = w.embedding.find("%x_masked") == std::string::npos ? "%x" : "%x_masked";
  std::string text =
      fmt::format(R"(
input %ids : s64[{0},{1}]
input %mask : s64[{0},{1}]
{2}input %table : f32[50,{3}]
input %gamma : f32[{3}]
input %be : f32[{3}]
input %wq : f32[{3},{3}]
input %wk : f32[{3},{3}]
input %wv : f32[{3},{3}]
input %wo : f32[{3},{3}]
const %places : f32[1,{1},{3}] = [)",
                  kPackRows, kPackLength,
                  w.embedding.find("%position_ids") == std::string::npos
                      ? ""
                      : fmt::format("input %position_ids : s64[{},{}]\n", kPackRows, kPackLength),
                  kPackHidden);
  for (int64_t i = 0; i < kPackLength * kPackHidden; i++)
    text += fmt::format("{}{:.4f}", i ? ", " : "", static_cast<double>(i * 37 % 23) / 8.0 + 0.125);
  text +=
      fmt::format(R"(]
const %heads : s64[4] = [0, 0, 3, 4]
const %join : s64[3] = [{0}, {1}, {2}]
const %root : f32[] = 2.0
{3}{4}
%q1 = MatMul({6}, %wq)
%q2 = Reshape(%q1, %heads)
%q = Transpose(%q2) {{perm = [0, 2, 1, 3]}}
%k1 = MatMul({6}, %wk)
%k2 = Reshape(%k1, %heads)
%k = Transpose(%k2) {{perm = [0, 2, 3, 1]}}
%v1 = MatMul({6}, %wv)
%v2 = Reshape(%v1, %heads)
%v = Transpose(%v2) {{perm = [0, 2, 1, 3]}}
%s1 = MatMul(%q, %k)
%s = Div(%s1, %root)
{5}%p1 = Softmax(%sm) {{axis = -1}}
%o1 = MatMul(%p1, %v)
%o2 = Transpose(%o1) {{perm = [0, 2, 1, 3]}}
%o3 = Reshape(%o2, %join)
%o4 = MatMul(%o3, %wo)
%out = Add(%o4, {6})
{7}
output %y
)",
                  kPackRows, kPackLength, kPackHidden, w.embedding, w.mask, w.scores, x, w.head);
  return text;
}

struct Sequence {
  std::vector<int64_t> ids;
  size_t size() const { return ids.size(); }
};

inline std::vector<Sequence> random_sequences(std::vector<size_t> lengths, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Sequence> all;
  for (const size_t n : lengths) {
    all.emplace_back();
    for (size_t i = 0; i < n; i++) all.back().ids.push_back(1 + random() % 49);
  }
  return all;
}

// Sets the inputs: sequence k begins at place `at[k]`, and its mask has `number[k]`.
inline void feed_sequences(std::map<std::string, Tensor>& feeds, std::span<const Sequence> all,
                           std::span<const size_t> at, std::span<const int64_t> number) {
  const Shape shape{kPackRows, kPackLength};
  std::vector<int64_t> ids(kPackRows * kPackLength), mask(ids), positions(ids);
  for (size_t k = 0; k < all.size(); k++)
    for (size_t i = 0; i < all[k].size(); i++) {
      ids[at[k] + i] = all[k].ids[i];
      mask[at[k] + i] = number[k];
      positions[at[k] + i] = static_cast<int64_t>(i);
    }
  feeds["ids"] = Tensor::of<int64_t>(shape, ids);
  feeds["mask"] = Tensor::of<int64_t>(shape, mask);
  if (feeds.contains("position_ids")) feeds["position_ids"] = Tensor::of<int64_t>(shape, positions);
}

// The result of the model for one sequence in row 0 of a separate batch.
inline std::vector<double> alone(const ir::Graph& original, std::map<std::string, Tensor> feeds,
                                 const Sequence& sequence) {
  const size_t at = 0;
  const int64_t number = 1;
  feed_sequences(feeds, std::span(&sequence, 1), std::span(&at, 1), std::span(&number, 1));
  return evaluate_graph(original, feeds).at("y").to_doubles();
}

}  // namespace poprt::test
