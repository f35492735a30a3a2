#include "cli/commands/command_test.h"
#include "compiler/fuse_graphs.h"
#include "ir/placement.h"

namespace poprt::cli::test {
namespace {

// A model of N rows.
constexpr const char* kRows = R"(graph "g" opset {"": 13} {
  input %x : f32[N,3]
  const %c : f32[1,3] = [1.0, 2.0, 3.0]
  %a : f32[N,3] = Identity(%x) "one"
  %b : f32[N,3] = Identity(%a) "two"
  %d : f32[N,3] = Add(%b, %c) "three"
  %y : f32[N,3] = Relu(%d) "four"
  output %y
}
)";

// The same model with two rows.
std::string two_rows() {
  std::string text = kRows;
  for (size_t at; (at = text.find("[N,")) != text.npos;) text[at + 1] = '2';
  return text;
}

class Opt : public CommandTest {
 protected:
  Opt() { write("g.ir", two_rows()); }
  static Ran opt(std::vector<std::string> words) {
    words.insert(words.begin(), {"opt", "g.ir"});
    return run_command(add_opt, words);
  }
  static std::string text(const std::vector<std::string>& words) {
    const Ran ran = opt(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    return ran.out;
  }
  static size_t count(const std::string& text, const std::string& word) {
    size_t found = 0;
    for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) found++;
    return found;
  }
  static size_t identities(const std::vector<std::string>& words) {
    return count(text(words), "Identity(");
  }
};

TEST_F(Opt, PrintsTheGraphUnchanged) { EXPECT_EQ(text({}), two_rows()); }

TEST_F(Opt, OptionsOfAConversionNeedOne) {
  const std::vector<std::vector<std::string>> options = {
      {"--input_shape", "x=2,3"}, {"--batch_size", "3"}, {"--skip_passes", "eliminate_deadend"}};
  for (const auto& words : options) {
    const Ran ran = opt(words);
    EXPECT_NE(ran.code, 0) << words[0];
    EXPECT_NE(ran.err.find(words[0] + " has an effect with --stage convert"), std::string::npos)
        << ran.err;
  }
}

TEST_F(Opt, OnnxIsRead) {
  onnx("g.onnx", kRows);
  const Ran ran = run_command(add_opt, {"opt", "g.onnx"});
  EXPECT_EQ(count(ran.out, "Identity("), 2) << ran.err;
}

// A node has an attribute that its operator does not have.
TEST_F(Opt, StrictTurnsWarningsIntoErrors) {
  std::string odd = two_rows();
  odd.replace(odd.find("Relu(%d)"), 8, "Relu(%d) {odd = 1}");
  write("g.ir", odd);
  EXPECT_EQ(opt({"--stage", "convert"}).code, 0);
  EXPECT_EQ(opt({"--stage", "convert", "--strict"}).code, 1);
  without_import("odd.onnx");
  EXPECT_EQ(run_command(add_opt, {"opt", "odd.onnx"}).code, 0);
  EXPECT_EQ(run_command(add_opt, {"opt", "odd.onnx", "--strict"}).code, 1);
}

TEST_F(Opt, PassesRunWithoutOrAfterTheDefaultPasses) {
  EXPECT_EQ(identities({"--passes", "eliminate_identity"}), 0);
  EXPECT_EQ(identities({"--passes", "sort_graph"}), 2);
  EXPECT_EQ(identities({"--stage", "none"}), 2);
  EXPECT_EQ(identities({"--stage", "convert"}), 0);
  EXPECT_EQ(identities({"--stage", "convert", "--skip_passes", "eliminate_identity"}), 2);
  EXPECT_EQ(identities({"--stage", "convert", "--skip_passes", "eliminate_identity", "--passes",
                        "eliminate_identity"}),
            0);
}

TEST_F(Opt, ShapesAreFixed) {
  write("g.ir", kRows);
  const std::string fixed = text({"--stage", "convert", "--input_shape", "x=4,3"});
  EXPECT_NE(fixed.find("input %x : f32[N=4,3]"), std::string::npos) << fixed;
  EXPECT_NE(fixed.find("%y : f32[4,3]"), std::string::npos) << fixed;
  const std::string batch = text({"--stage", "convert", "--batch_size", "5", "--batch_axis", "0"});
  EXPECT_NE(batch.find("input %x : f32[N=5,3]"), std::string::npos) << batch;
}

TEST_F(Opt, RewritesAreLimited) {
  const std::vector<std::string> passes = {"--passes", "eliminate_identity", "--rewrite_limit"};
  const std::vector<std::string> stage = {"--stage", "convert", "--rewrite_limit"};
  for (std::vector<std::string> words : {passes, stage}) {
    words.push_back("0");
    EXPECT_EQ(identities(words), 2);
    words.back() = "1";
    EXPECT_EQ(identities(words), 1);
    words.back() = "2";
    EXPECT_EQ(identities(words), 0);
  }
}

TEST_F(Opt, StopsAfterAPass) {
  EXPECT_EQ(identities({"--passes", "sort_graph,eliminate_identity", "--stop_after", "sort_graph"}),
            2);
  EXPECT_EQ(identities({"--stage", "convert", "--stop_after", "shape_inference"}), 2);
  EXPECT_EQ(identities({"--stage", "convert", "--stop_after", "eliminate_identity"}), 0);
}

// Passes of the compiler, such as the fusion of an epilogue, do not run in the converter.
TEST_F(Opt, StageCompileRunsThePassesOfTheCompiler) {
  const std::vector<std::string> shape = {"--stage"};
  const auto staged = [&](std::vector<std::string> more) {
    more.insert(more.begin(), shape.begin(), shape.end());
    return text(more);
  };
  const std::string converted = staged({"convert"}), compiled = staged({"compile"});
  EXPECT_NE(converted, compiled);
  const std::string dumped = staged({"compile", "--dump_each"});
  EXPECT_TRUE(dumped.ends_with(compiled + "\n"));
  EXPECT_GT(count(dumped, "# after "), count(staged({"convert", "--dump_each"}), "# after "));
  // stop_after accepts a pass that only the compiler has.
  const auto passes = [&](const std::string& dump) {
    std::vector<std::string> names;
    for (size_t at = dump.find("# after "); at != dump.npos; at = dump.find("# after ", at + 1))
      names.push_back(dump.substr(at + 8, dump.find('\n', at) - at - 8));
    return names;
  };
  const std::vector<std::string> before = passes(staged({"convert", "--dump_each"}));
  std::vector<std::string> wanted;
  for (const std::string& name : passes(dumped)) {
    wanted.push_back(name);
    if (wanted.size() > before.size() + 3 && std::ranges::count(before, name) == 0) break;
  }
  EXPECT_EQ(passes(staged({"compile", "--stop_after", wanted.back(), "--dump_each"})), wanted);
  EXPECT_LT(wanted.size(), passes(dumped).size());
  EXPECT_EQ(staged({"compile", "--rewrite_limit", "0"}),
            staged({"convert", "--rewrite_limit", "0"}));
}

// A model of several parts is printed as a graph for each part, and as one program.
TEST_F(Opt, AModelAtSeveralShapesHasAGraphForEach) {
  write("g.ir", kRows);
  for (const std::vector<std::string>& shapes :
       std::vector<std::vector<std::string>>{{"x=5,3/2,3"}, {"x=5,3", "x=2,3"}}) {
    std::vector<std::string> words = {"--input_shape"};
    words.insert(words.end(), shapes.begin(), shapes.end());
    words.insert(words.end(), {"--stage", "compile"});
    const std::string compiled = text(words);
    EXPECT_TRUE(compiled.starts_with("# shape 1 of 2\ngraph \"g\"")) << compiled;
    EXPECT_EQ(count(compiled, "# shape 2 of 2\ngraph \"g\""), 1);
    EXPECT_EQ(count(compiled, "input %x : f32[N=2,3]"), 1);
    EXPECT_EQ(count(compiled, "input %x : f32[N=5,3]"), 1);
    words.back() = "convert";
    EXPECT_EQ(count(text(words), "input %x : f32[N=5,3]"), 1);
    words.pop_back();
    words.back() = "--program";
    const std::string program = text(words);
    EXPECT_EQ(count(program, "# shape"), 0);
    EXPECT_EQ(count(program, "f32[2,3]") > 0 && count(program, "f32[5,3]") > 0, true) << program;
  }
}

TEST_F(Opt, AFusedModelHasAGraphForEachModel) {
  std::vector<std::unique_ptr<ir::Graph>> graphs;
  for (int i = 0; i < 2; i++) graphs.push_back(ir::parse_text(two_rows()));
  // The second graph is divided over two IPUs.
  int64_t ipu = 0;
  for (ir::Node* n : graphs[1]->nodes()) ir::set_seat(*n, {ipu++ / 3, -1});
  onnx::export_file(*compiler::fuse_graphs(std::move(graphs), {"a", "b"}), "fused.onnx");
  const auto run = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"opt", "fused.onnx"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_command(add_opt, words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
    return ran.out;
  };
  const std::string compiled = run({"--stage", "compile"});
  const size_t second = compiled.find("# graph1 b\n");
  ASSERT_NE(second, std::string::npos) << compiled;
  EXPECT_TRUE(compiled.starts_with("# graph0 a\n"));
  EXPECT_EQ(count(compiled.substr(0, second), "graph1/"), 0);
  EXPECT_EQ(count(compiled.substr(second), "graph0/"), 0);
  EXPECT_GT(count(run({"--stage", "compile", "--dump_each"}), "# after "), 0);
  const std::string program = run({"--program"});
  EXPECT_NE(program.find("graph0/x"), std::string::npos);
  EXPECT_NE(program.find("graph1/x"), std::string::npos);
}

TEST_F(Opt, EachPassIsDumpedInsteadOfTheEnd) {
  const std::string dumped =
      text({"--passes", "eliminate_identity,sort_graph", "--dump_each", "--rewrite_limit", "1"});
  EXPECT_TRUE(dumped.starts_with("# after eliminate_identity\ngraph \"g\"")) << dumped;
  EXPECT_EQ(count(dumped, "# after sort_graph\ngraph \"g\""), 1);
  EXPECT_EQ(count(dumped, "graph \"g\""), 2);
  EXPECT_EQ(count(dumped, "Identity("), 2);
}

TEST_F(Opt, TimingReportsRewritesAndNodesOfEachPass) {
  const Ran ran = opt({"--passes", "eliminate_identity", "--timing"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(ran.err.starts_with("eliminate_identity                    2 rewrites ")) << ran.err;
  EXPECT_TRUE(ran.err.ends_with(" ms  4 -> 2 nodes\n")) << ran.err;
  EXPECT_EQ(count(ran.out, "graph \"g\""), 1);
}

// Types are inferred for passes that are selected by --passes, but not if no pass runs.
TEST_F(Opt, PassesSeeTypes) {
  std::string bare = kRows;
  for (const char* name : {"%a", "%b", "%d", "%y"})
    bare.replace(bare.find(name + std::string(" : f32[N,3] =")), 16, name + std::string(" ="));
  write("g.ir", bare);
  EXPECT_EQ(count(text({}), "%b : f32[N,3] ="), 0);
  EXPECT_EQ(count(text({"--passes", "sort_graph"}), "%b : f32[N,3] ="), 1);
}

TEST_F(Opt, EightElementsAreShownWhenOthersAreLeftOut) {
  write("g.ir", R"(graph "g" opset {"": 13} {
  const %c : f32[8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
  const %d : f32[9] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
  output %c
  output %d
}
)");
  EXPECT_EQ(count(text({}), "8.0, 9.0]"), 1);
  const std::string elided = text({"--elide"});
  EXPECT_EQ(count(elided, "7.0, 8.0]"), 1) << elided;
  EXPECT_EQ(count(elided, "%d : f32[9] = <elided>"), 1) << elided;
}

TEST_F(Opt, ProgramIsPrintedInsteadOfTheGraph) {
  const std::string program = text({"--program"});
  EXPECT_NE(program.find("arena"), std::string::npos);
  EXPECT_EQ(count(program, "graph \"g\""), 0);
}

TEST_F(Opt, ArgumentsOfPasses) {
  write("g.ir", kRows);
  const std::string named = "const_batch_size.const_batch_size=5";
  EXPECT_NE(text({"--passes", "const_batch_size", "--pass_args", named}).find("N=5"),
            std::string::npos);
  // Arguments of several passes, with line feeds.
  const std::string cut = text({"--passes", "manual_sharding,const_batch_size", "--pass_args",
                                named, R"(manual_sharding.sharding_info=one=0\nthree=1)",
                                R"(manual_sharding.pipelining_info=one=0\nthree=1)"});
  const auto line = [&](const char* op) {
    const size_t at = cut.find(op);
    return cut.substr(at, cut.find('\n', at) - at);
  };
  EXPECT_NE(line("Identity(%x)"), line("Identity(%a)"));
  EXPECT_NE(line("Add("), line("Relu("));
  const auto refused = [&](const std::vector<std::string>& words) {
    const Ran ran = opt(words);
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  for (const char* word : {"const_batch_size", "const_batch_size.size", "const_batch_size=a.b"})
    EXPECT_NE(refused({"--passes", "const_batch_size", "--pass_args", word})
                  .find("expected PASS.PARAMETER=TEXT"),
              std::string::npos)
        << word;
  EXPECT_NE(refused({"--passes", "const_batch_size", "--pass_args", named, named})
                .find("--pass_args: const_batch_size.const_batch_size is given twice"),
            std::string::npos);
  EXPECT_NE(refused({"--passes", "sort_graph", "--pass_args", named})
                .find("--passes does not contain const_batch_size"),
            std::string::npos);
  EXPECT_NE(refused({"--pass_args", named}).find("--passes does not contain"), std::string::npos);
}

// Names of passes are checked before a file is read.
TEST_F(Opt, UnknownPassesAreRefused) {
  for (const char* option : {"--passes", "--skip_passes", "--stop_after"}) {
    const Ran ran = run_command(add_opt, {"opt", "nowhere.ir", option, "no_such_pass"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("'no_such_pass'"), std::string::npos) << ran.err;
  }
  const Ran ran = run_command(
      add_opt, {"opt", "g.ir", "--passes", "sort_graph", "--pass_args", "no_such_pass.a=b"});
  EXPECT_NE(ran.err.find("'no_such_pass'"), std::string::npos) << ran.err;
}

TEST_F(Opt, ErrorNamesTheDamagedFile) {
  write("bad.ir", "graph");
  const Ran ran = run_command(add_opt, {"opt", "bad.ir"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(ran.err.starts_with("poprt_exec opt: bad.ir: ")) << ran.err;
}

}  // namespace
}  // namespace poprt::cli::test
