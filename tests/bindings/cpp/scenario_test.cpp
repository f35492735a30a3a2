// The scenario list of tests/bindings/README.md in C++17. scenario_models_test.cpp has those about
// files, options of compilers, and files with several models.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>

#include "scenario_support.h"

namespace {

using namespace scenario;

std::string program;  // argv[0]

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

TEST(scenario, s72_numbers_outside_their_range) {
  const auto named = [](const std::string& file, const std::string& option,
                        const std::string& value) {
    CompilerOptions options;
    options.options = {{option, value}};
    return Compiler::compile(model(file), {}, options);
  };
  const auto look = [](ModelRunner& runner, int64_t last) {
    const std::vector<float> table = {0, 1, 2, 3, 4, 5};
    const std::vector<int64_t> ids = {2, 0, 1, last};
    std::vector<float> rows(8);
    std::vector<int64_t> next(4);
    runner.execute(InputMemoryView{{"table", view(table)}, {"ids", view(ids)}},
                   OutputMemoryView{{"rows", view(rows)}, {"next", view(next)}});
    return rows;
  };
  ModelRunner checked(compile("lookup.onnx"), config());
  fails([&] { look(checked, 3); }, ErrorCode::out_of_range, {"index 3"});
  EXPECT_EQ(look(checked, 2), (std::vector<float>{4, 5, 0, 1, 2, 3, 4, 5}));
  ModelRunner zero(named("lookup.onnx", "out_of_range", "zero"), config());
  EXPECT_EQ(look(zero, 3), (std::vector<float>{4, 5, 0, 1, 2, 3, 0, 0}));
  ModelRunner endless(compile("endless.onnx"), config());
  const std::vector<float> x(1);
  std::vector<float> y(1);
  fails([&] { endless.execute(InputMemoryView{{"x", view(x)}}, OutputMemoryView{{"y", view(y)}}); },
        ErrorCode::invalid_argument, {"turns"});
  ModelRunner bounded(named("range.onnx", "max_size", "n=4"), config());
  const auto count = [&](int64_t n) {
    const std::vector<int64_t> given = {n};
    std::vector<int64_t> numbers(4), shape(1);
    bounded.execute(InputMemoryView{{"n", view(given)}},
                    OutputMemoryView{{"y", view(numbers)}, {"y:shape", view(shape)}});
    numbers.resize(static_cast<size_t>(shape[0]));
    return numbers;
  };
  EXPECT_EQ(count(3), (std::vector<int64_t>{0, 1, 2}));
  fails([&] { count(5); }, ErrorCode::out_of_range, {"max_size"});
}

TEST(scenario, s70_positions_by_name) {
  ModelRunner runner(compile("lookup.onnx"), config());
  EXPECT_EQ(runner.inputIndex("table"), 0u);
  EXPECT_EQ(runner.inputIndex("ids"), 1u);
  EXPECT_EQ(runner.outputIndex("rows"), 0u);
  EXPECT_EQ(runner.outputIndex("next"), 1u);
  fails([&] { runner.inputIndex("nope"); }, ErrorCode::not_found, {"nope", "table"});
}

TEST(scenario, s71_batching_refusal) {
  const auto executable = compile("softmax.onnx", {{"x", {2, 4}}});
  EXPECT_EQ(executable->batchingRefusal(0), "");
  EXPECT_NE(executable->batchingRefusal(1).find("Softmax"), std::string::npos);
  fails([&] { executable->batchingRefusal(2); }, ErrorCode::invalid_argument, {"[2,4]"});
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

// Memory is bytes: a wrong type is noticed only by its size.
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
  fails([] { Executable{model("affine.onnx")}; }, ErrorCode::invalid_argument);
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

// 15: destroyed objects cannot be used in C++; a stopped runner reports an error.
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

// 18, 19: C++ returns futures; code after get() runs on the thread that waits.
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

TEST(scenario, s69_options_of_a_request) {
  auto c = config();
  c.replicationFactor = 2;
  c.batchesPerStep = 4;
  c.timeoutNS = 0;  // a step waits for ever
  ModelRunner runner(affine(), c);
  Client k(0);
  poprt::runtime::RequestOptions options;
  options.atOnce = true;
  options.replica = 1;
  runner.submitWith(k.in, k.out, options).wait();
  EXPECT_TRUE(k.right());
  EXPECT_EQ(runner.counters(1).completed, 1U);
  poprt::runtime::RequestOptions late;
  late.timeout = std::chrono::milliseconds(5);
  fails([&] { runner.submitWith(k.in, k.out, late).wait(); }, ErrorCode::deadline_exceeded);
  options.replica = 2;
  fails([&] { runner.submitWith(k.in, k.out, options); }, ErrorCode::not_found, {"no replica 2"});
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
  // Runs in flight are never freed, so the leak checker is off.
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

}  // namespace

int main(int argc, char** argv) {
  program = argv[0];
  if (argc > 1 && std::string(argv[1]) == "exit-in-flight") return exit_in_flight();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
