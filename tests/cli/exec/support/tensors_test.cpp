#include "exec/support/tensors.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "cli/command_line.h"
#include "exec/commands.h"

namespace poprt::cli {
namespace {

using namespace std::string_literals;

using Words = std::vector<std::string>;

template <class T>
Array array_of_values(poprt_dtype dtype, const std::vector<T>& values) {
  Array a{dtype, {static_cast<int64_t>(values.size())}, {}, {}};
  a.data.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(a.data.data(), values.data(), a.data.size());
  return a;
}

template <class T>
std::vector<T> values_of(const Array& a) {
  std::vector<T> values(a.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), a.data.data(), a.data.size());
  return values;
}

// A TensorProto of f32.
std::string tensor_proto(char size, const std::string& raw) {
  return std::string("\x08") + size + "\x10\x01\x4a" + static_cast<char>(raw.size()) + raw;
}

// Inputs table: f32[3,2] and ids: s64[2].
struct Gather {
  CompileSettings settings;
  Executable executable = load_model(sample_model("gather"), settings);
  Runner runner = make_runner(executable.get(), {.threads = 1});
  std::vector<const poprt_anchor*> inputs = inputs_of(runner.get());
  TemporaryFolder folder;
  std::string table = (folder.path() / "t.npy").string(), ids = (folder.path() / "i.npy").string();

  Gather() {
    Array a = array_of_values<float>(POPRT_DTYPE_F32, {1, 2, 3, 4, 5, 6});
    a.shape = {3, 2};
    write_npy(table, a);
    write_npy(ids, array_of_values<int64_t>(POPRT_DTYPE_S64, {2, 1}));
  }
  Missing missing = Missing::error;
  std::vector<AnchorMemory> fill(const Words& words, const Words& pb, bool random,
                                 const std::function<bool(const std::string&)>& none = nullptr) {
    std::vector<AnchorMemory> memory;
    for (const auto* a : inputs) memory.emplace_back(a);
    fill_inputs(inputs, memory, words, pb, random ? Missing::random : missing, none);
    return memory;
  }
};

float floats(const AnchorMemory& memory, size_t i) {
  float value = 0;
  std::memcpy(&value, memory.data() + i * sizeof value, sizeof value);
  return value;
}

TEST(Tensors, AnchorsAreFoundByName) {
  const Gather g;
  EXPECT_EQ(find_anchor(g.inputs, "ids", "input"), 1U);
  EXPECT_EQ(message_of<Failure>([&] { (void)find_anchor(g.inputs, "id", "thing"); }),
            "the model has no thing 'id'; it has: table, ids");
  EXPECT_EQ(shape_of(g.inputs[0]), (std::vector<int64_t>{3, 2}));
}

TEST(Tensors, InputsAreFilledFromFiles) {
  Gather g;
  const auto memory = g.fill({"table=" + g.table, "ids=" + g.ids}, {}, false);
  EXPECT_EQ(floats(memory[0], 5), 6);
  EXPECT_EQ(memory[1].data()[0], std::byte{2});
  EXPECT_EQ(memory[1].data()[8], std::byte{1});
  std::string raw(24, '\0');
  raw[23] = 0x40;
  const std::string pb = write_file(g.folder, "t.pb", "\x08\x03" + tensor_proto(2, raw)).string();
  EXPECT_EQ(floats(g.fill({"ids=" + g.ids}, {"table=" + pb}, false)[0], 5), 2);
}

TEST(Tensors, InputsThatAreNotGivenAreMadeUpOrMissed) {
  Gather g;
  EXPECT_EQ(message_of<Failure>([&] { g.fill({"table=" + g.table}, {}, false); }),
            "input 'ids' (s64[2]) is missing; give --input ids=FILE.npy");
  g.missing = Missing::error_that_suggests_random;
  EXPECT_EQ(message_of<Failure>([&] { g.fill({"table=" + g.table}, {}, false); }),
            "input 'ids' (s64[2]) is missing; give --input ids=FILE.npy, or --random for random "
            "data");
  const auto memory = g.fill({"ids=" + g.ids}, {}, true);
  EXPECT_NE(floats(memory[0], 0), floats(memory[0], 1));
  EXPECT_EQ(memory[1].data()[0], std::byte{2});
  const auto again = g.fill({}, {}, true);
  EXPECT_EQ(floats(memory[0], 3), floats(again[0], 3));
}

TEST(Tensors, RefusesMismatchedInputs) {
  Gather g;
  const auto message_for = [&](const Words& words, const Words& pb = {}) {
    return message_of<Failure>([&] { g.fill(words, pb, true); });
  };
  EXPECT_EQ(message_for({"none=" + g.table}), "the model has no input 'none'; it has: table, ids");
  EXPECT_EQ(message_for({"none=/no/file.npy"}),
            "the model has no input 'none'; it has: table, ids");
  EXPECT_EQ(message_for({"tabl=" + g.table}), "the model has no input 'tabl'; it has: table, ids");
  EXPECT_EQ(message_for({"ids=" + g.table}),
            "input 'ids' is s64[2], but '" + g.table + "' contains f32[3,2]");
  write_npy(g.table, array_of_values<float>(POPRT_DTYPE_F32, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(message_for({"table=" + g.table}),
            "input 'table' is f32[3,2], but '" + g.table + "' contains f32[6]");
  EXPECT_EQ(message_of<Usage>([&] { g.fill({"ids=" + g.ids, "ids=" + g.ids}, {}, true); }),
            "--input: input 'ids' is given twice");
  EXPECT_EQ(message_of<Usage>([&] { g.fill({"ids"}, {}, true); }),
            "--input: expected NAME=FILE, found 'ids'");
  EXPECT_EQ(message_of<Usage>([&] { g.fill({}, {"ids"}, true); }),
            "--input-pb: expected NAME=FILE, found 'ids'");
}

TEST(Tensors, SkipsInputsThatAreNotNeeded) {
  Gather g;
  const auto other = [](const std::string& name) { return name == "other"; };
  const auto memory =
      g.fill({"other=" + g.table, "table=" + g.table, "ids=" + g.ids}, {}, false, other);
  EXPECT_EQ(floats(memory[0], 0), 1);
  EXPECT_THROW(g.fill({"others=" + g.table}, {}, true, other), Failure);
}

TEST(Tensors, DescribesArraysSequencesAndAbsentValues) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  const Array a = array_of_values<float>(POPRT_DTYPE_F32, {1}),
              b = array_of_values<float>(POPRT_DTYPE_F32, {2, 3});
  write_npy(path("a.npy"), a);
  write_npz(path("s.npz"), {a, b});
  const GivenInput one = read_given("x=" + path("a.npy"), "--input");
  EXPECT_EQ(one.name, "x");
  EXPECT_EQ(one.path, path("a.npy"));
  EXPECT_FALSE(one.sequence);
  ASSERT_EQ(one.arrays.size(), 1U);
  EXPECT_EQ(one.array_name(0), "x");
  const GivenInput several = read_given("x=" + path("s.npz"), "--input");
  EXPECT_TRUE(several.sequence);
  ASSERT_EQ(several.arrays.size(), 2U);
  EXPECT_EQ(several.array_name(1), "x[1]");
  EXPECT_EQ(values_of<float>(several.arrays[1]), (std::vector<float>{2, 3}));
  const GivenInput nothing = read_given("x=/no/file.none", "--input");
  EXPECT_TRUE(nothing.arrays.empty());
  EXPECT_FALSE(nothing.sequence);
  const std::string pb = write_file(folder, "a.pb", tensor_proto(1, "\0\0\x80?"s)).string();
  EXPECT_EQ(values_of<float>(read_given("x=" + pb, "--input-pb").arrays.at(0)),
            std::vector<float>{1});
  EXPECT_EQ(values_of<float>(read_tensor(pb)), std::vector<float>{1});
  EXPECT_EQ(values_of<float>(read_tensor(path("a.npy"))), std::vector<float>{1});
}

TEST(Tensors, IntegersTakeEitherWidth) {
  Array wide = array_of_values<int64_t>(POPRT_DTYPE_S64, {2147483647, -2147483648LL, -1});
  convert_to_input_type(wide, "x", POPRT_DTYPE_S32);
  EXPECT_EQ(wide.dtype, POPRT_DTYPE_S32);
  EXPECT_EQ(values_of<int32_t>(wide),
            (std::vector<int32_t>{2147483647, std::numeric_limits<int32_t>::min(), -1}));
  convert_to_input_type(wide, "x", POPRT_DTYPE_S64);
  EXPECT_EQ(wide.dtype, POPRT_DTYPE_S64);
  EXPECT_EQ(values_of<int64_t>(wide), (std::vector<int64_t>{2147483647, -2147483648LL, -1}));
  for (const int64_t beyond : {int64_t{2147483648}, int64_t{-2147483649}}) {
    Array a = array_of_values<int64_t>(POPRT_DTYPE_S64, {0, beyond});
    EXPECT_EQ(message_of<Failure>([&] { convert_to_input_type(a, "x", POPRT_DTYPE_S32); }),
              fmt::format("input 'x' is s32, which cannot represent {}", beyond));
  }
  Array empty = array_of_values<int64_t>(POPRT_DTYPE_S64, {});
  convert_to_input_type(empty, "x", POPRT_DTYPE_S32);
  EXPECT_EQ(empty.dtype, POPRT_DTYPE_S32);
}

TEST(Tensors, FloatsAreRoundedToHalves) {
  const auto check = [](auto sample, poprt_dtype dtype) {
    using T = decltype(sample);
    const T inf = std::numeric_limits<T>::infinity();
    Array a = array_of_values<T>(dtype, {1, -2, static_cast<T>(65519), inf, -inf, NAN});
    convert_to_input_type(a, "x", POPRT_DTYPE_F16);
    EXPECT_EQ(a.dtype, POPRT_DTYPE_F16);
    auto bits = values_of<uint16_t>(a);
    ASSERT_EQ(bits.size(), 6U);
    EXPECT_EQ(bits.back() & 0x7c00, 0x7c00);
    EXPECT_NE(bits.back() & 0x03ff, 0);
    bits.pop_back();
    EXPECT_EQ(bits, (std::vector<uint16_t>{0x3c00, 0xc000, 0x7bff, 0x7c00, 0xfc00}));
    Array large = array_of_values<T>(dtype, {65520});
    EXPECT_EQ(message_of<Failure>([&] { convert_to_input_type(large, "x", POPRT_DTYPE_F16); }),
              "input 'x' is f16, which cannot represent 65520");
  };
  check(0.0F, POPRT_DTYPE_F32);
  check(0.0, POPRT_DTYPE_F64);
  // Just above the middle of two halves, at a distance that float does not have.
  Array middle = array_of_values<double>(POPRT_DTYPE_F64, {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11});
  convert_to_input_type(middle, "x", POPRT_DTYPE_F16);
  EXPECT_EQ(values_of<uint16_t>(middle), (std::vector<uint16_t>{0x3c01, 0x3c00}));
}

TEST(Tensors, OtherTypesAreNotConverted) {
  for (const auto& [from, to] :
       {std::pair(POPRT_DTYPE_F32, POPRT_DTYPE_F64), std::pair(POPRT_DTYPE_F64, POPRT_DTYPE_F32),
        std::pair(POPRT_DTYPE_S64, POPRT_DTYPE_F16), std::pair(POPRT_DTYPE_F16, POPRT_DTYPE_F32),
        std::pair(POPRT_DTYPE_S32, POPRT_DTYPE_S32), std::pair(POPRT_DTYPE_F32, POPRT_DTYPE_S32),
        std::pair(POPRT_DTYPE_U32, POPRT_DTYPE_S64)}) {
    Array a = array_of_values<int64_t>(static_cast<poprt_dtype>(from), {1});
    convert_to_input_type(a, "x", static_cast<poprt_dtype>(to));
    EXPECT_EQ(a.dtype, from);
    EXPECT_EQ(a.data.size(), 8U);
  }
}

TEST(Tensors, MemoryIsNumbers) {
  const int16_t values[] = {3, -4};
  EXPECT_EQ(as_doubles(POPRT_DTYPE_S16, {2}, values, 4), (std::vector<double>{3, -4}));
  EXPECT_THROW((void)as_doubles(POPRT_DTYPE_S16, {2}, values, 2), Error);
}

TEST(Tensors, CommandsThatCompileHaveTheseOptions) {
  Command app("", "program");
  CompileSettings s;
  std::string file;
  add_compile_options(app, s);
  app.add_option("FILE", file, "");
  ASSERT_EQ(parse(app, {"--input_shape", "x=1", "y=2", "--batch_size", "3", "--batch_axis", "1",
                        "--precision", "fp16", "--winograd", "off", "--skip_passes", "a,b",
                        "--allow_symlinks", "--plugins", "p.so,q.so", "m.onnx"})
                .code,
            std::nullopt);
  EXPECT_EQ(s.input_shape, (Words{"x=1", "y=2"}));
  EXPECT_EQ(s.batch_size, 3);
  EXPECT_EQ(s.batch_axis, 1);
  EXPECT_EQ(s.precision + s.winograd, "fp16off");
  EXPECT_EQ(s.skip_passes, (Words{"a", "b"}));
  EXPECT_TRUE(s.allow_links);
  EXPECT_FALSE(s.strict);
  EXPECT_EQ(file, "m.onnx");
  EXPECT_EQ(plugins_given(), (Words{"p.so", "q.so"}));
  EXPECT_NE(message_of<Failure>([] { load_given_plugins(); }).find("p.so"), std::string::npos);
  EXPECT_EQ(parse(app, {"--strict"}).code, std::nullopt);
  EXPECT_TRUE(s.strict);
  EXPECT_EQ(parse(app, {"--precision", "fp8"}).code, 2);
}

}  // namespace
}  // namespace poprt::cli
