// Scenarios about the content of files, options of compilers, and files with several models.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>

#include "scenario_support.h"

namespace {

using namespace scenario;

TEST(scenario, s64_plugins) {
  fails([&] { poprt::loadPlugin("missing.so"); }, ErrorCode::not_found, {"missing.so"});
  fails([&] { poprt::loadPlugin(model("affine.onnx")); }, ErrorCode::failed_precondition,
        {"no shared library"});
  EXPECT_EQ(poprt::listPlugins().front(), '[');
}

TEST(scenario, s74_options_by_name) {
  CompilerOptions options;
  options.options = {{"input_shape", "x=2,4"}, {"num_io_tiles", "32"}};
  const auto metadata = Compiler::compile(model("affine.onnx"), {}, options)->getMetadata();
  EXPECT_EQ(metadata.anchors()[0].tensorInfo().shape(), (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(metadata.engineOptions().at(1).name(), "num_io_tiles");
  EXPECT_EQ(metadata.engineOptions().at(1).value(), "32");
  EXPECT_NE(Compiler::listOptions().find("num_io_tiles"), std::string::npos);
  options.options = {{"nonsense", "1"}};
  fails([&] { Compiler::compile(model("affine.onnx"), {}, options); }, ErrorCode::invalid_argument,
        {"nonsense"});
  options.options = {{"compiler_options", "virtual_graph_mode=executionPhases"}};
  fails([&] { Compiler::compile(model("affine.onnx"), {}, options); }, ErrorCode::unimplemented,
        {"virtual_graph_mode"});
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
  fails([&] { reader->parseFile(model("affine.onnx")); }, ErrorCode::invalid_argument,
        {"affine.onnx"});
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

// Makes the compiler warn: the cache folder is a file.
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
  poprt::setLogCallback(counting);  // replaces the first callback
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
  fails([&] { Executable::fuse({fused}); }, ErrorCode::invalid_argument, {"several variants"});
  fails([] { Executable::fuse({}); }, ErrorCode::invalid_argument, {"no models"});
  const std::string file = "scenario_61_fused.onnx";
  Compiler::fuse({model("weights.onnx"), model("weights.onnx")}, file);
  EXPECT_EQ(ModelRunner(*Compiler::compile(file, {}, {}), config()).getExecuteInputs().size(), 2u);
  std::remove(file.c_str());
}

TEST(scenario, s73_damaged_and_truncated_file) {
  const std::string path = "scenario_73_weights.popef";
  compile("weights.onnx")->save(path);
  RuntimeConfig copied = config();
  copied.load = "copy";
  std::string data;
  {
    ModelRunner runner(Executable::load(path), copied);
    std::ifstream in(path, std::ios::binary);
    data.assign(std::istreambuf_iterator<char>(in), {});
    ASSERT_EQ(::truncate(path.c_str(), 0), 0);
    std::vector<float> x(8), y(8);
    std::iota(x.begin(), x.end(), 0.0f);
    runner.execute({{"x", view(std::as_const(x))}}, {{"y", view(y)}});
    EXPECT_EQ(y, (std::vector<float>{1, 3, 7, 13, 5, 11, 19, 29}));
  }
  const size_t at = data.find(std::string("\0\0\x40\x40\0\0\x80\x40", 8));
  ASSERT_NE(at, data.npos);
  data[at] ^= 1;
  std::ofstream(path, std::ios::binary) << data;
  ModelRunner(Executable::load(path), config());
  RuntimeConfig verified = config();
  verified.verify = true;
  fails([&] { ModelRunner(Executable::load(path), verified); }, ErrorCode::data_loss,
        {path, "'weights'", "is damaged"});
  fails([&] { poprt::dumpPopef(path, poprt::DumpFormat::verify); }, ErrorCode::data_loss,
        {"is damaged"});
  copied.load = "slow";
  fails([&] { ModelRunner(Executable::load(path), copied); }, ErrorCode::invalid_argument,
        {"slow"});
  std::remove(path.c_str());
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
    ASSERT_EQ(m->opaqueBlobs.size(), 2u);
    EXPECT_EQ(m->opaqueBlobs[1].name, "poprt.rows");
    EXPECT_EQ(m->opaqueBlobs[0].name, "notes");
    EXPECT_EQ(m->opaqueBlobs[0].executable, "affine");
  }
  options.opaqueBlobs = {{"", ""}};
  fails([&] { Compiler::compile(model("affine.onnx"), {}, options); }, ErrorCode::invalid_argument,
        {"name"});
  options.opaqueBlobs.clear();
  options.embedSource = true;
  const auto embedded = Compiler::compile(model("affine.onnx"), {}, options)->getPopefModel();
  ASSERT_EQ(embedded->opaqueBlobs.size(), 2u);
  EXPECT_EQ(embedded->opaqueBlobs[1].name, "poprt.source");
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

// A runner of affine whose shapes are compiled on demand, with a separate cache.
struct OnDemand {
  explicit OnDemand(CompilerOptions options = {}, RuntimeConfig c = config()) {
    ::mkdtemp(folder);
    options.cachePath = folder;
    options.enableEngineCaching = true;
    runner = std::make_unique<ModelRunner>(*Compiler::load(model("affine.onnx"), options), c);
  }
  ~OnDemand() {
    runner.reset();  // waits until the compiling thread has written its cache entry
    std::filesystem::remove_all(folder);
  }
  OnDemand(const OnDemand&) = delete;
  OnDemand& operator=(const OnDemand&) = delete;

  char folder[32] = "/tmp/poprt_scenario_XXXXXX";
  std::unique_ptr<ModelRunner> runner;
};

void check_rows(ModelRunner& runner, size_t rows) {
  std::vector<float> x(4 * rows), y(4 * rows);
  std::iota(x.begin(), x.end(), 0.0f);
  runner.execute({{"x", view(x)}}, {{"y", view(y)}});
  for (size_t i = 0; i < x.size(); i++) EXPECT_EQ(y[i], 2 * x[i] + 1);
}

TEST(scenario, s80_any_shape) {
  OnDemand on_demand;
  for (const size_t rows : {3, 1, 3}) check_rows(*on_demand.runner, rows);
}

TEST(scenario, s81_batch_compiled_ahead) {
  CompilerOptions options;
  options.batchSize = 2;
  OnDemand on_demand(options);
  EXPECT_EQ(on_demand.runner->getExecuteInputs().at(0).shape, (std::vector<int64_t>{2, 4}));
  for (const size_t rows : {2, 5, 1}) check_rows(*on_demand.runner, rows);
}

TEST(scenario, s100_a_popef_file_at_any_shape) {
  char folder[] = "/tmp/poprt_scenario_XXXXXX";
  ::mkdtemp(folder);
  const std::string file = std::string(folder) + "/affine.popef";
  const auto load = [&](bool source, poprt::compiler::Precision precision) {
    CompilerOptions made, options;
    made.inputShape["x"] = {2, 4};
    made.embedSource = source;
    Compiler::compileAndExport(model("affine.onnx"), {}, file, made);
    options.shapes = "on_demand";
    options.precision = precision;
    options.cachePath = folder;
    options.enableEngineCaching = true;
    return Compiler::load(file, options);
  };
  {
    ModelRunner runner(*load(true, poprt::compiler::Precision::keep), config());
    for (const size_t rows : {3, 2, 1, 3}) check_rows(runner, rows);
  }
  fails([&] { load(true, poprt::compiler::Precision::fp16); }, ErrorCode::invalid_argument,
        {"precision"});
  fails([&] { load(false, poprt::compiler::Precision::keep); }, ErrorCode::failed_precondition,
        {"embedSource"});
  std::filesystem::remove_all(folder);
}

TEST(scenario, s82_warm_up) {
  OnDemand on_demand;
  on_demand.runner->warmUp({{"x", {2, 4}}});
  on_demand.runner->warmUp("x=8,4/9,4");
  const std::string json = on_demand.runner->statistics();
  EXPECT_NE(json.find("\"compiled\": 3"), std::string::npos) << json;
  fails([&] { on_demand.runner->warmUp({{"z", {2, 4}}}); }, ErrorCode::not_found, {"z"});
  ModelRunner fixed(*affine(), config());
  fails([&] { fixed.warmUp("x=2,4"); }, ErrorCode::unimplemented, {"fixed"});
}

TEST(scenario, s112_open_dimensions) {
  CompilerOptions options;
  options.batchSize = 2;
  const OnDemand on_demand(options);
  const std::string open = on_demand.runner->openDimensions();
  EXPECT_NE(open.find("\"on_demand\": true"), std::string::npos) << open;
  EXPECT_NE(open.find("\"N\""), std::string::npos) << open;
  const std::string fixed = ModelRunner(*affine(), config()).openDimensions();
  EXPECT_NE(fixed.find("\"on_demand\": false"), std::string::npos) << fixed;
  EXPECT_EQ(fixed.find("\"N\""), std::string::npos) << fixed;
}

TEST(scenario, s83_shape_sets) {
  CompilerOptions options;
  options.shapeSets = {{{"x", {1, 4}}}, {{"x", {4, 4}}}};
  ModelRunner runner(*Compiler::compile(model("affine.onnx"), {}, options), config());
  for (const size_t rows : {3, 1, 4}) check_rows(runner, rows);
  fails([&] { check_rows(runner, 5); }, ErrorCode::invalid_argument, {"5"});
}

TEST(scenario, s84_shapes_are_removed) {
  RuntimeConfig c = config();
  c.maxShapes = 1;
  OnDemand on_demand({}, c);
  for (const size_t rows : {1, 2, 3, 4}) check_rows(*on_demand.runner, rows);
  const std::string json = on_demand.runner->statistics();
  EXPECT_NE(json.find("\"removed\": 3"), std::string::npos) << json;
}

TEST(scenario, s123_memory_of_shapes) {
  RuntimeConfig c = config();
  c.maxShapeMemory = 4096;
  OnDemand on_demand({}, c);
  check_rows(*on_demand.runner, 3);
  fails([&] { check_rows(*on_demand.runner, 1000); }, ErrorCode::invalid_argument,
        {"32000 bytes", "4096"});
  check_rows(*on_demand.runner, 3);
}

TEST(scenario, s93_precision_of_a_runner) {
  CompilerOptions options;
  options.inputShape = {{"x", {2, 4}}};
  const auto e = Compiler::compile(model("linear.onnx"), {}, options);
  std::vector<float> x(8), y(8);
  std::iota(x.begin(), x.end(), 0.0f);
  RuntimeConfig c = config();
  c.load = "copy";
  for (const auto& [precision, factor] :
       {std::pair<std::string, float>{"", 1 + 0x1p-10f + 0x1p-12f},
        {"f32", 1 + 0x1p-10f + 0x1p-12f},
        {"auto", 1 + 0x1p-10f + 0x1p-12f},
        {"f16", 1 + 0x1p-10f},
        {"bf16", 1.0f}}) {
    c.executionPrecision = precision;
    ModelRunner runner(*e, c);
    runner.execute({{"x", ConstTensorMemoryView(x.data(), 32)}},
                   {{"y", TensorMemoryView(y.data(), 32)}});
    for (size_t i = 0; i < 8; i++) EXPECT_EQ(y[i], x[i] * factor) << precision;
  }
  c.executionPrecision = "int8";
  fails([&] { ModelRunner runner(*e, c); }, ErrorCode::invalid_argument, {"int8"});
}

TEST(scenario, s90_estimate) {
  CompilerOptions options;
  options.inputShape = {{"x", {2, 4}}};
  const auto e = Compiler::estimate(model("affine.onnx"), {}, options);
  EXPECT_GT(e->cycles(), 0);
  EXPECT_NEAR(e->milliseconds(), static_cast<double>(e->cycles()) / 1.5e6, 1e-9);
  EXPECT_GT(e->throughput(), 0);
  EXPECT_EQ(e->samples(), 2);
  EXPECT_TRUE(e->fits());
  EXPECT_EQ(e->availableBytes(), 638976u);
  EXPECT_EQ(e->target(), "c600");
  EXPECT_EQ(e->json().rfind("{\"cycles\":", 0), 0u);
  EXPECT_EQ(e->report().rfind("Target: c600 (ipu21)", 0), 0u);
  EXPECT_EQ(e->svg().rfind("<svg", 0), 0u);
  EXPECT_EQ(e->cycleQuality().rfind("unchecked", 0), 0u);
  EXPECT_EQ(e->memoryQuality().rfind("checked", 0), 0u);
  options.options["estimate_target"] = "mk1";
  const auto first = Compiler::estimate(model("affine.onnx"), {}, options);
  EXPECT_EQ(first->availableBytes(), 262144u);
  EXPECT_NEAR(first->milliseconds(), static_cast<double>(first->cycles()) / 1.6e6, 1e-9);
  fails([&] { Compiler::estimate(model("missing.onnx"), {}, options); }, ErrorCode::not_found,
        {"missing.onnx"});
  options.options["estimate_target"] = "ipu9";
  fails([&] { Compiler::estimate(model("affine.onnx"), {}, options); }, ErrorCode::invalid_argument,
        {"ipu9"});
}

TEST(scenario, s114_numbers_of_an_estimate) {
  CompilerOptions options;
  options.inputShape = {{"x", {2, 4}}};
  const auto e = Compiler::estimate(model("affine.onnx"), {}, options);
  const std::string json = e->json();
  const auto after = [&](const std::string& text, size_t from = 0) {
    const size_t at = json.find(text, from);
    EXPECT_NE(at, std::string::npos) << text;
    return at + text.size();
  };
  const auto number = [&](const std::string& name) {
    return std::strtod(json.c_str() + after('"' + name + "\":"), nullptr);
  };
  const auto quality = [&](const std::string& name) {
    const size_t trust = after("\"trust\":\"", after('"' + name + "\":", after("\"quality\":")));
    const size_t error = after("\"error\":\"", trust);
    return json.substr(trust, json.find('"', trust) - trust) + ": error " +
           json.substr(error, json.find('"', error) - error);
  };
  EXPECT_EQ(static_cast<double>(e->cycles()), number("cycles"));
  EXPECT_EQ(static_cast<double>(e->samples()), number("samples"));
  EXPECT_EQ(e->milliseconds(), number("milliseconds"));
  EXPECT_EQ(e->periodMilliseconds(), number("period_milliseconds"));
  EXPECT_EQ(e->latencyMilliseconds(), number("latency_milliseconds"));
  EXPECT_EQ(e->hostMilliseconds(), number("host_milliseconds"));
  EXPECT_EQ(e->throughput(), number("throughput"));
  EXPECT_EQ(e->utilization(), number("utilization"));
  EXPECT_EQ(static_cast<double>(e->tileBytes()), number("bytes_with_gaps"));
  EXPECT_EQ(static_cast<double>(e->availableBytes()), number("available"));
  EXPECT_EQ(e->cycleQuality(), quality("cycles"));
  EXPECT_EQ(e->memoryQuality(), quality("memory"));
  EXPECT_EQ(e->hostQuality(), quality("host"));
}

TEST(scenario, s125_an_estimate_of_the_command) {
  const auto without_spaces = [](std::string text) {
    text.erase(std::remove_if(text.begin(), text.end(),
                              [](unsigned char c) { return std::isspace(c) != 0; }),
               text.end());
    return text;
  };
  for (const auto& [name, target] :
       {std::pair("affine.onnx", "mk2"), std::pair("linear.onnx", "bow")}) {
    CompilerOptions options;
    options.inputShape = {{"x", {2, 4}}};
    options.options["estimate_target"] = target;
    const std::string command = std::string(std::getenv("POPRT_BIN")) + "/poprt_exec estimate " +
                                model(name) + " --input_shape x=2,4 --target " + target +
                                " --verbose --json";
    FILE* const output = popen(command.c_str(), "r");
    ASSERT_NE(output, nullptr);
    std::string printed;
    for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output))
      printed += static_cast<char>(c);
    EXPECT_EQ(pclose(output), 0);
    EXPECT_EQ(without_spaces(Compiler::estimate(model(name), {}, options)->json()),
              without_spaces(printed));
  }
}

TEST(scenario, s126_names_of_options_in_errors) {
  CompilerOptions options;
  options.batchSize = -1;
  fails([&] { Compiler::compile(model("affine.onnx"), {}, options); }, ErrorCode::invalid_argument,
        {"batchSize is -1"});
  RuntimeConfig c = config();
  c.queueDepth = -1;
  fails([&] { ModelRunner(affine(), c); }, ErrorCode::invalid_argument, {"queueDepth is -1"});
  CompilerOptions by_name;
  by_name.options = {{"calibration_with_data", "1"}};
  fails([&] { Compiler::compile(model("affine.onnx"), {}, by_name); }, ErrorCode::invalid_argument,
        {"`calibration_with_data` needs `data_preprocess`"});
}

TEST(scenario, s91_an_estimate_in_the_executable) {
  const std::string path = "scenario_91_cpp.popef";
  CompilerOptions options;
  options.inputShape = {{"x", {2, 4}}};
  const auto cycles = Compiler::estimate(model("affine.onnx"), {}, options)->cycles();
  fails([&] { Compiler::compile(model("affine.onnx"), {}, options)->estimate(); },
        ErrorCode::not_found, {"estimate"});
  options.options["estimate"] = "True";
  const auto executable = Compiler::compile(model("affine.onnx"), {}, options);
  executable->save(path);
  const std::string start = "{\"cycles\":" + std::to_string(cycles) + ",";
  EXPECT_EQ(executable->estimate().rfind(start, 0), 0u);
  EXPECT_EQ(Executable(path).estimate().rfind(start, 0), 0u);
  std::remove(path.c_str());
}

}  // namespace
