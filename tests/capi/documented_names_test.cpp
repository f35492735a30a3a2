// What PopEF, Model Runtime and PopRT document, by their names, in the way that programs written
// for them use it: when one of the names goes, this does not compile.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "poprt/poprt.hpp"

namespace model_runtime = poprt::runtime;
namespace popef = poprt::popef;
using namespace std::chrono_literals;

namespace {

std::shared_ptr<popef::Model> model_of(const std::string& path) {
  const auto reader = std::make_shared<popef::Reader>();
  reader->parseFile(path);
  return popef::ModelBuilder(reader).createModel();
}

// x -> y and c, 16 floats each.
struct Client {
  Client() : x(16), y(16), c(16) {
    std::iota(x.begin(), x.end(), 1.F);
    in["x"] = poprt::runtime::ConstTensorMemoryView(x.data(), 64);
    out["y"] = poprt::runtime::TensorMemoryView(y.data(), 64);
    out["c"] = poprt::runtime::TensorMemoryView(c.data(), 64);
  }
  std::vector<float> x, y, c;
  poprt::runtime::InputMemoryView in;
  poprt::runtime::OutputMemoryView out;
};

TEST(DocumentedNames, BlobsHaveTypes) {
  const auto model = model_of(DATA "/copies.popef");
  EXPECT_EQ(model->executable.type(), popef::BlobType::POPLAR_EXECUTABLE);
  std::stringstream file;
  popef::Writer writer(file);
  writer.createTensorData({"t", popef::TensorInfo(popef::DataType::U8, {1})})->write("1", 1);
  writer.createFeedData({"f", popef::TensorInfo(popef::DataType::U8, {1}), 1})->write("2", 1);
  writer.createOpaqueBlob("o", "e")->write("3", 1);
  writer.write(popef::Metadata());
  writer.close();
  popef::Reader reader;
  reader.parseBytes(file.str().data(), file.str().size());
  EXPECT_EQ(reader.tensors()[0].type(), popef::BlobType::DATA_TENSOR);
  EXPECT_EQ(reader.feeds()[0].type(), popef::BlobType::DATA_FEED);
  EXPECT_EQ(reader.opaqueBlobs()[0].type(), popef::BlobType::OPAQUE);
  EXPECT_NE(popef::BlobType::METADATA, popef::BlobType::OPAQUE);
}

TEST(DocumentedNames, EveryRunnerTakesAModel) {
  using namespace poprt::runtime;
  const auto copies = model_of(DATA "/copies.popef"), weights = model_of(DATA "/weights.popef"),
             fused = model_of(DATA "/fused.popef");
  const PackRunnerConfig packs(100, 0, "x");
  HostConcatRunnerConfig joins;
  joins.hostConcatConfig["x"] = {"x", {"a", "b"}, {16}, 64, {}};
  const auto runs = [](auto&& runner, InputMemoryView in) {
    Client k;
    runner.execute(in, k.out);
    return k.y;
  };
  const Client k;
  const InputMemoryView halves = {{"a", {k.x.data(), 32}}, {"b", {k.x.data() + 8, 32}}};
  EXPECT_EQ(runs(ModelRunner(copies), k.in), k.x);
  EXPECT_EQ(runs(ModelRunner(*copies), k.in), k.x);
  EXPECT_EQ(runs(PackRunner(copies, packs), k.in), k.x);
  EXPECT_EQ(runs(PackRunner(*copies, packs), k.in), k.x);
  EXPECT_EQ(runs(HostConcatRunner(copies, joins), halves), k.x);
  EXPECT_EQ(runs(HostConcatRunner(*copies, joins), halves), k.x);
  LightRunner light(weights), other(*weights);
  light.setInputAnchor("x", k.in.at("x"));
  light.updateWeights();
  EXPECT_EQ(runs(light, {}), k.x);
  EXPECT_EQ(other.getModelInputs()[0].name, "x");
  EXPECT_EQ(ModelFusionRunner(fused).getExecuteInputs().size(), 2u);
  EXPECT_EQ(ModelFusionRunner(*fused).getExecuteInputs().size(), 2u);
}

}  // namespace
