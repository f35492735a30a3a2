// The fields of requests to /v1/completions: their meaning, their limits, and the messages of those
// that are refused.
#include "serve/generation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace poprt::serve {
namespace {

using Json = nlohmann::ordered_json;

// A request with these fields instead of the usual ones. Null removes one.
CompletionRequest parsed(const Json& fields) {
  Json json = {{"model", "m"}, {"prompt", {1, 2}}};
  for (const auto& [name, value] : fields.items()) json[name] = value;
  return parse_completion(json.dump());
}

std::string refused(const Json& fields) {
  try {
    parsed(fields);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), POPRT_INVALID_ARGUMENT);
    return e.what();
  }
  return "taken";
}

double option(const CompletionRequest& request, std::string_view name) {
  double value = -7;
  for (const auto& [key, given] : request.options)
    if (key == name) value = given;
  return value;
}

TEST(ParseCompletion, FieldsThatAreNotGivenHaveTheirDefaults) {
  const CompletionRequest r = parsed(Json::object());
  EXPECT_EQ(r.model, "m");
  ASSERT_EQ(r.prompts.size(), 1u);
  EXPECT_EQ(r.prompts[0].tokens, (std::vector<int64_t>{1, 2}));
  EXPECT_FALSE(r.prompts[0].text);
  const std::pair<const char*, double> options[] = {
      {"max_new_tokens", 16}, {"temperature", 1},        {"top_p", 1},         {"top_k", 0},
      {"min_p", 0},           {"repetition_penalty", 1}, {"min_new_tokens", 0}};
  EXPECT_EQ(r.options.size(), std::size(options));
  for (const auto& [name, value] : options) EXPECT_EQ(option(r, name), value) << name;
  EXPECT_TRUE(r.stop_tokens.empty() && r.stop_texts.empty());
  EXPECT_FALSE(r.seed);
  EXPECT_EQ(r.n, 1);
  EXPECT_EQ(r.min_tokens, 0);
  EXPECT_FALSE(r.stream || r.include_usage || r.log_probabilities);
  EXPECT_EQ(r.top_log_probabilities, 0);
  EXPECT_TRUE(r.add_special_tokens);
}

TEST(ParseCompletion, EachFieldHasItsValue) {
  const CompletionRequest r = parsed({{"max_tokens", 3},
                                      {"temperature", 0.25},
                                      {"top_p", 0.5},
                                      {"top_k", 4},
                                      {"min_p", 0.125},
                                      {"repetition_penalty", 1.5},
                                      {"min_tokens", 2},
                                      {"stream", true},
                                      {"stream_options", {{"include_usage", true}}},
                                      {"ignore_eos", true},
                                      {"stop_token_ids", {7, 0}},
                                      {"seed", 11},
                                      {"n", 5},
                                      {"logprobs", 2},
                                      {"stop", {"a", "b"}},
                                      {"add_special_tokens", false}});
  const std::pair<const char*, double> options[] = {
      {"max_new_tokens", 3}, {"temperature", 0.25}, {"top_p", 0.5},
      {"top_k", 4},          {"min_p", 0.125},      {"repetition_penalty", 1.5},
      {"min_new_tokens", 2}, {"ignore_stop", 1},    {"wait_for_logits", 1}};
  EXPECT_EQ(r.options.size(), std::size(options));
  for (const auto& [name, value] : options) EXPECT_EQ(option(r, name), value) << name;
  EXPECT_TRUE(r.stream && r.include_usage && r.log_probabilities);
  EXPECT_EQ(r.stop_tokens, (std::vector<int64_t>{7, 0}));
  EXPECT_EQ(r.stop_texts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(r.seed, 11u);
  EXPECT_EQ(r.n, 5);
  EXPECT_EQ(r.min_tokens, 2);
  EXPECT_EQ(r.top_log_probabilities, 2);
  EXPECT_FALSE(r.add_special_tokens);
  const CompletionRequest other = parsed({{"logprobs", 0},
                                          {"ignore_eos", false},
                                          {"stop", "end"},
                                          {"stream", true},
                                          {"stream_options", {{"include_usage", false}}},
                                          {"temperature", nullptr},
                                          {"n", nullptr},
                                          {"nonsense", nullptr}});
  EXPECT_TRUE(other.log_probabilities);
  EXPECT_EQ(other.top_log_probabilities, 0);
  EXPECT_EQ(option(other, "wait_for_logits"), -7) << "nothing waits without top_logprobs";
  EXPECT_EQ(option(other, "ignore_stop"), 0);
  EXPECT_EQ(option(other, "temperature"), 1);
  EXPECT_EQ(other.stop_texts, std::vector<std::string>{"end"});
  EXPECT_FALSE(other.include_usage);
  EXPECT_EQ(parsed({{"min_tokens", -3}}).min_tokens, 0);
  EXPECT_EQ(parsed({{"max_tokens", 1e20}, {"min_tokens", 1e20}}).min_tokens, 1'000'000'000);
  EXPECT_EQ(refused({{"min_tokens", 17}}),
            "'min_tokens': expected at most 'max_tokens', which is 16");
}

TEST(ParseCompletion, PromptsAreTextsOrTokens) {
  const auto prompts = [](const Json& prompt) { return parsed({{"prompt", prompt}}).prompts; };
  EXPECT_EQ(prompts("a text")[0].text, "a text");
  EXPECT_EQ(prompts({0, 1000000000000000})[0].tokens, (std::vector<int64_t>{0, 1000000000000000}));
  const auto several = prompts({"a", {3, 4}, ""});
  ASSERT_EQ(several.size(), 3u);
  EXPECT_EQ(several[0].text, "a");
  EXPECT_EQ(several[1].tokens, (std::vector<int64_t>{3, 4}));
  EXPECT_FALSE(several[1].text);
  EXPECT_EQ(several[2].text, "");
  EXPECT_EQ(prompts({{1}, {2}}).size(), 2u);
  const std::string
      any = "'prompt': expected a text, an array of tokens, or an array of such prompts",
      tokens = "'prompt': expected an array of tokens",
      numbers = tokens + ", which are numbers from 0";
  for (const Json& wrong : {Json::array(), Json(5), Json::object(), Json(true)})
    EXPECT_EQ(refused({{"prompt", wrong}}), any);
  for (const Json& wrong : {Json{-1}, Json{1.0}, Json{1, "a"}, Json{1000000000000001}})
    EXPECT_EQ(refused({{"prompt", wrong}}), numbers) << wrong;
  EXPECT_EQ(refused({{"prompt", {"a", 1}}}), tokens);
  EXPECT_EQ(refused({{"prompt", nullptr}}), "'prompt': expected a text or an array of tokens");
  EXPECT_EQ(refused({{"stop_token_ids", 7}}), "'stop_token_ids': expected an array of tokens");
  EXPECT_EQ(refused({{"stop_token_ids", {-1}}}),
            "'stop_token_ids': expected an array of tokens, which are numbers from 0");
}

TEST(ParseCompletion, FieldsHaveLimits) {
  const std::string stop =
      "'stop': expected a text, or an array of up to 16 texts, of 1 to 1024 bytes";
  const std::pair<Json, std::string> cases[] = {
      {{{"max_tokens", 1}}, "taken"},
      {{{"max_tokens", 0.5}}, "'max_tokens': expected at least 1"},
      {{{"temperature", 0}}, "taken"},
      {{{"top_k", "3"}}, "'top_k': expected a number"},
      {{{"n", 128}}, "taken"},
      {{{"n", 1}}, "taken"},
      {{{"n", 0}}, "'n': expected a whole number from 1 to 128"},
      {{{"n", 129}}, "'n': expected a whole number from 1 to 128"},
      {{{"n", 1.0}}, "'n': expected a whole number from 1 to 128"},
      {{{"seed", 0}}, "taken"},
      {{{"seed", (1LL << 53) - 128}}, "taken"},
      {{{"seed", (1LL << 53) - 127}}, "'seed': expected a whole number from 0 to 2^53 - 128"},
      {{{"seed", -1}}, "'seed': expected a whole number from 0 to 2^53 - 128"},
      {{{"logprobs", 20}}, "taken"},
      {{{"logprobs", 21}}, "'logprobs': expected a whole number from 0 to 20"},
      {{{"logprobs", true}}, "'logprobs': expected a whole number from 0 to 20"},
      {{{"stop", std::vector<std::string>(16, "x")}}, "taken"},
      {{{"stop", std::vector<std::string>(17, "x")}}, stop},
      {{{"stop", std::string(1024, 'x')}}, "taken"},
      {{{"stop", std::string(1025, 'x')}}, stop},
      {{{"stop", Json::array()}}, "taken"},
      {{{"stop", {"a", ""}}}, stop},
      {{{"stop", 5}}, stop},
      {{{"stream", 1}}, "'stream': expected true or false"},
      {{{"stream_options", {{"include_usage", 1}}}}, "'include_usage': expected true or false"},
      {{{"stream_options", {{"more", true}}}}, "'stream_options': 'more' is not known"},
      {{{"stream_options", true}}, "'stream_options': expected an object"},
      {{{"model", ""}}, "'model': expected the name of a generator"},
      {{{"model", 3}}, "'model': expected the name of a generator"},
      {{{"model", nullptr}}, "'model': expected the name of a generator"},
      {{{"nonsense", 3}}, "'nonsense': the field is not supported"}};
  for (const auto& [fields, wanted] : cases) EXPECT_EQ(refused(fields), wanted) << fields;
}

// All texts of a request are counted, those of each prompt `n` times.
TEST(ParseCompletion, ARequestHasAtMost128Texts) {
  const std::string most = "the request has more than 128 texts, counting 'n' for each prompt";
  const auto of = [](size_t prompts, int n) {
    return refused({{"prompt", std::vector<std::vector<int>>(prompts, {1})}, {"n", n}});
  };
  EXPECT_EQ(of(128, 1), "taken");
  EXPECT_EQ(of(129, 1), most);
  EXPECT_EQ(of(64, 2), "taken");
  EXPECT_EQ(of(65, 2), most);
  EXPECT_EQ(of(42, 3), "taken");
  EXPECT_EQ(of(43, 3), most);
  EXPECT_EQ(of(1, 128), "taken");
  EXPECT_EQ(of(2, 65), most);
}

TEST(ParseCompletion, FieldsOfOtherServersRequestNothing) {
  const std::string rest = ": the server does not support it";
  struct {
    const char* name;
    std::vector<Json> taken, refused;
    const char* expected;
  } const cases[] = {
      {"frequency_penalty", {0, 0.0}, {0.5, "0", true}, "0"},
      {"presence_penalty", {0, 0.0}, {-1, Json::object()}, "0"},
      {"best_of", {1}, {2, 0, 1.0, "1"}, "1"},
      {"echo", {false}, {true, 0}, "false"},
      {"suffix", {""}, {"x", 0}, "an empty text"},
      {"logit_bias", {Json::object()}, {Json({{"1", 2}}), Json::array()}, "an empty object"}};
  for (const auto& c : cases) {
    for (const Json& value : c.taken) EXPECT_EQ(refused({{c.name, value}}), "taken") << c.name;
    for (const Json& value : c.refused)
      EXPECT_EQ(refused({{c.name, value}}),
                "'" + std::string(c.name) + "': expected " + c.expected + rest)
          << value;
  }
  EXPECT_EQ(refused({{"user", "me"}}), "taken");
  EXPECT_EQ(refused({{"user", 5}}), "taken");
  EXPECT_EQ(refused({{"users", "me"}}), "'users': the field is not supported");
}

TEST(CompletionErrors, HaveTheTypeOfTheirStatus) {
  const std::pair<int, const char*> types[] = {
      {400, "invalid_request_error"}, {401, "authentication_error"},  {404, "not_found_error"},
      {405, "invalid_request_error"}, {413, "invalid_request_error"}, {429, "rate_limit_error"},
      {499, "invalid_request_error"}, {500, "server_error"},          {503, "server_error"}};
  for (const auto& [status, type] : types)
    EXPECT_EQ(format_completion_error(status, "why \"\xff"),
              "{\"error\":{\"message\":\"why \\\"\xef\xbf\xbd\",\"type\":\"" + std::string(type) +
                  "\",\"param\":null,\"code\":null}}");
}

}  // namespace
}  // namespace poprt::serve
