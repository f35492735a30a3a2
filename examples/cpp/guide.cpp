// The chapters of docs/languages/cpp.md. Runs in a folder with digits.onnx and language_model/.
#include <atomic>
#include <iostream>
#include <poprt/poprt.hpp>
#include <thread>

// [load]
using poprt::compiler::Compiler;
using poprt::compiler::CompilerOptions;
using poprt::runtime::ModelRunner;
using poprt::runtime::RuntimeConfig;

void load() {
  const ModelRunner runner("digits.onnx");  // each shape is compiled when it first arrives
  std::cout << "load: " << runner.getExecuteInputs()[0].name << "\n";
  std::cout << "load: " << runner.getExecuteOutputs()[0].name << "\n";

  CompilerOptions options;
  options.batchSize = 8;
  Compiler::compile("digits.onnx", {}, options)->save("digits.popef");  // ahead of time
  const ModelRunner batches("digits.popef");  // maps the file and compiles nothing
}
// [run]
void run(ModelRunner& runner) {
  std::vector<float> image(64), scores(10);
  const auto outputs = poprt::runtime::run(runner, {{"image", image.data(), {1, 1, 8, 8}}});
  const auto& shape = outputs.at("scores").shape;  // run() allocates the results
  std::cout << "run: " << shape[0] << " " << shape[1] << "\n";

  // execute() writes into memory of the caller, by sizes in bytes.
  runner.execute({{"image", {image.data(), 256}}}, {{"scores", {scores.data(), 40}}});
}
// [async]
void async(ModelRunner& runner) {
  std::vector<float> image(64), scores(10);
  auto answer =
      runner.executeAsync({{"image", {image.data(), 256}}}, {{"scores", {scores.data(), 40}}});
  answer.at("scores").get();  // a future for each output; it throws the error of the run
  std::cout << "async: 1\n";
}
// [batch]
void batch() {
  RuntimeConfig config;
  config.batchingDim = 0;
  ModelRunner runner("digits.popef", config);  // compiled for 8 rows
  const std::vector<float> images(20 * 64);
  // Three runs of 8 rows, the last one padded.
  const auto outputs = poprt::runtime::run(runner, {{"image", images.data(), {20, 1, 8, 8}}});
  const auto& shape = outputs.at("scores").shape;
  std::cout << "batch: " << shape[0] << " " << shape[1] << "\n";

  config.isBatchSizeTimeoutEnabled = true;
  config.batchSizeTimeoutNS = 1000000;  // requests that arrive within 1 ms share a run
  ModelRunner joining("digits.popef", config);
}
// [shapes]
void shapes(ModelRunner& runner) {
  runner.warmUp("image=2,1,8,8/4,1,8,8");  // compiles before the first request

  CompilerOptions options;  // two shapes in one executable; a request is padded to the next one
  options.options["input_shape"] = "image=1,1,8,8/4,1,8,8";
  ModelRunner several(Compiler::compile("digits.onnx", {}, options));
  const std::vector<float> images(3 * 64);
  const auto outputs = poprt::runtime::run(several, {{"image", images.data(), {3, 1, 8, 8}}});
  const auto& shape = outputs.at("scores").shape;
  std::cout << "shapes: " << shape[0] << " " << shape[1] << "\n";
}
// [state]
void state() {
  poprt::GeneratorOptions options;
  options.slots = 2;  // the caches of two sequences are on the device
  const poprt::Generator generator("language_model", options);
  poprt::Sequence text = generator.newSequence();
  text.append({6, 42, 26});
  text.setOption("max_new_tokens", 8);
  text.setOption("ignore_stop", 1);
  text.start();
  std::cout << "state:";
  for (const int64_t token : text.readAll()) std::cout << " " << token;
  std::cout << "\n";
}
// [serve]
void serve(ModelRunner& runner) {
  std::atomic<int> answers{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 4; c++)
    clients.emplace_back([&] {  // any number of threads may share a runner
      std::vector<float> image(64), scores(10);
      for (int i = 0; i < 10; i++, answers++)
        runner.execute({{"image", {image.data(), 256}}}, {{"scores", {scores.data(), 40}}});
    });
  for (auto& client : clients) client.join();
  std::cout << "serve: " << answers << "\n";
  std::cout << runner.counters().latency_p99_ns / 1000 << " us at the 99th percentile\n";
}
// [errors]
void errors() {
  try {
    const ModelRunner runner("missing.onnx");
  } catch (const poprt::Error& error) {  // all errors; code() is that of gRPC
    if (error.code() == poprt::ErrorCode::not_found)
      std::cout << "errors: " << error.what() << "\n";
  }
}
// [end]

int main() {
  load();
  ModelRunner runner("digits.onnx");
  run(runner);
  async(runner);
  batch();
  shapes(runner);
  state();
  serve(runner);
  errors();
}
