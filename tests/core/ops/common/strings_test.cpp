#include "ops/common/strings.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace poprt::ops {
namespace {

using Strings = std::vector<std::string>;

std::vector<Tensor> run(const std::string& op, std::vector<Tensor> inputs,
                        std::map<std::string, ir::Attribute> attributes = {}, size_t outputs = 1,
                        const std::string& domain = "") {
  ir::Graph g;
  g.opsets[""] = 20;
  std::vector<ir::Value*> values;
  for (const Tensor& t : inputs) values.push_back(t.defined() ? g.add_constant("", t) : nullptr);
  ir::Node* n = g.add_node(op, domain, values, outputs);
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

// The results of Tokenizer are those of ONNX Runtime 1.32.
Tensor tokens(Strings s, std::map<std::string, ir::Attribute> attributes) {
  std::map<std::string, ir::Attribute> all = {
      {"mark", int64_t{0}}, {"mincharnum", int64_t{1}}, {"pad_value", std::string("#")}};
  for (auto& [key, value] : attributes) all[key] = value;
  return run("Tokenizer", {text(std::move(s))}, all, 1, "com.microsoft")[0];
}

TEST(Strings, TokenizerSplitsAtSeparatorsInTurn) {
  const Tensor y = tokens({"hello world", "a b  c", ""}, {{"separators", Strings{" "}}});
  EXPECT_EQ(y.shape(), (Shape{3, 3}));
  EXPECT_EQ(y.string_values(), (Strings{"hello", "world", "#", "a", "b", "c", "#", "#", "#"}));
  const Tensor z = tokens({"hello world", "a b  c"}, {{"separators", Strings{"o", "l+"}}});
  EXPECT_EQ(z.string_values(), (Strings{"he", " w", "r", "d", "a b  c", "#", "#", "#"}));
}

TEST(Strings, TokenizerReturnsMatches) {
  const Tensor y = tokens({"hello w 12", "x"},
                          {{"tokenexp", std::string("[a-z]+")}, {"mincharnum", int64_t{2}}});
  EXPECT_EQ(y.shape(), (Shape{2, 1}));
  EXPECT_EQ(y.string_values(), (Strings{"hello", "#"}));
}

TEST(Strings, TokenizerMarksEnds) {
  const Tensor y = tokens({"a b", ""}, {{"separators", Strings{" "}}, {"mark", int64_t{1}}});
  EXPECT_EQ(y.string_values(), (Strings{"\x02", "a", "b", "\x03", "\x02", "\x03", "#", "#"}));
  const Tensor none = tokens({"", ""}, {{"separators", Strings{" "}}, {"mark", int64_t{1}}});
  EXPECT_EQ(none.shape(), (Shape{2, 0}));
}

TEST(Strings, TokenizerSplitsCharacters) {
  const Strings letters = {"h", "\xC3\xA9", " "};
  EXPECT_EQ(tokens({"h\xC3\xA9 "}, {{"separators", Strings{""}}}).string_values(), letters);
  EXPECT_EQ(tokens({"h\xC3\xA9 "}, {{"tokenexp", std::string(".")}}).string_values(), letters);
}

TEST(Strings, TokenizerRefusesAmbiguousPatterns) {
  EXPECT_THROW(tokens({"a"}, {}), Error);
  EXPECT_THROW(tokens({"a"}, {{"separators", Strings{" "}}, {"tokenexp", std::string("a")}}),
               Error);
  EXPECT_THROW(tokens({"a"}, {{"tokenexp", std::string("(")}}), Error);
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

TEST(Strings, ConcatBroadcastsFromEitherSide) {
  const Tensor one = Tensor::strings({}, {"-"}), row = Tensor::strings({1, 2}, {"1", "2"}),
               block = Tensor::strings({2, 3, 1}, {"a", "b", "c", "d", "e", "f"});
  EXPECT_EQ(run("StringConcat", {one, row})[0].string_values(), (Strings{"-1", "-2"}));
  EXPECT_EQ(run("StringConcat", {row, one})[0].string_values(), (Strings{"1-", "2-"}));
  const Strings all = {"1a", "2a", "1b", "2b", "1c", "2c", "1d", "2d", "1e", "2e", "1f", "2f"};
  EXPECT_EQ(run("StringConcat", {row, block})[0].string_values(), all);
  EXPECT_EQ(run("StringConcat", {row, block})[0].shape(), (Shape{2, 3, 2}));
  EXPECT_THROW(run("StringConcat", {row, Tensor::strings({3}, {"", "", ""})}), Error);
  EXPECT_THROW(run("StringConcat", {row, Tensor::of<float>({2}, {1, 2})}), Error);
}

TEST(Strings, SplitsAtMostMaxsplitTimes) {
  const auto parts = [](const std::string& s, std::map<std::string, ir::Attribute> attributes) {
    return run("StringSplit", {text({s})}, std::move(attributes), 2)[0].string_values();
  };
  const ir::Attribute comma = std::string(",");
  EXPECT_EQ(parts("a,,b,", {{"delimiter", comma}}), (Strings{"a", "", "b", ""}));
  for (const auto& [most, want] : {std::pair<int64_t, Strings>{0, {"a,b,c"}},
                                   {1, {"a", "b,c"}},
                                   {2, {"a", "b", "c"}},
                                   {3, {"a", "b", "c"}},
                                   {-1, {"a", "b", "c"}}})
    EXPECT_EQ(parts("a,b,c", {{"delimiter", comma}, {"maxsplit", most}}), want) << most;
  for (const auto& [most, want] :
       {std::pair<int64_t, Strings>{0, {"a  b\tc"}}, {1, {"a", "b\tc"}}, {2, {"a", "b", "c"}}})
    EXPECT_EQ(parts("  a  b\tc ", {{"maxsplit", most}}), want) << most;
}

TEST(Strings, NormalizerKeepsTheCaseByDefault) {
  const auto normalized = [](std::map<std::string, ir::Attribute> attributes) {
    return run("StringNormalizer", {text({"Monday", "monday", "Tuesday"})},
               std::move(attributes))[0]
        .string_values();
  };
  const ir::Attribute stop = Strings{"monday"};
  EXPECT_EQ(normalized({}), (Strings{"Monday", "monday", "Tuesday"}));
  EXPECT_EQ(normalized({{"stopwords", stop}}), (Strings{"Tuesday"}));
  EXPECT_EQ(normalized({{"stopwords", stop}, {"is_case_sensitive", int64_t{1}}}),
            (Strings{"Monday", "Tuesday"}));
  EXPECT_EQ(normalized({{"case_change_action", std::string("LOWER")}}),
            (Strings{"monday", "monday", "tuesday"}));
  EXPECT_THROW(normalized({{"case_change_action", std::string("TITLE")}}), Error);
}

TEST(Strings, NormalizerTakesOneDimensionOrOneRow) {
  const auto shape = [](const Shape& given) {
    return run("StringNormalizer",
               {Tensor::strings(given, Strings(static_cast<size_t>(element_count(given)), "a"))})[0]
        .shape();
  };
  EXPECT_EQ(shape({3}), (Shape{3}));
  EXPECT_EQ(shape({1, 3}), (Shape{1, 3}));
  EXPECT_THROW(shape({2, 3}), Error);
  EXPECT_THROW(shape({}), Error);
  EXPECT_THROW(shape({1, 1, 3}), Error);
}

// Changes all letters of the tables in both directions. A character without another case stays.
TEST(Strings, CaseOfLatinGreekAndCyrillic) {
  const auto changed = [](const std::string& s, const char* action) {
    return run("StringNormalizer", {text({s})}, {{"case_change_action", std::string(action)}})[0]
        .string_values()[0];
  };
  for (const auto& [lower, upper] : {std::pair{"az09[`{@", "AZ09[`{@"},
                                     {"\u00E0\u00FE", "\u00C0\u00DE"},
                                     {"\u03B1\u03C9", "\u0391\u03A9"},
                                     {"\u0430\u044F", "\u0410\u042F"},
                                     {"\u0450\u045F", "\u0400\u040F"}}) {
    EXPECT_EQ(changed(lower, "UPPER"), upper);
    EXPECT_EQ(changed(upper, "LOWER"), lower);
    EXPECT_EQ(changed(lower, "LOWER"), lower);
    EXPECT_EQ(changed(upper, "UPPER"), upper);
  }
  for (const char* alone : {"\u00D7", "\u00F7", "\u00DF", "\u03C2", "\u4E2D", "\xC3"}) {
    EXPECT_EQ(changed(alone, "LOWER"), alone);
  }
  for (const char* alone : {"\u00D7", "\u00F7", "\u4E2D"})
    EXPECT_EQ(changed(alone, "UPPER"), alone);
  EXPECT_EQ(changed("\u03C2", "UPPER"), "\u03A3");  // the sigma at the end of words
}

TEST(Strings, ConvertsNonFiniteNumbersAndRefusesInvalidText) {
  EXPECT_EQ(run("Cast", {Tensor::of<float>({4}, {NAN, -INFINITY, INFINITY, 0.0f})},
                {{"to", int64_t{8}}})[0]
                .string_values(),
            (Strings{"NaN", "-INF", "INF", "0.0"}));
  EXPECT_EQ(run("Cast", {text({" 2 ", "\t-1e2\n"})}, {{"to", int64_t{1}}})[0].to_doubles(),
            (std::vector<double>{2, -100}));
  for (const char* bad : {"", " ", "+", "1 2", "1,5", "--1", "+-5", "++5"})
    EXPECT_THROW(run("Cast", {text({bad})}, {{"to", int64_t{1}}}), Error) << "'" << bad << "'";
}

TEST(Strings, NumbersThatAreTooLargeAreInfiniteAndThoseTooSmallAreZero) {
  const std::string zeros(400, '0');
  EXPECT_EQ(run("Cast",
                {text({"1e400", "-1e+400", "1e-400", "1" + zeros, "0." + zeros + "1",
                       "1e99999999999999999999", "1e-99999999999999999999", "0e999"})},
                {{"to", int64_t{11}}})[0]
                .to_doubles(),
            (std::vector<double>{INFINITY, -INFINITY, 0, INFINITY, 0, INFINITY, 0, 0}));
}

TEST(Strings, IntegersKeepAllBits) {
  const auto cast = [](const char* s, int64_t to) {
    return run("Cast", {text({s})}, {{"to", to}})[0];
  };
  constexpr int64_t kS64 = 7, kU64 = 13, kU8 = 2;
  EXPECT_EQ(cast("18446744073709551615", kU64).values<uint64_t>()[0], UINT64_MAX);
  EXPECT_EQ(cast(" +9223372036854775807 ", kS64).values<int64_t>()[0], INT64_MAX);
  EXPECT_EQ(cast("18446744073709551615", kU8).values<uint8_t>()[0], 255);
  EXPECT_EQ(cast("-2.75", kS64).values<int64_t>()[0], -2);
  for (const char* bad : {"NaN", "inf", "-INF", "9223372036854775808", "1e30", "+-5", ""})
    EXPECT_THROW(cast(bad, kS64), Error) << bad;
  for (const char* bad : {"NaN", "18446744073709551616", "1e30"})
    EXPECT_THROW(cast(bad, kU64), Error) << bad;
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

TEST(Strings, LettersOfAllScriptsChangeTheirCase) {
  const auto changed = [](const std::string& s, const std::string& to) {
    return run("StringNormalizer", {text({s})}, {{"case_change_action", to}})[0].string_values()[0];
  };
  EXPECT_EQ(changed("\xC4\x80\xD4\xB1\xE1\xBA\x80\xF0\x90\x90\x80", "LOWER"),
            "\xC4\x81\xD5\xA1\xE1\xBA\x81\xF0\x90\x90\xA8")
      << "Latin, Armenian, three bytes, Deseret";
  EXPECT_EQ(changed("\xCF\x82-\xC3\x9F", "UPPER"), "\xCE\xA3-\xC3\x9F") << "one letter for one";
  EXPECT_EQ(changed("A\xFF\xC3", "LOWER"), "a\xFF\xC3") << "no UTF-8";
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

bool matches(const std::string& pattern, const std::string& s) {
  return run("RegexFullMatch", {text({s})}, {{"pattern", pattern}})[0].values<bool>()[0];
}

// Strings are scattered by their ranks. The sum or the product of ranks is not a rank.
TEST(Strings, ScatterHasNoReduction) {
  const Tensor x = text({"a", "b", "c"}), at = Tensor::of<int64_t>({2}, {2, 0}),
               y = text({"x", "y"});
  EXPECT_EQ(run("ScatterElements", {x, at, y})[0].string_values(), (Strings{"y", "b", "x"}));
  EXPECT_EQ(
      run("ScatterElements", {x, at, y}, {{"reduction", std::string("none")}})[0].string_values(),
      (Strings{"y", "b", "x"}));
  for (const char* op : {"ScatterElements", "ScatterND"})
    for (const char* reduction : {"add", "mul", "min", "max"}) try {
        run(op, {x, at, y}, {{"reduction", std::string(reduction)}});
        ADD_FAILURE() << op << " " << reduction;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::unimplemented);
        EXPECT_NE(e.message().find("elements of type string have no reduction '" +
                                   std::string(reduction) + "'"),
                  std::string::npos)
            << e.message();
      }
}

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

TEST(RegexFullMatch, MatchesWholeTexts) {
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
  EXPECT_TRUE(matches("(?i)\\p{Greek}+[[:digit:]]",
                      "\xCE\xA9\xCF\x89"
                      "7"));
}

TEST(RegexFullMatch, BrokenPatternsAreErrors) {
  for (const char* p :
       {"(", ")", "a)", "[a", "*a", "\\", "\\q", "(?=a)", "[b-a]", "a{3,2}", "\\x1"})
    EXPECT_THROW(matches(p, "a"), Error) << p;
}

TEST(RegexFullMatch, HostilePatternsEndSoon) {
  const std::string a(5000, 'a');
  EXPECT_FALSE(matches("(a*)*(a*)*(a*)*b", a));
  EXPECT_FALSE(matches("(a|aa)+b", a));
  EXPECT_THROW(matches("((a{1000}){1000}){1000}", "a"), Error);
  EXPECT_THROW(matches("((()){1000}){1000}", "a"), Error);
  EXPECT_THROW(matches(std::string(5000, '('), "a"), Error);
}

}  // namespace
}  // namespace poprt::ops
