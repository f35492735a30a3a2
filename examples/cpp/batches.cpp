// Compiles the digits model for 16 batches in a call of the device. The inputs of the next step are
// copied while one computes. Three threads submit requests, as PopRT's manual recommends.
//
//   batches MODEL.onnx
#include <iostream>
#include <poprt/poprt.hpp>
#include <thread>
#include <vector>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: batches MODEL.onnx\n";
    return 2;
  }
  using poprt::compiler::Compiler;
  poprt::compiler::CompilerOptions options;
  options.inputShape = {{"image", {1, 1, 8, 8}}};
  const auto plain = Compiler::compile(argv[1], {}, options);
  options.options = {{"batches_per_step", "16"}, {"num_io_tiles", "32"}};
  const auto looped = Compiler::compile(argv[1], {}, options);

  constexpr std::size_t kThreads = 3, kScans = 64, kAll = kThreads * kScans;
  std::vector<float> images(kAll * 64), expected(kAll * 10), scores(kAll * 10);
  for (std::size_t i = 0; i < images.size(); i++) images[i] = static_cast<float>(i * 7 % 17);
  const auto input = [&](std::size_t i) {
    return poprt::runtime::InputMemoryView{{"image", {images.data() + i * 64, 64 * sizeof(float)}}};
  };
  const auto output = [](std::vector<float>& to, std::size_t i) {
    return poprt::runtime::OutputMemoryView{{"scores", {to.data() + i * 10, 10 * sizeof(float)}}};
  };
  poprt::runtime::ModelRunner alone(plain);
  for (std::size_t i = 0; i < kAll; i++) alone.execute(input(i), output(expected, i));

  // With timeoutNS = 0, a step that is not full waits for more requests without limit. All steps
  // become full, because the number of requests is a multiple of 16.
  poprt::runtime::RuntimeConfig config;
  config.timeoutNS = 0;
  poprt::runtime::ModelRunner runner(looped, config);
  std::vector<std::thread> clients;
  for (std::size_t t = 0; t < kThreads; t++)
    clients.emplace_back([&, t] {
      std::vector<poprt::runtime::Request> requests;
      for (std::size_t i = t * kScans; i < (t + 1) * kScans; i++)
        requests.push_back(runner.submit(input(i), output(scores, i)));
      for (auto& request : requests) request.wait();
    });
  for (auto& client : clients) client.join();
  std::cout << kAll << " scans in " << runner.counters().steps << " steps of "
            << looped->getPopefModel()->metadata.deviceIterations() << ": "
            << (scores == expected ? "the same answers as one by one\n"
                                   : "other answers than one by one\n");
  return scores == expected ? 0 : 1;
} catch (const poprt::Error& e) {
  std::cerr << "batches: " << e.what() << "\n";
  return 1;
}
