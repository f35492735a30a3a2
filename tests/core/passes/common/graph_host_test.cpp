// The functions with which plug-ins read and change a graph. tests/plugins/trial.cpp is a library
// that calls them through the whole product.
#include "passes/common/graph_host.h"

#include <array>
#include <cstring>
#include <stdexcept>

#include "core/passes/pass_case.h"

namespace poprt::test {
namespace {

constexpr const char* kBody = R"(
  input %x : f32[2,3]
  input %on : bool[]
  const %hi : f32[] = 100.0
  const %w : f32[3,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  const %words : string[2] = ["a", "b"]
  %a = MatMul(%x, %w) "product"
  %b = Clip(%a, _, %hi) "clip"
  %c = Add(%b, %b) "sum"
  %d = If(%on) {else_branch = graph "e" { %n = Neg(%c) "inner" output %n }, then_branch = graph "t" { %i = Identity(%c) output %i }} "if"
  output %c
  output %d
)";

class GraphHost : public testing::Test {
 protected:
  GraphHost() {
    graph_ = parsed(kBody);
    for (ir::Node* n : graph_->nodes()) nodes_.push_back(n);
  }

  poprt_graph* graph() { return passes::handle(*graph_); }
  poprt_node* node(size_t i) { return passes::handle(*nodes_[i]); }
  poprt_value* value(const char* name) { return host_.find_value(graph(), name); }
  ir::Value* at(poprt_value* v) { return reinterpret_cast<ir::Value*>(v); }
  std::string name_of(poprt_value* v) { return v ? host_.value_name(v) : "null"; }

  // Calls a function of a plug-in, which returns a code. Returns "" or "code: message".
  template <class F>
  std::string outcome(F&& body, bool is_code = true) {
    try {
      passes::call_with_graph("it", body, is_code);
      return "";
    } catch (const Error& e) {
      return fmt::format("{}: {}", error_code_name(e.code()), e.message());
    }
  }

  const poprt_graph_host& host_ = passes::graph_host();
  std::unique_ptr<ir::Graph> graph_;
  std::vector<ir::Node*> nodes_;
};

// Fills a list of `capacity` and returns the names and the total number.
template <class Handle, class Get, class Name>
std::string listed(size_t capacity, Get&& get, Name&& name) {
  std::vector<Handle*> list(capacity + 1, nullptr);
  const size_t all = get(list.data(), capacity);
  std::string text;
  for (Handle* h : list) text += h ? std::string(name(h)) + " " : "";
  return text + std::to_string(all);
}

TEST_F(GraphHost, ListsAreFilledUpToTheirCapacity) {
  const auto values = [&](auto get, size_t capacity) {
    return listed<poprt_value>(
        capacity, [&](poprt_value** out, size_t n) { return get(graph(), out, n); },
        [&](poprt_value* v) { return name_of(v); });
  };
  const auto nodes = [&](size_t capacity) {
    return listed<poprt_node>(
        capacity, [&](poprt_node** out, size_t n) { return host_.graph_nodes(graph(), out, n); },
        host_.node_name);
  };
  const auto readers = [&](const char* of, size_t capacity) {
    return listed<poprt_node>(
        capacity,
        [&](poprt_node** out, size_t n) { return host_.value_readers(value(of), out, n); },
        host_.node_name);
  };
  EXPECT_STREQ(host_.graph_name(graph()), "g");
  EXPECT_EQ(nodes(9), "product clip sum if 4");
  EXPECT_EQ(nodes(4), "product clip sum if 4");
  EXPECT_EQ(nodes(2), "product clip 4");
  EXPECT_EQ(nodes(0), "4");
  EXPECT_EQ(values(host_.graph_inputs, 5), "x on 2");
  EXPECT_EQ(values(host_.graph_inputs, 1), "x 2");
  EXPECT_EQ(values(host_.graph_outputs, 2), "c d 2");
  EXPECT_EQ(readers("b", 5), "sum sum 2");  // node sum reads b twice
  EXPECT_EQ(readers("b", 1), "sum 2");
  EXPECT_EQ(readers("x", 1), "product 1");
  EXPECT_EQ(readers("c", 0), "2");  // both readers are in branches
  EXPECT_EQ(readers("d", 3), "0");  // an output is no reader
  EXPECT_EQ(value("nobody"), nullptr);
  EXPECT_EQ(value(nullptr), nullptr);
}

TEST_F(GraphHost, ReportsThePropertiesOfNodes) {
  EXPECT_STREQ(host_.node_type(node(1)), "Clip");
  EXPECT_STREQ(host_.node_domain(node(1)), "");
  EXPECT_STREQ(host_.node_name(node(1)), "clip");
  EXPECT_EQ(host_.node_opset(node(1)), 17);
  EXPECT_EQ(host_.node_graph(node(1)), graph());
  ASSERT_EQ(host_.node_input_count(node(1)), 3u);
  EXPECT_EQ(name_of(host_.node_input(node(1), 0)), "a");
  EXPECT_EQ(host_.node_input(node(1), 1), nullptr);
  EXPECT_EQ(name_of(host_.node_input(node(1), 2)), "hi");
  EXPECT_EQ(host_.node_input(node(1), 3), nullptr);
  EXPECT_EQ(host_.node_output_count(node(1)), 1u);
  EXPECT_EQ(name_of(host_.node_output(node(1), 0)), "b");
  EXPECT_EQ(host_.node_output(node(1), 1), nullptr);
  EXPECT_EQ(host_.value_producer(value("b")), node(1));
  EXPECT_EQ(host_.value_producer(value("x")), nullptr);
  EXPECT_TRUE(host_.value_is_constant(value("w")));
  EXPECT_FALSE(host_.value_is_constant(value("x")));
  EXPECT_TRUE(host_.value_is_output(value("c")));
  EXPECT_FALSE(host_.value_is_output(value("b")));
}

TEST_F(GraphHost, ReportsTheKindsOfAttributes) {
  poprt_node* n = node(0);
  const std::array<int64_t, 2> whole{4, -5};
  const std::array<float, 3> real{0.5F, 1.5F, 2.5F};
  EXPECT_EQ(host_.attribute_count(n), 0u);
  EXPECT_EQ(host_.set_int(n, "i", 7), POPRT_OK);
  EXPECT_EQ(host_.set_float(n, "f", 0.25F), POPRT_OK);
  EXPECT_EQ(host_.set_string(n, "s", "text"), POPRT_OK);
  EXPECT_EQ(host_.set_string(n, "none", nullptr), POPRT_OK);
  EXPECT_EQ(host_.set_ints(n, "is", whole.data(), whole.size()), POPRT_OK);
  EXPECT_EQ(host_.set_floats(n, "fs", real.data(), real.size()), POPRT_OK);
  nodes_[0]->attributes["t"] = Tensor::of<int32_t>({2}, std::array{3, 4});
  std::string names;
  for (size_t i = 0; host_.attribute_name(n, i); i++)
    names += fmt::format("{}:{} ", host_.attribute_name(n, i),
                         host_.attribute_kind(n, host_.attribute_name(n, i)));
  // Attributes are in the order of their names, with the number that POPRT_ATTRIBUTE_* gives each
  // kind.
  EXPECT_EQ(names, "f:2 fs:6 i:1 is:5 none:3 s:3 t:4 ");
  EXPECT_EQ(host_.attribute_count(n), 7u);
  EXPECT_EQ(host_.attribute_kind(n, "nobody"), POPRT_ATTRIBUTE_NONE);
  EXPECT_EQ(host_.attribute_kind(n, nullptr), POPRT_ATTRIBUTE_NONE);

  int64_t i = 0;
  float f = 0;
  const char* text = nullptr;
  size_t size = 0, count = 0;
  const int64_t* is = nullptr;
  const float* fs = nullptr;
  EXPECT_EQ(host_.get_int(n, "i", &i), POPRT_OK);
  EXPECT_EQ(i, 7);
  EXPECT_EQ(host_.get_float(n, "f", &f), POPRT_OK);
  EXPECT_EQ(f, 0.25F);
  EXPECT_EQ(host_.get_string(n, "s", &text, &size), POPRT_OK);
  EXPECT_EQ(std::string(text, size), "text");
  EXPECT_EQ(host_.get_string(n, "none", &text, nullptr), POPRT_OK);  // the size may be left out
  EXPECT_STREQ(text, "");
  EXPECT_EQ(host_.get_ints(n, "is", &is, &count), POPRT_OK);
  EXPECT_EQ(std::vector<int64_t>(is, is + count), (std::vector<int64_t>{4, -5}));
  EXPECT_EQ(host_.get_floats(n, "fs", &fs, &count), POPRT_OK);
  EXPECT_EQ(std::vector<float>(fs, fs + count), (std::vector<float>{0.5F, 1.5F, 2.5F}));
  poprt_op_tensor t{};
  t.struct_size = sizeof t;
  EXPECT_EQ(host_.get_tensor(n, "t", &t), POPRT_OK);
  EXPECT_EQ(t.dtype, POPRT_DTYPE_S32);
  EXPECT_EQ(t.rank, 1);
  EXPECT_EQ(t.shape[0], 2);
  EXPECT_EQ(t.bytes, 8u);
  EXPECT_EQ(static_cast<const int32_t*>(t.data)[1], 4);
  poprt_graph* branch = nullptr;
  EXPECT_EQ(host_.get_graph(node(3), "then_branch", &branch), POPRT_OK);
  EXPECT_STREQ(host_.graph_name(branch), "t");
  EXPECT_EQ(host_.get_int(n, "nobody", &i), POPRT_NOT_FOUND);
  EXPECT_EQ(host_.get_int(n, nullptr, &i), POPRT_NOT_FOUND);
  EXPECT_EQ(outcome([&] { return host_.get_int(n, "f", &i); }),
            "invalid_argument: it: MatMul node 'product': attribute 'f' is of another kind (2)");
  EXPECT_EQ(i, 7);
  EXPECT_EQ(host_.remove_attribute(n, "i"), POPRT_OK);
  EXPECT_EQ(host_.remove_attribute(n, "i"), POPRT_NOT_FOUND);
  EXPECT_EQ(host_.remove_attribute(n, nullptr), POPRT_NOT_FOUND);
  EXPECT_EQ(host_.attribute_count(n), 6u);
  EXPECT_EQ(host_.attribute_name(n, 6), nullptr);
  for (const char* name : {"", static_cast<const char*>(nullptr)})
    EXPECT_EQ(outcome([&] { return host_.set_int(n, name, 1); }),
              "invalid_argument: it: the name of an attribute is empty");
}

// Callers that were built with an older header pass a shorter struct.
TEST_F(GraphHost, TypesAreWrittenAsFarAsTheCallerKnowsThem) {
  const auto type = [&](const char* name) {
    poprt_op_tensor t{};
    t.struct_size = sizeof t;
    host_.value_type(value(name), &t);
    std::string shape;
    for (int32_t i = 0; i < t.rank; i++) shape += fmt::format("{} ", t.shape[i]);
    return fmt::format("{} {} {}{} bytes{}", t.dtype, t.rank, shape, t.bytes,
                       t.data ? ", known" : "");
  };
  EXPECT_EQ(type("w"), fmt::format("{} 2 3 2 24 bytes, known", int{POPRT_DTYPE_F32}));
  EXPECT_EQ(type("x"), fmt::format("{} 2 2 3 0 bytes", int{POPRT_DTYPE_F32}));
  EXPECT_EQ(type("words"), fmt::format("{} 1 2 0 bytes", int{POPRT_DTYPE_STRING}));
  EXPECT_EQ(type("on"), fmt::format("{} 0 0 bytes", int{POPRT_DTYPE_BOOL}));
  graph_->find("a")->type = {};
  EXPECT_EQ(type("a"), "0 -1 0 bytes");

  poprt_op_tensor old{};
  old.struct_size = offsetof(poprt_op_tensor, shape);
  const int64_t mine = 1;
  old.shape = &mine;
  host_.value_type(value("w"), &old);
  EXPECT_EQ(old.rank, 2);
  EXPECT_EQ(old.shape, &mine);
  EXPECT_EQ(old.struct_size, offsetof(poprt_op_tensor, shape));
  std::array<poprt_op_tensor, 2> more{};  // one of a later version
  more[0].struct_size = sizeof more;
  more[1].bytes = 77;
  host_.value_type(value("w"), more.data());
  EXPECT_EQ(more[0].struct_size, sizeof(poprt_op_tensor));
  EXPECT_EQ(more[0].bytes, 24u);
  EXPECT_EQ(more[1].bytes, 77u);
}

TEST_F(GraphHost, NodesAreAddedBeforeOthersOrAtTheEnd) {
  poprt_value* const inputs[] = {value("a"), nullptr, value("hi")};
  poprt_node* made = host_.add_node(graph(), "", "Clip", inputs, 3, 1, node(1));
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(host_.set_name(made, "mine"), POPRT_OK);
  EXPECT_EQ(host_.infer(made), POPRT_OK);
  EXPECT_EQ(at(host_.node_output(made, 0))->shape(), (Shape{2, 2}));
  EXPECT_EQ(host_.node_input(made, 1), nullptr);
  EXPECT_EQ(host_.set_input(node(1), 0, host_.node_output(made, 0)), POPRT_OK);
  poprt_node* last = host_.add_node(graph(), nullptr, "Split", inputs, 1, 2, nullptr);
  EXPECT_EQ(host_.node_output_count(last), 2u);
  EXPECT_EQ(host_.set_name(last, nullptr), POPRT_OK);
  EXPECT_EQ(ops_of(*graph_), "MatMul Clip Clip Add If Split");
  EXPECT_STREQ(host_.node_name(made), "mine");
  EXPECT_STREQ(host_.node_name(last), "");

  poprt_graph* branch = nullptr;
  ASSERT_EQ(host_.get_graph(node(3), "else_branch", &branch), POPRT_OK);
  EXPECT_EQ(
      outcome([&] { return host_.add_node(branch, "", "Neg", inputs, 1, 1, node(1)) ? 1 : 0; }),
      "invalid_argument: it: add_node: `before` is a node of another graph");
  for (const char* type : {"", static_cast<const char*>(nullptr)}) {
    EXPECT_EQ(
        outcome([&] { return host_.add_node(graph(), "", type, inputs, 1, 1, nullptr) ? 1 : 0; }),
        "invalid_argument: it: add_node: the type is empty");
    EXPECT_EQ(outcome([&] { return host_.set_type(node(0), "", type); }),
              "invalid_argument: it: set_type: the type is empty");
  }
}

// A model imports the domains of its nodes, also of those in subgraphs. Our domain needs no import,
// and existing imports keep their versions.
TEST_F(GraphHost, DomainsOfNewNodesAreImported) {
  poprt_value* const x[] = {value("x")};
  poprt_graph* branch = nullptr;
  ASSERT_EQ(host_.get_graph(node(3), "then_branch", &branch), POPRT_OK);
  EXPECT_NE(host_.add_node(branch, "org.inner", "Op", x, 1, 1, nullptr), nullptr);
  EXPECT_NE(host_.add_node(graph(), "poprt", "Gelu", x, 1, 1, nullptr), nullptr);
  graph_->opsets["org.other"] = 4;
  poprt_node* n = host_.add_node(graph(), "org.other", "Op", x, 1, 1, nullptr);
  EXPECT_EQ(host_.node_opset(n), 4);
  EXPECT_EQ(host_.set_type(n, "org.third", "Third"), POPRT_OK);
  EXPECT_STREQ(host_.node_type(n), "Third");
  EXPECT_STREQ(host_.node_domain(n), "org.third");
  EXPECT_EQ(host_.set_type(n, nullptr, "Neg"), POPRT_OK);
  EXPECT_STREQ(host_.node_domain(n), "");
  EXPECT_EQ(host_.set_type(n, "ai.onnx", "Abs"), POPRT_OK);
  EXPECT_STREQ(host_.node_domain(n), "");
  EXPECT_STREQ(host_.node_domain(host_.add_node(branch, "ai.onnx", "Neg", x, 1, 1, nullptr)), "");
  EXPECT_EQ(graph_->opsets, (std::map<std::string, int64_t>{
                                {"", 17}, {"org.inner", 1}, {"org.other", 4}, {"org.third", 1}}));
}

TEST_F(GraphHost, RefusesConstantsThatContradictTheirType) {
  const std::array<float, 6> data{1, 2, 3, 4, 5, 6};
  const std::array<int64_t, 2> shape{3, 2};
  const std::array<int64_t, 1> nothing{0};
  poprt_value* v = host_.add_constant(graph(), "mine", POPRT_DTYPE_F32, 2, shape.data(),
                                      data.data(), sizeof data);
  ASSERT_NE(v, nullptr);
  EXPECT_EQ(name_of(v), "mine");
  EXPECT_EQ(at(v)->shape(), (Shape{3, 2}));
  EXPECT_EQ(at(v)->constant().to_doubles(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_NE(host_.add_constant(graph(), nullptr, POPRT_DTYPE_F32, 0, nullptr, data.data(), 4),
            nullptr);
  EXPECT_NE(host_.add_constant(graph(), "e", POPRT_DTYPE_F32, 1, nothing.data(), nullptr, 0),
            nullptr);
  const auto refused = [&](poprt_dtype dtype, int32_t rank, const int64_t* of, size_t bytes) {
    poprt_value* made = v;
    const std::string error_text = outcome([&] {
      made = host_.add_constant(graph(), "bad", dtype, rank, of, data.data(), bytes);
      return POPRT_OK;
    });
    EXPECT_EQ(made, nullptr);
    return error_text;
  };
  const std::string what = "invalid_argument: it: add_constant: ";
  EXPECT_EQ(refused(0, 2, shape.data(), 24), what + "element type 0");
  EXPECT_EQ(refused(-1, 2, shape.data(), 24), what + "element type -1");
  EXPECT_EQ(refused(kDTypeCount, 2, shape.data(), 24),
            what + fmt::format("element type {}", kDTypeCount));
  EXPECT_EQ(refused(POPRT_DTYPE_STRING, 2, shape.data(), 24),
            what + fmt::format("element type {}", int{POPRT_DTYPE_STRING}));
  EXPECT_EQ(refused(POPRT_DTYPE_F32, -1, shape.data(), 24), what + "rank -1");
  EXPECT_EQ(refused(POPRT_DTYPE_F32, 1, nullptr, 4), what + "rank 1");
  EXPECT_EQ(refused(POPRT_DTYPE_F32, 2, shape.data(), 20),
            what + "f32[3,2] has 24 bytes, given 20");
}

TEST_F(GraphHost, ReadersReadAnotherValue) {
  EXPECT_EQ(host_.replace_value(value("b"), value("a")), POPRT_OK);
  EXPECT_EQ(name_of(host_.node_input(node(2), 0)), "a");
  EXPECT_EQ(name_of(host_.node_input(node(2), 1)), "a");
  for (const char* same : {"a", "d"}) {
    EXPECT_EQ(host_.replace_value(value(same), value(same)), POPRT_OK);
    EXPECT_EQ(ops_of(*graph_), "MatMul Clip Add If");
  }
  EXPECT_EQ(outcome([&] { return host_.replace_value(value("a"), nullptr); }),
            "invalid_argument: it: replace_value: the new value is null");
  EXPECT_EQ(host_.erase_node(node(1)), POPRT_OK);
  EXPECT_EQ(
      outcome([&] { return host_.erase_node(node(0)); }),
      "failed_precondition: it: erase_node: 'a', a result of MatMul node 'product', has readers");
  EXPECT_EQ(ops_of(*graph_), "MatMul Add If");
}

// Nodes produce outputs: an input that replaces an output is copied at the place of the node.
TEST_F(GraphHost, AnOutputThatBecomesAnInputIsACopyOfIt) {
  const auto graph = parsed(R"(
    input %x : f32[2]
    %y = Relu(%x)
    %z = Neg(%x)
    output %y
    output %z
  )");
  EXPECT_EQ(host_.replace_value(host_.find_value(passes::handle(*graph), "y"),
                                host_.find_value(passes::handle(*graph), "x")),
            POPRT_OK);
  ASSERT_EQ(ops_of(*graph), "Identity Relu Neg");
  ir::Value* y = graph->outputs()[0];
  EXPECT_EQ(y->producer(), graph->nodes()[0]);
  EXPECT_EQ(y->name(), "y");
  EXPECT_EQ(y->shape(), Shape{2});
  EXPECT_EQ(y->dtype(), DType::f32);
}

// The output keeps its name if nodes read it, too.
TEST_F(GraphHost, AnOutputWithReadersThatBecomesAnInputIsACopyOfIt) {
  const auto graph = parsed(R"(
    input %x : f32[2]
    %y = Relu(%x)
    %z = Neg(%y)
    output %y
    output %z
  )");
  EXPECT_EQ(host_.replace_value(host_.find_value(passes::handle(*graph), "y"),
                                host_.find_value(passes::handle(*graph), "x")),
            POPRT_OK);
  ASSERT_EQ(ops_of(*graph), "Identity Relu Neg");
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  EXPECT_EQ(graph->outputs()[0]->producer(), graph->nodes()[0]);
  EXPECT_EQ(graph->find("z")->producer()->input(0), graph->find("y"));
}

TEST_F(GraphHost, ReportsErrorsOfACall) {
  EXPECT_EQ(outcome([&] { return host_.infer(node(0)); }), "");
  EXPECT_EQ(outcome([] { return POPRT_ABORTED; }), "aborted: it: returned 10 without a message");
  EXPECT_EQ(outcome([] { return 7; }, false), "");  // a number, and no code
  EXPECT_EQ(outcome([&] {
              return host_.fail(graph(), POPRT_OUT_OF_RANGE, "%d is too much%s", 5, "\nhere");
            }),
            "out_of_range: it: 5 is too much");
  // The first error is the cause, and a reported error counts, whatever the function returns.
  EXPECT_EQ(outcome([&] {
              host_.fail(graph(), POPRT_OUT_OF_RANGE, "first");
              host_.fail(graph(), POPRT_INTERNAL, "second");
              return POPRT_OK;
            }),
            "out_of_range: it: first");
  EXPECT_EQ(outcome([]() -> int32_t { throw std::runtime_error("thrown"); }),
            "internal: it: threw an exception: thrown");
  // Outside of a call the message is lost, but the code is the same.
  EXPECT_EQ(host_.fail(graph(), POPRT_ABORTED, "nobody hears"), POPRT_ABORTED);
  EXPECT_EQ(host_.set_int(node(0), "", 1), POPRT_INVALID_ARGUMENT);
  // One call inside of another: each has its own errors, and the outer one goes on with its own.
  EXPECT_EQ(outcome([&] {
              EXPECT_EQ(outcome([&] { return host_.fail(graph(), POPRT_ABORTED, "inner"); }),
                        "aborted: it: inner");
              host_.fail(graph(), POPRT_INTERNAL, "outer");
              return POPRT_OK;
            }),
            "internal: it: outer");
}

TEST_F(GraphHost, ParametersMatchTheCall) {
  const auto parameter_text = [&](const passes::Arguments* arguments, const char* name) {
    std::string found;
    try {
      passes::call_with_graph(
          "run",
          [&] {
            const char* text = host_.get_parameter(graph(), name);
            found = text ? text : "null";
            return POPRT_OK;
          },
          true, arguments);
    } catch (const Error& e) {
      return found + ": " + e.message();
    }
    return found;
  };
  const passes::Arguments given{{"factor", "3"}};
  EXPECT_EQ(parameter_text(&given, "factor"), "3");
  EXPECT_EQ(parameter_text(&given, "other"),
            "null: run: get_parameter: 'other' is not a parameter of the pass");
  EXPECT_EQ(parameter_text(&given, nullptr),
            "null: run: get_parameter: '' is not a parameter of the pass");
  EXPECT_EQ(parameter_text(nullptr, "factor"),
            "null: run: get_parameter: 'factor' is read while no pass runs");
  EXPECT_EQ(host_.get_parameter(graph(), "factor"), nullptr);  // the call is over
}

}  // namespace
}  // namespace poprt::test
