// The samples of all operators, with types that are known in part only.
#include <gtest/gtest.h>

#include "base/error.h"
#include "core/ops/sample.h"
#include "ops/common/evaluate.h"
#include "ops/op.h"

namespace poprt::ops::testing {
namespace {

std::deque<Sample> all_samples() {
  SampleList list;
  for (const SampleMaker make : sample_makers()) make(list);
  return list.all();
}

std::string name_of(const Sample& s) {
  return s.domain + "." + s.op + " of opset " + std::to_string(s.opset);
}

std::vector<ir::ValueType> inferred(const ir::Node& node) {
  std::vector<ir::ValueType> types;
  for (const ir::Value* v : node.outputs()) types.push_back(v->type);
  return types;
}

// Nothing that a weak type says may contradict the full one.
void expect_weaker(const ir::ValueType& weak, const ir::ValueType& full) {
  EXPECT_TRUE(weak.dtype == full.dtype || weak.dtype == DType::undefined)
      << dtype_name(weak.dtype) << ", should be " << dtype_name(full.dtype);
  if (!weak.has_shape) return;
  ASSERT_EQ(weak.shape.size(), full.shape.size()) << shape_string(weak.shape);
  for (size_t d = 0; d < weak.shape.size(); d++)
    EXPECT_TRUE(weak.shape[d] < 0 || weak.shape[d] == full.shape[d])
        << shape_string(weak.shape) << ", should be " << shape_string(full.shape);
}

// Infers the sample with types that `weaken` changes.
template <class F>
void expect_weaker_inference(const Sample& s, const std::vector<ir::ValueType>& full, F&& weaken) {
  const SampleGraph g = make_graph(s);
  for (size_t i = 0; i < g.node->inputs().size(); i++)
    if (ir::Value* v = g.node->input(i); v && !v->is_constant()) weaken(i, v->type);
  try {
    infer(*g.node);
  } catch (const Error& e) {
    ADD_FAILURE() << e.message();
    return;
  }
  const auto weak = inferred(*g.node);
  for (size_t o = 0; o < full.size(); o++) {
    SCOPED_TRACE("output " + std::to_string(o));
    expect_weaker(weak[o], full[o]);
  }
}

TEST(BentSamples, TypesThatAreKnownInPartContradictNothing) {
  for (const Sample& s : all_samples()) {
    if (s.domain == "poprt") continue;  // made when all shapes are known
    SCOPED_TRACE(name_of(s));
    const SampleGraph g = make_graph(s);
    infer(*g.node);
    const auto full = inferred(*g.node);
    expect_weaker_inference(s, full, [](size_t, ir::ValueType& t) {
      t.has_shape = false;
      t.shape.clear();
    });
    expect_weaker_inference(s, full, [](size_t, ir::ValueType& t) {
      for (int64_t& d : t.shape) d = kUnknownDim;
    });
    for (size_t i = 0; i < s.inputs.size(); i++) {
      if (!s.inputs[i].defined() || s.constant[i]) continue;
      SCOPED_TRACE("input " + std::to_string(i));
      expect_weaker_inference(s, full, [i](size_t at, ir::ValueType& t) {
        if (at != i) return;
        t.has_shape = false;
        t.shape.clear();
      });
      for (size_t d = 0; d < s.inputs[i].shape().size(); d++)
        expect_weaker_inference(s, full, [i, d](size_t at, ir::ValueType& t) {
          if (at == i) t.shape[d] = kUnknownDim;
        });
    }
  }
}

}  // namespace
}  // namespace poprt::ops::testing
