#include "ops/common/strings.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "ops/common/regex.h"

namespace poprt::ops {
namespace {

using Strings = std::vector<std::string>;

std::vector<Tensor> run(const std::string& op, std::vector<Tensor> inputs,
                        std::map<std::string, ir::Attribute> attributes = {}, size_t outputs = 1) {
  ir::Graph g;
  g.opsets[""] = 20;
  std::vector<ir::Value*> values;
  for (const Tensor& t : inputs) values.push_back(t.defined() ? g.add_constant("", t) : nullptr);
  ir::Node* n = g.add_node(op, "", values, outputs);
  for (auto& [key, value] : attributes) n->attributes[key] = value;
  return evaluate_strings(*n, inputs);
}

Tensor text(Strings s) {
  const auto n = static_cast<int64_t>(s.size());
  return Tensor::strings({n}, std::move(s));
}

TEST(Strings, ConcatBroadcasts) {
  const Tensor a = Tensor::strings({2, 1}, {"a", "b"}), b = Tensor::strings({3}, {"1", "2", "3"});
  const Tensor y = run("StringConcat", {a, b})[0];
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  EXPECT_EQ(y.string_values(), (Strings{"a1", "a2", "a3", "b1", "b2", "b3"}));
}

TEST(Strings, SplitPadsShortRows) {
  const auto y = run("StringSplit", {text({" a  b ", "c", ""})}, {}, 2);
  EXPECT_EQ(y[0].shape(), (Shape{3, 2}));
  EXPECT_EQ(y[0].string_values(), (Strings{"a", "b", "c", "", "", ""}));
  EXPECT_EQ(y[1].to_int64s(), (std::vector<int64_t>{2, 1, 0}));
}

TEST(Strings, SplitStopsAfterTheMostSplits) {
  const auto y = run("StringSplit", {text({"a--b--c"})},
                     {{"delimiter", std::string("--")}, {"maxsplit", int64_t{1}}}, 2);
  EXPECT_EQ(y[0].string_values(), (Strings{"a", "b--c"}));
}

TEST(Strings, NormalizerDropsStopWordsAndChangesCase) {
  const std::map<std::string, ir::Attribute> attributes = {
      {"case_change_action", std::string("UPPER")}, {"stopwords", Strings{"monday"}}};
  EXPECT_EQ(run("StringNormalizer", {text({"Monday", "tuesday", "\xC3\xA4rger"})}, attributes)[0]
                .string_values(),
            (Strings{"TUESDAY", "\xC3\x84RGER"}));
  EXPECT_EQ(run("StringNormalizer", {text({"monday"})}, attributes)[0].string_values(),
            Strings{""});
}

TEST(Strings, CastsNumbersBothWays) {
  EXPECT_EQ(run("Cast", {Tensor::of<float>({4}, {1.0f, -0.25f, 3e30f, INFINITY})},
                {{"to", int64_t{8}}})[0]
                .string_values(),
            (Strings{"1.0", "-0.25", "3e+30", "INF"}));
  EXPECT_EQ(run("Cast", {text({"9223372036854775807", "-3"})}, {{"to", int64_t{7}}})[0].to_int64s(),
            (std::vector<int64_t>{INT64_MAX, -3}));
  EXPECT_EQ(run("Cast", {text({"+1.5", "-INF"})}, {{"to", int64_t{1}}})[0].to_doubles(),
            (std::vector<double>{1.5, -INFINITY}));
  EXPECT_THROW(run("Cast", {text({"1x"})}, {{"to", int64_t{1}}}), Error);
}

TEST(Strings, MoversTreatStringsAsElements) {
  const Tensor x = text({"c", "a", "b", "a"});
  EXPECT_EQ(run("Gather", {x, Tensor::of<int64_t>({2}, {3, 0})})[0].string_values(),
            (Strings{"a", "c"}));
  EXPECT_EQ(run("Equal", {x, text({"c", "x", "b", ""})})[0].to_int64s(),
            (std::vector<int64_t>{1, 0, 1, 0}));
  EXPECT_EQ(run("Unique", {x}, {}, 4)[0].string_values(), (Strings{"a", "b", "c"}));
  EXPECT_THROW(run("Relu", {x}), Error);
}

bool matches(std::string_view pattern, std::string_view s) { return Regex(pattern).full_match(s); }

TEST(Strings, TfIdfVectorizerCountsWords) {
  const Tensor y = run("TfIdfVectorizer", {text({"b", "c", "b", "a", "b"})},
                       {{"mode", std::string("TF")},
                        {"min_gram_length", int64_t{1}},
                        {"max_gram_length", int64_t{2}},
                        {"max_skip_count", int64_t{0}},
                        {"ngram_counts", std::vector<int64_t>{0, 2}},
                        {"ngram_indexes", std::vector<int64_t>{0, 1, 2}},
                        {"pool_strings", Strings{"b", "z", "a", "b"}}})[0];
  EXPECT_EQ(y.dtype(), DType::f32);
  EXPECT_EQ(y.to_doubles(), (std::vector<double>{3, 0, 1}));
}

TEST(Regex, MatchesWholeTexts) {
  EXPECT_TRUE(matches("a(b|cd)*e", "abcdbe"));
  EXPECT_FALSE(matches("a(b|cd)*e", "abcdbex"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches("[^x-z]+", "abc"));
  EXPECT_FALSE(matches("[^x-z]+", "aby"));
  EXPECT_TRUE(matches("[]a]*", "a]a"));
  EXPECT_TRUE(matches("\\w+@\\w+\\.(com|org)", "me@home.org"));
  EXPECT_TRUE(matches("a{2,3}b{2}c{1,}d{0}", "aabbcc"));
  EXPECT_FALSE(matches("a{2,3}", "aaaa"));
  EXPECT_TRUE(matches("\\bab\\b.\\Bc?", "ab--") == false);
  EXPECT_TRUE(matches("a\\b \\bb", "a b"));
  EXPECT_FALSE(matches("a\\bb", "ab"));
  EXPECT_TRUE(matches("^.$", "\xC3\xA9")) << "one character of two bytes";
  EXPECT_FALSE(matches(".", "\n"));
}

TEST(Regex, BrokenPatternsAreErrors) {
  for (const char* p :
       {"(", ")", "a)", "[a", "*a", "\\", "\\q", "(?=a)", "[b-a]", "a{3,2}", "\\x1"})
    EXPECT_THROW(matches(p, "a"), Error) << p;
}

TEST(Regex, HostilePatternsEndSoon) {
  const std::string a(5000, 'a');
  EXPECT_FALSE(matches("(a*)*(a*)*(a*)*b", a));
  EXPECT_FALSE(matches("(a|aa)+b", a));
  EXPECT_THROW(matches("((a{1000}){1000}){1000}", "a"), Error);
  EXPECT_THROW(matches("((()){1000}){1000}", "a"), Error);
  EXPECT_THROW(matches(std::string(5000, '('), "a"), Error);
}

}  // namespace
}  // namespace poprt::ops
