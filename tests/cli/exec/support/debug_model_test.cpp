#include "exec/support/debug_model.h"

#include <set>

#include "cli/command_line.h"
#include "exec/support/npy.h"
#include "ir/text.h"

namespace poprt::cli {
namespace {

using Words = std::vector<std::string>;

std::unique_ptr<ir::Graph> model_of(const std::string& body) {
  return ir::parse_text("graph \"g\" opset {\"\": 17} {\n" + body + "}\n");
}

// y = relu(x * w) + b, and z = -x.
std::unique_ptr<ir::Graph> sample() {
  return model_of(R"(
  input %x : f32[2]
  input %b : f32[2]
  const %w : f32[2] = [1.0, 2.0]
  %m : f32[2] = Mul(%x, %w) "mul"
  %r : f32[2] = Relu(%m) "relu"
  %y : f32[2] = Add(%r, %b) "add"
  %z : f32[2] = Neg(%x) "neg"
  output %y
  output %z
)");
}

std::string names(std::span<ir::Value* const> values) {
  std::string text;
  for (const ir::Value* v : values) text += v->name() + " ";
  return text;
}

std::string operators(const ir::Graph& graph) {
  std::string text;
  for (const ir::Node* n : graph.nodes()) text += n->op_type + " ";
  return text;
}

TEST(DebugModel, ShapesOfInputsAreFixed) {
  const auto shapes = [](const CompileSettings& settings) {
    const auto graph = model_of(
        "  input %x : f32[N,3]\n  input %y : s64[M]\n  %z : f32[N,3] = Neg(%x)\n  output %z\n");
    fix_shapes(*graph, settings);
    std::string text;
    for (const ir::Value* v : graph->inputs()) text += ir::type_string(v->type) + " ";
    return text;
  };
  CompileSettings settings;
  const std::string plain = shapes(settings);
  settings.batch_size = 4;
  EXPECT_NE(shapes(settings), plain);
  EXPECT_EQ(shapes(settings), "f32[4,3] s64[4] ");  // axis 0 without an axis
  settings.batch_axis = 0;
  EXPECT_EQ(shapes(settings), "f32[4,3] s64[4] ");
  settings.input_shape = {"x=4,3"};
  EXPECT_EQ(shapes(settings), "f32[4,3] s64[4] ");
  settings.batch_size = 0;
  settings.input_shape = {"x=7,3"};
  EXPECT_EQ(shapes(settings), "f32[7,3] s64[M] ");
}

// The compiler refuses the same requests (tests/core/compiler/static_inputs_test.cpp).
TEST(DebugModel, KnownDimensionsDoNotChange) {
  const auto message = [](const CompileSettings& settings) {
    const auto graph = model_of(
        "  input %x : f32[N,3]\n  input %y : f32[4]\n  %z : f32[N,3] = Neg(%x)\n  output %z\n");
    return message_of<Error>([&] { fix_shapes(*graph, settings); });
  };
  CompileSettings settings;
  settings.batch_size = 8;
  EXPECT_EQ(message(settings),
            "batch_size: input 'y' is f32[4], axis 0 is fixed and cannot become 8");
  settings.batch_axis = 2;
  EXPECT_EQ(message(settings), "batch_axis: input 'x' is f32[N,3], it has no axis 2");
  settings.batch_size = 0;
  settings.batch_axis = -1;
  settings.input_shape = {"x=7,4"};
  EXPECT_EQ(message(settings),
            "input_shape: input 'x' is f32[7,3], axis 1 is fixed and cannot become 4");
  settings.input_shape = {"x=7"};
  EXPECT_EQ(message(settings), "input_shape: input 'x' is f32[N,3], but [7] has another rank");
}

TEST(DebugModel, DataIsMadeUp) {
  const auto data = [](const char* word, DType dtype, const char* name = "n") {
    return data_of(word, dtype, {2, 50}, "what", name).to_doubles();
  };
  EXPECT_EQ(data("zeros", DType::f32), std::vector<double>(100, 0.0));
  EXPECT_EQ(data("ones", DType::s64), std::vector<double>(100, 1.0));
  const auto reals = data("rand", DType::f64);
  double sum = 0;
  for (const double v : reals) {
    EXPECT_TRUE(v >= 0 && v < 1);
    sum += v;
  }
  EXPECT_NEAR(sum / 100, 0.5, 0.15);
  EXPECT_EQ(std::set<double>(reals.begin(), reals.end()).size(), 100U);
  EXPECT_EQ(data("rand", DType::f64), reals);
  EXPECT_NE(data("rand", DType::f64, "m"), reals);
  const auto whole = data("rand", DType::s32);
  for (size_t i = 0; i < 100; i++) EXPECT_EQ(whole[i], reals[i] < 0.5 ? 0 : 1);
  EXPECT_EQ(data_of("ones", DType::f32, {2, 1}, "what", "n").shape(), (Shape{2, 1}));
}

TEST(DebugModel, ReadsDataFromFiles) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "a.npy").string();
  write_npy(path, array_of(Tensor::of<float>({2, 2}, {1, 2, 3, 4})));
  const Tensor same = data_of(path, DType::f32, {4}, "what", "n");
  EXPECT_EQ(same.shape(), Shape{4});
  EXPECT_EQ(same.values<float>()[3], 4);
  const Tensor other = data_of(path, DType::s32, {4, 1}, "what", "n");
  EXPECT_EQ(other.to_int64s(), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(other.shape(), (Shape{4, 1}));
  const auto message_for = [](const std::string& word, const Shape& shape) {
    return message_of<Failure>([&] { (void)data_of(word, DType::f32, shape, "what", "n"); });
  };
  EXPECT_EQ(message_for(path, {3}),
            "what: expected [3] (3 elements), '" + path + "' contains [2,2]");
  EXPECT_EQ(message_for("twos", {3}),
            "what: expected zeros, ones, rand or a .npy file that exists, found 'twos'");
  EXPECT_EQ(message_for("ones", {3, kUnknownDim}),
            "what: the shape [3,?] has variable dimensions; fix them with --input_shape");
}

TEST(DebugModel, ConstantsAndInputsGetValues) {
  const auto graph = sample();
  update_tensors(*graph, {"w=zeros", "b=ones"});
  EXPECT_EQ(names(graph->inputs()), "x ");
  EXPECT_EQ(graph->find("w")->constant().to_doubles(), (std::vector<double>{0, 0}));
  ASSERT_TRUE(graph->find("b")->is_constant());
  EXPECT_EQ(graph->find("b")->constant().to_doubles(), (std::vector<double>{1, 1}));
  EXPECT_EQ(graph->find("y")->producer()->input(1), graph->find("b"));
  EXPECT_EQ(message_of<Usage>([&] { update_tensors(*graph, {"nothing=ones"}); }),
            "--update: the model has no tensor 'nothing'");
  EXPECT_TRUE(message_of<Usage>([&] {
                update_tensors(*graph, {"m=ones"});
              }).starts_with("--update: 'm' is computed by "));
  EXPECT_EQ(message_of<Failure>([&] { update_tensors(*graph, {"x=ones", "w=twos"}); }),
            "--update w: expected zeros, ones, rand or a .npy file that exists, found 'twos'");
  for (const std::string name : {"x", "w"})
    EXPECT_EQ(message_of<Usage>([&] { update_tensors(*graph, {name + "=zeros", name + "=ones"}); }),
              "--update: '" + name + "' is given twice");
  EXPECT_EQ(names(graph->inputs()), "x ");  // a failure changes nothing
}

TEST(DebugModel, PartsLieBetweenValues) {
  const auto graph = sample();
  extract(*graph, {"m"}, {"y"});
  EXPECT_EQ(names(graph->inputs()), "b m ");
  EXPECT_EQ(names(graph->outputs()), "y ");
  EXPECT_EQ(operators(*graph), "Relu Add ");
  EXPECT_EQ(ir::type_string(graph->find("m")->type), "f32[2]");
  EXPECT_EQ(graph->find("w"), nullptr);
  const auto head = sample();
  extract(*head, {}, {"r"});
  EXPECT_EQ(names(head->inputs()), "x ");
  EXPECT_EQ(operators(*head), "Mul Relu ");
  const auto inputs = sample();
  extract(*inputs, {"x", "r"}, {"y", "z"});
  EXPECT_EQ(names(inputs->inputs()), "x b r ");
}

TEST(DebugModel, RefusesInvalidParts) {
  const auto message_for = [](const Words& inputs, const Words& outputs) {
    return message_of<Usage>([&] { extract(*sample(), inputs, outputs); });
  };
  EXPECT_EQ(message_for({}, {"nothing"}), "output_names: the model has no tensor 'nothing'");
  EXPECT_EQ(message_for({"nothing"}, {"y"}), "input_names: the model has no tensor 'nothing'");
  EXPECT_EQ(message_for({"r"}, {"r"}), "'r' cannot be both an input and an output of the part");
  EXPECT_EQ(message_for({"m"}, {"z"}), "input_names: no output needs 'm'");
  EXPECT_EQ(message_for({"b"}, {"z"}), "input_names: no output needs 'b'");
  EXPECT_EQ(message_for({"m", "m"}, {"y"}), "input_names: 'm' is given twice");
  EXPECT_EQ(message_for({}, {"y", "z", "y"}), "output_names: 'y' is given twice");
}

TEST(DebugModel, GraphsAreDescribedInLevels) {
  const auto graph = ir::parse_text(R"(graph "net" opset {"": 17, "own": 2} metadata {"k": "v"} {
  input %x : f32[2]
  const %w : f32[2] = [1.5, 2.0]
  %m : f32[2] = Mul(%x, %w) "mul"
  %y : f32[2], %z : f32[2] = own.Both(%m, _) {axis = 1, scale = 0.5, word = "a", list = [1, 2], floats = [0.5], words = ["b"], t = f32[2] [1.0, 2.0], ts = tensors [f32[1] [1.0]]}
  output %y
}
)");
  EXPECT_EQ(describe(*graph, 0),
            "Model metadata:\n  k: v\n  opset ai.onnx: 17\n  opset own: 2\nModel inputs:\n  x: "
            "f32[2]\nModel outputs:\n  y: f32[2]\n");
  EXPECT_EQ(describe(*graph, 1), "Model graph: net\n  Node: mul\n  Node: (Both)\n");
  const std::string two = describe(*graph, 2), three = describe(*graph, 3);
  const std::string attributes =
      "    Attributes:\n      axis: 1\n      floats: [0.5]\n      list: [1, 2]\n      scale: 0.5\n"
      "      t: f32[2] [1, 2]\n      ts: 1 tensors\n      word: \"a\"\n      words: [\"b\"]\n";
  EXPECT_EQ(two,
            "Model graph: net\n  Node: mul\n    Op type: Mul\n    Inputs: x, w\n    Outputs: m\n  "
            "Node: (Both)\n    Op type: own.Both\n    Inputs: m, (none)\n    Outputs: y, z\n" +
                attributes);
  EXPECT_EQ(
      three,
      "Model graph: net\n  Node: mul\n    Op type: Mul\n    Inputs: x, w\n      x: f32[2]\n  "
      "    w: f32[2], constant\n    Outputs: m\n      m: f32[2]\n  Node: (Both)\n    Op type: "
      "own.Both\n    Inputs: m, (none)\n      m: f32[2]\n    Outputs: y, z\n      y: f32[2]\n "
      "     z: f32[2]\n" +
          attributes);
}

TEST(DebugModel, GraphsWithinNodesAreDescribed) {
  const auto graph = model_of(R"(
  input %c : bool[]
  input %x : f32[2]
  %y : f32[2] = If(%c) {else_branch = graph "e" { %u : f32[2] = Neg(%x) "neg"
 output %u }, then_branch = graph "t" { %v : f32[2] = Abs(%x) "abs"
 output %v }} "if"
  output %y
)");
  EXPECT_EQ(
      describe(*graph, 2),
      "Model graph: g\n  Node: if\n    Op type: If\n    Inputs: c\n    Outputs: y\n    "
      "Attributes:\n      else_branch: a graph of 1 nodes\n      then_branch: a graph of 1 "
      "nodes\n    Graph: e\n      Node: neg\n        Op type: Neg\n        Inputs: x\n        "
      "Outputs: u\n    Graph: t\n      Node: abs\n        Op type: Abs\n        Inputs: x\n   "
      "     Outputs: v\n");
}

TEST(DebugModel, NodesAreDescribedBeforeValues) {
  const auto graph = sample();
  const std::string add =
      "Node: add\n  Op type: Add\n  Inputs: r, b\n    r: f32[2]\n    b: f32[2]\n  Outputs: y\n    "
      "y: "
      "f32[2]\n";
  EXPECT_EQ(describe_named(*graph, "^add$"), add);
  EXPECT_EQ(describe_named(*graph, "[wz]"),
            "Tensor: w\n  f32[2], constant\n  Value: [1, 2]\nTensor: "
            "z\n  f32[2]\n");
  EXPECT_EQ(message_of<Usage>([&] { (void)describe_named(*graph, "none"); }),
            "--name: no node and no tensor has a name that matches 'none'");
  EXPECT_TRUE(message_of<Usage>([&] {
                (void)describe_named(*graph, "(");
              }).starts_with("--name: '(' is not a regular expression: "));
  const auto long_name = sample();
  long_name->nodes()[0]->name = "begin" + std::string(1'000'000, 'x') + "end";
  EXPECT_TRUE(describe_named(*long_name, "^(be|x)gin(x|y)*").starts_with("Node: beginxx"));
}

TEST(DebugModel, LongTensorsAreCutShort) {
  const auto message_for = [](size_t count) {
    const auto graph =
        model_of(fmt::format("  input %x : f32[1]\n  const %w : f32[{0}] = fill 2.0\n  %y : "
                             "f32[{0}] = Add(%x, %w) \"a\"\n  output %y\n",
                             count));
    return describe_named(*graph, "w");
  };
  std::string thousand = "Tensor: w\n  f32[1000], constant\n  Value: [2";
  for (int i = 1; i < 1000; i++) thousand += ", 2";
  EXPECT_EQ(message_for(1000), thousand + "]\n");
  const std::string more = message_for(1001);
  EXPECT_EQ(more.substr(more.find("Value")),
            thousand.substr(thousand.find("Value")) + ", ... 1001 in all]\n");
}

}  // namespace
}  // namespace poprt::cli
