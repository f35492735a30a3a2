#include "ops/common/strings.h"

#include <re2/re2.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/checked.h"
#include "base/onnx_dtype.h"
#include "ops/common/evaluate.h"
#include "ops/common/label_table.h"
#include "ops/op.h"

namespace poprt::ops {
namespace {

constexpr int64_t kString = 8;  // TensorProto.STRING

// Attribute `to` of Cast; 0 if it is a name, as in opsets before 6.
int64_t cast_target(const ir::Node& n) {
  const ir::Attribute* to = n.find_attr("to");
  const auto* number = to ? std::get_if<int64_t>(to) : nullptr;
  return number ? *number : 0;
}

template <class... Args>
[[noreturn]] void fail_at(const ir::Node& n, ErrorCode code, fmt::format_string<Args...> format,
                          Args&&... args) {
  fail(code, "{}: {}", n.describe(), fmt::format(format, std::forward<Args>(args)...));
}

const Tensor& strings_of(const ir::Node& n, std::span<const Tensor> inputs, size_t i) {
  if (i >= inputs.size() || inputs[i].dtype() != DType::string)
    fail_at(n, ErrorCode::invalid_argument, "input {} should be strings", i);
  return inputs[i];
}

// -- Numbers ------------------------------------------------------------------------------------

std::string text_of(double v, DType dtype) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v < 0 ? "-INF" : "INF";
  std::array<char, 64> buffer;
  // The shortest text that parses to the same number. A narrow float is treated as f32.
  const auto end =
      dtype == DType::f64
          ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), v)
          : std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<float>(v));
  std::string s(buffer.data(), end.ptr);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

// The text without spaces at both ends and without a plus sign.
std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  if (s.size() > 1 && s[0] == '+' && s[1] != '-') s.remove_prefix(1);
  return s;
}

[[noreturn]] void fail_number(const ir::Node& n, std::string_view text, std::string_view what) {
  fail_at(n, ErrorCode::invalid_argument, "'{}' is {}", text.substr(0, 40), what);
}

// Whether a decimal number that no double represents is too large, rather than too small.
bool is_too_large(std::string_view s) {
  const size_t e = std::min(s.find_first_of("eE"), s.size());
  int64_t exponent = 0;
  if (e < s.size()) {
    const std::string_view digits = s.substr(e + (s[e + 1] == '+' ? 2 : 1));
    const auto error = std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec;
    constexpr int64_t kMost = INT64_C(1) << 60;
    if (error == std::errc::result_out_of_range) return digits[0] != '-';
    exponent = std::clamp(exponent, -kMost, kMost);
  }
  // The first digit other than 0 has the weight 10^(d - 1) in front of the point and 10^d after it,
  // where d is exponent + point - first. Such a number is far from 1, so the sign of d decides.
  const size_t first = s.find_first_of("123456789"), point = std::min(s.find('.'), e);
  return first < e && exponent + static_cast<int64_t>(point) - static_cast<int64_t>(first) > 0;
}

// A number that is too large is infinite, and one that is too small is 0. ONNX Runtime refuses
// both.
double number_of(const ir::Node& n, std::string_view text) {
  const std::string_view s = trimmed(text);
  double v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (s.empty() || error == std::errc::invalid_argument || end != s.data() + s.size())
    fail_number(n, text, "not a number");
  if (error == std::errc::result_out_of_range)
    v = std::copysign(is_too_large(s) ? std::numeric_limits<double>::infinity() : 0.0,
                      s[0] == '-' ? -1.0 : 1.0);
  return v;
}

// The bits of an integer of that type. A fraction is cut off.
int64_t integer_of(const ir::Node& n, std::string_view text, DType to) {
  const std::string_view s = trimmed(text);
  const auto parse = [&](auto& v) {
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
    return error == std::errc() && end == s.data() + s.size();
  };
  int64_t v = 0;
  if (parse(v)) return v;
  uint64_t bits = 0;
  if (!is_signed(to) && parse(bits)) return static_cast<int64_t>(bits);
  const double number = number_of(n, text);
  constexpr double kLimit = 9223372036854775808.0;
  if (!(number >= -kLimit && number < kLimit)) fail_number(n, text, "not in the range of integers");
  return static_cast<int64_t>(number);
}

// Converts the numbers with the numeric Cast to the wanted type.
Tensor cast(const Tensor& x, DType to) {
  ir::Graph g;
  g.opsets[""] = 13;
  ir::Node* n = g.add_node("Identity", "", {g.add_constant("x", x)});
  n->output()->type = ir::ValueType::of(to, x.shape());
  if (x.dtype() == to) return x;
  n->op_type = "Cast";
  // Floats narrower than f32 are rounded once, from f64.
  const auto number = onnx_from_dtype(to);
  if (!number) fail(ErrorCode::unimplemented, "no cast from string to {}", dtype_name(to));
  n->attributes["to"] = int64_t{*number};
  return evaluate(*n, std::array{x})[0];
}

Tensor cast_node(const ir::Node& n, const Tensor& x, DType to) {
  if (x.dtype() == DType::string) {
    if (to == DType::string) return x;
    if (is_integer(to)) {
      std::vector<int64_t> values;
      for (const std::string& text : x.string_values()) values.push_back(integer_of(n, text, to));
      return cast(Tensor::of<int64_t>(x.shape(), std::span<const int64_t>(values)), to);
    }
    std::vector<double> values;
    for (const std::string& s : x.string_values()) values.push_back(number_of(n, s));
    return cast(Tensor::of<double>(x.shape(), std::span<const double>(values)), to);
  }
  std::vector<std::string> text;
  if (x.dtype() == DType::boolean || is_integer(x.dtype())) {
    if (x.dtype() == DType::u64) {
      for (const uint64_t v : x.values<uint64_t>()) text.push_back(std::to_string(v));
    } else {
      for (const int64_t v : x.to_int64s()) text.push_back(std::to_string(v));
    }
  } else {
    for (const double v : x.to_doubles()) text.push_back(text_of(v, x.dtype()));
  }
  return Tensor::strings(x.shape(), std::move(text));
}

// -- Text operators -----------------------------------------------------------------------------

Tensor concat(const ir::Node& n, std::span<const Tensor> inputs) {
  const Tensor &a = strings_of(n, inputs, 0), &b = strings_of(n, inputs, 1);
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  const auto index = [&](const Shape& from, int64_t i) {
    int64_t at = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      const int64_t place = i % shape[d];
      i /= shape[d];
      if (d + from.size() < shape.size()) continue;
      const int64_t size = from[d + from.size() - shape.size()];
      if (size != 1) at += place * stride;
      stride *= size;
    }
    return static_cast<size_t>(at);
  };
  std::vector<std::string> out;
  for (int64_t i = 0; i < element_count(shape); i++)
    out.push_back(a.string_values()[index(a.shape(), i)] + b.string_values()[index(b.shape(), i)]);
  return Tensor::strings(shape, std::move(out));
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::vector<std::string> split_text(std::string_view s, std::string_view delimiter, int64_t most) {
  std::vector<std::string> parts;
  const auto may_split = [&] { return most < 0 || static_cast<int64_t>(parts.size()) < most; };
  if (delimiter.empty()) {  // splits at runs of white space; those at the ends are removed
    const auto skip = [&] {
      while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
    };
    skip();
    while (!s.empty() && may_split()) {
      const auto* end = std::find_if(s.begin(), s.end(), is_space);
      parts.emplace_back(s.begin(), end);
      s.remove_prefix(static_cast<size_t>(end - s.begin()));
      skip();
    }
    while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
    if (!s.empty()) parts.emplace_back(s);
    return parts;
  }
  if (s.empty()) return parts;
  for (size_t at; may_split() && (at = s.find(delimiter)) != std::string_view::npos;) {
    parts.emplace_back(s.substr(0, at));
    s.remove_prefix(at + delimiter.size());
  }
  parts.emplace_back(s);
  return parts;
}

std::vector<Tensor> split(const ir::Node& n, std::span<const Tensor> inputs) {
  const Tensor& x = strings_of(n, inputs, 0);
  const std::string delimiter = n.string_attr("delimiter", "");
  const int64_t most = n.find_attr("maxsplit") ? n.int_attr("maxsplit", -1) : -1;
  std::vector<std::vector<std::string>> rows;
  size_t width = 0;
  for (const std::string& s : x.string_values()) {
    rows.push_back(split_text(s, delimiter, most));
    width = std::max(width, rows.back().size());
  }
  constexpr uint64_t kMost = uint64_t{1} << 26;
  if (checked_mul<uint64_t>(rows.size(), width) > kMost)
    fail_at(n, ErrorCode::resource_exhausted, "the result has more than {} strings", kMost);
  std::vector<std::string> flat;
  std::vector<int64_t> counts;
  for (auto& row : rows) {
    counts.push_back(static_cast<int64_t>(row.size()));
    row.resize(width);
    for (std::string& s : row) flat.push_back(std::move(s));
  }
  Shape shape = x.shape();
  shape.push_back(static_cast<int64_t>(width));
  return {Tensor::strings(shape, std::move(flat)),
          Tensor::of<int64_t>(x.shape(), std::span<const int64_t>(counts))};
}

// -- Tokenizer of com.microsoft ------------------------------------------------------------------

// Returns the characters of UTF-8 text. A byte that is not part of a valid character counts as one.
std::vector<std::string> characters_of(std::string_view s) {
  std::vector<std::string> out;
  while (!s.empty()) {
    utf8proc_int32_t letter = 0;
    const utf8proc_ssize_t read =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(s.data()),
                         static_cast<utf8proc_ssize_t>(s.size()), &letter);
    const auto size = static_cast<size_t>(std::max<utf8proc_ssize_t>(read, 1));
    out.emplace_back(s.substr(0, size));
    s.remove_prefix(size);
  }
  return out;
}

// Splits at the matches of each pattern in turn, or returns the matches of the only pattern.
class TextSplitter {
 public:
  explicit TextSplitter(const ir::Node& n) : least_(n.int_attr("mincharnum", 1)) {
    const ir::Attribute* list = n.find_attr("separators");
    const auto* given = list ? std::get_if<std::vector<std::string>>(list) : nullptr;
    std::vector<std::string> patterns;
    if (given) patterns = *given;
    const std::string token = n.string_attr("tokenexp", "");
    if (patterns.empty() == token.empty())
      fail_at(n, ErrorCode::invalid_argument, "expected either separators or tokenexp");
    if (least_ < 1) fail_at(n, ErrorCode::invalid_argument, "mincharnum is {}", least_);
    matches_ = !token.empty();
    if (matches_) patterns = {token};
    by_character_ = patterns == std::vector<std::string>{matches_ ? "." : ""};
    if (by_character_) return;
    for (const std::string& pattern : patterns) {
      auto regex = std::make_unique<RE2>(pattern, RE2::Quiet);
      if (!regex->ok() || pattern.empty())
        fail_at(n, ErrorCode::invalid_argument, "pattern '{}': {}", pattern, regex->error());
      patterns_.push_back(std::move(regex));
    }
  }

  std::vector<std::string> split(const std::string& s) const {
    std::vector<std::string> tokens;
    if (by_character_)
      tokens = characters_of(s);
    else if (matches_)
      tokens = matches_of(s);
    else
      tokens = parts_of(s);
    if (!by_character_)
      std::erase_if(tokens, [&](const std::string& t) {
        return t.empty() || static_cast<int64_t>(characters_of(t).size()) < least_;
      });
    return tokens;
  }

 private:
  std::vector<std::string> matches_of(std::string_view s) const {
    std::vector<std::string> tokens;
    size_t at = 0;
    re2::StringPiece found;
    while (at < s.size() &&
           patterns_[0]->Match({s.data(), s.size()}, at, s.size(), RE2::UNANCHORED, &found, 1)) {
      const auto begin = static_cast<size_t>(found.data() - s.data());
      tokens.emplace_back(found.data(), found.size());
      at = begin + std::max<size_t>(found.size(), 1);
    }
    return tokens;
  }

  std::vector<std::string> parts_of(const std::string& s) const {
    std::vector<std::string> parts = {s};
    for (const auto& pattern : patterns_) {
      std::vector<std::string> next;
      for (const std::string& part : parts) {
        size_t begin = 0, at = 0;
        re2::StringPiece found;
        while (at < part.size() &&
               pattern->Match(part, at, part.size(), RE2::UNANCHORED, &found, 1)) {
          const auto match = static_cast<size_t>(found.data() - part.data());
          at = match + std::max<size_t>(found.size(), 1);
          if (found.empty()) continue;
          next.push_back(part.substr(begin, match - begin));
          begin = match + found.size();
        }
        next.push_back(part.substr(begin));
      }
      parts = std::move(next);
    }
    return parts;
  }

  std::vector<std::unique_ptr<RE2>> patterns_;
  bool matches_ = false, by_character_ = false;
  int64_t least_;
};

Tensor tokenize(const ir::Node& n, std::span<const Tensor> inputs) {
  const Tensor& x = strings_of(n, inputs, 0);
  if (x.shape().empty() || x.shape().size() > 2)
    fail_at(n, ErrorCode::invalid_argument, "the input is {}, expected [C] or [N,C]",
            shape_string(x.shape()));
  const TextSplitter splitter(n);
  std::vector<std::vector<std::string>> rows;
  size_t width = 0;
  for (const std::string& s : x.string_values()) {
    rows.push_back(splitter.split(s));
    width = std::max(width, rows.back().size());
  }
  const bool mark = n.int_attr("mark", 0) != 0 && width > 0;
  if (mark) width += 2;
  constexpr uint64_t kMost = uint64_t{1} << 26;
  if (checked_mul<uint64_t>(rows.size(), width) > kMost)
    fail_at(n, ErrorCode::resource_exhausted, "the result has more than {} strings", kMost);
  const std::string filler = n.string_attr("pad_value", "");
  std::vector<std::string> flat;
  for (auto& row : rows) {
    if (mark) {
      row.insert(row.begin(), std::string(1, '\x02'));
      row.emplace_back(1, '\x03');
    }
    row.resize(width, filler);
    for (std::string& s : row) flat.push_back(std::move(s));
  }
  Shape shape = x.shape();
  if (element_count(shape) == 0) return x;
  shape.push_back(static_cast<int64_t>(width));
  return Tensor::strings(shape, std::move(flat));
}

// The simple case mapping of Unicode, which maps the small sharp s to itself, while utf8proc maps
// it to its capital letter.
utf8proc_int32_t changed_case(utf8proc_int32_t letter, bool upper) {
  constexpr utf8proc_int32_t kSharpS = 0xDF;
  if (letter == kSharpS) return letter;
  return upper ? utf8proc_toupper(letter) : utf8proc_tolower(letter);
}

// Changes each letter into one letter; bytes that are not valid UTF-8 are kept.
std::string change_case(std::string_view s, bool upper) {
  std::string out;
  for (size_t i = 0; i < s.size();) {
    utf8proc_int32_t letter = 0;
    const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(s.data()) + i;
    const utf8proc_ssize_t read =
        utf8proc_iterate(at, static_cast<utf8proc_ssize_t>(s.size() - i), &letter);
    if (read < 1) {
      out += s[i++];
      continue;
    }
    std::array<utf8proc_uint8_t, 4> bytes{};
    const utf8proc_ssize_t written =
        utf8proc_encode_char(changed_case(letter, upper), bytes.data());
    out.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(written));
    i += static_cast<size_t>(read);
  }
  return out;
}

Tensor normalize(const ir::Node& n, std::span<const Tensor> inputs) {
  const Tensor& x = strings_of(n, inputs, 0);
  const bool rows = x.shape().size() == 2 && x.shape()[0] == 1;
  if (x.shape().size() != 1 && !rows)
    fail_at(n, ErrorCode::invalid_argument, "the input is {}, expected [C] or [1,C]",
            shape_string(x.shape()));
  const std::string action = n.string_attr("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    fail_at(n, ErrorCode::invalid_argument, "case_change_action is not NONE, LOWER or UPPER");
  const bool sensitive = n.int_attr("is_case_sensitive", 0) != 0;
  const auto key = [&](const std::string& s) { return sensitive ? s : change_case(s, false); };
  std::set<std::string> stop;
  if (const ir::Attribute* words = n.find_attr("stopwords"))
    if (const auto* list = std::get_if<std::vector<std::string>>(words))
      for (const std::string& s : *list) stop.insert(key(s));
  std::vector<std::string> out;
  for (const std::string& s : x.string_values())
    if (!stop.contains(key(s)))
      out.push_back(action == "NONE" ? s : change_case(s, action == "UPPER"));
  if (out.empty()) out.emplace_back();  // the standard requires one empty string
  const auto count = static_cast<int64_t>(out.size());
  return Tensor::strings(rows ? Shape{1, count} : Shape{count}, std::move(out));
}

Tensor full_match(const ir::Node& n, std::span<const Tensor> inputs) {
  const Tensor& x = strings_of(n, inputs, 0);
  const std::string pattern = n.string_attr("pattern", "");
  const RE2 regex(pattern, RE2::Quiet);
  if (!regex.ok())
    fail_at(n,
            regex.error_code() == RE2::ErrorPatternTooLarge ? ErrorCode::resource_exhausted
                                                            : ErrorCode::invalid_argument,
            "pattern '{}': {}", pattern, regex.error());
  Tensor y = Tensor::zeros(DType::boolean, x.shape());
  const auto out = y.mutable_values<bool>();
  for (size_t i = 0; i < out.size(); i++) out[i] = RE2::FullMatch(x.string_values()[i], regex);
  return y;
}

// -- Movement -----------------------------------------------------------------------------------

// The outputs of an operator on strings that only moves or compares elements that are strings, too.
enum class StringOutputs { first, all, none };
const std::map<std::string_view, StringOutputs>& moving_operators() {
  static const std::map<std::string_view, StringOutputs> kMovingOperators = {
      {"Compress", StringOutputs::first},
      {"Concat", StringOutputs::first},
      {"ConstantOfShape", StringOutputs::first},
      {"Equal", StringOutputs::none},
      {"Expand", StringOutputs::first},
      {"Flatten", StringOutputs::first},
      {"Gather", StringOutputs::first},
      {"GatherElements", StringOutputs::first},
      {"GatherND", StringOutputs::first},
      {"OneHot", StringOutputs::first},
      {"Pad", StringOutputs::first},
      {"Reshape", StringOutputs::first},
      {"ReverseSequence", StringOutputs::first},
      {"Scatter", StringOutputs::first},
      {"ScatterElements", StringOutputs::first},
      {"ScatterND", StringOutputs::first},
      {"Shape", StringOutputs::none},
      {"Size", StringOutputs::none},
      {"Slice", StringOutputs::first},
      {"Split", StringOutputs::all},
      {"Squeeze", StringOutputs::first},
      {"TfIdfVectorizer", StringOutputs::none},
      {"Tile", StringOutputs::first},
      {"Transpose", StringOutputs::first},
      {"Unique", StringOutputs::first},
      {"Unsqueeze", StringOutputs::first},
      {"Where", StringOutputs::first},
  };
  return kMovingOperators;
}

// Replaces strings by their ranks in sorted order, runs the operator on the ranks, and replaces
// ranks in the results by strings.
std::vector<Tensor> move_elements(const ir::Node& n, std::span<const Tensor> inputs,
                                  StringOutputs made) {
  if (n.op_type.starts_with("Scatter"))  // ranks cannot be added
    if (const std::string reduction = n.string_attr("reduction", "none"); reduction != "none")
      fail_at(n, ErrorCode::unimplemented, "elements of type string have no reduction '{}'",
              reduction);
  std::set<std::string> sorted = {""};  // "" is the padding value, and has rank 0
  for (const Tensor& t : inputs)
    if (t.dtype() == DType::string)
      sorted.insert(t.string_values().begin(), t.string_values().end());
  // The n-grams of TfIdfVectorizer.
  const ir::Attribute* attribute = n.find_attr("pool_strings");
  const auto* pool = attribute ? std::get_if<std::vector<std::string>>(attribute) : nullptr;
  if (pool) sorted.insert(pool->begin(), pool->end());
  const std::vector<std::string> all(sorted.begin(), sorted.end());
  const auto rank_of = [&](const std::string& s) {
    return static_cast<int64_t>(std::lower_bound(all.begin(), all.end(), s) - all.begin());
  };
  ir::Graph g;
  g.opsets[""] = n.opset();
  std::vector<ir::Value*> values;
  std::vector<Tensor> numbers;
  for (const Tensor& t : inputs) {
    Tensor number = t;
    if (t.dtype() == DType::string) {
      std::vector<int64_t> ranks;
      for (const std::string& s : t.string_values()) ranks.push_back(rank_of(s));
      number = Tensor::of<int64_t>(t.shape(), std::span<const int64_t>(ranks));
    }
    values.push_back(number.defined() ? g.add_constant("", number) : nullptr);
    numbers.push_back(std::move(number));
  }
  ir::Node* copy = g.add_node(n.op_type, n.domain, values, n.outputs().size());
  copy->name = n.name;
  copy->attributes = n.attributes;
  if (pool) {
    std::vector<int64_t> ranks;
    for (const std::string& s : *pool) ranks.push_back(rank_of(s));
    copy->attributes["pool_int64s"] = ranks;
    copy->attributes.erase("pool_strings");
  }
  for (ir::Value* v : copy->outputs()) g.add_output(v);
  infer(*copy);
  std::vector<Tensor> out = evaluate(*copy, numbers);
  for (size_t o = 0; o < out.size(); o++) {
    if (made == StringOutputs::none || (made == StringOutputs::first && o > 0) || !out[o].defined())
      continue;
    std::vector<std::string> text;
    for (const int64_t rank : out[o].to_int64s()) text.push_back(all.at(static_cast<size_t>(rank)));
    out[o] = Tensor::strings(out[o].shape(), std::move(text));
  }
  return out;
}

bool is_standard(const ir::Node& n) { return n.domain.empty() || n.domain == "ai.onnx"; }

}  // namespace

bool is_about_strings(const ir::Node& n, std::span<const Tensor> inputs) {
  if (!is_standard(n)) return false;
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const Tensor& t) { return t.dtype() == DType::string; }) ||
         (n.op_type == "Cast" && cast_target(n) == kString);
}

std::vector<Tensor> evaluate_strings(const ir::Node& n, std::span<const Tensor> inputs) {
  if (n.is("LabelEncoder", "ai.onnx.ml") && inputs.size() == 1)
    return {encode_strings(n, inputs[0])};
  if (n.is("Tokenizer", "com.microsoft")) return {tokenize(n, inputs)};
  if (is_standard(n) && !inputs.empty()) {
    if (n.op_type == "Identity") return {inputs[0]};
    if (n.op_type == "Cast") {
      if (cast_target(n) == kString) return {cast_node(n, inputs[0], DType::string)};
      const auto to = dtype_from_onnx(cast_target(n));
      if (!to)
        fail_at(n, ErrorCode::invalid_argument,
                "attribute `to` is not the number of an element type");
      return {cast_node(n, inputs[0], *to)};
    }
    if (n.op_type == "CastLike" && inputs.size() == 2)
      return {cast_node(n, inputs[0], inputs[1].dtype())};
    if (n.op_type == "StringConcat") return {concat(n, inputs)};
    if (n.op_type == "StringSplit") return split(n, inputs);
    if (n.op_type == "StringNormalizer") return {normalize(n, inputs)};
    if (n.op_type == "RegexFullMatch") return {full_match(n, inputs)};
    if (const auto it = moving_operators().find(n.op_type); it != moving_operators().end())
      return move_elements(n, inputs, it->second);
  }
  fail_at(n, ErrorCode::unimplemented, "is not supported on strings");
}

}  // namespace poprt::ops
