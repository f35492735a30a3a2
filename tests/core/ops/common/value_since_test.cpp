// Values of attributes that a later opset added are refused before it, and accepted from it on.
#include <ostream>

#include "core/ops/run_node.h"

namespace poprt::test {
namespace {

struct Case {
  const char *op, *attribute, *value;
  int64_t since;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.op << ' ' << c.attribute << ' ' << c.value;
}

// Returns a node that is valid except for its opset.
NodeCase node_of(const Case& c, int64_t opset) {
  NodeCase n{c.op, opset, {{c.attribute, std::string(c.value)}}};
  const std::string op = c.op;
  const Tensor image = random_floats({1, 1, 4, 4}), scales = Tensor::of<float>({4}, {1, 1, 2, 2});
  if (op == "Pad") {
    n.inputs = {image, ints({0, 0, 1, 1, 0, 0, 1, 1})};
  } else if (op == "GridSample") {
    n.inputs = {image, random_floats({1, 2, 2, 2})};
  } else if (op == "ScatterElements") {
    n.inputs = {random_floats({4}), ints({1, 2}), random_floats({2})};
  } else if (op == "ScatterND") {
    n.inputs = {random_floats({4}), Tensor::of<int64_t>({2, 1}, {1, 2}), random_floats({2})};
  } else if (op == "Upsample" && opset < 7) {
    n.inputs = {image};
    n.attributes["height_scale"] = n.attributes["width_scale"] = 2.0f;
  } else if (op == "Upsample") {
    n.inputs = {image};
    n.attributes["scales"] = std::vector<float>{1, 1, 2, 2};
  } else {
    n.inputs = {image, Tensor::zeros(DType::f32, {0}), scales};
    if (opset < 11) n.inputs.erase(n.inputs.begin() + 1);
  }
  return n;
}

class ValueSince : public ::testing::TestWithParam<Case> {};

TEST_P(ValueSince, IsRefusedBefore) {
  const Case& c = GetParam();
  try {
    infer_node(node_of(c, c.since - 1));
    ADD_FAILURE() << "it was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    const std::string wanted = std::string(c.op) + " has no " + c.attribute + " '" + c.value +
                               "' in opset " + std::to_string(c.since - 1) + "; opset " +
                               std::to_string(c.since) + " and later have it";
    EXPECT_NE(std::string(e.what()).find(wanted), std::string::npos) << e.what();
  }
}

TEST_P(ValueSince, IsTakenThereAndInOurOwnNodes) {
  const Case& c = GetParam();
  EXPECT_EQ(run_node(node_of(c, c.since)).size(), 1u);
  if (c.since < 11) return;  // the newest opset has other inputs
  const auto g = build_node(node_of(c, 28));
  g->graph.opsets[""] = c.since - 1;
  g->node->domain = "poprt.onnx";
  EXPECT_NO_THROW(ops::infer(*g->node));
}

INSTANTIATE_TEST_SUITE_P(
    All, ValueSince,
    ::testing::Values(Case{"Pad", "mode", "wrap", 19},
                      Case{"Resize", "coordinate_transformation_mode", "half_pixel_symmetric", 19},
                      Case{"Resize", "mode", "cubic", 11}, Case{"Upsample", "mode", "linear", 7},
                      Case{"GridSample", "mode", "linear", 20},
                      Case{"GridSample", "mode", "cubic", 20},
                      Case{"ScatterElements", "reduction", "min", 18},
                      Case{"ScatterElements", "reduction", "max", 18},
                      Case{"ScatterND", "reduction", "min", 18},
                      Case{"ScatterND", "reduction", "max", 18}),
    [](const auto& test) {
      return std::string(test.param.op) + "_" + test.param.attribute + "_" + test.param.value;
    });

// Values that ONNX has in no opset.
TEST(ValueSince, ModesThatOnlyPassesMakeAreRefused) {
  const Tensor image = random_floats({1, 1, 4, 4}), scales = Tensor::of<float>({4}, {1, 1, 2, 2});
  EXPECT_THROW(
      infer_node(
          {"Resize", 19, {{"nearest_mode", std::string("simple")}}, {image, Tensor(), scales}}),
      Error);
  EXPECT_THROW(infer_node({"Upsample", 9, {{"mode", std::string("cubic")}}, {image, scales}}),
               Error);
}

}  // namespace
}  // namespace poprt::test
