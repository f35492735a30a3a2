// Serves several clients at once. Each thread keeps some requests in flight.
//
//   serving MODEL.onnx
#include <atomic>
#include <deque>
#include <iostream>
#include <memory>
#include <poprt/poprt.hpp>
#include <thread>

namespace {

using poprt::runtime::InputMemoryView;
using poprt::runtime::OutputFutureMemoryView;
using poprt::runtime::OutputMemoryView;
using poprt::runtime::Runner;

constexpr std::size_t kClients = 4, kRequests = 50, kInFlight = 3;

// The memory of one request: image number k, and its scores.
struct Job {
  explicit Job(std::size_t k) : number(k) {
    for (std::size_t i = 0; i < image.size(); i++)
      image[i] = static_cast<float>(i * (k + 3) % 17) / 16.0f;
    in["image"] = {image.data(), image.size() * sizeof(float)};
    out["scores"] = {scores.data(), scores.size() * sizeof(float)};
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  std::size_t number;
  std::vector<float> image = std::vector<float>(64), scores = std::vector<float>(10);
  InputMemoryView in;
  OutputMemoryView out;
  OutputFutureMemoryView answer;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: serving MODEL.onnx\n";
    return 2;
  }
  poprt::compiler::CompilerOptions options;
  options.batchSize = 1;
  Runner runner(poprt::compiler::Compiler::compile(argv[1], {}, options));
  std::vector<std::vector<float>> expected;
  for (std::size_t k = 0; k < kClients * kRequests; k++) {
    Job job(k);
    runner.execute(job.in, job.out);
    expected.push_back(job.scores);
  }

  std::atomic<std::size_t> right{0};
  const auto client = [&](std::size_t number) {
    std::deque<std::unique_ptr<Job>> flying;
    const auto land = [&] {
      flying.front()->answer.at("scores").get();
      right += flying.front()->scores == expected[flying.front()->number];
      flying.pop_front();
    };
    for (std::size_t i = 0; i < kRequests; i++) {
      if (flying.size() == kInFlight) land();
      flying.push_back(std::make_unique<Job>(number * kRequests + i));
      // executeAsync() never waits: requests beyond the runner's queue (RuntimeConfig::queueDepth,
      // by default at least 64) wait in a list without limit. The caller must limit them, as here.
      flying.back()->answer = runner.executeAsync(flying.back()->in, flying.back()->out);
    }
    while (!flying.empty()) land();
  };
  std::vector<std::thread> threads;
  for (std::size_t c = 0; c < kClients; c++) threads.emplace_back(client, c);
  for (auto& t : threads) t.join();
  std::cout << kClients * kRequests << " requests from " << kClients << " clients, " << right
            << " right\n";
  return 0;
} catch (const poprt::Error& e) {
  std::cerr << "serving: " << e.what() << "\n";
  return 1;
}
