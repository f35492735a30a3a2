// Writes a PopEF file from a serialised program and runs it, as a custom compiler would.
//
//   export MODEL.popef OUT.popef
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <poprt/poprt.hpp>

using namespace poprt::popef;

// The indices of the programs in the metadata's flow.
enum Program : uint32_t { kLoad = 0, kMain = 1, kSave = 2 };

static Metadata describe(const poprt::Executable& executable, const std::string& name) {
  Metadata m;
  m.setExecutable(name);
  m.setNumIpus(1);
  m.setIpuVersion(21);
  m.setIsInference(true);
  m.setProgramsMap({{kLoad, "load"}, {kMain, "main"}, {kSave, "save"}});
  m.programFlow().setMain({kMain});
  for (const auto& in : executable.getInputs())
    m.anchors().emplace_back(in.name, "h2d_" + in.name, TensorInfo(in.dataType, in.shape),
                             TensorType::INPUT, Anchor::Programs{kMain});
  for (const auto& out : executable.getOutputs())
    m.anchors().emplace_back(out.name, "anchor_d2h_" + out.name,
                             TensorInfo(out.dataType, out.shape), TensorType::OUTPUT,
                             Anchor::Programs{kMain});
  return m;
}

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: export MODEL.popef OUT.popef\n";
    return 2;
  }
  // Only the program, and the types of its inputs and outputs, are used from the file.
  const poprt::Executable compiled{std::string(argv[1])};
  const Payload program = compiled.getPopefModel()->executable.payload();

  FileWriter writer(argv[2]);
  writer.write(describe(compiled, "by hand"));
  writer.createExecutable("by hand", true)->stream.write(program.data(), program.size());
  writer.createOpaqueBlob("notes", "by hand")->stream << "made by an example";
  writer.close();

  const auto reader = std::make_shared<Reader>();
  reader->parseFile(argv[2]);
  const auto model = ModelBuilder(reader).createModel();
  std::cout << model->executable.name << ": " << model->opaqueBlobs.at(0).data.rdbuf() << "\n";

  poprt::runtime::ModelRunner runner(model);
  poprt::runtime::InputMemory inputs;
  for (const auto& in : runner.getExecuteInputs()) {
    inputs.emplace(in.name, poprt::runtime::TensorMemory(in.sizeInBytes));
    auto* bytes = static_cast<unsigned char*>(inputs.at(in.name).data.get());
    std::fill(bytes, bytes + in.sizeInBytes, 0x3c);  // 0.0115 as a float
  }
  const auto views = poprt::runtime::viewOf(inputs);
  const auto outputs = runner.execute(views);
  const auto expected = poprt::runtime::ModelRunner(compiled).execute(views);
  for (const auto& [name, memory] : outputs) {
    const auto* a = static_cast<const unsigned char*>(memory.data.get());
    const auto* b = static_cast<const unsigned char*>(expected.at(name).data.get());
    std::cout << "output " << name << ": " << memory.dataSizeBytes << " bytes, "
              << (std::equal(a, a + memory.dataSizeBytes, b) ? "as" : "not as") << " compiled\n";
  }
  return 0;
} catch (const poprt::Error& e) {
  std::cerr << "export: " << e.what() << "\n";
  return 1;
}
