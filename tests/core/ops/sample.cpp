// Every process of test_ops makes all samples, because CTest runs each test in a separate process:
// this file is optimised where the tests are not, and makes them once.
#include "core/ops/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "base/error.h"
#include "core/ops/trial_sample.h"
#include "ir/text.h"
#include "ops/op.h"
#include "support/uniform.h"

namespace poprt::ops::sampled {
namespace {

std::map<std::pair<std::string, int>, SampleMaker>& sample_makers() {
  static std::map<std::pair<std::string, int>, SampleMaker> makers;
  return makers;
}

// A use of an operator that has no sample, from the trial that its facts state.
std::optional<Sample> sample_of_trial(const OpDef& op) {
  if (op.facts.trial.inputs.empty()) return std::nullopt;
  std::string text(op.facts.trial.inputs);
  std::string attributes(op.facts.trial.attributes.substr(0, op.facts.trial.attributes.find('|')));
  for (std::string* s : {&text, &attributes}) {
    for (size_t at; (at = s->find("T[")) != s->npos;) s->replace(at, 1, "f32");
    std::replace(s->begin(), s->end(), '@', '1');
  }
  std::string lines, names, outputs;
  std::vector<bool> constant;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    std::string in = text.substr(begin, end - begin);
    begin = end + 1;
    in.erase(0, in.find_first_not_of(' '));
    names += constant.empty() ? "" : ", ";
    constant.push_back(in.find('=') != in.npos);
    if (in == "_") {
      names += "_";
      continue;
    }
    const std::string name = fmt::format("%x{}", constant.size());
    names += name;
    lines += fmt::format("const {} : {}{}\n", name, in,
                         constant.back()                ? ""
                         : in.find("string") != in.npos ? " = fill \"\""
                         : in.find("bool") != in.npos   ? " = fill false"
                                                        : " = fill 1");
  }
  for (size_t i = 0; i < op.facts.trial.outputs; i++)
    outputs += fmt::format("{}%y{}", i ? ", " : "", i);
  const int64_t opset = std::min<int64_t>(op.until, std::max(op.since, 26));
  try {
    const auto graph = ir::parse_text(fmt::format(
        "graph \"trial\" opset {{\"{}\": {}}} {{\n{}{} = {}{}{}({}) {{{}}}\n}}\n", op.domain, opset,
        lines, outputs, op.domain, op.domain.empty() ? "" : ".", op.name, names, attributes));
    const ir::Node& n = *graph->nodes().front();
    Sample s;
    s.op = op.name;
    s.domain = op.domain;
    s.opset = opset;
    for (size_t i = 0; i < n.inputs().size(); i++) {
      s.inputs.push_back(n.input(i) ? n.input(i)->constant() : Tensor());
      s.constant.push_back(constant[i]);
    }
    s.attributes = n.attributes;
    s.shapes.resize(n.outputs().size());
    return s;
  } catch (const Error&) {  // the operator takes text
    return std::nullopt;
  }
}

}  // namespace

SampleRegistration::SampleRegistration(const char* file, int line, SampleMaker maker) {
  sample_makers().emplace(std::pair(file, line), maker);
}

const std::deque<Sample>& all_samples() {
  static const SampleList list = [] {
    SampleList l;
    for (const auto& [place, make] : sample_makers()) make(l);
    return l;
  }();
  return list.all();
}

const std::vector<Sample>& trial_samples() {
  static const std::vector<Sample> trials = [] {
    std::set<std::pair<std::string_view, std::string_view>> sampled;
    for (const Sample& s : all_samples()) sampled.emplace(s.domain, s.op);
    std::vector<Sample> list;
    for (const OpDef* op : all_ops())
      if (!sampled.contains({op->domain, op->name}))
        if (auto sample = sample_of_trial(*op)) list.push_back(std::move(*sample));
    return list;
  }();
  return trials;
}

Tensor random_f32(Shape shape, float low, float high, uint32_t seed) {
  Tensor t = Tensor::zeros(DType::f32, std::move(shape));
  std::mt19937 engine(seed);
  const test::Uniform uniform{low, high};
  for (float& v : t.mutable_values<float>()) v = uniform(engine);
  return t;
}

SampleGraph make_graph(const Sample& s) {
  SampleGraph g;
  g.graph = std::make_unique<ir::Graph>("sample");
  g.graph->opsets[s.domain] = s.opset;
  std::vector<ir::Value*> values;
  for (size_t i = 0; i < s.inputs.size(); i++) {
    const Tensor& t = s.inputs[i];
    const std::string name = "in" + std::to_string(i);
    values.push_back(!t.defined() ? nullptr
                     : s.constant[i]
                         ? g.graph->add_constant(name, t)
                         : g.graph->add_input(name, ir::ValueType::of(t.dtype(), t.shape())));
  }
  g.node = g.graph->add_node(s.op, s.domain, values, s.shapes.empty() ? 1 : s.shapes.size());
  g.node->attributes = s.attributes;
  for (ir::Value* v : g.node->outputs()) g.graph->add_output(v);
  return g;
}

}  // namespace poprt::ops::sampled
