#include "exec/support/cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/tensor.h"
#include "common/json.h"
#include "exec/support/tensors.h"

namespace poprt::cli {
namespace {

// Returns the opaque blob that describes the variants of the executable
// (runtime/session/variants.h), or an empty text if there is none.
std::string variants_of(const poprt_executable* executable) {
  constexpr std::string_view kName = "poprt.branches";
  // Whether the executable has the input that selects a variant. This is checked first, because
  // poprt_executable_popef_model() makes a copy of an executable that was compiled in memory.
  bool selects = false;
  for (size_t i = 0; i < poprt_executable_input_count(executable); i++) {
    const std::string_view name = poprt_anchor_name(poprt_executable_input(executable, i));
    selects |= name == "index" || name == "poprt.bucket";
  }
  if (!selects) return "";
  poprt_popef_model* made = nullptr;
  check(poprt_executable_popef_model(executable, &made));
  const std::unique_ptr<poprt_popef_model, Free<poprt_popef_model_free>> model(made);
  for (size_t i = 0; i < poprt_popef_model_count(made, POPRT_POPEF_OPAQUE); i++) {
    const poprt_popef_blob* blob = poprt_popef_model_blob(made, POPRT_POPEF_OPAQUE, i);
    poprt_popef_blob_info info{};
    info.struct_size = sizeof info;
    check(poprt_popef_blob_get_info(blob, &info));
    if (info.name != kName) continue;
    std::string text(info.bytes, '\0');
    check(poprt_popef_blob_read(blob, 0, text.data(), text.size()));
    return text;
  }
  return "";
}

Case case_of(std::string name, const std::vector<const poprt_anchor*>& inputs,
             const std::vector<const poprt_anchor*>& outputs, std::string_view prefix = "") {
  Case c{std::move(name), {}, {}, inputs.size()};
  const auto add = [&](const auto& anchors, std::vector<Case::Tensor>& to) {
    for (size_t i = 0; i < anchors.size(); i++)
      if (anchors[i] && std::string_view(poprt_anchor_name(anchors[i])).starts_with(prefix))
        to.push_back({i, anchors[i], shape_of(anchors[i])});
  };
  add(inputs, c.inputs);
  add(outputs, c.outputs);
  return c;
}

// Gives the inputs and outputs of a case the shapes of its bucket.
void set_shapes(Case& c, const nlohmann::json& bucket) {
  const auto set = [](std::vector<Case::Tensor>& tensors, const nlohmann::json& shapes) {
    for (Case::Tensor& t : tensors)
      if (const auto found = shapes.find(poprt_anchor_name(t.anchor)); found != shapes.end())
        t.shape = found->get<std::vector<int64_t>>();
  };
  set(c.inputs, bucket.at("inputs"));
  set(c.outputs, bucket.at("outputs"));
}

// Names each case by its shapes of those inputs whose shapes differ between the cases.
void name_by_shapes(std::vector<Case>& cases) {
  for (size_t i = 0; i < cases[0].inputs.size(); i++) {
    const auto same = [&](const Case& c) { return c.inputs[i].shape == cases[0].inputs[i].shape; };
    if (std::ranges::all_of(cases, same)) continue;
    for (Case& c : cases)
      c.name +=
          fmt::format("{}{} [{}]", c.name.empty() ? "" : ", ",
                      poprt_anchor_name(c.inputs[i].anchor), fmt::join(c.inputs[i].shape, ","));
  }
}

}  // namespace

size_t Case::Tensor::bytes() const {
  return dtype_bytes(static_cast<DType>(poprt_anchor_dtype(anchor)), element_count(shape));
}

std::string graph_of(const std::string& name) {
  const size_t end = name.find('/');
  const bool graph = end != name.npos && end > 5 && name.starts_with("graph") &&
                     std::all_of(name.begin() + 5, name.begin() + static_cast<std::ptrdiff_t>(end),
                                 [](char c) { return c >= '0' && c <= '9'; });
  return graph ? name.substr(0, end + 1) : "";
}

Cases cases_of(const poprt_executable* executable, const poprt_runner* runner) {
  auto inputs = inputs_of(runner);
  for (size_t i = 0; i < inputs.size(); i++)
    if (poprt_runner_input_has_data(runner, i)) inputs[i] = nullptr;
  const auto outputs = outputs_of(runner);
  const std::string text = variants_of(executable);
  if (text.empty()) return {Cases::one, {case_of("", inputs, outputs)}};
  const nlohmann::json variants = parse_json(text);
  Cases cases;
  if (variants.at("kind") == "graphs") {
    cases.kind = Cases::graphs;
    for (size_t k = 0; k < variants.at("graphs").size(); k++) {
      const std::string graph = fmt::format("graph{}", k);
      cases.list.push_back(case_of(graph, inputs, outputs, graph + "/"));
    }
    return cases;
  }
  cases.kind = Cases::shapes;
  for (const auto& bucket : variants.at("buckets"))
    set_shapes(cases.list.emplace_back(case_of("", inputs, outputs)), bucket);
  name_by_shapes(cases.list);
  return cases;
}

}  // namespace poprt::cli
