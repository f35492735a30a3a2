#include "cli/commands/command_test.h"

namespace poprt::cli::test {
namespace {

class Run : public CommandTest {
 protected:
  Run() {
    onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[2,3]
  %y : f32[2,3] = Relu(%x) "rectified"
  output %y
})");
    npy("x.npy", {2, 3}, {-2, -1, 0, 1, 2, 3});
  }
  static Ran run(std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    return run_command(add_run, words);
  }
  // The lines of the output, without times.
  static std::vector<std::string> lines(const Ran& ran) {
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    std::vector<std::string> found;
    std::istringstream in(ran.out);
    for (std::string line; std::getline(in, line);) {
      if (const size_t at = line.find("ready after "); at == 0)
        line = line.substr(line.find(';'), line.find("fastest") - line.find(';'));
      found.push_back(line);
    }
    return found;
  }
};

using Lines = std::vector<std::string>;

TEST_F(Run, OutputsAreNamedAndWritten) {
  EXPECT_EQ(lines(run({"net.onnx", "--input", "x=x.npy", "--output", "y=y.npy"})),
            (Lines{"; 1 run, ", "output y: f32[2,3]", "wrote y.npy"}));
  EXPECT_EQ(floats("y.npy"), (std::vector<float>{0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(lines(run({"net.onnx", "--input", "x=x.npy", "--iterations", "3"})),
            (Lines{"; 3 runs, ", "output y: f32[2,3]"}));
}

TEST_F(Run, Json) {
  const nlohmann::json ran =
      run({"net.onnx", "--random", "--iterations", "3", "--json", "--profile"}).json();
  EXPECT_EQ(ran["model"], "net.onnx");
  EXPECT_EQ(ran["latency_ms"].size(), 3);
  EXPECT_GT(ran["load_ms"], 0);
  EXPECT_EQ(ran["outputs"],
            nlohmann::json::array({{{"name", "y"}, {"dtype", "f32"}, {"shape", {2, 3}}}}));
  EXPECT_GT(ran["profile"]["instructions"].size(), 0);
  EXPECT_FALSE(ran.contains("texts"));
  EXPECT_FALSE(ran.contains("folded_inputs"));
  EXPECT_FALSE(run({"net.onnx", "--random", "--json"}).json().contains("profile"));
}

TEST_F(Run, ProfileIsATableOfShares) {
  const Lines found = lines(run({"net.onnx", "--random", "--profile"}));
  ASSERT_GE(found.size(), 4);
  EXPECT_EQ(found[2], "        us      %  kernel                       instruction");
  double shares = 0;
  for (size_t i = 3; i < found.size(); i++) shares += std::stod(found[i].substr(10));
  EXPECT_NEAR(shares, 100, 0.1);
  EXPECT_NE(found[3].find("rectified"), std::string::npos);
}

// A sequence is written as an archive; one of its elements as an array.
TEST_F(Run, SequencesAreWritten) {
  onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[2,3]
  %s : ? = SplitToSequence(%x) {axis = 0}
  output %s
})");
  const Ran ran =
      run({"net.onnx", "--input", "x=x.npy", "--output", "s=s.npz", "s[1]=b.npy", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::vector<Array> arrays = read_npz("s.npz");
  ASSERT_EQ(arrays.size(), 2);
  EXPECT_EQ(arrays[1].shape, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(floats("b.npy"), (std::vector<float>{1, 2, 3}));
}

TEST_F(Run, ChipNumericsRequireAFile) {
  write_npy("x.npy", {POPRT_DTYPE_F16, {2, 3}, std::vector<std::byte>(12), {}});
  const std::vector<std::string> words = {"net.onnx", "--precision", "fp16",   "--numerics",
                                          "faithful", "--input",     "x=x.npy"};
  EXPECT_EQ(run(words).code, 0);
  for (const std::vector<std::string>& more :
       {Lines{"--json"}, Lines{"--random"}, Lines{"--profile"}, Lines{"--iterations", "2"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    const Ran ran = run(all);
    EXPECT_EQ(ran.code, 2) << more[0];
    EXPECT_NE(ran.err.find("--numerics faithful runs once"), std::string::npos) << ran.err;
  }
  for (const std::vector<std::string>& more :
       {Lines{"--threads", "1"}, Lines{"--load", "copy"}, Lines{"--verify"},
        Lines{"--winograd", "off"}, Lines{"--on_demand"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    const Ran ran = run(all);
    EXPECT_EQ(ran.code, 2) << more[0];
    EXPECT_NE(ran.err.find(more[0] + " has no effect"), std::string::npos) << ran.err;
  }
  std::vector<std::string> one_iteration = words;
  one_iteration.insert(one_iteration.end(), {"--iterations", "1"});
  EXPECT_EQ(run(one_iteration).code, 0);
}

// 60000 + 60000 is beyond the range of f16.
TEST_F(Run, OverflowConvertsAsOptionsRequest) {
  onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f16[1]
  %y : f16[1] = Add(%x, %x)
  output %y
})");
  write_npy("x.npy", {POPRT_DTYPE_F16, {1}, {std::byte{0x53}, std::byte{0x7b}}, {}});
  popef("net.popef", "net.onnx", {{"numerics", "faithful"}});
  const auto bits = [&](const char* model, const Lines& more) {
    std::vector<std::string> words = {model, "--input", "x=x.npy", "--output", "y=y.npy"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const Array y = read_npy("y.npy");
    uint16_t value = 0;
    std::memcpy(&value, y.data.data(), 2);
    return value;
  };
  for (const char* model : {"net.onnx", "net.popef"}) {
    const Lines faithful = {"--numerics", "faithful"};
    const Lines nan = {"--numerics", "faithful", "--overflow", "nan"};
    const Lines saturate = {"--numerics", "faithful", "--overflow", "saturate"};
    EXPECT_GT(bits(model, faithful) & 0x7fff, 0x7c00) << model;
    EXPECT_GT(bits(model, nan) & 0x7fff, 0x7c00) << model;
    EXPECT_EQ(bits(model, saturate), 0x7bff) << model;  // 65504
    const Ran ran = run({model, "--random", "--overflow", "saturate"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("--overflow needs --numerics faithful"), std::string::npos) << ran.err;
    EXPECT_EQ(run({model, "--random", "--overflow", "nan"}).code, 0);
  }
  EXPECT_EQ(bits("net.popef", {}), 0x7c00);  // infinite, as IEEE 754 defines
}

TEST_F(Run, UnknownOutputsAreRefusedBeforeAnythingIsWritten) {
  const Ran ran = run({"net.onnx", "--random", "--output", "y=y.npy", "z=z.npy"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("'z'"), std::string::npos) << ran.err;
  EXPECT_FALSE(std::filesystem::exists("y.npy"));
}

TEST_F(Run, ModelAtSeveralShapesTakesEachSize) {
  onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[N,3]
  %y : f32[N,3] = Relu(%x)
  output %y
})");
  popef("net.popef", "net.onnx", {{"input_shape", "x=1,3/4,3"}});
  EXPECT_EQ(lines(run({"net.popef", "--input", "x=x.npy", "--output", "y=y.npy"})),
            (Lines{"; 1 run, ", "output y: f32[4,3], of which [2,3] is real", "wrote y.npy"}));
  EXPECT_EQ(floats("y.npy"), (std::vector<float>{0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(lines(run({"net.popef", "--random"})), (Lines{"; 1 run, ", "output y: f32[4,3]"}));
  EXPECT_EQ(run({"net.popef"}).code, 1);
}

TEST_F(Run, ReportsInputsThatWereFolded) {
  onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[2,3]
  input %s : s64[2]
  %y : f32[*] = Reshape(%x, %s)
  output %y
})");
  const std::vector<int64_t> shape = {3, 2};
  const auto bytes = std::as_bytes(std::span(shape));
  write_npy("s.npy", {POPRT_DTYPE_S64, {2}, {bytes.begin(), bytes.end()}, {}});
  EXPECT_EQ(lines(run({"net.onnx", "--input", "x=x.npy", "s=s.npy"})),
            (Lines{"; 1 run, ", "compiled with the values of: s", "output y: f32[3,2]"}));
  EXPECT_EQ(run({"net.onnx", "--input", "x=x.npy", "s=s.npy", "--json"}).json()["folded_inputs"],
            nlohmann::json::array({"s"}));
}

// The model appends "!" to each of the four texts in a.
TEST_F(Run, TextIsPrintedAndWritten) {
  const std::string join = POPRT_TEST_DATA "/cli/join.onnx";
  write_npy("a.npy", {POPRT_DTYPE_STRING, {4}, {}, {"one", "", "zw\u00f6lf", "\"x\""}});
  EXPECT_EQ(lines(run({join, "--input", "a=a.npy", "--output", "t=t.npy"})),
            (Lines{"output t: string[4]", "  \"one!\"", "  \"!\"", "  \"zw\u00f6lf!\"",
                   "  \"\\\"x\\\"!\"", "compiled with the values of: a", "wrote t.npy"}));
  EXPECT_EQ(read_npy("t.npy").strings,
            (std::vector<std::string>{"one!", "!", "zw\u00f6lf!", "\"x\"!"}));
  const nlohmann::json json = run({join, "--input", "a=a.npy", "--json"}).json();
  EXPECT_EQ(json["outputs"],
            nlohmann::json::array({{{"name", "t"}, {"dtype", "string"}, {"shape", {4}}}}));
  EXPECT_EQ(json["texts"][0]["values"][0], "one!");
  EXPECT_EQ(json["latency_ms"].size(), 0);
  const Ran ran = run({join, "--random", "--output", "t=u.npy", "nope=n.npy"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err, "poprt_exec run: the model has no output 'nope'\n");
  EXPECT_FALSE(std::filesystem::exists("u.npy"));
}

// An input that has data in the program needs no other data.
TEST_F(Run, InputsThatHaveDataNeedNotBeGiven) {
  onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[1,2]
  const %w : f32[1,2] = [1.0, 2.0]
  %y : f32[1,2] = Mul(%x, %w)
  output %y
})");
  popef("net.popef", "net.onnx", {{"compiler_options", "constant_weights=False"}});
  npy("x.npy", {1, 2}, {3, 4});
  npy("w.npy", {1, 2}, {5, 6});
  const auto result = [&](const std::vector<std::string>& inputs) {
    std::vector<std::string> words = {"net.popef", "--output", "y=y.npy", "--input"};
    words.insert(words.end(), inputs.begin(), inputs.end());
    EXPECT_EQ(run(words).code, 0);
    return floats("y.npy");
  };
  EXPECT_EQ(result({"x=x.npy"}), (std::vector<float>{3, 8}));
  const Ran given = run({"net.popef", "--input", "x=x.npy", "w=w.npy"});
  EXPECT_EQ(given.code, 1);
  EXPECT_NE(given.err.find("input 'w' is frozen or comes with the model"), std::string::npos)
      << given.err;
}

}  // namespace
}  // namespace poprt::cli::test
