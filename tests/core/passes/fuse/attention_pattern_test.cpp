#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

// q, k, v of [2,4,6] as 2 heads of 3.
std::string attention(std::string_view scores, std::string_view k = R"(
    %kt = Transpose(%k4) {perm = [0, 2, 3, 1]})") {
  return fmt::format(R"(
    input %q : f32[2,4,6]
    input %k : f32[2,4,6]
    input %v : f32[2,4,6]
    input %m : f32[2,1,1,4]
    input %keep : bool[4,4]
    const %split : s64[4] = [2, 4, 2, 3]
    const %join : s64[3] = [0, 0, 6]
    const %root : f32[] = 1.7320508
    const %low : f32[] = -10000.0
    %q4 = Reshape(%q, %split)
    %qt = Transpose(%q4) {{perm = [0, 2, 1, 3]}}
    %k4 = Reshape(%k, %split){}
    %v4 = Reshape(%v, %split)
    %vt = Transpose(%v4) {{perm = [0, 2, 1, 3]}}
    {}
    %p = Softmax(%s) {{axis = -1}}
    %o = MatMul(%p, %vt)
    %ot = Transpose(%o) {{perm = [0, 2, 1, 3]}}
    %y = Reshape(%ot, %join)
    output %y
  )",
                     k, scores);
}

TEST(AttentionPattern, ScaledAndMasked) {
  const auto graph = expect_ops({"attention_pattern"}, attention(R"(
    %qk = MatMul(%qt, %kt)
    %qs = Div(%qk, %root)
    %s = Add(%qs, %m))"),
                                "poprt.Attention");
  const ir::Node* n = graph->nodes().front();
  EXPECT_EQ(n->int_attr("heads", 0), 2);
  EXPECT_EQ(n->int_attr("head_size", 0), 3);
  EXPECT_NEAR(n->float_attr("scale", 0), 1 / std::sqrt(3.0f), 1e-6);
  EXPECT_EQ(n->input(3)->name(), "m");
}

TEST(AttentionPattern, ScalesBeforeTheProductAndASeparateTransposeOfK) {
  expect_ops({"attention_pattern"},
             attention(R"(
    %qm = Div(%qt, %root)
    %km = Mul(%kt, %root)
    %s = MatMul(%qm, %km))",
                       R"(
    %k2 = Transpose(%k4) {perm = [0, 2, 1, 3]}
    %kt = Transpose(%k2) {perm = [0, 1, 3, 2]})"),
             "poprt.Attention");
}

TEST(AttentionPattern, BoolMasksBothWays) {
  expect_ops({"attention_pattern"}, attention(R"(
    %qk = MatMul(%qt, %kt)
    %s = Where(%keep, %qk, %low))"),
             "poprt.Attention");
  expect_ops({"attention_pattern"}, attention(R"(
    %qk = MatMul(%qt, %kt)
    %s = Where(%keep, %low, %qk))"),
             "Not poprt.Attention");
}

TEST(AttentionPattern, CausalAndPaddingMasksTogether) {
  expect_ops({"attention_pattern"}, attention(R"(
    const %never : f32[] = -3.4e38
    %qk = MatMul(%qt, %kt)
    %qm = Where(%keep, %qk, %never)
    %s = Add(%qm, %m))"),
             "Where Add poprt.Attention");
}

TEST(AttentionPattern, ConstantTriangleIsCausal) {
  const auto graph = expect_ops({"attention_pattern"}, attention(R"(
    const %tril : bool[1,1,4,4] = [true, false, false, false, true, true, false, false, true, true, true, false, true, true, true, true]
    %qk = MatMul(%qt, %kt)
    %s = Where(%tril, %qk, %low))"),
                                "poprt.Attention");
  EXPECT_EQ(graph->nodes().front()->int_attr("causal", 0), 1);
  EXPECT_EQ(graph->nodes().front()->inputs().size(), 3u);
}

TEST(AttentionPattern, SharedScoresStay) {
  const auto graph = parsed(attention("%s = MatMul(%qt, %kt)\n output %s"));
  run(*graph, {"attention_pattern"});
  EXPECT_EQ(graph->node_count(), 11u);
}

TEST(AttentionPattern, PartsOfOneProjectionAreOffsets) {
  const auto graph = expect_ops({"attention_pattern"}, R"(
    input %x : f32[2,4,18]
    const %sizes : s64[3] = [6, 6, 6]
    const %split : s64[4] = [2, 4, 2, 3]
    const %join : s64[3] = [2, 4, 6]
    %q, %k, %v = Split(%x, %sizes) {axis = 2}
    %q4 = Reshape(%q, %split)
    %qt = Transpose(%q4) {perm = [0, 2, 1, 3]}
    %k4 = Reshape(%k, %split)
    %kt = Transpose(%k4) {perm = [0, 2, 3, 1]}
    %v4 = Reshape(%v, %split)
    %vt = Transpose(%v4) {perm = [0, 2, 1, 3]}
    %s = MatMul(%qt, %kt)
    %p = Softmax(%s)
    %o = MatMul(%p, %vt)
    %ot = Transpose(%o) {perm = [0, 2, 1, 3]}
    %y = Reshape(%ot, %join)
    output %y
  )",
                                "poprt.Attention");
  const ir::Node* n = graph->nodes().front();
  EXPECT_EQ(n->int_attr("q_offset", -1), 0);
  EXPECT_EQ(n->int_attr("k_offset", -1), 6);
  EXPECT_EQ(n->int_attr("v_offset", -1), 12);
}

TEST(AttentionPattern, VisionTransformersStackTheirProjection) {
  expect_ops({"attention_pattern"}, R"(
    input %x : f32[2,4,18]
    const %split : s64[5] = [2, 4, 3, 2, 3]
    const %join : s64[3] = [2, 4, 6]
    const %zero : s64[] = 0
    const %one : s64[] = 1
    const %two : s64[] = 2
    const %scale : f32[] = 0.57735
    %x5 = Reshape(%x, %split)
    %t = Transpose(%x5) {perm = [2, 0, 3, 1, 4]}
    %q = Gather(%t, %zero)
    %k = Gather(%t, %one)
    %v = Gather(%t, %two)
    %kt = Transpose(%k) {perm = [0, 1, 3, 2]}
    %qk = MatMul(%q, %kt)
    %s = Mul(%qk, %scale)
    %p = Softmax(%s)
    %o = MatMul(%p, %v)
    %ot = Transpose(%o) {perm = [0, 2, 1, 3]}
    %y = Reshape(%ot, %join)
    output %y
  )",
             "poprt.Attention");
}

TEST(AttentionPattern, RowsOfAMatrixAndAMatrixOut) {
  expect_ops({"attention_pattern"}, R"(
    input %q : f32[8,6]
    const %split : s64[4] = [2, 4, 2, 3]
    const %join : s64[2] = [8, 6]
    %q4 = Reshape(%q, %split)
    %qt = Transpose(%q4) {perm = [0, 2, 1, 3]}
    %kt = Transpose(%q4) {perm = [0, 2, 3, 1]}
    %s = MatMul(%qt, %kt)
    %p = Softmax(%s)
    %o = MatMul(%p, %qt)
    %ot = Transpose(%o) {perm = [0, 2, 1, 3]}
    %y = Reshape(%ot, %join)
    output %y
  )",
             "Reshape Reshape Reshape poprt.Attention Reshape");
}

// One projection as [B, S, parts, heads, head_size], cut by Split and Squeeze, or by Gather.
std::string stacked(std::string_view cut) {
  return fmt::format(R"(
    input %x : f32[2,4,18]
    const %split : s64[5] = [2, 4, 3, 2, 3]
    const %one : s64[1] = [0]
    const %first : s64[] = 0
    const %second : s64[] = 1
    const %last : s64[] = -1
    const %join : s64[3] = [2, 4, 6]
    %x5 = Reshape(%x, %split)
    %xt = Transpose(%x5) {{perm = [2, 0, 3, 1, 4]}}
    {}
    %kt = Transpose(%k) {{perm = [0, 1, 3, 2]}}
    %s = MatMul(%q, %kt)
    %p = Softmax(%s)
    %o = MatMul(%p, %v)
    %ot = Transpose(%o) {{perm = [0, 2, 1, 3]}}
    %y = Reshape(%ot, %join)
    output %y
  )",
                     cut);
}

TEST(AttentionPattern, PartsOfAStackAreOffsets) {
  for (const char* cut : {R"(
    %q1, %k1, %v1 = Split(%xt) {axis = 0}
    %q = Squeeze(%q1, %one)
    %k = Squeeze(%k1, %one)
    %v = Squeeze(%v1, %one))",
                          R"(
    %q = Gather(%xt, %first) {axis = 0}
    %k = Gather(%xt, %second) {axis = 0}
    %v = Gather(%xt, %last) {axis = 0})"}) {
    const auto graph = expect_ops({"attention_pattern"}, stacked(cut), "poprt.Attention");
    const ir::Node* n = graph->nodes().front();
    EXPECT_EQ(n->int_attr("q_offset", -1), 0);
    EXPECT_EQ(n->int_attr("k_offset", -1), 6);
    EXPECT_EQ(n->int_attr("v_offset", -1), 12);
  }
}

}  // namespace
}  // namespace poprt::test
