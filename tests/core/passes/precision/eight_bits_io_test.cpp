#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

constexpr const char* kModel = R"(
  input %image : f32[2,3,2,2]
  input %other : f32[3]
  %r = Relu(%image)
  %y = Add(%image, %r)
  %z = Relu(%other)
  output %y
  output %z
)";

TEST(EightBitsIo, NormalisesBytesAsImageNetIs) {
  const auto original = parsed(kModel), graph = parsed(kModel);
  run(*graph, {"eight_bits_io"});
  EXPECT_EQ(ops_of(*graph), "Cast Mul Add Relu Add Relu");
  EXPECT_EQ(graph->inputs()[0]->dtype(), DType::u8);
  EXPECT_EQ(graph->inputs()[0]->name(), "image");
  EXPECT_EQ(graph->inputs()[1]->dtype(), DType::f32);

  Tensor bytes = Tensor::zeros(DType::u8, {2, 3, 2, 2});
  Tensor floats = Tensor::zeros(DType::f32, {2, 3, 2, 2});
  const double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
  for (size_t i = 0; i < 24; i++) {
    const size_t channel = i / 4 % 3;
    bytes.mutable_values<uint8_t>()[i] = static_cast<uint8_t>(i * 11);
    floats.mutable_values<float>()[i] = static_cast<float>(
        (static_cast<double>(i * 11) / 255 - mean[channel]) / deviation[channel]);
  }
  const Tensor other = Tensor::of<float>({3}, {1, -2, 3});
  const auto wanted = evaluate_graph(*original, {{"image", floats}, {"other", other}});
  const auto got = evaluate_graph(*graph, {{"image", bytes}, {"other", other}});
  for (const auto& [name, tensor] : wanted) expect_close(tensor, got.at(name), 1e-5, name);
}

TEST(EightBitsIo, RefusesAModelWithoutImages) {
  const auto graph = parsed("input %x : f32[2,1,8,8]\n%y = Relu(%x)\noutput %y");
  EXPECT_THROW(run(*graph, {"eight_bits_io"}), Error);
}

}  // namespace
}  // namespace poprt::test
