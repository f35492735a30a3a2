#include "compiler/pipeline.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/recorded_lines.h"

namespace poprt::compiler {
namespace {

TEST(Pipeline, OrderFulfilsTheDeclarationsOfPasses) {
  EXPECT_NO_THROW(passes::check_order(converter_pipeline({})));
  EXPECT_NO_THROW(passes::check_order(compile_pipeline({})));
}

TEST(Pipeline, SkippedPassesAreLeftOut) {
  const auto all = compile_pipeline({});
  Options options;
  options.skip_passes = {"layer_norm_pattern"};
  EXPECT_EQ(compile_pipeline(options).size() + 1, all.size());
}

TEST(Pipeline, SkipsPassesOfAPrecisionAndOfTheUser) {
  Options options;
  options.precision = Precision::fp16;
  options.passes = {"pre_scale"};
  options.skip_passes = {"float_to_half", "pre_scale"};
  const auto left = converter_pipeline(options);
  for (const char* name : {"float_to_half", "pre_scale"})
    EXPECT_EQ(std::count(left.begin(), left.end(), passes::find_pass(name)), 0) << name;
}

TEST(Pipeline, APassIsSkippedByItsEarlierName) {
  Options options;
  options.skip_passes = {"quantized_products"};
  const auto left = compile_pipeline(options);
  EXPECT_EQ(left.size() + 1, compile_pipeline({}).size());
  EXPECT_EQ(std::count(left.begin(), left.end(), passes::find_pass("qdq_products")), 0);
}

TEST(Pipeline, APlainConversionSkipsPassesOfTheCompiler) {
  Options options;
  options.plain = true;
  options.precision = Precision::fp16;
  options.passes = {"sort_graph"};
  const auto plain = converter_pipeline(options);
  EXPECT_NO_THROW(passes::check_order(plain));
  for (const char* name :
       {"float_to_half", "sort_graph", "fuse_bn_into_conv", "eliminate_identity"})
    EXPECT_EQ(std::count(plain.begin(), plain.end(), passes::find_pass(name)), 0) << name;
  EXPECT_GT(std::count(plain.begin(), plain.end(), passes::find_pass("shape_inference")), 0);
}

TEST(Pipeline, PassesThatNeedHalvesRunAfterTheConversion) {
  Options options;
  options.precision = Precision::fp16;
  options.passes = {"replace_groupnorm_with_fast_norm", "pre_scale"};
  options.requested = {"merge_matmul", "serialize_matmul", "pre_scale"};
  const auto all = converter_pipeline(options);
  const auto place = [&](const char* name) {
    EXPECT_EQ(std::count(all.begin(), all.end(), passes::find_pass(name)), 1) << name;
    return std::find(all.begin(), all.end(), passes::find_pass(name)) - all.begin();
  };
  EXPECT_LT(place("merge_matmul"), place("pre_scale"));
  EXPECT_LT(place("pre_scale"), place("serialize_matmul"));
  EXPECT_LT(place("serialize_matmul"), place("float_to_half"));
  EXPECT_LT(place("float_to_half"), place("replace_groupnorm_with_fast_norm"));
  EXPECT_LT(place("layer_norm_pattern"), place("replace_groupnorm_with_fast_norm"));
}

std::set<std::string> in_order(const std::vector<const passes::PassDef*>& pipeline) {
  std::set<std::string> lines;
  for (const passes::PassDef* p : pipeline)
    lines.insert(fmt::format("{:03} {}", lines.size(), p->name));
  return lines;
}

// The passes and their order for different options.
TEST(Pipeline, EachOptionBringsItsPassesToTheirPlaces) {
  const std::vector<std::string> everything = {
      "apply_host_concat_split", "compress_pattern",  "merge_if_with_same_cond",
      "packed_transformer",      "erf_gelu_pattern",  "merge_matmul",
      "merge_matmul_add",        "merge_moe",         "serialize_matmul",
      "serialize_matmul_add",    "auto_insert_remap", "fold_periodic_initializer",
      "manual_sharding"};
  std::map<std::string, Options> all;
  all["default"] = {};
  all["plain"].plain = true;
  all["narrow integers"].narrow_int64 = true;
  all["fp32"].precision = Precision::fp32;
  all["fp16"].precision = Precision::fp16;
  all["fp8"].precision = Precision::fp8;
  all["fp8_weight and bytes"].precision = Precision::fp8_weight;
  all["fp8_weight and bytes"].eight_bits_io = true;
  all["all that is requested"].requested = everything;
  all["all that is requested, plain"].requested = everything;
  all["all that is requested, plain"].plain = true;
  all["requested and named"].requested = everything;
  all["requested and named"].passes = {"serialize_matmul", "pre_scale"};
  all["requested and named"].precision = Precision::fp8;
  all["requested and skipped"].requested = everything;
  all["requested and skipped"].skip_passes = {"merge_moe", "manual_sharding", "compress_pattern"};
  test::RecordedLines found;
  for (const auto& [name, options] : all) {
    found[name + ", early"] = in_order(early_pipeline(options));
    found[name + ", converter"] = in_order(converter_pipeline(options));
  }
  for (const Stage& stage : compile_stages({}))
    found["compile " + std::string(stage.checkpoint)] = in_order(stage.passes);
  test::expect_recorded(found, POPRT_TEST_DATA "/pipelines.txt",
                        "Passes by option, in order: pipeline_test.cpp.");
}

// The passes that options request before all others.
TEST(Pipeline, EarlyPassesRunWhereTheyAreRequestedAndNotNamed) {
  Options options;
  const auto early = [&] {
    std::string names;
    for (const passes::PassDef* p : early_pipeline(options)) names += std::string(p->name) + " ";
    return names;
  };
  EXPECT_EQ(early(), "");
  options.requested = {"merge_if_with_same_cond", "apply_host_concat_split", "merge_matmul"};
  EXPECT_EQ(early(), "apply_host_concat_split merge_if_with_same_cond ");
  options.passes = {"apply_host_concat_split"};
  EXPECT_EQ(early(), "merge_if_with_same_cond ");
  options.skip_passes = {"merge_if_with_same_cond"};
  EXPECT_EQ(early(), "");
  options.skip_passes.clear();
  options.plain = true;
  EXPECT_EQ(early(), "");
}

TEST(Pipeline, AMisspeltPassIsAnError) {
  Options options;
  options.skip_passes = {"layer_norm_patern"};
  try {
    converter_pipeline(options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_found);
    EXPECT_NE(e.message().find("layer_norm_pattern"), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace poprt::compiler
