#include "runtime/runner/runner.h"

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
       "a runner of this kind counts for all its replicas together: ask for the sum");
}

std::vector<Shape> BaseRunner::output_shapes(std::span<const InputBinding>) const {
  std::vector<Shape> shapes;
  for (const DataDesc& d : execute_outputs()) shapes.push_back(d.anchor.shape);
  return shapes;
}

void BaseRunner::execute(const InputMemoryView& inputs, const OutputMemoryView& outputs) {
  execute(bindings<InputBinding>(inputs), bindings<OutputBinding>(outputs));
}

OutputMemory BaseRunner::allocate(std::vector<OutputBinding>& outputs) const {
  OutputMemory memory;
  for (const DataDesc& d : execute_outputs()) {
    const TensorMemory& m =
        memory.emplace(d.anchor.name, TensorMemory(d.size_in_bytes)).first->second;
    outputs.push_back({d.anchor.name, 0, m.data(), m.bytes()});
  }
  return memory;
}

OutputMemory BaseRunner::execute(const InputMemoryView& inputs) {
  std::vector<OutputBinding> outputs;
  OutputMemory memory = allocate(outputs);
  execute(bindings<InputBinding>(inputs), outputs);
  return memory;
}

std::pair<RequestPtr, OutputMemory> BaseRunner::execute_async(const InputMemoryView& inputs) {
  std::vector<OutputBinding> outputs;
  OutputMemory memory = allocate(outputs);
  RequestPtr request = execute_async(bindings<InputBinding>(inputs), outputs, {}, {});
  return {std::move(request), std::move(memory)};
}

RequestPtr BaseRunner::execute_async(const InputMemoryView& inputs, const OutputMemoryView& outputs,
                                     RequestCallback callback) {
  return execute_async(bindings<InputBinding>(inputs), bindings<OutputBinding>(outputs), callback);
}

}  // namespace poprt::runtime
