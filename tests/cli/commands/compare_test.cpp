#include <limits>

#include "cli/commands/command_test.h"

namespace poprt::cli::test {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The model y = max(x, 0) with any number of rows, and data for it.
class Compare : public CommandTest {
 protected:
  Compare() {
    onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[N,4]
  %y : f32[N,4] = Relu(%x)
  output %y
})");
    npy("x.npy", {1, 4}, {1, -2, 4, 8});
    npy("y.npy", {1, 4}, {1, 0, 4, 8});
  }
  static Ran compare(std::vector<std::string> words) {
    words.insert(words.begin(), {"compare", "net.onnx"});
    return run_command(add_compare, words);
  }
  static Ran against(const std::vector<float>& reference, std::vector<std::string> more = {}) {
    npy("r.npy", {1, static_cast<int64_t>(reference.size())}, reference);
    more.insert(more.begin(), {"--input", "x=x.npy", "--reference", "y=r.npy"});
    return compare(more);
  }
  // A TensorProto of floats [1,4].
  static void pb(const std::string& name, const std::vector<float>& values) {
    std::string text = {0x08, 0x01, 0x08, 0x04, 0x10, 0x01, 0x4A, 0x10};
    text.append(reinterpret_cast<const char*>(values.data()), 16);
    write(name, text);
  }
  static void data_set(const std::string& folder) {
    std::filesystem::create_directories(folder);
    pb(folder + "/input_0.pb", {1, -2, 4, 8});
    pb(folder + "/output_0.pb", {1, 0, 4, 8.5});
  }
};

TEST_F(Compare, OneRowOfText) {
  const Ran same = against({1, 0, 4, 8});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(same.out,
            "agrees  y: 0 of 4 outside rtol 0.001 atol 0.0001; largest difference 0 absolute, 0 "
            "relative\n");
  const Ran other = against(
      {1, 0, 5, 16}, {"--rtol", "0.25", "--atol", "0.5", "--norm", "0.125", "--bad_frac", "0.125"});
  EXPECT_EQ(other.code, 1);
  EXPECT_EQ(other.err, "");
  EXPECT_EQ(other.out,
            "DIFFERS y: 1 of 4 outside rtol 0.25 atol 0.5 norm 0.125 bad_frac 0.125; largest "
            "difference 8 absolute, 0.5 relative\n");
}

TEST_F(Compare, Json) {
  const Ran ran = against({1, 0, 5, 16}, {"--json", "--rtol", "0.25", "--atol", "0.5", "--norm",
                                          "0.125", "--bad_frac", "0.125"});
  EXPECT_EQ(ran.code, 1);
  const nlohmann::json row = {{"output", "y"},  {"elements", 4},  {"mismatches", 1},
                              {"max_abs", 8.0}, {"max_rel", 0.5}, {"nans", 0}};
  EXPECT_EQ(ran.json(), (nlohmann::json{{"agrees", false},
                                        {"rtol", 0.25},
                                        {"atol", 0.5},
                                        {"norm", 0.125},
                                        {"bad_frac", 0.125},
                                        {"outputs", nlohmann::json::array({row})}}));
}

// Each tolerance is tried at the exact limit and a little below it.
TEST_F(Compare, Tolerances) {
  const std::vector<float> off = {1, 0, 4, 8.5};
  const auto code = [&](const std::vector<std::string>& tolerance) {
    std::vector<std::string> words = {"--rtol", "0", "--atol", "0"};
    words.insert(words.end(), tolerance.begin(), tolerance.end());
    return against(off, words).code;
  };
  EXPECT_EQ(code({}), 1);
  EXPECT_EQ(code({"--norm", "0.0588236"}), 0);  // 0.5 / 8.5
  EXPECT_EQ(code({"--norm", "0.0588235"}), 1);
  EXPECT_EQ(code({"--bad_frac", "0.25"}), 0);
  EXPECT_EQ(code({"--bad_frac", "0.2499"}), 1);
  const auto alone = [&](const char* option, const char* value) {
    const char* other = option == std::string("--rtol") ? "--atol" : "--rtol";
    return against(off, {other, "0", option, value}).code;
  };
  EXPECT_EQ(alone("--atol", "0.5"), 0);
  EXPECT_EQ(alone("--atol", "0.4999"), 1);
  EXPECT_EQ(alone("--rtol", "0.0588236"), 0);
  EXPECT_EQ(alone("--rtol", "0.0588235"), 1);
  // The limit is the sum of both.
  EXPECT_EQ(against(off, {"--atol", "0.25", "--rtol", "0.0294118"}).code, 0);
  EXPECT_EQ(against(off, {"--atol", "0.25", "--rtol", "0.0294117"}).code, 1);
}

// NaN and infinity agree only with themselves, and are not the largest number.
TEST_F(Compare, NumbersThatAreNotFinite) {
  onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[N,4]
  %y : f32[N,4] = Abs(%x)
  output %y
})");
  npy("x.npy", {1, 4}, {kInfinite, kNan, 4, 8});
  EXPECT_EQ(against({kInfinite, kNan, 4, 8}, {"--rtol", "0", "--atol", "0"}).code, 0);
  EXPECT_EQ(against({kNan, kNan, 4, 8}).code, 1);
  EXPECT_EQ(against({kInfinite, kInfinite, 4, 8}).code, 1);
  EXPECT_EQ(against({kInfinite, 1, 4, 8}).code, 1);
  EXPECT_EQ(against({-kInfinite, kNan, 4, 8}).code, 1);
  EXPECT_EQ(against({kInfinite, kNan, kInfinite, 8}, {"--norm", "1"}).code, 1);
  const Ran finite =
      against({kInfinite, 3, 4, 16}, {"--json", "--rtol", "0", "--atol", "0", "--norm", "0.4"});
  EXPECT_EQ(finite.json()["outputs"][0]["mismatches"], 2);  // 0.4 x 16 is less than 8
  EXPECT_EQ(finite.json()["outputs"][0]["max_abs"], 8);
  EXPECT_EQ(finite.json()["outputs"][0]["max_rel"], 0.5);
  npy("x.npy", {1, 4}, {1, 2, 4, 8});
  // A difference from 0 has no relative size.
  EXPECT_EQ(against({0, 2, 4, 10}, {"--json"}).json()["outputs"][0]["max_rel"], 0.2);
}

TEST_F(Compare, ShapeOfTheReference) {
  npy("flat.npy", {4}, {1, 0, 4, 8});
  const Ran ran = compare({"--input", "x=x.npy", "--reference", "y=flat.npy"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err, "poprt_exec compare: output 'y' is f32[1,4], its reference has shape [4]\n");
}

// The file data.json is next to the data or in the folder above; the nearer file is used, and
// options have priority.
TEST_F(Compare, TolerancesOfADataSet) {
  data_set("set/data_0");
  const auto code = [&](std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--data_set", "set/data_0"});
    return compare(more).code;
  };
  EXPECT_EQ(code(), 1);
  write("set/data.json", R"({"rtol": 0, "atol": 0.5, "norm": 0, "bad_frac": 0})");
  EXPECT_EQ(code(), 0);
  EXPECT_EQ(code({"--atol", "0.4"}), 1);
  write("set/data_0/data.json", R"({"atol": 0.25})");
  EXPECT_EQ(code(), 1);
  write("set/data_0/data.json", R"({"norm": 0.0588236, "atol": 0, "rtol": 0})");
  EXPECT_EQ(code(), 0);
  EXPECT_EQ(code({"--norm", "0"}), 1);
  write("set/data_0/data.json", R"({"bad_frac": 0.25})");
  EXPECT_EQ(code(), 0);
  EXPECT_EQ(code({"--bad_frac", "0"}), 1);
  write("set/data_0/data.json", R"({"rtol": 0.0588236})");
  EXPECT_EQ(code(), 0);
  EXPECT_EQ(code({"--rtol", "0"}), 1);
  for (const char* wrong : {R"({"atol": -0.5})", R"({"atol": "1"})", "[]"}) {
    write("set/data_0/data.json", wrong);
    const Ran ran = compare({"--data_set", "set/data_0"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find("data.json"), std::string::npos) << ran.err;
  }
}

// An output without a file is not compared.
TEST_F(Compare, FilesOfADataSetAreNumbered) {
  onnx("net.onnx", R"(graph "g" opset {"": 17} {
  const %c : f32[1] = [2.0]
  input %x : f32[N,4]
  input %z : f32[N,4]
  %y : f32[N,4] = Mul(%x, %c)
  %w : f32[N,4] = Sub(%x, %z)
  output %y
  output %w
})");
  data_set("set");
  pb("set/input_1.pb", {0, 0, 1, 1});
  pb("set/output_0.pb", {2, -4, 8, 16});
  EXPECT_TRUE(compare({"--data_set", "set"}).out.starts_with("agrees  y: 0 of 4 "));
  pb("set/output_1.pb", {1, -2, 3, 7});
  const Ran both = compare({"--data_set", "set"});
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_NE(both.out.find("\nagrees  w: 0 of 4 "), std::string::npos) << both.out;
  std::filesystem::remove("set/output_0.pb");
  EXPECT_TRUE(compare({"--data_set", "set"}).out.starts_with("agrees  w: 0 of 4 "));
  std::filesystem::remove("set/output_1.pb");
  const Ran none = compare({"--data_set", "set"});
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("--data_set: there is no output_0.pb in 'set'"), std::string::npos)
      << none.err;
}

// An option overrides the data, also if another name has the same beginning.
TEST_F(Compare, VariableShapesMatchTheData) {
  onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[N,4]
  input %x2 : f32[M,4]
  %y : f32[*] = Concat(%x, %x2) {axis = 0}
  output %y
})");
  npy("two.npy", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  npy("r.npy", {3, 4}, {1, -2, 4, 8, 1, 2, 3, 4, 5, 6, 7, 8});
  const std::vector<std::string> words = {"--input", "x=x.npy", "x2=two.npy", "--reference",
                                          "y=r.npy"};
  EXPECT_EQ(compare(words).code, 0);
  std::vector<std::string> fixed = words;
  fixed.insert(fixed.end(), {"--input_shape", "x2=3,4"});
  const Ran other = compare(fixed);
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("'x2'"), std::string::npos) << other.err;
  // Shapes also follow from a data set, and from files of either option.
  data_set("set");
  pb("set/input_1.pb", {1, 2, 3, 4});
  npy("r.npy", {2, 4}, {1, -2, 4, 8, 1, 2, 3, 4});
  EXPECT_EQ(compare({"--data_set", "set", "--reference", "y=r.npy"}).code, 1);  // output_0 as well
  std::filesystem::remove("set/output_0.pb");
  EXPECT_EQ(compare({"--data_set", "set", "--reference", "y=r.npy"}).code, 0);
  EXPECT_EQ(
      compare({"--input-pb", "x=set/input_0.pb", "x2=set/input_1.pb", "--reference", "y=r.npy"})
          .code,
      0);
}

TEST_F(Compare, OptionsSetTheBatch) {
  const std::vector<std::string> words = {"--input", "x=x.npy", "--reference", "y=y.npy"};
  const auto with = [&](const char* size) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--batch_size", size, "--batch_axis", "0"});
    return compare(all).code;
  };
  EXPECT_EQ(with("1"), 0);
  EXPECT_EQ(with("2"), 1);
}

// Only the real elements of an output whose size depends on data are compared; its size may be at
// any position among the outputs.
TEST_F(Compare, RealPartOfAnOutput) {
  onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[2,4]
  %at : s64[2,K] = NonZero(%x)
  %y : f32[2,4] = Relu(%x)
  output %at
  output %y
})");
  npy("x.npy", {2, 4}, {1, 0, 0, 2, 0, 3, 4, 0});
  const std::vector<int64_t> places = {0, 0, 1, 1, 0, 3, 1, 2};
  const auto bytes = std::as_bytes(std::span(places));
  write_npy("at.npy", {POPRT_DTYPE_S64, {2, 4}, {bytes.begin(), bytes.end()}, {}});
  const Ran ran = compare({"--input", "x=x.npy", "--reference", "at=at.npy"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("agrees  at: 0 of 8 ")) << ran.out;
}

}  // namespace
}  // namespace poprt::cli::test
