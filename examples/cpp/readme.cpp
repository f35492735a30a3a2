#include <iostream>
#include <poprt/poprt.hpp>

int main() {
  const poprt::runtime::ModelRunner runner("digits.onnx");
  const std::vector<float> image(8 * 64);
  for (const int64_t batch : {1, 8}) {
    const auto outputs = poprt::runtime::run(runner, {{"image", image.data(), {batch, 1, 8, 8}}});
    const auto& scores = outputs.at("scores");
    std::cout << "scores [" << scores.shape[0] << ", " << scores.shape[1] << "] "
              << scores.as<float>()[0] << " ...\n";
  }
}
