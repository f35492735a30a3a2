#include "passes/pass.h"

#include "pass_case.h"

namespace poprt::passes {
namespace {

constexpr const char* kTwoIdentities = R"(
  input %x : f32[2]
  %a = Identity(%x)
  %b = Identity(%a)
  %c = Identity(%b)
  output %c
)";

std::string message_of(auto&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.message();
  }
  return "nothing was thrown";
}

TEST(PassManager, EveryPassHasANameASummaryAndKnownNeighbours) {
  for (const PassDef* p : all_passes()) {
    EXPECT_FALSE(p->name.empty());
    EXPECT_FALSE(p->summary.empty()) << p->name;
    ASSERT_NE(p->run, nullptr) << p->name;
    EXPECT_EQ(find_pass(p->name), p) << "two passes are called " << p->name;
    for (const auto& list : {p->depend, p->before, p->against})
      for (const std::string_view other : list) EXPECT_NE(find_pass(other), nullptr) << other;
  }
}

TEST(PassManager, MisspeltNamesGetSuggestions) {
  const std::string m = message_of([] { pass_of("eliminate_identety"); });
  EXPECT_NE(m.find("did you mean"), std::string::npos) << m;
  EXPECT_NE(m.find("eliminate_identity"), std::string::npos) << m;
  EXPECT_NE(message_of([] { pass_of("zzzzzzzzzzzzz"); }).find("lists them"), std::string::npos);
}

// One or two wrong letters at any position.
TEST(PassManager, SuggestionsForEveryKindOfTypingError) {
  const std::string right = "eliminate_identity";
  std::vector<std::string> wrong;
  for (size_t i = 0; i < right.size(); i++) {
    wrong.push_back(std::string(right).erase(i, 1));
    wrong.push_back(std::string(right).insert(i, "x"));
    wrong.push_back(std::string(right).replace(i, 1, "x"));
    wrong.push_back(std::string(right).erase(0, 1).replace(i % 17, 1, "x"));
  }
  for (const std::string& name : wrong) {
    const std::string m = message_of([&] { pass_of(name); });
    EXPECT_EQ(m.find("there is no pass '" + name + "'; did you mean "), 0u) << m;
    EXPECT_NE(m.find(right), std::string::npos) << m;
  }
}

TEST(PassManager, SuggestionsForAPartOfAName) {
  const std::string part = "deadend", m = message_of([&] { pass_of(part); });
  EXPECT_NE(m.find("did you mean eliminate_deadend"), std::string::npos) << m;
  EXPECT_NE(message_of([] { pass_of("fold_constants"); }).find("did you mean constant_folding?"),
            std::string::npos);
  // A part of many names: the first five.
  const std::string many = message_of([] { pass_of("eliminate"); });
  EXPECT_EQ(std::count(many.begin(), many.end(), ','), 4) << many;
  // An empty name is a part of every name, and similar to none.
  EXPECT_NE(message_of([] { pass_of(""); }).find("lists them"), std::string::npos);
  EXPECT_NE(message_of([] { pass_of("zzzminate_identity"); }).find("did you mean"),
            std::string::npos);
  EXPECT_NE(message_of([] { pass_of("zz"); }).find("lists them"), std::string::npos);
}

TEST(PassManager, AMisspeltPassToStopAfterIsAnError) {
  const auto graph = test::parsed(kTwoIdentities);
  const PassDef* list[] = {&pass_of("sort_graph")};
  PassManagerOptions options;
  options.stop_after = "sort_grafh";
  EXPECT_NE(message_of([&] { run_passes(*graph, list, options); }).find("sort_graph"),
            std::string::npos);
  options.stop_after = "eliminate_identity";  // there is one, elsewhere
  EXPECT_EQ(run_passes(*graph, list, options).size(), 1u);
}

TEST(PassManager, ReportsRewritesAndNodes) {
  const auto graph = test::parsed(kTwoIdentities);
  const auto reports = test::run(*graph, {"eliminate_identity", "sort_graph"});
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].name, "eliminate_identity");
  EXPECT_EQ(reports[0].rewrites, 2);
  EXPECT_EQ(reports[0].nodes_before, 3u);
  EXPECT_EQ(reports[0].nodes_after, 1u);
  EXPECT_EQ(reports[1].rewrites, 0);
}

TEST(PassManager, RewriteLimitStopsInTheMiddle) {
  const auto graph = test::parsed(kTwoIdentities);
  const PassDef* list[] = {&pass_of("eliminate_identity")};
  const auto reports = run_passes(*graph, list, {.rewrite_limit = 1});
  EXPECT_EQ(reports[0].rewrites, 1);
  EXPECT_EQ(graph->node_count(), 2u);
}

TEST(PassManager, StopsAfterTheNamedPassAndCallsBack) {
  const auto graph = test::parsed(kTwoIdentities);
  const PassDef* list[] = {&pass_of("sort_graph"), &pass_of("eliminate_identity")};
  int calls = 0;
  PassManagerOptions options;
  options.stop_after = "sort_graph";
  options.after_each = [&](const PassReport&, const ir::Graph&) { calls++; };
  EXPECT_EQ(run_passes(*graph, list, options).size(), 1u);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(graph->node_count(), 3u);
}

TEST(PassManager, ErrorsNameThePass) {
  auto graph = ir::parse_text(R"(graph "g" opset {"": 17} {
    input %x : f32[2]
    %a = NoSuchOperator(%x)
    output %a
  })");
  const PassDef* list[] = {&pass_of("shape_inference")};
  const std::string m = message_of([&] { run_passes(*graph, list); });
  EXPECT_EQ(m.rfind("pass shape_inference: ", 0), 0u) << m;
}

TEST(PassManager, NamesOfKindsMatchTheDocuments) {
  EXPECT_EQ(numerics_name(Numerics::exact), "exact");
  EXPECT_EQ(numerics_name(Numerics::rounding), "rounding");
  EXPECT_EQ(numerics_name(Numerics::precision), "precision");
  EXPECT_EQ(kind_name(PassKind::rewrite), "rewrite");
  EXPECT_EQ(kind_name(PassKind::inspect), "inspect");
}

TEST(PassManager, FindsPassesByAnEarlierName) {
  const PassDef& pass = pass_of("qdq_products");
  EXPECT_EQ(&pass_of("quantized_products"), &pass);
  EXPECT_TRUE(is_called(pass, "qdq_products"));
  EXPECT_TRUE(is_called(pass, "quantized_products"));
  EXPECT_FALSE(is_called(pass, "sort_graph"));
  EXPECT_FALSE(is_called(pass_of("sort_graph"), ""));  // it has no earlier name
  EXPECT_EQ(find_pass(""), nullptr);
  const auto graph = test::parsed(kTwoIdentities);
  const PassDef* list[] = {&pass, &pass_of("eliminate_identity")};
  EXPECT_EQ(run_passes(*graph, list, {.stop_after = "quantized_products"}).size(), 1u);
}

TEST(PassManager, NodesOfBranchesCount) {
  const auto graph = test::parsed(R"(
    input %on : bool[]
    input %x : f32[2]
    %y = If(%on) {else_branch = graph "e" { %a = Identity(%x) %b = Neg(%a) output %b }, then_branch = graph "t" { %i = Abs(%x) output %i }}
    output %y
  )");
  const auto reports = test::run(*graph, {"eliminate_identity"});
  EXPECT_EQ(reports[0].nodes_before, 4u);
  EXPECT_EQ(reports[0].nodes_after, 3u);
}

// All passes of a list share one limit; the report of each has its own number of rewrites.
TEST(PassManager, ALimitIsOfAllPassesTogether) {
  const auto graph = test::parsed(R"(
    input %x : f32[2]
    %a = Identity(%x)
    %b = Identity(%a)
    %c = Neg(%b)
    %u = Exp(%x)
    %v = Exp(%u)
    output %c
  )");
  const PassDef* list[] = {&pass_of("eliminate_identity"), &pass_of("eliminate_deadend")};
  std::string seen;
  PassManagerOptions options;
  options.rewrite_limit = 3;
  options.after_each = [&](const PassReport& report, const ir::Graph& after) {
    seen += fmt::format("{} {} {}>{} ({}); ", report.name, report.rewrites, report.nodes_before,
                        report.nodes_after, test::ops_of(after));
  };
  EXPECT_EQ(run_passes(*graph, list, options).size(), 2u);
  EXPECT_EQ(seen, "eliminate_identity 2 5>3 (Neg Exp Exp); eliminate_deadend 1 3>2 (Neg Exp); ");
}

// The context that a pass received, as text.
std::string handed;
const ir::Graph* origin_of_pass = nullptr;

void note_context(ir::Graph&, PassContext& context) {
  handed =
      fmt::format("{} {} {} {} {} {}", context.max_tensor_size, context.fp16_skip_op_types.size(),
                  context.text("word"), context.integer("number"), context.flag("on"),
                  context.precision->fp8_weights_only);
  for (const std::string& name : context.names("list")) handed += " " + name;
  for (const std::string& word : context.words("lines")) handed += " " + word;
  origin_of_pass = context.origin;
  if (context.origin) handed += fmt::format(" of {} nodes", context.origin->node_count());
  if (context.print) context.print("said");
}

const PassDef kNotes{.name = "notes",
                     .summary = "s",
                     .run = note_context,
                     .parameters = {{"word", ParameterKind::text, "s", "none"},
                                    {"number", ParameterKind::integer, "s", "7"},
                                    {"on", ParameterKind::flag, "s", "False"},
                                    {"list", ParameterKind::names, "s", "a,b"},
                                    {"lines", ParameterKind::words, "s", ""}},
                     .needs_origin = true};

TEST(PassManager, PassReceivesTheOptionsOfTheList) {
  const auto graph = test::parsed(kTwoIdentities);
  const PassDef* list[] = {&pass_of("eliminate_identity"), &kNotes};
  std::string error_text;
  PassManagerOptions options;
  options.rewrite_limit = 2;
  options.print = [&](std::string_view text) { error_text += text; };
  run_passes(*graph, list, options);
  EXPECT_EQ(handed, "-1 0 none 7 false false a b of 3 nodes");  // the model as the list began
  EXPECT_EQ(error_text, "said");
  options.max_tensor_size = 12;
  options.fp16_skip_op_types = {"Softmax"};
  options.precision.fp8_weights_only = true;
  options.arguments["notes"] = {
      {"word", "w"}, {"number", "-1"}, {"on", "1"}, {"list", ""}, {"lines", "one two\nthree"}};
  options.arguments["eliminate_deadend"] = {{"nobody", "looks"}};  // it is not in the list
  ir::Graph other;
  options.origin = &other;
  run_passes(*graph, list, options);
  EXPECT_EQ(handed, "12 1 w -1 true true one two three of 0 nodes");
  EXPECT_EQ(origin_of_pass, &other);
  EXPECT_EQ(message_of([&] { PassContext().text("nobody"); }),
            "the pass has no parameter 'nobody'");
}

TEST(PassManager, ArgumentsAreCheckedBeforeAnyWork) {
  const auto graph = test::parsed(kTwoIdentities);
  const auto refused = [&](const PassDef& pass, Arguments arguments) {
    const std::vector<PassCall> calls{{&pass_of("eliminate_identity"), {}},
                                      {&pass, std::move(arguments)}};
    const std::string message = message_of([&] { run_passes(*graph, calls); });
    EXPECT_EQ(graph->node_count(), 3u);
    return message;
  };
  EXPECT_EQ(refused(kNotes, {{"numbr", "1"}}),
            "pass notes has no parameter 'numbr'; its parameters are: word, number, on, list, "
            "lines");
  EXPECT_EQ(refused(pass_of("sort_graph"), {{"x", "1"}}),
            "pass sort_graph has no parameter 'x'; it has none");
  EXPECT_EQ(refused(kNotes, {{"on", "maybe"}}),
            "pass notes: parameter on: expected True or False, found 'maybe'");
  EXPECT_EQ(refused(pass_of("remove_outputs"), {}),
            "pass remove_outputs needs its parameter 'outputs': names of outputs");
  EXPECT_EQ(refused(pass_of("remove_outputs"), {{"outputs", ""}}),
            "pass remove_outputs needs its parameter 'outputs': names of outputs");
}

void break_order(ir::Graph& graph, PassContext&) {
  const std::vector<ir::Node*> nodes = graph.nodes();
  graph.move_before(nodes[1], nodes[0]);
}

TEST(PassManager, VerifiesAfterEachPassUnlessDisabled) {
  const PassDef breaks{.name = "breaks", .summary = "s", .run = break_order};
  const PassDef* list[] = {&breaks};
  const std::string m = message_of([&] { run_passes(*test::parsed(kTwoIdentities), list); });
  EXPECT_EQ(m.rfind("pass breaks: ", 0), 0u) << m;
  EXPECT_EQ(
      message_of([&] { run_passes(*test::parsed(kTwoIdentities), list, {.verify_each = false}); }),
      "nothing was thrown");
}

// Passes that count no rewrite are verified together, after the last of them.
TEST(PassManager, PassesThatCountNoRewriteAreVerifiedBeforeTheNextRewriteAndAtTheEnd) {
  const PassDef breaks{.name = "breaks", .summary = "s", .run = break_order};
  const PassDef does_nothing{
      .name = "idle", .summary = "s", .run = [](ir::Graph&, PassContext&) {}};
  const PassDef counts{.name = "counts", .summary = "s", .run = [](ir::Graph&, PassContext& c) {
                         EXPECT_TRUE(c.allow());
                       }};
  const auto refusal = [](std::vector<const PassDef*> list) {
    return message_of([&] { run_passes(*test::parsed(kTwoIdentities), list); });
  };
  EXPECT_EQ(refusal({&breaks, &does_nothing})
                .rfind("one of the passes breaks, idle, which count no rewrite: ", 0),
            0u);
  EXPECT_EQ(refusal({&does_nothing, &breaks, &counts}).rfind("pass counts: ", 0), 0u);
  EXPECT_EQ(refusal({&does_nothing, &counts}), "nothing was thrown");
}

void nothing(ir::Graph&, PassContext&) {}
const PassDef kFirst{.name = "first", .summary = "s", .run = nothing, .before = {"second"}};
const PassDef kSecond{.name = "second", .summary = "s", .run = nothing};
const PassDef kNeedsFirst{.name = "third", .summary = "s", .run = nothing, .depend = {"first"}};
const PassDef kHatesFirst{.name = "fourth", .summary = "s", .run = nothing, .against = {"first"}};

void check(std::vector<const PassDef*> list) { check_order(list); }

TEST(CheckOrder, AcceptsAndRefuses) {
  EXPECT_NO_THROW(check({&kFirst, &kSecond, &kNeedsFirst}));
  EXPECT_THROW(check({&kSecond, &kFirst}), Error);
  EXPECT_THROW(check({&kNeedsFirst, &kFirst}), Error);
  EXPECT_THROW(check({&kFirst, &kHatesFirst}), Error);
}

TEST(CheckOrder, NamesBothPasses) {
  const auto refusal = [](std::vector<const PassDef*> list) {
    return message_of([&] { check_order(list); });
  };
  EXPECT_EQ(refusal({&kSecond, &kFirst}), "pass first must run before second, which is before it");
  EXPECT_EQ(refusal({&kNeedsFirst, &kFirst}),
            "pass third must run after first, which is not before it");
  EXPECT_EQ(refusal({&kSecond, &kNeedsFirst}),
            "pass third must run after first, which is not before it");
  EXPECT_EQ(refusal({&kFirst, &kHatesFirst}), "passes fourth and first exclude each other");
  EXPECT_EQ(refusal({&kHatesFirst, &kFirst}), "passes fourth and first exclude each other");
}

TEST(CheckOrder, AcceptsARepeatedPassIfOneRunFits) {
  EXPECT_NO_THROW(check({&kFirst, &kSecond, &kFirst}));
  EXPECT_NO_THROW(check({&kFirst, &kSecond, &kFirst, &kSecond}));
  EXPECT_NO_THROW(check({&kFirst, &kFirst}));
  EXPECT_NO_THROW(check({&kFirst, &kNeedsFirst, &kNeedsFirst}));
  EXPECT_THROW(check({&kSecond, &kFirst, &kFirst}), Error);
}

// Tries every two passes in both orders: the required order is kept for any order of the user.
TEST(SortPasses, OrdersEachPairAsDeclared) {
  const auto holds = [](std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  int sorted_pairs = 0;
  for (const PassDef* a : all_passes())
    for (const PassDef* b : all_passes()) {
      if (a == b) continue;
      SCOPED_TRACE(std::string(a->name) + ", " + std::string(b->name));
      const std::vector<std::string> names{std::string(a->name), std::string(b->name)};
      std::vector<const PassDef*> sorted;
      try {
        sorted = sort_passes(names);
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::failed_precondition);
        bool excluded = false;
        for (const PassDef* p : {a, b})
          for (const PassDef* q : {a, b}) excluded |= holds(p->against, q->name);
        EXPECT_TRUE(excluded || !a->depend.empty() || !b->depend.empty()) << e.message();
        continue;
      }
      EXPECT_NO_THROW(check_order(sorted));
      const auto place = [&](const PassDef* p) {
        return std::find(sorted.begin(), sorted.end(), p) - sorted.begin();
      };
      ASSERT_LT(place(a), static_cast<std::ptrdiff_t>(sorted.size()));
      ASSERT_LT(place(b), static_cast<std::ptrdiff_t>(sorted.size()));
      for (const PassDef* p : {a, b})
        for (const std::string_view needed : p->depend)
          EXPECT_LT(place(find_pass(needed)), place(p)) << needed;
      const bool turned = holds(b->before, a->name) || holds(a->depend, b->name);
      if (a->depend.empty() && b->depend.empty()) {
        EXPECT_EQ(sorted.size(), 2u);
        EXPECT_EQ(place(a) < place(b), !turned);
      }
      sorted_pairs++;
    }
  EXPECT_GT(sorted_pairs, 100);
}

TEST(SortPasses, KeepsTheOrderThatTheUserGave) {
  const std::vector<std::string> names{"sort_graph", "eliminate_identity", "eliminate_deadend"};
  const auto sorted = sort_passes(names);
  ASSERT_EQ(sorted.size(), 3u);
  for (size_t i = 0; i < 3; i++) EXPECT_EQ(sorted[i]->name, names[i]);
  const std::vector<std::string> wrong{"no_such_pass"};
  EXPECT_THROW(sort_passes(wrong), Error);
}

}  // namespace
}  // namespace poprt::passes
