// The registrations that init() of a plug-in may make, and the messages of those that are refused.
#include "plugins/registration.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <vector>

#include "base/log.h"
#include "poprt/log.h"
#include "poprt/version.h"

namespace poprt::plugins {
namespace {

using Init = std::function<int32_t(const poprt_plugin_host*, poprt_plugin_registry*)>;
Init the_init;

int32_t call_init(const poprt_plugin_host* host, poprt_plugin_registry* registry) {
  return the_init(host, registry);
}

const poprt_plugin kPlugin = {POPRT_PLUGIN_ABI, 0,     sizeof(poprt_plugin),
                              "a-plug.in_1",    "2.0", call_init};

// The error of a plug-in with this init(), or what it registered.
std::string message_for(Init init, Library& library, const poprt_plugin& plugin = kPlugin) {
  the_init = std::move(init);
  try {
    initialize(plugin, library);
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
  return fmt::format("{} {} {} {}", library.operators.size(), library.passes.size(),
                     library.patterns.size(), library.transforms.size());
}
std::string message_for(Init init) {
  Library library;
  return message_for(std::move(init), library);
}

int32_t compute(const poprt_op_call*, void*, void*) { return POPRT_OK; }
int32_t parts(const poprt_op_call*, void*, int64_t*, void*) { return POPRT_OK; }
int32_t compute_part(const poprt_op_call*, void*, int64_t, int64_t, void*) { return POPRT_OK; }
int32_t run_pass(const poprt_graph_host*, poprt_graph*, void*) { return POPRT_OK; }
int32_t on_node(const poprt_graph_host*, poprt_node*, void*) { return POPRT_OK; }
int32_t transforms(const poprt_graph_host*, poprt_graph*, const char*, void*) { return POPRT_OK; }

poprt_operator an_operator() {
  poprt_operator op{};
  op.struct_size = sizeof op;
  op.domain = "org.example";
  op.name = "Twice";
  op.version = 1;
  op.compute = compute;
  return op;
}
poprt_pass a_pass() {
  poprt_pass pass{};
  pass.struct_size = sizeof pass;
  pass.name = "tidy";
  pass.run = run_pass;
  return pass;
}
poprt_pattern a_pattern() {
  poprt_pattern pattern{};
  pattern.struct_size = sizeof pattern;
  pattern.name = "fold";
  pattern.matches = pattern.apply = on_node;
  return pattern;
}
poprt_transform a_transform() {
  poprt_transform transform{};
  transform.struct_size = sizeof transform;
  transform.name = "shape";
  transform.apply = transforms;
  return transform;
}

std::string added(const poprt_operator& op) {
  return message_for(
      [&](const auto* host, auto* registry) { return host->add_operator(registry, &op); });
}
std::string added(const poprt_pass& pass) {
  return message_for(
      [&](const auto* host, auto* registry) { return host->add_pass(registry, &pass); });
}
std::string added(const poprt_pattern& pattern) {
  return message_for(
      [&](const auto* host, auto* registry) { return host->add_pattern(registry, &pattern); });
}
std::string added(const poprt_transform& transform) {
  return message_for(
      [&](const auto* host, auto* registry) { return host->add_transform(registry, &transform); });
}
template <class T, class Change>
std::string changed(T row, Change&& change) {
  change(row);
  return added(row);
}

TEST(Registration, ThePluginDescribesItself) {
  Library library;
  EXPECT_EQ(message_for([](const auto*, auto*) { return POPRT_OK; }, library), "0 0 0 0");
  EXPECT_EQ(library.name, "a-plug.in_1");
  EXPECT_EQ(library.version, "2.0");
  const auto with = [](const std::function<void(poprt_plugin&)>& change) {
    poprt_plugin plugin = kPlugin;
    change(plugin);
    Library other;
    const std::string text =
        message_for([](const auto*, auto*) { return POPRT_OK; }, other, plugin);
    EXPECT_EQ(other.version, text == "0 0 0 0" && plugin.version ? "2.0" : "");
    return text;
  };
  EXPECT_EQ(with([](auto& p) { p.version = nullptr; }), "0 0 0 0");
  EXPECT_EQ(with([](auto& p) { p.struct_size++; }), "0 0 0 0");
  EXPECT_EQ(with([](auto& p) { p.struct_size = 39; }),
            "invalid_argument: struct_size of poprt_plugin is 39, expected 40");
  const std::string wrong = "expected 1 to 128 letters, digits and characters of '_-.'";
  EXPECT_EQ(with([](auto& p) { p.name = nullptr; }),
            "invalid_argument: name of the plug-in '': " + wrong);
  EXPECT_EQ(with([](auto& p) { p.name = "a b"; }),
            "invalid_argument: name of the plug-in 'a b': " + wrong);
}

TEST(Registration, APluginWithoutInitIsRefused) {
  poprt_plugin plugin = kPlugin;
  plugin.init = nullptr;
  Library library;
  EXPECT_EQ(message_for({}, library, plugin), "invalid_argument: the plug-in has no init()");
}

TEST(Registration, HostReportsItsSizeAndVersion) {
  message_for([](const poprt_plugin_host* host, auto*) {
    EXPECT_EQ(host->struct_size, sizeof(poprt_plugin_host));
    EXPECT_EQ(host->poprt_version, POPRT_VERSION);
    EXPECT_EQ(host->reserved, 0);
    return POPRT_OK;
  });
}

TEST(Registration, FailuresOfInitAreItsErrors) {
  EXPECT_EQ(message_for([](const auto*, auto*) { return POPRT_UNAVAILABLE; }),
            "unavailable: init: returned 14 without a message");
  EXPECT_EQ(message_for([](const auto*, auto*) { return 99; }),
            "unknown: init: returned 99 without a message");
  EXPECT_EQ(message_for([](const auto* host, auto* registry) {
              EXPECT_EQ(host->fail(registry, POPRT_NOT_FOUND, "no %s of %d\nmore", "driver", 3),
                        POPRT_NOT_FOUND);
              EXPECT_EQ(host->fail(registry, POPRT_INTERNAL, "another"), POPRT_INTERNAL);
              return POPRT_OK;
            }),
            "not_found: init: no driver of 3");
  EXPECT_EQ(
      message_for([](const auto*, auto*) -> int32_t { throw std::runtime_error("no licence"); }),
      "internal: init: threw an exception: no licence");
  EXPECT_EQ(message_for([](const auto*, auto*) -> int32_t { throw 7; }),
            "internal: init: threw an exception that is no std::exception");
}

TEST(Registration, FunctionsWithoutARegistryFail) {
  message_for([](const poprt_plugin_host* host, auto*) {
    const poprt_operator op = an_operator();
    EXPECT_EQ(host->add_operator(nullptr, &op), POPRT_INVALID_ARGUMENT);
    EXPECT_EQ(host->fail(nullptr, POPRT_UNAVAILABLE, "x"), POPRT_UNAVAILABLE);
    return POPRT_OK;
  });
}

TEST(Registration, CopiesWhatPlugInsAdd) {
  Library library;
  char name[] = "tidy", summary[] = "tidies", condition[] = "of trees", key[] = "depth",
       standard[] = "3";
  const auto init = [&](const poprt_plugin_host* host, poprt_plugin_registry* registry) {
    const poprt_pass_parameter parameter = {sizeof parameter,        key, summary,
                                            POPRT_PARAMETER_INTEGER, 0,   standard};
    const poprt_pass_parameter* const list[] = {&parameter};
    poprt_pass pass = a_pass();
    pass.name = name;
    pass.summary = summary;
    pass.condition = condition;
    pass.parameters = list;
    pass.parameter_count = 1;
    poprt_operator op = an_operator();
    op.name = name;
    op.domain = key;
    op.flags = 15;
    op.parts = parts;
    op.compute_part = compute_part;
    poprt_pattern pattern = a_pattern();
    pattern.name = name;
    pattern.summary = summary;
    pattern.enabled = 5;
    pattern.mandatory = 6;
    poprt_transform transform = a_transform();
    transform.name = name;
    for (const int32_t code :
         {host->add_pass(registry, &pass), host->add_operator(registry, &op),
          host->add_pattern(registry, &pattern), host->add_transform(registry, &transform)})
      EXPECT_EQ(code, POPRT_OK);
    for (char* text : {name, summary, condition, key, standard}) text[0] = '?';
    return POPRT_OK;
  };
  ASSERT_EQ(message_for(init, library), "1 1 1 1");
  const poprt_pass& pass = library.passes[0];
  EXPECT_STREQ(pass.name, "tidy");
  EXPECT_STREQ(pass.summary, "tidies");
  EXPECT_STREQ(pass.condition, "of trees");
  EXPECT_EQ(pass.run, run_pass);
  ASSERT_EQ(pass.parameter_count, 1u);
  EXPECT_STREQ(pass.parameters[0]->name, "depth");
  EXPECT_STREQ(pass.parameters[0]->summary, "tidies");
  EXPECT_STREQ(pass.parameters[0]->standard, "3");
  EXPECT_EQ(pass.parameters[0]->kind, POPRT_PARAMETER_INTEGER);
  EXPECT_STREQ(library.operators[0].domain, "depth");
  EXPECT_STREQ(library.operators[0].name, "tidy");
  EXPECT_EQ(library.operators[0].flags, 15u);
  EXPECT_STREQ(library.patterns[0].name, "tidy");
  EXPECT_STREQ(library.patterns[0].summary, "tidies");
  EXPECT_EQ(library.patterns[0].enabled, 5);
  EXPECT_EQ(library.patterns[0].mandatory, 6);
  EXPECT_STREQ(library.transforms[0].name, "tidy");
  EXPECT_STREQ(library.transforms[0].summary, "") << "null is no text";
}

TEST(Registration, OperatorsAreChecked) {
  const std::string no = "invalid_argument: init: ", old = "failed_precondition: init: ";
  EXPECT_EQ(added(an_operator()), "1 0 0 0");
  EXPECT_EQ(changed(an_operator(), [](auto& o) { o.name = "a b"; }),
            no + "operator 'a b': expected 1 to 128 letters, digits and characters of '_'");
  EXPECT_EQ(changed(an_operator(), [](auto& o) { o.domain = ""; }),
            no + "domain of an operator '': expected 1 to 128 letters, digits and characters of "
                 "'_.-'");
  for (const char* domain : {"ai.onnx", "poprt", "ai.onnx.ml"})
    EXPECT_EQ(changed(an_operator(), [&](auto& o) { o.domain = domain; }),
              no + "operator 'Twice': domain '" + domain +
                  "' belongs to ONNX or poprt, choose one of your own");
  for (const char* domain : {"ai.onnxish", "poprt.more", "ai.graphcore"})
    EXPECT_EQ(changed(an_operator(), [&](auto& o) { o.domain = domain; }), "1 0 0 0");
  EXPECT_EQ(changed(an_operator(), [](auto& o) { o.version = 0; }),
            no + "operator 'Twice': version 0, expected 1 or more");
  EXPECT_EQ(changed(an_operator(), [](auto& o) { o.flags = 0x31; }),
            old + "operator 'Twice': flags 0x30 are unknown");
  EXPECT_EQ(changed(an_operator(), [](auto& o) { o.compute = nullptr; }),
            no + "operator 'Twice' has no compute()");
  EXPECT_EQ(changed(an_operator(), [](auto& o) { o.parts = parts; }),
            no + "operator 'Twice' has no compute_part()");
  EXPECT_EQ(changed(an_operator(), [](auto& o) { o.compute_part = compute_part; }),
            no + "operator 'Twice' has no parts()");
  EXPECT_EQ(message_for([](const auto* host, auto* registry) {
              const poprt_operator op = an_operator();
              poprt_operator elsewhere = op;
              elsewhere.domain = "org.other";
              host->add_operator(registry, &op);
              EXPECT_EQ(host->add_operator(registry, &elsewhere), POPRT_OK);
              EXPECT_EQ(host->add_operator(registry, &op), POPRT_ALREADY_EXISTS);
              return POPRT_OK;
            }),
            "already_exists: init: operator org.example.Twice is added twice");
}

// The first of several faults is reported. Names come first, because the other messages have them.
TEST(Registration, NamesAreCheckedBeforeTheRest) {
  const std::string no = "invalid_argument: init: ",
                    letters = " '': expected 1 to 128 letters, digits and characters of '_'";
  EXPECT_EQ(changed(an_operator(), [](auto& o) { o.name = o.domain = nullptr; }),
            no + "operator" + letters);
  EXPECT_EQ(changed(a_pass(),
                    [](auto& p) {
                      p.name = nullptr;
                      p.run = nullptr;
                    }),
            no + "pass" + letters);
  EXPECT_EQ(changed(a_pattern(),
                    [](auto& p) {
                      p.name = nullptr;
                      p.matches = nullptr;
                    }),
            no + "pattern" + letters);
  EXPECT_EQ(changed(a_transform(),
                    [](auto& t) {
                      t.name = nullptr;
                      t.apply = nullptr;
                    }),
            no + "transform" + letters);
  EXPECT_EQ(changed(a_pattern(), [](auto& p) { p.matches = p.apply = nullptr; }),
            no + "pattern 'fold' has no matches()");
}

TEST(Registration, NamesHaveAtMost128Characters) {
  const std::string longest(128, 'Z'), longer(129, 'Z');
  EXPECT_EQ(changed(an_operator(), [&](auto& o) { o.name = longest.c_str(); }), "1 0 0 0");
  EXPECT_NE(changed(an_operator(), [&](auto& o) { o.name = longer.c_str(); }), "1 0 0 0");
  EXPECT_EQ(changed(an_operator(), [&](auto& o) { o.name = "azAZ09_"; }), "1 0 0 0");
  for (const char* name : {"`", "{", "@", "[", "/", ":", "-", "."})
    EXPECT_NE(changed(an_operator(), [&](auto& o) { o.name = name; }), "1 0 0 0") << name;
}

TEST(Registration, PassesPatternsAndTransformsAreChecked) {
  const std::string no = "invalid_argument: init: ";
  EXPECT_EQ(added(a_pass()), "0 1 0 0");
  EXPECT_EQ(added(a_pattern()), "0 0 1 0");
  EXPECT_EQ(added(a_transform()), "0 0 0 1");
  const std::string letters = ": expected 1 to 128 letters, digits and characters of '_'";
  EXPECT_EQ(changed(a_pass(), [](auto& p) { p.name = "-"; }), no + "pass '-'" + letters);
  EXPECT_EQ(changed(a_pattern(), [](auto& p) { p.name = "-"; }), no + "pattern '-'" + letters);
  EXPECT_EQ(changed(a_transform(), [](auto& p) { p.name = "-"; }), no + "transform '-'" + letters);
  EXPECT_EQ(changed(a_pass(), [](auto& p) { p.run = nullptr; }), no + "pass 'tidy' has no run()");
  EXPECT_EQ(changed(a_pattern(), [](auto& p) { p.matches = nullptr; }),
            no + "pattern 'fold' has no matches()");
  EXPECT_EQ(changed(a_pattern(), [](auto& p) { p.apply = nullptr; }),
            no + "pattern 'fold' has no apply()");
  EXPECT_EQ(changed(a_transform(), [](auto& p) { p.apply = nullptr; }),
            no + "transform 'shape' has no apply()");
  EXPECT_EQ(changed(a_pass(), [](auto& p) { p.parameter_count = 2; }),
            no + "pass 'tidy' has 2 parameters, which are null");
  const poprt_pass pass = a_pass();
  const poprt_pattern pattern = a_pattern();
  const poprt_transform transform = a_transform();
  EXPECT_EQ(message_for([&](const auto* host, auto* registry) {
              host->add_pass(registry, &pass);
              return host->add_pass(registry, &pass);
            }),
            "already_exists: init: pass 'tidy' is added twice");
  EXPECT_EQ(message_for([&](const auto* host, auto* registry) {
              host->add_pattern(registry, &pattern);
              return host->add_pattern(registry, &pattern);
            }),
            "already_exists: init: pattern 'fold' is added twice");
  EXPECT_EQ(message_for([&](const auto* host, auto* registry) {
              host->add_transform(registry, &transform);
              return host->add_transform(registry, &transform);
            }),
            "already_exists: init: transform 'shape' is added twice");
}

TEST(Registration, ParametersOfPassesAreChecked) {
  const auto with = [](std::vector<poprt_pass_parameter> parameters) {
    std::vector<const poprt_pass_parameter*> list;
    for (const poprt_pass_parameter& p : parameters) list.push_back(&p);
    return changed(a_pass(), [&](poprt_pass& pass) {
      pass.parameters = list.data();
      pass.parameter_count = list.size();
    });
  };
  const poprt_pass_parameter good = {sizeof good, "depth", "", POPRT_PARAMETER_TEXT, 0, "x"};
  const auto other = [&](const std::function<void(poprt_pass_parameter&)>& change) {
    poprt_pass_parameter p = good;
    change(p);
    return with({p});
  };
  EXPECT_EQ(with({good}), "0 1 0 0");
  EXPECT_EQ(other([](auto& p) { p.kind = POPRT_PARAMETER_WORDS; }), "0 1 0 0");
  EXPECT_EQ(other([](auto& p) { p.required = 1, p.standard = nullptr; }), "0 1 0 0");
  const std::string version = fmt::format("{}", POPRT_VERSION);
  for (const int kind : {POPRT_PARAMETER_TEXT - 1, POPRT_PARAMETER_WORDS + 1})
    EXPECT_EQ(other([&](auto& p) { p.kind = kind; }),
              fmt::format("failed_precondition: init: pass 'tidy': parameter 'depth' has kind {}, "
                          "which this poprt ({}) does not have: update it",
                          kind, version));
  EXPECT_EQ(other([](auto& p) { p.required = 1; }),
            "invalid_argument: init: pass 'tidy': parameter 'depth' is required, its default 'x' "
            "would never be used");
  EXPECT_EQ(other([](auto& p) { p.name = "a-b"; }),
            "invalid_argument: init: parameter of pass 'tidy' 'a-b': expected 1 to 128 letters, "
            "digits and characters of '_'");
  EXPECT_EQ(with({good, good}),
            "already_exists: init: pass 'tidy': parameter 'depth' is there twice");
  EXPECT_EQ(
      other([](auto& p) { p.struct_size = 8; }),
      "invalid_argument: init: a parameter of pass 'tidy': struct_size is 8, set it to sizeof "
      "of the struct");
}

// A plug-in may be older or newer than this library.
TEST(Registration, StructsOfOtherVersionsAreReadAsFarAsTheyGo) {
  const std::string no = "invalid_argument: init: operator: struct_size is ";
  EXPECT_EQ(changed(an_operator(),
                    [](auto& o) {
                      o.struct_size = offsetof(poprt_operator, parts);
                      o.parts = parts;  // memory after the struct
                    }),
            "1 0 0 0");
  EXPECT_EQ(changed(an_operator(), [](auto& o) { o.struct_size = 0; }),
            no + "0, set it to sizeof of the struct");
  const size_t least = offsetof(poprt_operator, name) + sizeof(const char*);
  EXPECT_EQ(changed(an_operator(), [&](auto& o) { o.struct_size = least - 1; }),
            no + fmt::format("{}, set it to sizeof of the struct", least - 1));
  EXPECT_EQ(changed(an_operator(), [&](auto& o) { o.struct_size = least; }),
            "invalid_argument: init: operator 'Twice': version 0, expected 1 or more");
  struct Newer {
    poprt_operator op = an_operator();
    char more[2] = {};
  } newer;
  newer.op.struct_size = sizeof newer.op + 2;
  EXPECT_EQ(added(newer.op), "1 0 0 0");
  newer.more[1] = 1;
  EXPECT_EQ(added(newer.op),
            fmt::format("failed_precondition: init: operator: a field past byte {} is set, which "
                        "this poprt ({}) does not have: update it",
                        sizeof newer.op, POPRT_VERSION));
  EXPECT_EQ(message_for(
                [](const auto* host, auto* registry) { return host->add_pass(registry, nullptr); }),
            "invalid_argument: init: pass: the struct is null");
}

std::vector<std::pair<int32_t, std::string>> logged_lines;
void take_line(int32_t level, const char* message) { logged_lines.emplace_back(level, message); }

TEST(Registration, MessagesOfPluginsAreLogged) {
  logged_lines.clear();
  set_log_receiver(take_line);
  const LogLevel before = log().level();
  log().set_level(LogLevel::trace);
  for (const int32_t level :
       std::vector<int32_t>{POPRT_LOG_TRACE, POPRT_LOG_DEBUG, POPRT_LOG_INFO, POPRT_LOG_WARNING,
                            POPRT_LOG_ERROR, POPRT_LOG_CRITICAL, 99})
    write_log(level, "note {}");
  write_log(POPRT_LOG_INFO, nullptr);
  log().set_level(before);
  set_log_receiver(nullptr);
  ASSERT_EQ(logged_lines.size(), 8u);
  const int32_t levels[] = {POPRT_LOG_DEBUG, POPRT_LOG_DEBUG, POPRT_LOG_INFO,  POPRT_LOG_WARNING,
                            POPRT_LOG_ERROR, POPRT_LOG_ERROR, POPRT_LOG_ERROR, POPRT_LOG_INFO};
  for (size_t i = 0; i < 8; i++) {
    EXPECT_EQ(logged_lines[i].first, levels[i]) << i;
    EXPECT_EQ(logged_lines[i].second, i < 7 ? "note {}" : "") << i;
  }
}

}  // namespace
}  // namespace poprt::plugins
