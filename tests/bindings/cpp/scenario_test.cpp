// The scenario list of tests/bindings/README.md in C++17.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <numeric>
#include <poprt/poprt.hpp>
#include <sstream>
#include <thread>

namespace {

using poprt::Error;
using poprt::ErrorCode;
using poprt::Executable;
using poprt::compiler::Compiler;
using poprt::compiler::CompilerOptions;
using poprt::runtime::ConstTensorMemoryView;
using poprt::runtime::DeviceManager;
using poprt::runtime::InputMemoryView;
using poprt::runtime::ModelRunner;
using poprt::runtime::OutputMemoryView;
using poprt::runtime::RuntimeConfig;
using poprt::runtime::TensorMemoryView;

constexpr size_t kSlow = 512 * 512;
std::string program;  // argv[0]

std::string model(const std::string& name) { return std::string(DATA "/") + name; }

std::shared_ptr<Executable> compile(const std::string& file,
                                    const std::map<std::string, std::vector<int64_t>>& shape = {}) {
  CompilerOptions options;
  options.inputShape = shape;
  return Compiler::compile(model(file), {}, options);
}

std::shared_ptr<Executable> affine() { return compile("affine.onnx", {{"x", {2, 4}}}); }

RuntimeConfig config() {
  RuntimeConfig c;
  c.threads = 1;
  return c;
}

template <class T>
ConstTensorMemoryView view(const std::vector<T>& v) {
  return {v.data(), v.size() * sizeof(T)};
}
template <class T>
TensorMemoryView view(std::vector<T>& v) {
  return {v.data(), v.size() * sizeof(T)};
}

// x and y of affine.
struct Client {
  explicit Client(float first = 0) {
    std::iota(x.begin(), x.end(), first);
    in["x"] = view(std::as_const(x));
    out["y"] = view(y);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  bool right() const {
    for (size_t i = 0; i < x.size(); i++)
      if (y[i] != 2 * x[i] + 1) return false;
    return true;
  }
  std::vector<float> x = std::vector<float>(8), y = std::vector<float>(8);
  InputMemoryView in;
  OutputMemoryView out;
};

struct SlowClient {
  std::vector<float> x = std::vector<float>(kSlow), y = std::vector<float>(kSlow);
  InputMemoryView in{{"x", view(std::as_const(x))}};
  OutputMemoryView out{{"y", view(y)}};
};

// Fails unless `use` throws that code with all parts in its message.
template <class Use>
void fails(Use&& use, ErrorCode code, const std::vector<std::string>& parts = {}) {
  try {
    use();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    for (const std::string& part : parts)
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << part << " in " << e.what();
    return;
  }
  ADD_FAILURE() << "nothing was thrown";
}

void expect_devices_free() {
  const DeviceManager manager;
  std::vector<std::shared_ptr<poprt::runtime::Device>> all;
  for (size_t i = 0; i < manager.getNumDevices(); i++) all.push_back(manager.getDevice());
}

TEST(scenario, s01_compile) {
  double last = 0;
  bool fell = false;
  CompilerOptions options;
  options.inputShape = {{"x", {2, 4}}};
  options.progress = [&](double done, const std::string& what) {
    fell |= done < last || what.empty();
    last = done;
  };
  const auto first = Compiler::compile(model("affine.onnx"), {}, options);
  EXPECT_FALSE(fell);
  EXPECT_EQ(last, 1);
  options.progress = nullptr;
  const std::string path = ::testing::TempDir() + std::to_string(getpid()) + "_cpp_affine.popef";
  first->save(path);
  std::stringstream stream;
  first->serialize(stream);
  std::ifstream file(model("affine.onnx"), std::ios::binary);
  const std::string onnx{std::istreambuf_iterator<char>(file), {}};
  const auto check = [](const Executable& e) {
    ASSERT_EQ(e.getInputs().size(), 1u);
    ASSERT_EQ(e.getOutputs().size(), 1u);
    const auto in = e.getInputs()[0], out = e.getOutputs()[0];
    EXPECT_EQ(in.name, "x");
    EXPECT_EQ(out.name, "y");
    for (const auto& d : {in, out}) {
      EXPECT_EQ(d.shape, (std::vector<int64_t>{2, 4}));
      EXPECT_EQ(d.dataType, poprt::DataType::F32);
      EXPECT_EQ(d.sizeInBytes, 32);
    }
  };
  check(*first);
  check(Executable(path));
  check(Executable(std::vector<std::string>{path}));
  check(Executable::fromBytes(stream.str().data(), stream.str().size()));
  check(*Compiler::compile(onnx, {}, options));
  std::remove(path.c_str());
}

TEST(scenario, s02_run) {
  ModelRunner runner(affine(), config());
  Client k;
  runner.execute(k.in, k.out);
  EXPECT_TRUE(k.right());
  const auto outputs = runner.execute(k.in);
  EXPECT_EQ(static_cast<const float*>(outputs.at("y").getConstView().data)[7], 15);
  const void* in[] = {k.x.data()};
  void* out[] = {k.y.data()};
  for (int i = 0; i < 3; i++) {
    k.x[0] = static_cast<float>(i);
    runner.execute(in, out);
    EXPECT_TRUE(k.right());
  }
}

TEST(scenario, s03_run_several_types) {
  ModelRunner runner(compile("lookup.onnx"), config());
  const std::vector<float> table = {0, 1, 2, 3, 4, 5};
  const std::vector<int64_t> ids = {2, 0, 1, 2};
  std::vector<float> rows(8);
  std::vector<int64_t> next(4);
  runner.execute(InputMemoryView{{"table", view(table)}, {"ids", view(ids)}},
                 OutputMemoryView{{"rows", view(rows)}, {"next", view(next)}});
  EXPECT_EQ(rows, (std::vector<float>{4, 5, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(next, (std::vector<int64_t>{3, 1, 2, 3}));
}

TEST(scenario, s04_half_precision) {
  ModelRunner runner(compile("half.onnx", {{"x", {2, 4}}}), config());
  std::vector<_Float16> x(8), y(8);  // the compiler's own half precision
  for (int i = 0; i < 8; i++) x[static_cast<size_t>(i)] = static_cast<_Float16>(i);
  runner.execute(InputMemoryView{{"x", view(std::as_const(x))}}, OutputMemoryView{{"y", view(y)}});
  for (int i = 0; i < 8; i++)
    EXPECT_EQ(static_cast<float>(y[static_cast<size_t>(i)]), static_cast<float>(2 * i + 1));
}

TEST(scenario, s05_asynchronous) {
  ModelRunner runner(affine(), config());
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<poprt::runtime::OutputFutureMemoryView> futures;
  for (int i = 0; i < 100; i++) {
    clients.push_back(std::make_unique<Client>(static_cast<float>(i)));
    futures.push_back(runner.executeAsync(clients.back()->in, clients.back()->out));
  }
  for (size_t i = 0; i < clients.size(); i++) {
    EXPECT_EQ(futures[i].at("y").get().data, clients[i]->y.data());
    EXPECT_TRUE(clients[i]->right());
  }
}

TEST(scenario, s06_unicode) {
  const std::string path = ::testing::TempDir() + std::to_string(getpid()) + "_størrelse 🚀.popef";
  compile("unicode.onnx", {{"størrelse", {2, 4}}})->save(path);
  const Executable executable(path);
  std::remove(path.c_str());
  EXPECT_EQ(executable.getInputs()[0].name, "størrelse");
  EXPECT_EQ(executable.getOutputs()[0].name, "ut_🚀");
  ModelRunner runner(executable, config());
  Client k;
  runner.execute(InputMemoryView{{"størrelse", k.in["x"]}},
                 OutputMemoryView{{"ut_🚀", k.out["y"]}});
  EXPECT_TRUE(k.right());
  fails([&] { Executable{path}; }, ErrorCode::not_found, {"størrelse 🚀.popef"});
}

TEST(scenario, s07_wrong_name) {
  ModelRunner runner(affine(), config());
  Client k;
  fails([&] { runner.execute(InputMemoryView{{"nope", k.in["x"]}}, k.out); }, ErrorCode::not_found,
        {"'nope'", "'x'"});
}

TEST(scenario, s08_wrong_size) {
  ModelRunner runner(affine(), config());
  Client k;
  for (const size_t n : {7u, 9u}) {
    const std::vector<float> wrong(n);
    fails([&] { runner.execute(InputMemoryView{{"x", view(wrong)}}, k.out); },
          ErrorCode::invalid_argument, {"'x'", "32", std::to_string(4 * n)});
  }
}

// Memory is bytes: what is wrong about a type shows in its size alone.
TEST(scenario, s09_wrong_type) {
  ModelRunner runner(affine(), config());
  Client k;
  const std::vector<double> wrong(8);
  fails([&] { runner.execute(InputMemoryView{{"x", view(wrong)}}, k.out); },
        ErrorCode::invalid_argument, {"'x'", "f32"});
}

TEST(scenario, s10_missing_tensor) {
  ModelRunner runner(affine(), config());
  Client k;
  fails([&] { runner.execute(InputMemoryView{}, k.out); }, ErrorCode::invalid_argument, {"'x'"});
  fails([&] { runner.execute(k.in, OutputMemoryView{}); }, ErrorCode::invalid_argument, {"'y'"});
}

TEST(scenario, s11_missing_file) {
  fails([] { Executable{std::string("missing.popef")}; }, ErrorCode::not_found, {"missing.popef"});
  fails([] { Compiler::compile("missing.onnx"); }, ErrorCode::not_found, {"missing.onnx"});
}

TEST(scenario, s12_no_popef) {
  fails([] { Executable{model("affine.onnx")}; }, ErrorCode::data_loss);
}

TEST(scenario, s13_unsupported_operator) {
  fails([] { compile("unknown_op.onnx"); }, ErrorCode::unimplemented, {"Frobnicate"});
}

TEST(scenario, s14_free_in_odd_order) {
  auto executable = affine();
  auto manager = std::make_unique<DeviceManager>();
  RuntimeConfig c = config();
  c.device = manager->getDevice();
  auto runner = std::make_unique<ModelRunner>(executable, c);
  Client k;
  auto futures = runner->executeAsync(k.in, k.out);
  executable.reset();
  manager.reset();
  c.device.reset();
  runner.reset();
  try {
    futures.at("y").get();
    EXPECT_TRUE(k.right());
  } catch (const Error& e) {  // a run that had not begun
    EXPECT_EQ(e.code(), ErrorCode::cancelled);
  }
}

// 15: what is destroyed cannot be used in C++; a stopped runner says so.
TEST(scenario, s15_use_after_stop) {
  ModelRunner runner(affine(), config());
  runner.stop();
  runner.stop();
  Client k;
  fails([&] { runner.execute(k.in, k.out); }, ErrorCode::cancelled);
}

TEST(scenario, s16_stop_during_a_run) {
  {
    ModelRunner runner(compile("slow.onnx"), config());
    std::atomic<int> runs{0};
    std::thread thread([&] {
      SlowClient k;
      fails(
          [&] {
            for (;;) {
              runs++;
              runner.execute(k.in, k.out);
            }
          },
          ErrorCode::cancelled);
    });
    while (runs < 2) std::this_thread::yield();
    runner.stop();
    thread.join();
  }
  expect_devices_free();
}

TEST(scenario, s17_two_threads) {
  ModelRunner runner(affine(), config());
  std::atomic<int> wrong{0};
  const auto work = [&](int k) {
    for (int i = 0; i < 200; i++) {
      Client client(static_cast<float>(1000 * k + i));
      runner.execute(client.in, client.out);
      wrong += !client.right();
    }
  };
  std::thread first(work, 0), second(work, 1);
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0);
}

// 18, 19: C++ gets its results by futures; continuations run where they wait.
TEST(scenario, s18_futures_are_set_by_another_thread) {
  ModelRunner runner(affine(), config());
  Client first(0), second(5);
  auto futures = runner.executeAsync(first.in, first.out);
  bool right = false;
  std::thread([&] {
    futures.at("y").wait();
    auto again = runner.executeAsync(second.in, second.out);
    again.at("y").get();
    right = first.right() && second.right();
  }).join();
  EXPECT_TRUE(right);
}

// Two requests fill the queue, and no batch ends before its timeout: a call that waited for a place
// would find the first one answered.
TEST(scenario, s18_asynchronous_calls_never_wait) {
  RuntimeConfig c = config();
  c.batchingDim = 0;
  c.timeoutNS = 30'000'000'000;
  c.queueDepth = 2;
  constexpr size_t kRequests = 6;
  ModelRunner runner(compile("affine.onnx", {{"x", {64, 4}}}), c);
  std::vector<float> x(kRequests * 4), y(kRequests * 4);
  std::iota(x.begin(), x.end(), 0.0f);
  std::vector<poprt::runtime::OutputFutureMemoryView> futures;
  for (size_t row = 0; row < kRequests; row++)
    futures.push_back(
        runner.executeAsync(InputMemoryView{{"x", {x.data() + 4 * row, 4 * sizeof(float)}}},
                            OutputMemoryView{{"y", {y.data() + 4 * row, 4 * sizeof(float)}}}));
  EXPECT_EQ(futures[0].at("y").wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  runner.stop();
  for (auto& f : futures) EXPECT_THROW(f.at("y").get(), Error);
}

TEST(scenario, s19_exception_in_a_callback) {
  CompilerOptions options;
  options.inputShape = {{"x", {2, 4}}};
  int calls = 0;
  options.progress = [&](double, const std::string&) {
    calls++;
    throw std::logic_error("boom");
  };
  EXPECT_THROW(Compiler::compile(model("affine.onnx"), {}, options), std::logic_error);
  EXPECT_EQ(calls, 1);
}

TEST(scenario, s20_large_tensor) {
  constexpr size_t n = 4 * 4194304;
  ModelRunner runner(compile("affine.onnx", {{"x", {n / 4, 4}}}), config());
  std::vector<float> x(n), y(n);
  for (size_t i = 0; i < n; i++) x[i] = static_cast<float>(i % 1000);
  runner.execute(InputMemoryView{{"x", view(std::as_const(x))}}, OutputMemoryView{{"y", view(y)}});
  size_t wrong = 0;
  for (size_t i = 0; i < n; i++) wrong += y[i] != 2 * x[i] + 1;
  EXPECT_EQ(wrong, 0u);
}

TEST(scenario, s21_zero_size_tensor) {
  const auto executable = compile("affine.onnx", {{"x", {0, 4}}});
  EXPECT_EQ(executable->getInputs()[0].sizeInBytes, 0);
  ModelRunner runner(executable, config());
  char nothing = 0;
  runner.execute(InputMemoryView{{"x", {&nothing, 0}}}, OutputMemoryView{{"y", {&nothing, 0}}});
  EXPECT_EQ(runner.execute(InputMemoryView{{"x", {&nothing, 0}}}).at("y").dataSizeBytes, 0u);
}

TEST(scenario, s22_cancellation) {
  ModelRunner runner(compile("slow.onnx"), config());
  std::vector<std::unique_ptr<SlowClient>> clients;
  std::vector<poprt::runtime::OutputFutureMemoryView> futures;
  for (int i = 0; i < 8; i++) {
    clients.push_back(std::make_unique<SlowClient>());
    futures.push_back(runner.executeAsync(clients.back()->in, clients.back()->out));
  }
  runner.stop();
  int cancelled = 0;
  for (auto& f : futures) try {
      f.at("y").get();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::cancelled);
      cancelled++;
    }
  EXPECT_GE(cancelled, 6);
  fails([&] { runner.execute(clients[0]->in, clients[0]->out); }, ErrorCode::cancelled);
}

TEST(scenario, s23_waiting_with_a_limit) {
  ModelRunner runner(compile("slow.onnx"), config());
  SlowClient k;
  const auto request = runner.submit(k.in, k.out);
  static_cast<void>(request.waitFor(std::chrono::nanoseconds(1)));
  request.wait();
  EXPECT_TRUE(request.waitFor(std::chrono::nanoseconds(0)));
  EXPECT_TRUE(request.done());
}

TEST(scenario, s24_device_busy) {
  const DeviceManager manager;
  EXPECT_EQ(manager.ipuHardwareVersion(), "ipu21");
  std::vector<std::shared_ptr<poprt::runtime::Device>> all;
  for (size_t i = 0; i < manager.getNumDevices(); i++) all.push_back(manager.getDevice());
  fails([&] { manager.getDevice(); }, ErrorCode::unavailable);
  const auto executable = affine();
  fails([&] { ModelRunner(executable, config()); }, ErrorCode::unavailable);
  const int64_t id = all[0]->id();
  all[0].reset();
  RuntimeConfig c = config();
  c.device = manager.getSpecificDevice(id);
  const ModelRunner runner(executable, c);
  fails([&] { ModelRunner(executable, c); }, ErrorCode::failed_precondition);
  fails([&] { manager.getSpecificDevice(all.size()); }, ErrorCode::not_found);
}

TEST(scenario, s25_statistics) {
  RuntimeConfig c = config();
  c.profile = true;
  ModelRunner runner(affine(), c);
  Client k;
  for (int i = 0; i < 3; i++) runner.execute(k.in, k.out);
  const std::string json = runner.profile();
  const size_t at = json.find("\"runs\":");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(std::atoi(json.c_str() + at + 7), 3);
  EXPECT_NE(json.find("instructions"), std::string::npos);
  const ModelRunner plain(affine(), config());
  fails([&] { plain.profile(); }, ErrorCode::failed_precondition);
}

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(scenario, s26_no_explicit_close) {
  const auto executable = affine();
  int64_t after_1000 = 0;
  Client k;
  for (int i = 0; i < 10000; i++) {
    ModelRunner(executable, config()).execute(k.in, k.out);
    if (i == 1000) after_1000 = resident_bytes();
  }
  EXPECT_TRUE(k.right());
  EXPECT_LT(resident_bytes() - after_1000, 32 << 20);
  expect_devices_free();
}

int exit_in_flight() {
  // Never destroyed: everything is still in flight when main returns.
  auto* runner = new ModelRunner(compile("slow.onnx"), config());
  for (int i = 0; i < 8; i++) {
    auto* k = new SlowClient;
    runner->executeAsync(k->in, k->out);
  }
  return 0;
}

TEST(scenario, s27_exit_with_runs_in_flight) {
  // What is in flight is never freed, which is no news to a leak checker.
  const std::string command =
      "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" '" + program + "' exit-in-flight 2>&1";
  FILE* output = popen(command.c_str(), "r");
  ASSERT_NE(output, nullptr);
  EXPECT_EQ(std::fgetc(output), EOF);
  const int status = pclose(output);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(misuse, pointers_to_nothing) {
  const std::shared_ptr<Executable> executable;
  const std::shared_ptr<poprt::popef::Model> model;
  const auto refused = [](const std::function<void()>& call, const char* name) {
    fails(call, ErrorCode::invalid_argument, {"argument", name, "is null"});
  };
  refused([&] { ModelRunner runner(executable, config()); }, "'executable'");
  refused([&] { ModelRunner runner(model, config()); }, "'model'");
  refused([&] { const poprt::runtime::LightRunner runner(executable); }, "'executable'");
  refused(
      [&] {
        const poprt::runtime::PackRunner runner(executable, poprt::runtime::PackRunnerConfig());
      },
      "'executable'");
  refused([&] { const poprt::runtime::Session session(model); }, "'model'");
  refused([&] { Executable::fuse({affine(), nullptr}); }, "'executables'");
  refused([&] { DeviceManager().getDevice(model); }, "'model'");
  ModelRunner runner(affine(), config());
  const ModelRunner moved(std::move(runner));
  const Client k;
  refused([&] { runner.execute(k.in, k.out); }, "'runner'");  // NOLINT: that is the mistake
}

TEST(scenario, s28_version) { EXPECT_EQ(poprt::version(), POPRT_VERSION); }

TEST(scenario, s64_plugins) {
  fails([&] { poprt::loadPlugin("missing.so"); }, ErrorCode::not_found, {"missing.so"});
  fails([&] { poprt::loadPlugin(model("affine.onnx")); }, ErrorCode::failed_precondition,
        {"no shared library"});
  EXPECT_EQ(poprt::listPlugins().front(), '[');
}

TEST(scenario, s52_options_by_name) {
  CompilerOptions options;
  options.options = {{"input_shape", "x=2,4"}, {"num_io_tiles", "32"}};
  const auto metadata = Compiler::compile(model("affine.onnx"), {}, options)->getMetadata();
  EXPECT_EQ(metadata.anchors()[0].tensorInfo().shape(), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(metadata.engineOptions().at(1).name(), "num_io_tiles");
  EXPECT_EQ(metadata.engineOptions().at(1).value(), "32");
  EXPECT_NE(Compiler::listOptions().find("num_io_tiles"), std::string::npos);
  for (const auto& [name, code] : {std::pair("nonsense", ErrorCode::invalid_argument),
                                   std::pair("compiler_options", ErrorCode::unimplemented)}) {
    options.options = {{name, "virtual_graph_mode=executionPhases"}};
    fails([&] { Compiler::compile(model("affine.onnx"), {}, options); }, code, {name});
  }
}

TEST(scenario, s51_read_a_popef_file) {
  const std::string path = ::testing::TempDir() + std::to_string(getpid()) + "_cpp_read.popef";
  const auto executable = affine();
  executable->save(path);
  auto reader = std::make_shared<poprt::popef::Reader>();
  reader->parseFile(path);
  auto programs = reader->executables();
  ASSERT_EQ(programs.size(), 1u);
  const size_t size = programs[0].sizeInBytes();
  const poprt::popef::ModelBuilder builder(reader);
  const auto read = builder.createModel();
  EXPECT_EQ(programs[0].name, executable->name());
  EXPECT_EQ(read->executable.name, executable->name());
  EXPECT_EQ(read->metadata.executable(), programs[0].name);
  const poprt::popef::TensorInfo info(poprt::popef::DataType::F32, {2, 4});
  const auto inputs = read->getUserInputAnchors(), outputs = read->getUserOutputAnchors();
  ASSERT_EQ(inputs.size(), 1u);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(inputs[0].name() + outputs[0].name(), "xy");
  EXPECT_EQ(inputs[0].type(), poprt::popef::TensorType::INPUT);
  EXPECT_EQ(outputs[0].type(), poprt::popef::TensorType::OUTPUT);
  EXPECT_EQ(inputs[0].tensorInfo(), info);
  EXPECT_EQ(outputs[0].tensorInfo(), info);

  std::string part(10, 0);
  programs[0].read(5, part.data(), part.size());
  fails([&] { programs[0].read(size - 9, part.data(), part.size()); }, ErrorCode::out_of_range);
  fails([&] { builder.createModel("nope"); }, ErrorCode::failed_precondition, {"nope"});
  fails([&] { reader->parseFile("missing.popef"); }, ErrorCode::not_found, {"missing.popef"});
  fails([&] { reader->parseFile(model("affine.onnx")); }, ErrorCode::data_loss, {"affine.onnx"});
  const poprt::popef::Payload payload = programs[0].payload();
  programs.clear();
  reader.reset();
  const std::string code(payload.data(), payload.size());
  EXPECT_EQ(code.size(), size);
  EXPECT_EQ(code.substr(5, 10), part);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  EXPECT_NE(all.str().find(code), std::string::npos);
  std::remove(path.c_str());
}

// Warns: the cache is a file.
void warn(const std::string& noFolder) {
  CompilerOptions options;
  options.inputShape = {{"x", {2, 4}}};
  options.enableEngineCaching = true;
  options.cachePath = noFolder;
  Compiler::compile(model("affine.onnx"), {}, options);
}

TEST(scenario, s54_log_messages) {
  const std::string noFolder = "scenario_54_cache";
  std::ofstream(noFolder).close();
  std::vector<std::thread::id> threads;
  poprt::setLogCallback([&](poprt::LogLevel level, const std::string& message) {
    EXPECT_EQ(level, poprt::LogLevel::warning);
    EXPECT_NE(message.find(noFolder), std::string::npos) << message;
    threads.push_back(std::this_thread::get_id());
    throw std::runtime_error("lost");
  });
  warn(noFolder);
  std::thread other(warn, noFolder);
  const std::thread::id there = other.get_id();
  other.join();
  int count = 0;
  const auto counting = [&](poprt::LogLevel, const std::string&) { count++; };
  poprt::setLogCallback(counting);  // in place of the first
  warn(noFolder);
  EXPECT_EQ(threads, (std::vector<std::thread::id>{std::this_thread::get_id(), there}));
  EXPECT_EQ(count, 1);
  poprt::setLogCallback({});
  poprt::setLogLevel("OFF");
  warn(noFolder);
  poprt::setLogLevel("WARNING");
  EXPECT_EQ(count, 1);
  std::remove(noFolder.c_str());
  fails([] { poprt::setLogLevel("loud"); }, ErrorCode::invalid_argument, {"loud"});
}

TEST(scenario, s55_input_lengths) {
  CompilerOptions options;
  options.batchSize = 2;
  const auto compiled = [&] { return Compiler::compile(model("sequence.onnx"), {}, options); };
  fails(compiled, ErrorCode::invalid_argument, {"'s' is a sequence"});
  options.inputLength = {{"s", 2}};
  ModelRunner runner(*compiled(), config());
  std::vector<float> first(6), second(6), y(12), expected(12);
  std::iota(first.begin(), first.end(), 0.0f);
  std::iota(second.begin(), second.end(), 6.0f);
  std::iota(expected.begin(), expected.end(), 0.0f);
  runner.execute({{"s[0]", view(std::as_const(first))}, {"s[1]", view(std::as_const(second))}},
                 {{"y", view(y)}});
  EXPECT_EQ(y, expected);
  options.inputLength = {{"s", -1}};
  fails(compiled, ErrorCode::invalid_argument, {"'s'", "-1"});
}

TEST(scenario, s61_fused_models) {
  CompilerOptions options;
  options.inputShape = {{"x", {2, 4}}};
  const auto affine = Compiler::compile(model("affine.onnx"), {}, options);
  const auto weights = Compiler::compile(model("weights.onnx"), {}, {});
  const auto fused = std::make_shared<Executable>(Executable::fuse({affine, weights}));
  ModelRunner runner(fused, config());
  std::vector<float> x(8), y(8);
  std::iota(x.begin(), x.end(), 0.0f);
  for (int round = 0; round < 3; round++) {
    runner.execute({{"graph0/x", view(std::as_const(x))}}, {{"graph0/y", view(y)}});
    EXPECT_EQ(y, (std::vector<float>{1, 3, 5, 7, 9, 11, 13, 15}));
    runner.execute({{"graph1/x", view(std::as_const(x))}}, {{"graph1/y", view(y)}});
    EXPECT_EQ(y, (std::vector<float>{1, 3, 7, 13, 5, 11, 19, 29}));
  }
  fails([&] { runner.execute({{"graph0/x", view(std::as_const(x))}}, {{"graph1/y", view(y)}}); },
        ErrorCode::invalid_argument, {"different graphs"});
  fails([&] { Executable::fuse({fused}); }, ErrorCode::invalid_argument, {"several branches"});
  fails([] { Executable::fuse({}); }, ErrorCode::invalid_argument, {"no models"});
  const std::string file = "scenario_61_fused.onnx";
  Compiler::fuse({model("weights.onnx"), model("weights.onnx")}, file);
  EXPECT_EQ(ModelRunner(*Compiler::compile(file, {}, {}), config()).getExecuteInputs().size(), 2u);
  std::remove(file.c_str());
}

TEST(scenario, s62_shape_buckets) {
  CompilerOptions options;
  options.options = {{"input_shape", "x=1,4/4,4"}};
  ModelRunner runner(*Compiler::compile(model("affine.onnx"), {}, options), config());
  for (size_t rows = 1; rows <= 4; rows++) {
    std::vector<float> x(4 * rows), y(4 * rows), expected;
    std::iota(x.begin(), x.end(), 0.0f);
    for (const float v : x) expected.push_back(2 * v + 1);
    runner.execute({{"x", view(std::as_const(x))}}, {{"y", view(y)}});
    EXPECT_EQ(y, expected);
  }
  std::vector<float> x(20), y(20);
  fails([&] { runner.execute({{"x", view(std::as_const(x))}}, {{"y", view(y)}}); },
        ErrorCode::invalid_argument, {"is 5", "1 to 4"});
  options.maxPadding = 0.4;
  ModelRunner more(*Compiler::compile(model("affine.onnx"), {}, options), config());
  x.assign(8, 1), y.resize(8);
  more.execute({{"x", view(std::as_const(x))}}, {{"y", view(y)}});
  EXPECT_EQ(y, std::vector<float>(8, 3));
  std::string statistics = more.statistics();
  statistics.erase(std::remove_if(statistics.begin(), statistics.end(), ::isspace),
                   statistics.end());
  EXPECT_NE(statistics.find("\"requests\":1,\"padded\":0"), std::string::npos) << statistics;
}

TEST(scenario, s63_several_ipus) {
  CompilerOptions options;
  const auto alone = Compiler::compile(model("slow.onnx"), {}, options);
  options.options = {
      {"compiler_options",
       "num_ipus=2\nvirtual_graph_mode=auto\nenable_pipelining=True\nbatches_per_step=2"}};
  const auto several = Compiler::compile(model("slow.onnx"), {}, options);
  EXPECT_EQ(several->getPopefModel()->metadata.numIpus(), 2);
  std::vector<float> x(512 * 512), expected(x.size()), y(x.size());
  for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i % 7) / 7;
  ModelRunner(*alone, config()).execute({{"x", view(std::as_const(x))}}, {{"y", view(expected)}});
  ModelRunner runner(*several, config());
  for (int round = 0; round < 3; round++) {
    runner.execute({{"x", view(std::as_const(x))}}, {{"y", view(y)}});
    EXPECT_EQ(y, expected);
  }
  options.options = {{"compiler_options", "num_ipus=2"}};
  fails([&] { Compiler::compile(model("slow.onnx"), {}, options); }, ErrorCode::invalid_argument,
        {"virtual_graph_mode"});
}

TEST(scenario, s68_replicas_with_caches) {
  std::string folder = "/tmp/poprt_scenario_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  {
    RuntimeConfig c = config();
    c.replicationFactor = 2;
    c.sharedDevices = folder;
    ModelRunner runner(compile("cache.onnx"), c);
    poprt::runtime::DeviceManagerConfig shared;
    shared.deviceCount = 2;
    shared.sharedDevices = folder;
    try {
      DeviceManager(shared).getDevice();
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unavailable);
    }
    const auto keep = [&](int64_t replica, int32_t at, float value) {
      const std::vector<int32_t> step{at};
      const std::vector<float> x{value};
      std::vector<float> y(3, -1);
      runner
          .submit({{"step", view(step)}, {"x", view(x)}}, {{"y", view(y)}}, {},
                  POPRT_WHEN_FULL_WAIT, replica)
          .wait();
      return y;
    };
    for (int32_t step = 0; step < 4; step++)
      for (int64_t replica = 0; replica < 2; replica++) {
        const auto last = static_cast<float>(10 * replica + step + 1);
        const std::vector<float> expected{last, step > 0 ? last - 1 : 0, step > 1 ? last - 2 : 0};
        EXPECT_EQ(keep(replica, step, last), expected);
      }
    try {
      keep(2, 0, 1);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::not_found);
    }
  }
  std::remove((folder + "/devices.lock").c_str());
  std::remove(folder.c_str());
}

TEST(scenario, s65_packed_sequences) {
  CompilerOptions options;
  options.options = {{"pack_args", "max_valid_num=4\nsegment_max_size=8"}};
  poprt::runtime::PackRunnerConfig pack(5000);
  pack.runner = config();
  poprt::runtime::PackRunner runner(*Compiler::compile(model("sums.onnx"), {}, options), pack);
  EXPECT_EQ(runner.getExecuteOutputs().at(0).shape, (std::vector<int64_t>{1, 8}));
  for (const size_t n : {1, 3, 5, 2, 8, 4}) {
    std::vector<float> x(n), y(8);
    std::iota(x.begin(), x.end(), 1.0f);
    runner.execute({{"x", view(std::as_const(x))}}, {{"y", view(y)}});
    for (size_t i = 0; i < n; i++) EXPECT_EQ(y[i], x[i] + static_cast<float>(n * (n + 1)) / 2);
  }
  std::vector<float> x(9), y(9);
  fails([&] { runner.execute({{"x", view(std::as_const(x))}}, {{"y", view(y)}}); },
        ErrorCode::invalid_argument, {"longer than 8"});
  options.options = {{"pack_args", "max_valid_num=4"}};
  fails([&] { Compiler::compile(model("sums.onnx"), {}, options); }, ErrorCode::invalid_argument,
        {"segment_max_size"});
}

TEST(scenario, s56_opaque_blobs) {
  CompilerOptions options;
  options.inputShape = {{"x", {2, 4}}};
  options.opaqueBlobs = {{"notes", std::string("a\0b", 3)}};
  const auto made = Compiler::compile(model("affine.onnx"), {}, options)->getPopefModel();
  const Executable opened(made);
  for (const auto& m : {made, opened.getPopefModel()}) {
    ASSERT_EQ(m->opaqueBlobs.size(), 1u);
    EXPECT_EQ(m->opaqueBlobs[0].name, "notes");
    EXPECT_EQ(m->opaqueBlobs[0].executable, "affine");
  }
  options.opaqueBlobs = {{"", ""}};
  fails([&] { Compiler::compile(model("affine.onnx"), {}, options); }, ErrorCode::invalid_argument,
        {"name"});
  options.opaqueBlobs.clear();
  options.embedSource = true;
  const auto embedded = Compiler::compile(model("affine.onnx"), {}, options)->getPopefModel();
  ASSERT_EQ(embedded->opaqueBlobs.size(), 1u);
  EXPECT_EQ(embedded->opaqueBlobs[0].name, "poprt.source");
}

TEST(scenario, s57_telemetry_of_a_runner) {
  char folder[] = "/tmp/poprt_scenario_XXXXXX";
  ASSERT_TRUE(mkdtemp(folder));
  setenv("POPRT_TELEMETRY_DIR", folder, 1);
  for (const bool on : {false, true}) {
    RuntimeConfig c = config();
    c.telemetry = on;
    ModelRunner runner(*affine(), c);
    Client client;
    runner.execute(client.in, client.out);
    const std::string json = poprt::runtime::readTelemetry(folder);
    EXPECT_EQ(json.find("\"completed\": 1") != std::string::npos, on) << json;
  }
  unsetenv("POPRT_TELEMETRY_DIR");
  std::remove(folder);
}

TEST(scenario, s58_profile_of_a_session) {
  struct Nothing : poprt::runtime::StreamCallback {
    bool fetch(void*, size_t) noexcept override { return true; }
  };
  const auto run = [](bool profile) {
    poprt::runtime::SessionConfig c;
    c.profile = profile;
    auto session = std::make_unique<poprt::runtime::Session>(*affine(), c);
    session->setUserInputHandler("x", std::make_shared<Nothing>());
    session->setUserOutputHandler("y", std::make_shared<Nothing>());
    for (int i = 0; i < 3; i++) session->runMainPrograms();
    return session;
  };
  const auto session = run(true);
  const std::string json = session->profile();
  EXPECT_NE(json.find("\"runs\": 3"), std::string::npos) << json;
  EXPECT_NE(json.find("\"kernel\""), std::string::npos) << json;
  session->unloadFromDevice();
  fails([&] { session->profile(); }, ErrorCode::failed_precondition, {"device"});
  fails([&] { run(false)->profile(); }, ErrorCode::failed_precondition, {"profiling"});
}

}  // namespace

int main(int argc, char** argv) {
  program = argv[0];
  if (argc > 1 && std::string(argv[1]) == "exit-in-flight") return exit_in_flight();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
