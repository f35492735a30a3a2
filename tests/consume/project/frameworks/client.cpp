// A client with several threads, futures and trace points.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <model_runtime/ModelRunner.hpp>
#include <model_runtime/Tensor.hpp>
#include <mutex>
#include <pvti/pvti.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int kThreads = 3, kRequests = 50;

model_runtime::InputMemory allocate(const std::vector<model_runtime::DataDesc>& descs) {
  model_runtime::InputMemory memory;
  for (const model_runtime::InputDesc& desc : descs)
    memory.emplace(desc.name, model_runtime::TensorMemory(desc.size_in_bytes));
  return memory;
}

model_runtime::InputMemoryView views(const model_runtime::InputMemory& memory) {
  model_runtime::InputMemoryView view;
  std::transform(memory.cbegin(), memory.cend(), std::inserter(view, view.end()),
                 [](model_runtime::InputMemory::const_reference named) {
                   auto&& [name, tensor] = named;
                   return std::make_pair(name, tensor.getView());
                 });
  return view;
}

// A framework derives its trace points.
class Span : public pvti::Tracepoint {
 public:
  explicit Span(const char* label, std::size_t size) : pvti::Tracepoint(&channel(), label, size) {}
  static pvti::TraceChannel& channel() {
    static pvti::TraceChannel trace{"client"};
    return trace;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  setenv("PVTI_OPTIONS", "{\"enable\":\"true\"}", 1);
  model_runtime::ModelRunnerConfig config;
  config.thread_safe = true;
  config.timeout_ns = std::chrono::milliseconds(1);
  model_runtime::ModelRunner runner(argv[1], config);
  static pvti::TraceChannel requests = {"requests"};

  std::mutex mutex;
  std::vector<std::vector<float>> results;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      const Span span("thread", 6);
      model_runtime::InputMemory inputs = allocate(runner.getExecuteInputs());
      auto* x = static_cast<float*>(inputs.at("x").data.get());
      for (int i = 0; i < 6; i++) x[i] = static_cast<float>(i - 3);
      std::vector<model_runtime::OutputFutureMemory> futures;
      for (int i = 0; i < kRequests; i++) {
        pvti::Tracepoint::begin(&requests, std::to_string(t));
        futures.push_back(runner.executeAsync(views(inputs)));
        pvti::Tracepoint::end(&requests, std::to_string(t));
      }
      for (auto& outputs : futures)
        for (auto& [name, future] : outputs) {
          future.wait();
          const model_runtime::TensorMemory& memory = future.get();
          const auto* y = static_cast<const float*>(memory.data.get());
          const std::lock_guard<std::mutex> lock(mutex);
          results.emplace_back(y, y + memory.data_size_bytes / sizeof(float));
        }
    });
  for (std::thread& thread : threads) thread.join();
  if (results.size() != kThreads * kRequests) return 3;
  for (const auto& y : results)
    if (y != results[0]) return 4;

  poprt_string* text = nullptr;
  poprt::detail::check(poprt_telemetry_read(nullptr, &text));
  const std::string telemetry = poprt::detail::take(text);
  for (const char* part : {"\"client\"", "\"thread\"", "\"requests\"", "\"2\""})
    if (telemetry.find(part) == std::string::npos) throw std::runtime_error(telemetry);
  std::cout << "y:";
  for (const float value : results[0]) std::cout << ' ' << value;
  std::cout << '\n';
}
