// Passes, patterns and transforms of a plug-in in this file: how they are found, receive their
// arguments, and run. graph_host_test.cpp tests their changes of graphs.
#include "passes/common/custom.h"

#include <array>

#include "core/passes/pass_case.h"
#include "plugins/registration.h"

namespace poprt::test {
namespace {

std::string given_to_pass;        // its parameters
std::string given_to_transforms;  // name and checkpoint of each call

int32_t run_pass_of_test(const poprt_graph_host* host, poprt_graph* graph, void* user_data) {
  given_to_pass = static_cast<const char*>(user_data);
  for (const char* name : {"factor", "names", "must"})
    given_to_pass += std::string(" ") + host->get_parameter(graph, name);
  return POPRT_OK;
}

// Leaves a node that reads a value of a later node.
int32_t run_breaker(const poprt_graph_host* host, poprt_graph* graph, void*) {
  std::array<poprt_node*, 2> nodes{};
  host->graph_nodes(graph, nodes.data(), 2);
  return host->set_input(nodes[0], 0, host->node_output(nodes[1], 0));
}

// Adds a node without types; the pass manager infers them.
int32_t run_adder(const poprt_graph_host* host, poprt_graph* graph, void*) {
  poprt_value* const x[] = {host->find_value(graph, "x")};
  return host->add_node(graph, "", "Abs", x, 1, 1, nullptr) ? POPRT_OK : POPRT_INTERNAL;
}

int32_t run_refuser(const poprt_graph_host*, poprt_graph*, void*) { return POPRT_ABORTED; }

bool is(const poprt_graph_host* host, const poprt_node* n, std::string_view type) {
  return n && host->node_type(n) == type;
}

// Replaces Neg(Neg(x)) by x, which removes a node that was not visited yet.
int32_t matches_twice(const poprt_graph_host* host, poprt_node* node, void*) {
  poprt_node* reader = nullptr;
  return is(host, node, "Neg") &&
         host->value_readers(host->node_output(node, 0), &reader, 1) == 1 &&
         is(host, reader, "Neg") && host->node_graph(reader) == host->node_graph(node);
}
int32_t apply_twice(const poprt_graph_host* host, poprt_node* node, void*) {
  poprt_node* reader = nullptr;
  host->value_readers(host->node_output(node, 0), &reader, 1);
  host->replace_value(host->node_output(reader, 0), host->node_input(node, 0));
  host->erase_node(reader);
  return host->erase_node(node);
}

// Replaces a node by the next one of a list, or always by itself.
int32_t matches_type(const poprt_graph_host* host, poprt_node* node, void* user_data) {
  return is(host, node, *static_cast<const char* const*>(user_data));
}
int32_t apply_type(const poprt_graph_host* host, poprt_node* node, void* user_data) {
  return host->set_type(node, "", static_cast<const char* const*>(user_data)[1]);
}
const char* kSoft[] = {"Softplus", "Softsign"};
const char* kEndless[] = {"Sin", "Sin"};
const char* kMust[] = {"Cos", "Sin"};

int32_t apply_refusing(const poprt_graph_host*, poprt_node*, void*) { return POPRT_ABORTED; }

int32_t apply_transform(const poprt_graph_host* host, poprt_graph* graph, const char* checkpoint,
                        void* user_data) {
  given_to_transforms += std::string(static_cast<const char*>(user_data)) + "@" + checkpoint + " ";
  std::array<poprt_node*, 1> nodes{};
  host->graph_nodes(graph, nodes.data(), 1);
  return host->set_type(nodes[0], "", "Relu");
}

poprt_pass pass_called(const char* name, auto run, std::span<const poprt_pass_parameter* const> of,
                       const char* condition = "") {
  static char user[] = "pass";
  return {sizeof(poprt_pass), name, "does it", condition, run, user, of.data(), of.size()};
}

void load_once() {
  static const bool loaded = [] {
    static const poprt_pass_parameter kParameters[] = {
        {sizeof(poprt_pass_parameter), "factor", "a number", POPRT_PARAMETER_INTEGER, 0, "2"},
        {sizeof(poprt_pass_parameter), "names", "some", POPRT_PARAMETER_NAMES, 0, ""},
        {sizeof(poprt_pass_parameter), "must", "needed", POPRT_PARAMETER_TEXT, 1, ""},
        {sizeof(poprt_pass_parameter), "bad", "no flag", POPRT_PARAMETER_FLAG, 0, "perhaps"},
        {sizeof(poprt_pass_parameter), "lines", "words", POPRT_PARAMETER_WORDS, 0, ""},
        {sizeof(poprt_pass_parameter), "on", "a flag", POPRT_PARAMETER_FLAG, 0, "False"}};
    static const poprt_pass_parameter* const kAll[] = {
        &kParameters[0], &kParameters[1], &kParameters[2], &kParameters[4], &kParameters[5]};
    static const poprt_pass_parameter* const kBad[] = {&kParameters[0], &kParameters[3]};
    auto library = std::make_unique<plugins::Library>();
    library->name = "custom_test";
    library->passes = {pass_called("of_test", run_pass_of_test, kAll, "somewhere"),
                       pass_called("of_test_breaker", run_breaker, {}),
                       pass_called("of_test_adder", run_adder, {}),
                       pass_called("of_test_refuser", run_refuser, {}),
                       pass_called("of_test_default", run_breaker, kBad)};
    const auto pattern = [](const char* name, int32_t on, int32_t must, auto matches, auto apply,
                            void* user = nullptr) {
      return poprt_pattern{sizeof(poprt_pattern), name, "s", on, must, matches, apply, user};
    };
    library->patterns = {pattern("TestTwice", 1, 0, matches_twice, apply_twice),
                         pattern("TestSoft", 0, 0, matches_type, apply_type, kSoft),
                         pattern("TestMust", 0, 1, matches_type, apply_type, kMust),
                         pattern("TestEndless", 0, 0, matches_type, apply_type, kEndless),
                         pattern("TestRefusing", 0, 0, matches_type, apply_refusing, kEndless)};
    static char first[] = "first", second[] = "second";
    library->transforms = {{sizeof(poprt_transform), "TestFirst", "s", apply_transform, first},
                           {sizeof(poprt_transform), "TestSecond", "s", apply_transform, second}};
    plugins::add(std::move(library));
    return true;
  }();
  static_cast<void>(loaded);
}

class Custom : public testing::Test {
 protected:
  Custom() {
    load_once();
    given_to_pass.clear();
    given_to_transforms.clear();
  }
  template <class F>
  static std::string message_of(F&& call) {
    try {
      call();
    } catch (const Error& e) {
      return fmt::format("{}: {}", error_code_name(e.code()), e.message());
    }
    return "";
  }
};

constexpr const char* kChain = R"(
  input %x : f32[2]
  %a = Neg(%x)
  %b = Exp(%a)
  output %b
)";

TEST_F(Custom, PassesAreDescribedAsOthersAre) {
  const passes::PassDef& pass = passes::pass_of("of_test");
  EXPECT_EQ(&pass, passes::find_custom_pass("of_test"));  // one for ever
  EXPECT_EQ(pass.name, "of_test");
  EXPECT_EQ(pass.summary, "does it");
  EXPECT_EQ(pass.condition, "somewhere");
  EXPECT_EQ(passes::pass_of("of_test_breaker").condition, "none");
  EXPECT_EQ(pass.numerics, passes::Numerics::precision);  // unknown for a plug-in
  EXPECT_EQ(pass.kind, passes::PassKind::rewrite);
  std::string parameters;
  for (const passes::Parameter& p : pass.parameters)
    parameters += fmt::format("{} {} '{}' '{}'{}, ", p.name, parameter_kind_name(p.kind), p.summary,
                              p.standard, p.required ? " required" : "");
  EXPECT_EQ(parameters,
            "factor integer 'a number' '2', names names 'some' '', must text 'needed' '' required, "
            "lines words 'words' '', on flag 'a flag' 'False', ");
  std::string names;
  for (const passes::PassDef* p : passes::custom_passes()) names += std::string(p->name) + " ";
  EXPECT_EQ(names, "of_test of_test_breaker of_test_adder of_test_refuser of_test_default ");
  EXPECT_EQ(passes::find_custom_pass("eliminate_identity"), nullptr);
}

TEST_F(Custom, PassesReceiveTheirParameters) {
  const auto graph = parsed(kChain);
  const auto call = [&](passes::Arguments arguments, int64_t limit = INT64_MAX) {
    const passes::PassCall calls[] = {{&passes::pass_of("of_test"), std::move(arguments)}};
    return passes::run_passes(*graph, calls, {.rewrite_limit = limit}).at(0).rewrites;
  };
  EXPECT_EQ(call({{"must", "m"}}), 1);
  EXPECT_EQ(given_to_pass, "pass 2  m");
  EXPECT_EQ(call({{"must", "m"}, {"factor", "-7"}, {"names", " a, b"}}), 1);
  EXPECT_EQ(given_to_pass, "pass -7 a,b m");
  given_to_pass.clear();
  EXPECT_EQ(call({{"must", "m"}}, 0), 0);
  EXPECT_EQ(given_to_pass, "");
  EXPECT_EQ(message_of([&] { call({}); }),
            "invalid_argument: pass of_test needs its parameter 'must': needed");
  EXPECT_EQ(message_of([&] { call({{"must", "m"}, {"factor", "x"}}); }),
            "invalid_argument: pass of_test: parameter factor: expected a whole number, found 'x'");
  EXPECT_EQ(message_of([&] {
              passes::PassContext context;
              passes::pass_of("of_test").run(*graph, context);
            }),
            "internal: a pass of a plug-in was not run by run_pass()");
}

TEST_F(Custom, DefaultsAreCheckedAsValuesAre) {
  const plugins::Library* library = nullptr;
  for (const plugins::Library* l : plugins::libraries())
    if (l->name == "custom_test") library = l;
  ASSERT_NE(library, nullptr);
  EXPECT_EQ(message_of([&] { passes::check_defaults(library->passes[0]); }), "");
  EXPECT_EQ(message_of([&] { passes::check_defaults(library->passes[4]); }),
            "invalid_argument: pass 'of_test_default': the default of parameter 'bad': expected "
            "True or False, found 'perhaps'");
}

TEST_F(Custom, VerifiesTheGraphAfterAPass) {
  const auto graph = parsed(kChain);
  const std::string error_text = message_of([&] { run(*graph, {"of_test_breaker"}); });
  EXPECT_NE(error_text.find("pass of_test_breaker: the graph that it left: "), std::string::npos)
      << error_text;
}

TEST_F(Custom, InfersNewNodesAndReportsReturnCodes) {
  const auto graph = parsed(kChain);
  run(*graph, {"of_test_adder"});
  ASSERT_EQ(ops_of(*graph), "Neg Exp Abs");
  EXPECT_EQ(graph->nodes()[2]->output()->shape(), Shape{2});
  EXPECT_EQ(graph->nodes()[2]->output()->dtype(), DType::f32);
  EXPECT_EQ(message_of([&] { run(*graph, {"of_test_refuser"}); }),
            "aborted: pass of_test_refuser: run: returned 10 without a message");
}

TEST_F(Custom, PatternsAreAppliedUntilNoneMatches) {
  const auto left = [](const char* body, const passes::PatternSettings& settings, int64_t applied) {
    const auto graph = parsed(body);
    EXPECT_EQ(passes::run_patterns(*graph, settings), applied);
    return ops_of(*graph);
  };
  // Both pairs of the four nodes are removed, although the second node of each pair had not been
  // visited.
  constexpr const char* kNegs = R"(
    input %x : f32[2]
    %a = Neg(%x)
    %b = Neg(%a)
    %c = Neg(%b)
    %d = Neg(%c)
    %e = Softplus(%d)
    %y = Cos(%e)
    output %y
  )";
  EXPECT_EQ(left(kNegs, {}, 3), "Softplus Sin");  // TestMust, too
  EXPECT_EQ(left(kNegs, {{"TestTwice", false}}, 1), "Neg Neg Neg Neg Softplus Sin");
  EXPECT_EQ(left(kNegs, {{"TestTwice", false}, {"TestSoft", true}}, 2),
            "Neg Neg Neg Neg Softsign Sin");
  EXPECT_EQ(left(kNegs, {{"TestSoft", false}}, 3), "Softplus Sin");
  EXPECT_EQ(left("input %x : f32[2]\n%y = Exp(%x)\noutput %y", {{"TestSoft", true}}, 0), "Exp");

  const auto graph = parsed(R"(
    input %on : bool[]
    input %x : f32[2]
    %y = If(%on) {else_branch = graph "e" { %n = Softplus(%x) output %n }, then_branch = graph "t" { %i = Identity(%x) output %i }}
    output %y
  )");
  EXPECT_EQ(passes::run_patterns(*graph, {{"TestSoft", true}}), 1);
  EXPECT_EQ(ops_of(*std::get<std::shared_ptr<ir::Graph>>(
                graph->nodes()[0]->attributes.at("else_branch"))),
            "Softsign");
}

TEST_F(Custom, ReportsErrorsOfPatterns) {
  constexpr const char* kSin = "input %x : f32[2]\n%y = Sin(%x)\noutput %y";
  // A graph of one node: 10 for each node plus 100 are not enough.
  EXPECT_EQ(message_of([&] { passes::run_patterns(*parsed(kSin), {{"TestEndless", true}}); }),
            "failed_precondition: pattern TestEndless: was applied 111 times and still matches: it "
            "must not match its own result");
  EXPECT_EQ(message_of([&] { passes::run_patterns(*parsed(kSin), {{"TestRefusing", true}}); }),
            "aborted: pattern TestRefusing: returned 10 without a message");
  EXPECT_EQ(message_of([] { passes::check_patterns({{"TestMust", false}}); }),
            "invalid_argument: custom_patterns: pattern 'TestMust' is mandatory and cannot be "
            "turned off");
  EXPECT_EQ(message_of([] { passes::check_patterns({{"TestMust", true}, {"TestSoft", false}}); }),
            "");
  const std::string unknown = message_of([] { passes::check_patterns({{"Nobody", true}}); });
  EXPECT_NE(unknown.find("TestTwice, TestSoft, TestMust, TestEndless, TestRefusing"),
            std::string::npos)
      << unknown;
}

TEST_F(Custom, TransformsRunInTheirOrderAtTheirCheckpoint) {
  const passes::TransformSettings settings{{"Fwd0", {"TestSecond", "TestFirst"}},
                                           {"Final", {"TestFirst"}}};
  EXPECT_EQ(message_of([&] { passes::check_transforms(settings); }), "");
  const auto graph = parsed(kChain);
  passes::run_transforms(*graph, settings, "Fwd1");
  EXPECT_EQ(given_to_transforms, "");
  EXPECT_EQ(ops_of(*graph), "Neg Exp");
  passes::run_transforms(*graph, settings, "Fwd0");
  EXPECT_EQ(given_to_transforms, "second@Fwd0 first@Fwd0 ");
  EXPECT_EQ(ops_of(*graph), "Relu Exp");
  EXPECT_EQ(message_of([] { passes::check_transforms({{"Fwd9", {"TestFirst"}}}); }),
            "invalid_argument: custom_transform_applier_settings: expected a checkpoint (Fwd0, "
            "Fwd1, Bwd0, PreAlias, MainLoops or Final), found 'Fwd9'");
  const std::string unknown =
      message_of([] { passes::check_transforms({{"Fwd1", {"TestFirst", "Nobody"}}}); });
  EXPECT_NE(unknown.find("there is no transform 'Nobody'; the loaded plug-ins have: "
                         "TestFirst, TestSecond"),
            std::string::npos)
      << unknown;
}

}  // namespace
}  // namespace poprt::test
