// Messages of operators for their samples with one fact changed: an input less, another type, a
// rank or a size that does not fit, an attribute out of its range. tests/data/refusals.txt records
// the messages of each operator, so that a lost check, or a check that refuses a valid node, is
// noticed. It also records the types of results if values decide them.
//
//   POPRT_WRITE_RECORDS=1 test_ops --gtest_filter='Refusals.*'   # writes the file; read the diff
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/error.h"
#include "core/ops/sample.h"
#include "core/ops/trial_sample.h"
#include "ir/text.h"
#include "ops/common/evaluate.h"
#include "ops/op.h"
#include "support/recorded_lines.h"

namespace poprt::ops::sampled {
namespace {

constexpr size_t kLongest = 200;     // of a line
constexpr uint64_t kMost = 1 << 20;  // bytes of a result that is computed
constexpr int64_t kHuge = int64_t{1} << 40;

using Refusals = test::RecordedLines;

// Cuts off the list of supported types, which has another test.
std::string shortened(std::string message) {
  for (const char* end : {" (here opset", "is supported from opset"})
    if (const size_t at = message.find(end); at != std::string::npos) message.resize(at);
  const std::string node = " node that makes 'v_0'";
  for (size_t at; (at = message.find(node)) != std::string::npos;) message.erase(at, node.size());
  if (message.size() > kLongest) message.resize(kLongest);
  for (char& c : message)
    if (c == '\n') c = ' ';
  return message;
}

class Alterer {
 public:
  explicit Alterer(Refusals& refusals) : refusals_(refusals) {}

  void alter(const Sample& sample) {
    for (size_t i = 0; i < sample.inputs.size(); i++)
      if (sample.inputs[i].defined()) bend_input(sample, i);
    if (!sample.inputs.empty())
      tried(sample, [](Sample& s) { s.inputs.pop_back(), s.constant.pop_back(); });
    tried(sample, [](Sample& s) { s.input(Tensor::scalar<float>(1)); });
    tried(sample, [](Sample& s) { s.shapes.resize(std::max<size_t>(s.shapes.size(), 1) + 1); });
    for (const auto& [key, value] : sample.attributes) bend_attribute(sample, key, value);
  }

 private:
  // `shown` is the change, if the resulting types are recorded.
  template <class F>
  void tried(const Sample& sample, F&& change, const std::string& shown = "") {
    Sample s = sample;
    change(s);
    const SampleGraph g = make_graph(s);
    try {
      infer(*g.node);
      if (!shown.empty()) {
        std::string types;
        for (const ir::Value* v : g.node->outputs()) types += " " + ir::type_string(v->type);
        refusals_[s.domain + "." + s.op].insert(shown + ":" + types);
      }
      for (const ir::Value* v : g.node->outputs())
        if (!v->type.is_static() || dtype_bytes(v->dtype(), element_count(v->shape())) > kMost)
          return;
      evaluate(*g.node, s.inputs);
    } catch (const Error& e) {
      refusals_[s.domain + "." + s.op].insert(shortened(e.message()));
    }
  }

  void with_input(const Sample& sample, size_t i, Tensor tensor) {
    tried(sample, [&](Sample& s) { s.inputs[i] = std::move(tensor); });
  }

  void bend_input(const Sample& sample, size_t i) {
    const Tensor& t = sample.inputs[i];
    with_input(sample, i, Tensor());
    for (const DType type : {DType::f32, DType::s64, DType::boolean, DType::string})
      if (type != t.dtype()) with_input(sample, i, Tensor::zeros(type, t.shape()));
    std::vector<Shape> shapes(4, t.shape());
    shapes[0].insert(shapes[0].begin(), 1);
    shapes[1].push_back(2);
    if (!t.shape().empty()) shapes[2].erase(shapes[2].begin());
    for (size_t d = 0; d < t.shape().size(); d++)
      for (const int64_t size : {t.shape()[d] + 1, t.shape()[d] - 1, int64_t{0}}) {
        if (size < 0) continue;
        shapes.push_back(t.shape());
        shapes.back()[d] = size;
      }
    for (const Shape& shape : shapes)
      if (shape != t.shape()) with_input(sample, i, Tensor::zeros(t.dtype(), shape));
    if (!sample.constant[i]) return;
    tried(sample, [&](Sample& s) { s.constant[i] = false; }, fmt::format("input {} unknown", i));
    if (t.dtype() != DType::s64) return;
    const auto values = t.values<int64_t>();
    for (size_t k = 0; k < values.size(); k++)
      for (const int64_t v : {values[k] + 1, values[k] - 1, int64_t{0}, int64_t{-100}, kHuge}) {
        Tensor other = Tensor::zeros(t.dtype(), t.shape());
        std::copy(values.begin(), values.end(), other.mutable_values<int64_t>().begin());
        other.mutable_values<int64_t>()[k] = v;
        tried(
            sample, [&](Sample& s) { s.inputs[i] = other; },
            fmt::format("input {} has {} at {}", i, v, k));
      }
  }

  void bend_attribute(const Sample& sample, const std::string& key, const ir::Attribute& value) {
    const auto becomes = [&](ir::Attribute other, const std::string& shown = "") {
      tried(
          sample, [&](Sample& s) { s.attributes[key] = std::move(other); },
          shown.empty() ? "" : key + " " + shown);
    };
    tried(sample, [&](Sample& s) { s.attributes.erase(key); }, "no " + key);
    if (const auto* number = std::get_if<int64_t>(&value))
      for (const int64_t v : {*number + 1, *number - 1, int64_t{0}, int64_t{-100}, kHuge})
        becomes(v, std::to_string(v));
    if (std::get_if<float>(&value))
      for (const float v : {-1.0F, 0.0F, 2.0F, NAN}) becomes(v);
    if (std::get_if<std::string>(&value)) becomes(std::string("?"));
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      for (size_t k = 0; k < list->size(); k++)
        for (const int64_t v : {(*list)[k] + 1, (*list)[k] - 1, int64_t{0}, int64_t{-100}, kHuge}) {
          auto other = *list;
          other[k] = v;
          becomes(other, fmt::format("{} at {}", v, k));
        }
      auto other = *list;
      other.push_back(1);
      becomes(other);
      if (!list->empty()) other.resize(list->size() - 1), becomes(other);
    }
  }

  Refusals& refusals_;
};

TEST(Refusals, MatchTheRecord) {
  Refusals found;
  for (const Sample& s : all_samples()) Alterer(found).alter(s);
  for (const Sample& s : trial_samples()) Alterer(found).alter(s);
  EXPECT_GT(found.size(), 250u);
  // A line is "OPERATOR: MESSAGE; WHAT CHANGED".
  const auto message_of = [](const std::string& line) {
    const std::string message = test::message_after_colon(line);
    return message.substr(0, message.rfind("; "));
  };
  test::expect_digests(found, POPRT_TEST_DATA "/refusals.txt",
                       "Messages of operators for changed samples: refusals_test.cpp.", message_of);
}

}  // namespace
}  // namespace poprt::ops::sampled
