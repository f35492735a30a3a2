#include "exec/support/faithful_run.h"

#include <cmath>

#include "base/half.h"
#include "cli/command_line.h"
#include "exec/support/npy.h"
#include "exec/support/tensors.h"

namespace poprt::cli {
namespace {

struct Faithful {
  TemporaryFolder folder;
  FaithfulRun run;

  explicit Faithful(const std::string& model) { run.model = sample_model(model); }
  std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  void give(const std::string& name, const Tensor& tensor) {
    write_npy(path(name + ".npy"), array_of(tensor));
    run.inputs.push_back(name + "=" + path(name + ".npy"));
  }
  std::string operator()() const {
    testing::internal::CaptureStdout();
    try {
      EXPECT_EQ(run_faithfully(run), 0);
    } catch (...) {
      testing::internal::GetCapturedStdout();
      throw;
    }
    return testing::internal::GetCapturedStdout();
  }
  std::vector<double> written(const std::string& name) const {
    const Array a = read_npy(path(name));
    return as_doubles(a.dtype, a.shape, a.data.data(), a.data.size());
  }
};

TEST(FaithfulRun, WritesRequestedOutputs) {
  Faithful f("relu");
  f.give("x", Tensor::of<float>({2, 3}, {-1, 2, -3, 4, -5, 6}));
  EXPECT_EQ(f(), "output y: f32[2,3]\n");
  f.run.outputs = {"y=" + f.path("y.npy")};
  EXPECT_EQ(f(), "output y: f32[2,3]\nwrote " + f.path("y.npy") + "\n");
  EXPECT_EQ(f.written("y.npy"), (std::vector<double>{0, 2, 0, 4, 0, 6}));
}

TEST(FaithfulRun, SettingsDecideTypesAndShapes) {
  Faithful f("dynamic");
  f.run.compile.precision = "fp16";
  f.run.compile.input_shape = {"x=1,3"};
  f.give("x", Tensor::of<f16_t>({1, 3}, {to_f16(1.0F), to_f16(-1.0F), to_f16(0.5F)}));
  EXPECT_EQ(f(), "output y: f16[1,3]\n");
  f.run.compile.precision = "fp32";
  f.run.compile.input_shape.clear();
  f.run.compile.batch_size = 2;
  f.run.compile.batch_axis = 0;
  f.run.inputs.clear();
  f.give("x", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(f(), "output y: f32[2,3]\n");
}

TEST(FaithfulRun, TypesThatNumpyLacksAreBits) {
  Faithful f("bits");
  f.give("b", Tensor::of<uint16_t>({3}, {0x3f80, 0xc000, 0x3fc0}));
  f.give("i", Tensor::of<int8_t>({5}, {-8, 7, -1, 0, 3}));
  f.run.outputs = {"real=" + f.path("real.npy"), "same=" + f.path("same.npy")};
  EXPECT_TRUE(f().ends_with("wrote " + f.path("same.npy") + "\n"));
  EXPECT_EQ(f.written("real.npy"), (std::vector<double>{-8, 7, -1, 0, 3}));
  EXPECT_EQ(f.written("same.npy"), (std::vector<double>{-8, 7, -1, 0, 3}));
}

TEST(FaithfulRun, OverflowConvertsToNanOrTheMaximum) {
  Faithful f("relu");
  f.run.model =
      write_model(f.folder, "m.onnx",
                  "  input %x : f16[2]\n  %y : f16[2] = Add(%x, %x) \"add\"\n  output %y\n");
  f.give("x", Tensor::of<f16_t>({2}, {to_f16(1.0F), to_f16(60000.0F)}));
  f.run.outputs = {"y=" + f.path("y.npy")};
  f();
  EXPECT_EQ(f.written("y.npy")[0], 2);
  EXPECT_FALSE(std::isfinite(f.written("y.npy")[1]));
  f.run.saturate = true;
  f();
  EXPECT_EQ(f.written("y.npy"), (std::vector<double>{2, 65504}));
}

TEST(FaithfulRun, StrictTurnsWarningsIntoErrors) {
  Faithful f("stray");
  f.give("x", Tensor::zeros(DType::f32, {2, 3}));
  EXPECT_EQ(f(), "output y: f32[2,3]\n");
  f.run.compile.strict = true;
  EXPECT_ANY_THROW((void)f());
}

TEST(FaithfulRun, RefusesUnknownNamesAndWrongFiles) {
  Faithful f("relu");
  const auto message_for = [&] { return message_of<Failure>([&] { (void)f(); }); };
  f.give("x", Tensor::zeros(DType::f32, {2, 3}));
  f.run.outputs = {"z=" + f.path("z.npy")};
  EXPECT_EQ(message_for(), "the model has no output 'z'");
  EXPECT_FALSE(std::filesystem::exists(f.path("z.npy")));
  f.run.outputs.clear();
  const std::string good = f.run.inputs[0];
  for (const char* name : {"z", "y"}) {
    f.run.inputs = {name + good.substr(1)};
    EXPECT_EQ(message_for(), fmt::format("the model has no input '{}'", name));
  }
  f.run.inputs = {good, good};
  EXPECT_EQ(message_of<Usage>([&] { (void)f(); }), "--input: input 'x' is given twice");
  f.run.inputs = {good};
  f.run.compile.input_shape = {"z=2,3"};
  EXPECT_EQ(message_of<Usage>([&] { (void)f(); }),
            "--input_shape: the model has no input 'z'; its inputs are: x; "
            "--allow_unknown_inputs ignores the name");
  f.run.compile.input_shape.clear();
  write_npz(f.path("x.npz"), {array_of(Tensor::zeros(DType::f32, {2, 3}))});
  for (const std::string& file : {f.path("x.npz"), std::string("/no/file.none")}) {
    f.run.inputs = {"x=" + file};
    EXPECT_EQ(message_for(), "'x=" + file + "': --numerics faithful supports only tensors");
  }
  f.run.inputs.clear();
  f.run.inputs_pb = {"x"};
  EXPECT_EQ(message_of<Usage>([&] { (void)f(); }), "--input-pb: expected NAME=FILE, found 'x'");
}

}  // namespace
}  // namespace poprt::cli
