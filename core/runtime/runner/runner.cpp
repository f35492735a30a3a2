#include "runtime/runner/runner.h"

#include <numeric>

namespace poprt::runtime {
namespace {

template <class Binding, class Views>
std::vector<Binding> bindings(const Views& views) {
  std::vector<Binding> list;
  list.reserve(views.size());
  for (const auto& [name, view] : views) list.push_back({name, 0, view.data, view.bytes});
  return list;
}

}  // namespace

RunnerStatistics BaseRunner::statistics(size_t) const {
  fail(ErrorCode::unimplemented,
       "a runner of this kind counts for all its replicas together: request the sum");
}

std::vector<Shape> BaseRunner::output_shapes(std::span<const InputBinding>) const {
  std::vector<Shape> shapes;
  for (const DataDesc& d : execute_outputs()) shapes.push_back(d.anchor.shape);
  return shapes;
}

std::vector<size_t> BaseRunner::outputs_of(std::span<const InputBinding>) const {
  std::vector<size_t> all(execute_outputs().size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

void BaseRunner::execute(const InputMemoryView& inputs, const OutputMemoryView& outputs) {
  execute(bindings<InputBinding>(inputs), bindings<OutputBinding>(outputs));
}

OutputMemory BaseRunner::allocate(std::span<const InputBinding> inputs,
                                  std::vector<OutputBinding>& outputs) const {
  OutputMemory memory;
  for (const size_t i : outputs_of(inputs)) {
    const DataDesc& d = execute_outputs()[i];
    const TensorMemory& m =
        memory.emplace(d.anchor.name, TensorMemory(d.size_in_bytes)).first->second;
    outputs.push_back({d.anchor.name, 0, m.data(), m.bytes()});
  }
  return memory;
}

OutputMemory BaseRunner::execute(const InputMemoryView& inputs) {
  const auto in = bindings<InputBinding>(inputs);
  std::vector<OutputBinding> outputs;
  OutputMemory memory = allocate(in, outputs);
  execute(in, outputs);
  return memory;
}

std::pair<RequestPtr, OutputMemory> BaseRunner::execute_async(const InputMemoryView& inputs) {
  const auto in = bindings<InputBinding>(inputs);
  std::vector<OutputBinding> outputs;
  OutputMemory memory = allocate(in, outputs);
  RequestPtr request = execute_async(in, outputs, {}, {});
  return {std::move(request), std::move(memory)};
}

RequestPtr BaseRunner::execute_async(const InputMemoryView& inputs, const OutputMemoryView& outputs,
                                     RequestCallback callback) {
  return execute_async(bindings<InputBinding>(inputs), bindings<OutputBinding>(outputs), callback);
}

}  // namespace poprt::runtime
