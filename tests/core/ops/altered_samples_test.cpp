// The samples of all operators with input types that are only partly known.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "core/ops/sample.h"
#include "core/ops/trial_sample.h"
#include "ir/text.h"
#include "ops/common/evaluate.h"
#include "ops/op.h"
#include "support/recorded_lines.h"

namespace poprt::ops::sampled {
namespace {

std::string name_of(const Sample& s) {
  return s.domain + "." + s.op + " of opset " + std::to_string(s.opset);
}

std::vector<ir::ValueType> inferred(const ir::Node& node) {
  std::vector<ir::ValueType> types;
  for (const ir::Value* v : node.outputs()) types.push_back(v->type);
  return types;
}

// A type inferred from partial types must not contradict the full type.
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

TEST(AlteredSamples, PartiallyKnownTypesDoNotContradict) {
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

// Types inferred from input types with one fact less; dimensions may have names.
class WeakTypes {
 public:
  void record(const Sample& s) {
    auto& lines = found_[s.domain + "." + s.op];
    const auto with = [&](const std::string& what, auto&& weaken) {
      const SampleGraph g = make_graph(s);
      for (size_t i = 0; i < g.node->inputs().size(); i++)
        if (ir::Value* v = g.node->input(i); v && !v->is_constant()) weaken(i, v->type);
      std::string line = what + ":";
      try {
        infer(*g.node);
        for (const auto& type : inferred(*g.node))
          line += fmt::format(" {}{}", ir::type_string(type), fmt::join(type.symbols, ","));
      } catch (const Error& e) {
        line += " refused";
      }
      lines.insert(line);
    };
    const auto named = [](size_t i, ir::ValueType& t, size_t d) {
      t.shape[d] = kUnknownDim;
      t.symbols.resize(t.shape.size());
      t.symbols[d] = fmt::format("n{}{}", i, d);
    };
    with("no shape", [](size_t, ir::ValueType& t) {
      t.has_shape = false;
      t.shape.clear();
    });
    with("no type", [](size_t, ir::ValueType& t) { t = {}; });
    with("ranks", [](size_t, ir::ValueType& t) {
      for (int64_t& d : t.shape) d = kUnknownDim;
    });
    with("names", [&](size_t i, ir::ValueType& t) {
      for (size_t d = 0; d < t.shape.size(); d++) named(i, t, d);
    });
    for (size_t k = 0; k < s.inputs.size(); k++) {
      if (!s.inputs[k].defined() || s.constant[k]) continue;
      with(fmt::format("no shape of {}", k), [k](size_t i, ir::ValueType& t) {
        if (i == k) t.has_shape = false, t.shape.clear();
      });
      for (size_t d = 0; d < s.inputs[k].shape().size(); d++)
        with(fmt::format("{} of {}", d, k), [&](size_t i, ir::ValueType& t) {
          if (i == k) named(i, t, d);
        });
    }
  }
  const test::RecordedLines& found() const { return found_; }

 private:
  test::RecordedLines found_;
};

TEST(AlteredSamples, InferredTypesOfPartlyKnownInputsAreRecorded) {
  WeakTypes weak;
  std::map<std::string, int> count;
  for (const Sample& s : all_samples())
    if (s.domain != "poprt" && count[s.domain + s.op]++ < 5) weak.record(s);
  for (const Sample& s : trial_samples())
    if (s.domain != "poprt") weak.record(s);
  test::expect_digests(weak.found(), POPRT_TEST_DATA "/weak_types.txt",
                       "Types inferred from partial types: altered_samples_test.cpp.");
}

}  // namespace
}  // namespace poprt::ops::sampled
