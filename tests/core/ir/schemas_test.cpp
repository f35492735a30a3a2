#include "ir/schemas.h"

#include <gtest/gtest.h>

#include <time.h>

namespace poprt::ir {
namespace {

struct One {
  Graph g;
  Node* n;
  One(const char* op, const char* domain, int64_t opset, const char* attribute) {
    g.opsets[domain] = opset;
    n = g.add_node(op, domain, {g.add_input("x", ValueType::of(DType::f32, {4}))});
    n->name = "node";
    n->attributes[attribute] = int64_t{1};
  }
};

TEST(Schemas, TheDefinitionOfAnOpset) {
  EXPECT_EQ(definition_of("", "Relu", 1), 1);
  EXPECT_EQ(definition_of("", "Relu", 13), 13);
  EXPECT_EQ(definition_of("ai.onnx", "Relu", 18), 14);
  EXPECT_EQ(definition_of("ai.onnx.ml", "LabelEncoder", 3), 2);
  EXPECT_EQ(definition_of("com.microsoft", "Attention", 1), 1);
  EXPECT_EQ(definition_of("", "Gelu", 19), 0);
  EXPECT_EQ(definition_of("", "Unheard", 17), 0);
  EXPECT_EQ(definition_of("custom", "Relu", 17), 0);
}

TEST(Schemas, TheFirstOpsetThatHasAllAttributes) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(first_opset_with("ai.onnx.ml", "LabelEncoder", Names{"default_string"}), 1);
  EXPECT_EQ(first_opset_with("ai.onnx.ml", "LabelEncoder", Names{"keys_floats", "default_float"}),
            2);
  EXPECT_EQ(first_opset_with("ai.onnx.ml", "LabelEncoder", Names{"keys_tensor"}), 4);
  EXPECT_EQ(first_opset_with("ai.onnx.ml", "LabelEncoder", Names{"unheard"}), 1);
  EXPECT_EQ(first_opset_with("", "AveragePool", Names{"dilations"}), 19);
  EXPECT_EQ(first_opset_with("custom", "Op", Names{"a"}), 1);
}

TEST(Schemas, AttributesThatNoOpsetHasCanBeIgnored) {
  std::string warnings;
  const auto ignored = [&](const std::string& what) { warnings += what + "\n"; };
  check_attributes(*One("Conv", "", 17, "foo").n, ignored);
  EXPECT_NE(
      warnings.find("no attribute 'foo' in opset 17; its attributes are: auto_pad, dilations"),
      std::string::npos)
      << warnings;
  EXPECT_NE(warnings.find("it is ignored"), std::string::npos);
  warnings.clear();
  check_attributes(*One("Relu", "", 17, "consumed_inputs").n, ignored);
  EXPECT_NE(warnings.find("'consumed_inputs'"), std::string::npos);
  warnings.clear();
  check_attributes(*One("Softmax", "", 17, "axis").n, ignored);
  EXPECT_EQ(warnings, "");
  // An attribute of another opset has a meaning, so it is an error.
  EXPECT_THROW(check_attributes(*One("AveragePool", "", 11, "dilations").n, ignored), Error);
  EXPECT_THROW(check_attributes(*One("BatchNormalization", "", 9, "spatial").n, ignored), Error);
}

TEST(Schemas, AttributesOfTheOpsetAreAccepted) {
  for (const One& o :
       {One("AveragePool", "", 19, "dilations"), One("Softmax", "", 13, "axis"),
        One("Dropout", "", 6, "is_test"), One("Relu", "", 5, "consumed_inputs"),
        One("LayerNormalization", "", 12, "stash_type"), One("Conv", "", 17, "__of_some_tool"),
        One("Op", "custom", 1, "foo"), One("Conv", "poprt", 1, "activation")})
    EXPECT_NO_THROW(check_attributes(*o.n)) << o.n->op_type;
}

TEST(Schemas, OtherAttributesAreRefusedAndTheRightOnesNamed) {
  const auto refused = [](const One& o, std::initializer_list<const char*> parts) {
    try {
      check_attributes(*o.n);
      ADD_FAILURE() << o.n->op_type;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      for (const char* part : parts)
        EXPECT_NE(e.message().find(part), std::string::npos) << part << ": " << e.message();
    }
  };
  refused({"Conv", "", 17, "foo"},
          {"Conv node 'node'", "no attribute 'foo' in opset 17",
           "auto_pad, dilations, group, kernel_shape, pads, strides;", "open an issue"});
  refused({"Softmax", "", 17, ""}, {"no attribute ''", "its attributes are: axis;"});
  refused({"Relu", "", 17, "alpha"}, {"its attributes are: none;"});
  refused({"AveragePool", "", 11, "dilations"}, {"opset 19 on has it: convert the model"});
  refused({"BatchNormalization", "", 9, "spatial"}, {"opset 1 to 8 has it"});
  refused({"Gather", "ai.onnx", 17, "batch_dims"}, {"'batch_dims'", "are: axis;"});
  refused({"Scaler", "ai.onnx.ml", 3, "foo"}, {"are: offset, scale;"});
  refused({"Gelu", "com.microsoft", 1, "foo"}, {"com.microsoft.Gelu", "'foo'"});
}

// Returns the processor time of this thread, which does not depend on the load of the machine.
double cpu_milliseconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

// The least CPU time of several rounds.
template <class F>
double least_milliseconds(F&& round) {
  double least = 1e9;
  for (int i = 0; i < 20; i++) {
    const double begin = cpu_milliseconds();
    round();
    least = std::min(least, cpu_milliseconds() - begin);
  }
  return least;
}

// The check looks up a table for each node, which takes no noticeable part of a compilation.
TEST(Schemas, CheckingANodeTakesLessTimeThanMakingItsGraph) {
  const One o("Conv", "", 17, "group");
  const double checked = least_milliseconds([&] {
    for (int i = 0; i < 1000; i++) check_attributes(*o.n);
  });
  const double made = least_milliseconds([] {
    for (int i = 0; i < 1000; i++) One("Conv", "", 17, "group");
  });
  EXPECT_LT(checked, made);
}

// The message of check_attributes for `attribute`, or an empty text.
std::string refusal(const char* op, int64_t opset, const char* attribute) {
  try {
    check_attributes(*One(op, "", opset, attribute).n, nullptr);
  } catch (const Error& e) {
    return e.message();
  }
  return {};
}

TEST(Schemas, OnlyWholeNamesAreAttributes) {
  for (const char* name :
       {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides", "__note"})
    EXPECT_EQ(refusal("Conv", 17, name), "") << name;
  for (const char* name : {"auto", "pad", "ads", "_pad", "shape", "kernel", "stride", "trides",
                           "roup", "kernel_shape pads", " "})
    EXPECT_NE(refusal("Conv", 17, name).find("no attribute '" + std::string(name) + "'"),
              std::string::npos)
        << name;
}

TEST(Schemas, ErrorsNameTheOpsetsWithTheAttribute) {
  EXPECT_NE(refusal("AveragePool", 11, "dilations").find("; opset 19 on has it: convert"),
            std::string::npos)
      << refusal("AveragePool", 11, "dilations");
  EXPECT_NE(refusal("BatchNormalization", 14, "spatial").find("; opset 1 to 8 has it: convert"),
            std::string::npos)
      << refusal("BatchNormalization", 14, "spatial");
  EXPECT_EQ(refusal("Relu", 17, "unheard").find("has it"), std::string::npos);
  EXPECT_NE(refusal("Relu", 17, "unheard").find("its attributes are: none"), std::string::npos);
}

}  // namespace
}  // namespace poprt::ir
