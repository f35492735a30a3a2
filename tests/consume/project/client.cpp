// A user's C++17 (or 20) program: compiles a model (x -> Relu -> y) and runs it.
#include <iostream>
#include <poprt/poprt.hpp>

int main(int argc, char** argv) try {
  if (argc != 2 || poprt::version() != POPRT_VERSION) return 2;
  poprt::runtime::ModelRunner runner(poprt::compiler::Compiler::compile(argv[1]));
  const auto in = runner.getExecuteInputs().at(0);
  std::vector<float> x(static_cast<std::size_t>(in.sizeInBytes) / sizeof(float));
  for (std::size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i) - 3;

  auto outputs = runner.execute({{in.name, {x.data(), x.size() * sizeof(float)}}});
  for (auto& [name, memory] : outputs) {
    std::cout << name << ":";
    const auto* y = static_cast<const float*>(memory.getView().data);
    for (std::size_t i = 0; i < x.size(); i++) std::cout << " " << y[i];
    std::cout << "\n";
  }
  return 0;
} catch (const poprt::Error& e) {
  std::cerr << e.what() << "\n";
  return 1;
}
