// The options of a compilation in the metadata of its PopEF file.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "option_lists.h"
#include "popef/types.h"
#include "poprt/compiler.h"
#include "runtime/session/model_source.h"

namespace poprt::capi {

// The compiled model: its file name, empty for a model in memory, and its hash.
struct Source {
  std::string name, hash;
};

// Returns the value of an option by name as it is recorded. Words are separated by blanks; if a
// word contains a blank, as the name of an input may, a line feed ends each word instead. The JSON
// of `generation`, which contains blanks, is one word.
inline std::string recorded_value(std::string_view name, std::string value) {
  if (value.find(' ') == std::string::npos || name == kGenerationOption)
    std::ranges::replace(value, '\n', ' ');
  else
    value += '\n';
  return value;
}

// Returns the given options that influence the file, with the names of the fields of
// poprt_compile_options, then the options by name, which have no field, then the source
// (runtime/session/model_source.h). Opaque blobs are stored in the file and need no option.
// `poprt_exec recompile` reads them back.
inline std::vector<popef::Option> engine_options(const poprt_compile_options& o,
                                                 const Source& source) {
  std::vector<popef::Option> list;
  const auto add = [&](const char* name, bool given, std::string value) {
    if (given) list.emplace_back(name, std::move(value));
  };
  const auto add_number = [&](const char* name, int64_t value) {
    add(name, value != 0, std::to_string(value));
  };
  const auto add_names = [&](const char* name, const char* const* names, size_t count) {
    add(name, count != 0, fmt::format("{}", fmt::join(std::span(names, count), ",")));
  };
  for (const auto& s : std::span(o.input_shapes, o.input_shape_count))
    add("input_shapes", true,
        fmt::format("{}=[{}]", s.name, fmt::join(std::span(s.shape, s.rank), ",")));
  add("max_padding", o.max_padding != 0, fmt::format("{}", o.max_padding));
  add_number("batch_size", o.batch_size);
  add("batch_axis", o.batch_size != 0, std::to_string(o.batch_axis));
  add("precision", o.precision != POPRT_PRECISION_KEEP,
      o.precision == POPRT_PRECISION_FP16 ? "fp16" : "fp32");
  constexpr const char* kWinograd[] = {"", "off", "exact", "fast"};
  add("winograd", o.winograd != POPRT_WINOGRAD_DEFAULT, kWinograd[o.winograd]);
  add_names("passes", o.passes, o.pass_count);
  add_names("skip_passes", o.skip_passes, o.skip_pass_count);
  add_number("max_tensor_size", o.max_tensor_size);
  add_number("rewrite_limit", o.rewrite_limit);
  add("stop_after", o.stop_after != nullptr, o.stop_after ? o.stop_after : "");
  // Each output is an entry because its name may contain commas.
  for (const char* name : std::span(o.outputs, o.output_count)) add("outputs", true, name);
  add_number("convert_version", o.convert_version);
  add("variable_weights", o.variable_weights != 0, "1");
  add("strict", o.strict != 0, "1");
  for (const auto& l : std::span(o.input_lengths, o.input_length_count))
    add("input_lengths", true, fmt::format("{}={}", l.name, l.length));
  add("embed_source", o.embed_source != 0, "1");
  for (const auto& named : std::span(o.options, o.option_count)) {
    if (named.name == std::string_view("lowest_opset")) continue;  // only for ONNX
    // A file names the plug-ins that it needs, but not the path of their code.
    if (named.name == std::string_view("custom_library_so_paths")) continue;
    add(named.name, true, recorded_value(named.name, named.value));
  }
  add(runtime::kSourceName.data(), !source.name.empty(), source.name);
  add(runtime::kSourceHash.data(), true, source.hash);
  return list;
}

}  // namespace poprt::capi
