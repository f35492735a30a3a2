// The samples of all operators with one fact bent: what inference says of types that are known in
// part, and who refuses inputs that do not fit.
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

// The same elements, as far as there are any, in another form.
Tensor refilled(const Tensor& t, DType dtype, Shape shape) {
  Tensor out = Tensor::zeros(dtype, std::move(shape));
  if (dtype == t.dtype() && t.bytes() != 0)
    for (uint64_t at = 0; at < out.bytes(); at++)
      static_cast<std::byte*>(out.mutable_data())[at] =
          static_cast<const std::byte*>(t.data())[at % t.bytes()];
  return out;
}

std::vector<Tensor> bends(const Tensor& t) {
  std::vector<Tensor> list;
  Shape shape = t.shape();
  for (size_t d = 0; d < t.shape().size(); d++)
    for (const int64_t by : {-1, 1}) {
      shape = t.shape();
      if ((shape[d] += by) >= 0) list.push_back(refilled(t, t.dtype(), shape));
    }
  shape = t.shape();
  shape.push_back(2);
  list.push_back(refilled(t, t.dtype(), shape));
  shape = t.shape();
  shape.insert(shape.begin(), 1);
  list.push_back(refilled(t, t.dtype(), shape));
  if (!t.shape().empty()) {
    shape = t.shape();
    shape.pop_back();
    list.push_back(refilled(t, t.dtype(), shape));
  }
  for (const DType dtype :
       {DType::f32, DType::f64, DType::f16, DType::s64, DType::s32, DType::u8, DType::boolean})
    if (dtype != t.dtype()) list.push_back(refilled(t, dtype, t.shape()));
  return list;
}

TEST(BentSamples, AreRefusedByTheOperatorAndNotByItsKernels) {
  int accepted = 0, refused = 0;
  for (const Sample& sample : all_samples()) {
    SCOPED_TRACE(name_of(sample));
    for (size_t i = 0; i < sample.inputs.size(); i++) {
      if (!sample.inputs[i].defined() || sample.inputs[i].dtype() == DType::string) continue;
      for (Tensor& bent : bends(sample.inputs[i])) {
        Sample s = sample;
        const std::string what = "input " + std::to_string(i) + " as " +
                                 std::string(dtype_name(bent.dtype())) + shape_string(bent.shape());
        s.inputs[i] = std::move(bent);
        const SampleGraph g = make_graph(s);
        try {
          infer(*g.node);
          bool all = true;
          for (const ir::Value* v : g.node->outputs()) all &= v->type.is_static();
          if (!all) continue;
          (void)evaluate(*g.node, s.inputs);
          accepted++;
        } catch (const Error& e) {
          refused++;
          EXPECT_EQ(e.message().find("kernel "), std::string::npos) << what << ": " << e.message();
        }
      }
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace poprt::ops::testing
