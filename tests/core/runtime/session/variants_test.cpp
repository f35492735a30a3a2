// Models of several variants: their descriptions in the file, and their construction.
#include "runtime/session/variants.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <sstream>

#include "base/error.h"
#include "program/builder.h"
#include "program/link.h"
#include "program/serialize.h"
#include "program/shards.h"
#include "runtime/queue/payload_buffer.h"
#include "runtime/runner/model_fusion_runner.h"
#include "runtime/session/popef_file.h"

namespace poprt::runtime {
namespace {

std::shared_ptr<const Model> saved(const program::Program& program,
                                   std::span<const program::Weight> weights,
                                   const program::Notes& notes, std::string name = "model") {
  const auto payload = std::make_shared<PayloadBuffer>();
  program::write_executable([&](std::span<const std::byte> b) { payload->append(b); }, program,
                            weights, notes);
  return open_payload(std::move(name), payload->bytes(), payload);
}

// A model whose output y has `n` elements equal to `value`. Input x has the same shape and is not
// read.
std::shared_ptr<const Model> constant_model(float value, int64_t n, std::string name,
                                            const program::Notes& notes = {}) {
  program::Builder b;
  const auto bytes = static_cast<uint64_t>(n) * 4;
  const auto x = b.add_input({"x", DType::f32, {n}});
  const auto y = b.add_output({"y", DType::f32, {n}});
  const std::vector<float> values(static_cast<size_t>(n), value);
  const auto w =
      b.weights(bytes, DType::f32, {n}, program::WeightForm::plain(Tensor::of<float>({n}, values)));
  const program::BufferId first[] = {b.input(x, 0, bytes, DType::f32, {n}),
                                     b.arena(0, bytes, DType::f32, {n})};
  const program::BufferId second[] = {w, b.output(y, 0, bytes, DType::f32, {n})};
  b.emit("copy", first, {}, {}, "x");
  b.emit("copy", second, {}, {}, "y");
  return saved(b.program(), b.weight_records(), notes, std::move(name));
}

std::vector<float> run(ModelFusionRunner& runner, int graph, size_t n) {
  const std::string x = fmt::format("graph{}/x", graph), y = fmt::format("graph{}/y", graph);
  const std::vector<float> in(n);
  std::vector<float> out(n, -1);
  runner.execute(std::vector<InputBinding>{{x, 0, in.data(), n * 4}},
                 std::vector<OutputBinding>{{y, 0, out.data(), n * 4}});
  return out;
}

TEST(Variants, FusedModelsGiveTheResultsOfEach) {
  const auto fused = fuse_models(
      std::vector{constant_model(2, 3, "a"), constant_model(5, 8, "b"), constant_model(2, 3, "c")});
  ASSERT_TRUE(fused->variants);
  EXPECT_EQ(fused->variants->names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(fused->program().weights_bytes, 128u) << "two of the three are equal";
  EXPECT_EQ(fused->program().arena_bytes, 64u);
  ModelFusionRunner runner(fused);
  for (const int k : {0, 1, 2, 1, 0})
    EXPECT_EQ(run(runner, k, k == 1 ? 8 : 3), std::vector<float>(k == 1 ? 8 : 3, k == 1 ? 5 : 2));
  EXPECT_EQ(runner.graph_requests(), (std::vector<uint64_t>{2, 2, 1}));
}

std::shared_ptr<const Model> saved_and_opened(const Model& model) {
  std::stringstream file;
  save_model(model, file);
  const std::string text = file.str();
  const auto copy = std::make_shared<PayloadBuffer>();
  copy->append(std::as_bytes(std::span(text)));
  return open_popef(copy->bytes(), copy);
}

TEST(Variants, AFusedModelIsSavedAndOpened) {
  const auto fused = fuse_models(std::vector{
      constant_model(2, 3, "a", {{"class_labels/y", "[\"cat\"]"}}), constant_model(5, 8, "b")});
  const auto opened = saved_and_opened(*fused);
  ASSERT_TRUE(opened->variants);
  EXPECT_EQ(opened->opaque.at("class_labels/graph0/y"), "[\"cat\"]");
  ModelFusionRunner runner(opened);
  EXPECT_EQ(run(runner, 1, 8), std::vector<float>(8, 5));
}

// y = x, whose value is in a blob of the file, and z = weights of the program.
std::shared_ptr<const Model> with_variable(float value, std::string name) {
  program::Builder b;
  const auto x = b.add_input({"x", DType::f32, {3}});
  const auto y = b.add_output({"y", DType::f32, {3}}), z = b.add_output({"z", DType::f32, {3}});
  const std::vector<float> constants(3, value + 10);
  const auto w =
      b.weights(12, DType::f32, {3}, program::WeightForm::plain(Tensor::of<float>({3}, constants)));
  const program::BufferId first[] = {b.input(x, 0, 12, DType::f32, {3}),
                                     b.output(y, 0, 12, DType::f32, {3})};
  const program::BufferId second[] = {w, b.output(z, 0, 12, DType::f32, {3})};
  b.emit("copy", first, {}, {}, "y");
  b.emit("copy", second, {}, {}, "z");
  // The program is as in a file: the value is a piece of the weights until the model is saved.
  const uint64_t at = b.program().weights_bytes;
  b.program().inputs[0].data = at;
  b.program().weights_bytes += 64;
  b.weight_records().push_back({at, 12, [value](std::span<std::byte> to) {
                                  const float values[3] = {value, value, value};
                                  std::memcpy(to.data(), values, 12);
                                }});
  std::stringstream file;
  save_model(*saved(b.program(), b.weight_records(), {}, std::move(name)), file);
  const auto bytes = std::make_shared<std::string>(file.str());
  return open_popef(std::as_bytes(std::span(*bytes)), bytes);
}

TEST(Variants, FusesValuesOfSeparateFiles) {
  const auto a = with_variable(3, "a"), b = with_variable(4, "b");
  ASSERT_EQ(a->input_data.at(0).size(), 12u);
  ASSERT_EQ(a->inputs()[0].data, program::kNoData) << "in a blob of its own";
  const auto fused = fuse_models(std::vector{a, constant_model(7, 2, "c"), b});
  std::stringstream file;
  save_model(*fused, file);
  const std::string bytes = file.str();
  for (const auto& model : {fused, open_popef(std::as_bytes(std::span(bytes)), nullptr)}) {
    ModelFusionRunner runner(model);
    for (const auto& [graph, value] : {std::pair(0, 3.f), std::pair(2, 4.f)}) {
      float y[3] = {}, z[3] = {};
      const std::string prefix = fmt::format("graph{}/", graph), y_name = prefix + "y",
                        z_name = prefix + "z";
      runner.execute(std::vector<InputBinding>{},
                     std::vector<OutputBinding>{{y_name, 0, y, 12}, {z_name, 0, z, 12}});
      for (int i = 0; i < 3; i++) {
        EXPECT_EQ(y[i], value);
        EXPECT_EQ(z[i], value + 10);
      }
    }
    EXPECT_EQ(run(runner, 1, 2), std::vector<float>(2, 7));
  }
}

// Two inputs whose values are in blobs of 12 and 4 bytes, after the weights of the program.
TEST(Variants, SeveralValuesOfAModelAreFused) {
  program::Builder b;
  const auto constant = b.weights(4, DType::f32, {1}, [](std::span<std::byte> to) {
    const float value = 9;
    std::memcpy(to.data(), &value, 4);
  });
  const auto copy = [&](program::BufferId from, const char* name, int64_t n) {
    const auto bytes = static_cast<uint64_t>(n) * 4;
    const program::BufferId operands[] = {
        from, b.output(b.add_output({name, DType::f32, {n}}), 0, bytes, DType::f32, {n})};
    b.emit("copy", operands, {}, {}, name);
  };
  copy(constant, "c", 1);
  copy(b.input(b.add_input({"u", DType::f32, {3}}), 0, 12, DType::f32, {3}), "U", 3);
  copy(b.input(b.add_input({"v", DType::f32, {1}}), 0, 4, DType::f32, {1}), "V", 1);
  Model model(*saved(b.program(), b.weight_records(), {}, "two"));
  const std::vector<float> u{1, 2, 3}, v{4};
  model.input_data = {std::as_bytes(std::span(u)), std::as_bytes(std::span(v))};
  const auto fused = fuse_models(std::vector<std::shared_ptr<const Model>>{
      std::make_shared<Model>(model), constant_model(7, 2, "other")});
  EXPECT_FALSE(fused->opaque.contains(kOnnxMetadata)) << "none of them has any";
  for (const size_t i : {size_t{0}, size_t{1}}) EXPECT_EQ(fused->inputs()[i].data % 64, 0u);
  ModelFusionRunner runner(fused);
  float c = 0, got_u[3] = {}, got_v = 0;
  runner.execute(
      std::vector<InputBinding>{},
      std::vector<OutputBinding>{
          {"graph0/c", 0, &c, 4}, {"graph0/U", 0, got_u, 12}, {"graph0/V", 0, &got_v, 4}});
  EXPECT_EQ(c, 9);
  EXPECT_EQ(std::vector(got_u, got_u + 3), u);
  EXPECT_EQ(got_v, 4);
}

TEST(Variants, FusedModelsShareTheBatchesOfAStep) {
  const auto looped = [](float value, const char* name, const char* batches) {
    const auto model = std::make_shared<Model>(*constant_model(value, 3, name));
    set_engine_options(*model, {{"batches_per_step", batches}, {"num_io_tiles", "32"}});
    return std::shared_ptr<const Model>(model);
  };
  const auto fused = fuse_models(std::vector{looped(2, "a", "4"), looped(5, "b", "4")});
  EXPECT_EQ(fused->batches_per_step, 4u);
  EXPECT_FALSE(fused->overlap_io) << "options are each model's own";
  const auto opened = saved_and_opened(*fused);
  EXPECT_EQ(opened->batches_per_step, 4u);
  ModelFusionRunner runner(opened);
  for (const int k : {0, 1, 1, 0})
    EXPECT_EQ(run(runner, k, 3), std::vector<float>(3, k == 1 ? 5 : 2));
  try {
    fuse_models(std::vector{looped(2, "a", "4"), looped(5, "b", "3")});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "model 'b' has 3 batches per step, model 'a' has 4: they run in the same steps");
  }
}

TEST(Variants, SeveralVariantsAreNoVariant) {
  const auto fused = fuse_models(std::vector{constant_model(2, 3, "a")});
  try {
    fuse_models(std::vector{fused, constant_model(2, 3, "b")});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_STREQ(
        e.what(),
        "model 'model_fusion' is several variants already (it is a fused one): only models "
        "with one shape can be fused");
  }
  EXPECT_THROW(fuse_models({}), Error);
}

TEST(Variants, AreAtMost1024) {
  const auto one = constant_model(2, 1, "a");
  std::vector<std::shared_ptr<const Model>> models(1024, one);
  EXPECT_EQ(fuse_models(models)->variants->count, 1024u);
  models.push_back(one);
  try {
    fuse_models(models);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_STREQ(e.what(), "1025 models: at most 1024 can be fused");
  }
}

TEST(Variants, SessionRefusesAnInvalidVariantIndex) {
  const auto fused = fuse_models(std::vector{constant_model(2, 3, "a"), constant_model(5, 3, "b")});
  Session session(fused);
  const float x[3] = {};
  float y[2][3] = {};
  uint32_t index = 2;
  const void* inputs[] = {x, x, &index};
  void* outputs[] = {y[0], y[1]};
  try {
    session.run_main_programs(inputs, outputs);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(e.what()).find("'index' is 2: the executable has 2 models, 0 to 1"),
              std::string::npos)
        << e.what();
  }
  index = 1;
  session.run_main_programs(inputs, outputs);
  EXPECT_EQ(y[0][0], 0);
  EXPECT_EQ(y[1][0], 5);
}

// A model whose results are zeros. Its anchors fit kShapes. The variant of the first bucket uses
// `small` elements of y, and that of the second one all of them.
std::shared_ptr<const Model> of_shapes(const std::string& blob, DType index = DType::u32,
                                       Shape index_shape = {1},
                                       std::string_view name = program::kBucketIndex,
                                       int64_t small = 6) {
  program::Builder b;
  const auto x = b.add_input({"x", DType::f32, {2, 8}}), m = b.add_input({"m", DType::f32, {2, 8}});
  const auto number = b.add_input({std::string(name), index, index_shape});
  const auto y = b.add_output({"y", DType::f32, {2, 5, 5}});
  const std::vector<float> zeros(50);
  const auto w =
      b.weights(200, DType::f32, {50}, program::WeightForm::plain(Tensor::of<float>({50}, zeros)));
  const auto run = [&](int64_t in, int64_t out) {
    const uint64_t in_bytes = static_cast<uint64_t>(in) * 4, bytes = static_cast<uint64_t>(out) * 4;
    for (const auto anchor : {x, m}) {
      const program::BufferId copy[] = {b.input(anchor, 0, in_bytes, DType::f32, {in}),
                                        b.arena(0, in_bytes, DType::f32, {in})};
      b.emit("copy", copy, {}, {}, "in");
    }
    program::Buffer some = b.program().buffers[w];
    some.bytes = bytes;
    some.shape = {out};
    b.program().buffers.push_back(some);
    const program::BufferId copy[] = {
        static_cast<program::BufferId>(b.program().buffers.size() - 1),
        b.output(y, 0, bytes, DType::f32, {out})};
    b.emit("copy", copy, {}, {}, "y");
  };
  if (index != DType::u32 || element_count(index_shape) != 1) {
    run(16, 50);
    return saved(b.program(), b.weight_records(), {{kVariants, blob}});
  }
  const program::BufferId operand[] = {b.input(number, 0, 4, index, index_shape)};
  for (const int64_t variant : {0, 1}) {
    const int64_t numbers[] = {variant};
    b.emit("control.case", operand, numbers, {}, "case");
    variant ? run(16, 50) : run(4, small);
    b.emit("control.end", {}, {}, {}, "case");
  }
  return saved(b.program(), b.weight_records(), {{kVariants, blob}});
}

const std::string kShapes = R"({"kind": "shapes", "dimensions": ["batch", "length"],
  "inputs": {"x": {"shape": ["batch", "length"], "pad": -1.5},
             "m": {"shape": ["batch", "length"], "pad": "mask"}},
  "outputs": {"y": {"shape": ["batch", {"of": "length", "times": 1, "over": 2, "plus": 1}, null]}},
  "buckets": [{"inputs": {"x": [1, 4], "m": [1, 4]}, "outputs": {"y": [1, 3, 5]}},
              {"inputs": {"x": [2, 8], "m": [2, 8]}, "outputs": {"y": [2, 5, 5]}}]})";

TEST(Variants, OfShapesAreReadAsWritten) {
  const auto model = of_shapes(kShapes);
  const Variants& b = *model->variants;
  EXPECT_EQ(b.kind, Variants::Kind::shapes);
  EXPECT_EQ(b.count, 2u);
  EXPECT_EQ(b.index, 2u);
  ASSERT_EQ(b.inputs.size(), 3u);
  EXPECT_EQ(b.inputs[0].pad, -1.5);
  EXPECT_FALSE(b.inputs[0].mask);
  EXPECT_TRUE(b.inputs[1].mask);
  EXPECT_TRUE(b.inputs[2].extents.empty()) << "the index";
  EXPECT_EQ(b.inputs[0].extents[1].dimension, 1);
  const Extent &scaled = b.outputs.at(0).extents.at(1), &fixed = b.outputs[0].extents.at(2);
  EXPECT_EQ(scaled.dimension, 1);
  EXPECT_EQ(std::tuple(scaled.times, scaled.over, scaled.plus), std::tuple(1, 2, 1));
  EXPECT_EQ(fixed.dimension, -1);
  EXPECT_EQ(b.buckets[1].sizes, (std::vector<int64_t>{2, 8}));
  EXPECT_EQ(b.buckets[0].inputs, (std::vector<Shape>{{1, 4}, {1, 4}, {}}));
  EXPECT_EQ(b.buckets[0].outputs, (std::vector<Shape>{{1, 3, 5}}));
  EXPECT_EQ(variant_names(b), (std::vector<std::string>{"batch 1, length 4", "batch 2, length 8"}));
  uint32_t index = 1;
  EXPECT_NO_THROW(check_variant(b, &index));
  EXPECT_NO_THROW(check_variant(b, nullptr));
  EXPECT_EQ(variant_of(&index), 1u);
  EXPECT_EQ(variant_of(nullptr), 0u);
  index = 2;
  try {
    check_variant(b, &index);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(
        std::string(e.what()),
        fmt::format("input '{}' is 2: the executable has 2 shapes, 0 to 1", program::kBucketIndex));
  }
}

std::string refusal_of(const std::function<void()>& open) {
  try {
    open();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::data_loss) return e.what();
    return fmt::format("code {}: {}", static_cast<int>(e.code()), e.what());
  }
  return "taken";
}

TEST(Variants, ShapesThatContradictTheProgramAreRefused) {
  struct Bend {
    const char *from, *to, *error_part;
  };
  const Bend alterations[] = {
      {"\"times\": 1", "\"times\": 0", "dimension 'length' is scaled out of range"},
      {"\"times\": 1", "\"times\": 1048577", "dimension 'length' is scaled out of range"},
      {"\"times\": 1", "\"times\": 1048576", "a bucket's shapes do not follow its dimensions"},
      {"\"over\": 2", "\"over\": 0", "dimension 'length' is scaled out of range"},
      {"\"over\": 2", "\"over\": 1048577", "dimension 'length' is scaled out of range"},
      {"\"over\": 2", "\"over\": 1048576", "a bucket's shapes do not follow its dimensions"},
      {"\"over\": 2", "\"over\": 3", "a bucket's shapes do not follow its dimensions"},
      {"\"plus\": 1", "\"plus\": 1048577", "dimension 'length' is scaled out of range"},
      {"\"plus\": 1", "\"plus\": -1048577", "dimension 'length' is scaled out of range"},
      {"\"plus\": 1", "\"plus\": 1048576", "a bucket's shapes do not follow its dimensions"},
      {"\"plus\": 1", "\"plus\": -1048576", "a bucket's shapes do not follow its dimensions"},
      {"{\"of\": \"length\"", "{\"of\": \"width\"", "there is no dimension 'width'"},
      {"[\"batch\", \"length\"], \"pad\": -1.5", "[\"batch\", \"width\"], \"pad\": -1.5",
       "there is no dimension 'width'"},
      {"[\"batch\", \"length\"], \"pad\": -1.5", "[\"batch\"], \"pad\": -1.5",
       "'x' has 1 dimensions, the program has [2,8]"},
      {"\"x\": [1, 4]", "\"x\": [1, 9]", "'x' is [1,9] in a bucket, the program has [2,8]"},
      {"\"x\": [1, 4]", "\"x\": [3, 4]", "'x' is [3,4] in a bucket, the program has [2,8]"},
      {"\"x\": [1, 4]", "\"x\": [-1, 4]", "'x' is [?,4] in a bucket, the program has [2,8]"},
      {"\"x\": [1, 4]", "\"x\": [1, 4, 1]", "'x' is [1,4,1] in a bucket, the program has [2,8]"},
      {"\"x\": [1, 4]", "\"x\": [1, 5]", "a bucket's shapes do not follow its dimensions"},
      {"\"m\": [1, 4]", "\"m\": [2, 4]", "a bucket's shapes do not follow its dimensions"},
      {"\"y\": [1, 3, 5]", "\"y\": [1, 4, 5]", "a bucket's shapes do not follow its dimensions"},
      {"\"y\": [1, 3, 5]", "\"y\": [1, 3, 6]",
       "'y' is [1,3,6] in a bucket, the program has [2,5,5]"},
      {"\"y\": [1, 3, 5]", "\"y\": [1, 3, 2]", nullptr}};
  for (const Bend& bend : alterations) {
    std::string blob = kShapes;
    const size_t at = blob.find(bend.from);
    ASSERT_NE(at, blob.npos) << bend.from;
    blob.replace(at, std::strlen(bend.from), bend.to);
    EXPECT_EQ(
        refusal_of([&] { of_shapes(blob); }),
        bend.error_part ? fmt::format("opaque blob '{}': {}", kVariants, bend.error_part) : "taken")
        << bend.to;
  }
  const std::string none = kShapes.substr(0, kShapes.find("\"buckets\"")) + "\"buckets\": []}";
  EXPECT_EQ(refusal_of([&] { of_shapes(none); }),
            fmt::format("opaque blob '{}': 0 variants, expected 1 to 1024", kVariants));
}

// A request has as much memory as its bucket needs.
TEST(Variants, ABucketWhoseVariantUsesMoreMemoryIsRefused) {
  const auto of_elements = [](int64_t small) {
    return refusal_of([&] { of_shapes(kShapes, DType::u32, {1}, program::kBucketIndex, small); });
  };
  EXPECT_EQ(of_elements(15), "taken");
  EXPECT_EQ(
      of_elements(16),
      fmt::format("opaque blob '{}': 'y' is [1,3,5] in a bucket, and its variant uses 64 bytes",
                  kVariants));
}

// Shapes of a bucket may have no elements; sizes are small enough to be scaled.
TEST(Variants, SizesOfBucketsHaveLimits) {
  const auto with = [](int64_t length, int64_t most) {
    program::Builder b;
    b.add_input({"x", DType::f32, {0, most}});
    b.add_input({std::string(program::kBucketIndex), DType::u32, {1}});
    b.add_output({"y", DType::f32, {0, most}});
    const std::string shape = fmt::format("[0, {}]", length);
    const std::string blob = fmt::format(
        R"({{"kind": "shapes", "dimensions": ["length"], "inputs": {{"x": {{"shape": [null, "length"]}}}},
        "outputs": {{"y": {{"shape": [null, "length"]}}}},
        "buckets": [{{"inputs": {{"x": {}}}, "outputs": {{"y": {}}}}}]}})",
        shape, shape);
    return refusal_of([&] { saved(b.program(), {}, {{kVariants, blob}}); });
  };
  constexpr int64_t kMost = int64_t{1} << 40;
  EXPECT_EQ(with(0, kMost), "taken");
  EXPECT_EQ(with(kMost, kMost), "taken");
  EXPECT_EQ(with(kMost + 1, kMost + 1),
            fmt::format("opaque blob '{}': a size of 1099511627777 is out of range", kVariants));
}

TEST(Variants, TheIndexIsOneNumberOfThatTypeAndName) {
  EXPECT_EQ(refusal_of([] { of_shapes(kShapes, DType::u32, {}); }), "taken");
  EXPECT_EQ(refusal_of([] { of_shapes(kShapes, DType::u32, {1, 1}); }), "taken");
  const std::string missing =
      fmt::format("opaque blob '{}': the program has no input '{}' of one u32", kVariants,
                  program::kBucketIndex);
  EXPECT_EQ(refusal_of([] { of_shapes(kShapes, DType::s32); }), missing);
  EXPECT_EQ(refusal_of([] { of_shapes(kShapes, DType::u32, {2}); }), missing);
  EXPECT_EQ(refusal_of([] { of_shapes(kShapes, DType::u32, {1}, program::kGraphIndex); }), missing);
}

TEST(Variants, ThereAreAtMostAsManyAsNumbers) {
  const auto graphs = [](size_t count) {
    std::string blob = R"({"kind": "graphs", "graphs": ["a")";
    for (size_t i = 1; i < count; i++) blob += ", \"b\"";
    return refusal_of([&] { of_shapes(blob + "]}", DType::u32, {1}, program::kGraphIndex); });
  };
  EXPECT_EQ(graphs(1024), "taken");
  EXPECT_EQ(graphs(1025),
            fmt::format("opaque blob '{}': 1025 variants, expected 1 to 1024", kVariants));
  for (const size_t i : {size_t{0}, size_t{7}, size_t{1023}}) EXPECT_EQ(*variant_number(i), i);
  EXPECT_THROW(variant_number(1024), std::out_of_range);
  const auto one = constant_model(1, 2, "m");
  EXPECT_NE(
      refusal_of([&] { fuse_models(std::vector(1025, one)); }).find("1025 models: at most 1024"),
      std::string::npos);
}

TEST(Variants, RefuseModelsThatCannotBeFused) {
  const auto with = [](const auto& change) {
    const auto model = std::make_shared<Model>(*constant_model(2, 3, "a"));
    change(*model);
    return refusal_of([&] { fuse_models(std::vector<std::shared_ptr<const Model>>{model}); });
  };
  EXPECT_EQ(with([](Model&) {}), "taken");
  EXPECT_NE(with([](Model& m) {
              m.replication_factor = 2;
            }).find("model 'a' has 2 replicas: only models with one can be fused"),
            std::string::npos);
  EXPECT_NE(with([](Model& m) {
              m.variants = of_shapes(kShapes)->variants;
            }).find("several variants already (it has several shapes)"),
            std::string::npos);
  static const std::array<std::byte, 24> data{};
  EXPECT_NE(with([](Model& m) {
              m.input_data[0] = data;
            }).find("model 'a': input 'x' has a feed, which cannot be fused"),
            std::string::npos);
  EXPECT_EQ(with([](Model& m) { m.input_data[0] = std::span(data).first(12); }), "taken");
}

// Descriptions of a graph in a file begin with its name; those of the file do not.
TEST(Variants, NotesAndOptionsAreNamedByTheirGraph) {
  const auto named = [](const char* name) {
    const auto model = std::make_shared<Model>(
        *constant_model(2, 3, name,
                        {{kOnnxMetadata, fmt::format(R"({{"author": "{}"}})", name)},
                         {"notes", name},
                         {"class_labels/y", name},
                         {program::kShards, name}}));
    set_engine_options(*model, {{"num_io_tiles", name}});
    return std::shared_ptr<const Model>(model);
  };
  const auto fused = fuse_models(std::vector{named("a"), named("b")});
  EXPECT_EQ(fused->opaque.at("graph0/notes"), "a");
  EXPECT_EQ(fused->opaque.at("graph1/notes"), "b");
  EXPECT_EQ(fused->opaque.at("class_labels/graph1/y"), "b");
  EXPECT_FALSE(fused->opaque.contains("graph1/class_labels/y"));
  EXPECT_FALSE(fused->opaque.contains(std::string("graph0/") + program::kShards));
  EXPECT_FALSE(fused->opaque.contains(program::kShards)) << "they are on one device";
  EXPECT_FALSE(fused->opaque.contains(std::string("graph0/") + kOnnxMetadata));
  ASSERT_EQ(fused->onnx_metadata.size(), 2u);
  EXPECT_EQ(fused->onnx_metadata[1], std::pair(std::string("graph1/author"), std::string("b")));
  ASSERT_EQ(fused->metadata.engineOptions().size(), 2u);
  EXPECT_EQ(fused->metadata.engineOptions()[1].name(), "graph1/num_io_tiles");
  EXPECT_EQ(fused->metadata.engineOptions()[1].value(), "b");
}

TEST(Variants, ABlobThatContradictsTheProgramIsRefused) {
  const auto open = [](const std::string& blob) {
    try {
      constant_model(1, 2, "m", {{kVariants, blob}});
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::ok;
  };
  EXPECT_EQ(open(R"({"kind": "graphs", "graphs": ["a"]})"), ErrorCode::data_loss) << "no index";
  EXPECT_EQ(open("{"), ErrorCode::data_loss);
  EXPECT_EQ(open("[]"), ErrorCode::data_loss);
  EXPECT_EQ(open(R"({"kind": "graphs"})"), ErrorCode::data_loss);
  EXPECT_EQ(open(R"({"kind": "planets"})"), ErrorCode::failed_precondition);
}

}  // namespace
}  // namespace poprt::runtime
