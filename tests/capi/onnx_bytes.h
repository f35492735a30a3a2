// Small ONNX models in bytes, and the answers of the library, for tests of its public interface.
#pragma once

#include <poprt/poprt.h>

#include <string>
#include <vector>

namespace poprt::test {

inline std::string message_for(poprt_error* error) {
  if (!error) return "ok";
  std::string text = std::string(poprt_error_code_name(poprt_error_get_code(error))) + ": " +
                     poprt_error_message(error);
  poprt_error_free(error);
  return text;
}

// The bytes of a field of a protobuf message. All numbers and lengths must be less than 128.
inline std::string number(int field, int value) {
  return {static_cast<char>(field << 3), static_cast<char>(value)};
}
inline std::string field(int number, const std::string& content) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} +
         content;
}

struct Tensor {
  std::string name;
  int type;                // ONNX's: 1 f32, 10 f16
  std::vector<int> shape;  // -1: an unknown dimension
};

// An f32 initializer in a file.
inline std::string external(const std::string& name, const std::vector<int>& shape,
                            const std::string& location) {
  std::string tensor;
  for (const int d : shape) tensor += number(1, d);
  return field(5, tensor + number(2, 1) + field(8, name) +
                      field(13, field(1, "location") + field(2, location)) + number(14, 1));
}

struct Node {
  std::string op;
  std::vector<std::string> inputs;
  std::string output;
};

inline std::string onnx(const std::vector<Node>& nodes, const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& outputs, const std::string& initializers = {}) {
  const auto value = [](const Tensor& t) {
    std::string dims;
    for (const int d : t.shape) dims += field(1, d < 0 ? "" : number(1, d));
    return field(1, t.name) + field(2, field(1, number(1, t.type) + field(2, dims)));
  };
  std::string graph;
  for (const Node& n : nodes) {
    std::string node;
    for (const std::string& i : n.inputs) node += field(1, i);
    graph += field(1, node + field(2, n.output) + field(4, n.op));
  }
  graph += field(2, "g") + initializers;
  for (const Tensor& t : inputs) graph += field(11, value(t));
  for (const Tensor& t : outputs) graph += field(12, value(t));
  // The length of the graph may need more than one byte.
  std::string model = number(1, 8) + "\x3a";
  size_t size = graph.size();
  for (; size >= 128; size /= 128) model += static_cast<char>(size % 128 | 128);
  model += static_cast<char>(size);
  return model + graph + field(8, field(1, "") + number(2, 17));
}

inline std::string identity(const Tensor& x, const Tensor& y) {
  return onnx({{"Identity", {x.name}, y.name}}, {x}, {y});
}

// "ok" if there is a runner of the model, or the message.
inline std::string open_runner(const std::string& model, poprt_runner** runner) {
  poprt_compiler* compiler = nullptr;
  poprt_executable* executable = nullptr;
  std::string answer = message_for(poprt_compiler_create(nullptr, &compiler));
  if (answer == "ok")
    answer = message_for(
        poprt_compiler_compile_bytes(compiler, model.data(), model.size(), nullptr, &executable));
  if (answer == "ok") answer = message_for(poprt_runner_create(executable, nullptr, runner));
  poprt_compiler_free(compiler);
  poprt_executable_free(executable);
  return answer;
}

}  // namespace poprt::test
