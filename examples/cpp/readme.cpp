#include <iostream>
#include <poprt/poprt.hpp>

int main() {
  poprt::compiler::CompilerOptions options;
  options.batchSize = 8;
  poprt::runtime::Runner runner(poprt::compiler::Compiler::compile("digits.onnx", {}, options));
  const std::vector<float> image(8 * 64);
  const auto outputs = runner.execute({{"image", {image.data(), image.size() * sizeof(float)}}});
  const auto* scores = static_cast<const float*>(outputs.at("scores").getView().data);
  const auto shape = runner.getExecuteOutputs()[0].shape;
  std::cout << "scores [" << shape[0] << ", " << shape[1] << "] " << scores[0] << " ...\n";
}
