#include "exec/support/debug_run.h"

#include <cmath>

#include "cli/stand_in.h"
#include "common/json.h"
#include "exec/support/npy.h"

namespace poprt::cli {
namespace {

const Tensor kSigned = Tensor::of<float>({2, 3}, {-1, 2, -3, 4, -5, 6});

double metric(const std::string& name, const std::vector<double>& a, const std::vector<double>& b) {
  const auto tensor = [](const std::vector<double>& v) {
    return Tensor::of<double>({static_cast<int64_t>(v.size())}, std::span(v));
  };
  const auto found = metrics({name}, tensor(a), tensor(b));
  EXPECT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, name);
  return found[0].value;
}

TEST(DebugRun, MetricsOfTensors) {
  const std::vector<double> a = {1, -2, 4, 9}, b = {2, -2, 2, 6};
  // The distances are 1, 0, 2 and 3; the mean of a is 3, and the sum of squares about it 4 + 25 + 1
  // + 36.
  EXPECT_DOUBLE_EQ(metric("mse", a, b), 14.0 / 4);
  EXPECT_DOUBLE_EQ(metric("rmse", a, b), std::sqrt(14.0 / 4));
  EXPECT_DOUBLE_EQ(metric("mae", a, b), 6.0 / 4);
  EXPECT_DOUBLE_EQ(metric("mape", a, b), (1.0 + 0.5 + 1.0 / 3) / 4 * 100);
  EXPECT_DOUBLE_EQ(metric("r2", a, b), 1 - 14.0 / 66);
  // In mape, 0 / 0 counts as 0; r2 of equal constants is 1.
  EXPECT_EQ(metric("mape", {0, 2}, {0, 1}), 25);
  EXPECT_EQ(metric("r2", {3, 3}, {3, 3}), 1);
  EXPECT_EQ(metric("mape", {0}, {1}), INFINITY);
}

TEST(DebugRun, AMetricIsNanIfAnElementIs) {
  const std::vector<double> a = {1, 2, 3};
  for (const char* name : {"rel", "mse", "rmse", "mae", "mape", "r2"})
    for (size_t i = 0; i < a.size(); i++) {
      std::vector<double> b = a;
      b[i] = NAN;
      EXPECT_TRUE(std::isnan(metric(name, a, b))) << name << " " << i;
      EXPECT_TRUE(std::isnan(metric(name, b, a))) << name << " " << i;
    }
}

TEST(DebugRun, EqualElementsThatAreNotFiniteHaveNoDifference) {
  for (const double v : {static_cast<double>(NAN), HUGE_VAL, -HUGE_VAL}) {
    const std::vector<double> a = {v, 1, -2, 4, 9}, b = {v, 2, -2, 2, 6};
    EXPECT_DOUBLE_EQ(metric("rel", a, b), 3.0 / 9) << v;
    EXPECT_DOUBLE_EQ(metric("mse", a, b), 14.0 / 5) << v;
    EXPECT_DOUBLE_EQ(metric("mae", a, b), 6.0 / 5) << v;
    EXPECT_DOUBLE_EQ(metric("mape", a, b), (1.0 + 0.5 + 1.0 / 3) / 5 * 100) << v;
    EXPECT_DOUBLE_EQ(metric("r2", a, b), 1 - 14.0 / 66) << v;
    for (const char* name : {"rel", "mse", "rmse", "mae", "mape"})
      EXPECT_EQ(metric(name, a, a), 0) << name << " " << v;
    EXPECT_EQ(metric("r2", a, a), 1) << v;
    const std::vector<double> other = {-v, 1, -2, 4, 9};
    if (!std::isnan(v)) EXPECT_EQ(metric("rel", a, other), HUGE_VAL) << v;
  }
}

TEST(DebugRun, NamesOfMetricsAreChecked) {
  EXPECT_NO_THROW(check_metrics({"mse", "rmse", "mae", "mape", "r2"}));
  EXPECT_NO_THROW(check_metrics({}));
  EXPECT_EQ(message_of<Usage>([] { check_metrics({"mse", "psnr"}); }),
            "--compare_method: expected rel or mse or rmse or mae or mape or r2, found 'psnr'");
}

TEST(DebugRun, ModelsRunOnOurs) {
  const auto run = [](const Tensor& x) {
    return run_on_backend("poprt", sample_model("relu"), {{"x", x}, {"other", kSigned}}, {});
  };
  const std::vector<double> expected = {0, 2, 0, 4, 0, 6};
  const auto outputs = run(kSigned);
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs.at("y").shape(), (Shape{2, 3}));
  EXPECT_EQ(outputs.at("y").dtype(), DType::f32);
  EXPECT_EQ(outputs.at("y").to_doubles(), expected);
  EXPECT_EQ(run(Tensor::of<double>({3, 2}, {-1, 2, -3, 4, -5, 6})).at("y").to_doubles(), expected);
  EXPECT_EQ(message_of<Failure>([&] { (void)run(Tensor::zeros(DType::f32, {2, 2})); }),
            "input 'x' is f32[2,3], the data has shape [2,2]");
  EXPECT_EQ(message_of<Usage>([] { (void)run_on_backend("poprt", sample_model("relu"), {}, {}); }),
            "--input_data: input 'x' (f32[2,3]) is missing");
}

TEST(DebugRun, OutputsAreAsLargeAsTheirData) {
  const auto outputs = run_on_backend("poprt", sample_model("nonzero"), {{"x", kSigned}}, {});
  EXPECT_EQ(outputs.at("at").shape(), (Shape{2, 6}));
  const Tensor none = Tensor::zeros(DType::f32, {2, 3});
  EXPECT_EQ(run_on_backend("poprt", sample_model("nonzero"), {{"x", none}}, {}).at("at").shape(),
            (Shape{2, 0}));
}

// Python is called as `-c PROGRAM REQUEST ANSWER`.
TEST(DebugRun, ModelsRunOnAnother) {
  const TemporaryFolder files;
  const std::string y = (files.path() / "y.npy").string();
  write_npy(y, array_of(kSigned));
  const StandIn python(
      "cp \"$3\" \"$here/request.json\"; folder=$(sed 's/.*\"folder\":\"\\([^\"]*\\)\".*/\\1/' "
      "\"$3\")\n"
      "cp \"$folder/in1.npy\" \"$here/in1.npy\"; cp '" +
      y + "' \"$folder/out0.npy\"; cp \"$folder/in0.npy\" \"$folder/out1.npy\"\n" +
      R"(echo '{"outputs":["y","z"]}' > "$4")");
  const Tensor two = Tensor::of<float>({2}, {7, 8});
  const auto outputs = run_on_backend("onnxruntime", "m.onnx", {{"a", two}, {"b", kSigned}}, {});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_TRUE(outputs.at("y").same_as(kSigned));
  EXPECT_TRUE(outputs.at("z").same_as(two));
  const auto request = read_json(python.file("request.json"));
  EXPECT_EQ(request["model"], "m.onnx");
  EXPECT_EQ(request["inputs"].size(), 2U);
  EXPECT_TRUE(request["inputs"]["b"].get<std::string>().ends_with("/in1.npy"));
  EXPECT_EQ(read_npy(python.file("in1.npy")).data, array_of(kSigned).data);
}

TEST(DebugRun, ReportsErrorsOfAnotherBackEnd) {
  const auto message_for = [](const std::string& act) {
    const StandIn python(act);
    std::string message =
        message_of<Failure>([] { (void)run_on_backend("onnxruntime", "m.onnx", {}, {}); });
    const std::string name = python.file("python");
    if (const size_t at = message.find(name); at != message.npos)
      message.replace(at, name.size(), "PYTHON");
    return message;
  };
  EXPECT_EQ(message_for("exit 4"), "back end onnxruntime: PYTHON ended with code 4");
  EXPECT_EQ(message_for(R"(echo '{"missing":"numpy"}' > "$4")"),
            "back end onnxruntime: PYTHON has no package \"numpy\": python3 -m pip install "
            "onnxruntime, or choose back end poprt");
  EXPECT_EQ(message_for(R"(echo '{"error":"why"}' > "$4")"), "back end onnxruntime: why");
}

}  // namespace
}  // namespace poprt::cli
