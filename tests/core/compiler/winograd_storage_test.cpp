#include "compiler/winograd_storage.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/compiler/support.h"
#include "kernels/calls/conv_winograd.h"

namespace poprt::test {
namespace {

// A convolution of `channels` to as many channels of an image of `size` x `size`.
std::string layer(int number, int64_t channels, int64_t size) {
  return fmt::format(R"(
    input %x{0} : f32[1,{1},{2},{2}]
    const %w{0} : f32[{1},{1},3,3] = fill 0.{0}5
    %y{0} : ? = Conv(%x{0}, %w{0}) {{pads = [1, 1, 1, 1]}}
    output %y{0})",
                     number, channels, size);
}

compiler::Executable compile_layers(const std::string& body,
                                    const compiler::Options& options = {}) {
  return compile_text("graph \"g\" opset {\"\": 17} {" + body + "\n}", options);
}

// The number of input channels of each Winograd convolution that reads transformed weights.
std::vector<int64_t> transformed_in(const compiler::Executable& e) {
  std::vector<int64_t> channels;
  for (const auto& i : e.program.main) {
    if (e.program.kernels[i.kernel] != kernels::calls::ConvWinograd::kKernel) continue;
    const auto call = kernels::calls::decode<kernels::calls::ConvWinograd>(i.ints, i.floats);
    if (!call.plain_weights) channels.push_back(call.conv.c);
  }
  return channels;
}

constexpr uint64_t bytes_of(uint64_t channels) { return channels * channels * 9 * sizeof(float); }

TEST(TransformedWeights, TakeAtMostAQuarterOfTheWeightsForTheLayersWithMostTiles) {
  const std::string layers = layer(1, 192, 14) + layer(2, 32, 56) + layer(3, 256, 28);
  const compiler::Executable e = compile_layers(layers);
  EXPECT_EQ(transformed_in(e), std::vector<int64_t>{32});
  const uint64_t plain = bytes_of(192) + bytes_of(32) + bytes_of(256);
  EXPECT_GT(e.program.weights_bytes, plain);
  EXPECT_LE(e.program.weights_bytes, plain + plain / 4);
}

TEST(TransformedWeights, OfAModelWithOneLayerAreNotStored) {
  const compiler::Executable e = compile_layers(layer(1, 64, 56));
  EXPECT_EQ(transformed_in(e), std::vector<int64_t>{});
  EXPECT_EQ(e.program.weights_bytes, bytes_of(64));
}

TEST(TransformedWeights, AreNotInACompactPayload) {
  compiler::Options options;
  options.compact = true;
  const compiler::Executable e = compile_layers(layer(2, 32, 56) + layer(3, 256, 28), options);
  EXPECT_EQ(transformed_in(e), std::vector<int64_t>{});
  EXPECT_EQ(e.program.weights_bytes, bytes_of(32) + bytes_of(256));
}

// Winograd with tiles of 2 and 4, and direct convolutions, have one form of their weights.
TEST(TransformedWeights, ReadersOfAWeightShareIt) {
  const compiler::Executable e = compile_layers(R"(
    input %large : f32[1,64,56,56]
    input %small : f32[1,64,9,9]
    input %tiny : f32[1,64,4,4]
    const %w : f32[64,64,3,3] = fill 0.5
    %a : ? = Conv(%large, %w) {pads = [1, 1, 1, 1]}
    %b : ? = Conv(%small, %w) {pads = [1, 1, 1, 1]}
    %c : ? = Conv(%tiny, %w) {pads = [1, 1, 1, 1]}
    %d : ? = Conv(%large, %w) {strides = [2, 2]}
    %e : ? = Conv(%large, %w) {dilations = [2, 2]}
    output %a
    output %b
    output %c
    output %d
    output %e)");
  int winograd = 0, direct = 0;
  for (const auto& i : e.program.main) {
    const std::string& kernel = e.program.kernels[i.kernel];
    winograd += kernel == "conv_winograd";
    direct += kernel == "conv" || kernel == "conv_dilated";
  }
  EXPECT_EQ(winograd, 2);
  EXPECT_EQ(direct, 3);
  EXPECT_EQ(e.program.weights_bytes, bytes_of(64));
}

}  // namespace
}  // namespace poprt::test
