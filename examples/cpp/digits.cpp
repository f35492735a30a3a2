// Compiles the digits model and classifies handwritten digits with it.
//
//   digits MODEL.onnx IMAGES.idx3-ubyte LABELS.idx1-ubyte
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <poprt/poprt.hpp>

namespace {

constexpr std::size_t kBatch = 8, kPixels = 8 * 8, kClasses = 10;

// Returns the payload of an IDX file of bytes with `rank` dimensions. `count` receives the first
// one.
std::vector<unsigned char> read_idx(const std::string& path, std::size_t rank, std::size_t& count) {
  std::ifstream file(path, std::ios::binary);
  std::vector<unsigned char> data{std::istreambuf_iterator<char>(file), {}};
  const std::size_t header = 4 + 4 * rank;
  if (data.size() < header || data[2] != 8 || data[3] != rank)
    throw std::runtime_error(path + " is no IDX file of bytes");
  count = 0;
  for (std::size_t i = 4; i < 8; i++) count = count << 8 | data[i];
  data.erase(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(header));
  return data;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) {
    std::cerr << "usage: digits MODEL.onnx IMAGES.idx3-ubyte LABELS.idx1-ubyte\n";
    return 2;
  }
  std::size_t count = 0, labels_count = 0;
  const auto images = read_idx(argv[2], 3, count);
  const auto labels = read_idx(argv[3], 1, labels_count);
  if (images.size() != count * kPixels || labels_count != count)
    throw std::runtime_error("images and labels do not belong together");

  poprt::compiler::CompilerOptions options;
  options.inputShape["image"] = {kBatch, 1, 8, 8};
  poprt::runtime::Runner runner(poprt::compiler::Compiler::compile(argv[1], {}, options));
  std::vector<float> input(kBatch * kPixels), output(kBatch * kClasses);
  const void* inputs[] = {input.data()};
  void* outputs[] = {output.data()};

  std::size_t correct = 0;
  auto fastest = std::chrono::nanoseconds::max();
  for (std::size_t first = 0; first < count; first += kBatch) {
    const std::size_t n = std::min(kBatch, count - first);
    std::fill(input.begin(), input.end(), 0.0f);   // pad the last batch
    for (std::size_t i = 0; i < n * kPixels; i++)  // scale pixels 0..16 to 0..1
      input[i] = static_cast<float>(images[first * kPixels + i]) / 16.0f;
    const auto start = std::chrono::steady_clock::now();
    runner.execute(inputs, outputs);
    fastest = std::min(fastest, std::chrono::nanoseconds(std::chrono::steady_clock::now() - start));
    for (std::size_t i = 0; i < n; i++) {
      const auto* scores = output.data() + i * kClasses;
      const auto best = std::max_element(scores, scores + kClasses) - scores;
      correct += static_cast<unsigned char>(best) == labels[first + i];
    }
  }
  std::cout << count << " held-out images, accuracy "
            << static_cast<double>(correct) / static_cast<double>(count) << "\n"
            << "  batch " << kBatch << ": fastest " << static_cast<double>(fastest.count()) / 1e6
            << " ms\n";
  return 0;
} catch (const std::exception& e) {
  std::cerr << "digits: " << e.what() << "\n";
  return 1;
}
