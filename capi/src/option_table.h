// The options of command `poprt`, which are also those of its YAML file, of
// poprt_compile_options.options and of Python's Converter: one table makes them all, and
// docs/options.md.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace poprt::capi {

// What a value looks like.
enum class OptionKind : unsigned char {
  flag,
  integer,
  number,
  text,   // one word; with `choices`, one of those
  names,  // separated by commas, blanks around them are nothing
  words,  // several words; as one text, a line each
};

// What an option does. Nothing is ignored in silence.
enum class OptionEffect : unsigned char {
  acts,
  recorded,  // tunes a chip: goes into the PopEF file's metadata, for the model of the chip
  warns,     // is accepted and recorded, and a warning says that nothing else happens
  fails,     // is not available yet, which is an error
};

// In OptionRow::goes_with: an option of 8-bit floats.
inline constexpr std::string_view kQuarters = "precision fp8 or fp8_weight";

struct OptionRow {
  std::string_view name;
  std::string_view group;
  OptionKind kind = OptionKind::flag;
  std::string_view value = {};  // what help calls it
  std::string_view help;
  OptionEffect effect = OptionEffect::acts;
  // Continues the effect: what happens in place of what PopRT's manual says, or why nothing does.
  std::string_view note = {};
  std::string_view standard = {};     // the value when none is given, for people
  std::string_view choices = {};      // of a text, separated by commas
  std::string_view unavailable = {};  // which of them fail
  std::string_view aliases = {};      // as they are typed, separated by commas
  std::string_view since = "1.0";     // of PopRT; empty: ours
  bool command = false;               // of the command alone, not of the compiler
  bool executable = false;            // decides nothing of the converted model
  std::string_view needs = {};        // without that option it is an error
  std::string_view goes_with = {};    // without that option it has no effect, which is a warning
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;  // least itself is too little
};

// In the order of PopRT's manual; ours at the end of their group.
std::span<const OptionRow> option_table();
// The same of sub-command tf2onnx.
std::span<const OptionRow> tf2onnx_table();
// Null when there is none; aliases are no names.
const OptionRow* find_option(std::string_view name);

// A field of PopRT's CompilerOptions, which --compiler_options sets, or of PopART's SessionOptions.
struct FieldRow {
  std::string_view name;
  OptionKind kind = OptionKind::text;
  std::string_view standard = {};
  std::string_view choices = {};
  OptionEffect effect = OptionEffect::recorded;
  std::string_view note = {};
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;
};
std::span<const FieldRow> compiler_fields();
std::span<const std::string_view> popart_fields();

std::string_view effect_name(OptionEffect effect);
std::string_view kind_name(OptionKind kind);
// All of that as JSON.
std::string options_json();

}  // namespace poprt::capi
