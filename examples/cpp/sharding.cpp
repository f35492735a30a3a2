// Compiles the digits model for two IPUs, which work on different requests at the same time.
//
//   sharding MODEL.onnx
#include <iostream>
#include <poprt/poprt.hpp>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: sharding MODEL.onnx\n";
    return 2;
  }
  using poprt::compiler::Compiler;
  poprt::compiler::CompilerOptions options;
  options.inputShape = {{"image", {1, 1, 8, 8}}};
  const auto one = Compiler::compile(argv[1], {}, options);
  options.options = {{"compiler_options",
                      "num_ipus=2\nvirtual_graph_mode=auto\nenable_pipelining=True\n"
                      "batches_per_step=2"}};
  const auto two = Compiler::compile(argv[1], {}, options);

  constexpr std::size_t kScans = 20;
  std::vector<float> images(kScans * 64), expected(kScans * 10), scores(kScans * 10);
  for (std::size_t i = 0; i < images.size(); i++) images[i] = static_cast<float>(i * 7 % 17);
  poprt::runtime::ModelRunner alone(one), pipeline(two);
  const auto input = [&](std::size_t i) {
    return poprt::runtime::InputMemoryView{{"image", {images.data() + i * 64, 64 * sizeof(float)}}};
  };
  const auto output = [](std::vector<float>& to, std::size_t i) {
    return poprt::runtime::OutputMemoryView{{"scores", {to.data() + i * 10, 10 * sizeof(float)}}};
  };
  for (std::size_t i = 0; i < kScans; i++) alone.execute(input(i), output(expected, i));
  std::vector<poprt::runtime::Request> requests;
  for (std::size_t i = 0; i < kScans; i++)
    requests.push_back(pipeline.submit(input(i), output(scores, i)));
  for (auto& request : requests) request.wait();
  std::cout << "20 scans on " << two->getPopefModel()->metadata.numIpus() << " IPUs: "
            << (scores == expected ? "the same answers as on one\n"
                                   : "other answers than on one\n");
  return scores == expected ? 0 : 1;
} catch (const poprt::Error& e) {
  std::cerr << "sharding: " << e.what() << "\n";
  return 1;
}
