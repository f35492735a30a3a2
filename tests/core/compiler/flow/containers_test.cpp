// Graph inputs that are sequences or optionals, in the form that the importer creates.
#include <gtest/gtest.h>

#include "core/compiler/flow/support.h"

namespace poprt::compiler {
namespace {

using namespace flow_test;

std::string container(const std::string& kind, const std::string& more = ", shape = [-1]") {
  return "%in : ? = poprt.ContainerInput() {kind = \"" + kind + "\", element = 1" + more +
         "} \"in\"\n";
}

// Inputs with their types, in order.
std::string inputs_of(const ir::Graph& graph) {
  std::string text;
  for (const ir::Value* v : graph.inputs())
    text += (text.empty() ? "" : ", ") + v->name() + " " + ir::type_string(v->type);
  return text;
}

std::string inputs_of(const Executable& e) {
  std::string text;
  for (const program::Anchor& a : e.program.inputs)
    text += (text.empty() ? "" : ", ") + a.name + shape_string(a.shape);
  return text;
}

std::string refusal_of_input(const std::string& body, Options options) {
  try {
    compile_body(body, std::move(options));
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << e.message();
    return e.message();
  }
  return "taken";
}

const std::string kJoinAll = "%y : ? = ConcatFromSequence(%in) {axis = 0}\noutput %y\n";
const std::string kLengthOf = "%y : ? = SequenceLength(%in)\noutput %y\n";
const std::string kIsPresent = "%y : ? = OptionalHasElement(%in)\noutput %y\n";

TEST(Containers, ElementsHaveTheShapesThatAreGivenForThem) {
  const Executable e = compile_body(container("sequence") + kJoinAll,
                                    {.input_shape = {{"in[0]", {2}}, {"in[1]", {3}}}});
  EXPECT_EQ(inputs_of(e), "in[0][2], in[1][3]");
  const Values got = run(
      e, {{"in[0]", Tensor::of<float>({2}, {1, 2})}, {"in[1]", Tensor::of<float>({3}, {3, 4, 5})}});
  EXPECT_EQ(values(got.at("y")), (std::vector<float>{1, 2, 3, 4, 5}));
  // The length of a sequence is known even if the shapes are not.
  EXPECT_EQ(inputs_of(compile_body(
                container("sequence") + kJoinAll,
                {.input_shape = {{"in[0]", {2}}, {"in[1]", {3}}}, .input_length = {{"in", 1}}})),
            "in[0][2]");
  // Names after a gap belong to no container.
  EXPECT_EQ(inputs_of(compile_body(container("sequence") + kJoinAll,
                                   {.input_shape = {{"in[0]", {2}}, {"in[2]", {3}}}})),
            "in[0][2]");
}

TEST(Containers, ASequenceOfUnknownLengthIsRefusedWithTheRemedy) {
  EXPECT_EQ(refusal_of_input(container("sequence") + kJoinAll, {}),
            "input 'in' is a sequence: give the shape of each element, `input_shapes` "
            "'in[0]=...' and so on; its length is fixed when the model is compiled");
}

TEST(Containers, NumbersOfElementsHaveLimits) {
  const auto message_for = [](const char* kind, int64_t length) {
    return refusal_of_input(
        container(kind, ", shape = [1]") + "%y : ? = Identity(%in)\noutput %y\n",
        {.input_length = {{"in", length}}});
  };
  const auto cannot = [](int64_t length) {
    return fmt::format("input 'in' cannot have {} elements", length);
  };
  EXPECT_EQ(message_for("sequence", 1), "taken");
  EXPECT_EQ(message_for("sequence", -1), cannot(-1));
  EXPECT_EQ(message_for("sequence", 65537), cannot(65537));
  EXPECT_EQ(message_for("optional_sequence", 2), "taken");
  EXPECT_EQ(message_for("optional", 1), "taken");
  EXPECT_EQ(message_for("optional", 2), cannot(2));
  EXPECT_EQ(message_for("optional", -1), cannot(-1));
  // The sequence has the largest allowed length.
  const auto graph = ir::parse_text(graph_text(container("sequence") + kLengthOf));
  expand_containers(*graph, {.input_length = {{"in", 65536}}});
  EXPECT_EQ(graph->inputs().size(), 65536u);
}

// Returns the result of `body` on a container, as a number.
int64_t counted(const std::string& kind, const std::string& body, Options options) {
  const Executable e = compile_body(container(kind, ", shape = [2]") + body, std::move(options));
  Values feeds;
  for (const program::Anchor& a : e.program.inputs) feeds[a.name] = Tensor::zeros(a.dtype, a.shape);
  return run(e, feeds).at("y").to_int64s().at(0);
}

TEST(Containers, EmptyIsNotAbsent) {
  const Options none{}, empty{.input_length = {{"in", 0}}}, two{.input_length = {{"in", 2}}};
  EXPECT_EQ(counted("sequence", kLengthOf, empty), 0);
  EXPECT_EQ(counted("sequence", kLengthOf, two), 2);
  EXPECT_EQ(counted("optional_sequence", kIsPresent, none), 0);
  EXPECT_EQ(counted("optional_sequence", kIsPresent, empty), 1);
  EXPECT_EQ(counted("optional_sequence", kIsPresent, two), 1);
  const std::string inside =
      "%s : ? = OptionalGetElement(%in)\n%y : ? = SequenceLength(%s)\n"
      "output %y\n";
  EXPECT_EQ(counted("optional_sequence", inside, empty), 0);
  EXPECT_EQ(counted("optional_sequence", inside, two), 2);
  EXPECT_EQ(counted("optional", kIsPresent, none), 0);
  EXPECT_EQ(counted("optional", kIsPresent, empty), 0);
  EXPECT_EQ(counted("optional", kIsPresent, {.input_length = {{"in", 1}}}), 1);
  EXPECT_EQ(counted("optional", kIsPresent, {.input_shape = {{"in", {2}}}}), 1);
}

TEST(Containers, AnOptionalIsAnInputOfItsName) {
  const Executable e = compile_body(
      container("optional") + "%e : ? = OptionalGetElement(%in)\n%y : ? = Neg(%e)\noutput %y\n",
      {.input_shape = {{"in", {3}}}});
  EXPECT_EQ(inputs_of(e), "in[3]");
  EXPECT_EQ(values(run(e, {{"in", Tensor::of<float>({3}, {1, -2, 3})}}).at("y")),
            (std::vector<float>{-1, 2, -3}));
}

// Inputs are in front of the node that joins them; it has the container's name.
TEST(Containers, BecomeANodeThatHasTheirName) {
  const auto expanded = [](const std::string& kind, int64_t length) {
    const auto graph =
        ir::parse_text(graph_text("input %x : f32[1]\n" + container(kind, ", shape = [-1, 2]") +
                                  "%y : ? = Identity(%in)\noutput %y\n"));
    expand_containers(*graph, {.input_length = {{"in", length}}});
    EXPECT_EQ(graph->nodes().size(), 2u);
    const ir::Node& n = *graph->nodes()[0];
    EXPECT_EQ(n.name, "in");
    EXPECT_EQ(graph->nodes()[1]->input(0), n.output());
    EXPECT_EQ(static_cast<int64_t>(n.inputs().size()), length);
    for (size_t i = 0; i < n.inputs().size(); i++) EXPECT_EQ(n.input(i), graph->inputs()[i + 1]);
    return n.op_type + ": " + inputs_of(*graph);
  };
  EXPECT_EQ(expanded("sequence", 0), "SequenceEmpty: x f32[1]");
  EXPECT_EQ(expanded("sequence", 2), "SequenceConstruct: x f32[1], in[0] f32[?,2], in[1] f32[?,2]");
  EXPECT_EQ(expanded("optional_sequence", 0), "SequenceEmpty: x f32[1]");
  EXPECT_EQ(expanded("optional_sequence", 1), "SequenceConstruct: x f32[1], in[0] f32[?,2]");
  EXPECT_EQ(expanded("optional", 1), "Identity: x f32[1], in f32[?,2]");
  EXPECT_EQ(expanded("optional", 0), "Optional: x f32[1]");
}

TEST(Containers, ElementsWithoutARankBecomeInputsOfUnknownRank) {
  const auto graph = ir::parse_text(graph_text(container("sequence", "") + kJoinAll));
  expand_containers(*graph, {.input_length = {{"in", 1}}});
  EXPECT_EQ(inputs_of(*graph), "in[0] f32[*]");
}

}  // namespace
}  // namespace poprt::compiler
