#include "exec/support/values.h"

#include <cstring>

#include "cli/command_line.h"
#include "exec/support/tensors.h"

namespace poprt::cli {
namespace {

using Words = std::vector<std::string>;

struct Files {
  TemporaryFolder folder;
  std::string put(const std::string& name, const Tensor& tensor) const {
    const std::string path = (folder.path() / name).string();
    write_npy(path, array_of(tensor));
    return path;
  }
};

PreparedModel load(const std::string& path, const Words& words, const Words& pb = {},
                   bool random = false, CompileSettings settings = {}) {
  return load_with_values(path, settings, {words, pb, random});
}

std::string inputs(const PreparedModel& p) {
  std::string text;
  for (size_t i = 0; p.executable && i < poprt_executable_input_count(p.executable.get()); i++) {
    const poprt_anchor* a = poprt_executable_input(p.executable.get(), i);
    text += fmt::format("{} {} ", poprt_anchor_name(a), anchor_type(a));
  }
  return text;
}

const Tensor kX = Tensor::of<float>({2, 3}, {0, 1, 0, 2, 3, 4});

TEST(Values, ModelsThatNeedNoValuesAreCompiledUnchanged) {
  const Files files;
  const PreparedModel p = load(sample_model("relu"), {"x=" + files.put("x.npy", kX)});
  EXPECT_EQ(inputs(p), "x f32[2,3] ");
  EXPECT_TRUE(p.folded.empty() && p.texts.empty() && p.containers.empty());
  EXPECT_FALSE(p.has_folded_input("x"));
  // An unknown name is not refused here, but later.
  EXPECT_EQ(inputs(load(sample_model("relu"), {"z=" + files.put("x.npy", kX)})), "x f32[2,3] ");
}

TEST(Values, AShapeBecomesPartOfTheProgram) {
  const Files files;
  const std::string shape = files.put("s.npy", Tensor::of<int64_t>({2}, {3, 2}));
  const PreparedModel p = load(sample_model("reshape_input"), {"shape=" + shape});
  EXPECT_EQ(inputs(p), "x f32[2,3] ");
  EXPECT_EQ(p.folded, Words{"shape"});
  EXPECT_TRUE(p.has_folded_input("shape"));
  EXPECT_FALSE(p.has_folded_input("x") || p.has_folded_input("shap"));
  EXPECT_EQ(anchor_type(poprt_executable_output(p.executable.get(), 0)), "f32[3,2]");
}

TEST(Values, FoldsOnlyInputsThatShapesNeed) {
  const Files files;
  const std::string shape = files.put("s.npy", Tensor::of<int64_t>({2}, {3, 2})),
                    x = files.put("x.npy", kX);
  const PreparedModel p = load(sample_model("reshape_input"), {"x=" + x, "shape=" + shape});
  EXPECT_EQ(inputs(p), "x f32[2,3] ");
  EXPECT_EQ(p.folded, Words{"shape"});
}

TEST(Values, CompiledModelsAreOpened) {
  const Files files;
  CompileSettings settings;
  const std::string path = (files.folder.path() / "m.popef").string();
  check(poprt_executable_save(load_model(sample_model("relu"), settings).get(), path.c_str()));
  EXPECT_EQ(inputs(load(path, {"z=" + files.put("x.npy", kX)})), "x f32[2,3] ");
}

TEST(Values, ReadsProtobufFiles) {
  const Files files;
  const std::string pb =
      write_file(files.folder, "s.pb",
                 std::string("\x08\x02\x10\x07\x4a\x10\x06\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0", 22))
          .string();
  const PreparedModel p = load(sample_model("reshape_input"), {}, {"shape=" + pb});
  EXPECT_EQ(p.folded, Words{"shape"});
  EXPECT_EQ(anchor_type(poprt_executable_output(p.executable.get(), 0)), "f32[6,1]");
}

TEST(Values, KeepsTheFirstErrorWithoutValues) {
  const std::string path = sample_model("reshape_input");
  CompileSettings settings;
  const std::string first = message_of<Failure>([&] { (void)load_model(path, settings); });
  EXPECT_EQ(message_of<Failure>([&] { (void)load(path, {}); }), first);
  EXPECT_EQ(message_of<Failure>([&] { (void)load(path, {}, {}, true); }), first);
  const Files files;
  const std::string x = files.put("x.npy", kX);
  EXPECT_EQ(message_of<Failure>([&] { (void)load(path, {"x=" + x}); }), first);
  EXPECT_THROW((void)load("/none.onnx", {"x=" + x}), Failure);
  EXPECT_THROW((void)load("/none.popef", {"x=" + x}), Failure);
}

TEST(Values, RefusesValuesOfTheWrongShape) {
  const Files files;
  const std::string path = sample_model("reshape_input");
  const auto message_for = [&](const Shape& shape) {
    const std::string s = files.put("s.npy", Tensor::zeros(DType::s64, shape));
    return message_of<Failure>([&] { (void)load(path, {"shape=" + s}); });
  };
  EXPECT_EQ(message_for({3}), "input 'shape' is s64[2], but its data has shape [3]");
  EXPECT_EQ(message_for({2, 1}), "input 'shape' is s64[2], but its data has shape [2,1]");
}

TEST(Values, ASequenceIsItsElements) {
  const Files files;
  const std::string a = files.put("a.npy", kX),
                    b = files.put("b.npy", Tensor::of<float>({1, 3}, {1, 2, 3}));
  const PreparedModel one = load(sample_model("sequence"), {"s[0]=" + a, "s[1]=" + b});
  EXPECT_EQ(inputs(one), "s[0] f32[2,3] s[1] f32[1,3] ");
  EXPECT_EQ(one.containers, std::set<std::string>{"s"});
  EXPECT_TRUE(one.has_folded_input("s") && one.has_folded_input("s[7]"));
  EXPECT_FALSE(one.has_folded_input("t"));
  const std::string archive = (files.folder.path() / "s.npz").string();
  write_npz(archive, {array_of(kX), array_of(kX), array_of(kX)});
  EXPECT_EQ(inputs(load(sample_model("sequence"), {"s=" + archive})),
            "s[0] f32[2,3] s[1] f32[2,3] s[2] f32[2,3] ");
}

TEST(Values, AnOptionalIsThereWhenItIsGiven) {
  const Files files;
  const PreparedModel given = load(sample_model("optional"), {"o=" + files.put("x.npy", kX)});
  const PreparedModel absent = load(sample_model("optional"), {"o=/no/file.none"});
  EXPECT_TRUE(given.executable && absent.executable);
  for (const auto& [model, there] : {std::pair(&given, 1), std::pair(&absent, 0)}) {
    const Runner runner = make_runner(model->executable.get(), {.threads = 1});
    std::vector<AnchorMemory> memory;
    std::vector<const void*> in;
    for (const auto* a : inputs_of(runner.get())) memory.emplace_back(a);
    for (const auto& m : memory) in.push_back(m.data());
    AnchorMemory y(outputs_of(runner.get()).at(0));
    void* out[] = {y.data()};
    check(poprt_runner_execute_indexed(runner.get(), in.data(), out));
    EXPECT_EQ(static_cast<int>(y.data()[0]), there);
  }
}

TEST(Values, TextIsComputedHere) {
  const Files files;
  const std::string a = files.put("a.npy", Tensor::strings({4}, {"one", "", "3", "x y"}));
  const PreparedModel p = load(sample_model("join"), {"a=" + a});
  EXPECT_EQ(p.executable, nullptr);
  EXPECT_EQ(p.folded, Words{"a"});
  ASSERT_EQ(p.texts.size(), 1U);
  EXPECT_EQ(p.texts[0].name, "t");
  EXPECT_EQ(p.texts[0].shape, std::vector<int64_t>{4});
  EXPECT_EQ(p.texts[0].values, (Words{"one!", "!", "3!", "x y!"}));
  const PreparedModel made = load(sample_model("join"), {}, {}, true);
  EXPECT_EQ(made.texts.at(0).values, (Words{"word 0!", "word 1!", "word 2!", "word 3!"}));
  EXPECT_EQ(load(sample_model("join"), {"a=" + a}, {}, true).texts.at(0).values, p.texts[0].values);
  const PreparedModel both = load(sample_model("text"), {"x=" + files.put("x.npy", kX)});
  EXPECT_EQ(inputs(both), "x f32[2,3] ");
  EXPECT_EQ(both.texts.at(0).values, (Words{"one!", "two!"}));
}

TEST(Values, SettingsMatchTheCompiler) {
  CompileSettings settings;
  settings.precision = "fp16";
  const Files files;
  const std::string shape = files.put("s.npy", Tensor::of<int64_t>({2}, {3, 2}));
  EXPECT_EQ(inputs(load(sample_model("reshape_input"), {"shape=" + shape}, {}, false, settings)),
            "x f16[2,3] ");
  CompileSettings wrong;
  wrong.input_shape = {"x"};
  EXPECT_THROW((void)load(sample_model("reshape_input"), {"shape=" + shape}, {}, false, wrong),
               Usage);
}

// NonZero returns the places of all elements that are not zero.
TEST(Values, CropsOutputsToTheirReportedShape) {
  CompileSettings settings;
  const Executable e = load_model(sample_model("nonzero"), settings);
  const Runner runner = make_runner(e.get(), {.threads = 1});
  const auto outputs = outputs_of(runner.get());
  const auto found = [&](const Tensor& x) {
    std::vector<AnchorMemory> memory;
    std::vector<void*> out;
    for (const auto* a : outputs) memory.emplace_back(a);
    for (auto& m : memory) out.push_back(m.data());
    const void* in[] = {x.data()};
    check(poprt_runner_execute_indexed(runner.get(), in, out.data()));
    return cropped(outputs, memory, find_anchor(outputs, "at", "output"));
  };
  const auto places = [](const Array& a) {
    return as_doubles(a.dtype, a.shape, a.data.data(), a.data.size());
  };
  const Array four = found(kX);
  EXPECT_EQ(four.shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(places(four), (std::vector<double>{0, 1, 1, 1, 1, 0, 1, 2}));
  EXPECT_EQ(found(Tensor::zeros(DType::f32, {2, 3})).shape, (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(places(found(Tensor::of<float>({2, 3}, {1, 1, 1, 1, 1, 1}))),
            (std::vector<double>{0, 0, 0, 1, 1, 1, 0, 1, 2, 0, 1, 2}));
}

}  // namespace
}  // namespace poprt::cli
