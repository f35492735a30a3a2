#include "passes/common/arguments.h"

#include "core/passes/pass_case.h"
#include "passes/common/custom.h"
#include "passes/common/precision_parameters.h"

namespace poprt::test {
namespace {

using passes::ParameterKind;

template <class F>
std::string result_or_refusal(F&& call) {
  try {
    return call();
  } catch (const Error& e) {
    return e.message();
  }
}

TEST(Arguments, TextsAreCutAtSeparators) {
  const std::pair<const char*, std::vector<std::string>> rows[] = {
      {"", {}},
      {"a", {"a"}},
      {"a,b", {"a", "b"}},
      {" a\t,  b c \r", {"a", "b c"}},
      {"a,,b", {"a", "", "b"}},
      {",a", {"", "a"}},
      {"a,", {"a", ""}},
      {" ", {""}},
  };
  for (const auto& [text, parts] : rows) EXPECT_EQ(passes::split_text(text, ','), parts) << text;
  EXPECT_EQ(passes::split_text("a,b\nc", '\n'), (std::vector<std::string>{"a,b", "c"}));
}

TEST(Arguments, AreCheckedByKind) {
  struct Row {
    ParameterKind kind;
    const char *value, *wanted;
  };
  const Row rows[] = {
      {ParameterKind::flag, "True", "True"},
      {ParameterKind::flag, "true", "True"},
      {ParameterKind::flag, "1", "True"},
      {ParameterKind::flag, "False", "False"},
      {ParameterKind::flag, "false", "False"},
      {ParameterKind::flag, "0", "False"},
      {ParameterKind::flag, "yes", "p: expected True or False, found 'yes'"},
      {ParameterKind::integer, "-12", "-12"},
      {ParameterKind::integer, "1x", "p: expected a whole number, found '1x'"},
      {ParameterKind::integer, "", "p: expected a whole number, found ''"},
      {ParameterKind::integer, "99999999999999999999",
       "p: expected a whole number, found '99999999999999999999'"},
      {ParameterKind::text, " a,b ", " a,b "},
      {ParameterKind::text, "", "p: expected a text, found ''"},
      {ParameterKind::names, " a , b", "a,b"},
      {ParameterKind::names, "", ""},
      {ParameterKind::names, "a,,b", "p: expected names of at least one character, found 'a,,b'"},
      {ParameterKind::words, "a,b\n c ", "a,b\nc"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(result_or_refusal([&] {
                return passes::checked_argument({.name = "p", .kind = row.kind}, "p", row.value);
              }),
              row.wanted)
        << row.value;
  const std::string empty_word = result_or_refusal([] {
    return passes::checked_argument({.name = "p", .kind = ParameterKind::words}, "p", "a\n\nb");
  });
  EXPECT_EQ(empty_word.substr(0, 46), "p: expected words of at least one character, f");
  std::string kinds;
  for (const auto kind : {ParameterKind::flag, ParameterKind::integer, ParameterKind::text,
                          ParameterKind::names, ParameterKind::words})
    kinds += std::string(passes::parameter_kind_name(kind)) + " ";
  EXPECT_EQ(kinds, "flag integer text names words ");
}

std::string patterns(std::string_view text) {
  return result_or_refusal([&] {
    std::string all;
    for (const auto& [name, on] : passes::parse_patterns(text))
      all += fmt::format("{}={} ", name, on);
    return all;
  });
}

TEST(Arguments, PatternsAreNamesOrNamesWithFlags) {
  const std::pair<const char*, const char*> rows[] = {
      {"", ""},
      {"A", "A=true "},
      {"A,B", "A=true B=true "},
      {"A:1,B:0", "A=true B=false "},
      {"['A', \"B:False\"]", "A=true B=false "},
      {"(A:True,B:true,C:yes,D:on)", "A=true B=true C=true D=true "},
      {"A:False,B:false,C:no,D:off", "A=false B=false C=false D=false "},
      {"A:0,A:1", "A=true "},
      {"A:2", "custom_patterns: expected A:1 or A:0, found 'A:2'"},
      {"A:", "custom_patterns: expected A:1 or A:0, found 'A:'"},
      {":1", "custom_patterns: expected NAME or NAME:0, separated by commas, found ':1'"},
      {"A,,B", "custom_patterns: expected NAME or NAME:0, separated by commas, found 'A,,B'"},
  };
  for (const auto& [text, wanted] : rows) EXPECT_EQ(patterns(text), wanted) << text;
}

TEST(Arguments, PatternsOfPopartAreKnownAndOthersAreNot) {
  EXPECT_NO_THROW(passes::check_patterns(passes::parse_patterns("InPlace:0,SplitOp")));
  const std::string unknown = result_or_refusal([] {
    passes::check_patterns(passes::parse_patterns("Nobody"));
    return std::string();
  });
  EXPECT_EQ(unknown.find("custom_patterns: there is no pattern 'Nobody'; the loaded plug-ins have"),
            0u);
}

std::string format_of(std::string_view text) {
  return result_or_refusal([&] {
    const passes::QuarterFormat f = passes::parse_quarter_format(text, "f");
    return fmt::format("{} {}", passes::quarter_name(f.dtype), f.scale);
  });
}

std::string formats_of(std::string_view text) {
  return result_or_refusal([&] {
    const auto [data, weight] = passes::parse_fp8_params(text, "f");
    return fmt::format("{} {} {} {}", passes::quarter_name(data.dtype), data.scale,
                       passes::quarter_name(weight.dtype), weight.scale);
  });
}

TEST(Arguments, FormatsOfQuarters) {
  const std::pair<const char*, const char*> rows[] = {
      {"F143,0", "F143 0"},
      {" F152 , -3 ", "F152 -3"},
      {"F143,31", "F143 31"},
      {"F143,-32", "F143 -32"},
      {"F143,32", "f: expected a scale, a whole number from -32 to 31, found '32' in 'F143,32'"},
      {"F143,-33", "f: expected a scale, a whole number from -32 to 31, found '-33' in 'F143,-33'"},
      {"F143,", "f: expected a scale, a whole number from -32 to 31, found '' in 'F143,'"},
      {"F143,1x", "f: expected a scale, a whole number from -32 to 31, found '1x' in 'F143,1x'"},
      {"F144,1", "f: expected the format F143 or F152, found 'F144' in 'F144,1'"},
      {"F143", "f: expected FORMAT,SCALE, for example F143,-1, found 'F143'"},
      {"F143,1,2", "f: expected FORMAT,SCALE, for example F143,-1, found 'F143,1,2'"},
  };
  for (const auto& [text, wanted] : rows) EXPECT_EQ(format_of(text), wanted) << text;
  EXPECT_EQ(formats_of("F143,F152,1,-2"), "F143 1 F152 -2");
  EXPECT_EQ(formats_of("F152,F143,-1,2"), "F152 -1 F143 2");
  EXPECT_EQ(formats_of("F143,F152,1"),
            "f: expected INPUT_FORMAT,WEIGHT_FORMAT,INPUT_SCALE,WEIGHT_SCALE, for example "
            "F143,F143,-1,-1, found 'F143,F152,1'");
}

}  // namespace
}  // namespace poprt::test
