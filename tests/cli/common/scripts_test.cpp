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
  EXPECT_EQ(to_text(request["options"]),
            R"({"input_shape":"x=1\ny=2","lowest_opset":"11","narrow_int64":"True",)"
            R"("skip_passes":"r"})");
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
  for (const char* precision : {"fp8", "fp8_weight", "int8"})
    EXPECT_EQ(names(options_after_scripts(given({{"precision", {precision}}}))), "");
  EXPECT_EQ(names(options_with_scripts(given({{"skip_passes", {"mine"}}}))), "");
}

// The options whose effect is complete in the converted model.
const std::set<std::string> kOfConversion = {
    "input_shape", "batch_size", "batch_axis", "infer_shape_ahead", "convert_version",
    "lowest_opset", "remove_outputs", "checkpoints", "check",
    // precision
    "fp8_params", "fp8_skip_op_names", "calibration_with_data", "calibration_loss_type",
    "num_of_layers_keep_fp16", "data_preprocess", "precision_compare", "narrow_int64",
    "eightbitsio", "int8_skip_op_names", "num_of_layers_keep_fp32", "calibration_percentile",
    "calibration_labels",
    // graph
    "passes", "pass_args", "enable_erf_gelu", "enable_insert_remap", "remap_mode",
    "max_tensor_size", "serialize_matmul", "serialize_matmul_add", "merge_matmul",
    "merge_matmul_add", "merge_moe", "merge_if_with_same_cond", "enable_compress_pattern",
    "fold_periodic_initializer", "apply_hcsr", "pack_args"};

TEST(Scripts, EveryOptionActsOnTheConversionAndOthersAlsoOnTheCompilation) {
  std::vector<std::pair<std::string, Words>> options;
  for (const OptionInfo& option : option_tables().options)
    if (!option.command) options.emplace_back(option.name, Words{option.is_flag() ? "True" : "1"});
  for (auto& [name, words] : options)
    if (name == "skip_passes") words = {"constant_folding"};
  const size_t count = options.size();
  EXPECT_GT(count, 60U);
  options.emplace_back("custom_pass_config", Words{"a.py"});
  const StandIn python = answering(R"({"passes":[]})");
  convert_with_scripts(given(options), "from.onnx", "to.onnx");
  const auto request = read_json(python.file("request.json"));
  EXPECT_EQ(request["options"].size(), count - 1);  // all but `passes`
  std::set<std::string> left;
  for (const auto& [name, words] : options)
    if (name != "custom_pass_config") left.insert(name);
  for (const auto& [name, value] : options_after_scripts(given(options))) left.erase(name);
  EXPECT_EQ(fmt::format("{}", fmt::join(left, " ")),
            fmt::format("{}", fmt::join(kOfConversion, " ")));
}

TEST(Scripts, ConvertAtOneShape) {
  const auto message_for = [](const Words& shapes) {
    return message_of<Usage>([&] {
      check_shapes_of_scripts(given({{"custom_pass_config", {"a.py"}}, {"input_shape", shapes}}));
      throw Usage("");
    });
  };
  EXPECT_EQ(message_for({"x=1,4", "a/b=2,4", "a=b/c=1"}), "");
  EXPECT_NE(message_for({"x=1,4", "y=1,4/2,4"}).find("--input_shape y=1,4/2,4 gives several"),
            std::string::npos);
}

}  // namespace
}  // namespace poprt::cli
