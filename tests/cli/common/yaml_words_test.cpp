#include "common/yaml_words.h"

#include "cli/command_line.h"

namespace poprt::cli::yaml {
namespace {

using Kind = Value::Kind;
using Words = std::vector<std::string>;

Value one(const std::string& text) { return {.line = 1, .text = text}; }

Value list(std::vector<Value> items) {
  return {.line = 2, .kind = Kind::list, .items = std::move(items)};
}

Value map(std::vector<std::pair<std::string, Value>> entries) {
  Value value{.line = 3, .kind = Kind::map};
  for (auto& [key, item] : entries) {
    value.keys.push_back(key);
    value.items.push_back(std::move(item));
  }
  return value;
}

OptionInfo option(const std::string& name) {
  OptionInfo info;
  info.name = name;
  return info;
}

Words words(const std::string& name, std::vector<std::pair<std::string, Value>> entries) {
  return words_of(option(name), map(std::move(entries)));
}

// Returns "LINE: WHY" of the entry that is refused.
std::string unfit(const std::string& name, std::vector<std::pair<std::string, Value>> entries) {
  try {
    (void)words(name, std::move(entries));
  } catch (const Unfit& e) {
    return fmt::format("{}: {}", e.line, e.what());
  }
  return "fits";
}

TEST(YamlWords, TruthAsYamlHasIt) {
  for (const char* word : {"True", "true", "TRUE", "Yes", "yes", "YES", "On", "on", "ON"})
    EXPECT_EQ(yaml_bool(word), "True") << word;
  for (const char* word : {"False", "false", "FALSE", "No", "no", "NO", "Off", "off", "OFF"})
    EXPECT_EQ(yaml_bool(word), "False") << word;
  for (const char* word : {"", "1", "tRUE", "y", "oN"}) EXPECT_EQ(yaml_bool(word), "") << word;
}

TEST(YamlWords, OptionsOfNamedWordsTakeMappings) {
  OptionInfo info = option("a");
  info.kind = "words";
  info.value = "KEY=VAL";
  EXPECT_TRUE(takes_mapping(info));
  info.value = "NAME";
  EXPECT_FALSE(takes_mapping(info));
  info.name = "apply_hcsr";
  EXPECT_TRUE(takes_mapping(info));
  info.kind = "names";
  EXPECT_FALSE(takes_mapping(info));
  info.value = "KEY=VAL";
  EXPECT_FALSE(takes_mapping(info));
}

TEST(YamlWords, NamesAndValuesOfOtherOptions) {
  EXPECT_EQ(words("pad_values", {{"x", one("1")}, {"y", one("mask")}}), (Words{"x=1", "y=mask"}));
  EXPECT_EQ(words("apply_hcsr", {{"a", one("2")}, {"b", one("3")}}), (Words{"a,2", "b,3"}));
  EXPECT_EQ(unfit("pad_values", {{"x", list({one("1")})}}), "2: x: expected one value");
  EXPECT_EQ(unfit("pad_values", {{"x", map({})}}), "3: x: expected one value");
}

TEST(YamlWords, Shapes) {
  EXPECT_EQ(words("input_shape", {{"x", list({one("2"), one("8")})}, {"y", one("4")}}),
            (Words{"x=2,8", "y=4"}));
  EXPECT_EQ(words("input_shape", {{"x", list({})}}), Words{"x=[]"});
  const Value several = list({list({one("1"), one("8")}), list({one("2"), one("8")}), one("3")});
  EXPECT_EQ(words("input_shape", {{"x", several}}), Words{"x=1,8/2,8/3"});
  EXPECT_EQ(unfit("input_shape", {{"x", map({})}}), "3: x: expected one value or a list");
  EXPECT_EQ(unfit("input_shape", {{"x", list({one("1"), list({})})}}), "2: x: expected one value");
}

TEST(YamlWords, ProductsThatAreSerialized) {
  const auto message_for = [](Value value) {
    return words("serialize_matmul", {{"fc", std::move(value)}}).at(0);
  };
  EXPECT_EQ(message_for(one("4")), "fc=4");
  EXPECT_EQ(message_for(list({one("2"), one("reducing_dim")})), "fc=2/reducing_dim");
  EXPECT_EQ(message_for(map({{"factor", one("2")}})), "fc=2");
  EXPECT_EQ(message_for(map({{"mode", one("input_channels")}, {"factor", one("2")}})),
            "fc=2/input_channels");
  EXPECT_EQ(message_for(map({{"factor", one("2")}, {"keep_precision", one("yes")}})),
            "fc=2/output_channels/True");
  EXPECT_EQ(
      message_for(map(
          {{"factor", one("2")}, {"keep_precision", one("maybe")}, {"mode", one("reducing_dim")}})),
      "fc=2/reducing_dim/maybe");
  // Only keep_precision is a boolean.
  EXPECT_EQ(message_for(map({{"factor", one("2")}, {"mode", one("yes")}})), "fc=2/yes");
  EXPECT_EQ(unfit("serialize_matmul", {{"fc", map({{"mode", one("a")}})}}),
            "3: fc: the factor is missing");
  EXPECT_EQ(unfit("serialize_matmul", {{"fc", map({{"fold", one("a")}})}}),
            "1: fc: expected factor, mode or keep_precision, found 'fold'");
  EXPECT_EQ(unfit("serialize_matmul", {{"fc", map({{"factor", list({})}})}}),
            "2: fc: factor: expected one value");
}

TEST(YamlWords, ProductsWithBias) {
  EXPECT_EQ(words("serialize_matmul_add",
                  {{"fc", one("2")}, {"gc", map({{"bias", one("3")}, {"cias", one("4")}})}}),
            (Words{"fc=2", "gc/bias=3", "gc/cias=4"}));
  EXPECT_EQ(unfit("serialize_matmul_add", {{"fc", list({})}}), "2: fc: expected one value");
  EXPECT_EQ(unfit("serialize_matmul_add", {{"fc", map({{"b", list({})}})}}),
            "2: fc/b: expected one value");
}

TEST(YamlWords, FieldsOfPopart) {
  EXPECT_EQ(words("popart_options",
                  {{"a", one("1")},
                   {"b", map({{"c", map({{"d", one("2")}})}, {"e", list({one("3"), one("4")})}})}}),
            (Words{"a=1", "b.c.d=2", "b.e=3,4"}));
}

TEST(YamlWords, FieldsOfTheCompiler) {
  const Value nested = map(
      {{"a", one("say \"so\"")}, {"b", list({one("1"), one("2")})}, {"c", map({{"d", one("3")}})}});
  for (const char* key : {"custom_transform_applier_settings", "engine_options", "opaque_blobs"}) {
    EXPECT_EQ(words("compiler_options", {{key, nested}}),
              Words{std::string(key) + R"(={"a":"say \"so\"","b":["1","2"],"c":{"d":"3"}})"});
    EXPECT_EQ(unfit("compiler_options", {{key, list({})}}),
              fmt::format("2: {}: expected one value", key));
  }
  for (const char* key : {"custom_patterns", "virtual_graph_split_ratios"}) {
    EXPECT_EQ(words("compiler_options", {{key, list({one("a"), one("b")})}}),
              Words{std::string(key) + "=a,b"});
    EXPECT_EQ(unfit("compiler_options", {{key, map({})}}),
              fmt::format("3: {}: expected one value", key));
  }
  EXPECT_EQ(words("compiler_options", {{"num_ipus", one("2")}}), Words{"num_ipus=2"});
  EXPECT_EQ(unfit("compiler_options", {{"num_ipus", list({})}}), "2: num_ipus: expected one value");
}

TEST(YamlWords, Brackets) {
  EXPECT_EQ(words("pack_args",
                  {{"a", one("1")}, {"b", list({list({one("x"), one("y")}), one("z"), list({})})}}),
            (Words{"a=1", "b=[[x,y],z,[]]"}));
  EXPECT_EQ(unfit("pack_args", {{"a", map({})}}), "3: a: expected one value");
}

TEST(YamlWords, ArgumentsOfPasses) {
  const auto message_for = [](const std::string& pass, const std::string& parameter, Value value) {
    const Words nested = words("pass_args", {{pass, map({{parameter, value}})}}),
                dotted = words("pass_args", {{pass + "." + parameter, value}});
    EXPECT_EQ(nested, dotted);
    return nested.at(0);
  };
  EXPECT_EQ(message_for("merge_matmul", "names", list({one("q"), one("k")})),
            "merge_matmul.names=q,k");
  // A flag is true or false, other parameters have their words as they are.
  const std::string flag = "enable_avoid_overflow_patterns";
  EXPECT_EQ(message_for("float_to_half", flag, one("yes")), "float_to_half." + flag + "=True");
  EXPECT_EQ(message_for("float_to_half", flag, one("odd")), "float_to_half." + flag + "=odd");
  EXPECT_EQ(message_for("merge_matmul", "names", one("yes")), "merge_matmul.names=yes");
  EXPECT_EQ(message_for("of_nobody", "p", one("yes")), "of_nobody.p=yes");
  // Words are lines, and so are mappings.
  EXPECT_EQ(message_for("serialize_matmul", "matmuls", list({one("a=2"), one("b=4")})),
            "serialize_matmul.matmuls=a=2\\nb=4");
  EXPECT_EQ(message_for("serialize_matmul", "matmuls",
                        map({{"a", one("2")},
                             {"b", map({{"factor", one("4")}, {"mode", one("m")}})},
                             {"c", list({one("5"), one("6")})}})),
            "serialize_matmul.matmuls=a=2\\nb=4/m\\nc=5,6");
  EXPECT_EQ(words("pass_args", {{"a", map({{"p", one("1")}, {"q", one("2")}})}}),
            (Words{"a.p=1", "a.q=2"}));
  EXPECT_EQ(unfit("pass_args", {{"merge_matmul", one("a")}}),
            "1: merge_matmul: expected a mapping of parameters");
  EXPECT_EQ(unfit("pass_args", {{"a.b", map({{"c", map({{"d", one("1")}})}})}}),
            "1: a.b: c: expected factor, mode or keep_precision, found 'd'");
}

}  // namespace
}  // namespace poprt::cli::yaml
