// Compiles the digits model at three batch sizes into one executable, and runs requests of other
// sizes.
//
//   buckets MODEL.onnx
#include <algorithm>
#include <cmath>
#include <iostream>
#include <poprt/poprt.hpp>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: buckets MODEL.onnx\n";
    return 2;
  }
  poprt::compiler::CompilerOptions options;
  options.options = {{"input_shape", "image=1,1,8,8/4,1,8,8/20,1,8,8"}};
  poprt::runtime::ModelRunner runner(poprt::compiler::Compiler::compile(argv[1], {}, options));

  std::vector<float> images(20 * 64);
  for (std::size_t i = 0; i < images.size(); i++) images[i] = static_cast<float>(i * 7 % 17);
  const auto run = [&](std::size_t first, std::size_t count) {
    std::vector<float> scores(count * 10);
    runner.execute({{"image", {images.data() + first * 64, count * 64 * sizeof(float)}}},
                   {{"scores", {scores.data(), scores.size() * sizeof(float)}}});
    return scores;
  };
  bool same = true;
  for (const std::size_t count : {1, 3, 7, 20}) {
    const std::vector<float> scores = run(0, count);
    for (std::size_t i = 0; i < count; i++) {
      const std::vector<float> one = run(i, 1);
      // Another batch size may use a kernel that adds in another order. Its rounding error is
      // relative to the largest scores, because a score near 0 is a difference of large numbers.
      float scale = 1;
      for (const float score : one) scale = std::max(scale, std::fabs(score));
      for (std::size_t c = 0; c < 10; c++)
        same = same && std::fabs(scores[i * 10 + c] - one[c]) <= 1e-5f * scale;
    }
  }
  std::cout << "1, 3, 7 and 20 scans: "
            << (same ? "the same answers as one by one\n" : "other answers than one by one\n");
  return same ? 0 : 1;
} catch (const poprt::Error& e) {
  std::cerr << "buckets: " << e.what() << "\n";
  return 1;
}
