// Runs the two models of a fused executable (examples/model_fusion).
//
//   fusion EXECUTABLE.popef
#include <array>
#include <cstdint>
#include <iostream>
#include <poprt/runtime/model_runner.hpp>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: fusion EXECUTABLE.popef\n";
    return 2;
  }
  poprt::runtime::ModelRunner runner{std::string(argv[1])};

  const std::array<float, 2> x{1, 1}, y{2, 2};
  std::array<float, 2> sum{};
  runner.execute({{"graph0/X", {x.data(), sizeof x}}, {"graph0/Y", {y.data(), sizeof y}}},
                 {{"graph0/O", {sum.data(), sizeof sum}}});
  std::cout << "graph0: " << sum[0] << ", " << sum[1] << "\n";

  const std::uint16_t zero = 0;  // fp16
  std::array<std::uint16_t, 3> row{};
  runner.execute({{"graph1/X", {&zero, sizeof zero}}}, {{"graph1/O", {row.data(), sizeof row}}});
  const std::array<std::uint16_t, 3> expected{0x0000, 0x3e00, 0x4000};
  std::cout << "graph1: " << (row == expected ? "0, 1.5, 2" : "something else") << "\n";
  return 0;
} catch (const poprt::Error& e) {
  std::cerr << "fusion: " << e.what() << "\n";
  return 1;
}
