// Models whose shapes are compiled when their first request arrives: from files and
// from the cache, compared with runners of one shape. tests/run_long on_demand runs the random
// requests for longer: POPRT_ON_DEMAND_REQUESTS is their number.
#include <gtest/gtest.h>
#include <poprt/poprt.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "capi/onnx_bytes.h"
#include "support/sanitized.h"

namespace {

namespace fs = std::filesystem;
using poprt::test::message_for;
using poprt::test::onnx;
using Executable = std::unique_ptr<poprt_executable, void (*)(poprt_executable*)>;
using Runner = std::unique_ptr<poprt_runner, void (*)(poprt_runner*)>;
using Shape = std::vector<int64_t>;

// y [n, n] = softmax(x xT) of x [n, m]: rows affect each other.
const std::string kProduct =
    onnx({{"Transpose", {"x"}, "t"}, {"MatMul", {"x", "t"}, "g"}, {"Softmax", {"g"}, "y"}},
         {{"x", 1, {-1, -1}}}, {{"y", 1, {-1, -1}}});

class OnDemand : public testing::Test {
 protected:
  OnDemand() {
    char pattern[] = "/tmp/poprt_on_demand_XXXXXX";
    folder_ = ::mkdtemp(pattern);
    ::setenv("POPART_CACHE_DIR", (folder_ / "cache").c_str(), 1);
  }
  ~OnDemand() override {
    ::unsetenv("POPART_CACHE_DIR");
    fs::remove_all(folder_);
  }

  std::string write(const std::string& model, const char* name = "model.onnx") const {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << model;
    return path;
  }
  static poprt_compile_options options() {
    poprt_compile_options o{};
    o.struct_size = sizeof o;
    return o;
  }
  static Executable load(const std::string& path, poprt_compile_options o = options(),
                         const std::string& wanted = "ok") {
    poprt_executable* made = nullptr;
    EXPECT_EQ(message_for(poprt_executable_load(path.c_str(), &o, &made)), wanted);
    return {made, poprt_executable_free};
  }
  static Runner runner_of(const Executable& executable, int32_t max_shapes = 0,
                          const char* execution_precision = nullptr,
                          const std::string& wanted = "ok") {
    poprt_runner_options o{};
    o.struct_size = sizeof o;
    o.max_shapes = max_shapes;
    o.execution_precision = execution_precision;
    poprt_runner* made = nullptr;
    EXPECT_EQ(message_for(poprt_runner_create(executable.get(), &o, &made)), wanted);
    return {made, poprt_runner_free};
  }
  static Runner fixed_runner(const std::string& model, const char* input, const Shape& shape) {
    poprt_compile_options o = options();
    const poprt_input_shape given{input, shape.data(), shape.size()};
    o.input_shapes = &given;
    o.input_shape_count = 1;
    poprt_compiler* compiler = nullptr;
    poprt_executable* executable = nullptr;
    EXPECT_EQ(message_for(poprt_compiler_create(&o, &compiler)), "ok");
    EXPECT_EQ(message_for(poprt_compiler_compile_bytes(compiler, model.data(), model.size(),
                                                       nullptr, &executable)),
              "ok");
    poprt_compiler_free(compiler);
    return runner_of(Executable(executable, poprt_executable_free));
  }
  // The bytes of output 0, or the error.
  static std::string run(poprt_runner* runner, const Shape& shape, std::vector<float>& values) {
    const poprt_tensor in{nullptr,         0, values.data(), 0,
                          POPRT_DTYPE_F32, 0, shape.data(),  shape.size()};
    poprt_outputs* outputs = nullptr;
    if (poprt_error* error = poprt_runner_run(runner, &in, 1, &outputs)) return message_for(error);
    const poprt_tensor* y = poprt_outputs_at(outputs, 0);
    std::string bytes(static_cast<const char*>(y->data), y->bytes);
    poprt_outputs_free(outputs);
    return bytes;
  }
  static std::vector<float> random_values(const Shape& shape, std::mt19937& random) {
    size_t count = 1;
    for (const int64_t d : shape) count *= static_cast<size_t>(d);
    std::vector<float> values(count);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& v : values) v = uniform(random);
    return values;
  }
  static std::string statistics(poprt_runner* runner) {
    poprt_string* json = nullptr;
    EXPECT_EQ(message_for(poprt_runner_statistics(runner, &json)), "ok");
    std::string text = poprt_string_data(json);
    poprt_string_free(json);
    return text.substr(text.find("\"shapes\""));
  }
  // The number after a key of the statistics of shapes.
  static int counted(poprt_runner* runner, const std::string& key) {
    const std::string text = statistics(runner);
    return std::stoi(text.substr(text.rfind("\"" + key + "\": ") + key.size() + 4));
  }
  size_t cached_files() const {
    size_t count = 0;
    if (fs::exists(folder_ / "cache"))
      for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_ / "cache")) count++;
    return count;
  }

  fs::path folder_;
};

// Programs after the first read its weights through an input of this name.
TEST_F(OnDemand, TheNameOfSharedWeightsIsReserved) {
  const std::string model =
      onnx({{"Relu", {"poprt.shared"}, "y"}}, {{"poprt.shared", 1, {-1}}}, {{"y", 1, {-1}}});
  load(write(model), options(), "invalid_argument: the name 'poprt.shared' is reserved");
  const Runner fixed = fixed_runner(model, "poprt.shared", {2});
  std::vector<float> x = {-1, 2};
  EXPECT_EQ(run(fixed.get(), {2}, x).size(), 8u);
}

TEST_F(OnDemand, AnOnnxFileWithOpenSizesRunsAnyShape) {
  const Executable executable = load(write(kProduct));
  const poprt_anchor* x = poprt_executable_input(executable.get(), 0);
  EXPECT_EQ(poprt_anchor_shape(x)[0], -1);
  EXPECT_EQ(poprt_anchor_bytes(x), 0u);
  const Runner runner = runner_of(executable);
  std::mt19937 random(1);
  for (const Shape& shape : {Shape{3, 4}, Shape{4, 3}, Shape{1, 1}, Shape{3, 4}}) {
    std::vector<float> values = random_values(shape, random);
    const Runner fixed = fixed_runner(kProduct, "x", shape);
    EXPECT_EQ(run(runner.get(), shape, values), run(fixed.get(), shape, values));
  }
  EXPECT_EQ(counted(runner.get(), "compiled"), 3);
  std::string text = statistics(runner.get());
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  for (const char* sizes : {R"({"x:0":3,"x:1":4})", R"({"x:0":4,"x:1":3})"})
    EXPECT_NE(text.find(sizes), std::string::npos) << text;
  // Memory without a shape is ambiguous.
  std::vector<float> values(12), y(9);
  const poprt_input in{"x", 0, values.data(), 48};
  const poprt_output out{"y", 0, y.data(), 36};
  EXPECT_EQ(
      message_for(poprt_runner_execute(runner.get(), &in, 1, &out, 1)),
      "invalid_argument: input 'x': 48 bytes do not determine its shape: give the shape, too");
}

// y [2, k] of x [n, 2]: the indices of the elements that are not zero.
TEST_F(OnDemand, OutputsHaveSizesThatDependOnData) {
  const std::string model =
      onnx({{"NonZero", {"x"}, "y"}}, {{"x", 1, {-1, 2}}}, {{"y", 7, {2, -1}}});
  for (const int64_t ahead : {0, 3}) {
    poprt_compile_options o = options();
    o.batch_size = ahead;
    const Runner runner = runner_of(load(write(model), o));
    for (const int64_t rows : {3, 2, 5, 3})
      for (const int64_t set : {1, 0, 2}) {
        std::vector<float> values(static_cast<size_t>(rows) * 2, 0.0f);
        for (int64_t i = 0; i < set; i++) values[static_cast<size_t>(2 * i + 1)] = 1;
        const Shape shape{rows, 2};
        const poprt_tensor in{"x", 0, values.data(), 0, POPRT_DTYPE_F32, 0, shape.data(), 2};
        poprt_outputs* outputs = nullptr;
        ASSERT_EQ(message_for(poprt_runner_run(runner.get(), &in, 1, &outputs)), "ok");
        ASSERT_EQ(poprt_outputs_count(outputs), 1u) << "the output y:shape is removed";
        const poprt_tensor* y = poprt_outputs_at(outputs, 0);
        ASSERT_EQ(y->rank, 2u);
        EXPECT_EQ(y->shape[0], 2);
        ASSERT_EQ(y->shape[1], set) << rows;
        for (int64_t i = 0; i < set; i++) {
          EXPECT_EQ(static_cast<const int64_t*>(y->data)[i], i);
          EXPECT_EQ(static_cast<const int64_t*>(y->data)[set + i], 1);
        }
        poprt_outputs_free(outputs);
      }
  }
}

// The shapes of requests are compiled in the precision of the runner, whether one was compiled
// ahead or not.
TEST_F(OnDemand, ThePrecisionOfARunnerIsThatOfAllShapes) {
  for (const int64_t ahead : {0, 4}) {
    poprt_compile_options o = options();
    o.batch_size = ahead;
    const Executable executable = load(DIGITS, o);
    const Runner exact = runner_of(executable), rounded = runner_of(executable, 0, "bf16"),
                 again = runner_of(executable, 0, "bf16");
    std::mt19937 random(2);
    for (const int64_t rows : {4, 1, 7}) {
      const Shape shape{rows, 1, 8, 8};
      // While a shape is compiled, a larger one may compute the request, with different rounding.
      for (const Runner* runner : {&exact, &rounded, &again})
        ASSERT_EQ(message_for(poprt_runner_warm_up(
                      runner->get(), ("image=" + std::to_string(rows) + ",1,8,8").c_str())),
                  "ok");
      std::vector<float> values = random_values(shape, random);
      const std::string a = run(exact.get(), shape, values), b = run(rounded.get(), shape, values);
      ASSERT_EQ(a.size(), static_cast<size_t>(rows) * 40) << a;
      ASSERT_EQ(b.size(), a.size()) << b;
      EXPECT_NE(a, b) << "both factors are rounded";
      for (size_t i = 0; i < a.size(); i += 4) {
        float x = 0, y = 0;
        std::memcpy(&x, a.data() + i, 4);
        std::memcpy(&y, b.data() + i, 4);
        ASSERT_NEAR(x, y, 0.1f + 0.02f * std::abs(x)) << rows;
      }
      EXPECT_EQ(run(again.get(), shape, values), b) << rows << " rows, compiled ahead: " << ahead;
    }
    runner_of(executable, 0, "int8",
              "invalid_argument: `execution_precision`: expected f32, bf16, f16 or auto, found "
              "'int8'");
  }
}

TEST_F(OnDemand, AReproducibleModelRefusesAnotherPrecision) {
  poprt_compile_options o = options();
  const poprt_option reproducible{"reproducible", "True"};
  o.options = &reproducible;
  o.option_count = 1;
  const Executable executable = load(DIGITS, o);
  runner_of(executable, 0, "bf16",
            "invalid_argument: `reproducible` computes products in f32, and `execution_precision` "
            "is bf16");
}

// The compiler records them under their own names, which a caller cannot give.
TEST_F(OnDemand, EntriesOfCompilerOptionsApplyToShapesOfBytes) {
  poprt_compile_options o = options();
  const poprt_option entries{"compiler_options",
                             "num_ipus=2\nvirtual_graph_mode=auto\npartials_type=float"};
  o.options = &entries;
  o.option_count = 1;
  o.shapes = "on_demand";
  poprt_compiler* compiler = nullptr;
  ASSERT_EQ(message_for(poprt_compiler_create(&o, &compiler)), "ok");
  const std::unique_ptr<poprt_compiler, void (*)(poprt_compiler*)> owner(compiler,
                                                                         poprt_compiler_free);
  poprt_executable* made = nullptr;
  ASSERT_EQ(message_for(poprt_compiler_compile_bytes(compiler, kProduct.data(), kProduct.size(),
                                                     nullptr, &made)),
            "ok");
  const Executable executable(made, poprt_executable_free);
  std::mt19937 random(5);
  for (const char* precision : {"", "f32"}) {
    const Runner runner = runner_of(executable, 0, precision);
    for (const Shape& shape : {Shape{2, 3}, Shape{5, 4}}) {
      std::vector<float> values = random_values(shape, random);
      const std::string wanted = run(fixed_runner(kProduct, "x", shape).get(), shape, values);
      EXPECT_EQ(run(runner.get(), shape, values), wanted);
    }
  }
}

// If wrong options were accepted, a server would start, and each of its requests would fail.
TEST_F(OnDemand, WrongOptionsOfARunnerAreRefusedBeforeTheFirstRequest) {
  const Executable executable = load(DIGITS);
  const auto refusal = [&](auto&& change) {
    poprt_runner_options o{};
    o.struct_size = sizeof o;
    change(o);
    poprt_runner* runner = nullptr;
    const std::string message = message_for(poprt_runner_create(executable.get(), &o, &runner));
    EXPECT_EQ(runner, nullptr) << message;
    return message;
  };
  for (const int threads : {-1, 5000})
    EXPECT_EQ(refusal([&](auto& o) { o.threads = threads; }),
              "invalid_argument: threads must be 1 to 1024, or 0 for the default; given " +
                  std::to_string(threads));
  EXPECT_EQ(refusal([](auto& o) { o.replication_factor = -1; }),
            "invalid_argument: replication factor must be 1 to 1024, given -1");
  EXPECT_EQ(refusal([](auto& o) { o.execution_precision = "int4"; }),
            "invalid_argument: `execution_precision`: expected f32, bf16, f16 or auto, found "
            "'int4'");
  EXPECT_NE(refusal([](auto& o) { o.numerics = "slow"; }).find("'slow'"), std::string::npos);
  EXPECT_NE(refusal([](auto& o) {
              o.use_batching_dim = 1;
            }).find("`batching_dim` needs a compiled shape: the shapes of model"),
            std::string::npos);
  poprt_executable* none = nullptr;
  EXPECT_EQ(message_for(poprt_executable_load("", nullptr, &none)),
            "not_found: cannot open '': the path is empty");
}

TEST_F(OnDemand, TheBatchSizeIsCompiledAhead) {
  poprt_compile_options o = options();
  o.batch_size = 8;
  const Executable executable = load(DIGITS, o);
  EXPECT_EQ(poprt_anchor_shape(poprt_executable_input(executable.get(), 0))[0], 8);
  const Runner runner = runner_of(executable);
  EXPECT_EQ(counted(runner.get(), "compiled"), 0);
  std::mt19937 random(2);
  std::ifstream file(DIGITS, std::ios::binary);
  const std::string model{std::istreambuf_iterator<char>(file), {}};
  for (const int64_t rows : {8, 3, 1, 20}) {
    const Shape shape{rows, 1, 8, 8};
    std::vector<float> values = random_values(shape, random);
    const std::string answer = run(runner.get(), shape, values);
    ASSERT_EQ(answer.size(), static_cast<size_t>(rows) * 40) << answer;
    const std::string wanted = run(fixed_runner(model, "image", shape).get(), shape, values);
    for (size_t i = 0; i < answer.size(); i += 4) {
      float a = 0, b = 0;
      std::memcpy(&a, answer.data() + i, 4);
      std::memcpy(&b, wanted.data() + i, 4);
      ASSERT_NEAR(a, b, 1e-5f) << rows;  // a larger batch may have computed the rows
    }
    // Without a shape, the number of bytes determines it.
    std::vector<float> scores(static_cast<size_t>(rows) * 10);
    const poprt_input in{"image", 0, values.data(), values.size() * 4};
    const poprt_output out{"scores", 0, scores.data(), scores.size() * 4};
    EXPECT_EQ(message_for(poprt_runner_execute(runner.get(), &in, 1, &out, 1)), "ok");
  }
  // By position, it runs the shape that was compiled ahead.
  std::vector<float> values(8 * 64), scores(80);
  const void* in[] = {values.data()};
  void* out[] = {scores.data()};
  EXPECT_EQ(message_for(poprt_runner_execute_indexed(runner.get(), in, out)), "ok");
  const Executable open = load(DIGITS);
  EXPECT_EQ(message_for(poprt_runner_execute_indexed(runner_of(open).get(), in, out)),
            "unimplemented: no shape was compiled ahead, so that the sizes of the pointers are "
            "unknown: give `input_shapes` or `batch_size`, or name the anchors");
}

TEST_F(OnDemand, ShapesAreTakenFromTheCacheAndShareWeights) {
  const auto answer = [&](int64_t rows, const Runner& runner) {
    std::mt19937 random(3);
    const Shape shape{rows, 1, 8, 8};
    std::vector<float> values = random_values(shape, random);
    // Without this, a larger batch may compute the rows, and the last bits may differ.
    const std::string text = "image=" + std::to_string(rows) + ",1,8,8";
    EXPECT_EQ(message_for(poprt_runner_warm_up(runner.get(), text.c_str())), "ok");
    return run(runner.get(), shape, values);
  };
  std::map<int64_t, std::string> before;
  for (int process = 0; process < 2; process++) {
    const Runner runner = runner_of(load(DIGITS));
    for (const int64_t rows : {4, 2, 7}) {
      const std::string found = answer(rows, runner);
      if (process == 0)
        before[rows] = found;
      else
        EXPECT_EQ(found, before[rows]) << rows;
    }
    EXPECT_EQ(counted(runner.get(), "compiled"), process == 0 ? 3 : 0);
    EXPECT_EQ(counted(runner.get(), "from_cache"), process == 0 ? 0 : 3);
  }
  EXPECT_EQ(cached_files(), 3u);
  uintmax_t largest = 0, all = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "cache")) {
    largest = std::max(largest, entry.file_size());
    all += entry.file_size();
  }
  EXPECT_LT(all - largest, largest) << "weights are in the file of the first shape only";
  // A later shape of a runner whose first shape is from the cache shares weights, too.
  const Runner runner = runner_of(load(DIGITS));
  answer(4, runner);
  EXPECT_EQ(answer(5, runner).size(), 200u);
  EXPECT_EQ(counted(runner.get(), "compiled"), 1);
}

TEST_F(OnDemand, RunnersOfOneExecutableShareShapes) {
  const Executable executable = load(write(kProduct));
  const Runner a = runner_of(executable), b = runner_of(executable);
  std::mt19937 random(4);
  const Shape shape{5, 6};
  std::vector<float> values = random_values(shape, random);
  EXPECT_EQ(run(a.get(), shape, values), run(b.get(), shape, values));
}

TEST_F(OnDemand, WarmUpCompilesAhead) {
  const Runner runner = runner_of(load(write(kProduct)));
  EXPECT_EQ(message_for(poprt_runner_warm_up(runner.get(), "x=2,3/4,5/2,3")), "ok");
  EXPECT_EQ(counted(runner.get(), "compiled"), 2);
  EXPECT_EQ(message_for(poprt_runner_warm_up(runner.get(), "z=2,3")).substr(0, 9), "not_found");
  EXPECT_EQ(message_for(poprt_runner_warm_up(runner.get(), "x=2")),
            "invalid_argument: input 'x': expected f32[?,?] (? is any size), given [2]");
  EXPECT_EQ(message_for(poprt_runner_warm_up(runner.get(), "x")).substr(0, 16), "invalid_argument");
  EXPECT_EQ(message_for(poprt_runner_warm_up(runner.get(), "x=1,1\nx=2,2")).substr(0, 16),
            "invalid_argument");
  const Runner fixed = fixed_runner(kProduct, "x", {2, 2});
  EXPECT_EQ(message_for(poprt_runner_warm_up(fixed.get(), "x=2,2")).substr(0, 13), "unimplemented");
}

TEST_F(OnDemand, OpenDimensionsHaveTheNamesOfSizes) {
  const auto described = [](const Runner& runner) {
    poprt_string* json = nullptr;
    EXPECT_EQ(message_for(poprt_runner_open_dimensions(runner.get(), &json)), "ok");
    std::string text = poprt_string_data(json);
    poprt_string_free(json);
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    return text;
  };
  const std::string image = R"("inputs":{"image":["N",1,8,8]},"outputs":{"scores":["N",10]}})";
  EXPECT_EQ(described(runner_of(load(DIGITS))), R"({"on_demand":true,)" + image);
  poprt_compile_options batch = options();
  batch.batch_size = 8;
  EXPECT_EQ(described(runner_of(load(DIGITS, batch))), R"({"on_demand":true,)" + image);
  // The sizes of y are known when the shape is compiled, because they have no names in the model.
  const Runner runner = runner_of(load(write(kProduct)));
  EXPECT_EQ(described(runner), R"({"on_demand":true,"inputs":{"x":["x:0","x:1"]},)"
                               R"("outputs":{"y":[null,null]}})");
  EXPECT_EQ(described(fixed_runner(kProduct, "x", {2, 3})),
            R"({"on_demand":false,"inputs":{"x":[2,3]},"outputs":{"y":[2,2]}})");
  const Executable shared = load(DIGITS, batch);
  poprt_runner_options merging{};
  merging.struct_size = sizeof merging;
  merging.use_batching_dim = 1;
  poprt_runner* made = nullptr;
  EXPECT_EQ(message_for(poprt_runner_create(shared.get(), &merging, &made)), "ok");
  EXPECT_EQ(described(Runner(made, poprt_runner_free)),
            R"({"on_demand":false,"inputs":{"image":[8,1,8,8]},"outputs":{"scores":[8,10]}})");
}

// No shape makes the operator possible, so that the model is refused before its first request.
TEST_F(OnDemand, AnOperatorThatIsNotSupportedIsRefusedAtTheLoad) {
  const std::string path = write(onnx({{"Mystery", {"x"}, "t"}, {"Relu", {"t"}, "y"}},
                                      {{"x", 1, {-1, -1}}}, {{"y", 1, {-1, -1}}}));
  poprt_executable* made = nullptr;
  const std::string text = message_for(poprt_executable_load(path.c_str(), nullptr, &made));
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(text.substr(0, text.find(' ')), "unimplemented:");
  EXPECT_NE(text.find("operator Mystery of domain 'ai.onnx' is not supported"), std::string::npos)
      << text;
}

TEST_F(OnDemand, OptionsThatExcludeEachOtherAreRefused) {
  const std::string path = write(kProduct);
  const auto answer = [&](const char* shapes, std::vector<poprt_input_shape> given) {
    poprt_compile_options o = options();
    o.shapes = shapes;
    o.input_shapes = given.data();
    o.input_shape_count = given.size();
    poprt_executable* made = nullptr;
    const std::string text = message_for(poprt_executable_load(path.c_str(), &o, &made));
    poprt_executable_free(made);
    return text.substr(0, text.find(':'));
  };
  const int64_t small[] = {2, 3}, large[] = {4, 3};
  const poprt_input_shape one{"x", small, 2}, other{"x", large, 2};
  EXPECT_EQ(answer("sometimes", {}), "invalid_argument");
  EXPECT_EQ(answer("buckets", {one}), "invalid_argument");
  EXPECT_EQ(answer("fixed", {one, other}), "invalid_argument");
  EXPECT_EQ(answer("on_demand", {one, other}), "invalid_argument");
  EXPECT_EQ(answer("fixed", {}), "invalid_argument") << "the sizes are open";
  EXPECT_EQ(answer("fixed", {one}), "ok");
  EXPECT_EQ(answer("on_demand", {one}), "ok");
  EXPECT_EQ(answer("buckets", {one, other}), "ok");
}

TEST_F(OnDemand, AnEstimateNeedsOneShape) {
  const std::string path = write(kProduct);
  poprt_compile_options o = options();
  poprt_option estimate{"estimate", "True"};
  o.options = &estimate;
  o.option_count = 1;
  o.shapes = "on_demand";
  load(path, o,
       "unimplemented: `estimate` is for a model at one shape, and `shapes` is on_demand: give "
       "fixed");
  const int64_t sizes[] = {2, 3};
  const poprt_input_shape shape{"x", sizes, 2};
  o.input_shapes = &shape;
  o.input_shape_count = 1;
  o.shapes = nullptr;
  const Executable executable = load(path, o);
  poprt_string* json = nullptr;
  EXPECT_EQ(message_for(poprt_executable_estimate(executable.get(), &json)), "ok");
  poprt_string_free(json);
}

TEST_F(OnDemand, RefusesSaveRunnerAndSessionWithoutAShape) {
  const Executable executable = load(write(kProduct));
  const std::string answer =
      message_for(poprt_executable_save(executable.get(), (folder_ / "x.popef").c_str()));
  EXPECT_EQ(answer.substr(0, 20), "failed_precondition:");
  EXPECT_NE(answer.find("batch_size"), std::string::npos) << answer;
  poprt_runner_options o{};
  o.struct_size = sizeof o;
  o.use_batching_dim = 1;
  poprt_runner* runner = nullptr;
  EXPECT_EQ(message_for(poprt_runner_create(executable.get(), &o, &runner)).substr(0, 20),
            "failed_precondition:");
  poprt_session* session = nullptr;
  EXPECT_EQ(message_for(poprt_session_create(executable.get(), nullptr, &session)).substr(0, 20),
            "failed_precondition:");
}

TEST_F(OnDemand, AModelWhoseSizesAreKnownHasAFixedRunner) {
  const std::string path = write(poprt::test::identity({"x", 1, {2, 3}}, {"y", 1, {2, 3}}));
  const Runner runner = runner_of(load(path));
  EXPECT_EQ(message_for(poprt_runner_warm_up(runner.get(), "x=2,3")).substr(0, 13),
            "unimplemented");
}

// Random requests of several threads over 16 shapes, of which few are kept, give the same bytes as
// runners of one shape.
TEST_F(OnDemand, RandomRequestsAgreeWithFixedRunners) {
  const char* const given = std::getenv("POPRT_ON_DEMAND_REQUESTS");
  const int requests = given ? std::atoi(given) : 2000;
  std::vector<std::pair<Shape, Runner>> fixed;
  for (int64_t n = 1; n <= 4; n++)
    for (const int64_t m : {1, 3, 8, 17})
      fixed.emplace_back(Shape{n, m}, fixed_runner(kProduct, "x", {n, m}));
  const Runner runner = runner_of(load(write(kProduct)), 12);
  constexpr int kThreads = 2;
  std::vector<std::thread> threads;
  std::array<int, kThreads> wrong{};
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < requests / kThreads; i++) {
        // Most requests have one of ten shapes, so that some shapes are removed but most are kept.
        const size_t at = random() % 100 < 98 ? random() % 10 : random() % fixed.size();
        const auto& [shape, own] = fixed[at];
        std::vector<float> values = random_values(shape, random);
        if (run(runner.get(), shape, values) != run(own.get(), shape, values)) wrong[t]++;
      }
    });
  for (std::thread& t : threads) t.join();
  for (const int count : wrong) EXPECT_EQ(count, 0);
  EXPECT_GE(counted(runner.get(), "removed"), requests >= 2000 ? 1 : 0);
  std::printf("%d requests, %d shapes removed\n", requests, counted(runner.get(), "removed"));
}

// A PopEF file with its source, compiled at one shape.
class OnDemandPopef : public OnDemand {
 protected:
  std::string compile(const std::string& model, const char* input, const Shape& shape,
                      poprt_compile_options o = options()) const {
    const poprt_input_shape given{input, shape.data(), shape.size()};
    if (o.input_shape_count == 0) {
      o.input_shapes = &given;
      o.input_shape_count = 1;
    }
    poprt_compiler* compiler = nullptr;
    EXPECT_EQ(message_for(poprt_compiler_create(&o, &compiler)), "ok");
    const std::string popef = folder_ / "model.popef";
    EXPECT_EQ(message_for(poprt_compiler_compile_to_popef(compiler, model.c_str(), popef.c_str())),
              "ok");
    poprt_compiler_free(compiler);
    return popef;
  }
  static poprt_compile_options with_source() {
    poprt_compile_options o = options();
    o.embed_source = 1;
    return o;
  }
  static poprt_compile_options on_demand() {
    poprt_compile_options o = options();
    o.shapes = "on_demand";
    return o;
  }
  // A file with an opaque blob, which may be a part of a source.
  std::string compile_with_blob(const std::string& name, const std::string& data,
                                poprt_compile_options o) const {
    const poprt_opaque_blob blob{name.c_str(), data.data(), data.size()};
    o.opaque_blobs = &blob;
    o.opaque_blob_count = 1;
    return compile(write(kProduct), "x", {2, 3}, o);
  }
  static std::string refused(const std::string& path, poprt_compile_options o = on_demand()) {
    poprt_executable* made = nullptr;
    const std::string text = message_for(poprt_executable_load(path.c_str(), &o, &made));
    poprt_executable_free(made);
    return text;
  }
};

// A PopEF file that is opened as it is.
TEST_F(OnDemandPopef, OptionsOfACompilationWarn) {
  const std::string popef = compile(write(kProduct), "x", {2, 3}, with_source());
  std::string warnings;
  poprt_log_set_callback(
      [](poprt_log_level, const char* message, void* to) {
        *static_cast<std::string*>(to) += std::string(message) + "\n";
      },
      &warnings);
  const auto warned = [&](const poprt_compile_options& o) {
    warnings.clear();
    EXPECT_NE(load(popef, o), nullptr);
    return warnings;
  };
  const auto text = [&](const std::string& names) {
    return "'" + popef +
           "' is compiled already, so that the options of a compilation have no effect: " + names +
           ". Compile the ONNX model with them, or give none\n";
  };
  const int64_t sizes[] = {4, 3};
  const poprt_input_shape shape{"x", sizes, 2};
  poprt_compile_options o = options();
  o.input_shapes = &shape;
  o.input_shape_count = 1;
  EXPECT_EQ(warned(o), text("input_shapes"));
  o.precision = POPRT_PRECISION_FP16;
  o.allow_links = 1;
  EXPECT_EQ(warned(o), text("input_shapes, precision, allow_links"));
  o = options();
  o.batch_size = 4;
  o.after_pass = [](const char*, int64_t, double, int64_t, int64_t, void*) {};
  EXPECT_EQ(warned(o), text("batch_size, after_pass"));
  o = options();
  o.shapes = "buckets";
  const poprt_input_shape twice[] = {shape, {"x", sizes, 2}};
  o.input_shapes = twice;
  o.input_shape_count = 2;
  EXPECT_EQ(warned(o), text("input_shapes, shapes"));

  const poprt_option named[] = {
      {"num_io_tiles", "32"}, {"precision", "fp16"}, {"check", "True"}, {"strict", "False"}};
  o = options();
  o.options = named;
  o.option_count = 4;
  EXPECT_EQ(warned(o), text("precision, num_io_tiles, check"));

  // Options of the cache and of runners act, or concern every file.
  o = options();
  o.cache_path = "cache";
  o.enable_engine_caching = 1;
  o.load = "copy";
  o.shapes = "fixed";
  o.stop = [](void*) -> int32_t { return 0; };
  o.progress = [](double, const char*, void*) {};
  EXPECT_EQ(warned(o), "");
  poprt_log_set_callback(nullptr, nullptr);

  poprt_executable* made = nullptr;
  EXPECT_EQ(message_for(poprt_executable_load(popef.c_str(), nullptr, &made)), "ok");
  poprt_executable_free(made);
  const auto refuses = [&](const poprt_option& given, const std::string& wanted) {
    o = options();
    o.options = &given;
    o.option_count = 1;
    load(popef, o, wanted);
  };
  refuses({"bach_size", "4"},
          "invalid_argument: there is no option 'bach_size'; did you mean 'batch_size'?");
  poprt_executable* none = nullptr;
  const poprt_option plugin{"custom_library_so_paths", "/no/such.so"};
  o = options();
  o.options = &plugin;
  o.option_count = 1;
  const std::string answer = message_for(poprt_executable_load(popef.c_str(), &o, &none));
  EXPECT_NE(answer.find("/no/such.so"), std::string::npos) << answer;
  o = options();
  o.precision = static_cast<poprt_precision>(77);
  load(popef, o, "invalid_argument: `precision` 77 is unknown");
}

TEST_F(OnDemandPopef, InvalidOptionsAreRefused) {
  const std::string popef = compile(write(kProduct), "x", {2, 3}, with_source());
  const auto refuses = [&](const char* text, auto change) {
    poprt_compile_options o = on_demand();
    change(o);
    poprt_executable* made = nullptr;
    poprt_error* error = poprt_executable_load(popef.c_str(), &o, &made);
    EXPECT_EQ(poprt_error_get_code(error), POPRT_INVALID_ARGUMENT) << text;
    EXPECT_NE(std::string(poprt_error_message(error)).find(text), std::string::npos)
        << poprt_error_message(error);
    poprt_error_free(error);
    EXPECT_EQ(made, nullptr);
  };
  for (const int32_t number : {100, -1}) {
    refuses("`winograd`", [&](auto& o) { o.winograd = static_cast<decltype(o.winograd)>(number); });
    refuses("`precision`",
            [&](auto& o) { o.precision = static_cast<decltype(o.precision)>(number); });
  }
  const poprt_input_shape unnamed{nullptr, nullptr, 0}, shapeless{"x", nullptr, 2};
  const poprt_input_length unnamed_length{nullptr, 1};
  const poprt_option nameless{nullptr, "1"}, worthless{"winograd", nullptr};
  const char* const null_name[] = {nullptr};
  const auto with = [](auto& pointer, size_t& count, const auto* list) {
    pointer = list;
    count = 1;
  };
  refuses("'input_shapes'", [&](auto& o) {
    with(o.input_shapes, o.input_shape_count, static_cast<const poprt_input_shape*>(nullptr));
  });
  refuses("'input_shapes[].name'",
          [&](auto& o) { with(o.input_shapes, o.input_shape_count, &unnamed); });
  refuses("'input_shapes[].shape'",
          [&](auto& o) { with(o.input_shapes, o.input_shape_count, &shapeless); });
  refuses("'input_lengths[].name'",
          [&](auto& o) { with(o.input_lengths, o.input_length_count, &unnamed_length); });
  refuses("'passes'", [&](auto& o) { with(o.passes, o.pass_count, null_name); });
  refuses("'skip_passes'", [&](auto& o) { with(o.skip_passes, o.skip_pass_count, null_name); });
  refuses("'outputs'", [&](auto& o) { with(o.outputs, o.output_count, null_name); });
  refuses("'options'", [&](auto& o) {
    with(o.options, o.option_count, static_cast<const poprt_option*>(nullptr));
  });
  refuses("'options[].name'", [&](auto& o) { with(o.options, o.option_count, &nameless); });
  refuses("'options[].value'", [&](auto& o) { with(o.options, o.option_count, &worthless); });
}

TEST_F(OnDemandPopef, ItsSourceIsCompiledAtOtherShapes) {
  const std::string popef = compile(write(kProduct), "x", {2, 3}, with_source());
  const Executable executable = load(popef, on_demand());
  EXPECT_EQ(poprt_anchor_shape(poprt_executable_input(executable.get(), 0))[0], 2);
  const Runner runner = runner_of(executable);
  std::mt19937 random(5);
  for (const Shape& shape : {Shape{2, 3}, Shape{4, 3}, Shape{1, 7}}) {
    std::vector<float> values = random_values(shape, random);
    EXPECT_EQ(run(runner.get(), shape, values),
              run(fixed_runner(kProduct, "x", shape).get(), shape, values));
  }
  EXPECT_EQ(counted(runner.get(), "compiled"), 2);
  // The file is not changed by use, and can be saved.
  const std::string copy = folder_ / "copy.popef";
  EXPECT_EQ(message_for(poprt_executable_save(executable.get(), copy.c_str())), "ok");
  EXPECT_EQ(fs::file_size(copy), fs::file_size(popef));
  // Without the option, it has the shape that it was compiled for.
  const Runner fixed = runner_of(load(popef));
  std::vector<float> values(8);
  EXPECT_EQ(run(fixed.get(), {2, 4}, values).substr(0, 16), "invalid_argument");
}

TEST_F(OnDemandPopef, OtherShapesUseTheWeightsInTheFile) {
  const std::string popef = compile(DIGITS, "image", {8, 1, 8, 8}, with_source());
  fs::remove_all(folder_ / "cache");
  std::string before;
  for (int process = 0; process < 2; process++) {
    const Runner runner = runner_of(load(popef, on_demand()));
    EXPECT_EQ(message_for(poprt_runner_warm_up(runner.get(), "image=3,1,8,8")), "ok");
    std::mt19937 random(6);
    std::vector<float> values = random_values({3, 1, 8, 8}, random);
    const std::string found = run(runner.get(), {3, 1, 8, 8}, values);
    ASSERT_EQ(found.size(), 120u) << found;
    if (process == 0) before = found;
    EXPECT_EQ(found, before);
    EXPECT_EQ(counted(runner.get(), "compiled"), 1 - process);
    EXPECT_EQ(counted(runner.get(), "from_cache"), process);
  }
  // The cache has the program of the second shape, and no weights of the first.
  EXPECT_EQ(cached_files(), 1u);
  for (const auto& entry : fs::directory_iterator(folder_ / "cache"))
    EXPECT_LT(entry.file_size(), fs::file_size(DIGITS) / 2);
}

TEST_F(OnDemandPopef, AFileWithoutItsSourceIsRefused) {
  const std::string popef = compile(write(kProduct), "x", {2, 3});
  EXPECT_EQ(refused(popef),
            "failed_precondition: '" + popef +
                "' does not contain its ONNX model, so that it runs only the shapes that it was "
                "compiled for: compile it with `embed_source`, or load the ONNX model");
}

// Reading a large model takes seconds, and a model may be converted for the types of its outputs.
TEST_F(OnDemand, TheCallerMayStopTheImport) {
  struct Steps {
    bool read = false;
    int after = 0, allowed = 0;
  };
  const auto loaded = [&](int allowed, const poprt_option* precision) {
    Steps steps;
    steps.allowed = allowed;
    poprt_compile_options o = options();
    o.shapes = "on_demand";
    o.options = precision;
    o.option_count = precision ? 1 : 0;
    o.user_data = &steps;
    o.progress = [](double, const char* what, void* user) {
      static_cast<Steps*>(user)->read |= std::string_view(what) == "read";
    };
    o.stop = [](void* user) -> int32_t {
      auto& s = *static_cast<Steps*>(user);
      return s.read && s.after++ >= s.allowed;
    };
    poprt_executable* made = nullptr;
    const std::string text = message_for(poprt_executable_load(write(kProduct).c_str(), &o, &made));
    poprt_executable_free(made);
    return text;
  };
  const std::string stopped = "cancelled: the compilation was stopped by its caller";
  const poprt_option precision{"precision", "fp16"};
  EXPECT_EQ(loaded(0, nullptr), stopped);
  EXPECT_EQ(loaded(1, nullptr), stopped) << "after the model is read";
  EXPECT_EQ(loaded(2, nullptr), "ok");
  EXPECT_EQ(loaded(2, &precision), stopped) << "during the conversion";
}

TEST_F(OnDemandPopef, OptionsThatTheFileRecordsCannotBeGiven) {
  const std::string popef = compile(write(kProduct), "x", {2, 3}, with_source());
  poprt_compile_options o = on_demand();
  o.precision = POPRT_PRECISION_FP16;
  EXPECT_EQ(refused(popef, o),
            "invalid_argument: option 'precision' cannot be given for '" + popef +
                "': its embedded source is compiled at other shapes with the options that the file "
                "records");
  o = on_demand();
  o.batch_size = 2;
  EXPECT_EQ(refused(popef, o).substr(0, 37), "invalid_argument: option 'batch_size'");
  o = on_demand();
  o.batch_axis = 1;
  EXPECT_EQ(refused(popef, o).substr(0, 37), "invalid_argument: option 'batch_axis'");
  o = on_demand();
  o.allow_links = 1;
  EXPECT_EQ(refused(popef, o).substr(0, 38), "invalid_argument: option 'allow_links'");
  o = on_demand();
  o.no_verify = 1;
  EXPECT_EQ(refused(popef, o).substr(0, 36), "invalid_argument: option 'no_verify'");
  o = on_demand();
  const poprt_option opset{"lowest_opset", "1"};
  o.options = &opset;
  o.option_count = 1;
  EXPECT_EQ(refused(popef, o).substr(0, 39), "invalid_argument: option 'lowest_opset'");
}

TEST_F(OnDemandPopef, TheRecordedOptionsAreUsed) {
  poprt_compile_options o = with_source();
  const poprt_option precision{"execution_precision", "bf16"};
  o.options = &precision;
  o.option_count = 1;
  const Runner runner = runner_of(load(compile(DIGITS, "image", {2, 1, 8, 8}, o), on_demand()));
  std::mt19937 random(7);
  std::vector<float> values = random_values({5, 1, 8, 8}, random);
  const std::string found = run(runner.get(), {5, 1, 8, 8}, values);
  const int64_t sizes[] = {5, 1, 8, 8};
  const poprt_input_shape shape{"image", sizes, 4};
  o.embed_source = 0;
  o.input_shapes = &shape;
  o.input_shape_count = 1;
  EXPECT_EQ(found, run(runner_of(load(DIGITS, o)).get(), {5, 1, 8, 8}, values));
  o.option_count = 0;
  EXPECT_NE(found, run(runner_of(load(DIGITS, o)).get(), {5, 1, 8, 8}, values));
}

TEST_F(OnDemandPopef, SeveralShapesAndVariableWeightsAreRefused) {
  const int64_t small[] = {2, 3}, large[] = {4, 3};
  const poprt_input_shape both[] = {{"x", small, 2}, {"x", large, 2}};
  poprt_compile_options o = with_source();
  o.input_shapes = both;
  o.input_shape_count = 2;
  const std::string popef = compile(write(kProduct), "x", {2, 3}, o);
  EXPECT_EQ(refused(popef).substr(0, 20), "failed_precondition:");
  EXPECT_NE(refused(popef).find("was compiled at several shapes"), std::string::npos);
  o = with_source();
  o.variable_weights = 1;
  EXPECT_NE(refused(compile(DIGITS, "image", {2, 1, 8, 8}, o)).find("weights that change"),
            std::string::npos);
}

TEST_F(OnDemandPopef, AModelOfKnownSizesHasAFixedRunner) {
  const std::string model = write(poprt::test::identity({"x", 1, {2, 3}}, {"y", 1, {2, 3}}));
  const Runner runner = runner_of(load(compile(model, "x", {2, 3}, with_source()), on_demand()));
  EXPECT_EQ(message_for(poprt_runner_warm_up(runner.get(), "x=2,3")).substr(0, 13),
            "unimplemented");
}

TEST_F(OnDemandPopef, AHostileSourceIsRefused) {
  // The source is another model than that of the executable.
  const std::string other = poprt::test::identity({"x", 1, {-1, 3}}, {"y", 1, {-1, 3}});
  EXPECT_NE(refused(compile_with_blob("poprt.source", other, options()))
                .find("the embedded source is not the model that the executable was compiled from"),
            std::string::npos);
  // The source is no model.
  for (const std::string& text :
       {std::string("no model"), std::string(), std::string(4096, '\x7f')})
    EXPECT_NE(refused(compile_with_blob("poprt.source", text, options())), "ok") << text;
  // Files of the source are outside of its folder.
  for (const std::string place : {"../escaped", "/tmp/poprt_escaped", "a/../../escaped", ""}) {
    const std::string answer =
        refused(compile_with_blob("poprt.source/" + place, "text", with_source()));
    EXPECT_EQ(answer.substr(0, 10), "data_loss:") << answer;
    EXPECT_NE(answer.find("'" + place + "' outside of its folder"), std::string::npos) << answer;
  }
  EXPECT_FALSE(fs::exists("/tmp/poprt_escaped"));
  EXPECT_FALSE(fs::exists("/tmp/escaped"));
  // A file that the source does not use is harmless.
  EXPECT_EQ(refused(compile_with_blob("poprt.source/unused", "text", with_source())), "ok");
}

TEST_F(OnDemandPopef, ADamagedSourceIsRefused) {
  const std::string popef = compile(DIGITS, "image", {2, 1, 8, 8}, with_source());
  std::ifstream file(DIGITS, std::ios::binary);
  const std::string model{std::istreambuf_iterator<char>(file), {}};
  std::fstream bytes(popef, std::ios::binary | std::ios::in | std::ios::out);
  const std::string all{std::istreambuf_iterator<char>(bytes), {}};
  const size_t at = all.find(model);
  ASSERT_NE(at, std::string::npos);
  std::mt19937 random(8);
  for (int i = 0; i < 20; i++) {
    const size_t place = at + random() % model.size();
    std::string damaged = all;
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << random() % 8));
    std::ofstream(popef, std::ios::binary) << damaged;
    EXPECT_EQ(refused(popef).substr(0, 10), "data_loss:") << place - at;
  }
}

#if !POPRT_TEST_SANITIZED
// Returns the exit code of a child that calls `code`, or minus the signal that ended it. A child
// that waits for ever is ended by an alarm.
template <class Code>
int in_child(Code&& code) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(100);
    ::_exit(code());
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// 0: the bytes are those that were expected; 1: the error states the fork; 2: neither.
int answer_of(const std::string& bytes, const std::string& expected) {
  if (bytes == expected) return 0;
  const bool clear =
      bytes.starts_with("failed_precondition:") && bytes.find("was forked") != std::string::npos;
  return clear ? 1 : 2;
}

// Servers that load a model before they fork their workers.
TEST_F(OnDemand, AForkedChildRunsKnownShapesAndCompilesOthers) {
  ::unsetenv("POPART_CACHE_DIR");  // each child compiles
  const std::string path = write(kProduct);
  const Executable executable = load(path);
  Runner runner = runner_of(executable);
  std::mt19937 random(11);
  std::vector<float> known = random_values({3, 4}, random), other = random_values({5, 2}, random);
  const std::string first = run(runner.get(), {3, 4}, known);
  const std::string second = run(fixed_runner(kProduct, "x", {5, 2}).get(), {5, 2}, other);
  ASSERT_NE(first.substr(0, 7), "failed_");
  for (int i = 0; i < 10; i++)
    EXPECT_EQ(in_child([&] {
                const int a = answer_of(run(runner.get(), {3, 4}, known), first);
                const int b = answer_of(run(runner.get(), {5, 2}, other), second);
                runner.reset();
                // A runner and an executable of the child.
                const Executable mine = load(path);
                const int c = answer_of(run(runner_of(mine).get(), {5, 2}, other), second);
                return a + 3 * b + 9 * c;
              }),
              0)
        << i;
}

TEST_F(OnDemand, AChildForkedWhileShapesAreCompiledGetsTheResultOrOneError) {
  ::unsetenv("POPART_CACHE_DIR");  // each child compiles
  const std::string path = write(kProduct);
  const Executable executable = load(path);
  Runner runner = runner_of(executable);
  std::mt19937 random(12);
  std::vector<float> known = random_values({3, 4}, random), other = random_values({5, 2}, random);
  const std::string first = run(runner.get(), {3, 4}, known);
  const std::string second = run(fixed_runner(kProduct, "x", {5, 2}).get(), {5, 2}, other);
  ASSERT_NE(first.substr(0, 7), "failed_");
  std::atomic<bool> stop{false};
  int requests = 0;
  std::thread requester([&] {
    std::mt19937 own(13);
    for (int64_t n = 6; !stop; n++, requests++) {
      const Shape shape{6 + n % 40, 1 + n / 40};
      std::vector<float> values = random_values(shape, own);
      if (run(runner.get(), shape, values).starts_with("failed_")) break;
      if (n % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  int counts[3] = {};
  for (int i = 0; i < 40 && !HasFailure(); i++) {
    const int code = in_child([&] {
      const int a = answer_of(run(runner.get(), {3, 4}, known), first);
      const int b = answer_of(run(runner.get(), {5, 2}, other), second);
      runner.reset();
      poprt_log_write(POPRT_LOG_DEBUG, "of a child");
      poprt_compile_options o = options();
      poprt_executable* made = nullptr;
      std::string loaded = message_for(poprt_executable_load(path.c_str(), &o, &made));
      if (loaded == "ok") {
        const Executable mine(made, poprt_executable_free);
        loaded = run(runner_of(mine).get(), {5, 2}, other);
      }
      return a + 3 * b + 9 * answer_of(loaded, second);
    });
    EXPECT_GE(code, 0) << "signal " << -code << " in child " << i;
    if (code < 0) break;
    for (const int answer : {code % 3, code / 3 % 3, code / 9}) {
      EXPECT_NE(answer, 2) << "child " << i << " returned " << code;
      counts[answer]++;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(i * 137 % 3000));
  }
  stop = true;
  requester.join();
  EXPECT_GT(requests, 0);
  EXPECT_GT(counts[0], 0);
  EXPECT_EQ(run(runner.get(), {3, 4}, known), first) << "the parent is not affected";
  RecordProperty("right", counts[0]);
  RecordProperty("refused", counts[1]);
}
#endif

}  // namespace
