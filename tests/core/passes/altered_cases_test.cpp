// The cases of the passes with one fact changed: a pass must check this fact before it rewrites.
#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/passes/alter.h"
#include "core/passes/case_file.h"
#include "ir/schemas.h"
#include "passes/common/rewrite.h"
#include "support/altered_text.h"
#include "support/recorded_lines.h"

namespace poprt::test {
namespace {

// Infers the types again. Returns whether that succeeds.
bool infer_again(ir::Graph& graph) {
  for (ir::Node* n : graph.nodes())
    for (ir::Value* v : n->outputs()) v->type = {};
  try {
    ops::infer(graph);
    return true;
  } catch (const Error&) {
    return false;
  }
}

class Alterer {
 public:
  explicit Alterer(const ir::Graph& graph) : graph_(graph), scratch_(graph.clone()) {}

  std::vector<Altered> all(Alterations alterations) {
    const bool thorough = alterations == Alterations::thorough;
    bend_constants();
    bend_inputs();
    if (thorough) bend_ranks();
    if (thorough) bend_sizes();
    const auto nodes = graph_.nodes();
    for (size_t i = 0; i < nodes.size(); i++) {
      bend_outputs(*nodes[i]);
      bend_operands(*nodes[i], i);
      for (const auto& [key, value] : nodes[i]->attributes)
        bend_attribute(*nodes[i], i, key, value);
      if (thorough) bend_absent_attributes(*nodes[i], i);
    }
    bend_types();
    return std::move(altered_);
  }

 private:
  // `change` receives the copy and its notes. It returns false if it changes nothing.
  template <class F>
  void add(std::string what, F&& change) {
    Altered b{std::move(what), graph_.clone(), {}, {}};
    try {
      if (change(b) && infer_again(*b.graph)) altered_.push_back(std::move(b));
    } catch (const Error&) {  // a type of which there are no tensors from doubles
    }
  }

  // Node `at` of the copy.
  template <class F>
  void at_node(std::string what, size_t at, F&& change) {
    add(std::move(what), [&](Altered& b) { return change(*b.graph->nodes()[at]); });
  }

  void bend_constants() {
    for (const ir::Value* v : graph_.values()) {
      if (!v->is_constant() || v->constant().dtype() == DType::string) continue;
      const std::string name = v->name();
      const auto values = v->constant().to_doubles();
      // Passes may assume that inputs are finite.
      const bool finite = std::ranges::all_of(values, [](double x) { return std::isfinite(x); });
      add(fmt::format("constant '{}' as an input", name), [&](Altered& b) {
        ir::Value* constant = b.graph->find(name);
        ir::Value* input =
            b.graph->add_input(name, ir::ValueType::of(v->dtype(), v->constant().shape()));
        b.feeds[input->name()] = v->constant();
        b.graph->replace_all_uses(constant, input);
        return finite;
      });
      const auto other = [&](const char* how, auto&& change) {
        add(fmt::format("{} of constant '{}'", how, name), [&](Altered& b) {
          if (values.empty()) return false;
          auto changed = values;
          change(changed);
          const DType t = v->constant().dtype();
          if (t == DType::boolean)
            for (double& x : changed) x = x != 0 ? 1 : 0;
          b.graph->find(name)->set_constant(passes::tensor_of(t, v->constant().shape(), changed));
          return true;
        });
      };
      const bool logical = v->constant().dtype() == DType::boolean;
      other("other values", [logical](auto& list) {
        for (double& x : list) x = logical && x == 1 ? 0 : x + 1;
      });
      other("half the values", [](auto& list) {
        for (double& x : list) x /= 2;
      });
      other("the first value", [](auto& list) { list.front() = list.front() == 3 ? 2 : 3; });
      other("the last value", [](auto& list) { list.back() = list.back() == 1 ? 2 : 1; });
    }
  }

  void bend_inputs() {
    for (const ir::Value* v : graph_.inputs()) {
      const std::string name = v->name();
      if (!v->type.is_static()) continue;
      for (size_t d = 0; d < v->shape().size(); d++) {
        for (const int64_t size : {v->shape()[d] + 1, int64_t{1}, int64_t{0}})
          add(fmt::format("dimension {} of '{}' is {}", d, name, size), [&](Altered& b) {
            b.graph->find(name)->type.shape[d] = size;
            return size > v->shape()[d] || (size < v->shape()[d] && !has_indices());
          });
        add(fmt::format("dimension {} of '{}' is unknown", d, name), [&](Altered& b) {
          ir::ValueType& type = b.graph->find(name)->type;
          b.types[name] = type;
          type.shape[d] = kUnknownDim;
          return v->shape()[d] != 0;  // passes may assume that an unknown dimension is not 0
        });
      }
      add(fmt::format("'{}' has a dimension more", name), [&](Altered& b) {
        Shape& shape = b.graph->find(name)->type.shape;
        shape.insert(shape.begin(), 2);
        return true;
      });
    }
    for (const bool unknown : {false, true})
      add(unknown ? "no dimension is known" : "all inputs have a dimension more", [&](Altered& b) {
        for (ir::Value* v : b.graph->inputs()) {
          if (unknown) b.types[v->name()] = v->type;
          if (unknown) std::fill(v->type.shape.begin(), v->type.shape.end(), kUnknownDim);
          if (!unknown) v->type.shape.insert(v->type.shape.begin(), 2);
          if (!v->type.symbols.empty()) v->type.symbols.clear();
        }
        return std::all_of(
            graph_.inputs().begin(), graph_.inputs().end(), [unknown](const ir::Value* v) {
              return v->type.is_static() && (!unknown || element_count(v->shape()) > 0);
            });
      });
  }

  // Inputs whose rank is unknown: each one, and all of them.
  void bend_ranks() {
    const auto forget = [&](const std::string& what, const auto& is_meant) {
      add(what, [&](Altered& b) {
        bool all_static = true;
        for (ir::Value* v : b.graph->inputs()) {
          if (v->is_constant() || !is_meant(v->name())) continue;
          all_static &= v->type.is_static();
          b.types[v->name()] = v->type;
          v->type = {v->dtype(), false, {}, {}};
        }
        return all_static && !b.types.empty();
      });
    };
    for (const ir::Value* input : graph_.inputs())
      forget(fmt::format("'{}' has no known rank", input->name()),
             [&](const std::string& name) { return name == input->name(); });
    if (graph_.inputs().size() > 1)
      forget("no rank is known", [](const std::string&) { return true; });
  }

  // All dimensions of one size get another size, also in constant shapes.
  void bend_sizes() {
    std::set<int64_t> sizes;
    for (const ir::Value* v : graph_.values())
      if (!v->producer())
        for (const int64_t d : v->shape())
          if (d > 1) sizes.insert(d);
    for (const int64_t size : sizes)
      for (const int64_t other : {size + 1, int64_t{0}})
        add(fmt::format("{} for every dimension of {}", other, size), [&](Altered& b) {
          for (ir::Value* v : b.graph->values())
            if (!v->producer()) resize(*v, size, other);
          return other > size || !has_indices();
        });
  }

  static void resize(ir::Value& v, int64_t size, int64_t other) {
    Shape shape = v.shape();
    // A list of whole numbers is a shape, or axes, of which there are as many as before.
    const bool lists = v.is_constant() && v.dtype() == DType::s64 && shape.size() == 1;
    if (!lists) std::ranges::replace(shape, size, other);
    if (!v.is_constant()) {
      v.type.shape = shape;
      return;
    }
    if (v.dtype() == DType::string) return;
    std::vector<double> values = v.constant().to_doubles();
    if (v.dtype() == DType::s64)
      std::ranges::replace(values, static_cast<double>(size), static_cast<double>(other));
    std::vector<double> changed(static_cast<size_t>(element_count(shape)));
    for (size_t i = 0; i < changed.size() && !values.empty(); i++)
      changed[i] = values[i % values.size()];
    v.set_constant(passes::tensor_of(v.dtype(), shape, changed));
  }

  // Random indices would be outside of the smaller dimension.
  bool has_indices() const {
    const auto nodes = graph_.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [](const ir::Node* n) {
      return n->op_type.starts_with("Gather") || n->op_type.starts_with("Scatter");
    });
  }

  void bend_outputs(const ir::Node& node) {
    for (const ir::Value* v : node.outputs())
      add(fmt::format("'{}' is an output too", v->name()), [&](Altered& b) {
        b.graph->add_output(b.graph->find(v->name()));
        return !graph_.is_output(v) && !v->uses().empty();
      });
  }

  void bend_operands(const ir::Node& node, size_t at) {
    const std::string who = node.describe();
    for (size_t i = 0; i < node.inputs().size(); i++) {
      const ir::Value* v = node.input(i);
      if (!v || v->is_constant() || !v->type.is_static()) continue;
      at_node(fmt::format("input {} of {} is another value", i, who), at, [&](ir::Node& n) {
        n.set_input(i, n.graph().add_input("other", v->type));
        return true;
      });
    }
    const std::vector<ir::Value*> inputs(node.inputs().begin(), node.inputs().end());
    if (inputs.size() < 2) return;
    at_node(fmt::format("{} with its first inputs swapped", who), at, [&](ir::Node& n) {
      ir::Value *a = n.input(0), *b = n.input(1);
      n.set_input(0, b);
      n.set_input(1, a);
      return a && b && a != b;
    });
    at_node(fmt::format("{} without its last input", who), at, [&](ir::Node& n) {
      std::vector<ir::Value*> fewer(n.inputs().begin(), n.inputs().end() - 1);
      n.set_inputs(fewer);
      return true;
    });
  }

  void bend_attribute(const ir::Node& node, size_t at, const std::string& key,
                      const ir::Attribute& value) {
    const auto becomes = [&](ir::Attribute other, const std::string& shown) {
      at_node(fmt::format("{} of {} is {}", key, node.describe(), shown), at, [&](ir::Node& n) {
        n.attributes.find(key)->second = std::move(other);
        return true;
      });
    };
    at_node(fmt::format("{} without {}", node.describe(), key), at, [&](ir::Node& n) {
      n.attributes.erase(n.attributes.find(key));
      return true;
    });
    if (const auto* number = std::get_if<int64_t>(&value))
      for (const int64_t other : {*number + 1, *number - 1, int64_t{0}})
        becomes(other, std::to_string(other));
    if (const auto* number = std::get_if<float>(&value)) becomes(*number * 1.5F + 0.1F, "greater");
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      for (size_t i = 0; i < list->size(); i++) {
        auto other = *list;
        other[i] += 1;
        becomes(other, fmt::format("greater at {}", i));
        other[i] -= 2;
        becomes(other, fmt::format("less at {}", i));
      }
      auto turned = *list;
      std::reverse(turned.begin(), turned.end());
      if (turned != *list) becomes(turned, "turned round");
    }
  }

  // Adds attributes that the operator may have and the node does not have, so that passes that read
  // only the default fail.
  void bend_absent_attributes(const ir::Node& node, size_t at) {
    static const std::pair<const char*, ir::Attribute> kAttributes[] = {
        {"axis", int64_t{0}},
        {"axis", int64_t{1}},
        {"keepdims", int64_t{0}},
        {"noop_with_empty_axes", int64_t{1}},
        {"transA", int64_t{1}},
        {"transB", int64_t{1}},
        {"alpha", 0.5F},
        {"beta", 0.5F},
        {"exclusive", int64_t{1}},
        {"reverse", int64_t{1}},
        {"group", int64_t{2}},
        {"training_mode", int64_t{1}},
        {"spatial", int64_t{0}},
        {"is_test", int64_t{1}},
        {"epsilon", 0.25F},
        {"ceil_mode", int64_t{1}},
        {"count_include_pad", int64_t{1}},
        {"mode", std::string("edge")},
        {"auto_pad", std::string("SAME_UPPER")},
        {"auto_pad", std::string("VALID")},
        {"pads", std::vector<int64_t>{0, 1, 1, 0}},
        {"strides", std::vector<int64_t>{2, 1}},
        {"dilations", std::vector<int64_t>{1, 2}},
        {"batch_dims", int64_t{1}},
        {"allowzero", int64_t{1}},
        {"largest", int64_t{0}},
        {"select_last_index", int64_t{1}},
        {"start", int64_t{1}},
        {"end", int64_t{1}},
        {"block_size", int64_t{2}},
    };
    ir::Node& copy = *scratch_->nodes()[at];
    if (ir::definition_of(node.domain, node.op_type, node.opset()) == 0) return;
    for (const auto& [key, value] : kAttributes) {
      // If a mask drops everything along another axis, the weights are undefined.
      if (node.is("Softmax") || node.find_attr(key) || !may_have(copy, key, value)) continue;
      at_node(fmt::format("{} of {} is there", key, node.describe()), at, [&](ir::Node& n) {
        n.attributes[key] = value;
        return true;
      });
    }
  }

  static bool may_have(ir::Node& node, const char* key, const ir::Attribute& value) {
    bool known = true;
    node.attributes[key] = value;
    try {
      ir::check_attributes(node, [&](const std::string&) { known = false; });
    } catch (const Error&) {
      known = false;
    }
    node.attributes.erase(key);
    return known;
  }

  // All floats of another type.
  void bend_types() {
    for (const DType type : {DType::f64, DType::f16})
      add(fmt::format("in {}", dtype_name(type)), [&](Altered& b) {
        for (ir::Value* v : b.graph->values()) {
          if (v->producer() || v->dtype() != DType::f32) continue;
          if (v->is_constant())
            v->set_constant(
                passes::tensor_of(type, v->constant().shape(), v->constant().to_doubles()));
          v->type.dtype = type;
        }
        return true;
      });
  }

  const ir::Graph& graph_;
  std::unique_ptr<ir::Graph> scratch_;  // a copy in which attributes are tried
  std::vector<Altered> altered_;
};

using Feeds = std::map<std::string, Tensor>;

// Fills `new_feeds` with the numbers of `feeds` in the types of the inputs of `after`, and rounds
// `feeds` so that both have the same numbers. Returns false if an input has another size.
bool share_feeds(const ir::Graph& after, Feeds& feeds, Feeds& new_feeds) {
  for (const ir::Value* v : after.inputs()) {
    const auto fed = feeds.find(v->name());
    if (fed == feeds.end() || !v->type.is_static() || v->shape() != fed->second.shape())
      return false;
    Tensor& t = fed->second;
    const DType type = t.dtype();
    new_feeds[v->name()] =
        v->dtype() == type ? t : passes::tensor_of(v->dtype(), t.shape(), t.to_doubles());
    t = v->dtype() == type ? t
                           : passes::tensor_of(type, t.shape(), new_feeds[v->name()].to_doubles());
  }
  return true;
}

// Returns nothing if the graph cannot be computed.
std::optional<Feeds> computed(const ir::Graph& graph, const Feeds& feeds) {
  for (const ir::Value* v : graph.values())
    if (!v->type.is_static() && (v->producer() || !v->uses().empty())) return std::nullopt;
  try {
    return evaluate_graph(graph, feeds);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void restore_types(ir::Graph& graph, const Altered& altered) {
  for (const auto& [name, type] : altered.types)
    if (ir::Value* v = graph.find(name); v && graph.is_input(v)) {
      const DType now = v->dtype();  // the pass may have changed it
      v->type = type;
      v->type.dtype = now;
    }
  if (!altered.types.empty()) infer_again(graph);
}

void expect_same(const Altered& altered, const std::vector<passes::PassCall>& calls,
                 double tolerance, bool may_refuse) {
  const auto before = altered.graph->clone(), after = altered.graph->clone();
  restore_types(*before, altered);
  Feeds feeds, new_feeds;
  try {
    feeds = random_feeds(*before);
  } catch (const Error&) {
    return;
  }
  for (const auto& [name, tensor] : altered.feeds) feeds[name] = tensor;
  if (!computed(*before, feeds)) return;
  passes::PassManagerOptions options;
  options.print = [](std::string_view) {};
  try {
    passes::run_passes(*after, calls, options);
  } catch (const Error& e) {
    if (!may_refuse) ADD_FAILURE() << altered.what << ": " << e.what();
    return;
  }
  restore_types(*after, altered);
  if (!share_feeds(*after, feeds, new_feeds)) return;
  const auto expected = computed(*before, feeds), found = computed(*after, new_feeds);
  if (!expected) return;
  if (!found) {
    ADD_FAILURE() << altered.what << ": the result cannot be computed\n"
                  << ir::to_text(*altered.graph) << ir::to_text(*after);
    return;
  }
  const std::string graphs = ir::to_text(*altered.graph) + ir::to_text(*after);
  for (const auto& [name, tensor] : *found)
    if (expected->contains(name))
      expect_close(expected->at(name), tensor, tolerance,
                   fmt::format("{}, output '{}'\n{}", altered.what, name, graphs));
}

}  // namespace

std::vector<Altered> alterations_of(const ir::Graph& graph, Alterations alterations) {
  return Alterer(graph).all(alterations);
}

void expect_same_when_altered(const ir::Graph& graph, const std::vector<passes::PassCall>& calls,
                              double tolerance, Alterations alterations) {
  // A pass with arguments, or one that inspects the graph, may refuse it.
  const bool may_refuse = std::any_of(calls.begin(), calls.end(), [](const passes::PassCall& c) {
    return !c.arguments.empty() || c.pass->kind == passes::PassKind::inspect;
  });
  const bool rounds = std::any_of(calls.begin(), calls.end(), [](const passes::PassCall& c) {
    return c.pass->numerics == passes::Numerics::precision;
  });
  if (rounds) tolerance = std::max(tolerance, 2e-2);
  for (const Altered& b : alterations_of(graph, alterations))
    expect_same(b, calls, b.what == "in f16" ? std::max(tolerance, 1e-2) : tolerance, may_refuse);
}

namespace {

namespace fs = std::filesystem;
const fs::path kCaseFolder = fs::path(POPRT_TEST_DATA) / "passes";

class AlteredCases : public testing::TestWithParam<std::string> {};

TEST_P(AlteredCases, ComputeTheSame) {
  for (const FileCase& c : read_cases((kCaseFolder / (GetParam() + ".txt")).string())) {
    if (c.kind == FileCase::Kind::fails || !c.measured) continue;
    SCOPED_TRACE(fmt::format("{}.txt:{}", GetParam(), c.line));
    const std::vector<passes::PassCall> calls{{&passes::pass_of(GetParam()), c.arguments}};
    ASSERT_NO_THROW(expect_same_when_altered(*parsed(c.before, c.opset), calls, c.tolerance,
                                             Alterations::thorough));
  }
}

// Found by changed graphs: the value that replaces an unused one may be removed with the node that
// made it.
TEST(Rewrite, MatchesAndRemovesAnUnreadResult) {
  expect_ops({"layer_norm_pattern", "eliminate_deadend"}, R"(
    input %x : f32[2,4]
    const %two : f32[] = 2.0
    const %eps : f32[] = 0.001
    const %s : f32[4] = [1.0, 2.0, 3.0, 4.0]
    const %b : f32[4] = [1.0, -2.0, 3.0, -4.0]
    %m = ReduceMean(%x) {axes = [-1]}
    %d = Sub(%x, %m)
    %sq = Pow(%d, %two)
    %var = ReduceMean(%sq) {axes = [-1]}
    %ve = Add(%var, %eps)
    %sd = Sqrt(%ve)
    %n = Div(%d, %sd)
    %ns = Mul(%n, %s)
    %unread = Add(%ns, %b)
    %y = Neg(%x)
    output %y
  )",
             "Neg");
}

// A 0 in the shape of a Reshape keeps the input's dimension at that place unless allowzero is set.
TEST(Rewrite, ReshapesToEmptyShapesSetAllowzero) {
  const auto graph = expect_ops({"merge_multi_slice"}, R"(
    input %x : f32[4,0]
    const %zero : s64[1] = [0]
    const %one : s64[1] = [1]
    const %end : s64[1] = [9223372036854775807]
    const %step : s64[1] = [2]
    %a = Slice(%x, %zero, %end, %zero, %step)
    %b = Slice(%x, %one, %end, %zero, %step)
    %y = Sub(%a, %b)
    output %y
  )",
                                "Reshape Split Reshape Reshape Sub");
  EXPECT_EQ(graph->outputs()[0]->shape(), (Shape{2, 0}));
}

// Names, types, edges and attributes of a graph, and constants but for those of floats, which
// processors compute differently.
std::string text_without_floats(const ir::Graph& graph) {
  std::istringstream in(ir::to_text(graph));
  std::string text;
  for (std::string line; std::getline(in, line);) {
    const size_t type = line.find(" : "), values = line.find(" = ");
    const bool floats = line.find("const %") < type && values < line.size() &&
                        (line.compare(type, 4, " : f") == 0 || line.compare(type, 5, " : bf") == 0);
    text += (floats ? line.substr(0, values) : line) + "\n";
  }
  return text;
}

// Counts the results of passes on many graphs. The digest covers names, types, edges, attributes
// and messages, which the counts omit.
class OutcomeCounts {
 public:
  void run(ir::Graph& graph, const std::vector<passes::PassCall>& calls) {
    graphs_++;
    passes::PassManagerOptions options;
    options.print = [](std::string_view) {};
    const std::string before = text_without_floats(graph);
    try {
      passes::run_passes(graph, calls, options);
    } catch (const Error& e) {
      refused_++;
      digest_.add(message_pattern(e.message()));
      return;
    }
    const std::string after = text_without_floats(graph);
    rewritten_ += after != before;
    nodes_ += graph.nodes().size();
    digest_.add(after);
  }
  std::string text() const {
    return fmt::format("{} graphs: {} refused, {} rewritten, {} nodes left, {}", graphs_, refused_,
                       rewritten_, nodes_, digest_.text());
  }

 private:
  size_t graphs_ = 0, refused_ = 0, rewritten_ = 0, nodes_ = 0;
  Digest digest_;
};

// A pass that rewrites fewer or more graphs than before is noticed although all results are equal,
// because ComputeTheSame compares results only.
TEST(AlteredCases, FireOnTheRecordedNumberOfGraphs) {
  test::RecordedLines found;
  for (const std::string& name : case_names()) {
    OutcomeCounts altered, texts;
    for (const FileCase& c : read_cases((kCaseFolder / (name + ".txt")).string())) {
      if (c.kind == FileCase::Kind::fails) continue;
      const std::vector<passes::PassCall> calls{{&passes::pass_of(name), c.arguments}};
      for (const Altered& b : alterations_of(*parsed(c.before, c.opset)))
        altered.run(*b.graph, calls);
      // One number of the text is another one, or one line is missing: thresholds, axes and shapes.
      for (const auto& [what, text] : altered_texts(c.before)) {
        std::unique_ptr<ir::Graph> graph;
        try {
          graph = parsed(text, c.opset);
        } catch (const Error&) {
          continue;  // the text is no graph any more
        }
        texts.run(*graph, calls);
      }
    }
    found[name] = {"altered: " + altered.text(), "other text: " + texts.text()};
  }
  expect_recorded(found, POPRT_TEST_DATA "/pass_results.txt",
                  "What passes make of their cases, altered: altered_cases_test.cpp.");
}

INSTANTIATE_TEST_SUITE_P(All, AlteredCases, testing::ValuesIn(case_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace poprt::test
