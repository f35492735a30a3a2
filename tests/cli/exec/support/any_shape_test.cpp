#include "exec/support/any_shape.h"

#include <cstring>

#include "cli/command_line.h"
#include "exec/support/tensors.h"

namespace poprt::cli {
namespace {

// y = relu(x) with rows of three numbers, compiled for one row and for four.
struct Rows {
  Executable executable;
  Runner runner;
  TemporaryFolder folder;

  Rows() {
    CompileSettings settings;
    settings.input_shape = {"x=1,3", "x=4,3"};
    executable = load_model(sample_model("dynamic"), settings);
    runner = make_runner(executable.get(), {.threads = 1});
  }
  std::string file(const std::string& name, const Tensor& tensor) const {
    write_npy((folder.path() / name).string(), array_of(tensor));
    return (folder.path() / name).string();
  }
};

std::vector<double> doubles_of(const Array& a) {
  return as_doubles(a.dtype, a.shape, a.data.data(), a.data.size());
}

TEST(AnyShape, AnswersHaveTheShapeOfTheRequest) {
  const Rows rows;
  const std::string two = rows.file("x.npy", Tensor::of<float>({2, 3}, {-1, 2, -3, 4, -5, 6}));
  ShapedRequest request(rows.runner.get(), read_arrays({"x=" + two}, {}, rows.runner.get()), false);
  for (int run = 0; run < 2; run++) request.run();
  const Array y = request.output("y");
  EXPECT_EQ(y.dtype, POPRT_DTYPE_F32);
  EXPECT_EQ(y.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(doubles_of(y), (std::vector<double>{0, 2, 0, 4, 0, 6}));
  EXPECT_EQ(message_of<Failure>([&] { (void)request.output("z"); }),
            "the model has no output 'z'; it has: y");
}

TEST(AnyShape, RefusesOutputsThatWereNotComputed) {
  const Rows rows;
  const ShapedRequest request(rows.runner.get(), {}, true);
  EXPECT_EQ(message_of<Failure>([&] { (void)request.output("y"); }), "output 'y' was not computed");
}

TEST(AnyShape, InputsThatAreNotGivenAreMadeUp) {
  const Rows rows;
  ShapedRequest made(rows.runner.get(), {}, true), again(rows.runner.get(), {}, true);
  made.run();
  again.run();
  const Array y = made.output("y");
  EXPECT_EQ(y.shape, (std::vector<int64_t>{4, 3}));  // the shape of the runner
  EXPECT_EQ(y.data, again.output("y").data);
  double sum = 0;
  for (const double v : doubles_of(y)) sum += v;
  EXPECT_GT(sum, 0);
  ShapedRequest missing(rows.runner.get(), {}, false);
  EXPECT_THROW(missing.run(), Failure);
  const std::string one = rows.file("x.npy", Tensor::of<float>({1, 3}, {1, 2, 3}));
  ShapedRequest given(rows.runner.get(), read_arrays({"x=" + one}, {}, rows.runner.get()), true);
  given.run();
  EXPECT_EQ(doubles_of(given.output("y")), (std::vector<double>{1, 2, 3}));
}

TEST(AnyShape, ArraysHaveTheTypesOfTheRunner) {
  CompileSettings settings;
  const Executable bits = load_model(sample_model("bits"), settings);
  const Runner runner = make_runner(bits.get(), {.threads = 1});
  const Rows rows;
  const std::string b = rows.file("b.npy", Tensor::of<uint16_t>({1}, {0x3f80})),
                    i = rows.file("i.npy", Tensor::of<int8_t>({2}, {-8, 7}));
  const NamedArrays arrays = read_arrays({"b=" + b, "i=" + i}, {}, runner.get());
  ASSERT_EQ(arrays.size(), 2U);
  EXPECT_EQ(arrays[0].first + arrays[1].first, "bi");
  EXPECT_EQ(arrays[0].second.dtype, POPRT_DTYPE_BF16);
  EXPECT_EQ(arrays[1].second.dtype, POPRT_DTYPE_S4);
  EXPECT_EQ(arrays[1].second.data, std::vector<std::byte>{std::byte{0x78}});
  EXPECT_EQ(message_of<Failure>([&] { (void)read_arrays({"z=" + b}, {}, runner.get()); }),
            "the model has no input 'z'; it has: b, i");
  EXPECT_EQ(message_of<Usage>([&] { (void)read_arrays({}, {"b"}, runner.get()); }),
            "--input-pb: expected NAME=FILE, found 'b'");
  // Bits of a TensorProto are numbers: its types are those of ONNX.
  const std::string pb =
      write_file(rows.folder, "i.pb", std::string("\x08\x02\x10\x03\x4a\x02\xf8\x07")).string();
  EXPECT_EQ(read_arrays({}, {"i=" + pb}, runner.get())[0].second.dtype, POPRT_DTYPE_S8);
}

}  // namespace
}  // namespace poprt::cli
