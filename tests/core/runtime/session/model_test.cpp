#include "runtime/session/model.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "base/error.h"
#include "program/builder.h"
#include "support/copy_model.h"

namespace poprt::runtime {
namespace {

template <class F>
void expect_refused(F&& change, ErrorCode code, std::string_view part) {
  test::CopyModel copy(4);
  change(copy.b.program());
  try {
    make_model("m", copy.image());
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos) << e.what();
  }
}

TEST(Model, RefusesInvalidPrograms) {
  using P = program::Program;
  expect_refused([](P& p) { p.outputs.clear(); }, ErrorCode::data_loss, "anchor 0 of 0");
  expect_refused(
      [](P& p) {
        p = P();
        p.inputs.push_back({"x", DType::f32, {1}});
      },
      ErrorCode::data_loss, "no outputs");
  expect_refused([](P& p) { p.outputs[1].name = "y"; }, ErrorCode::data_loss,
                 "two output anchors are called 'y'");
  expect_refused([](P& p) { p.inputs[0].name = ""; }, ErrorCode::data_loss,
                 "an input anchor has no name");
  expect_refused([](P& p) { p.load = {p.main[0]}; }, ErrorCode::unimplemented,
                 "load instruction 'first' uses caller memory");
}

std::string model_refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.what();
  }
  return "";
}

TEST(Model, WeightsReachToTheEndOfTheProgramsOwn) {
  test::CopyModel copy(4);
  device::Image image = copy.image();
  ASSERT_EQ(image.weights.size(), image.program->weights_bytes);
  EXPECT_EQ(model_refusal([&] { make_model("m", image); }), "");
  image.weights = image.weights.first(63);
  EXPECT_EQ(model_refusal([&] { make_model("m", image); }),
            "data_loss: the program needs 64 bytes of weights, 63 are there");
}

TEST(Model, ReplicasIterationsAndIpusHaveLimits) {
  test::CopyModel copy(4);
  const auto with = [&](uint32_t replicas, uint32_t ipus, uint64_t iterations) {
    popef::Metadata m = make_metadata("m", copy.b.program());
    m.setReplicationFactor(replicas);
    m.setNumIpus(ipus);
    m.setDeviceIterations(iterations);
    return model_refusal([&] {
      const auto model = make_model("m", copy.image(), {}, {}, m);
      EXPECT_EQ(model->replication_factor, replicas);
      EXPECT_EQ(model->batches_per_step, iterations);
      EXPECT_EQ(model->ipus, 1u);
      EXPECT_EQ(model->stages, 1u);
    });
  };
  EXPECT_EQ(with(1024, 1024, 1'000'000), "");
  EXPECT_EQ(with(1025, 1025, 1),
            "data_loss: the model is for 1025 IPUs and 1025 replicas, but its program for 1 IPUs a "
            "replica");
  EXPECT_EQ(with(2, 3, 1),
            "data_loss: the model is for 3 IPUs and 2 replicas, but its program for 1 IPUs a "
            "replica");
  EXPECT_EQ(with(1, 1, 1'000'001), "data_loss: 1000001 device iterations: expected 1 to 1000000");
  EXPECT_EQ(with(1, 1, 0), "data_loss: 0 device iterations: expected 1 to 1000000");
}

// load: w to the arena; main: x to y, u to v; save: the arena to c, v too. "u" has a value.
program::Program with_flows() {
  program::Builder b;
  const auto copy = [&](program::BufferId from, program::BufferId to) {
    const program::BufferId operands[] = {from, to};
    b.emit("copy", operands, {}, {}, "copy");
  };
  const Shape shape = {4};
  const auto x = b.input(b.add_input({"x", DType::f32, shape}), 0, 16, DType::f32, shape);
  const auto u = b.input(b.add_input({"u", DType::f32, shape}), 0, 16, DType::f32, shape);
  const auto out = [&](const char* name) {
    return b.output(b.add_output({name, DType::f32, shape}), 0, 16, DType::f32, shape);
  };
  const auto y = out("y"), v = out("v"), c = out("c");
  copy(x, y);
  copy(u, v);
  copy(b.arena(0, 16, DType::f32, shape), c);
  program::Program p = b.program();
  p.save = {p.main[2], p.main[1]};
  p.main.pop_back();
  p.weights_bytes = 64;
  p.inputs[1].data = 0;
  return p;
}

std::string text_of(const popef::Metadata& m) {
  const auto list = [](const auto& programs) {
    std::string text;
    for (const uint32_t p : programs) text += fmt::format("{}", p);
    return text;
  };
  std::string text = fmt::format("ipu{} x {}, load {} main {} save {};", m.ipuVersion(),
                                 m.numIpus(), list(m.programFlow().load()),
                                 list(m.programFlow().main()), list(m.programFlow().save()));
  for (const popef::Anchor& a : m.anchors())
    text += fmt::format(" {} {} of {}", a.type() == popef::TensorType::INPUT ? "in" : "out",
                        a.handle(), list(a.programs()));
  return text;
}

TEST(Model, MetadataListsTheProgramsOfAnAnchor) {
  EXPECT_EQ(text_of(make_metadata("m", with_flows())),
            "ipu21 x 1, load 0 main 1 save 2; in h2d_x of 1 in h2d_u of 0 out anchor_d2h_y of 1 "
            "out anchor_d2h_v of 12 out anchor_d2h_c of 2 out weight_d2h_u of 2");
  program::Program plain = with_flows();
  plain.save.clear();
  plain.inputs[1].data = program::kNoData;
  EXPECT_EQ(text_of(make_metadata("m", plain)),
            "ipu21 x 1, load  main 1 save ; in h2d_x of 1 in h2d_u of 1 out anchor_d2h_y of 1 "
            "out anchor_d2h_v of 1 out anchor_d2h_c of 1");
  // A value that a program returns is not returned twice.
  program::Program own = with_flows();
  own.outputs[2].name = "u";
  EXPECT_EQ(text_of(make_metadata("m", own)),
            "ipu21 x 1, load 0 main 1 save 2; in h2d_x of 1 in h2d_u of 0 out anchor_d2h_y of 1 "
            "out anchor_d2h_v of 12 out anchor_d2h_u of 2");
  program::Program loads = plain;
  loads.load = {loads.main[0]};
  EXPECT_EQ(make_metadata("m", loads).programFlow().load(), std::vector<uint32_t>{0});
}

TEST(Model, VariablesAreInputsOfOnlyTheLoadProgram) {
  popef::Metadata m = make_metadata("m", with_flows());
  const auto is = [&](const char* name, popef::TensorType type = popef::TensorType::INPUT) {
    for (const popef::Anchor& a : m.anchors())
      if (a.name() == name && a.type() == type) return is_variable(m, a);
    ADD_FAILURE() << name;
    return false;
  };
  EXPECT_TRUE(is("u"));
  EXPECT_FALSE(is("x"));
  EXPECT_FALSE(is("u", popef::TensorType::OUTPUT));
  m.anchors()[1].setPrograms({0, 1});
  EXPECT_FALSE(is("u")) << "the main program's, too";
  m.anchors()[1].setPrograms({0});
  m.setSeedHandle("h2d_u");
  EXPECT_FALSE(is("u")) << "the seed";
  m.anchors()[1].setHandle("");
  m.setSeedHandle("");
  EXPECT_TRUE(is("u")) << "without a handle it is no seed";
}

TEST(Model, ASeedIsTheInputOfItsHandleWithoutAValue) {
  test::CopyModel copy(4);
  const auto with = [&](const char* handle, const char* anchor_handle = nullptr) {
    popef::Metadata m = make_metadata("m", copy.b.program());
    m.setSeedHandle(handle);
    if (anchor_handle) m.anchors()[0].setHandle(anchor_handle);
    return std::make_shared<Model>(*make_model("m", copy.image(), {}, {}, m));
  };
  EXPECT_TRUE(with("h2d_x")->is_seed(0));
  EXPECT_FALSE(with("")->is_seed(0));
  EXPECT_FALSE(with("", "")->is_seed(0));
  EXPECT_FALSE(with("anchor_d2h_y")->is_seed(0)) << "the handle of an output";
  const auto given = with("h2d_x");
  static const std::array<std::byte, 16> data{};
  given->input_data[0] = data;
  EXPECT_FALSE(given->is_seed(0));
}

TEST(Model, ADeviceHasItsIpusAndItsVersion) {
  test::CopyModel copy(4);
  Model model(*make_model("m", copy.image()));
  model.replication_factor = 3;
  model.ipus = 4;
  EXPECT_EQ(constraints_of(model).num_ipus, 12);
  EXPECT_EQ(constraints_of(model).ipu_version, 21);
  for (const auto& [version, wanted] : {std::pair(1, 1), std::pair(2, 0), std::pair(21, 21)}) {
    model.metadata.setIpuVersion(version);
    EXPECT_EQ(constraints_of(model).ipu_version, wanted) << version;
  }
}

TEST(Model, CompileOptionsSetBatchesAndOverlap) {
  test::CopyModel copy(4);
  Model model(*make_model("m", copy.image()));
  const auto with = [&](std::vector<popef::Option> options) {
    set_engine_options(model, std::move(options));
    return std::pair(model.batches_per_step, model.overlap_io);
  };
  EXPECT_EQ(with({}), std::pair(1u, false));
  EXPECT_EQ(with({{"batches_per_step", "7"}, {"num_io_tiles", "1"}}), std::pair(7u, true));
  EXPECT_EQ(model.metadata.deviceIterations(), 7u);
  EXPECT_EQ(with({{"batches_per_step", "0"}, {"num_io_tiles", "0"}}), std::pair(1u, false));
  EXPECT_EQ(with({{"batches_per_step", "many"}}), std::pair(1u, false));
  EXPECT_EQ(model.metadata.ipuVersion(), 21);
  with({{"ipu_version", "ipu2"}});
  EXPECT_EQ(model.metadata.ipuVersion(), 2);
  with({{"ipu_version", "ipu21"}});
  EXPECT_EQ(model.metadata.ipuVersion(), 21);
  EXPECT_EQ(with({{"batches", "3"}}), std::pair(1u, false));
}

TEST(Model, OnnxMetadataAreTexts) {
  test::CopyModel copy(4);
  const auto with = [&](const char* text) {
    Model model(*make_model("m", copy.image()));
    if (text) model.opaque.emplace(kOnnxMetadata, text);
    std::string found;
    const std::string message = model_refusal([&] {
      read_onnx_metadata(model);
      for (const auto& [key, value] : model.onnx_metadata) found += key + "=" + value + ";";
    });
    return message.empty() ? found : message;
  };
  EXPECT_EQ(with(nullptr), "");
  EXPECT_EQ(with("{}"), "");
  EXPECT_EQ(with(R"({"b": "1", "a": "2"})"), "b=1;a=2;");
  EXPECT_EQ(with("[]"), "data_loss: opaque blob 'onnx_metadata' is not a JSON object");
  EXPECT_EQ(with("{"), "data_loss: opaque blob 'onnx_metadata' is not a JSON object");
  EXPECT_EQ(with(R"({"a": 1})"), "data_loss: opaque blob 'onnx_metadata': 'a' is not a string");
}

TEST(Model, DataOfAnInputAreWholeValues) {
  test::CopyModel copy(4);
  static const std::array<std::byte, 48> data{};
  const auto with = [&](const char* name, size_t bytes) {
    const InputData given[] = {{name, std::span(data).first(bytes)}};
    size_t found = 0;
    const std::string message = model_refusal([&] {
      found = make_model("m", copy.image(), {}, {}, std::nullopt, given)->input_data.at(0).size();
    });
    return message.empty() ? fmt::format("{}", found) : message;
  };
  EXPECT_EQ(with("x", 16), "16");
  EXPECT_EQ(with("x", 48), "48");
  EXPECT_EQ(with("y", 48), "0");
  EXPECT_EQ(with("x", 47), "data_loss: data of input 'x': 47 bytes are no whole number of 16");
}

TEST(Model, DataOfAnInputWithoutElementsAreRefused) {
  program::Builder b;
  b.add_input({"x", DType::f32, {0}});
  b.add_output({"y", DType::f32, {4}});
  const device::Image image{std::make_shared<program::Program>(b.program()), {}, {}};
  static const std::array<std::byte, 16> data{};
  const InputData given[] = {{"x", data}};
  EXPECT_EQ(model_refusal([&] { make_model("m", image, {}, {}, std::nullopt, given); }),
            "data_loss: data of input 'x': 16 bytes are no whole number of 0");
  const InputData none[] = {{"x", {}}};
  EXPECT_EQ(model_refusal([&] { make_model("m", image, {}, {}, std::nullopt, none); }), "");
}

TEST(Model, KeepsNameAndAnchors) {
  test::CopyModel copy(4);
  const auto model = make_model("m", copy.image());
  EXPECT_EQ(model->name, "m");
  EXPECT_EQ(model->inputs()[0].name, "x");
  EXPECT_EQ(model->outputs()[1].name, "c");
}

}  // namespace
}  // namespace poprt::runtime
