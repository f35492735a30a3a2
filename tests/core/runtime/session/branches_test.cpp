// Models that are several branches: what the file says about them, and making them.
#include "runtime/session/branches.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "base/error.h"
#include "program/builder.h"
#include "program/link.h"
#include "program/serialize.h"
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

// y = the constants, of `n` elements, and x is read nowhere but has their shape.
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

TEST(Branches, FusedModelsGiveWhatEachGives) {
  const auto fused = fuse_models(
      std::vector{constant_model(2, 3, "a"), constant_model(5, 8, "b"), constant_model(2, 3, "c")});
  ASSERT_TRUE(fused->branches);
  EXPECT_EQ(fused->branches->names, (std::vector<std::string>{"a", "b", "c"}));
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

TEST(Branches, AFusedModelIsSavedAndOpened) {
  const auto fused = fuse_models(std::vector{
      constant_model(2, 3, "a", {{"class_labels/y", "[\"cat\"]"}}), constant_model(5, 8, "b")});
  const auto opened = saved_and_opened(*fused);
  ASSERT_TRUE(opened->branches);
  EXPECT_EQ(opened->opaque.at("class_labels/graph0/y"), "[\"cat\"]");
  ModelFusionRunner runner(opened);
  EXPECT_EQ(run(runner, 1, 8), std::vector<float>(8, 5));
}

// y = x, whose value lies in a blob of the file, and z = weights of the program.
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
  // As a file has it: the value is a piece of the weights until the model is saved.
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

TEST(Branches, ValuesThatFilesHaveApartAreFusedToo) {
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

TEST(Branches, FusedModelsShareTheBatchesOfAStep) {
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

TEST(Branches, SeveralBranchesAreNoBranch) {
  const auto fused = fuse_models(std::vector{constant_model(2, 3, "a")});
  try {
    fuse_models(std::vector{fused, constant_model(2, 3, "b")});
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_STREQ(
        e.what(),
        "model 'model_fusion' is several branches already (it is a fused one): only models "
        "with one shape can be fused");
  }
  EXPECT_THROW(fuse_models({}), Error);
}

TEST(Branches, ASessionRefusesAnIndexThatIsNoBranch) {
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

TEST(Branches, ABlobThatContradictsTheProgramIsRefused) {
  const auto open = [](const std::string& blob) {
    try {
      constant_model(1, 2, "m", {{kBranches, blob}});
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
