// A framework's writer and reader of PopEF files: two models in one file, opaque blobs, appending.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <model_runtime/Executable.hpp>
#include <model_runtime/ModelRunner.hpp>
#include <model_runtime/Tensor.hpp>
#include <popef/Model.hpp>
#include <popef/ModelBuilder.hpp>
#include <popef/Reader.hpp>
#include <popef/Types.hpp>
#include <popef/Writer.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

std::string contents(std::istream& stream) {
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("expected " + what);
}

// The model by another name, as a compiler exports it.
void exportModel(popef::Writer& writer, const popef::Model& model, const std::string& name) {
  popef::Metadata metadata = model.metadata;
  metadata.setExecutable(name);
  popef::Metadata::ProgramsMap programs = metadata.programsMap();
  metadata.setProgramsMap(programs);
  writer.write(metadata);
  const std::shared_ptr<popef::BlobWriter> executable = writer.createExecutable(name, true);
  const auto stream = model.executable.getStandaloneExecutableStream();
  executable->stream << stream->rdbuf();
  writer.createOpaqueBlob("framework", name)->stream << "cache of " << name;
}

std::vector<float> run(const std::shared_ptr<popef::Model>& model) {
  model_runtime::ModelRunnerConfig config;
  config.device_wait_config = model_runtime::DeviceWaitConfig(
      model_runtime::DeviceWaitStrategy::WAIT_WITH_TIMEOUT, std::chrono::seconds(600));
  model_runtime::ModelRunner runner(model, config);
  model_runtime::InputMemoryView inputs;
  const std::vector<float> x = {-3, -2, -1, 0, 1, 2};
  for (const model_runtime::InputDesc& desc : runner.getExecuteInputs()) {
    expect(desc.data_type == popef::DataType::F32, "floats");
    expect(!desc.popef_contains_tensor_data, "an input of requests");
    inputs.emplace(desc.name, model_runtime::ConstTensorMemoryView(
                                  x.data(), static_cast<std::uint64_t>(desc.size_in_bytes)));
  }
  model_runtime::OutputMemory outputs = runner.execute(inputs);
  std::vector<float> y;
  for (const auto& [name, memory] : outputs) {
    const auto* values = static_cast<const float*>(memory.data.get());
    y.assign(values, values + memory.data_size_bytes / sizeof(float));
  }
  return y;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  const auto source = std::make_shared<popef::Reader>();
  source->parseFile(argv[1]);
  const auto model = popef::ModelBuilder(source).createModel();

  const std::string path = std::string(argv[1]) + ".two";
  {
    std::ofstream file(path, std::ios::binary);
    popef::Writer writer(file);
    exportModel(writer, *model, "first");
    exportModel(writer, *model, "second");
    writer.close();
  }
  {
    popef::FileWriter writer(path, popef::FileWriter::Mode::APPEND);
    writer.createOpaqueBlob("extra", "second")->stream << "appended";
    writer.close();
  }

  const auto reader = std::make_shared<popef::Reader>();
  reader->parseStream(std::make_shared<std::ifstream>(path, std::ios::binary));
  expect(reader->executables().size() == 2 && reader->metadata().size() == 2, "two models");
  expect(reader->opaqueBlobs().size() == 3, "three opaque blobs");
  for (popef::OpaqueReader blob : reader->opaqueBlobs()) {
    const std::size_t size = blob.getAvailableReadSize();
    const std::string text = contents(blob.data);
    expect(text.size() == size, "the whole blob");
    expect(text == (blob.name == "extra" ? "appended" : "cache of " + blob.executable), text);
  }
  std::vector<float> y;
  for (const std::string name : {"first", "second"}) {
    y = run(popef::ModelBuilder(reader).createModel(name));
    expect(y == run(model), "the results of the first file");
  }
  try {
    popef::ModelBuilder(reader).createModel();
    return 3;
  } catch (const std::runtime_error&) {  // there are two
  }
  std::remove(path.c_str());
  std::cout << "y:";
  for (const float value : y) std::cout << ' ' << value;
  std::cout << '\n';
} catch (const std::exception& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
