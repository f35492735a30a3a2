#include "passes/common/custom.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_set>

#include "ir/verifier.h"
#include "passes/common/graph_host.h"
#include "passes/common/rewrite.h"
#include "plugins/registry.h"

namespace poprt::passes {
namespace {

using ir::Graph;
using ir::Node;

struct CustomPass : PassDef {
  const poprt_pass* pass = nullptr;
};

void run_nothing(Graph&, PassContext&) {
  fail(ErrorCode::internal, "a pass of a plug-in was not run by run_pass()");
}

Parameter parameter_of(const poprt_pass_parameter& p) {
  constexpr ParameterKind kKinds[] = {ParameterKind::text, ParameterKind::flag,
                                      ParameterKind::integer, ParameterKind::names,
                                      ParameterKind::words};
  static_assert(std::size(kKinds) == POPRT_PARAMETER_WORDS + 1);
  return {p.name, kKinds[p.kind], p.summary, p.standard, p.required != 0};
}

// Returns the PassDef of a plug-in's pass and creates it at the first call.
const CustomPass& def_of(const poprt_pass& pass) {
  static auto* const mutex = new std::mutex;
  static auto* const defs = new std::map<const poprt_pass*, std::unique_ptr<const CustomPass>>;
  const std::lock_guard lock(*mutex);
  auto& def = (*defs)[&pass];
  if (!def) {
    auto made = std::make_unique<CustomPass>();
    made->name = pass.name;
    made->summary = pass.summary;
    made->condition = *pass.condition ? pass.condition : "none";
    made->numerics = Numerics::precision;  // the effect of a plug-in's pass is unknown
    made->run = run_nothing;
    made->pass = &pass;
    for (const poprt_pass_parameter* p : std::span(pass.parameters, pass.parameter_count))
      made->parameters.push_back(parameter_of(*p));
    def = std::move(made);
  }
  return *def;
}

// Verifies the graph and infers all types after a plug-in changed it.
void infer_and_verify(Graph& graph, std::string_view what) {
  try {
    ir::verify(graph);
    PassContext context;
    pass_of("shape_inference").run(graph, context);
  } catch (Error& e) {
    e.add_context(what);
    throw;
  }
}

// PopART's own patterns. They are accepted and have no effect, because the compiler has its own
// passes.
constexpr std::string_view kPopartPatterns[] = {
    "InPlace",
    "PostNRepl",
    "PreUniRepl",
    "OpToIdentity",
    "SplitGather",
    "TiedGather",
    "TiedGatherAccumulate",
    "SplitOp",
    "SumToAdd",
    "PadSum",
    "PadConvChannel",
    "Slice2SliceSubsample",
    "UpsampleToResize",
    "ConvTranspose",
    "DecomposeBinaryConstScalar",
    "ExpandCast",
    "LSTMOp",
    "CoshOp",
    "MatMulOp",
    "MatMulLhsGradOp",
    "MatMulRhsGradOp",
    "NegativeOneScale",
    "PackedDataBlock",
    "ScanToLoop",
    "LoopScanOut",
    "TransposeToIdentityOrReshapePattern",
    "RandomNormalLikeOpPattern",
    "RandomUniformLikeOpPattern",
    "ZerosLikeOpPattern",
    "AllReduceToIdentity",
    "SoftmaxGradDirect",
    "NlllWithSoftmaxGradDirect",
    "ConvDataGrad",
    "ConvFlipWeights",
    "InitAccumulate",
    "UpdateInplacePrioritiesForIpu",
    "SubtractArg1GradOp",
    "MulArgGradOp",
    "ReciprocalGradOp",
    "SinGradOp",
    "CosGradOp",
    "TanToSinOverCos",
    "DivArg0GradOp",
    "DivArg1GradOp",
    "PowArg0GradOp",
    "PowArg1GradOp",
    "SqrtGradOp",
    "ExpGradOp",
    "LogGradOp",
    "GemmDecomposition",
    "ElementWiseGradOp",
    "ContiguateIpuCopyIndices",
};

template <class Rows>
std::string names_of(Rows plugins::Library::* rows) {
  std::string names;
  for (const plugins::Library* library : plugins::libraries())
    for (const auto& row : library->*rows)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names.empty() ? "none" : names;
}

template <class Row>
const Row* find(std::vector<Row> plugins::Library::* rows, std::string_view name) {
  for (const plugins::Library* library : plugins::libraries())
    for (const Row& row : library->*rows)
      if (row.name == name) return &row;
  return nullptr;
}

bool is_on(const poprt_pattern& pattern, const PatternSettings& settings) {
  const auto given = settings.find(std::string_view(pattern.name));
  return given != settings.end() ? given->second : pattern.enabled || pattern.mandatory;
}

// Applies the pattern to each node that exists at the start. Nodes that the pattern adds are not
// tried. Returns the number of applications.
int64_t apply_once(Graph& graph, const poprt_pattern& pattern) {
  const std::string title = fmt::format("pattern {}", pattern.name);
  int64_t applied = 0;
  for_each_graph(graph, [&](Graph& g) {
    const std::vector<Node*> nodes = g.nodes();
    std::unordered_set<Node*> there(nodes.begin(), nodes.end());
    for (Node* n : nodes) {
      if (!there.contains(n)) continue;
      const bool matches = call_with_graph(
          title, [&] { return pattern.matches(&graph_host(), handle(*n), pattern.user_data); },
          false);
      if (!matches) continue;
      call_with_graph(title,
                      [&] { return pattern.apply(&graph_host(), handle(*n), pattern.user_data); });
      applied++;
      const std::vector<Node*> left = g.nodes();
      there = {left.begin(), left.end()};
    }
  });
  return applied;
}

}  // namespace

std::vector<const PassDef*> custom_passes() {
  std::vector<const PassDef*> list;
  for (const plugins::Library* library : plugins::libraries())
    for (const poprt_pass& pass : library->passes) list.push_back(&def_of(pass));
  return list;
}

const PassDef* find_custom_pass(std::string_view name) {
  const poprt_pass* pass = find(&plugins::Library::passes, name);
  return pass ? &def_of(*pass) : nullptr;
}

void check_defaults(const poprt_pass& pass) {
  for (const poprt_pass_parameter* p : std::span(pass.parameters, pass.parameter_count))
    if (*p->standard)
      checked_argument(parameter_of(*p),
                       fmt::format("pass '{}': the default of parameter '{}'", pass.name, p->name),
                       p->standard);
}

void run_pass(const PassDef& pass, Graph& graph, PassContext& context) {
  if (find_custom_pass(pass.name) != &pass) return pass.run(graph, context);
  if (!context.allow()) return;
  const poprt_pass& custom = *static_cast<const CustomPass&>(pass).pass;
  call_with_graph(
      "run", [&] { return custom.run(&graph_host(), handle(graph), custom.user_data); }, true,
      &context.arguments);
  infer_and_verify(graph, "the graph that it left");
}

PatternSettings parse_patterns(std::string_view text) {
  std::string plain;  // without the brackets and quotes of a list
  for (const char c : text)
    if (std::string_view("[]()'\" ").find(c) == std::string_view::npos) plain += c;
  PatternSettings settings;
  for (std::string_view rest = plain; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t colon = std::min(word.find(':'), word.size());
    const std::string_view value = word.substr(std::min(colon + 1, word.size()));
    if (colon == 0)
      fail(ErrorCode::invalid_argument,
           "custom_patterns: expected NAME or NAME:0, separated by commas, found '{}'", text);
    const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
      return std::ranges::count(words, value) > 0;
    };
    const bool on = colon == word.size() || is_one_of({"1", "True", "true", "yes", "on"});
    if (!on && !is_one_of({"0", "False", "false", "no", "off"}))
      fail(ErrorCode::invalid_argument, "custom_patterns: expected {0}:1 or {0}:0, found '{1}'",
           word.substr(0, colon), word);
    settings[std::string(word.substr(0, colon))] = on;
  }
  return settings;
}

void check_patterns(const PatternSettings& settings) {
  for (const auto& [name, on] : settings) {
    const poprt_pattern* pattern = find(&plugins::Library::patterns, name);
    if (!pattern && std::ranges::count(kPopartPatterns, name) == 0)
      fail(ErrorCode::not_found,
           "custom_patterns: there is no pattern '{}'; the loaded plug-ins have: {}", name,
           names_of(&plugins::Library::patterns));
    if (pattern && pattern->mandatory && !on)
      fail(ErrorCode::invalid_argument,
           "custom_patterns: pattern '{}' is mandatory and cannot be turned off", name);
  }
}

void check_transforms(const TransformSettings& settings) {
  for (const auto& [checkpoint, names] : settings) {
    if (std::ranges::count(kCheckpoints, checkpoint) == 0)
      fail(ErrorCode::invalid_argument,
           "custom_transform_applier_settings: expected a checkpoint (Fwd0, Fwd1, Bwd0, PreAlias, "
           "MainLoops or Final), found '{}'",
           checkpoint);
    for (const std::string& name : names)
      if (!find(&plugins::Library::transforms, name))
        fail(ErrorCode::not_found,
             "custom_transform_applier_settings: there is no transform '{}'; the loaded plug-ins "
             "have: {}",
             name, names_of(&plugins::Library::transforms));
  }
}

int64_t run_patterns(Graph& graph, const PatternSettings& settings) {
  int64_t total = 0;
  for (const plugins::Library* library : plugins::libraries())
    for (const poprt_pattern& pattern : library->patterns) {
      if (!is_on(pattern, settings)) continue;
      const auto most = static_cast<int64_t>(10 * graph.node_count() + 100);
      int64_t applied = 0;
      while (const int64_t now = apply_once(graph, pattern)) {
        applied += now;
        if (applied > most)
          fail(ErrorCode::failed_precondition,
               "pattern {}: was applied {} times and still matches: it must not match its own "
               "result",
               pattern.name, applied);
      }
      if (applied > 0)
        infer_and_verify(graph, fmt::format("the graph that pattern {} left", pattern.name));
      total += applied;
    }
  return total;
}

void run_transforms(Graph& graph, const TransformSettings& settings, std::string_view checkpoint) {
  const auto found = settings.find(checkpoint);
  if (found == settings.end()) return;
  for (const std::string& name : found->second) {
    const poprt_transform* transform = find(&plugins::Library::transforms, name);
    if (!transform) continue;  // check_transforms() has reported it
    const std::string title = fmt::format("transform {} at {}", name, checkpoint);
    call_with_graph(title, [&] {
      return transform->apply(&graph_host(), handle(graph), std::string(checkpoint).c_str(),
                              transform->user_data);
    });
    infer_and_verify(graph, fmt::format("the graph that {} left", title));
  }
}

}  // namespace poprt::passes
