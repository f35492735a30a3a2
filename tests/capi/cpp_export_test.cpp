// The assertions of PopART's integration test of exports (popef_runtime 5.6), for files that the
// compiler writes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "poprt/poprt.hpp"

namespace {

using namespace poprt;
using namespace poprt::popef;
namespace fs = std::filesystem;
using compiler::Compiler;
using compiler::CompilerOptions;

struct Case {
  const char* model;
  bool constant_weights;
  std::map<std::string, std::string> variables;  // bytes by name
};

std::string bytes_of(std::vector<float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

const std::string kW =
    bytes_of({0.5f, -1.25f, 2, 0.75f, 1.5f, -0.5f, 3, 0.25f, -2, 1, -0.125f, 0.625f});
const std::string kB = bytes_of({0.1f, -0.2f, 0.3f});

const std::vector<Case> kCases = {
    {"dense", true, {}},
    {"dense", false, {{"w", kW}, {"b", kB}}},
    {"random", true, {}},
    {"random", false, {{"w", bytes_of({0.5f, -1.25f, 2, 0.75f})}}},
    {"quarter", true, {}},
    {"quarter",
     false,
     {{"f143", "\x38\xc0\x4a\x01\x7f\xb2"},
      {"f152", "\x3c\xc0\x4e\x01\x7b\xb2"},
      {"b143", "\x38\x40\x48\x4c\x50\x58"},
      {"b152", "\x3c\x40\x44\x48\x50\xb8"}}},
};

class CppExport : public testing::TestWithParam<size_t> {
 protected:
  CppExport() { fs::create_directories(folder); }
  ~CppExport() override { fs::remove_all(folder); }

  const Case& given() const { return kCases[GetParam()]; }
  std::string onnx() const { return std::string(DATA "/") + given().model + ".onnx"; }
  CompilerOptions options() const {
    CompilerOptions o;
    o.constantWeights = given().constant_weights;
    return o;
  }
  // The path of a file that the compiler writes directly.
  std::string exported(const CompilerOptions& o) const {
    const std::string path = folder + "/" + given().model + ".popef";
    Compiler::compileAndExport(onnx(), {}, path, o);
    return path;
  }
  std::string exported() const { return exported(options()); }
  static std::shared_ptr<Reader> read(const std::vector<std::string>& paths) {
    auto reader = std::make_shared<Reader>();
    for (const auto& p : paths) reader->parseFile(p);
    return reader;
  }
  static std::string text(const TensorReader& t) {
    const Payload p = t.payload();
    return {p.data(), p.size()};
  }
  static std::map<std::string, std::string> tensors(Reader& reader) {
    std::map<std::string, std::string> all;
    for (const TensorReader& t : reader.tensors()) all[t.info.name()] = text(t);
    return all;
  }
  static std::string slurp(const std::string& path) {
    std::ostringstream all;
    all << std::ifstream(path, std::ios::binary).rdbuf();
    return all.str();
  }
  // Returns every output of a run in which floats are 1 and all other inputs 0.
  static std::map<std::string, std::string> run(const Executable& executable) {
    using namespace runtime;
    ModelRunner runner(executable.getPopefModel());
    std::map<std::string, std::string> memory;
    InputMemoryView inputs;
    for (const DataDesc& d : runner.getExecuteInputs()) {
      if (d.popefContainsTensorData) continue;
      std::string& bytes = memory[d.name];
      bytes.assign(static_cast<size_t>(d.sizeInBytes), '\0');
      for (size_t i = 0; d.name == "x" && i < bytes.size(); i += 4) {
        const float value = 1.0f + static_cast<float>(i);
        std::memcpy(bytes.data() + i, &value, 4);
      }
      inputs.emplace(d.name, ConstTensorMemoryView(bytes.data(), bytes.size()));
    }
    std::map<std::string, std::string> results;
    for (const auto& [name, m] : runner.execute(inputs))
      results[name] = {static_cast<const char*>(m.data.get()),
                       static_cast<size_t>(m.dataSizeBytes)};
    return results;
  }

  const std::string folder = testing::TempDir() + "cpp_export_" + std::to_string(getpid());
};

TEST_P(CppExport, OneOfEachAndNamesAreLinked) {  // 1
  CompilerOptions o = options();
  o.opaqueBlobs["notes"] = "free text";
  const auto reader = read({exported(o)});
  ASSERT_EQ(reader->executables().size(), 1u);
  ASSERT_EQ(reader->metadata().size(), 1u);
  ASSERT_EQ(reader->opaqueBlobs().size(), 2u);
  EXPECT_TRUE(reader->feeds().empty());
  EXPECT_EQ(reader->metadata()[0].executable(), reader->executables()[0].name);
  EXPECT_EQ(reader->opaqueBlobs()[0].executable, reader->executables()[0].name);
}

TEST_P(CppExport, MetadataIsThatOfTheCompilation) {  // 2
  const Metadata m = read({exported()})->metadata().at(0);
  EXPECT_EQ(m.replicationFactor(), 1);
  EXPECT_EQ(m.numIpus(), 1);
  EXPECT_EQ(m.numProcesses(), 1);
  EXPECT_EQ(m.ipuVersion(), 21);
  EXPECT_FALSE(m.isPOD());
  EXPECT_TRUE(m.isInference());
  EXPECT_EQ(m.deviceIterations(), 1);
}

TEST_P(CppExport, OptionsMatchTheCompilationInOrder) {  // 3
  CompilerOptions o = options();
  o.rewriteLimit = 100000;
  o.maxTensorSize = 1 << 20;
  o.winograd = poprt::compiler::Winograd::exact;
  o.skipPasses = {"eliminate_identity", "eliminate_nop_cast"};
  std::vector<std::pair<std::string, std::string>> wanted = {
      {"winograd", "exact"},
      {"skip_passes", "eliminate_identity,eliminate_nop_cast"},
      {"max_tensor_size", "1048576"},
      {"rewrite_limit", "100000"}};
  if (!given().constant_weights) wanted.emplace_back("variable_weights", "1");
  wanted.emplace_back("source", given().model + std::string(".onnx"));
  const auto listed = [](const std::vector<Option>& options) {
    std::vector<std::pair<std::string, std::string>> list;
    for (const Option& option : options) list.emplace_back(option.name(), option.value());
    return list;
  };
  const Metadata m = read({exported(o)})->metadata().at(0);
  const std::string hash = m.engineOptions().back().value();
  EXPECT_EQ(hash.size(), 64u);
  wanted.emplace_back("source_hash", hash);
  EXPECT_EQ(listed(m.engineOptions()), wanted);
  EXPECT_TRUE(m.deviceOptions().empty());  // the compiler has none
  // The same holds for an executable that is saved from memory.
  const std::string path = folder + "/saved.popef";
  Compiler::compile(onnx(), {}, o)->save(path);
  EXPECT_EQ(listed(read({path})->metadata().at(0).engineOptions()), wanted);
}

TEST_P(CppExport, EveryTensorHasItsAnchor) {  // 4
  const auto reader = read({exported()});
  const Metadata m = reader->metadata().at(0);
  for (const TensorReader& t : reader->tensors()) {
    const Anchor *in = nullptr, *out = nullptr;
    for (const Anchor& a : m.anchors())
      if (a.name() == t.info.name()) (a.type() == TensorType::OUTPUT ? out : in) = &a;
    ASSERT_NE(in, nullptr) << t.info.name();
    EXPECT_EQ(in->type(), TensorType::INPUT);
    EXPECT_EQ(in->tensorInfo(), t.info.tensorInfo());
    EXPECT_EQ(in->handle(), "h2d_" + in->name());
    EXPECT_EQ(in->programs(), m.programFlow().load());
    ASSERT_NE(out, nullptr) << t.info.name();
    EXPECT_EQ(out->tensorInfo(), t.info.tensorInfo());
    EXPECT_EQ(out->handle(), "weight_d2h_" + in->name());
    EXPECT_EQ(out->programs(), m.programFlow().save());
    EXPECT_EQ(m.programFlow().save().size(), 1u);
  }
}

TEST_P(CppExport, ASeedHandleHasItsTensor) {  // 5
  // Each random operator has its own seed, so files of the compiler have no seed handle ...
  const std::string path = exported();
  const auto reader = read({path});
  EXPECT_EQ(reader->metadata().at(0).seedHandle(), "");
  // ... and a variable becomes one by its handle.
  if (given().variables.empty()) return;
  const auto model = ModelBuilder(reader).createModel();
  Metadata m = model->metadata;
  m.setSeedHandle("h2d_" + given().variables.begin()->first);
  const std::string seeded = folder + "/seeded.popef";
  FileWriter writer(seeded);
  writer.write(m);
  const Payload code = model->executable.payload();
  writer.createExecutable(model->executable.name)->write(code.data(), code.size());
  for (const TensorReader& t : model->tensors)
    writer.createTensorData(t.info)->write(t.payload().data(), t.payload().size());
  writer.close();
  const auto again = read({seeded});
  bool found = false;
  for (const TensorReader& t : again->tensors())
    for (const Anchor& a : m.anchors())
      found |= a.name() == t.info.name() && a.handle() == m.seedHandle();
  EXPECT_TRUE(found);
  if (std::string(given().model) != "random")
    EXPECT_EQ(run(Executable(seeded)), run(Executable(path)));
}

TEST_P(CppExport, AsManyTensorsAsVariablesWithTheHostsBytes) {  // 6, 7, 10
  EXPECT_EQ(tensors(*read({exported()})), given().variables);
  const std::string path = folder + "/saved.popef";
  Compiler::compile(onnx(), {}, options())->save(path);
  EXPECT_EQ(tensors(*read({path})), given().variables);
  EXPECT_EQ(slurp(path), slurp(exported())) << "one way or the other";
}

TEST_P(CppExport, QuarterNumbersHaveTheirTypes) {  // 10
  const auto reader = read({exported()});
  for (const TensorReader& t : reader->tensors()) {
    const DataType type = t.info.tensorInfo().dataType();
    if (t.info.name() == "f143") EXPECT_EQ(type, DataType::F8143);
    if (t.info.name() == "f152") EXPECT_EQ(type, DataType::F8152);
    if (t.info.name() == "b143") EXPECT_EQ(type, DataType::U8);
  }
}

TEST_P(CppExport, TwoFilesParseTogether) {  // 8
  const std::string path = exported();
  const std::string exe = folder + "/executable.popef", variables = folder + "/variables.popef";
  const Executable one(path);
  one.save(exe, variables);
  EXPECT_TRUE(read({exe})->tensors().empty());
  auto in_second = tensors(*read({variables}));
  if (given().constant_weights) {
    EXPECT_EQ(in_second.size(), 1u) << "the constants, packed";
    EXPECT_EQ(in_second.count("poprt.weights"), 1u);
  } else {
    EXPECT_EQ(in_second, given().variables);
    try {
      Executable alone(exe);
      ADD_FAILURE() << "weights are missing";
    } catch (const poprt::Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::data_loss) << e.what();
      EXPECT_NE(std::string(e.what()).find("no data for the weights"), std::string::npos)
          << e.what();
    }
  }
  const auto wanted = run(one);
  EXPECT_FALSE(wanted.empty());
  for (const auto& paths : {std::vector{exe, variables}, std::vector{variables, exe}}) {
    EXPECT_NO_THROW(ModelBuilder(read(paths)).createModel());
    EXPECT_EQ(run(Executable(paths)), wanted);
  }
  // The same works from memory, and a split file can be split again.
  Compiler::compile(onnx(), {}, options())->save(exe, variables);
  EXPECT_EQ(run(Executable(std::vector{exe, variables})), wanted);
  const std::string exe2 = folder + "/executable2.popef", variables2 = folder + "/variables2.popef";
  Executable(std::vector{exe, variables}).save(exe2, variables2);
  EXPECT_EQ(tensors(*read({variables2})), in_second);
  EXPECT_EQ(run(Executable(std::vector{exe2, variables2})), wanted);
}

TEST_P(CppExport, ResultsDoNotDependOnVariableWeights) {  // 7
  const auto results = run(Executable(exported())), wanted = run(*Compiler::compile(onnx()));
  ASSERT_EQ(results.size(), wanted.size());
  for (const auto& [name, bytes] : wanted) {
    const std::string& result = results.at(name);
    if (name != "y") {
      EXPECT_EQ(result, bytes) << name;
      continue;
    }
    ASSERT_EQ(result.size(), bytes.size());
    for (size_t i = 0; i < bytes.size(); i += 4) {
      float a, b;
      std::memcpy(&a, result.data() + i, 4);
      std::memcpy(&b, bytes.data() + i, 4);
      EXPECT_NEAR(a, b, 1e-5 * (1 + std::abs(b)));
    }
  }
}

TEST_P(CppExport, TensorsWithoutDataOrOfAWrongSizeAreRefused) {  // 9
  const std::string path = exported();
  const auto found = read({path})->tensors();
  for (const TensorReader& t : found) {
    std::stringstream out;
    Writer writer(out);
    const auto none = writer.createTensorData(t.info);
    EXPECT_THROW(none->close(), SizeError);
    std::stringstream other;
    Writer second(other);
    const std::string longer = text(t) + "x";
    const auto blob = second.createTensorData(t.info);
    EXPECT_THROW(blob->write(longer.data(), longer.size()), SizeError);
  }
}

struct Take final : runtime::StreamCallback {
  bool fetch(void* data, size_t bytes) noexcept override {
    taken.assign(static_cast<const char*>(data), bytes);
    return true;
  }
  std::string taken;
};

TEST_P(CppExport, SaveProgramsReturnTheWeightsUnchanged) {  // 7
  const Executable file(exported());
  const std::shared_ptr<const Executable> memory = Compiler::compile(onnx(), {}, options());
  for (const Executable* e : {&file, &*memory}) {
    runtime::Session session(*e);
    std::map<std::string, std::shared_ptr<Take>> takers;
    for (const auto& [name, bytes] : given().variables)
      session.setUserOutputHandler(name, takers[name] = std::make_shared<Take>());
    session.runLoadPrograms();
    session.runSavePrograms();
    for (const auto& [name, bytes] : given().variables) {
      EXPECT_EQ(takers[name]->taken, bytes);
      std::string other = bytes;
      other[0] = static_cast<char>(~other[0]);
      session.updateWeights(name, other.data(), other.size());
      session.runSavePrograms();
      EXPECT_EQ(takers[name]->taken, other);
    }
    EXPECT_THROW(session.setUserOutputHandler("nothing", std::make_shared<Take>()), poprt::Error);
  }
}

TEST_P(CppExport, AnchorsOfTheSaveProgramsCanBeTheUsers) {
  const Executable file(exported());
  runtime::SessionConfig config;
  config.predicate =
      runtime::predicate_factory::predProgramFlowSave(file.getPopefModel()->metadata.programFlow());
  const runtime::Session session(file, config);
  EXPECT_EQ(session.getUserOutputAnchors().size(), given().variables.size());
}

INSTANTIATE_TEST_SUITE_P(Models, CppExport, testing::Range(size_t{0}, kCases.size()));

}  // namespace
