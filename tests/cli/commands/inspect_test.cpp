#include "cli/commands/command_test.h"

namespace poprt::cli::test {
namespace {

constexpr const char* kModel = R"(graph "g" opset {"": 17} {
  input %x : f32[1,2]
  const %w : f32[2,2] = [1.0, 2.0, 3.0, 4.0]
  %a : f32[1,2] = MatMul(%x, %w) "first"
  %y : f32[1,2] = Relu(%a) "second"
  output %y
}
)";

class Inspect : public CommandTest {
 protected:
  Inspect() { write("g.ir", kModel); }
  static Ran inspect(std::vector<std::string> words) {
    words.insert(words.begin(), "inspect");
    return run_command(add_inspect, words);
  }
  static nlohmann::json tables(std::vector<std::string> words, int code = 0) {
    words.push_back("--json");
    const Ran ran = inspect(words);
    EXPECT_EQ(ran.code, code) << ran.err;
    return ran.out.empty() ? nlohmann::json() : ran.json();
  }
  static std::string refused(const std::vector<std::string>& words, int code = 2) {
    const Ran ran = inspect(words);
    EXPECT_EQ(ran.code, code) << ran.out;
    EXPECT_EQ(ran.out, "");
    return ran.err;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
  }
};

TEST_F(Inspect, TextAndJsonOfTheSameTable) {
  const Ran text = inspect({"g.ir"});
  EXPECT_TRUE(text.out.starts_with("summary\n")) << text.err;
  EXPECT_EQ(inspect({"g.ir", "--text"}).out, text.out);
  EXPECT_EQ(inspect({"g.ir", "--view", "summary"}).out, text.out);
  EXPECT_TRUE(tables({"g.ir"}).contains("summary"));
}

TEST_F(Inspect, RowsAreFilteredAndCounted) {
  EXPECT_EQ(tables({"g.ir", "--view", "graph"})["graph"].size(), 4);
  EXPECT_EQ(tables({"g.ir", "--view", "graph", "--most", "1"})["graph"].size(), 1);
  EXPECT_EQ(tables({"g.ir", "--view", "graph", "--filter", "op:Relu"})["graph"].size(), 1);
  EXPECT_TRUE(tables({"g.ir", "--node", "first"}).contains("statistics of w"));
  EXPECT_TRUE(has(refused({"g.ir", "--node", "nobody"}, 1), "nobody"));
  EXPECT_TRUE(tables({"g.ir", "--view", "passes", "--step", "0"}).contains("changes of model"));
  EXPECT_FALSE(tables({"g.ir", "--view", "passes", "--step", "1"}).contains("changes of model"));
  EXPECT_TRUE(tables({"g.ir", "--view", "passes"}).contains("passes"));
}

TEST_F(Inspect, RunOptionsAreForTheRunView) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--labels", "g.ir"},
                                             {"--output", "y=y.npy"},
                                             {"--reference", "y=y.npy"},
                                             {"--second", "g.ir"},
                                             {"--branch", "1"},
                                             {"--bench", "0.01"}}) {
    std::vector<std::string> words = {"g.ir"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_TRUE(has(refused(words), "are for --view run")) << more[0];
  }
  EXPECT_TRUE(has(refused({"g.ir", "--input", "x=zeros"}),
                  "--input is for --view run, and for --profile without --compare"));
  EXPECT_TRUE(has(refused({}), "give a FILE, or --view queues for running processes"));
  EXPECT_TRUE(has(refused({"g.ir", "--record", "r"}), "--record is for running processes"));
  EXPECT_TRUE(has(refused({"g.ir", "--executable", "g"}), "--executable is for .popef files"));
  EXPECT_TRUE(has(refused({"g.ir", "--view", "run", "--input", "x=zeros", "x=ones"}),
                  "--input: input 'x' is given twice"));
}

// x = [1, 2] gives [7, 10].
TEST_F(Inspect, OutputsOfARun) {
  npy("x.npy", {1, 2}, {1, 2});
  const std::vector<std::string> run = {"g.ir", "--view", "run", "--input", "x=x.npy"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = run;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const nlohmann::json found = tables(with({"--output", "y=y.npy"}));
  EXPECT_EQ(floats("y.npy"), (std::vector<float>{7, 10}));
  EXPECT_EQ(found["top of y"][0]["value"], 10);
  EXPECT_EQ(found["top of y"][0]["index"], 1);
  EXPECT_EQ(tables(with({"--top", "1"}))["top of y"].size(), 1);
  EXPECT_TRUE(
      has(refused(with({"--output", "z=z.npy"}), 1), "the model has no output 'z'; it has: y"));
  EXPECT_TRUE(has(refused(with({"--reference", "z=y.npy"}), 1), "the model has no output 'z'"));
  write("names.txt", "one\ntwo\n");
  EXPECT_EQ(tables(with({"--labels", "names.txt"}))["top of y"][0]["class"], "two");
  EXPECT_FALSE(found["top of y"][0].contains("class"));
  EXPECT_FALSE(found.contains("differences"));
  EXPECT_FALSE(found.contains("benchmark"));
}

TEST_F(Inspect, RunsAreCompared) {
  npy("x.npy", {1, 2}, {1, 2});
  npy("y.npy", {1, 2}, {7, 10.5});
  std::string other = kModel;
  other.replace(other.find("4.0]"), 4, "4.5]");  // [7, 11]
  write("h.ir", other);
  const auto differ = [&](const std::vector<std::string>& more, int code) {
    std::vector<std::string> words = {"g.ir", "--view", "run", "--input", "x=x.npy"};
    words.insert(words.end(), more.begin(), more.end());
    return tables(words, code)["differences"];
  };
  EXPECT_EQ(differ({"--reference", "y=y.npy"}, 1).size(), 1);
  const nlohmann::json rows =
      tables({"g.ir", "--view", "run", "--input", "x=x.npy", "--reference", "y=y.npy"},
             1)["differing elements of y"];
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0]["left"], 10);
  EXPECT_EQ(rows[0]["right"], 10.5);
  EXPECT_EQ(differ({"--reference", "y=y.npy", "--atol", "0.5", "--rtol", "0"}, 0).size(), 1);
  EXPECT_EQ(differ({"--reference", "y=y.npy", "--atol", "0", "--rtol", "0.05"}, 0).size(), 1);
  EXPECT_EQ(differ({"--second", "h.ir"}, 1)[0]["agrees"], false);
  EXPECT_EQ(differ({"--second", "g.ir"}, 0)[0]["agrees"], true);
  // One that agrees and one that does not.
  npy("z.npy", {1, 2}, {7, 10});
  const nlohmann::json both = differ({"--reference", "y=z.npy", "y=y.npy"}, 1);
  EXPECT_EQ(both[0]["agrees"], true);
  EXPECT_EQ(both[1]["agrees"], false);
  EXPECT_EQ(differ({"--second", "g.ir", "--reference", "y=y.npy"}, 1).size(), 2);
}

// The elements that differ most: twenty, or the requested number.
TEST_F(Inspect, SomeElementsThatDifferAreShown) {
  write("g.ir", R"(graph "g" opset {"": 17} {
  input %x : f32[30]
  %y : f32[30] = Relu(%x)
  output %y
}
)");
  npy("y.npy", {30}, std::vector<float>(30, -1));
  const auto rows = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"g.ir", "--view", "run", "--reference", "y=y.npy"};
    words.insert(words.end(), more.begin(), more.end());
    size_t most = 0;
    const nlohmann::json found = tables(words, 1);
    for (const auto& [name, table] : found.items())
      if (name != "run" && name != "top of y" && name != "values")
        most = std::max(most, table.size());
    return most;
  };
  EXPECT_EQ(rows({}), 20);
  EXPECT_EQ(rows({"--most", "3"}), 3);
  EXPECT_EQ(rows({"--most", "30"}), 30);
}

TEST_F(Inspect, RunsAreMeasured) {
  const nlohmann::json rows = tables({"g.ir", "--view", "run", "--bench", "0.02", "--clients", "2",
                                      "--in-flight", "3", "--threads", "1"})["benchmark"];
  std::map<std::string, nlohmann::json> found;
  for (const nlohmann::json& row : rows) found[row["property"]] = row["value"];
  EXPECT_GT(found["requests"], 0);
  EXPECT_EQ(found["clients"], 2);
}

TEST_F(Inspect, SeedsNameRandomInputs) {
  const std::vector<std::string> words = {"g.ir", "--view", "run"};
  const nlohmann::json first = tables({"g.ir", "--view", "run"})["values"];
  EXPECT_EQ(tables({"g.ir", "--view", "run", "--seed", "1"})["values"], first);
  EXPECT_NE(tables({"g.ir", "--view", "run", "--seed", "2"})["values"], first);
}

// Shapes that a model leaves open, and the messages about the assumed ones.
TEST_F(Inspect, ModelsAreCompiledForShapes) {
  write("g.ir", R"(graph "g" opset {"": 17} {
  input %x : f32[N,2]
  %y : f32[N,2] = Relu(%x) "second"
  output %y
}
)");
  EXPECT_TRUE(inspect({"g.ir", "--view", "program"}).out.starts_with("compiled for x=1×2\n"));
  EXPECT_TRUE(inspect({"g.ir", "--view", "program", "--input_shape", "x=3,2"})
                  .out.starts_with("program\n"));
  EXPECT_EQ(tables({"g.ir", "--view", "run"})["values"][0]["type"], "f32 1×2");
  EXPECT_EQ(tables({"g.ir", "--view", "run", "--input_shape", "x=3,2"})["values"][0]["type"],
            "f32 3×2");
  EXPECT_FALSE(has(inspect({"g.ir", "--view", "run"}).out, "compiled for"));
  for (const char* view : {"passes", "program", "memory", "parts", "all"})
    EXPECT_EQ(inspect({"g.ir", "--view", view, "--input_shape", "x=3,2"}).code, 0) << view;
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--view", "summary"},
                                             {"--view", "all", "--svg"},
                                             {"--view", "all", "--compare", "g.ir"}}) {
    std::vector<std::string> words = {"g.ir", "--input_shape", "x=3,2"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_TRUE(has(refused(words), "--input_shape is for compiled views")) << more.back();
  }
}

// A model that cannot be compiled is shown without its program.
TEST_F(Inspect, ModelsThatDoNotCompile) {
  write("g.ir", R"(graph "g" opset {"": 17, "odd": 1} {
  input %x : f32[2]
  %y : f32[2] = odd.Strange(%x) "strange"
  output %y
}
)");
  for (const char* view : {"all", "passes"})
    EXPECT_EQ(inspect({"g.ir", "--view", view}).code, 0) << view;
  for (const char* view : {"program", "memory", "parts", "run"})
    EXPECT_TRUE(has(refused({"g.ir", "--view", view}, 1), "Strange")) << view;
  EXPECT_TRUE(has(refused({"g.ir", "--profile", "0.01"}, 1), "Strange"));
}

TEST_F(Inspect, ProgramsAreMeasured) {
  EXPECT_TRUE(
      tables({"g.ir", "--view", "program", "--profile", "0.01"})["program"][0].contains("ns"));
  EXPECT_FALSE(tables({"g.ir", "--view", "program"})["program"][0].contains("ns"));
  popef("g.popef", onnx("g.onnx", kModel));
  EXPECT_TRUE(
      tables({"g.popef", "--view", "program", "--profile", "0.01"})["program"][0].contains("ns"));
}

TEST_F(Inspect, ExecutablesHaveNames) {
  popef("one.popef", onnx("one.onnx", kModel));
  popef("two.popef", onnx("two.onnx", kModel));
  write("both.popef", file_text("one.popef") + file_text("two.popef"));
  for (const char* name : {"one", "two"})
    EXPECT_EQ(inspect({"both.popef", "--view", "run", "--executable", name}).code, 0) << name;
  const auto timed = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"both.popef", "--view", "program", "--profile", "0.01"});
    const nlohmann::json found = tables(more);
    return std::pair(found["program of one"][0].contains("ns"),
                     found["program of two"][0].contains("ns"));
  };
  EXPECT_EQ(timed({}), std::pair(true, false));
  EXPECT_EQ(timed({"--executable", "one"}), std::pair(true, false));
  EXPECT_EQ(timed({"--executable", "two"}), std::pair(false, true));
  EXPECT_TRUE(has(refused({"both.popef", "--executable", "three"}, 1),
                  "both.popef has no executable 'three'; it has: one, two"));
}

TEST_F(Inspect, GraphsAreDrawn) {
  const Ran ran = inspect({"g.ir", "--svg"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(ran.out.starts_with("<svg")) << ran.err;
  EXPECT_TRUE(has(ran.out, "MatMul"));
  popef("g.popef", onnx("g.onnx", kModel));
  EXPECT_TRUE(has(refused({"g.popef", "--svg"}), "--svg draws graphs"));
  EXPECT_TRUE(has(refused({"g.ir", "--svg", "--view", "program"}), "leave out --view"));
}

TEST_F(Inspect, FilesAreCompared) {
  std::string other = kModel;
  other.replace(other.find("Relu"), 4, "Tanh");
  write("h.ir", other);
  EXPECT_EQ(tables({"g.ir", "--compare", "g.ir"})["diff"].size(), 0);
  const nlohmann::json plain = tables({"g.ir", "--compare", "h.ir"})["diff"];
  ASSERT_EQ(plain.size(), 1);
  EXPECT_EQ(plain[0]["name"], "second");
  EXPECT_EQ(plain[0]["left"], "Relu(a) : f32[1,2]");
  EXPECT_EQ(plain[0]["right"], "Tanh(a) : f32[1,2]");
  const nlohmann::json timed = tables({"g.ir", "--compare", "h.ir", "--profile", "0.01"})["diff"];
  EXPECT_GT(timed.size(), 1);
  EXPECT_EQ(std::ranges::count(timed, plain[0]), 1);
  EXPECT_TRUE(has(refused({"g.ir", "--compare", "none.ir"}, 1), "none.ir"));
}

TEST_F(Inspect, WithoutPublishersTheTableIsEmpty) {
  std::filesystem::create_directory("empty");
  EXPECT_EQ(tables({"--view", "queues", "--folder", "empty", "--seconds", "0.1", "--record",
                    "r.telemetry"})["queues"]
                .size(),
            0);
  EXPECT_TRUE(std::filesystem::exists("r.telemetry"));
}

}  // namespace
}  // namespace poprt::cli::test
