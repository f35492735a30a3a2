#include "ops/common/op_types.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>

#include "base/checked.h"
#include "ir/text.h"
#include "ops/common/compile_time.h"
#include "ops/common/custom.h"
#include "ops/common/evaluate_listing.h"
#include "ops/common/expansion.h"
#include "ops/common/required_inputs.h"
#include "ops/common/strings.h"

namespace poprt::ops {
namespace {

constexpr std::array kTypes = {DType::f32,        DType::f16,      DType::bf16,       DType::f64,
                               DType::s8,         DType::u8,       DType::s16,        DType::u16,
                               DType::s32,        DType::u32,      DType::s64,        DType::u64,
                               DType::boolean,    DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2,
                               DType::f8e5m2fnuz, DType::f8e8m0,   DType::u4,         DType::s4,
                               DType::u2,         DType::s2,       DType::f4e2m1};

constexpr std::array kText = {DType::string};

// The trials of operators that state none, in this order. The first one that an operator passes
// counts, so an optional second input is omitted.
constexpr Trial kCommonTrials[] = {{"T[4,4]"},
                                   {"T[1,4,4,4]"},
                                   {"T[4,4]; T[4,4]"},
                                   {"T[1,4,4,4]; T[1,4,4,4]"},
                                   {"T[1,4,4,4]; T[4]; T[4]"},
                                   {"T[4,4]; T[4]; T[4]"},
                                   {"T[4,4]; s64[1] = [1]"},
                                   {"T[4,4]; s64[4,4]"}};

// The types that the schemas of ONNX and ONNX Runtime allow. Sorted by domain and operator.
struct Allowed {
  std::string_view domain, op, types;
};
constexpr Allowed kAllowed[] = {
#include "ops/common/schema_types.inc"
};

template <class Visit>
void for_each_part(std::string_view text, char separator, Visit&& visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
}

// One element of a constant. It is 1 if the type allows it, because zeros are bad divisors.
std::string_view element(DType type) {
  return type == DType::boolean ? "false" : dtype_bits(type) < 8 ? "0" : "1";
}

// The kernels of an operator may accept more types than its definition, but the results for those
// types are meaningless.
bool is_allowed_type(const OpDef& op, DType type) {
  const auto before = [](const Allowed& a, const Allowed& b) {
    return a.domain != b.domain ? a.domain < b.domain : a.op < b.op;
  };
  const Allowed key{op.domain, op.name, ""};
  const auto row = std::lower_bound(std::begin(kAllowed), std::end(kAllowed), key, before);
  if (row == std::end(kAllowed) || before(key, *row)) return true;
  bool found = false;
  for_each_part(row->types, ' ', [&](std::string_view t) { found |= t == dtype_name(type); });
  return found;
}

// A graph with the node of the trial and constants as inputs.
std::unique_ptr<ir::Graph> graph_of(const OpDef& op, const Trial& trial, DType type) {
  const auto typed = [&](std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
      if (text[i] == '@')
        out += element(type);
      else if (text.substr(i).starts_with("T["))
        out += dtype_name(type);
      else
        out += text[i];
    }
    return out;
  };
  std::string constants, inputs, outputs;
  for_each_part(typed(trial.inputs), ';', [&](std::string_view in) {
    if (!inputs.empty()) inputs += ", ";
    if (in == "_") return void(inputs += in);
    const std::string name = fmt::format("%x{}", inputs.size());
    inputs += name;
    constants += fmt::format("const {} : {}", name, in);
    if (in.find('=') == in.npos)
      constants += fmt::format(" = fill {}",
                               element(dtype_from_name(in.substr(0, in.find('['))).value_or(type)));
    constants += '\n';
  });
  for (size_t i = 0; i < trial.outputs; i++) outputs += fmt::format("{}%y{}", i ? ", " : "", i);
  const int64_t version = std::min<int64_t>(op.until, std::max(op.since, 26));
  return ir::parse_text(fmt::format(
      "graph \"trial\" opset {{\"{}\": {}{}}} {{\n{}{} = {}{}{}({}) {{{}}}\n}}\n", op.domain,
      version, op.domain.empty() ? "" : ", \"\": 26", constants, outputs, op.domain,
      op.domain.empty() ? "" : ".", op.name, inputs, typed(trial.attributes)));
}

// Tries input 0 as a run-time value, then all inputs as constants.
bool accepts(const OpDef& op, const Trial& trial, DType type, std::vector<std::string>* kernels) {
  for (const bool constant : {false, true}) {
    try {
      kernels->clear();
      const auto graph = graph_of(op, trial, type);
      ir::Node& node = *graph->nodes().front();
      std::vector<Tensor> tensors;
      for (const ir::Value* v : node.inputs()) tensors.push_back(v ? v->constant() : Tensor());
      check_required_inputs(node);
      if (op.lower == lower_text) return !evaluate_strings(node, tensors).empty();
      for (ir::Value* v : node.outputs()) graph->add_output(v);
      if (!constant && node.input(0)) node.set_input(0, graph->add_input("", node.input(0)->type));
      InferContext ctx(node);
      op.infer(ctx);
      for (const ir::Value* v : node.outputs())
        if (!v->type.is_static()) fail(ErrorCode::failed_precondition, "the type is not static");
      evaluate_listing(node, tensors, kernels);
      return true;
    } catch (const std::exception&) {
    }
  }
  return false;
}

// Set by NoExplanations. Without this flag, every error in a trial would start the trials of all
// operators in an expansion.
thread_local bool no_explanations = false;

// Whether the hot loops of the kernel are compiled for each instruction set (core/kernels/isa), or
// the kernel only moves memory.
bool is_fast_kernel(std::string_view name) {
  static constexpr std::array kFast = {"attention",
                                       "batch_normalization",
                                       "block",
                                       "byte_map",
                                       "cast",
                                       "conv",
                                       "conv_bytes",
                                       "conv_depthwise",
                                       "conv_dilated",
                                       "conv_generic",
                                       "conv_grouped",
                                       "conv_integer",
                                       "conv_normalized",
                                       "conv_plain",
                                       "conv_vnni",
                                       "conv_stem",
                                       "conv_transpose",
                                       "conv_winograd",
                                       "copy",
                                       "deform_conv",
                                       "dequantize",
                                       "dynamic_quantize",
                                       "elementwise",
                                       "elementwise_generic",
                                       "fill",
                                       "gather",
                                       "global_average_blocked",
                                       "interleave_bytes",
                                       "label_table",
                                       "layer_norm",
                                       "matmul",
                                       "matmul_dynamic",
                                       "matmul_integer",
                                       "matmul_integer_packed",
                                       "max_pool_bytes",
                                       "pack_conv",
                                       "pool_blocked",
                                       "pool_generic",
                                       "quantize",
                                       "recurrent",
                                       "reduce",
                                       "requantize",
                                       "softmax",
                                       "strided_copy",
                                       "sum_bytes",
                                       "unblock"};
  return std::find(kFast.begin(), kFast.end(), name) != kFast.end();
}

OpSupport find_support(const OpDef& op) {
  OpSupport s;
  if (op.lower == lower_container) {
    s.implementation = Implementation::compiler;
    return s;
  }
  // Not tried, because the library that decodes may not be installed.
  if (op.lower == lower_image) {
    s.implementation = Implementation::compiler;
    s.types = {DType::u8};
    return s;
  }
  // Region markers are the only internal operators that are neither pure nor stateful.
  if (op.domain == "poprt" && !op.pure && !op.stateful) {
    s.implementation = Implementation::control;
    return s;
  }
  const NoExplanations quiet;
  const auto list = trials_of(op);
  const auto try_type = [&](DType type) {
    for (const Trial& t : list) {
      std::vector<std::string> kernels;
      if (!accepts(op, t, type, &kernels)) continue;
      if (s.types.empty())
        s.implementation = std::all_of(kernels.begin(), kernels.end(), is_fast_kernel)
                               ? Implementation::fast
                               : Implementation::reference;
      s.types.push_back(type);
      return;
    }
  };
  const bool text = op.lower == lower_text;
  for (const DType type : text ? std::span<const DType>(kText) : kTypes)
    if (is_allowed_type(op, type)) try_type(type);
  if (s.types.empty()) return s;
  if (text) s.implementation = Implementation::compiler;
  // Passes replace the operator by a faster internal one.
  if (op.domain.empty() && find_op("poprt", op.name, 1)) s.implementation = Implementation::fast;
  if (op.sharing.view) s.implementation = Implementation::view;
  if (expands(op)) s.implementation = Implementation::decomposition;
  return s;
}

}  // namespace

std::vector<Trial> trials_of(const OpDef& op) {
  const Trial& stated = op.facts.trial;
  if (!stated.stated()) return {std::begin(kCommonTrials), std::end(kCommonTrials)};
  if (stated.attributes.empty()) return {stated};
  std::vector<Trial> trials;
  for_each_part(stated.attributes, '|', [&](std::string_view attributes) {
    trials.push_back({stated.inputs, attributes, stated.outputs});
  });
  return trials;
}

std::string_view implementation_name(Implementation implementation) {
  switch (implementation) {
    case Implementation::fast: return "fast kernel";
    case Implementation::reference: return "reference kernel";
    case Implementation::decomposition: return "decomposition";
    case Implementation::view: return "view";
    case Implementation::compiler: return "compiler";
    case Implementation::control: return "control";
    case Implementation::unknown: return "unknown";
  }
  return "";
}

const OpSupport& support_of(const OpDef& op) {
  static std::mutex mutex;
  static std::unordered_map<const OpDef*, OpSupport> known;
  {
    const std::lock_guard lock(mutex);
    if (const auto it = known.find(&op); it != known.end()) return it->second;
  }
  OpSupport support = find_support(op);
  const std::lock_guard lock(mutex);
  return known.try_emplace(&op, std::move(support)).first->second;
}

std::string type_list(std::span<const DType> types) {
  if (types.empty()) return "inner";
  std::string text;
  for (const DType t : types) {
    if (!text.empty()) text += ' ';
    text += dtype_name(t);
  }
  return text;
}

std::string opset_range(const OpDef& op) {
  return op.until >= 1 << 30 ? fmt::format("opset {} on", op.since)
                             : fmt::format("opsets {} to {}", op.since, op.until);
}

NoExplanations::NoExplanations() : outer_(no_explanations) { no_explanations = true; }
NoExplanations::~NoExplanations() { no_explanations = outer_; }

void rethrow_explained(const Error& error, const ir::Node& node) {
  const bool missing = error.code() == ErrorCode::unimplemented ||
                       error.message().find("does not take") != std::string::npos;
  if (no_explanations || (!missing && error.code() != ErrorCode::invalid_argument)) throw error;
  constexpr std::string_view kAsk = "open an issue with this line";
  if (error.message().find(kAsk) != std::string::npos) throw error;
  const OpDef* op = find_op(node.domain, node.op_type, node.opset());
  if (!op) throw error;
  const OpSupport& s = support_of(*op);
  std::string text = error.message();
  const std::string description = node.describe();
  if (text.find(description) == std::string::npos) text = description + ": " + text;
  if (custom_op_of(node))
    throw Error(error.code(), std::move(text));  // the operator is not poprt's
  const std::string supported =
      fmt::format("supported from {}{}{}", opset_range(*op), s.types.empty() ? "" : " for ",
                  s.types.empty() ? "" : type_list(s.types));
  // If no support is missing, the node contradicts its definition in every opset, unless poprt
  // checks it wrongly.
  text += missing ? fmt::format("; {} (here opset {}) is {}; to request more, {}", node.op_type,
                                node.opset(), supported, kAsk)
                  : fmt::format("; {} (here opset {}, {}): if ONNX allows this, {}", node.op_type,
                                node.opset(), supported, kAsk);
  throw Error(error.code(), std::move(text));
}

}  // namespace poprt::ops
