#include "faithful.h"

#include <cstring>
#include <memory>
#include <span>

#include "compiler/driver.h"
#include "compiler/faithful.h"
#include "ops/op.h"
#include "passes.h"

namespace poprt::capi {
namespace {

struct Faithful {
  std::unique_ptr<ir::Graph> graph;
  compiler::Faithful options;
};

using Tensors = std::span<const poprt_library_tensor>;

Shape shape_of(const poprt_library_tensor& t) { return {t.shape, t.shape + t.rank}; }

// Throws failed_precondition unless value `v` of the stored model has the type of the program's
// anchor `t`. The program may have anchors that the model lacks, for example sizes that depend on
// data.
void check(const ir::Value* v, const poprt_library_tensor& t, std::string_view what) {
  const auto dtype = static_cast<DType>(t.dtype);
  if (v && v->type.is_static() && v->dtype() == dtype && v->shape() == shape_of(t)) return;
  fail(ErrorCode::failed_precondition,
       "{} '{}' of the program is {}{}, the stored model {}: such a model has no "
       "faithful numerics",
       what, t.name, dtype_name(dtype), shape_string(shape_of(t)),
       v ? "has " + ir::type_string(v->type) : "has none");
}

}  // namespace

void* faithful_open(const poprt_library_faithful* model, poprt_library_error* error) {
  std::unique_ptr<Faithful> made;
  library_guard(error, [&] {
    auto opened = std::make_unique<Faithful>();
    opened->graph =
        compiler::read_model({.bytes = {static_cast<const std::byte*>(model->onnx), model->size}});
    ops::infer(*opened->graph);
    opened->options = {model->saturate != 0, model->float_partials != 0, {}};
    if (model->stochastic) opened->options.seed = model->seed;
    const ir::Graph& graph = *opened->graph;
    for (const poprt_library_tensor& t : Tensors(model->inputs, model->input_count)) {
      const ir::Value* v = graph.find(t.name);
      check(v && graph.is_input(v) ? v : nullptr, t, "input");
    }
    for (const poprt_library_tensor& t : Tensors(model->outputs, model->output_count)) {
      const ir::Value* v = graph.find(t.name);
      check(v && graph.is_output(v) ? v : nullptr, t, "output");
    }
    made = std::move(opened);
  });
  return made.release();
}

void faithful_run(const void* model, const poprt_library_tensor* inputs, size_t input_count,
                  const poprt_library_tensor* outputs, size_t output_count,
                  poprt_library_error* error) {
  library_guard(error, [&] {
    const auto& m = *static_cast<const Faithful*>(model);
    std::map<std::string, Tensor> feeds;
    for (const poprt_library_tensor& t : Tensors(inputs, input_count))
      feeds[t.name] = Tensor::view(static_cast<DType>(t.dtype), shape_of(t), t.data, t.bytes,
                                   nullptr);  // the tensor does not own the memory
    const auto results = compiler::run_faithfully(*m.graph, feeds, m.options);
    for (const poprt_library_tensor& t : Tensors(outputs, output_count)) {
      const Tensor& result = results.at(t.name);
      if (result.bytes() != t.bytes)
        fail(ErrorCode::internal, "output '{}' has {} bytes, the computed value has {}", t.name,
             t.bytes, result.bytes());
      std::memcpy(t.data, result.data(), t.bytes);
    }
  });
}

void faithful_close(void* model) { delete static_cast<Faithful*>(model); }

}  // namespace poprt::capi
