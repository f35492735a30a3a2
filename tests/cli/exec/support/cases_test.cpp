#include "exec/support/cases.h"

#include <fmt/ranges.h>

#include "cli/command_line.h"

namespace poprt::cli {
namespace {

Executable compiled_file(const std::string& path, const std::vector<std::string>& shapes = {}) {
  CompileSettings settings;
  settings.input_shape = shapes;
  return load_model(path, settings);
}

Executable compiled(const std::string& model, const std::vector<std::string>& shapes = {}) {
  return compiled_file(sample_model(model), shapes);
}

// "NAME: INPUTS -> OUTPUTS" of each, with places and shapes.
std::string message_for(const Executable& executable, Cases::Kind kind) {
  const Runner runner = make_runner(executable.get(), {.threads = 1});
  const Cases cases = cases_of(executable.get(), runner.get());
  EXPECT_EQ(cases.kind, kind);
  std::string text;
  for (const Case& c : cases.list) {
    EXPECT_EQ(c.positions, poprt_runner_input_count(runner.get()));
    text += c.name + ":";
    for (const auto* list : {&c.inputs, &c.outputs}) {
      for (const Case::Tensor& t : *list)
        text += fmt::format(" {} {} [{}] {}", t.index, poprt_anchor_name(t.anchor),
                            fmt::join(t.shape, ","), t.bytes());
      if (list == &c.inputs) text += " ->";
    }
    text += "\n";
  }
  return text;
}

TEST(Cases, NamesOfFusedModels) {
  EXPECT_EQ(graph_of("graph0/x"), "graph0/");
  EXPECT_EQ(graph_of("graph12/x/y"), "graph12/");
  EXPECT_EQ(graph_of("graph3/"), "graph3/");
  for (const char* name : {"x", "graph/x", "graph1", "graph1x/y", "grapf1/x", "graph:/x",
                           "graph1.2/x", "", "1graph1/x"})
    EXPECT_EQ(graph_of(name), "") << name;
}

TEST(Cases, AModelIsOne) {
  EXPECT_EQ(message_for(compiled("gather"), Cases::one),
            ": 0 table [3,2] 24 1 ids [2] 16 -> 0 rows [2,2] 16\n");
}

TEST(Cases, AModelAtSeveralShapesIsSeveral) {
  EXPECT_EQ(message_for(compiled("dynamic", {"x=1,3", "x=4,3"}), Cases::shapes),
            "x [1,3]: 0 x [1,3] 12 -> 0 y [1,3] 12\nx [4,3]: 0 x [4,3] 48 -> 0 y [4,3] 48\n");
}

TEST(Cases, NamesContainTheVaryingDimensions) {
  const TemporaryFolder folder;
  const std::string path = write_model(folder, "m.onnx", R"(
  input %a : f32[N]
  input %c : f32[2]
  input %b : f32[N]
  %y : f32[N] = Add(%a, %b) "add"
  %z : f32[2] = Neg(%c) "neg"
  output %z
  output %y
)");
  EXPECT_EQ(message_for(compiled_file(path, {"a=1", "b=1", "a=4", "b=4"}), Cases::shapes),
            "a [1], b [1]: 0 a [1] 4 1 c [2] 8 2 b [1] 4 -> 0 z [2] 8 1 y [1] 4\n"
            "a [4], b [4]: 0 a [4] 16 1 c [2] 8 2 b [4] 16 -> 0 z [2] 8 1 y [4] 16\n");
}

TEST(Cases, TypesThatPopefLacksAreNoObstacle) {
  EXPECT_TRUE(message_for(compiled("bits"), Cases::one).starts_with(": 0 b [3] 6 1 i [5] 3 -> "));
}

TEST(Cases, AnInputWithTheNameOfACaseSelectsNoCase) {
  const TemporaryFolder folder;
  for (const char* name : {"index", "poprt.bucket"})
    EXPECT_EQ(
        message_for(compiled_file(write_model(
                        folder, "m.onnx",
                        fmt::format("  input %\"{0}\" : u32[1]\n  %y : u32[1] = Identity(%\"{0}\") "
                                    "\"i\"\n  output %y\n",
                                    name))),
                    Cases::one),
        fmt::format(": 0 {} [1] 4 -> 0 y [1] 4\n", name));
}

TEST(Cases, FusedModelsAreSeveral) {
  const Executable relu = compiled("relu"), gather = compiled("gather");
  const poprt_executable* parts[] = {relu.get(), gather.get()};
  poprt_executable* made = nullptr;
  check(poprt_executable_fuse(parts, 2, &made));
  EXPECT_EQ(message_for(Executable(made), Cases::graphs),
            "graph0: 0 graph0/x [2,3] 24 -> 0 graph0/y [2,3] 24\n"
            "graph1: 1 graph1/table [3,2] 24 2 graph1/ids [2] 16 -> 1 graph1/rows [2,2] 16\n");
}

}  // namespace
}  // namespace poprt::cli
