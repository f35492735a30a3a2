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
