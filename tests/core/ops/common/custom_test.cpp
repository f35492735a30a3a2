// The node that the functions of a plug-in operator receive: types, constants, omitted inputs and
// attributes of every kind. The operators are defined in this file; no library is loaded.
#include "ops/common/custom.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "core/ops/built_node.h"
#include "ir/text.h"
#include "kernels/common/custom.h"
#include "ops/axes.h"
#include "ops/op.h"
#include "plugins/registration.h"

namespace poprt::ops {
namespace {

using NodeAttributes = std::map<std::string, ir::Attribute, std::less<>>;

std::string& spied_text() {
  static std::string text;
  return text;
}

std::string call_text(const poprt_op_tensor* t) {
  if (!t) return "absent";
  std::string text(dtype_name(static_cast<DType>(t->dtype)));
  text += t->rank < 0 ? "[?]" : shape_string(Shape(t->shape, t->shape + t->rank));
  if (t->data && t->bytes >= 4 && t->dtype == POPRT_DTYPE_F32)
    text += fmt::format(" of {} bytes, first {}", t->bytes, *static_cast<const float*>(t->data));
  return text;
}

std::string call_text(const poprt_op_call* call) {
  std::string text = call->node;
  for (size_t i = 0; i < call->input_count; i++) text += "; in " + call_text(call->inputs[i]);
  for (size_t i = 0; i < call->output_count; i++) text += "; out " + call_text(call->outputs[i]);
  int64_t number = 0;
  float real = 0;
  const char* word = nullptr;
  size_t size = 0, count = 0;
  const int64_t* numbers = nullptr;
  const float* reals = nullptr;
  const poprt_op_tensor* tensor = nullptr;
  if (call->host->get_int(call, "int", &number) == POPRT_OK)
    text += fmt::format("; int {}", number);
  if (call->host->get_float(call, "float", &real) == POPRT_OK)
    text += fmt::format("; float {}", real);
  if (call->host->get_string(call, "string", &word, &size) == POPRT_OK)
    text += fmt::format("; string '{}' of {}", word, size);
  if (call->host->get_ints(call, "ints", &numbers, &count) == POPRT_OK)
    text += fmt::format("; ints {}", fmt::join(numbers, numbers + count, " "));
  if (call->host->get_floats(call, "floats", &reals, &count) == POPRT_OK)
    text += fmt::format("; floats {}", fmt::join(reals, reals + count, " "));
  if (call->host->get_tensor(call, "tensor", &tensor) == POPRT_OK)
    text += "; tensor " + call_text(tensor);
  return text;
}

int32_t infer_spy(const poprt_op_call* call, void*) {
  spied_text() = call_text(call);
  for (size_t i = 0; i < call->output_count; i++) {
    const poprt_op_tensor& x = *call->inputs[0];
    const int32_t code = call->host->set_output(call, i, x.dtype, x.rank, x.shape);
    if (code != POPRT_OK) return code;
  }
  return POPRT_OK;
}

int32_t infer_failure(const poprt_op_call* call, void*) {
  return call->host->fail(call, POPRT_INVALID_ARGUMENT, "bad %s", "news");
}

// Computes output i as input 0 times i + 1, in floats.
int32_t compute(const poprt_op_call* call, void*, void*) {
  spied_text() = call_text(call);
  for (size_t i = 0; i < call->output_count; i++)
    for (uint64_t k = 0; k < call->outputs[i]->bytes / 4; k++)
      static_cast<float*>(call->outputs[i]->data)[k] =
          static_cast<const float*>(call->inputs[0]->data)[k] * static_cast<float>(i + 1);
  return POPRT_OK;
}

int32_t compute_too_much(const poprt_op_call* call, void*, void*) {
  std::memset(call->outputs[0]->data, 0, call->outputs[0]->bytes + 4);
  return POPRT_OK;
}
int32_t compute_before(const poprt_op_call* call, void*, void*) {
  static_cast<char*>(call->outputs[0]->data)[-1] = 0;
  return POPRT_OK;
}
int32_t compute_failure(const poprt_op_call* call, void*, void*) {
  return call->host->fail(call, POPRT_UNAVAILABLE, "no more of %s", "them");
}

int32_t init(const poprt_plugin_host* host, poprt_plugin_registry* registry) {
  const auto add = [&](const char* name, uint32_t flags, auto infers, auto computes) {
    poprt_operator op = {};
    op.struct_size = sizeof op;
    op.domain = "test.custom";
    op.name = name;
    op.version = 3;
    op.flags = flags;
    op.infer = infers;
    op.compute = computes;
    return host->add_operator(registry, &op);
  };
  add("Spy", 0, infer_spy, compute);
  add("Impure", POPRT_OPERATOR_IMPURE, infer_spy, compute);
  add("Elementwise", POPRT_OPERATOR_ELEMENTWISE, infer_spy, compute);
  add("Samples", POPRT_OPERATOR_PER_SAMPLE, infer_spy, compute);
  add("Declared", 0, nullptr, compute);
  add("Refuses", 0, infer_failure, compute);
  add("TooMuch", 0, infer_spy, compute_too_much);
  add("Before", 0, infer_spy, compute_before);
  return add("Fails", 0, infer_spy, compute_failure);
}

class CustomOp : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    poprt_plugin plugin = {};
    plugin.struct_size = sizeof plugin;
    plugin.name = "test-custom";
    plugin.version = "1.2";
    plugin.init = init;
    auto library = std::make_unique<plugins::Library>();
    plugins::initialize(plugin, *library);
    plugins::add(std::move(library));
  }

  using Inputs = std::vector<std::pair<Tensor, bool>>;
  static std::unique_ptr<BuiltNode> node(const std::string& op, Inputs inputs,
                                         NodeAttributes attributes = {}, size_t outputs = 1) {
    auto c = std::make_unique<BuiltNode>(op, "test.custom", std::move(inputs),
                                         std::move(attributes), 17, outputs);
    c->graph.opsets["test.custom"] = 1;
    c->node->name = "n";
    return c;
  }
  static std::string error_of(const std::unique_ptr<BuiltNode>& c) {
    try {
      c->run();
    } catch (const Error& e) {
      return std::string(error_code_name(e.code())) + ": " + e.message();
    }
    return "";
  }
  // Counts the words in the recorded calls.
  static size_t count_of(const std::string& words) {
    size_t count = 0;
    for (size_t at = 0; (at = spied_text().find(words, at)) != std::string::npos; at++) count++;
    return count;
  }
  const Tensor x = Tensor::of<float>({3}, {1, 2, 4});
};

TEST_F(CustomOp, InferenceSeesConstantsAndOmittedInputs) {
  const auto c = node("Spy", {{x, false},
                              {Tensor(), false},
                              {Tensor::of<float>({1, 2}, {7, 8}), true},
                              {Tensor::of<int64_t>({1}, {5}), true}});
  infer(*c->node);
  EXPECT_EQ(
      spied_text(),
      "n; in f32[3]; in absent; in f32[1,2] of 8 bytes, first 7; in s64[1]; out undefined[?]");
  EXPECT_EQ(c->node->output()->shape(), (Shape{3}));
  c->node->input(0)->type.shape = {kUnknownDim};
  infer(*c->node);
  EXPECT_NE(spied_text().find("in f32[?]"), std::string::npos) << spied_text();
}

// The operator is the user's, so the text of its refusal has no advice about ONNX.
TEST_F(CustomOp, TheTextOfARefusalIsThatOfThePlugin) {
  EXPECT_EQ(error_of(node("Refuses", {{x, false}})),
            "invalid_argument: test.custom.Refuses node 'n': infer of operator test.custom.Refuses "
            "of node 'n': bad news");
}

TEST_F(CustomOp, ShapesThatAreNotKnownStayUnknown) {
  const auto c = node("Spy", {{x, false}});
  c->node->input(0)->type = {DType::f32, false, {}, {}};
  infer(*c->node);
  EXPECT_EQ(spied_text(), "n; in f32[?]; out undefined[?]");
  EXPECT_EQ(c->node->output()->dtype(), DType::f32);
  EXPECT_FALSE(c->node->output()->type.has_shape);
}

TEST_F(CustomOp, AttributesOfEveryKindArrive) {
  const auto c = node("Spy", {{x, false}},
                      {{"int", int64_t{-3}},
                       {"float", 0.5F},
                       {"string", std::string("word")},
                       {"ints", std::vector<int64_t>{4, 5}},
                       {"floats", std::vector<float>{1.5F, 2.5F}},
                       {"tensor", Tensor::of<float>({2}, {9, 8})}});
  const std::string attributes =
      "; int -3; float 0.5; string 'word' of 4; ints 4 5; floats 1.5 2.5; tensor f32[2] of 8 "
      "bytes, first 9";
  infer(*c->node);
  EXPECT_NE(spied_text().find(attributes), std::string::npos) << spied_text();
  c->run();
  EXPECT_NE(spied_text().find(attributes), std::string::npos) << "in compute(): " << spied_text();
}

TEST_F(CustomOp, AttributesThatNoPluginCanHaveAreNamed) {
  const auto graph = std::shared_ptr<ir::Graph>(ir::parse_text("graph \"g\" {}"));
  const std::string none = "which operators of plug-ins cannot have";
  const std::pair<ir::Attribute, std::string> refused[] = {
      {Tensor::zeros(DType::string, {1}), "attribute 'a' contains text, " + none},
      {graph, "attribute 'a' contains graphs or several tensors, " + none},
      {std::vector<Tensor>{x}, "attribute 'a' contains graphs or several tensors, " + none}};
  for (const auto& [value, error_part] : refused) {
    const std::string error_text = error_of(node("Spy", {{x, false}}, {{"a", value}}));
    EXPECT_TRUE(error_text.starts_with("unimplemented: ")) << error_text;
    EXPECT_NE(error_text.find(error_part), std::string::npos) << error_text;
  }
  EXPECT_EQ(error_of(node("Spy", {{x, false}}, {{"a", std::vector<std::string>{"b"}}})), "");
}

TEST_F(CustomOp, EveryOutputIsComputedAlsoAgain) {
  const auto c = node("Spy", {{x, false}, {Tensor(), false}}, {}, 3);
  const std::vector<Tensor> results = c->run();
  ASSERT_EQ(results.size(), 3u);
  for (size_t i = 0; i < 3; i++)
    EXPECT_EQ(results[i].to_doubles(),
              (std::vector<double>{1.0 * double(i + 1), 2.0 * double(i + 1), 4.0 * double(i + 1)}));
  EXPECT_NE(spied_text().find("; in absent; out f32[3]"), std::string::npos) << spied_text();
  EXPECT_EQ(count_of("; in "), 2u) << spied_text();
  EXPECT_EQ(count_of("; out "), 3u) << spied_text();
}

TEST_F(CustomOp, TextIsSeenWithoutItsElements) {
  const auto c = node("Spy", {{x, false}, {Tensor::strings({2}, {"a", "b"}), true}});
  infer(*c->node);
  EXPECT_EQ(spied_text(), "n; in f32[3]; in string[2]; out undefined[?]");
}

TEST_F(CustomOp, UsesDeclaredTypesWithoutInference) {
  const auto c = node("Declared", {{x, false}});
  c->node->output()->type = ir::ValueType::of(DType::f32, {3});
  EXPECT_EQ(c->run().at(0).to_doubles(), x.to_doubles());
}

TEST_F(CustomOp, FlagsAreFacts) {
  const auto def = [](const char* name) { return find_custom_op("test.custom", name); };
  ASSERT_TRUE(def("Spy"));
  EXPECT_EQ(def("Spy"), def("Spy")) << "made once";
  EXPECT_NE(def("Spy"), def("Impure"));
  EXPECT_EQ(def("Other"), nullptr);
  EXPECT_EQ(find_custom_op("other", "Spy"), nullptr);
  EXPECT_TRUE(def("Spy")->pure);
  EXPECT_FALSE(def("Impure")->pure);
  EXPECT_FALSE(def("Spy")->facts.per_element);
  EXPECT_TRUE(def("Elementwise")->facts.per_element);
  EXPECT_EQ(def("Declared")->infer, nullptr);
}

TEST_F(CustomOp, SamplesAreSeparateOnlyWithItsFlag) {
  const Tensor rows = Tensor::zeros(DType::f32, {3, 2}), other = Tensor::zeros(DType::f32, {5, 2});
  const auto carried_inputs = [&](const char* op, bool constant) {
    const auto c = node(op, {{rows, false}, {rows, constant}, {other, false}});
    infer(*c->node);
    const AxisMap map = axis_map(*c->node);
    std::vector<size_t> carried;
    for (size_t i = 0; i < 3; i++)
      if (is_linked(map, {i, 0})) carried.push_back(i);
    return carried;
  };
  EXPECT_EQ(carried_inputs("Samples", false), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(carried_inputs("Samples", true), (std::vector<size_t>{0})) << "weights have no rows";
  EXPECT_EQ(carried_inputs("Spy", false), std::vector<size_t>{});
}

TEST_F(CustomOp, ErrorsNameTheNode) {
  const std::string outside =
      "internal: operator test.custom.{} of node 'n': compute() wrote outside the memory of an "
      "output: its shape differs from the result of infer()";
  EXPECT_EQ(error_of(node("TooMuch", {{x, false}})), fmt::format(fmt::runtime(outside), "TooMuch"));
  EXPECT_EQ(error_of(node("Before", {{x, false}})), fmt::format(fmt::runtime(outside), "Before"));
  EXPECT_EQ(error_of(node("Fails", {{x, false}})),
            "unavailable: operator test.custom.Fails of node 'n': no more of them");
}

// The second run writes directly into its outputs, and drops the message of the first run.
TEST_F(CustomOp, PreparedCallsRunAgain) {
  const auto c = node("Spy", {{x, false}});
  infer(*c->node);
  const plugins::OperatorRef op = custom_op_of(*c->node);
  ASSERT_TRUE(op);
  const plugins::Record record{
      op.op->domain, op.op->name, op.op->version, op.library->name, op.library->version, "n", {}};
  const kernels::calls::Custom custom = kernels::custom_call(record, 1);
  std::vector<int64_t> ints = {custom.outputs, custom.bytes};
  ints.insert(ints.end(), custom.record.begin(), custom.record.end());
  const Shape shape = {3};
  std::vector<kernels::Operand> operands(2, {true, DType::f32, shape, 12});
  const kernels::Plan plan = kernels::find_kernel("custom")->prepare({operands, ints, {}, 1});
  EXPECT_EQ(plan.outputs, 1u);
  EXPECT_EQ(plan.work, 12);
  for (float factor : {1.0F, 10.0F}) {
    float in[3] = {factor, 2 * factor, 3 * factor}, out[5] = {-1, -1, -1, -1, -1};
    void* data[] = {in, out + 1};
    plan.run(plan.params.get(), data, 0, 1, nullptr);
    EXPECT_EQ(std::vector<float>(out, out + 5),
              (std::vector<float>{-1, factor, 2 * factor, 3 * factor, -1}));
    EXPECT_FALSE(plan.take_failure(plan.params.get()));
  }
  operands[1].present = false;
  EXPECT_THROW(kernels::find_kernel("custom")->prepare({operands, ints, {}, 1}), Error);
  operands[1].present = true;
  ints[0] = 3;
  EXPECT_THROW(kernels::find_kernel("custom")->prepare({operands, ints, {}, 1}), Error);
}

}  // namespace
}  // namespace poprt::ops
