#include "cli/commands/command_test.h"
#include "support/recorded_lines.h"

namespace poprt::cli::test {
namespace {

class Debug : public CommandTest {
 protected:
  Debug() {
    for (const auto& [name, factor] : {std::pair("one", "2.0"), std::pair("two", "2.5")})
      onnx(std::string(name) + ".onnx", std::string(R"(graph "g" opset {"": 17} {
  input %x : f32[2,2]
  const %s : f32[1] = [)") + factor + R"(]
  %m : f32[2,2] = Mul(%x, %s) "node_m"
  %r/0 : f32[2,2] = Relu(%m) "node_r"
  %y : f32[2,2] = Neg(%r/0) "node_y"
  output %y
})");
    npy("x.npy", {2, 2}, {1, -1, 2, 4});
  }
  static Ran debug(std::vector<std::string> words) {
    words.insert(words.begin(), "debug");
    return run_command(add_debug, words);
  }
  static Ran compare(std::vector<std::string> more, const char* other = "two.onnx") {
    more.insert(more.begin(), {"compare", "--src_model", "one.onnx", "--src_backend", "poprt",
                               "--dst_model", other});
    if (std::ranges::count(more, "--compare_method") == 0)
      more.insert(more.end(), {"--compare_method", "mse"});
    return debug(more);
  }
  static std::string refused(const Ran& ran, int code = 2) {
    EXPECT_EQ(ran.code, code) << ran.out << ran.err;
    EXPECT_EQ(ran.out, "");
    return ran.err;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
  }
};

TEST(DebugHelp, OfEachCommand) {
  poprt::test::RecordedLines found;
  for (const char* name : {"compare", "modify", "extract", "print"}) {
    const Ran ran = run_command(add_debug, {"debug", name, "--help"});
    EXPECT_EQ(ran.code, 0);
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);)
      if (!line.empty()) found[name].insert(line);
  }
  poprt::test::expect_recorded(found, POPRT_TEST_DATA "/cli_debug_help.txt",
                               "Help of the commands of poprt_exec debug: "
                               "tests/cli/commands/debug_test.cpp.");
}

// The expected differences were computed by hand from m, r and y at x = 1, -1, 2 and 4.
TEST_F(Debug, OutputsAreCompared) {
  const Ran ran = compare({"--input_data", "x=x.npy", "--compare_method", "mse, mae"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "y - shape: [2,2]\n    mse - diff: 1.3125\n    mae - diff: 0.875\n");
  const Ran json = compare({"--input_data", "x=x.npy", "--json"});
  EXPECT_EQ(
      json.json(),
      (nlohmann::json::array({{{"src", "y"}, {"dst", "y"}, {"shape", {2, 2}}, {"mse", 1.3125}}})));
}

// An input may be in only one of the models.
TEST_F(Debug, ShapesOfUnknownInputsAreRefused) {
  const auto model = [](const char* name, const char* input) {
    onnx(name, fmt::format(R"(graph "g" opset {{"": 17}} {{
  input %{0} : f32[N,2]
  %y : f32[N,2] = Neg(%{0})
  output %y
}})",
                           input));
  };
  model("one.onnx", "x");
  model("two.onnx", "z");
  const std::vector<std::string> words = {"--input_data", "x=ones", "--mark_io_mapping",
                                          "x=z",          "y=y",    "--input_shape",
                                          "x=3,2",        "z=3,2"};
  const Ran ran = compare(words);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out, "y - shape: [3,2]\n    mse - diff: 0\n");
  auto more = words;
  more.emplace_back("mask=1");
  EXPECT_TRUE(has(refused(compare(more)), "--input_shape: the model has no input 'mask'"));
  more.emplace_back("--allow_unknown_inputs");
  EXPECT_EQ(compare(more).out, ran.out);
  EXPECT_TRUE(has(refused(compare({"--input_data", "x=ones", "x=zeros"})),
                  "--input_data: 'x' is given twice"));
}

TEST_F(Debug, MarkedTensorsAreCompared) {
  EXPECT_EQ(compare({"--input_data", "x=x.npy", "--mark_outputs", " m , r/0"}).out,
            "m - shape: [2,2]\n    mse - diff: 1.375\n"
            "r/0 - shape: [2,2]\n    mse - diff: 1.3125\n");
  onnx("two.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[2,2]
  %m : f32[2,2] = Neg(%x)
  %q : f32[2,2] = Neg(%m)
  output %q
})");
  EXPECT_EQ(compare({"--input_data", "x=ones", "--mark_outputs", "all"}).out,
            "m - shape: [2,2]\n    mse - diff: 9\n");
  EXPECT_TRUE(has(refused(compare({"--input_data", "x=ones", "--mark_outputs", "m,q"})),
                  "--mark_outputs: 'q' is not in both models"));
  EXPECT_TRUE(has(refused(compare({"--input_data", "x=ones", "--mark_outputs", "y"})),
                  "--mark_outputs: 'y' is not in both models"));
  EXPECT_TRUE(has(refused(compare({"--input_data", "x=ones"})),
                  "'one.onnx' and 'two.onnx' have no output in common"));
  onnx("two.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[2,2]
  %q : f32[2,2] = Neg(%x)
  output %q
})");
  EXPECT_TRUE(has(refused(compare({"--input_data", "x=ones", "--mark_outputs", "all"})),
                  "have no tensor in common; give pairs with --mark_io_mapping"));
}

// An output of one model may be an intermediate value of the other.
TEST_F(Debug, OutputsOfBothAreCompared) {
  onnx("two.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[2,2]
  %y : f32[2,2] = Neg(%x)
  %q : f32[2,2] = Neg(%y)
  output %q
})");
  EXPECT_TRUE(has(refused(compare({"--input_data", "x=ones"})), "no output in common"));
}

TEST_F(Debug, NamesThatDiffer) {
  onnx("two.onnx", R"(graph "g" opset {"": 17} {
  input %in : f32[2,2]
  %out : f32[2,2] = Neg(%in)
  output %out
})");
  const std::vector<std::string> data = {"--input_data", "x=x.npy", "--mark_io_mapping"};
  const auto mapped = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = data;
    all.insert(all.end(), words.begin(), words.end());
    return compare(all);
  };
  EXPECT_EQ(mapped({"x=in", "m=out", "--compare_method", "mae"}).out,
            "m - shape: [2,2]\n    mae - diff: 6\n");
  EXPECT_EQ(
      mapped({"y=out", "x=in", "--json", "--compare_method", "mae"}).json(),
      (nlohmann::json::array({{{"src", "y"}, {"dst", "out"}, {"shape", {2, 2}}, {"mae", 2.0}}})));
  const std::string both = "must be a tensor of 'one.onnx' and '";
  EXPECT_TRUE(has(refused(mapped({"x=in", "m=none"})),
                  "--mark_io_mapping: 'm' must be a tensor of 'one.onnx' and 'none' one of "
                  "'two.onnx'"));
  for (const char* word : {"none=out", "x=out", "m=in", "s=out"})
    EXPECT_TRUE(has(refused(mapped({"x=in", "m=out", word})), both)) << word;
  EXPECT_TRUE(has(refused(mapped({"x=in"})), "have no output in common"));
}

TEST_F(Debug, DumpsDataOnRequest) {
  EXPECT_EQ(compare({"--input_data", "x=x.npy", "--mark_outputs", "r/0"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists("compare_output"));
  EXPECT_EQ(compare({"--input_data", "x=x.npy", "--mark_outputs", "r/0", "--dump_data"}).code, 0);
  EXPECT_EQ(floats("compare_output/r_0_src.npy"), (std::vector<float>{2, 0, 4, 8}));
  EXPECT_EQ(floats("compare_output/r_0_dst.npy"), (std::vector<float>{2.5, 0, 5, 10}));
  EXPECT_EQ(compare({"--input_data", "x=x.npy", "--dump_data", "--dump_dir", "a/b"}).code, 0);
  EXPECT_TRUE(std::filesystem::exists("a/b/y_dst.npy"));
}

TEST_F(Debug, ShapesThatDiffer) {
  onnx("wide.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[2,2]
  %m : f32[2,2] = Neg(%x)
  %y : f32[4,2] = Concat(%x, %x) {axis = 0}
  output %y
})");
  const std::vector<std::string> words = {"--input_data", "x=ones", "--mark_outputs", "y,m"};
  const Ran ran = compare(words, "wide.onnx");
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out,
            "m - shape: [2,2]\n    mse - diff: 9\ny - shapes differ: [2,2] and [4,2] (y)\n");
  std::vector<std::string> json = words;
  json.push_back("--json");
  const Ran rows = compare(json, "wide.onnx");
  EXPECT_EQ(rows.code, 1);
  EXPECT_EQ(rows.json(),
            (nlohmann::json::array(
                {{{"src", "m"}, {"dst", "m"}, {"shape", {2, 2}}, {"mse", 9.0}},
                 {{"src", "y"}, {"dst", "y"}, {"shape", {2, 2}}, {"dst_shape", {4, 2}}}})));
}

TEST_F(Debug, VariableShapesAreFixedInBothModels) {
  for (const char* name : {"one.onnx", "two.onnx"})
    onnx(name, R"(graph "g" opset {"": 17} {
  input %x : f32[N,2]
  %y : f32[N,2] = Neg(%x)
  output %y
})");
  EXPECT_EQ(compare({"--input_data", "x=ones", "--input_shape", "x=3,2"}).out,
            "y - shape: [3,2]\n    mse - diff: 0\n");
  EXPECT_EQ(compare({"--input_data", "x=ones", "--batch_size", "5", "--batch_axis", "0"}).out,
            "y - shape: [5,2]\n    mse - diff: 0\n");
}

TEST_F(Debug, InputsAreNeededAndKnown) {
  EXPECT_TRUE(has(refused(compare({})),
                  "--input_data: input 'x' (f32[2,2]) is missing; give x=zeros, ones, rand or a "
                  ".npy file"));
  for (const char* word : {"z=ones", "m=ones", "s=ones"})
    EXPECT_TRUE(
        has(refused(compare({"--input_data", "x=ones", word})), "is not an input of 'one.onnx'"))
        << word;
  EXPECT_TRUE(has(refused(compare({"--input_data", "x=ones", "--compare_method", "psnr"})),
                  "found 'psnr'"));
}

TEST_F(Debug, ModelsAreChanged) {
  const Ran ran = debug({"modify", "--model", "one.onnx", "--update", "s=zeros"});
  EXPECT_EQ(ran.out, "model: one.onnx.updated.onnx\n") << ran.err;
  EXPECT_EQ(debug({"print", "--model", "one.onnx.updated.onnx", "--name", "^s$"}).out,
            "Tensor: s\n  f32[1], constant\n  Value: [0]\n");
  EXPECT_EQ(debug({"modify", "--model", "one.onnx", "--sort", "--output_model", "o.onnx"}).out,
            "model: o.onnx\n");
  EXPECT_TRUE(has(
      refused(debug({"modify", "--model", "one.onnx", "--sort", "--output_model", "./one.onnx"})),
      "--output_model: cannot write './one.onnx': it is the same file as 'one.onnx', which the "
      "command reads; give another path"));
  EXPECT_TRUE(has(refused(debug({"modify", "--model", "one.onnx"})),
                  "there is no change to make; give --update, --extract or --sort"));
}

TEST_F(Debug, PartsAreExtracted) {
  const auto nodes = [](const std::string& model) {
    return debug({"print", "--model", model, "--level", "graph"}).out;
  };
  const std::string part = "Model graph: g\n  Node: node_r\n";
  EXPECT_EQ(debug({"modify", "--model", "one.onnx", "--extract", "input_names=m",
                   "output_names=r/0", "--output_model", "p.onnx"})
                .code,
            0);
  EXPECT_EQ(nodes("p.onnx"), part);
  EXPECT_EQ(debug({"extract", "--src_onnx", "one.onnx", "--input_names", "m", "--output_names",
                   "r/0", "--dst_onnx", "q.onnx"})
                .code,
            0);
  EXPECT_EQ(nodes("q.onnx"), part);
  EXPECT_EQ(debug({"extract", "--model", "one.onnx", "--output_names", " m ,,", "r/0"}).code, 0);
  EXPECT_EQ(nodes("one.onnx.updated.onnx"), "Model graph: g\n  Node: node_m\n  Node: node_r\n");
  EXPECT_TRUE(has(refused(debug({"modify", "--model", "one.onnx", "--extract", "input_names=m"})),
                  "output_names: expected at least one name"));
  EXPECT_TRUE(has(refused(debug({"modify", "--model", "one.onnx", "--extract", "output_names="})),
                  "output_names"));
  EXPECT_TRUE(has(refused(debug({"modify", "--model", "one.onnx", "--extract", "outputs=m"})),
                  "--extract: expected input_names=... output_names=..., found 'outputs=m'"));
}

// A model with an unknown operator is printed without its types.
TEST_F(Debug, LevelsOfPrinting) {
  const auto level = [](const char* word) {
    return debug({"print", "--model", "one.onnx", "--level", word}).out;
  };
  EXPECT_TRUE(has(level("model"), "Model inputs:\n  x: f32[2,2]\n"));
  EXPECT_EQ(level("graph"), "Model graph: g\n  Node: node_m\n  Node: node_r\n  Node: node_y\n");
  EXPECT_TRUE(has(level("node"), "    Op type: Mul\n    Inputs: x, s\n    Outputs: m\n"));
  EXPECT_FALSE(has(level("node"), "      s: f32[1], constant\n"));
  EXPECT_TRUE(has(level("tensor"), "      s: f32[1], constant\n"));
  EXPECT_EQ(debug({"print", "--model", "one.onnx"}).out, level("model"));
  onnx("odd.onnx", R"(graph "g" opset {"": 17, "odd": 1} {
  input %x : f32[2,2]
  %r = Relu(%x) "known"
  %y : f32[2,2] = odd.Strange(%r) "strange"
  output %y
})");
  EXPECT_TRUE(has(debug({"print", "--model", "odd.onnx", "--level", "tensor"}).out, "strange"));
  onnx("bare.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[2,2]
  %r = Relu(%x) "known"
  %y : f32[2,2] = Neg(%r) "negative"
  output %y
})");
  EXPECT_TRUE(
      has(debug({"print", "--model", "bare.onnx", "--level", "tensor"}).out, "r: f32[2,2]\n"));
}

}  // namespace
}  // namespace poprt::cli::test
