#include "common/scripts.h"

#include <fmt/ranges.h>

#include <set>

#include "cli/stand_in.h"
#include "common/json.h"

namespace poprt::cli {
namespace {

using Words = std::vector<std::string>;

GivenOptions given(const std::vector<std::pair<std::string, Words>>& options) {
  GivenOptions made;
  for (const auto& [name, words] : options) made.add(*option_tables().find(name), words);
  return made;
}

const GivenOptions& one_script() {
  static const GivenOptions made = given({{"custom_pass_config", {"a.py"}}});
  return made;
}

// Python is called as `-c PROGRAM REQUEST ANSWER`.
StandIn answering(const std::string& json) {
  return StandIn("cp \"$3\" \"$here/request.json\"; echo '" + json + "' > \"$4\"");
}

TEST(Scripts, AreGivenByTwoOptions) {
  EXPECT_FALSE(has_scripts(given({{"passes", {"a"}}})));
  EXPECT_TRUE(has_scripts(one_script()));
  EXPECT_TRUE(has_scripts(given({{"custom_shape_inference", {"a.py"}}})));
  const StandIn python("exit 1");
  EXPECT_TRUE(passes_of_scripts(GivenOptions()).empty());
  EXPECT_EQ(python.calls(), "");
}

TEST(Scripts, RequestsThePassesOfScripts) {
  const StandIn python =
      answering(R"({"passes":[{"name":"p","summary":"does"},{"name":"q","summary":""}]})");
  const auto passes = passes_of_scripts(
      given({{"custom_shape_inference", {"s.py"}}, {"custom_pass_config", {"a.py,", "b.py"}}}));
  ASSERT_EQ(passes.size(), 2U);
  EXPECT_EQ(passes[0].name + passes[0].summary + passes[1].name, "pdoesq");
  const auto request = read_json(python.file("request.json"));
  EXPECT_EQ(to_text(request), R"({"logging_level":"WARNING","scripts":["a.py","b.py","s.py"]})");
}

TEST(Scripts, RequestsAConversionWithItsOptions) {
  const StandIn python = answering(R"({"passes":[]})");
  convert_with_scripts(given({{"custom_pass_config", {"a.py"}},
                              {"passes", {"p,q"}},
                              {"skip_passes", {"r"}},
                              {"output_dir", {"out"}},
                              {"logging_level", {"ERROR"}},
                              {"input_shape", {"x=1", "y=2"}}}),
                       "from.onnx", "to.onnx");
  const auto request = read_json(python.file("request.json"));
  EXPECT_EQ(to_text(request["options"]), R"({"input_shape":"x=1\ny=2","skip_passes":"r"})");
  EXPECT_EQ(to_text(request["passes"]), R"(["p","q"])");
  EXPECT_EQ(request["source"], "from.onnx");
  EXPECT_EQ(request["target"], "to.onnx");
  EXPECT_EQ(request["logging_level"], "ERROR");
}

TEST(Scripts, ReportsErrorsOfTheInterpreter) {
  const auto message_for = [](const std::string& answer) {
    const StandIn python = answering(answer);
    std::string message = message_of<Failure>([] { (void)passes_of_scripts(one_script()); });
    const std::string name = python.file("python");
    if (const size_t at = message.find(name); at != message.npos)
      message.replace(at, name.size(), "PYTHON");
    return message;
  };
  const std::string none =
      "--custom_pass_config: PYTHON has no package poprt: python3 -m pip install "
      "poprt-VERSION.whl, or set POPRT_PYTHON to an interpreter that has it";
  EXPECT_EQ(message_for(R"({"import":"No module","package":"poprt"})"), none);
  EXPECT_EQ(message_for(R"({"import":"No module","package":"poprt._scripts"})"), none);
  const std::string other = "--custom_pass_config: PYTHON cannot import poprt: why";
  EXPECT_EQ(message_for(R"({"import":"why","package":"numpy"})"), other);
  EXPECT_EQ(message_for(R"({"import":"why","package":"poprtx"})"), other);
  EXPECT_EQ(message_for(R"({"import":"why"})"), other);
  EXPECT_EQ(message_for(R"({"error":"why"})"), "--custom_pass_config: why");
  EXPECT_EQ(message_for(R"({"error":"why","usage":false})"), "--custom_pass_config: why");
  EXPECT_EQ(message_for("[]"), "--custom_pass_config: PYTHON ended early with code 0");
  EXPECT_EQ(message_for("{"), "--custom_pass_config: PYTHON ended early with code 0");
  const StandIn usage = answering(R"({"error":"why","usage":true})");
  EXPECT_EQ(message_of<Usage>([] { (void)passes_of_scripts(one_script()); }),
            "--custom_pass_config: why");
}

TEST(Scripts, TheOptionThatIsGivenIsToBlame) {
  const StandIn python("exit 4");
  const auto message_for = [](const GivenOptions& options) {
    return message_of<Failure>([&] { (void)passes_of_scripts(options); });
  };
  const auto shapes = given({{"custom_shape_inference", {"s.py"}}});
  EXPECT_EQ(message_for(shapes),
            "--custom_shape_inference: " + python.file("python") + " ended early with code 4");
  EXPECT_TRUE(
      message_for(given({{"custom_shape_inference", {"s.py"}}, {"custom_pass_config", {"a.py"}}}))
          .starts_with("--custom_pass_config: "));
}

TEST(Scripts, PassesOnlyKnownOptionsToTheLibrary) {
  const GivenOptions all = given({{"custom_pass_config", {"a.py"}},
                                  {"passes", {"p"}},
                                  {"skip_passes", {"mine,sort_graph,sort,constant_folding"}},
                                  {"precision", {"fp16"}},
                                  {"input_shape", {"x=1"}},
                                  {"num_io_tiles", {"32"}},
                                  {"available_memory_proportion", {"0.5"}},
                                  {"disable_fast_norm", {"True"}},
                                  {"output_dir", {"out"}}});
  const auto names = [](const NamedOptions& options) {
    std::set<std::string> found;
    for (const auto& [name, value] : options) found.insert(name + "=" + value);
    return fmt::format("{}", fmt::join(found, " "));
  };
  EXPECT_EQ(
      names(options_with_scripts(all)),
      "available_memory_proportion=0.5 disable_fast_norm=True input_shape=x=1 num_io_tiles=32 "
      "precision=fp16 "
      "skip_passes=sort_graph,constant_folding");
  EXPECT_EQ(names(options_after_scripts(all)),
            "available_memory_proportion=0.5 disable_fast_norm=True num_io_tiles=32 precision=fp16 "
            "skip_passes=sort_graph,constant_folding");
  for (const char* precision : {"fp8", "fp8_weight"})
    EXPECT_EQ(names(options_after_scripts(given({{"precision", {precision}}}))), "");
  EXPECT_EQ(names(options_with_scripts(given({{"skip_passes", {"mine"}}}))), "");
}

}  // namespace
}  // namespace poprt::cli
