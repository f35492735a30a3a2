#include "compiler/pipeline.h"

#include <gtest/gtest.h>

namespace poprt::compiler {
namespace {

TEST(Pipeline, TheOrderHoldsWhatPassesDeclare) {
  EXPECT_NO_THROW(passes::check_order(converter_pipeline({})));
  EXPECT_NO_THROW(passes::check_order(compile_pipeline({})));
}

TEST(Pipeline, SkippedPassesAreLeftOut) {
  const auto all = compile_pipeline({});
  Options options;
  options.skip_passes = {"layer_norm_pattern"};
  EXPECT_EQ(compile_pipeline(options).size() + 1, all.size());
}

TEST(Pipeline, WhatAPrecisionBringsOrAUserNamesIsSkippedToo) {
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

TEST(Pipeline, APlainConversionRewritesNothingThatCompilingCanDoWithout) {
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

TEST(Pipeline, PassesThatLookForHalvesComeBehindThem) {
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
