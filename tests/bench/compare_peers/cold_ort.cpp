// Computes one answer and exits: cold_ort ORT_LIBRARY MODEL.onnx THREADS INPUTS OUTPUTS. INPUTS is
// NAME:TYPE:d0,d1;... with ONNX type numbers and OUTPUTS is NAME;... Inputs are ones.
#include <cstring>
#include <string>

#include "ort.h"

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const ort::Api api(argv[1]);
  ort::Session* session = api.session(argv[2], std::atoi(argv[3]));
  std::vector<const char*> in_names, out_names;
  std::vector<ort::Value*> in_values;
  for (char* item = std::strtok(argv[4], ";"); item; item = std::strtok(nullptr, ";")) {
    std::string s(item);
    const size_t shape_at = s.rfind(':'), type_at = s.rfind(':', shape_at - 1);
    std::vector<int64_t> shape;
    size_t count = 1;
    for (const char* p = s.c_str() + shape_at + 1; *p;) {
      char* end = nullptr;
      shape.push_back(std::strtoll(p, &end, 10));
      count *= static_cast<size_t>(shape.back());
      p = *end ? end + 1 : end;
    }
    const int type = std::atoi(s.c_str() + type_at + 1);
    const size_t width = type == 7 ? 8 : 4;
    char* data = static_cast<char*>(std::malloc(count * width));
    for (size_t k = 0; k < count; k++) {
      if (type == 7)
        reinterpret_cast<int64_t*>(data)[k] = 1;
      else
        reinterpret_cast<float*>(data)[k] = 1.0f;
    }
    in_names.push_back(strndup(item, type_at));
    in_values.push_back(api.tensor(data, count * width, shape.data(), shape.size(), type));
  }
  for (char* item = std::strtok(argv[5], ";"); item; item = std::strtok(nullptr, ";"))
    out_names.push_back(item);
  std::vector<ort::Value*> out_values(out_names.size(), nullptr);
  api.run(session, in_names, in_values, out_names, out_values);
  std::fflush(stdout);
  std::_Exit(0);  // tearing the session down is not part of the first answer
}
