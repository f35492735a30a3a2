// The options of the command `poprt`, of its YAML file, of poprt_compile_options.options and of
// Python's Converter. All of these, and docs/options.md, are made from this table.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace poprt::capi {

// The format of a value.
enum class OptionKind : unsigned char {
  flag,
  integer,
  number,
  text,   // one word; one of `choices` if that is not empty
  names,  // separated by commas; surrounding blanks are ignored
  words,  // several words; in a text, one per line
};

// The effect of an option. No option is ignored silently.
enum class OptionEffect : unsigned char {
  acts,
  recorded,  // tunes a chip: stored in the PopEF file's metadata for the chip model
  warns,     // accepted and recorded, with a warning that it has no other effect
  fails,     // not available yet, so its use is an error
};

// Values of OptionRow::goes_with: for options of 8-bit floats, and for options of int8.
inline constexpr std::string_view kQuarters = "precision fp8 or fp8_weight";
inline constexpr std::string_view kBytes = "precision int8";

struct OptionRow {
  std::string_view name;
  std::string_view group;
  OptionKind kind = OptionKind::flag;
  std::string_view value = {};  // name of the value in the help
  std::string_view help;
  OptionEffect effect = OptionEffect::acts;
  // Completes the effect: the difference from PopRT's manual, or the reason for no effect.
  std::string_view note = {};
  std::string_view standard = {};     // the default value as help and documentation show it
  std::string_view choices = {};      // the values of a text, separated by commas
  std::string_view unavailable = {};  // the choices that fail
  std::string_view aliases = {};      // with their dashes, separated by commas
  std::string_view since = "1.0";     // version of PopRT; empty: an addition of poprt
  bool command = false;               // only of the command, not of the compiler
  bool executable = false;            // has no effect on the converted model
  std::string_view needs = {};        // its use without that option is an error
  std::string_view goes_with = {};    // warns without that option, because it has no effect
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;  // `least` is excluded
};

// Options in the order of PopRT's manual. Additions are at the end of their group.
std::span<const OptionRow> poprt_options();
// The options of sub-command tf2onnx.
std::span<const OptionRow> tf2onnx_table();
// Returns null if there is none. Aliases are not names.
const OptionRow* find_option(std::string_view name);

// A field of PopRT's CompilerOptions (set by --compiler_options).
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
// The names of the fields of PopART's SessionOptions (set by --popart_options).
std::span<const std::string_view> popart_fields();

std::string_view effect_name(OptionEffect effect);
std::string_view kind_name(OptionKind kind);
// Returns all tables as JSON.
std::string options_json();

}  // namespace poprt::capi
