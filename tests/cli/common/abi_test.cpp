#include "common/abi.h"

#include <malloc.h>

#include <cstring>

#include "cli/command_line.h"

namespace poprt::cli {
namespace {

TEST(Abi, ErrorsAreExceptions) {
  EXPECT_NO_THROW(check(nullptr));
  poprt_executable* none = nullptr;
  EXPECT_NE(message_of<Failure>([&] {
              check(poprt_executable_open("/none.popef", &none));
            }).find("'/none.popef'"),
            std::string::npos);
  EXPECT_EQ(none, nullptr);
}

TEST(Abi, PluginsAreALineOrAListOfPaths) {
  for (const char* nothing : {"", ",", "\n,,\n"}) EXPECT_NO_THROW(load_plugins(nothing));
  for (const char* list :
       {"/none/a.so", ",/none/a.so", "\n\n/none/a.so,/none/b.so", "/none/a.so\n/none/b.so"}) {
    const std::string output = message_of<Failure>([&] { load_plugins(list); });
    EXPECT_NE(output.find("/none/a.so"), std::string::npos) << output;
    EXPECT_EQ(output.find("b.so"), std::string::npos) << output;
  }
}

TEST(Abi, PairsAreCutAtTheFirstSign) {
  EXPECT_EQ(split_pair("a=b=c", "--o"), std::pair(std::string("a"), std::string("b=c")));
  for (const char* word : {"a", "=b", "a=", "=", ""})
    EXPECT_EQ(message_of<Usage>([&] { (void)split_pair(word, "--o"); }),
              fmt::format("--o: expected NAME=VALUE, found '{}'", word));
  EXPECT_EQ(message_of<Usage>([&] { (void)split_pair("a.npy", "--output"); }),
            "--output: expected NAME=FILE, found 'a.npy'");
  EXPECT_EQ(message_of<Usage>([&] { (void)split_pair("2,3", "--input_shape"); }),
            "--input_shape: expected NAME=d0,d1,..., found '2,3'");
}

TEST(Abi, ShapesAreNumbersBetweenCommas) {
  const auto shapes = parse_shapes({"x=2,0,3", "y=[]", "z=7"});
  ASSERT_EQ(shapes.size(), 3U);
  EXPECT_EQ(shapes[0].name + shapes[1].name + shapes[2].name, "xyz");
  EXPECT_EQ(shapes[0].shape, (std::vector<int64_t>{2, 0, 3}));
  EXPECT_TRUE(shapes[1].shape.empty());
  EXPECT_EQ(shapes[2].shape, std::vector<int64_t>{7});
  const auto several = parse_shapes({"x=1,8/2,8", "y=3", "x=4,8"});
  std::string text;
  for (const NamedShape& s : several) text += fmt::format("{}{} ", s.name, s.shape[0]);
  EXPECT_EQ(text, "x1 x2 y3 x4 ");
  for (const char* word : {"x=1,", "x=1/", "x=/1", "x=1,/2", "x=,1", "x=1,,2", "x=-1", "x=a",
                           "x=1 2", "x=1.", "x=[1]", "x=99999999999999999999"})
    EXPECT_EQ(message_of<Usage>([&] { (void)parse_shapes({word}); }),
              fmt::format("--input_shape: expected NAME=d0,d1,... with sizes of at least 0, found "
                          "'{}'",
                          word));
}

TEST(Abi, SomeCommandsTakeOneShapeOfEachInput) {
  EXPECT_EQ(parse_single_shapes({"x=1", "y=2,3"}).size(), 2U);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"x=1/2"}, std::vector<std::string>{"x=1", "x=1"}})
    EXPECT_EQ(
        message_of<Usage>([&] { (void)parse_single_shapes(words); }),
        "--input_shape: 'x' has several shapes, but this command accepts one shape per input");
}

TEST(Abi, SettingsAreGivenWhenOneIs) {
  EXPECT_FALSE(CompileSettings().any_given());
  const auto with = [](const std::function<void(CompileSettings&)>& set) {
    CompileSettings s;
    set(s);
    return s.any_given();
  };
  EXPECT_TRUE(with([](auto& s) { s.input_shape = {"x=1"}; }));
  EXPECT_TRUE(with([](auto& s) { s.batch_size = 1; }));
  EXPECT_TRUE(with([](auto& s) { s.precision = "fp32"; }));
  EXPECT_TRUE(with([](auto& s) { s.winograd = "off"; }));
  EXPECT_TRUE(with([](auto& s) { s.passes = {"a"}; }));
  EXPECT_TRUE(with([](auto& s) { s.skip_passes = {"a"}; }));
  EXPECT_TRUE(with([](auto& s) { s.allow_links = true; }));
  EXPECT_TRUE(with([](auto& s) { s.strict = true; }));
}

TEST(Abi, SettingsBecomeOptions) {
  CompileSettings s;
  const poprt_compile_options* o = s.get();
  EXPECT_EQ(o->struct_size, sizeof *o);
  EXPECT_EQ(o->input_shape_count + o->pass_count + o->skip_pass_count, 0U);
  EXPECT_EQ(o->precision, POPRT_PRECISION_KEEP);
  EXPECT_EQ(o->winograd, POPRT_WINOGRAD_DEFAULT);
  EXPECT_EQ(o->batch_size + o->batch_axis + o->max_tensor_size + o->convert_version, 0);
  EXPECT_FALSE(o->allow_links || o->strict);
  s.input_shape = {"x=1,2", "y=[]"};
  s.batch_size = 3;
  s.batch_axis = 1;
  s.passes = {"a", "b"};
  s.skip_passes = {"c"};
  s.max_tensor_size = 1;
  s.convert_version = 13;
  s.allow_links = true;
  s.progress = [](double, const char*, void*) {};
  s.user_data = &s;
  for (int call = 0; call < 2; call++) o = s.get();  // a second call returns the same
  ASSERT_EQ(o->input_shape_count, 2U);
  EXPECT_STREQ(o->input_shapes[0].name, "x");
  EXPECT_EQ(o->input_shapes[0].rank, 2U);
  EXPECT_EQ(o->input_shapes[0].shape[1], 2);
  EXPECT_EQ(o->input_shapes[1].rank, 0U);
  ASSERT_EQ(o->pass_count, 2U);
  EXPECT_STREQ(o->passes[1], "b");
  ASSERT_EQ(o->skip_pass_count, 1U);
  EXPECT_STREQ(o->skip_passes[0], "c");
  EXPECT_EQ(o->batch_size, 3);
  EXPECT_EQ(o->batch_axis, 1);
  EXPECT_EQ(o->max_tensor_size, 1);
  EXPECT_EQ(o->convert_version, 13);
  EXPECT_TRUE(o->allow_links);
  EXPECT_FALSE(o->strict);
  EXPECT_EQ(o->progress, s.progress);
  EXPECT_EQ(o->user_data, &s);
  s.allow_links = false;
  s.strict = true;
  EXPECT_TRUE(s.get()->strict);
  EXPECT_FALSE(s.get()->allow_links);
  for (const auto& [word, code] :
       {std::pair("fp16", POPRT_PRECISION_FP16), std::pair("fp32", POPRT_PRECISION_FP32)}) {
    s.precision = word;
    EXPECT_EQ(s.get()->precision, code);
  }
  for (const auto& [word, code] :
       {std::pair("off", POPRT_WINOGRAD_OFF), std::pair("exact", POPRT_WINOGRAD_EXACT),
        std::pair("fast", POPRT_WINOGRAD_FAST)}) {
    s.winograd = word;
    EXPECT_EQ(s.get()->winograd, code);
  }
}

TEST(Abi, ModelsAreCompiledOrOpened) {
  const TemporaryFolder folder;
  CompileSettings settings;
  settings.input_shape = {"x=5,3"};
  const Executable made = load_model(sample_model("dynamic"), settings);
  ASSERT_EQ(poprt_executable_input_count(made.get()), 1U);
  EXPECT_EQ(anchor_type(poprt_executable_input(made.get(), 0)), "f32[5,3]");
  const std::string path = (folder.path() / "m.popef").string();
  check(poprt_executable_save(made.get(), path.c_str()));
  EXPECT_EQ(message_of<Usage>([&] { (void)load_model(path, settings); }),
            fmt::format("'{}' is already compiled; shapes, precision and passes can only be given "
                        "for ONNX models",
                        path));
  settings.input_shape.clear();
  const Executable opened = load_model(path, settings);
  EXPECT_EQ(poprt_executable_output_count(opened.get()), 1U);
  EXPECT_THROW((void)load_model("/none.onnx", settings), Failure);
}

TEST(Abi, MemoryOfAnAnchorIsAlignedAndZero) {
  CompileSettings settings;
  const Executable made = load_model(sample_model("gather"), settings);
  const Runner runner = make_runner(made.get(), {.threads = 1});
  const auto inputs = inputs_of(runner.get()), outputs = outputs_of(runner.get());
  ASSERT_EQ(inputs.size(), 2U);
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_STREQ(poprt_anchor_name(inputs[0]), "table");
  EXPECT_STREQ(poprt_anchor_name(inputs[1]), "ids");
  EXPECT_STREQ(poprt_anchor_name(outputs[0]), "rows");
  EXPECT_EQ(anchor_type(inputs[0]), "f32[3,2]");
  EXPECT_EQ(anchor_type(inputs[1]), "s64[2]");
  AnchorMemory memory(inputs[0]);
  EXPECT_EQ(memory.bytes(), 24U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0U);
  EXPECT_GE(::malloc_usable_size(memory.data()), memory.bytes());
  for (size_t i = 0; i < memory.bytes(); i++) EXPECT_EQ(memory.data()[i], std::byte{0});
  EXPECT_EQ(std::as_const(memory).data(), memory.data());
}

TEST(Abi, RunnersProfileOnRequest) {
  CompileSettings settings;
  const Executable made = load_model(sample_model("relu"), settings);
  const auto profiled = [&](bool profile) {
    const Runner runner = make_runner(made.get(), {.threads = 1, .profile = profile});
    const float x[6] = {-1, 2, -3, 4, -5, 6};
    float y[6] = {};
    const void* in[] = {x};
    void* out[] = {y};
    check(poprt_runner_execute_indexed(runner.get(), in, out));
    EXPECT_EQ(y[0] + y[1] + y[5], 8);
    poprt_string* text = nullptr;
    poprt_error* error = poprt_runner_profile(runner.get(), &text);
    const bool refused = error != nullptr;
    poprt_error_free(error);
    return refused ? std::string() : take(text);
  };
  EXPECT_NE(profiled(true), "");
  EXPECT_NE(profiled(true), profiled(false));
  EXPECT_THROW((void)make_runner(made.get(), {.threads = 1, .numerics = "precise"}), Failure);
}

}  // namespace
}  // namespace poprt::cli
