// Uses of operators that have no sample: what passes and the compiler try them with.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "base/error.h"
#include "core/ops/sample.h"
#include "ir/text.h"
#include "ops/op.h"

namespace poprt::ops::testing {

// A use of an operator that has no sample, from the trial that its facts state.
inline std::optional<Sample> sample_of_trial(const OpDef& op) {
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
  } catch (const Error&) {  // it takes text
    return std::nullopt;
  }
}

// One for each operator without a sample that has a trial which is no text.
inline std::vector<Sample> trial_samples() {
  SampleList list;
  for (const SampleMaker make : sample_makers()) make(list);
  std::set<std::string> sampled;
  for (const Sample& s : list.all()) sampled.insert(s.domain + "." + s.op);
  std::vector<Sample> trials;
  for (const OpDef* op : all_ops())
    if (!sampled.contains(std::string(op->domain) + "." + std::string(op->name)))
      if (auto sample = sample_of_trial(*op)) trials.push_back(std::move(*sample));
  return trials;
}

}  // namespace poprt::ops::testing
