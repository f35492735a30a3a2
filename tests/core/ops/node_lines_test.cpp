// Nodes that tests/data/nodes/*.txt list. For each node the test computes types, kernels, sums of
// the results and the number of operations, or the message of the refusal, and compares them with
// the file NAME_results.txt (core/ops/recorded_result.h). So it notices an inverted condition, a
// size that is off by one, or a lost check.
//
//   POPRT_WRITE_RECORDS=1 test_ops --gtest_filter='NodeLines.*'   # writes the files; read the diff
//
// A block of a list is an operator with its domain and opsets, and its inputs and attributes:
//
//   Resize 13 19                                   operator (with its domain), opsets
//     in f32[1,2,5,7]                              run-time input: random values of a fixed seed
//     in _                                         left out
//     in f32[4] = [1, 1, 2, 2]                     a constant
//     in f32[4,4] = random                         a constant with random values
//     in s64[2] ~ [1, 0]                           these values, but not known before it runs
//     let $C = "half_pixel" / "asymmetric"         each of them, at each place of $C
//     coordinate_transformation_mode = $C
//     mode = "nearest" / "linear"                  each of them with each other choice
//     antialias = 0 | 1 | -                        the first one; each other one by itself; - is no
//     k = 1 / 2 | 3                                attribute; both
//     outputs = 2
//
// Values and types are written as the text form of graphs (ir/text.h).
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "base/error.h"
#include "base/onnx_dtype.h"
#include "core/ops/recorded_result.h"
#include "core/ops/sample.h"
#include "ir/text.h"
#include "ops/common/compile_time.h"
#include "ops/common/conv_kernel.h"
#include "ops/common/conv_transpose.h"
#include "ops/common/elementwise_program.h"
#include "ops/common/evaluate_listing.h"
#include "ops/common/expansion.h"
#include "ops/common/flops.h"
#include "ops/common/quantized_conv.h"
#include "ops/common/strings.h"
#include "ops/op.h"

namespace poprt::ops::sampled {
namespace {

constexpr size_t kLongest = 300;            // of a message
constexpr int64_t kMostElements = 1 << 16;  // of an input or a result

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == text.npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

// Parts of `text` between `separator`.
std::vector<std::string> parts_of(const std::string& text, std::string_view separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(trimmed(std::string_view(text).substr(begin, end - begin)));
    if (end == text.npos) return parts;
    begin = end + separator.size();
  }
}

struct NodeLine {
  std::string op;       // with its domain
  std::string choices;  // the choices, after the number of the block
  std::unique_ptr<ir::Graph> graph;
  ir::Node* node = nullptr;
  std::vector<Tensor> inputs;  // undefined where one was left out or has no full type
  std::string varied;          // the alternative that is tried alone, with the block; or empty
};

// One line of a block.
struct Choice {
  std::string key;  // "in 2", an attribute, "$NAME", "outputs" or "opset"
  std::vector<std::string> alternatives;
  size_t with_all = 1;  // number of first alternatives that are tried with each choice of others
  size_t chosen = 0;
};

struct Block {
  std::string op;
  int number = 0;  // among those of the operator
  std::vector<Choice> choices;
};

Choice choice_of(std::string key, const std::string& text) {
  const size_t end = text.find(" | ");
  Choice c{std::move(key), parts_of(text.substr(0, end), " / ")};
  c.with_all = c.alternatives.size();
  if (end == text.npos) return c;
  for (std::string& one : parts_of(text.substr(end + 3), " | "))
    c.alternatives.push_back(std::move(one));
  return c;
}

std::vector<Block> blocks_of(const std::string& path) {
  std::vector<Block> blocks;
  std::map<std::string, int> numbers;
  std::ifstream file(path);
  int inputs = 0;
  for (std::string line; std::getline(file, line);) {
    if (trimmed(line).empty() || line[0] == '#') continue;
    if (line[0] != ' ') {
      const auto words = parts_of(line, " ");
      Block& b = blocks.emplace_back(Block{words[0], numbers[words[0]]++, {}});
      b.choices.push_back({"opset", {words.begin() + 1, words.end()}, words.size() - 1});
      inputs = 0;
      continue;
    }
    line = trimmed(line);
    Block& b = blocks.back();
    if (line.starts_with("in ")) {
      b.choices.push_back(choice_of(fmt::format("in {}", inputs++), line.substr(3)));
      continue;
    }
    const bool let = line.starts_with("let ");
    const size_t equals = line.find(" = ");
    if (equals == line.npos) throw std::runtime_error(path + ": " + line);
    b.choices.push_back(choice_of(trimmed(line.substr(let ? 4 : 0, equals - (let ? 4 : 0))),
                                  trimmed(line.substr(equals + 3))));
  }
  return blocks;
}

// The inputs and attributes of a block with the current choices.
class Chosen {
 public:
  explicit Chosen(const Block& block) {
    name = fmt::format("{}", block.number);
    for (const Choice& c : block.choices) {
      const std::string& text = c.alternatives[c.chosen];
      if (c.key[0] == '$') names_.emplace_back(c.key, text);
      if (c.with_all == 1 && c.chosen == 0) continue;
      const bool is_long = text.size() > 24 || text.find(": ") != text.npos;
      name += fmt::format(", {} {}", c.key == "opset" ? "of" : c.key,
                          is_long ? fmt::format("#{}", c.chosen) : text);
      if (c.chosen >= c.with_all) varied = fmt::format("{} #{}", c.key, c.chosen);
    }
    for (const Choice& c : block.choices) {
      const std::string text = named(c.alternatives[c.chosen]);
      if (c.key == "opset")
        opset = text;
      else if (c.key == "outputs")
        outputs = std::stoi(text);
      else if (c.key.starts_with("in "))
        inputs.push_back(text);
      else if (c.key[0] != '$' && text != "-")
        attributes.push_back(c.key + " = " + text);
    }
    while (!inputs.empty() && inputs.back() == "_") inputs.pop_back();
  }

  std::string name, opset;
  std::string varied;  // the alternative that is tried alone
  std::vector<std::string> inputs, attributes;
  int outputs = 1;

 private:
  std::string named(std::string text) const {
    for (const auto& [key, value] : names_)
      for (size_t at; (at = text.find(key)) != text.npos;) text.replace(at, key.size(), value);
    return text;
  }
  std::vector<std::pair<std::string, std::string>> names_;
};

Tensor cast(const Tensor& values, DType dtype) {
  Sample s;
  s.op = "Cast";
  s.opset = 25;
  s.input(values);
  s.attributes["to"] = int64_t{*onnx_from_dtype(dtype)};
  const SampleGraph g = make_graph(s);
  infer(*g.node);
  return evaluate_listing(*g.node, s.inputs, nullptr).at(0);
}

Tensor random_values(DType dtype, const Shape& shape, uint32_t seed) {
  if (dtype == DType::f32) return random_f32(shape, -2, 2, seed);
  if (dtype == DType::c64) {
    Tensor t = Tensor::zeros(dtype, shape);
    const Tensor parts = random_f32({2 * t.count()}, -2, 2, seed);
    std::memcpy(t.mutable_data(), parts.data(), t.bytes());
    return t;
  }
  Tensor t = Tensor::zeros(DType::f64, shape);
  std::mt19937 engine(seed);
  for (double& v : t.mutable_values<double>()) {
    const auto x = static_cast<double>(engine()) * 0x1p-32;
    switch (dtype) {
      case DType::boolean: v = x < 0.5 ? 0 : 1; break;
      case DType::u8: v = std::floor(x * 256); break;
      case DType::s8: v = std::floor(x * 256) - 128; break;
      case DType::u4:
      case DType::u2: v = std::floor(x * (dtype == DType::u4 ? 16 : 4)); break;
      case DType::s4:
      case DType::s2:
        v = std::floor(x * (dtype == DType::s4 ? 16 : 4)) - (dtype == DType::s4 ? 8 : 2);
        break;
      case DType::u16:
      case DType::u32:
      case DType::u64: v = std::floor(x * 10); break;
      case DType::s16:
      case DType::s32:
      case DType::s64: v = std::floor(x * 9) - 3; break;
      default: v = x * 4 - 2;
    }
  }
  return dtype == DType::f64 ? t : cast(t, dtype);
}

NodeLine node_of(const Block& block, const Chosen& chosen) {
  NodeLine line{.op = block.op, .choices = chosen.name, .graph = nullptr, .inputs = {}};
  if (!chosen.varied.empty()) line.varied = fmt::format("{} {}", block.number, chosen.varied);
  const size_t dot = block.op.rfind('.');
  const std::string domain = dot == block.op.npos ? "" : block.op.substr(0, dot);
  std::string text =
      fmt::format("graph \"n\" opset {{\"\": {}{}}} {{\n", domain.empty() ? chosen.opset : "21",
                  domain.empty() ? "" : fmt::format(", \"{}\": {}", domain, chosen.opset));
  std::vector<std::string> names;
  std::vector<bool> hidden, random;
  for (size_t i = 0; i < chosen.inputs.size(); i++) {
    std::string in = chosen.inputs[i];
    names.push_back(in == "_" ? "_" : fmt::format("%x{}", i));
    const size_t tilde = in.find(" ~ ");
    hidden.push_back(tilde != in.npos);
    if (hidden.back()) in[tilde + 1] = '=';
    const size_t given = in.find(" = random");
    random.push_back(given != in.npos);
    if (random.back()) in.resize(given);
    if (in == "_") continue;
    text +=
        fmt::format("{} {} : {}\n", in.find(" = ") != in.npos ? "const" : "input", names[i], in);
  }
  std::string outputs;
  for (int i = 0; i < chosen.outputs; i++) outputs += fmt::format("{}%y{}", i ? ", " : "", i);
  text += fmt::format("{} = {}({}) {{{}}}\n", outputs, block.op, fmt::join(names, ", "),
                      fmt::join(chosen.attributes, ", "));
  for (int i = 0; i < chosen.outputs; i++) text += fmt::format("output %y{}\n", i);
  try {
    line.graph = ir::parse_text(text + "}\n");
  } catch (const Error& e) {
    throw std::runtime_error(text + e.message());
  }
  line.node = line.graph->nodes().front();
  for (size_t i = 0; i < chosen.inputs.size(); i++) {
    const ir::Value* v = line.node->input(i);
    line.inputs.emplace_back();
    if (!v) continue;
    if (v->is_constant())
      line.inputs[i] = v->constant();
    else if (v->type.is_static() && v->dtype() != DType::undefined && v->dtype() != DType::string &&
             element_count(v->shape()) <= kMostElements)
      line.inputs[i] = random_values(v->dtype(), v->shape(), static_cast<uint32_t>(i + 1));
    if (random[i])
      line.node->set_input(i, line.graph->add_constant(fmt::format("r{}", i), line.inputs[i]));
    if (hidden[i]) line.node->set_input(i, line.graph->add_input(fmt::format("r{}", i), v->type));
  }
  return line;
}

// Calls `visit` with every node of the file.
void for_each_node_line(const std::string& path, const std::function<void(NodeLine&)>& visit) {
  const auto one = [&](const Block& b) {
    try {
      NodeLine line = node_of(b, Chosen(b));
      visit(line);
    } catch (const std::runtime_error& e) {
      ADD_FAILURE() << e.what();
    }
  };
  // The next of those that are tried with each other.
  const auto advance = [](Block& b) {
    for (Choice& c : b.choices) {
      if (++c.chosen < c.with_all) return true;
      c.chosen = 0;
    }
    return false;
  };
  for (Block& b : blocks_of(path)) do {
      one(b);
      for (Choice& c : b.choices) {
        if (c.chosen != 0) continue;
        for (c.chosen = c.with_all; c.chosen < c.alternatives.size(); c.chosen++) one(b);
        c.chosen = 0;
      }
    } while (advance(b));
}

// The message without the node and the list of supported types, which has another test.
std::string shortened(std::string message) {
  if (const size_t at = message.find(" (here opset"); at != std::string::npos)
    message.resize(message.rfind("; ", at));
  const std::string node = " node that makes 'y0'";
  if (const size_t at = message.find(node); at != std::string::npos)
    message.erase(0, at + node.size());
  if (message.starts_with(": ")) message.erase(0, 2);
  if (message.size() > kLongest) message.resize(kLongest);
  for (char& c : message)
    if (c == '\n' || c == '|') c = ' ';
  return message;
}

std::string refusal(const Error& e) {
  return fmt::format("{}: {}", error_code_name(e.code()), shortened(e.message()));
}

// Names of kernels in the order in which they run, repetitions counted.
std::string kernels_text(const std::vector<std::string>& kernels) {
  std::string text;
  for (size_t i = 0, n = 1; i < kernels.size(); i += n, n = 1) {
    while (i + n < kernels.size() && kernels[i + n] == kernels[i]) n++;
    text += fmt::format("{}{}{}", text.empty() ? " by " : " ", kernels[i],
                        n > 1 ? fmt::format("*{}", n) : "");
  }
  return text;
}

// Returns the answers of the predicates by which passes choose a form of a node with known types.
std::string uses_of(const ir::Node& node) {
  std::string text;
  if (is_fusable_elementwise(node)) text += " fuses";
  if (node.is("Conv", "") && poprt_conv_supported(node)) text += " in blocks";
  if (node.is("ConvTranspose", "") && poprt_conv_transpose_supported(node)) text += " in blocks";
  for (const bool last : {false, true})
    if (node.is("QLinearConv", last ? "poprt" : "") && channels_last_conv_fits(node, last))
      text += last ? " stays in bytes" : " in bytes";
  const Facts& facts = facts_of(node);
  if (facts.epilogue)
    if (const auto e = facts.epilogue(node))
      text += fmt::format(" epilogue {} {:.4g} {:.4g}", static_cast<int>(e->activation), e->alpha,
                          e->beta);
  return text;
}

// `declared`: the types of its results where inference leaves them open.
Result result_of(const NodeLine& line, const std::vector<ir::ValueType>& declared) {
  Result r;
  const ir::Node& node = *line.node;
  try {
    infer(*line.node);
  } catch (const Error& e) {
    r.types = refusal(e);
    return r;
  }
  const auto add_texts = [&r](const std::vector<Tensor>& results) {
    for (const Tensor& t : results)
      if (t.dtype() == DType::string)
        r.types += fmt::format(" {} {}", shape_string(t.shape()), t.string_values());
      else
        r.sums.push_back(sums_of(t));
  };
  bool whole = true;
  for (const ir::Value* v : node.outputs()) {
    r.types += (r.types.empty() ? "" : " ") + ir::type_string(v->type);
    whole &= v->type.is_static() && v->dtype() != DType::undefined;
  }
  const bool encodes = node.is("LabelEncoder", "ai.onnx.ml") && node.input(0) &&
                       node.input(0)->dtype() == DType::string;
  if (encodes || is_about_strings(node, line.inputs) || op_of(node).lower == lower_text) try {
      add_texts(evaluate_strings(node, line.inputs));
      return r;
    } catch (const Error& e) {
      r.types += "; " + refusal(e);
      return r;
    }
  if (!whole && !declared.empty()) {
    // The message of lowering for unknown types.
    for (size_t i = 0; i < node.outputs().size() && i < declared.size(); i++)
      line.node->output(i)->type = declared[i];
    whole = true;
  }
  for (size_t i = 0; i < node.inputs().size(); i++)
    whole &= !node.input(i) || (node.input(i)->type.is_static() && line.inputs[i].defined());
  if (!whole) return r;
  for (const ir::Value* v : node.outputs())
    if (element_count(v->shape()) > kMostElements) return r;
  if (facts_of(node).flops) r.types += fmt::format(" flops {}", flops_of(node));
  try {
    r.types += uses_of(node);
    std::vector<std::string> kernels;
    const auto results = evaluate_listing(node, line.inputs, &kernels);
    r.types += expands(op_of(node)) ? fmt::format(" by {}", kernels.size()) : kernels_text(kernels);
    add_texts(results);
  } catch (const Error& e) {
    r.types += "; " + refusal(e);
  }
  return r;
}

std::string without_digits(const Result& r) {
  std::string text = r.types;
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

void expect_as_recorded(const std::string& name) {
  const std::string path = POPRT_TEST_DATA "/nodes/" + name + ".txt",
                    results = POPRT_TEST_DATA "/nodes/" + name + "_results.txt";
  Results found;
  Result base;
  std::vector<ir::ValueType> types;
  std::set<std::string> error_text;
  for_each_node_line(path, [&](NodeLine& line) {
    if (line.varied.empty()) types.clear();
    const Result r = result_of(line, types);
    // An alternative that leaves the results equal is not recorded, and each message is recorded
    // once for all choices.
    if (line.varied.empty()) {
      base = r;
      for (const ir::Value* v : line.node->outputs()) types.push_back(v->type);
      if (!std::ranges::all_of(types, &ir::ValueType::is_static)) types.clear();
    } else if (near(r, base) ||
               (r.sums.empty() &&
                !error_text.insert(line.op + line.varied + without_digits(r)).second)) {
      return;
    }
    EXPECT_TRUE(found[line.op].emplace(line.choices, r).second)
        << line.op << " " << line.choices << " occurs twice";
  });
  expect_results(found, results, "Results of the nodes of this folder: node_lines_test.cpp.");
}

TEST(NodeLines, OfResize) { expect_as_recorded("resize"); }
TEST(NodeLines, OfMovement) { expect_as_recorded("movement"); }
TEST(NodeLines, OfProductsAndWindows) { expect_as_recorded("math"); }
TEST(NodeLines, OfElementwiseOperators) { expect_as_recorded("elementwise"); }
TEST(NodeLines, OfRecurrentLayers) { expect_as_recorded("recurrent"); }
TEST(NodeLines, OfContribAttention) { expect_as_recorded("attention"); }
TEST(NodeLines, OfContribOperators) { expect_as_recorded("contrib"); }
TEST(NodeLines, OfExportedOperators) { expect_as_recorded("exported"); }
TEST(NodeLines, OfGraphcore) { expect_as_recorded("graphcore"); }
TEST(NodeLines, OfClassicalModels) { expect_as_recorded("ml"); }
TEST(NodeLines, OfTextAndEarlyOperators) { expect_as_recorded("text"); }
TEST(NodeLines, OfInternalOperators) { expect_as_recorded("poprt"); }

}  // namespace
}  // namespace poprt::ops::sampled
