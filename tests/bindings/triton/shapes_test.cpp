// Models of the Triton backend whose shapes are compiled when their first request arrives.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "capi/onnx_bytes.h"
#include "served.h"

namespace {

using namespace host;
using poprt::test::onnx;

// y [n, n] of x [n, m]: rows affect each other, and the sizes of y have no names.
const std::string kProduct =
    onnx({{"Transpose", {"x"}, "t"}, {"MatMul", {"x", "t"}, "g"}, {"Softmax", {"g"}, "y"}},
         {{"x", 1, {-1, -1}}}, {{"y", 1, {-1, -1}}});

// Holds compilations of shapes of 30 or more rows back, by the plug-in of tests/plugins/hold.cpp,
// between begun() and release(). A shape that is in the engine cache is not compiled.
class Hold {
 public:
  Hold() : path_(files() / "hold") {
    succeed(poprt_plugin_load(PLUGINS "/libhold.so"));
    setenv("POPRT_TEST_HOLD", path_.c_str(), 1);
    if (mkfifo(path_.c_str(), 0600) != 0) throw std::runtime_error("mkfifo");
  }
  ~Hold() {
    fs::remove(path_);
    release();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  // Waits until the compilation has begun.
  void begun() {
    file_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    fs::remove(path_);
  }
  void release() {
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

 private:
  const fs::path path_;
  int file_ = -1;
};

class TritonShapes : public testing::Test {
 protected:
  void SetUp() override { setenv("POPART_CACHE_DIR", (files() / "shapes").string().c_str(), 1); }
  void TearDown() override {
    unsetenv("POPART_CACHE_DIR");
    fs::remove_all(files() / "shapes");
  }

  static std::unique_ptr<Served> served_onnx(const std::string& model,
                                             const Json& config = Json::object()) {
    auto served = std::make_unique<Served>(nullptr, config, true);
    std::ofstream(served->folder() / "model.onnx", std::ios::binary) << model;
    return served;
  }
  static std::unique_ptr<Served> served_digits(const Json& config = Json::object()) {
    auto served = std::make_unique<Served>(nullptr, config, true);
    fs::copy_file(DIGITS, served->folder() / "model.onnx");
    return served;
  }
  static std::unique_ptr<TRITONBACKEND_Request> matrix(int64_t rows, int64_t columns) {
    auto request = std::make_unique<TRITONBACKEND_Request>();
    const auto values = random_values(static_cast<size_t>(rows * columns));
    TRITONBACKEND_Input input;
    input.name = "x";
    input.shape = {rows, columns};
    input.buffers = {bytes_of(values.data(), values.size() * sizeof(float))};
    request->inputs.push_back(input);
    request->wanted = {"y"};
    return request;
  }
  static void expect_rows_of_sum_one(const TRITONBACKEND_Request& request, int64_t rows) {
    ASSERT_EQ(request.error, "");
    ASSERT_EQ(request.outputs.at("y").shape, (std::vector<int64_t>{rows, rows}));
    const auto values = floats_of(request, "y");
    for (int64_t row = 0; row < rows; row++) {
      float sum = 0;
      for (int64_t i = 0; i < rows; i++) sum += values[static_cast<size_t>(row * rows + i)];
      EXPECT_NEAR(sum, 1, 1e-4);
    }
  }
  static void begin(Served& served, TRITONBACKEND_Request& request) {
    TRITONBACKEND_Request* one = &request;
    ASSERT_EQ(text_of(library().execute(&served.instance(), &one, 1)), "");
  }
  static Json with(Json config, const char* name, const char* value) {
    config["parameters"][name] = {{"string_value", value}};
    return config;
  }
};

TEST_F(TritonShapes, OnnxWithOpenDimensionsIsCompletedWithThem) {
  const auto served = served_digits();
  ASSERT_EQ(served->load(), "");
  EXPECT_EQ(served->config(), Json::parse(R"({
                "input": [{"name": "image", "data_type": "TYPE_FP32", "dims": [-1, 1, 8, 8]}],
                "output": [{"name": "scores", "data_type": "TYPE_FP32", "dims": [-1, 10]}]})"));
  const auto product = served_onnx(kProduct);
  ASSERT_EQ(product->load(), "");
  EXPECT_EQ(product->config()["output"][0]["dims"], Json({-1, -1}));
}

// An ONNX model without inputs. Its outputs are constants of these values.
std::string constants(const std::vector<std::pair<std::string, std::vector<float>>>& outputs) {
  using poprt::test::field, poprt::test::number;
  std::string nodes, values;
  for (const auto& [name, floats] : outputs) {
    const std::vector<char> bytes = bytes_of(floats.data(), floats.size() * sizeof(float));
    const std::string type = "\xa0\x01\x06";  // field 20: FLOATS
    nodes += field(1, field(2, name) + field(4, "Constant") +
                          field(5, field(1, "value_floats") +
                                       field(7, std::string(bytes.begin(), bytes.end())) + type));
    const std::string size = field(1, number(1, static_cast<int>(floats.size())));
    values += field(12, field(1, name) + field(2, field(1, number(1, 1) + field(2, size))));
  }
  return number(1, 8) + field(7, nodes + field(2, "g") + values) +
         field(8, field(1, "") + number(2, 17));
}

TEST_F(TritonShapes, AModelWithoutInputsHasNoRows) {
  const std::vector<std::pair<std::string, std::vector<float>>> of_different_rows = {{"a", {1, 2}},
                                                                                     {"b", {3}}},
                                                                of_equal_rows = {{"a", {1, 2}}};
  for (const auto& outputs : {of_different_rows, of_equal_rows}) {
    const auto served = served_onnx(constants(outputs));
    ASSERT_EQ(served->load() + served->add_instance(), "");
    EXPECT_EQ(served->config().value("max_batch_size", 0), 0);
    EXPECT_EQ(served->config()["output"].size(), outputs.size());
    TRITONBACKEND_Request request;
    for (const auto& output : outputs) request.wanted.push_back(output.first);
    begin(*served, request);
    request.wait_released();
    ASSERT_EQ(request.error, "");
    for (const auto& [name, floats] : outputs) EXPECT_EQ(floats_of(request, name.c_str()), floats);
    Served batches(nullptr, {{"max_batch_size", 2}}, true);
    std::ofstream(batches.folder() / "model.onnx", std::ios::binary) << constants(outputs);
    EXPECT_EQ(batches.load(),
              "max_batch_size is 2; expected 0, because requests cannot share a batch: the model "
              "has no inputs");
  }
}

TEST_F(TritonShapes, AFileWithItsSourceIsOpenIfCompilingIsAllowed) {
  {
    Served fixed("source.popef");
    ASSERT_EQ(fixed.load(), "");
    EXPECT_EQ(fixed.config()["max_batch_size"], 8);
  }
  {
    Served fixed("source.popef", parameter("compile.shapes", "fixed"), true);
    ASSERT_EQ(fixed.load(), "");
    EXPECT_EQ(fixed.config()["max_batch_size"], 8);
  }
  {
    Served buckets("source_buckets.popef", Json::object(), true);
    ASSERT_EQ(buckets.load(), "");
    EXPECT_EQ(buckets.config()["input"][0]["dims"], Json({-1, 1, 8, 8}));
    ASSERT_EQ(buckets.add_instance(), "");
    auto request = request_of(random_values(5 * 64));
    buckets.run(request);
    EXPECT_NE(request->error.find("expected 1 to 4"), std::string::npos) << request->error;
  }
  Served served("source.popef", Json::object(), true);
  ASSERT_EQ(served.load(), "");
  EXPECT_EQ(served.config()["input"][0]["dims"], Json({-1, 1, 8, 8}));
  EXPECT_FALSE(served.config().contains("max_batch_size"));
  ASSERT_EQ(served.add_instance(), "");
  for (const size_t rows : {8, 11, 3}) {
    const auto images = random_values(rows * 64);
    auto request = request_of(images);
    served.run(request);
    expect_close(floats_of(*request, "scores"), reference(images));
  }
}

TEST_F(TritonShapes, EveryShapeIsComputedInBothModes) {
  for (const char* synchronous : {"1", "0"}) {
    const auto digits = served_digits(parameter("synchronous_execution", synchronous));
    const auto product = served_onnx(kProduct, parameter("synchronous_execution", synchronous));
    ASSERT_EQ(digits->load() + digits->add_instance(), "");
    ASSERT_EQ(product->load() + product->add_instance(), "");
    for (const int64_t rows : {3, 1, 7, 3, 1}) {
      const auto images = random_values(static_cast<size_t>(rows) * 64);
      auto request = request_of(images, 100), again = request_of(images);
      digits->run(request, again);
      expect_close(floats_of(*request, "scores"), reference(images));
      expect_close(floats_of(*again, "scores"), reference(images));
      auto first = matrix(rows, 5), second = matrix(rows, 2), third = matrix(rows, 5);
      product->run(first, second, third);
      expect_rows_of_sum_one(*first, rows);
      expect_rows_of_sum_one(*second, rows);
      expect_rows_of_sum_one(*third, rows);
    }
    EXPECT_EQ(digits->instance().succeeded, 10);
    EXPECT_EQ(product->instance().failed, 0);
  }
}

TEST_F(TritonShapes, UsersMayStateThatRowsAreIndependent) {
  const auto served = served_digits({{"max_batch_size", 20}});
  ASSERT_EQ(served->load(), "");
  EXPECT_EQ(served->config()["input"][0]["dims"], Json({1, 8, 8}));
  ASSERT_EQ(served->add_instance(), "");
  for (int i = 0; i < 2; i++) {  // the second time, the shape of 9 rows exists
    const auto a = random_values(4 * 64), b = random_values(5 * 64);
    auto first = request_of(a), second = request_of(b);
    served->run(first, second);
    expect_close(floats_of(*first, "scores"), reference(a));
    expect_close(floats_of(*second, "scores"), reference(b));
  }
  const std::lock_guard lock(served->instance().mutex);
  EXPECT_EQ(served->instance().batches, (std::vector<uint64_t>{9, 9}));
  const auto product = served_onnx(kProduct, {{"max_batch_size", 2}});
  EXPECT_EQ(product->load(),
            "max_batch_size is 2; expected 0, because the first dimensions of the model's inputs "
            "and outputs are not one size");
}

TEST_F(TritonShapes, TheConfigurationIsChecked) {
  const auto with_dims = [](const Json& dims) {
    const Json image = {{"name", "image"}, {"data_type", "TYPE_FP32"}, {"dims", dims}};
    return served_digits({{"input", Json::array({image})}})->load();
  };
  EXPECT_EQ(with_dims({-1, 1, 8, 8}), "");
  EXPECT_EQ(with_dims({100000, 1, 8, 8}), "");  // the server then refuses other sizes
  EXPECT_EQ(with_dims({-1, 1, 8, 9}),
            "the configuration has input 'image' with dims [-1,1,8,9]; the model has [-1,1,8,8]");
  EXPECT_EQ(with_dims({-1, 1, -1, 8}),
            "the configuration has input 'image' with dims [-1,1,-1,8]; the model has [-1,1,8,8]");
}

TEST_F(TritonShapes, ParametersKeepAndPrepareShapes) {
  const auto served =
      served_digits(with(parameter("warm_up", "image=2,1,8,8/6,1,8,8"), "max_shapes", "3"));
  ASSERT_EQ(served->load() + served->add_instance(), "");
  const auto images = random_values(6 * 64);
  auto request = request_of(images);
  served->run(request);
  expect_close(floats_of(*request, "scores"), reference(images));
  const auto refusal = [](const std::unique_ptr<Served>& model) {
    const std::string message = model->load();
    return message.empty() ? model->add_instance() : message;
  };
  EXPECT_EQ(refusal(served_digits(parameter("max_shapes", "-1"))),
            "parameter 'max_shapes' is -1; expected 0 to 65536");
  EXPECT_EQ(refusal(served_digits(parameter("max_shapes", ""))),
            "parameter 'max_shapes' is \"\"; expected an integer");
  EXPECT_NE(refusal(served_digits(parameter("warm_up", "image=2,8"))).find("given [2,8]"),
            std::string::npos);
  EXPECT_NE(refusal(served_digits(parameter("warm_up", "picture=2,8"))).find("'picture'"),
            std::string::npos);
  Served fixed("digits8.popef", parameter("warm_up", "image=2,1,8,8"));
  EXPECT_EQ(fixed.load(), "parameter 'warm_up' has no effect: the shapes of the model are fixed");
  Served limited("digits8.popef", parameter("max_shapes", "2"));
  EXPECT_EQ(limited.load(),
            "parameter 'max_shapes' has no effect: the shapes of the model are fixed");
}

TEST_F(TritonShapes, ARequestThatCannotBeCompiledNamesItsSizes) {
  const std::string sum = onnx({{"Transpose", {"x"}, "t"}, {"Add", {"x", "t"}, "y"}},
                               {{"x", 1, {-1, -1}}}, {{"y", 1, {-1, -1}}});
  for (const char* synchronous : {"1", "0"}) {
    const auto served = served_onnx(sum, parameter("synchronous_execution", synchronous));
    ASSERT_EQ(served->load() + served->add_instance(), "");
    auto good = matrix(3, 3), wrong = matrix(2, 3), empty = matrix(0, 3), last = matrix(3, 3);
    served->run(good, wrong, empty, last);
    EXPECT_EQ(good->error + last->error, "");
    EXPECT_NE(wrong->error.find("x:0 2, x:1 3"), std::string::npos) << wrong->error;
    EXPECT_EQ(wrong->code, TRITONSERVER_ERROR_INVALID_ARG);
    EXPECT_EQ(empty->code, TRITONSERVER_ERROR_INVALID_ARG) << empty->error;
  }
}

TEST_F(TritonShapes, ACompilationDelaysNoOtherShape) {
  for (const int64_t rows : {30, 31}) {
    const auto served =
        served_onnx(kProduct, parameter("synchronous_execution", rows == 30 ? "1" : "0"));
    ASSERT_EQ(served->load() + served->add_instance(), "");
    auto known = matrix(2, 2);
    served->run(known);
    ASSERT_EQ(known->error, "");
    Hold hold;
    const auto slow = matrix(rows, 5);
    begin(*served, *slow);
    hold.begun();
    for (int i = 0; i < 3; i++) {
      auto quick = matrix(2, 2);
      served->run(quick);
      expect_rows_of_sum_one(*quick, 2);
    }
    {
      const std::lock_guard lock(slow->mutex);
      EXPECT_EQ(slow->released, 0);
    }
    hold.release();
    slow->wait_released();
    expect_rows_of_sum_one(*slow, rows);
  }
}

TEST_F(TritonShapes, ALateRequestIsAnsweredDuringTheCompilation) {
  for (const int64_t rows : {50, 52}) {
    const auto served =
        served_onnx(kProduct, parameter("synchronous_execution", rows == 50 ? "1" : "0"));
    ASSERT_EQ(served->load() + served->add_instance(), "");
    Hold hold;
    const auto patient = matrix(rows, 2), late = matrix(rows, 2), other = matrix(rows + 1, 2);
    begin(*served, *patient);
    hold.begun();
    for (auto* request : {late.get(), other.get()}) {
      request->timeout_us = 1000;
      begin(*served, *request);
      request->wait_released();
      EXPECT_EQ(request->sent, 1);
      EXPECT_EQ(request->code, TRITONSERVER_ERROR_UNAVAILABLE);
      EXPECT_EQ(request->error,
                "the request waited longer than its timeout for the compilation of its shape");
    }
    hold.release();
    patient->wait_released();
    expect_rows_of_sum_one(*patient, rows);
    auto again = matrix(rows, 2);
    again->timeout_us = 60'000'000;
    served->run(again);
    expect_rows_of_sum_one(*again, rows);
  }
}

TEST_F(TritonShapes, ARequestThatIsCancelledWhileItsShapeIsCompiledDoesNotRun) {
  for (const int64_t rows : {70, 72}) {
    const auto served =
        served_onnx(kProduct, parameter("synchronous_execution", rows == 70 ? "1" : "0"));
    ASSERT_EQ(served->load() + served->add_instance(), "");
    Hold hold;
    const auto first = matrix(rows, 2), second = matrix(rows, 2);
    begin(*served, *first);
    hold.begun();
    begin(*served, *second);
    first->cancelled = true;
    hold.release();
    first->wait_released();
    second->wait_released();
    EXPECT_EQ(first->code, TRITONSERVER_ERROR_CANCELLED) << first->error;
    expect_rows_of_sum_one(*second, rows);
  }
}

TEST_F(TritonShapes, TensorsWithoutDimensionsHaveNoBatch) {
  const auto load = [](const Json& config) {
    return served_onnx(onnx({{"ReduceSum", {"x"}, "s"}, {"Squeeze", {"s"}, "y"}},
                            {{"x", 1, {-1, 2}}}, {{"y", 1, {}}}),
                       config)
        ->load();
  };
  EXPECT_EQ(load(Json::object()), "");
  EXPECT_EQ(load({{"max_batch_size", 4}}),
            "max_batch_size is 4; expected 0, because the first dimensions of the model's inputs "
            "and outputs are not one size");
}

// Triton has no tensor without dimensions: its clients have one dimension of size 1 instead.
TEST_F(TritonShapes, TensorsWithoutDimensionsHaveOneForClients) {
  const auto input = [](const char* name, std::vector<int64_t> shape, std::vector<float> values) {
    TRITONBACKEND_Input tensor;
    tensor.name = name;
    tensor.shape = std::move(shape);
    tensor.buffers = {bytes_of(values.data(), values.size() * sizeof(float))};
    return tensor;
  };
  for (const int size : {3, -1})
    for (const char* synchronous : {"1", "0"}) {
      const auto served = served_onnx(
          onnx({{"Mul", {"x", "s"}, "y"}, {"ReduceSum", {"y"}, "r"}, {"Squeeze", {"r"}, "m"}},
               {{"x", 1, {size}}, {"s", 1, {}}}, {{"y", 1, {size}}, {"m", 1, {}}}),
          parameter("synchronous_execution", synchronous));
      ASSERT_EQ(served->load() + served->add_instance(), "");
      EXPECT_EQ(served->config().value("max_batch_size", 0), 0);
      EXPECT_EQ(served->config()["input"][1],
                Json::parse(R"({"name": "s", "data_type": "TYPE_FP32", "dims": [1]})"));
      EXPECT_EQ(served->config()["output"][1],
                Json::parse(R"({"name": "m", "data_type": "TYPE_FP32", "dims": [1]})"));
      TRITONBACKEND_Request request, wrong;
      request.inputs = {input("x", {3}, {1, 2, 3}), input("s", {1}, {2})};
      request.wanted = {"y", "m"};
      wrong.inputs = {input("x", {3}, {1, 2, 3}), input("s", {2}, {2, 2})};
      begin(*served, request);
      begin(*served, wrong);
      request.wait_released();
      wrong.wait_released();
      ASSERT_EQ(request.error, "");
      EXPECT_EQ(floats_of(request, "y"), (std::vector<float>{2, 4, 6}));
      EXPECT_EQ(floats_of(request, "m"), std::vector<float>{12});
      EXPECT_EQ(request.outputs.at("m").shape, std::vector<int64_t>{1});
      EXPECT_EQ(wrong.error, "input 's' has shape [2]; expected [1]");
    }
}

// No shape makes the operator possible.
TEST_F(TritonShapes, AnOperatorThatIsNotSupportedIsAnErrorOfTheLoad) {
  const auto served = served_onnx(onnx({{"Mystery", {"x"}, "t"}, {"Relu", {"t"}, "y"}},
                                       {{"x", 1, {-1, 2}}}, {{"y", 1, {-1, 2}}}));
  const std::string message = served->load();
  EXPECT_NE(message.find("operator Mystery of domain 'ai.onnx' is not supported"),
            std::string::npos)
      << message;
}

// The shape that was compiled is that of all of them, and the rest has another one.
TEST_F(TritonShapes, ALateRequestLeavesItsBatch) {
  const auto served = served_digits({{"max_batch_size", 100}});
  ASSERT_EQ(served->load() + served->add_instance(), "");
  Hold hold;
  const auto a = random_values(20 * 64), b = random_values(15 * 64);
  const auto first = request_of(a), second = request_of(b);
  first->timeout_us = 1000;
  TRITONBACKEND_Request* both[] = {first.get(), second.get()};
  ASSERT_EQ(text_of(library().execute(&served->instance(), both, 2)), "");
  hold.begun();
  first->wait_released();
  EXPECT_EQ(first->code, TRITONSERVER_ERROR_UNAVAILABLE) << first->error;
  hold.release();
  second->wait_released();
  expect_close(floats_of(*second, "scores"), reference(b));
  EXPECT_EQ(served->instance().failed, 1);
}

TEST_F(TritonShapes, AShapeThatNeedsTooMuchMemoryIsRefused) {
  const auto served = served_onnx(kProduct, parameter("max_shape_mib", "1"));
  ASSERT_EQ(served->load() + served->add_instance(), "");
  auto huge = matrix(1000, 1), good = matrix(10, 1);
  served->run(huge, good);
  EXPECT_EQ(huge->code, TRITONSERVER_ERROR_INVALID_ARG);
  EXPECT_NE(huge->error.find("`max_shape_memory` allows 1048576"), std::string::npos)
      << huge->error;
  expect_rows_of_sum_one(*good, 10);
  EXPECT_EQ(served_digits(parameter("max_shape_mib", "-1"))->load(),
            "parameter 'max_shape_mib' is -1; expected 0 to 1073741824");
  Served fixed("digits8.popef", parameter("max_shape_mib", "2"));
  EXPECT_EQ(fixed.load(),
            "parameter 'max_shape_mib' has no effect: the shapes of the model are fixed");
}

TEST_F(TritonShapes, UnloadingAnswersRequestsThatWaitForTheirShape) {
  for (const int64_t rows : {40, 42}) {
    const auto served =
        served_onnx(kProduct, parameter("synchronous_execution", rows == 40 ? "1" : "0"));
    ASSERT_EQ(served->load() + served->add_instance(), "");
    Hold hold;
    const auto first = matrix(rows, 2), second = matrix(rows + 1, 2);
    begin(*served, *first);
    hold.begun();
    begin(*served, *second);
    std::thread unload([&] { served->remove_instances(); });
    for (auto* request : {first.get(), second.get()}) {
      request->wait_released();
      EXPECT_EQ(request->sent, 1);
      EXPECT_EQ(request->code, TRITONSERVER_ERROR_CANCELLED) << request->error;
    }
    hold.release();
    unload.join();
  }
}

}  // namespace
