#include "compiler/generation_encoder.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace poprt::compiler {
namespace {

TEST(GenerationEncoder, RecognisesNamesOfCrossAttentionOfExporters) {
  EXPECT_TRUE(is_cross_name("past_key_values.0.encoder.key"));
  EXPECT_TRUE(is_cross_name("past_key_cross_3"));
  EXPECT_FALSE(is_cross_name("past_key_values.0.decoder.key"));
  EXPECT_FALSE(is_cross_name("past_key_self_3"));
  EXPECT_EQ(present_name("past_key_values.0.encoder.key"), "present.0.encoder.key");
  EXPECT_EQ(present_name("past_key_cross_3"), "present_key_cross_3");
  EXPECT_THROW(present_name("cache.0"), Error);
}

TEST(GenerationEncoder, OptionsAreChecked) {
  const EncoderOptions o =
      read_encoder(parse_json(R"({"model": "e.onnx", "length": 64, "lengths": [16, 8, 16]})"));
  EXPECT_EQ(o.lengths, (std::vector<int64_t>{8, 16, 64}));
  for (const char* wrong : {"[]", "{}", R"({"model": "e.onnx", "length": -1})",
                            R"({"model": "e.onnx", "length": 8, "lengths": [9]})",
                            R"({"model": "e.onnx", "length": 8, "lengths": [0]})",
                            R"({"model": "e.onnx", "length": 1e300})",
                            R"({"model": "e.onnx", "features_shape": [-1]})"})
    EXPECT_THROW(read_encoder(parse_json(wrong)), Error) << wrong;
}

}  // namespace
}  // namespace poprt::compiler
