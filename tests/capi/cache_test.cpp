// Tests which calls share an executable of the engine's cache: an option that affects the result
// causes another file, and all other options do not.
#include <gtest/gtest.h>
#include <poprt/poprt.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "capi/onnx_bytes.h"

namespace {

namespace fs = std::filesystem;
using poprt::test::message_for;
using poprt::test::onnx;

const std::string kModel =
    onnx({{"Add", {"x", "x"}, "s"}, {"Relu", {"s"}, "y"}, {"Neg", {"s"}, "z"}}, {{"x", 1, {2, 3}}},
         {{"y", 1, {2, 3}}, {"z", 1, {2, 3}}});

class Cache : public testing::Test {
 protected:
  Cache() {
    char pattern[] = "/tmp/poprt_cache_XXXXXX";
    folder = ::mkdtemp(pattern);
    ::unsetenv("POPART_CACHE_DIR");
    ::unsetenv("POPXL_CACHE_DIR");
  }
  ~Cache() override {
    ::unsetenv("POPART_CACHE_DIR");
    ::unsetenv("POPXL_CACHE_DIR");
    poprt_log_set_callback(nullptr, nullptr);
    fs::remove_all(folder);
  }

  static poprt_compile_options plain() {
    poprt_compile_options o = {};
    o.struct_size = sizeof o;
    return o;
  }
  poprt_compile_options cached() const {
    poprt_compile_options o = plain();
    o.enable_engine_caching = 1;
    o.cache_path = folder.c_str();
    return o;
  }

  // Compiles, and returns the number of passes that ran.
  static int compile(poprt_compile_options o, const std::string& model = kModel) {
    int passes = 0;
    o.after_pass = [](const char*, int64_t, double, int64_t, int64_t, void* count) {
      ++*static_cast<int*>(count);
    };
    o.user_data = &passes;
    poprt_compiler* compiler = nullptr;
    poprt_executable* executable = nullptr;
    EXPECT_EQ(message_for(poprt_compiler_create(&o, &compiler)), "ok");
    EXPECT_EQ(message_for(poprt_compiler_compile_bytes(compiler, model.data(), model.size(),
                                                       nullptr, &executable)),
              "ok");
    poprt_executable_free(executable);
    poprt_compiler_free(compiler);
    return passes;
  }

  static std::vector<fs::path> files(const fs::path& in) {
    std::vector<fs::path> all;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(in, none)) all.push_back(entry.path());
    return all;
  }
  static std::string bytes(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string folder;
};

struct Change {
  std::string name;
  std::function<void(poprt_compile_options&)> apply;
  std::string described;  // in the text that describes the file
};

poprt_option one_option;
const char* one_name;
int64_t one_shape[] = {2, 3};
const poprt_input_shape kShape = {"x", one_shape, 2};

void by_name(poprt_compile_options& o, const char* name, const char* value) {
  one_option = {name, value};
  o.options = &one_option;
  o.option_count = 1;
}
void named(const char* const*& list, size_t& count, const char* name) {
  one_name = name;
  list = &one_name;
  count = 1;
}

// Each option makes a separate file, which is found again; the file records the option.
TEST_F(Cache, CompilesAFileForEachOptionThatChangesTheResult) {
  EXPECT_EQ(message_for(poprt_log_set_level("OFF")), "ok");
  const Change changes[] = {
      {"nothing", [](auto&) {}, ""},
      {"a shape",
       [](auto& o) {
         o.input_shapes = &kShape;
         o.input_shape_count = 1;
       },
       ", x=[2,3]"},
      {"a batch", [](auto& o) { o.batch_size = 2; }, ", batch 2 on axis 0"},
      {"an axis",
       [](auto& o) {
         o.batch_size = 3;
         o.batch_axis = 1;
       },
       ", batch 3 on axis 1"},
      {"fp32", [](auto& o) { o.precision = POPRT_PRECISION_FP32; }, ", fp32"},
      {"fp16", [](auto& o) { o.precision = POPRT_PRECISION_FP16; }, ", fp16"},
      {"winograd", [](auto& o) { o.winograd = POPRT_WINOGRAD_FAST; },
       ", winograd " + std::to_string(POPRT_WINOGRAD_FAST)},
      {"links", [](auto& o) { o.allow_links = 1; }, ", links"},
      {"a pass", [](auto& o) { named(o.passes, o.pass_count, "erf_gelu_pattern"); },
       ", passes [erf_gelu_pattern]"},
      {"without a pass",
       [](auto& o) { named(o.skip_passes, o.skip_pass_count, "erf_gelu_pattern"); },
       ", without [erf_gelu_pattern]"},
      {"an output", [](auto& o) { named(o.outputs, o.output_count, "y"); }, ", outputs [y]"},
      {"another output", [](auto& o) { named(o.outputs, o.output_count, "z"); }, ", outputs [z]"},
      {"a tensor size", [](auto& o) { o.max_tensor_size = 5; }, ", max_tensor_size 5"},
      {"a rewrite limit", [](auto& o) { o.rewrite_limit = 6; }, ", rewrite_limit 6"},
      {"an end", [](auto& o) { o.stop_after = "erf_gelu_pattern"; },
       ", stop_after erf_gelu_pattern"},
      {"weights", [](auto& o) { o.variable_weights = 1; }, ", variable weights"},
      {"strict", [](auto& o) { o.strict = 1; }, ", strict"},
      {"padding", [](auto& o) { o.max_padding = 0.25; }, ", max_padding 0.25"},
      {"an option", [](auto& o) { by_name(o, "narrow_int64", "True"); }, ", narrow_int64 [1]"},
      {"plain weights", [](auto& o) { by_name(o, "compact", "True"); }, ", compact [1]"},
      {"faithful", [](auto& o) { by_name(o, "numerics", "faithful"); }, ", numerics [faithful]"},
  };
  size_t count = 0;
  for (const Change& change : changes) {
    poprt_compile_options o = cached();
    change.apply(o);
    const auto before = files(folder);
    EXPECT_GT(compile(o), 0) << change.name;
    const auto after = files(folder);
    EXPECT_EQ(after.size(), ++count) << change.name;
    for (const fs::path& file : after)
      if (std::find(before.begin(), before.end(), file) == before.end())
        EXPECT_NE(bytes(file).find(change.described + "\n"), std::string::npos) << change.name;
    EXPECT_EQ(compile(o), 0) << change.name << " is found again";
  }
  EXPECT_GT(compile(cached(), onnx({{"Neg", {"x"}, "y"}}, {{"x", 1, {2, 3}}}, {{"y", 1, {2, 3}}})),
            0)
      << "another model";
  EXPECT_EQ(message_for(poprt_log_set_level("WARNING")), "ok");
}

TEST_F(Cache, IgnoresOptionsThatDoNotChangeTheResult) {
  EXPECT_EQ(message_for(poprt_log_set_level("OFF")), "ok");
  EXPECT_GT(compile(cached()), 0);
  const poprt_opaque_blob blob = {"note", "text", 4};
  const std::pair<const char*, std::function<void(poprt_compile_options&)>> changes[] = {
      {"a callback", [](auto& o) { o.progress = [](double, const char*, void*) {}; }},
      {"verification", [](auto& o) { o.no_verify = 1; }},
      {"an opset", [](auto& o) { o.convert_version = 13; }},
      {"a blob",
       [&](auto& o) {
         o.opaque_blobs = &blob;
         o.opaque_blob_count = 1;
       }},
      {"the source", [](auto& o) { o.embed_source = 1; }},
      {"an axis without a batch", [](auto& o) { o.batch_axis = 1; }},
      {"tiles", [](auto& o) { by_name(o, "num_io_tiles", "64"); }},
      {"an opset by name", [](auto& o) { by_name(o, "lowest_opset", "13"); }},
      {"batches", [](auto& o) { by_name(o, "batches_per_step", "2"); }},
      {"no graph to be written",
       [](auto& o) { by_name(o, "compiler_options", "serialize_ir=False"); }},
      {"a setting of chips",
       [](auto& o) { by_name(o, "compiler_options", "partials_type=half"); }}};
  for (const auto& [name, apply] : changes) {
    poprt_compile_options o = cached();
    apply(o);
    EXPECT_EQ(compile(o), 0) << name;
  }
  EXPECT_EQ(files(folder).size(), 1u);
  EXPECT_EQ(message_for(poprt_log_set_level("WARNING")), "ok");
}

TEST_F(Cache, AGraphThatIsWrittenIsCompiled) {
  poprt_compile_options o = cached();
  const std::string ir = folder + "/ir.json";
  const std::string words = "serialize_ir=True\nserialized_ir_dest=" + ir;
  by_name(o, "compiler_options", words.c_str());
  EXPECT_GT(compile(o), 0);
  EXPECT_EQ(files(folder), std::vector<fs::path>{ir});
}

TEST_F(Cache, TheFolderIsTheOptionsElseTheEnvironments) {
  const std::string a = folder + "/a", b = folder + "/b", c = folder + "/c";
  std::string warnings;
  poprt_log_set_callback(
      [](poprt_log_level, const char* message, void* to) {
        *static_cast<std::string*>(to) += std::string(message) + "\n";
      },
      &warnings);
  const auto folders = [&] {
    std::string found;
    for (const std::string& f : {a, b, c})
      if (!files(f).empty()) found += f.back();
    for (const std::string& f : {a, b, c}) fs::remove_all(f);
    return found;
  };
  poprt_compile_options o = plain();
  o.cache_path = c.c_str();
  compile(o);
  EXPECT_EQ(folders(), "") << "a folder alone turns nothing on";
  EXPECT_EQ(warnings, "`cache_path` has no effect without `enable_engine_caching`\n");
  warnings.clear();
  o.enable_engine_caching = 1;
  compile(o);
  EXPECT_EQ(folders(), "c");
  ::setenv("POPART_CACHE_DIR", a.c_str(), 1);
  compile(plain());
  EXPECT_EQ(folders(), "a");
  compile(o);
  EXPECT_EQ(folders(), "c");
  o.cache_path = "";
  compile(o);
  EXPECT_EQ(folders(), "a");
  ::setenv("POPXL_CACHE_DIR", a.c_str(), 1);
  compile(plain());
  EXPECT_EQ(folders(), "a");
  EXPECT_EQ(warnings, "") << "both name the same";
  poprt_compile_options only_folder = plain();
  only_folder.cache_path = c.c_str();
  compile(only_folder);
  EXPECT_EQ(folders(), "c");
  EXPECT_EQ(warnings, "") << "a variable turns the cache on, too";
  ::setenv("POPXL_CACHE_DIR", b.c_str(), 1);
  compile(plain());
  EXPECT_EQ(folders(), "b");
  EXPECT_EQ(warnings, "POPXL_CACHE_DIR '" + b + "' is used, POPART_CACHE_DIR '" + a + "' is not\n");
  warnings.clear();
  ::unsetenv("POPART_CACHE_DIR");
  compile(plain());
  EXPECT_EQ(folders(), "b");
  ::setenv("POPXL_CACHE_DIR", "", 1);
  compile(plain());
  EXPECT_EQ(folders(), "");
  EXPECT_EQ(warnings, "");
  const fs::path was = fs::current_path();
  fs::current_path(folder);
  compile(o);
  EXPECT_EQ(files("session_cache").size(), 1u) << "when nobody says";
  fs::current_path(was);
}

// A misspelled option would otherwise have no effect in silence from the second process on.
TEST_F(Cache, AFoundFileRepeatsTheWarningsOfItsCompilation) {
  std::string warnings;
  poprt_log_set_callback(
      [](poprt_log_level level, const char* text, void* to) {
        if (level >= POPRT_LOG_WARNING) static_cast<std::string*>(to)->append(text).append("\n");
      },
      &warnings);
  const poprt_input_shape shapes[] = {{"zz", one_shape, 2}};
  for (const char* mode : {"fixed", "on_demand"}) {
    poprt_compile_options o = cached();
    o.input_shapes = shapes;
    o.input_shape_count = 1;
    o.shapes = mode;
    compile(o);
    const std::string first = std::exchange(warnings, "");
    EXPECT_NE(first.find("the model has no input 'zz'"), std::string::npos) << first;
    EXPECT_EQ(compile(o), 0) << "it is found";
    EXPECT_EQ(std::exchange(warnings, ""), first) << mode;
  }
}

// -- Generators -----------------------------------------------------------------------------------

class GeneratorCache : public Cache {
 protected:
  GeneratorCache() : model(folder + "/model"), cache(folder + "/cache") {}

  // Copies a folder of tests/data/generation.
  void copy(const std::string& name) {
    fs::remove_all(model);
    fs::copy(std::string(POPRT_TEST_DATA) + "/generation/" + name, model);
  }
  void write(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = bytes(model + "/" + file);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, from.size(), to);
    std::ofstream(model + "/" + file, std::ios::binary) << text;
  }

  static poprt_generator_options plain_generator() {
    poprt_generator_options o = {};
    o.struct_size = sizeof o;
    o.threads = 1;
    return o;
  }
  // The caller frees the generator.
  poprt_generator* make(poprt_generator_options o = plain_generator(),
                        const std::string& path = "") const {
    poprt_compile_options how = plain();
    how.enable_engine_caching = 1;
    how.cache_path = cache.c_str();
    poprt_compiler* compiler = nullptr;
    EXPECT_EQ(message_for(poprt_compiler_create(&how, &compiler)), "ok");
    o.compiler = compiler;
    poprt_generator* generator = nullptr;
    EXPECT_EQ(message_for(poprt_generator_create(path.empty() ? model.c_str() : path.c_str(), &o,
                                                 &generator)),
              "ok");
    poprt_compiler_free(compiler);
    return generator;
  }
  size_t count_after(const poprt_generator_options& o, const std::string& path = "") const {
    poprt_generator_free(make(o, path));
    return files(cache).size();
  }

  const std::string model, cache;
};

TEST_F(GeneratorCache, CompilesAFileForEachOptionThatChangesTheGenerator) {
  EXPECT_EQ(message_for(poprt_log_set_level("OFF")), "ok");
  copy("optimum");
  const std::function<void(poprt_generator_options&)> changes[] = {
      [](auto&) {}, [](auto& o) { o.slots = 2; }, [](auto& o) { o.max_length = 16; },
      [](auto& o) { o.prefill = 8; }, [](auto& o) { o.cache_precision = "int8"; }};
  for (size_t i = 0; i < std::size(changes); i++) {
    poprt_generator_options o = plain_generator();
    changes[i](o);
    EXPECT_EQ(count_after(o), i + 1);
    EXPECT_EQ(count_after(o), i + 1) << "the file is found again";
  }
  poprt_generator_options o = plain_generator();
  o.slots = 2;
  poprt_generator* generator = make(o);
  EXPECT_EQ(poprt_generator_slots(generator), 2);
  poprt_generator_free(generator);
  o = plain_generator();
  o.max_length = 16;
  generator = make(o);
  EXPECT_EQ(poprt_generator_max_length(generator), 16);
  poprt_generator_free(generator);
}

// The tokens that end a text are part of the executable.
TEST_F(GeneratorCache, CompilesAFileForEachConfiguration) {
  EXPECT_EQ(message_for(poprt_log_set_level("OFF")), "ok");
  copy("genai");
  const auto length = [&] {
    poprt_generator* generator = make();
    poprt_sequence* sequence = nullptr;
    EXPECT_EQ(message_for(poprt_generator_new_sequence(generator, &sequence)), "ok");
    for (const int64_t token : {6, 42, 26})
      EXPECT_EQ(message_for(poprt_sequence_append(sequence, token)), "ok");
    EXPECT_EQ(message_for(poprt_sequence_set_option(sequence, "max_new_tokens", 8)), "ok");
    EXPECT_EQ(message_for(poprt_sequence_start(sequence)), "ok");
    int64_t token = 0;
    int count = -1;
    while (token >= 0 && count < 9) {
      EXPECT_EQ(message_for(poprt_sequence_next(sequence, -1, &token)), "ok");
      count++;
    }
    poprt_sequence_free(sequence);
    poprt_generator_free(generator);
    return count;
  };
  write("genai_config.json", "\"eos_token_id\": 7", "\"eos_token_id\": 52");
  EXPECT_EQ(length(), 8);
  write("genai_config.json", "\"eos_token_id\": 52", "\"eos_token_id\": 24");
  EXPECT_LT(length(), 4) << "the third token is 24";
  EXPECT_EQ(files(cache).size(), 2u);
}

TEST_F(GeneratorCache, AFolderWithAnEncoderHasOneFileUnderAllPaths) {
  EXPECT_EQ(message_for(poprt_log_set_level("OFF")), "ok");
  copy("t5");
  EXPECT_EQ(count_after(plain_generator()), 1u);
  EXPECT_EQ(count_after(plain_generator(), model + "/../model"), 1u);
}

// -- Steps of a call ------------------------------------------------------------------------------

struct Steps {
  std::vector<std::pair<double, std::string>> all;
  size_t stop_at = SIZE_MAX;

  void listen(poprt_compile_options& o) {
    o.progress = [](double done, const char* what, void* to) {
      static_cast<Steps*>(to)->all.emplace_back(done, what);
    };
    o.stop = [](void* to) -> int32_t {
      const Steps& s = *static_cast<Steps*>(to);
      return s.all.size() > s.stop_at;
    };
    o.user_data = this;
  }
  // The steps outside of conversion and compilation.
  std::string own() const {
    std::string text;
    for (const auto& [done, what] : all)
      for (const char* word : {"read", "pack weights", "opset", "write", "done"})
        if (what == word) text += std::to_string(done).substr(0, 3) + " " + what + "; ";
    return text;
  }
  bool ascends() const {
    for (size_t i = 1; i < all.size(); i++)
      if (all[i].first < all[i - 1].first) return false;
    return true;
  }
};

class CompilerSteps : public Cache {
 protected:
  CompilerSteps() : model(folder + "/m.onnx"), out(folder + "/out") {
    std::ofstream(model, std::ios::binary) << kModel;
  }
  std::string call(int which, poprt_compile_options o = plain()) {
    steps.listen(o);
    poprt_compiler* compiler = nullptr;
    poprt_executable* executable = nullptr;
    EXPECT_EQ(message_for(poprt_compiler_create(&o, &compiler)), "ok");
    std::string answer;
    if (which == 0)
      answer = message_for(poprt_compiler_compile_file(compiler, model.c_str(), &executable));
    if (which == 1)
      answer = message_for(poprt_compiler_compile_to_popef(compiler, model.c_str(), out.c_str()));
    if (which == 2)
      answer = message_for(poprt_compiler_convert_file(compiler, model.c_str(), out.c_str()));
    poprt_executable_free(executable);
    poprt_compiler_free(compiler);
    return answer;
  }

  std::string model, out;
  Steps steps;
};

TEST_F(CompilerSteps, ReportsAllStepsInOrder) {
  const char* wanted[] = {"0.0 read; 0.8 pack weights; 1.0 done; ",
                          "0.0 read; 0.8 write; 1.0 done; ",
                          "0.0 read; 0.8 opset; 0.9 write; 1.0 done; "};
  for (int which = 0; which < 3; which++) {
    steps.all.clear();
    EXPECT_EQ(call(which), "ok");
    EXPECT_EQ(steps.own(), wanted[which]);
    EXPECT_TRUE(steps.ascends()) << which;
    ASSERT_GT(steps.all.size(), 4u);
    EXPECT_GE(steps.all[1].first, 0.1) << "passes begin where reading ends";
  }
}

// A call that is stopped at any step leaves no file.
TEST_F(CompilerSteps, EachMayBeTheLast) {
  for (int which = 0; which < 3; which++) {
    steps.all.clear();
    steps.stop_at = SIZE_MAX;
    EXPECT_EQ(call(which), "ok");
    fs::remove(out);
    const size_t count = steps.all.size();
    for (size_t at = 0; at + 1 < count; at++) {
      steps.all.clear();
      steps.stop_at = at;
      EXPECT_EQ(call(which), "cancelled: the compilation was stopped by its caller")
          << which << " " << at;
      EXPECT_EQ(steps.all.size(), at + 1);
      EXPECT_FALSE(fs::exists(out));
    }
  }
}

// y = x + other, where x has N elements and `other` has two.
std::string open_model() {
  using poprt::test::field;
  using poprt::test::number;
  const auto value = [](const char* name, const std::string& size) {
    return field(1, name) + field(2, field(1, number(1, 1) + field(2, field(1, size))));
  };
  const std::string graph =
      field(1, field(1, "x") + field(1, "other") + field(2, "y") + field(4, "Add")) +
      field(2, "g") + field(11, value("x", field(2, "N"))) +
      field(11, value("other", number(1, 2))) + field(12, value("y", field(2, "M")));
  return number(1, 8) + field(7, graph) + field(8, field(1, "") + number(2, 17));
}

TEST_F(CompilerSteps, SeveralShapesShareThem) {
  const int64_t shapes[] = {1, 2};
  const poprt_input_shape sets[] = {{"x", &shapes[0], 1}, {"x", &shapes[1], 1}};
  std::ofstream(model, std::ios::binary) << open_model();
  poprt_compile_options o = plain();
  o.input_shapes = sets;
  o.input_shape_count = 2;
  EXPECT_EQ(call(0, o), "ok");
  EXPECT_TRUE(steps.ascends());
  int first = 0, second = 0;
  for (const auto& [done, what] : steps.all) {
    first += done >= 0.1 && done < 0.45;
    second += done >= 0.45 && done < 0.8;
  }
  EXPECT_GT(first, 2);
  EXPECT_EQ(first, second) << "the same steps for both";
}

TEST_F(CompilerSteps, ErrorNamesTheShapeThatFailed) {
  const int64_t shapes[] = {1, 2, 3};
  const poprt_input_shape sets[] = {
      {"x", &shapes[0], 1}, {"x", &shapes[1], 1}, {"x", &shapes[2], 1}};
  std::ofstream(model, std::ios::binary) << open_model();
  poprt_compile_options o = plain();
  o.input_shapes = sets;
  o.input_shape_count = 3;
  const std::string answer = call(0, o);
  EXPECT_NE(answer.find(": shape 3 of 3: "), std::string::npos) << answer;
}

TEST_F(CompilerSteps, ReportsOnlyHashAndHitForACachedModel) {
  EXPECT_EQ(call(0, cached()), "ok");
  steps.all.clear();
  EXPECT_EQ(call(0, cached()), "ok");
  ASSERT_EQ(steps.all.size(), 2u);
  EXPECT_EQ(steps.all[0].second, "hash");
  EXPECT_EQ(steps.all[1], std::pair(1.0, std::string("found in the cache")));
}

}  // namespace
