#include "recorded_compile_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "runtime/session/model_source.h"

namespace poprt::capi {
namespace {

[[noreturn]] void refuse_recorded(const popef::Option& o) {
  fail(ErrorCode::failed_precondition,
       "the file records the compile option '{}' = '{}', which this version does not support; "
       "compile the model with poprt",
       o.name(), o.value());
}

int64_t recorded_number(const popef::Option& o, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) refuse_recorded(o);
  return value;
}

double recorded_fraction(const popef::Option& o) {
  const std::string& text = o.value();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) refuse_recorded(o);
  return value;
}

std::vector<std::string> recorded_words(std::string_view text) {
  std::vector<std::string> list;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    list.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return list;
}

// Returns the number of the value in `known`, counted from 1.
int32_t recorded_choice(const popef::Option& o, std::initializer_list<std::string_view> known) {
  int32_t i = 1;
  for (const std::string_view word : known) {
    if (o.value() == word) return i;
    i++;
  }
  refuse_recorded(o);
}

}  // namespace

// Parses "NAME=[d0,d1]"; the name may contain any characters.
void RecordedCompileOptions::add_input_shape(const popef::Option& o) {
  const std::string& text = o.value();
  const size_t at = text.rfind("=[");
  if (at == text.npos || !text.ends_with("]")) refuse_recorded(o);
  const std::string_view inside = std::string_view(text).substr(at + 2, text.size() - at - 3);
  std::vector<int64_t>& values = shape_values_.emplace_back();
  if (!inside.empty())
    for (const std::string& word : recorded_words(inside))
      values.push_back(recorded_number(o, word));
  shapes_.push_back({keep(text.substr(0, at)), values.data(), values.size()});
}

// Parses "NAME=LENGTH".
void RecordedCompileOptions::add_input_length(const popef::Option& o) {
  const std::string& text = o.value();
  const size_t at = text.rfind('=');
  if (at == text.npos) refuse_recorded(o);
  lengths_.push_back(
      {keep(text.substr(0, at)), recorded_number(o, std::string_view(text).substr(at + 1))});
}

void RecordedCompileOptions::add(const popef::Option& o, const OptionNames& option_names) {
  const std::string &name = o.name(), &value = o.value();
  const auto flag = [&] { return recorded_number(o, value) == 1 ? 1 : (refuse_recorded(o), 0); };
  const auto names = [&](std::vector<const char*>& to) {
    for (std::string& word : recorded_words(value)) to.push_back(keep(std::move(word)));
  };
  if (name.starts_with("graph0/"))
    fail(ErrorCode::failed_precondition,
         "the executable contains several models; compile them again and fuse them (poprt "
         "--config_yaml)");
  if (name == "input_shapes") return add_input_shape(o);
  if (name == "input_lengths") return add_input_length(o);
  if (name == "passes") return names(passes_);
  if (name == "skip_passes") return names(skip_passes_);
  if (name == "outputs") return outputs_.push_back(keep(value));
  if (name == "stop_after") {
    options.stop_after = keep(value);
  } else if (name == "precision" && value != "bf16" && value != "int8" &&
             !value.starts_with("fp8")) {
    // 8-bit floats, bf16 and int8 are options by name, because the field has no number for them
    options.precision = recorded_choice(o, {"fp32", "fp16"});
  } else if (name == "winograd") {
    options.winograd = recorded_choice(o, {"off", "exact", "fast"});
  } else if (name == "batch_size") {
    options.batch_size = recorded_number(o, value);
  } else if (name == "batch_axis") {
    options.batch_axis = recorded_number(o, value);
  } else if (name == "max_tensor_size") {
    options.max_tensor_size = recorded_number(o, value);
  } else if (name == "rewrite_limit") {
    options.rewrite_limit = recorded_number(o, value);
  } else if (name == "max_padding") {
    options.max_padding = recorded_fraction(o);
  } else if (name == "convert_version") {
    options.convert_version = recorded_number(o, value);
  } else if (name == "variable_weights") {
    options.variable_weights = flag();
  } else if (name == "strict") {
    options.strict = flag();
  } else if (name == "embed_source") {
    options.embed_source = flag();
  } else if (name == runtime::kSourceName) {
    source = value;
  } else if (name == runtime::kSourceHash) {
    source_hash = value;
  } else {
    add_by_name(o, option_names);
  }
}

// Adds an option that has no field: an option of command poprt, or a field of PopRT's or PopART's
// options. engine_options() and NamedOptions never record those of kNeverRecorded, so only a forged
// file has them.
void RecordedCompileOptions::add_by_name(const popef::Option& o, const OptionNames& option_names) {
  constexpr std::string_view kPopart = "popart.";
  constexpr std::string_view kNeverRecorded[] = {
      "custom_library_so_paths", "compiler_options", "popart_options",
      "enable_engine_caching",   "cache_path",       "opaque_blobs"};
  const std::string& name = o.name();
  if (std::ranges::count(kNeverRecorded, name) > 0) refuse_recorded(o);
  // Reverses recorded_value() of engine_options.h.
  std::string value = o.value();
  const bool lines = value.ends_with('\n');
  if (lines) value.pop_back();
  if (bool several = false; option_names.find(name, several)) {
    if (several && !lines) std::ranges::replace(value, ' ', '\n');
    named_.push_back({keep(name), keep(std::move(value))});
  } else if (name.starts_with(kPopart)) {
    popart_options_ += fmt::format("{}={}\n", name.substr(kPopart.size()), value);
  } else {
    if (!option_names.is_compiler_field(name)) refuse_recorded(o);
    compiler_options_ += fmt::format("{}={}\n", name, value);
  }
}

// Adds an option with its words, which are joined already, one per line.
void RecordedCompileOptions::add_words(const char* name, std::string& words) {
  if (words.empty()) return;
  words.pop_back();  // the line feed after the last word
  named_.push_back({name, words.c_str()});
}

RecordedCompileOptions::RecordedCompileOptions(const std::vector<popef::Option>& recorded,
                                               const OptionNames& option_names) {
  for (const popef::Option& o : recorded) add(o, option_names);
  options.struct_size = sizeof(options);
  options.input_shapes = shapes_.data();
  options.input_shape_count = shapes_.size();
  options.input_lengths = lengths_.data();
  options.input_length_count = lengths_.size();
  options.passes = passes_.data();
  options.pass_count = passes_.size();
  options.skip_passes = skip_passes_.data();
  options.skip_pass_count = skip_passes_.size();
  options.outputs = outputs_.data();
  options.output_count = outputs_.size();
  add_words("compiler_options", compiler_options_);
  add_words("popart_options", popart_options_);
  options.options = named_.data();
  options.option_count = named_.size();
}

}  // namespace poprt::capi
