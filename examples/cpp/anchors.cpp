// Prints the inputs and outputs of a PopEF file.
//
//   anchors MODEL.popef
#include <iostream>
#include <poprt/poprt.hpp>

static void print(const char* kind, const std::vector<poprt::DataDesc>& anchors) {
  for (const auto& a : anchors) {
    std::cout << kind << " " << a.name << " "
              << poprt_dtype_name(static_cast<poprt_dtype>(a.dataType)) << " [";
    for (std::size_t i = 0; i < a.shape.size(); i++) std::cout << (i ? "," : "") << a.shape[i];
    std::cout << "] " << a.sizeInBytes << " bytes\n";
  }
}

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: anchors MODEL.popef\n";
    return 2;
  }
  const poprt::Executable executable{std::string(argv[1])};
  print("input", executable.getInputs());
  print("output", executable.getOutputs());
  return 0;
} catch (const poprt::Error& e) {
  std::cerr << "anchors: " << e.what() << "\n";
  return 1;
}
