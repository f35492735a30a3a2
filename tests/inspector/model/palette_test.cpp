#include "model/palette.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "inspector/colour_distance.h"

namespace poprt::inspector {
namespace {

using Names = std::vector<std::string>;

// Operators by number of nodes, as the legend lists them.
const std::vector<Names> kLegends = {
    {"Add", "MatMul", "Reshape", "Transpose", "LayerNormalization", "Mul", "Div", "Erf", "Softmax",
     "Gather", "Identity", "Cast", "Gemm", "Sub", "Tanh", "Unsqueeze"},  // BERT
    {"Add", "MatMul", "Mul", "Reshape", "Transpose", "LayerNormalization", "Div", "Pow", "Softmax",
     "Split", "Tanh", "Where", "Gather", "Identity"},  // GPT-2
    {"BatchNormalization", "Conv", "Relu", "Add", "Flatten", "Gemm", "GlobalAveragePool",
     "Identity", "MaxPool"},  // ResNet-50
    {"Conv", "Relu", "Add", "Flatten", "Gemm", "GlobalAveragePool", "MaxPool"},
    {"BatchNormalization", "Conv", "Clip", "Add", "Flatten", "Gemm", "GlobalAveragePool",
     "Identity"},  // MobileNetV2
    {"Conv", "BatchNormalization", "Relu", "Concat", "ConvTranspose", "MaxPool",
     "Identity"},  // U-Net
    {"Conv", "Sigmoid", "BatchNormalization", "Mul", "Concat", "Add", "Reshape", "MaxPool",
     "Transpose", "Resize", "Identity"},  // YOLO
    {"Mul", "MatMul", "Add", "Unsqueeze", "Concat", "Slice", "Reshape", "Transpose", "Cast",
     "Gather", "Neg", "Pow", "ReduceMean", "Sqrt", "Div", "Sigmoid", "Softmax"},  // a decoder
    {"QuantizeLinear", "DequantizeLinear", "Conv", "Relu", "Add", "MaxPool", "GlobalAveragePool",
     "Flatten", "Gemm"},
    {"poprt.Elementwise", "MatMul", "poprt.Attention", "LayerNormalization", "Gather"},
    {"Cast", "Tanh"},
};

TEST(ColourDistance, AgreesWithPublishedPairs) {
  // Sharma et al. 2005, table 1, pairs 1, 7, 17 and 25.
  EXPECT_NEAR(ciede2000({50, 2.6772, -79.7751}, {50, 0, -82.7485}), 2.0425, 1e-4);
  EXPECT_NEAR(ciede2000({50, 0, 0}, {50, -1, 2}), 2.3669, 1e-4);
  EXPECT_NEAR(ciede2000({50, 2.5, 0}, {73, 25, -18}), 27.1492, 1e-4);
  EXPECT_NEAR(ciede2000({60.2574, -34.0099, 36.2677}, {60.4626, -34.1751, 39.4387}), 1.2644, 1e-4);
  EXPECT_NEAR(contrast_ratio(0x000000, 0xffffff), 21, 1e-9);
  EXPECT_NEAR(contrast_ratio(0x777777, 0xffffff), 4.48, 0.01);
}

TEST(ColourDistance, DeficienciesReduceTheDistanceOfSimilarHues) {
  // Red and green of equal lightness; blue and green for tritanopia.
  EXPECT_GT(distance_for(Vision::normal, 0xb05040, 0x60803a), 30);
  EXPECT_LT(distance_for(Vision::deuteranopia, 0xb05040, 0x60803a), 16);
  EXPECT_LT(distance_for(Vision::tritanopia, 0x4080a0, 0x408070), 8);
  for (const Vision v : kVisions) EXPECT_NEAR(distance_for(v, 0x808080, 0x808080), 0, 1e-9);
}

TEST(Palette, NeighboursOfALegendDifferForEveryVision) {
  constexpr double kNeighbours = 11, kSameLegend = 5;
  for (const Names& legend : kLegends)
    for (size_t i = 0; i < legend.size(); i++)
      for (size_t k = i + 1; k < legend.size(); k++)
        EXPECT_GE(least_distance(colour_of_name(legend[i]), colour_of_name(legend[k])),
                  k == i + 1 ? kNeighbours : kSameLegend)
            << legend[i] << " and " << legend[k];
}

TEST(Palette, KernelsOfALegendDiffer) {
  for (const Names& legend :
       {Names{"conv", "conv_winograd", "conv_dilated", "conv_stem", "global_average_blocked",
              "matmul", "pool_blocked"},
        Names{"matmul", "elementwise", "layer_norm", "attention", "gather", "softmax"}})
    for (size_t i = 1; i < legend.size(); i++)
      EXPECT_GE(least_distance(colour_of_name(legend[i - 1]), colour_of_name(legend[i])), 7)
          << legend[i - 1] << " and " << legend[i];
}

TEST(Palette, FamiliesShareAHue) {
  const auto hue_angle = [](const std::string& name) {
    const Triple lab = lab_of(linear_rgb(colour_of_name(name)));
    return std::atan2(lab[2], lab[1]) * 180 / std::numbers::pi;
  };
  for (const Names& family : std::vector<Names>{
           {"MatMul", "Gemm", "MatMulInteger", "com.microsoft.FusedMatMul", "matmul_narrow"},
           {"Conv", "ConvTranspose", "QLinearConv", "poprt.Conv", "conv_winograd"},
           {"Relu", "Sigmoid", "Tanh", "Softmax", "LeakyRelu"},
           {"Add", "Mul", "Sub", "Div", "Pow", "poprt.Elementwise"},
           {"MaxPool", "GlobalAveragePool", "ReduceMean", "pool_blocked"},
           {"LayerNormalization", "BatchNormalization", "layer_norm", "SkipLayerNormalization"}})
    for (const std::string& member : family) {
      EXPECT_EQ(family_of(member), family_of(family[0])) << member;
      EXPECT_LE(std::abs(std::remainder(hue_angle(member) - hue_angle(family[0]), 360)), 30)
          << member;
    }
  EXPECT_EQ(family_of("Orchestrate"), Family::other);
  EXPECT_EQ(family_of("Or"), Family::arithmetic) << "short names match as a whole";
  EXPECT_EQ(family_of("Norm"), Family::norm);
  EXPECT_EQ(colour_of_name("com.example.Anything"), colour_of_name("com.example.Anything"));
}

TEST(Palette, FamiliesDifferForNormalVision) {
  const Names members = {"MatMul",  "Conv", "Attention", "LayerNormalization",
                         "Softmax", "Add",  "MaxPool",   "Reshape"};
  for (size_t i = 0; i < members.size(); i++)
    for (size_t k = i + 1; k < members.size(); k++)
      EXPECT_GE(
          distance_for(Vision::normal, colour_of_name(members[i]), colour_of_name(members[k])), 17)
          << members[i] << " and " << members[k];
}

TEST(Palette, NoOperatorLooksLikeAnError) {
  std::set<std::string> names;
  for (const Names& legend : kLegends) names.insert(legend.begin(), legend.end());
  names.insert({"LSTM", "Attention", "TopK", "If", "Loop", "ReduceSum", "RotaryEmbedding"});
  for (const uint32_t error : {0xff6b64u, 0xc9302cu}) {
    for (const std::string& name : names)
      EXPECT_GE(distance_for(Vision::normal, colour_of_name(name), error), 15) << name;
    for (size_t i = 0; i < 12; i++)
      EXPECT_GE(distance_for(Vision::normal, hue_at(i), error), 15) << i;
  }
}

TEST(Palette, LinesOfAPlotDiffer) {
  for (size_t i = 0; i < 12; i++)
    for (size_t k = i + 1; k < 12; k++)
      EXPECT_GE(least_distance(hue_at(i), hue_at(k)), k == i + 1 ? 20 : 8) << i << " and " << k;
}

}  // namespace
}  // namespace poprt::inspector
