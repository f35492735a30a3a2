// Records the results of operators, as sums, for their samples with another attribute, another
// element type or one input less: tests/data/op_results.txt. References prove the samples
// themselves. Here, a changed default, an attribute that is no longer read, or a type that uses
// other code changes a number.
//
//   POPRT_WRITE_RECORDS=1 test_ops --gtest_filter='RecordedResults.*'   # writes the file
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/onnx_dtype.h"
#include "core/ops/recorded_result.h"
#include "core/ops/sample.h"
#include "core/ops/trial_sample.h"
#include "ir/schemas.h"
#include "ir/text.h"
#include "ops/common/evaluate.h"
#include "ops/op.h"

namespace poprt::ops::sampled {
namespace {

constexpr const char* kPath = POPRT_TEST_DATA "/op_results.txt";
constexpr int64_t kMostElements = 1 << 16;  // of a result that is computed

struct SchemaRow {
  std::string_view domain, op;
  int64_t since;
  std::string_view attributes;
};
constexpr SchemaRow kSchemas[] = {
#include "ir/schemas.inc"
};

// Names of the attributes that ONNX or ONNX Runtime gives the sample's operator.
std::vector<std::string> attributes_of(const Sample& s) {
  const int64_t since = ir::definition_of(s.domain, s.op, s.opset);
  std::string_view names;
  for (const SchemaRow& row : kSchemas) {
    if (row.attributes != "=") names = row.attributes;
    if (row.domain != s.domain || row.op != s.op || row.since != since) continue;
    std::istringstream words{std::string(names)};
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

std::optional<Result> result_of(const Sample& s) {
  const SampleGraph g = make_graph(s);
  try {
    infer(*g.node);
    for (const ir::Value* v : g.node->outputs())
      if (!v->type.is_static() || element_count(v->shape()) > kMostElements) return std::nullopt;
    Result r;
    for (const Tensor& t : evaluate(*g.node, s.inputs)) {
      r.types += (r.types.empty() ? "" : " ") + ir::type_string({t.dtype(), true, t.shape(), {}});
      r.sums.push_back(t.dtype() == DType::string ? Sums() : sums_of(t));
    }
    return r;
  } catch (const Error&) {  // refusals_test.cpp
    return std::nullopt;
  }
}

class Recorder {
 public:
  explicit Recorder(Results& results) : results_(results) {}

  // `plain`: also the unchanged sample, which no reference checks.
  void record(const Sample& sample, bool plain = false) {
    const auto base = result_of(sample);
    if (!base) return;
    name_ = (sample.domain.empty() ? "" : sample.domain + ".") + sample.op;
    at_ = fmt::format("{}", count_[name_]++);
    if (count_[name_] > kMostSamples) return;
    if (plain) results_[name_].emplace(at_ + " as it is", *base);
    const auto tried = [&](const std::string& what, auto&& change) {
      Sample s = sample;
      change(s);
      const auto r = result_of(s);
      // A change that leaves the results equal is not recorded, so a new equality is noticed.
      if (r && !near(*r, *base)) results_[name_].emplace(at_ + " " + what, *r);
    };
    const auto attribute = [&](const std::string& key, const ir::Attribute& value,
                               const std::string& shown) {
      tried(key + " = " + shown, [&](Sample& s) { s.attributes[key] = value; });
    };
    for (const auto& [key, value] : sample.attributes) {
      tried("no " + key, [&](Sample& s) { s.attributes.erase(key); });
      alter(key, value, attribute);
    }
    for (const std::string& key : attributes_of(sample))
      if (!sample.attributes.contains(key)) set(key, attribute);
    for (size_t i = 0; i < sample.inputs.size(); i++)
      tried(fmt::format("no input {}", i), [&](Sample& s) { s.inputs[i] = Tensor(); });
    for (const DType type : {DType::f16, DType::bf16, DType::f64, DType::s32, DType::s64, DType::u8,
                             DType::s8, DType::f32})
      for (const DType from : {DType::f32, DType::s64, DType::u8})
        retype(sample, from, type, tried);
  }

 private:
  static constexpr int kMostSamples = 6;  // of an operator

  template <class F>
  static void alter(const std::string& key, const ir::Attribute& value, F&& attribute) {
    if (const auto* n = std::get_if<int64_t>(&value))
      for (const int64_t v : {*n + 1, *n - 1, int64_t{0}})
        if (v != *n) attribute(key, v, std::to_string(v));
    if (const auto* x = std::get_if<float>(&value))
      for (const float v : {*x * 1.5F + 0.25F, 0.0F}) attribute(key, v, fmt::format("{:.4g}", v));
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
      for (size_t i = 0; i < list->size(); i++)
        for (const int64_t by : {1, -1}) {
          auto other = *list;
          other[i] += by;
          attribute(key, other, fmt::format("{:+} at {}", by, i));
        }
    if (std::holds_alternative<std::string>(value)) words(key, attribute);
  }

  // The sample omits the attribute, and its type is not known here.
  template <class F>
  static void set(const std::string& key, F&& attribute) {
    for (const int64_t v : {0, 1, 2, 10}) attribute(key, v, std::to_string(v));
    for (const float v : {0.5F, 0.0F}) attribute(key, v, fmt::format("{:.1f}", v));
    for (const auto& list : {std::vector<int64_t>{1}, {0}, {1, 2}, {2, 2}, {1, 1, 1, 1}})
      attribute(key, list, fmt::format("[{}]", fmt::join(list, ",")));
    words(key, attribute);
  }
  template <class F>
  static void words(const std::string& key, F&& attribute) {
    for (const char* word : {"add",
                             "mul",
                             "max",
                             "min",
                             "none",
                             "sum",
                             "mean",
                             "SAME_UPPER",
                             "SAME_LOWER",
                             "VALID",
                             "linear",
                             "nearest",
                             "cubic",
                             "bilinear",
                             "bicubic",
                             "zeros",
                             "border",
                             "reflection",
                             "reflect",
                             "edge",
                             "wrap",
                             "constant",
                             "tanh",
                             "CRD",
                             "DCR",
                             "align_corners",
                             "asymmetric",
                             "pytorch_half_pixel",
                             "half_pixel",
                             "tf_crop_and_resize",
                             "floor",
                             "ceil",
                             "round_prefer_ceil",
                             "reverse",
                             "bidirectional",
                             "avg",
                             "LOGISTIC",
                             "SOFTMAX",
                             "SOFTMAX_ZERO",
                             "PROBIT",
                             "L1",
                             "L2",
                             "MAX",
                             "TF",
                             "IDF",
                             "TFIDF",
                             "euclidean",
                             "sqeuclidean"})
      attribute(key, std::string(word), word);
  }

  // All tensors of one element type get another type.
  template <class F>
  static void retype(const Sample& sample, DType from, DType to, F&& tried) {
    if (from == to ||
        std::none_of(sample.inputs.begin(), sample.inputs.end(),
                     [&](const Tensor& t) { return t.defined() && t.dtype() == from; }))
      return;
    tried(fmt::format("{} as {}", dtype_name(from), dtype_name(to)), [&](Sample& s) {
      for (Tensor& t : s.inputs) {
        if (!t.defined() || t.dtype() != from) continue;
        std::vector<double> values = t.to_doubles();
        if (is_integer(to))
          for (double& x : values) x = std::clamp(std::trunc(x), 0.0, 100.0);
        Sample cast;
        cast.op = "Cast";
        cast.opset = 19;
        cast.input(Tensor::of<double>(t.shape(), std::span<const double>(values)));
        cast.attributes["to"] = int64_t{*onnx_from_dtype(to)};
        const SampleGraph g = make_graph(cast);
        infer(*g.node);
        t = evaluate(*g.node, cast.inputs).at(0);
      }
    });
  }

  Results& results_;
  std::string name_, at_;
  std::map<std::string, int> count_;
};

TEST(RecordedResults, MatchTheRecordOfAlteredSamples) {
  Results found;
  Recorder recorder(found);
  for (const Sample& s : all_samples()) recorder.record(s);
  // Operators that have separate tests instead of a sample; inputs that are not constant are
  // random.
  for (Sample s : trial_samples()) {
    for (size_t i = 0; i < s.inputs.size(); i++)
      if (s.inputs[i].defined() && s.inputs[i].dtype() == DType::f32 && !s.constant[i])
        s.inputs[i] = random_f32(s.inputs[i].shape(), -2, 2, static_cast<uint32_t>(i + 1));
    recorder.record(s, true);
  }
  expect_results(found, kPath,
                 "Sums of what operators compute on samples that are altered: "
                 "recorded_results_test.cpp.");
}

}  // namespace
}  // namespace poprt::ops::sampled
