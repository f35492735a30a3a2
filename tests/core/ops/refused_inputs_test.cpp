// Nodes that operators refuse while types are inferred, with the messages: shapes and types that do
// not fit each other, indices that are no integers.
#include <gtest/gtest.h>

#include <memory>

#include "base/error.h"
#include "core/ops/run_node.h"
#include "ir/text.h"

namespace poprt::ops {
namespace {

using test::NodeCase;

std::string refusal_of(const NodeCase& c) {
  try {
    test::infer_node(c);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << e.message();
    return e.message();
  }
  return "";
}

Tensor floats(Shape shape) { return test::random_floats(std::move(shape)); }
Tensor longs(Shape shape) { return Tensor::zeros(DType::s64, std::move(shape)); }

struct Refused {
  NodeCase node;
  std::string error_part;
};

NodeCase scatter(Tensor data, Tensor indices, Tensor updates, test::Attributes attributes = {}) {
  return {.op = "ScatterElements",
          .opset = 18,
          .attributes = std::move(attributes),
          .inputs = {std::move(data), std::move(indices), std::move(updates)},
          .runtime = {0, 1, 2}};
}

NodeCase roi_align(Tensor x, Tensor rois, Tensor batch) {
  return {.op = "RoiAlign",
          .inputs = {std::move(x), std::move(rois), std::move(batch)},
          .runtime = {0, 1, 2}};
}

NodeCase distances(Shape a, Shape b, const std::string& metric = "euclidean") {
  return {.op = "CDist",
          .attributes = {{"metric", metric}},
          .inputs = {floats(std::move(a)), floats(std::move(b))},
          .runtime = {0, 1},
          .domain = "com.microsoft"};
}

// One zero point for each scale; a single one may have any shape of one element.
TEST(RefusedInputs, AsManyZeroPointsAsScales) {
  const auto refusal = [](const char* op, Tensor x, Shape scale, Shape zero) {
    return refusal_of({.op = op,
                       .opset = 19,
                       .inputs = {std::move(x), floats(std::move(scale)),
                                  Tensor::zeros(DType::u8, std::move(zero))},
                       .runtime = {0, 1, 2}});
  };
  const auto both = [&](const Shape& scale, const Shape& zero) {
    const std::string from = refusal("QuantizeLinear", floats({2, 3}), scale, zero);
    const std::string to =
        refusal("DequantizeLinear", Tensor::zeros(DType::u8, {2, 3}), scale, zero);
    EXPECT_EQ(from.empty(), to.empty()) << from << to;
    return to;
  };
  EXPECT_NE(both({}, {3}).find("zero point [3] does not fit scale []"), std::string::npos)
      << both({}, {3});
  EXPECT_NE(both({3}, {}).find("zero point [] does not fit scale [3]"), std::string::npos)
      << both({3}, {});
  EXPECT_NE(both({3}, {2}).find("zero point [2] does not fit scale [3]"), std::string::npos)
      << both({3}, {2});
  for (const auto& [scale, zero] :
       {std::pair<Shape, Shape>{{}, {}}, {{}, {1}}, {{1}, {}}, {{3}, {3}}})
    EXPECT_EQ(both(scale, zero), "");
}

TEST(RefusedInputs, ErrorsDescribeTheMismatch) {
  const test::Attributes axis1 = {{"axis", int64_t{1}}};
  const Refused all[] = {
      {scatter(floats({3, 4}), floats({2, 4}), floats({2, 4})), "1"},
      {scatter(floats({3, 4}), longs({2, 4}), longs({2, 4})), "updates are s64, data is f32"},
      {scatter(floats({3, 4}), longs({2, 4}), floats({2, 3})), "updates are [2,3], indices [2,4]"},
      {scatter(floats({3, 4}), longs({2, 5}), floats({2, 5})),
       "indices [2,5] do not fit data [3,4]"},
      {scatter(floats({3, 4}), longs({4, 4}), floats({4, 4}), axis1),
       "indices [4,4] do not fit data [3,4]"},
      {scatter(floats({3, 4}), longs({4}), floats({4})), "indices [4] do not fit data [3,4]"},
      {roi_align(floats({1, 2, 4, 4}), floats({3, 4}), floats({3})), "2"},
      {roi_align(floats({1, 4, 4}), floats({3, 4}), longs({3})), "must have four dimensions"},
      {roi_align(floats({1, 2, 4, 4}), floats({3, 4, 1}), longs({3})), "rois two"},
  };
  for (const Refused& r : all) {
    const std::string error_text = refusal_of(r.node);
    EXPECT_NE(error_text.find(r.error_part), std::string::npos)
        << "'" << error_text << "' should say '" << r.error_part << "'";
  }
}

TEST(RefusedInputs, ValidInputsAreAccepted) {
  const test::Attributes axis1 = {{"axis", int64_t{1}}};
  const NodeCase all[] = {
      scatter(floats({3, 4}), longs({2, 4}), floats({2, 4})),
      scatter(floats({3, 4}), longs({7, 4}), floats({7, 4})),  // more than the axis has
      scatter(floats({3, 4}), longs({3, 9}), floats({3, 9}), axis1),
      scatter(floats({3, 4}), longs({0, 4}), floats({0, 4})),
      roi_align(floats({1, 2, 4, 4}), floats({3, 4}), longs({3})),
      distances({4, 3}, {5, 3}),
      distances({4, 3}, {5, 3}, "sqeuclidean"),
      distances({1, 1}, {1, 1}),
  };
  for (const NodeCase& c : all) EXPECT_EQ(refusal_of(c), "") << c.op;
}

TEST(RefusedInputs, DistancesAreOfMatricesOfEqualWidth) {
  const auto code = [](const NodeCase& c) {
    try {
      test::run_node(c);
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::ok;
  };
  EXPECT_EQ(code(distances({4, 3}, {5, 2})), ErrorCode::invalid_argument);
  EXPECT_EQ(code(distances({4, 3}, {5, 3, 1})), ErrorCode::invalid_argument);
  EXPECT_EQ(code(distances({4, 3, 1}, {5, 3})), ErrorCode::invalid_argument);
  EXPECT_EQ(code(distances({3}, {5, 3})), ErrorCode::invalid_argument);
  EXPECT_EQ(code(distances({4, 3}, {3})), ErrorCode::invalid_argument);
  EXPECT_EQ(code(distances({4, 3}, {5, 3}, "cosine")), ErrorCode::unimplemented);
}

// Sizes are limited, so later sums and products cannot overflow.
TEST(RefusedInputs, SizesAreBoundedWithADimensionOfZero) {
  const auto message_for = [](Shape shape) {
    ir::Graph graph;
    graph.opsets[""] = 17;
    ir::Value* x = graph.add_input("x", ir::ValueType::of(DType::f32, std::move(shape)));
    ir::Node* n = graph.add_node("Neg", "", {x});
    try {
      infer(*n);
    } catch (const Error& e) {
      return e.message();
    }
    return std::string();
  };
  constexpr int64_t kHuge = int64_t{1} << 40;
  EXPECT_EQ(message_for({0, kHuge}), "");
  EXPECT_NE(message_for({kHuge, kHuge}), "");
  EXPECT_NE(message_for({0, kHuge, kHuge}), "");
  EXPECT_NE(message_for({kHuge, 0, kHuge}), "");
  EXPECT_NE(message_for({kUnknownDim, kHuge, kHuge}), "");
}

// Tables and caches whose rank is too low: nothing is read after the end of their shapes.
TEST(RefusedInputs, TablesAndCachesHaveTheirRank) {
  const NodeCase embed{.op = "EmbedLayerNormalization",
                       .inputs = {Tensor::zeros(DType::s32, {1, 2}), Tensor(), floats({4}),
                                  floats({4, 4}), Tensor(), floats({4}), floats({4})},
                       .outputs = 2,
                       .runtime = {0},
                       .domain = "com.microsoft"};
  EXPECT_NE(refusal_of(embed).find("expected at least 3 dimensions"), std::string::npos)
      << refusal_of(embed);
  const NodeCase cached{
      .op = "GroupQueryAttention",
      .attributes = {{"num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}},
      .inputs = {floats({1, 1, 8}), floats({1, 1, 8}), floats({1, 1, 8}), floats({2, 4}),
                 floats({2, 4}), Tensor::zeros(DType::s32, {1}), Tensor::of<int32_t>({1}, {1})},
      .outputs = 3,
      .runtime = {0, 1, 2, 3, 4, 5},
      .domain = "com.microsoft"};
  EXPECT_NE(refusal_of(cached).find("expected at least 3 dimensions"), std::string::npos)
      << refusal_of(cached);
  NodeCase flat = cached;
  flat.inputs[3] = flat.inputs[4] = floats({1, 2, 3, 4});
  flat.inputs[1] = flat.inputs[2] = floats({1, 8});
  EXPECT_NE(refusal_of(flat).find("[1,8], expected at least 3 dimensions"), std::string::npos)
      << refusal_of(flat);
}

// Operators that passes insert may also be in a model.
TEST(RefusedInputs, BiasesOfBlockedConvolutionsAreListsOfTheirChannels) {
  for (const char* op : {"Conv", "ConvTranspose"})
    for (const Shape& bias : {Shape{}, Shape{1}, Shape{15}, Shape{16, 1}, Shape{16}}) {
      const NodeCase c{.op = op,
                       .attributes = {{"channels", int64_t{16}}},
                       .inputs = {floats({1, 1, 4, 4, 16}), floats({16, 16, 1, 1}), floats(bias)},
                       .runtime = {0, 1, 2},
                       .domain = "poprt"};
      const std::string error_text = refusal_of(c);
      EXPECT_EQ(error_text.find("does not fit weights [16,16,1,1]") != std::string::npos,
                bias != Shape{16})
          << op << ": " << error_text;
    }
}

// A slice that is shorter would leave zeros in the window, a longer one lose its end.
TEST(RefusedInputs, UpdateMustHaveTheSizeOfTheWindow) {
  const auto update = [](Shape slice) {
    return NodeCase{
        .op = "DynamicUpdate",
        .attributes = {{"axes", std::vector<int64_t>{0}}, {"sizes", std::vector<int64_t>{2}}},
        .inputs = {floats({4, 5}), Tensor::zeros(DType::s32, {1}), floats(std::move(slice))},
        .runtime = {0, 1, 2},
        .domain = "ai.graphcore"};
  };
  EXPECT_EQ(refusal_of(update({2, 5})), "");
  for (const Shape& other : {Shape{1, 5}, Shape{3, 5}, Shape{4, 5}, Shape{2, 4}, Shape{2}, Shape{}})
    EXPECT_NE(refusal_of(update(other)).find("slice does not fit the window"), std::string::npos)
        << shape_string(other);
}

// A division by a number of the model must not crash the process.
TEST(RefusedInputs, DeformedConvolutionsHaveGroups) {
  const auto message_for = [](Shape x, const std::string& key, int64_t value) {
    try {
      test::run_node({.op = "DeformConv",
                      .opset = 19,
                      .attributes = {{key, value}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}},
                      .inputs = {floats(std::move(x)), floats({2, 2, 2, 2}), floats({1, 8, 5, 5})},
                      .runtime = {0, 1, 2}});
    } catch (const Error& e) {
      return e.message();
    }
    return std::string();
  };
  EXPECT_EQ(message_for({1, 2, 4, 4}, "group", 1), "");
  for (const char* key : {"group", "offset_group"})
    for (const int64_t none : {0, -1})
      EXPECT_NE(message_for({1, 2, 4, 4}, key, none), "") << key << " " << none;
  EXPECT_NE(message_for({1, 2, 4, 0}, "group", 1), "");
}

// Loop bodies: a state that keeps its type and one result a round, altered one fact at a time.
struct Body {
  std::string inputs = "input %i : s64[]\ninput %c : bool[]\ninput %s : f32[2]\n";
  std::string outputs = "output %d\noutput %t\noutput %t\n";
  size_t results = 2;

  std::string refusal() const {
    const auto body = std::shared_ptr<ir::Graph>(
        ir::parse_text("graph \"b\" opset {\"\": 17} {\n" + inputs +
                       "%d : bool[] = Identity(%c)\n%t : f32[2] = Neg(%s)\n%n : s64[] = Neg(%i)\n" +
                       outputs + "}\n"));
    return refusal_of({.op = "Loop",
                       .attributes = {{"body", body}},
                       .inputs = {Tensor::scalar<int64_t>(3), Tensor::scalar(true), floats({2})},
                       .outputs = results});
  }
};

TEST(RefusedInputs, LoopsAndTheirBodiesFitEachOther) {
  const std::string i = "input %i : s64[]\n", c = "input %c : bool[]\n", s = "input %s : f32[2]\n";
  struct Case {
    Body body;
    std::string error_part;
  };
  const Case cases[] = {
      {{.results = 1}, "makes 3 values, the node 1"},
      {{.results = 3}, "makes 3 values, the node 3"},
      {{.outputs = "output %d\noutput %t\n", .results = 2}, "makes 2 values, the node 2"},
      {{.inputs = i + c + s + "input %z : f32[]\n"}, "takes 4 values"},
      {{.inputs = i + c + "input %s : f64[2]\n"}, "state 0 is f32[2] before the loop"},
      {{.inputs = "input %i : s32[]\n" + c + s}, "the iteration number of the body"},
      {{.outputs = "output %n\noutput %t\noutput %t\n"}, "the condition of the body"},
      {{.outputs = "output %d\noutput %n\noutput %t\n"}, "state 0 is f32[2] before a round"},
  };
  EXPECT_EQ(Body().refusal(), "");
  for (const Case& it : cases) {
    const std::string error_text = it.body.refusal();
    EXPECT_NE(error_text.find(it.error_part), std::string::npos)
        << "'" << error_text << "' should say " << it.error_part;
  }
  const NodeCase none{.op = "Loop",
                      .inputs = {Tensor::scalar<int64_t>(3), Tensor::scalar(true), floats({2})}};
  EXPECT_NE(refusal_of(none).find("attribute body is missing"), std::string::npos);
}

TEST(RefusedInputs, ALoopsResultsHaveItsConstantCount) {
  const auto shape_of = [](Tensor count, bool runtime) {
    const auto body = std::shared_ptr<ir::Graph>(ir::parse_text(
        "graph \"b\" opset {\"\": 17} {\ninput %i : s64[]\ninput %c : bool[]\ninput %s : f32[2]\n"
        "%d : bool[] = Identity(%c)\n%t : f32[2] = Neg(%s)\noutput %d\noutput %t\noutput %t\n}\n"));
    NodeCase c{.op = "Loop",
               .attributes = {{"body", body}},
               .inputs = {std::move(count), Tensor::scalar(true), floats({2})},
               .outputs = 2};
    if (runtime) c.runtime = {0};
    return test::infer_node(c, 1).shape;
  };
  EXPECT_EQ(shape_of(Tensor::scalar<int64_t>(3), false), (Shape{3, 2}));
  EXPECT_EQ(shape_of(Tensor::scalar<int64_t>(-3), false), (Shape{0, 2}));
  EXPECT_EQ(shape_of(Tensor::of<int64_t>({1}, {4}), false), (Shape{4, 2}));
  EXPECT_EQ(shape_of(Tensor::scalar<int64_t>(3), true), (Shape{kUnknownDim, 2}));
}

TEST(RefusedInputs, TheBiasOfConvTransposeHasAnElementForEachChannel) {
  for (const int64_t group : {1, 2})
    for (const Shape& bias : {Shape{}, Shape{1}, Shape{3}, Shape{4, 1}, Shape{4 * group}}) {
      const NodeCase c{.op = "ConvTranspose",
                       .attributes = {{"group", group}},
                       .inputs = {floats({1, 4, 1, 1}), floats({4, 4, 2, 2}), floats(bias)},
                       .runtime = {0}};
      EXPECT_EQ(refusal_of(c).find("does not fit weights [4,4,2,2]") != std::string::npos,
                bias != Shape{4 * group})
          << refusal_of(c);
    }
}

TEST(RefusedInputs, TheBiasOfALinearLayerHasAnElementForEachColumn) {
  for (const Shape& bias : {Shape{2}, Shape{5}, Shape{0}, Shape{1}, Shape{3}}) {
    const NodeCase c{.op = "Linear",
                     .inputs = {floats({2, 4}), floats({4, 3}), floats(bias)},
                     .runtime = {0},
                     .domain = "poprt"};
    if (bias == Shape{3} || bias == Shape{1})
      EXPECT_NO_THROW(test::run_node(c));
    else
      EXPECT_THROW(test::run_node(c), Error) << shape_string(bias);
  }
}

TEST(RefusedInputs, PhasesOfBlockedConvTransposeHaveAWindowOfTwoAxes) {
  using Sizes = std::vector<int64_t>;
  const auto refusal = [](const char* key, Sizes list) {
    NodeCase c{.op = "ConvTranspose",
               .attributes = {{"output_shape", Sizes{8, 8}}, {"strides", Sizes{2, 2}}},
               .inputs = {floats({1, 1, 4, 4, 16}), floats({16, 16, 3, 3})},
               .runtime = {0},
               .domain = "poprt"};
    c.attributes[key] = std::move(list);
    return refusal_of(c);
  };
  EXPECT_EQ(refusal("dilations", {1, 1}), "");
  EXPECT_EQ(refusal("pads", {0, 1, 0, -1}), "");
  for (const Sizes& list : {Sizes{}, Sizes{1}, Sizes{0, 1}, Sizes{1, -1}, Sizes{1, INT64_MAX}})
    for (const char* key : {"strides", "dilations"})
      EXPECT_NE(refusal(key, list).find("out of range"), std::string::npos) << key;
  for (const Sizes& list : {Sizes{}, Sizes{1, 1}, Sizes{-1, 0, 0, 0}, Sizes{0, INT64_MAX, 0, 0}})
    EXPECT_NE(refusal("pads", list).find("out of range"), std::string::npos);
  EXPECT_NE(refusal("output_shape", {8, -1}), "");
}

TEST(RefusedInputs, TheNumbersOfAShiftAreInRange) {
  const auto refusal = [](int64_t axis, int64_t length, int64_t slots) {
    return refusal_of({.op = "Shift",
                       .attributes = {{"axis", axis}, {"length", length}, {"slots", slots}},
                       .inputs = {Tensor::scalar(int32_t{0}), floats({2, 3})},
                       .runtime = {0, 1},
                       .domain = "poprt"});
  };
  EXPECT_EQ(refusal(-1, 4, 1), "");
  EXPECT_NE(refusal(2, 4, 1), "");
  EXPECT_NE(refusal(0, -1, 1), "");
  EXPECT_NE(refusal(0, 4, 0), "");
  EXPECT_NE(refusal(0, 4, INT64_MAX), "");
}

TEST(RefusedInputs, PadsAreInRange) {
  for (const int64_t pad : {INT64_MIN, INT64_MAX, INT64_MIN + 1}) {
    const NodeCase c{.op = "Pad", .inputs = {floats({3}), test::ints({pad, 0})}, .runtime = {0}};
    EXPECT_NE(refusal_of(c).find("out of range"), std::string::npos) << refusal_of(c);
  }
}

TEST(RefusedInputs, APastValueNeedsAPastKey) {
  const NodeCase c{.op = "Attention",
                   .opset = 23,
                   .inputs = {floats({1, 1, 2, 4}), floats({1, 1, 2, 4}), floats({1, 1, 2, 4}),
                              Tensor(), Tensor(), floats({1, 1, 2, 4})},
                   .runtime = {0, 1, 2, 5}};
  EXPECT_NE(refusal_of(c).find("past_value is given without past_key"), std::string::npos);
}

// Opset 1 has one number of tiles and one axis.
TEST(RefusedInputs, TileOfOpset1TakesOneAxis) {
  const auto refusal = [](std::vector<float> tiles) {
    const auto n = static_cast<int64_t>(tiles.size());
    return refusal_of(
        {.op = "Tile",
         .opset = 1,
         .inputs = {floats({2, 3}), Tensor::of<float>({n}, std::span<const float>(tiles)),
                    Tensor::of<float>({1}, {0.0f})},
         .runtime = {0}});
  };
  EXPECT_EQ(refusal({2}), "");
  EXPECT_NE(refusal({2, 2}), "");
}

}  // namespace
}  // namespace poprt::ops
