#include "named_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "base/edit_distance.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "guard.h"
#include "opsets/convert.h"
#include "option_values.h"
#include "poprt_options.h"

namespace poprt::capi {
namespace {

// Checks options with a special grammar.
void check_grammar(std::string_view name, std::string_view value) {
  if (name == "remap_mode") {
    for (const std::string& mode : split_names(value, name))
      if (mode != "both" && !(mode.starts_with("before_") && mode.size() > 7) &&
          !(mode.starts_with("after_") && mode.size() > 6))
        fail(ErrorCode::invalid_argument,
             "`{}`: expected before_TYPE, after_TYPE or both, found '{}'", name, mode);
  } else if (name == "serialize_matmul" || name == "serialize_matmul_add") {
    for (const std::string_view word : split_lines(value, name)) check_serialized(name, word);
  } else if (name == "pack_args") {
    check_pack_args(value);
  } else if (name == "pass_args") {
    for (const std::string_view word : split_lines(value, name)) {
      const size_t dot = word.find('.'), at = word.find('=');
      if (dot == std::string_view::npos || dot == 0 || at == std::string_view::npos || at < dot + 2)
        fail(ErrorCode::invalid_argument, "`{}`: expected PASS.PARAMETER=TEXT, found '{}'", name,
             word);
    }
  } else if (name == "pad_values") {
    for (const std::string_view word : split_lines(value, name)) parse_padding(word);
  } else if (name == "max_size") {
    for (const std::string_view word : split_lines(value, name)) parse_max_size(word);
  } else if (name == "merge_matmul_add" || name == "merge_moe") {
    if (split_names(value, name).size() % 2 != 0)
      fail(ErrorCode::invalid_argument, "`{}`: expected pairs of names, found '{}'", name, value);
  }
}

// Returns "; did you mean 'batch_size'?" for a similar name, the option for a field of
// CompilerOptions, or an empty text.
std::string similar_to(const std::string& name) {
  if (std::ranges::count(compiler_fields(), name, &FieldRow::name))
    return fmt::format("; it is a field of compiler_options, whose lines are such as '{}=VALUE'",
                       name);
  std::string_view nearest;
  size_t least = std::max<size_t>(2, name.size() / 4) + 1;
  for (const OptionRow& row : poprt_options())
    if (const size_t distance = edit_distance(name, row.name); !row.command && distance < least) {
      least = distance;
      nearest = row.name;
    }
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

}  // namespace

void check_precisions(std::string_view precision, std::string_view execution, bool reproducible) {
  if (precision == "bf16" && !execution.empty() && execution != "bf16" && execution != "auto")
    fail(ErrorCode::invalid_argument,
         "`precision` bf16 computes products in bf16, and `execution_precision` is {}", execution);
  if (!reproducible) return;
  const auto refuse = [](std::string_view name, std::string_view value) {
    fail(ErrorCode::invalid_argument, "`reproducible` computes products in f32, and `{}` is {}",
         name, value);
  };
  if (!execution.empty() && execution != "f32") refuse("execution_precision", execution);
  if (precision == "bf16") refuse("precision", precision);
}

NamedOptions::NamedOptions(poprt_compile_options& o) {
  read(o);
  check_together(o);
  refuse_unavailable();
  take_fields(o);
  take_shapes(o);
  take_compiler_options(o);
  take_popart_options();
  leave(o);
}

void NamedOptions::read(const poprt_compile_options& o) {
  if (o.option_count) required(o.options, "options");
  for (const poprt_option& option : std::span(o.options, o.option_count)) {
    const std::string name = &required(option.name, "options[].name");
    const std::string_view value = &required(option.value, "options[].value");
    const OptionRow* row = find_option(name);
    if (!row)
      fail(ErrorCode::invalid_argument, "there is no option '{}'{}", name, similar_to(name));
    if (row->command)
      fail(ErrorCode::invalid_argument, "`{}` is an option of the command poprt, not of a compiler",
           name);
    std::string text = checked_value(*row, value);
    check_grammar(name, text);
    if (!values_.emplace(name, std::move(text)).second)
      fail(ErrorCode::invalid_argument, "`{}` is given twice", name);
  }
  // A flag that is off is equivalent to an absent one.
  std::erase_if(values_, [](const auto& entry) {
    return find_option(entry.first)->kind == OptionKind::flag && entry.second == "0";
  });
}

void NamedOptions::check_together(const poprt_compile_options& o) const {
  const auto precision = values_.find("precision");
  const std::string chosen = precision == values_.end() ? "" : precision->second;
  const auto is_field = [&o](std::string_view name) {
    return name == "batch_size" ? o.batch_size > 0 : name == "batch_axis" && o.batch_axis > 0;
  };
  for (const auto& [name, value] : values_) {
    const OptionRow& row = *find_option(name);
    // An option that also has a field is refused later, as given twice.
    if (!row.needs.empty() && !has(row.needs) && !is_field(row.needs) && !is_field(name))
      fail(ErrorCode::invalid_argument, "`{}` needs `{}`", name, row.needs);
  }
  if (has("calibration_with_data") && !chosen.starts_with("fp8") && chosen != "int8")
    fail(ErrorCode::invalid_argument,
         "`calibration_with_data` needs `precision` fp8, fp8_weight or int8{}",
         chosen.empty() ? "" : ", found " + chosen);
  if (chosen == "int8" && !has("calibration_with_data"))
    fail(ErrorCode::invalid_argument,
         "`precision` int8 needs `calibration_with_data` and `data_preprocess`");
  if (has("lowest_opset") && (has("convert_version") || o.convert_version))
    fail(ErrorCode::invalid_argument, "`lowest_opset` and `convert_version` exclude each other");
  if (const auto lowest =
          has("lowest_opset") ? *parse_number<int64_t>(values_.at("lowest_opset")) : 0;
      lowest != 0 && lowest < opsets::kOldestTarget)
    fail(ErrorCode::invalid_argument,
         "`lowest_opset`: expected 0 or an opset from {} to {}, found '{}'", opsets::kOldestTarget,
         opsets::kNewest, values_.at("lowest_opset"));
  const auto loss = values_.find("calibration_loss_type");
  if (loss != values_.end() && loss->second == "gptq" && chosen != "fp8_weight")
    fail(ErrorCode::invalid_argument,
         "`calibration_loss_type` gptq goes with `precision` fp8_weight, not with {}",
         chosen.empty() ? "none" : chosen);
  if (loss != values_.end() && is_one_of("minmax,percentile,entropy", loss->second) &&
      chosen != "int8")
    fail(ErrorCode::invalid_argument,
         "`calibration_loss_type` {} goes with `precision` int8, not with {}", loss->second,
         chosen.empty() ? "none" : chosen);
  const auto execution = values_.find("execution_precision");
  check_precisions(chosen, execution == values_.end() ? "" : execution->second,
                   has("reproducible"));
  for (const char* compared : {"check", "precision_compare"})
    if (has("eightbitsio") && has(compared))
      fail(ErrorCode::invalid_argument,
           "`{}` needs equal inputs of both models, and `eightbitsio` changes those of the "
           "converted model",
           compared);
  const auto version = values_.find("ipu_version");
  // An estimate has another chip.
  if (chosen == "fp8" &&
      (version == values_.end() ? !has("estimate_target") : version->second == "ipu2"))
    fail(ErrorCode::invalid_argument, "`precision` fp8 needs `ipu_version` ipu21, which has it");
  warn_without_effect(o, chosen);
}

// Warns about options that are valid but have no effect.
void NamedOptions::warn_without_effect(const poprt_compile_options& o,
                                       const std::string& precision) const {
  // Options that belong to a precision need fp16 or an 8-bit float.
  const auto passes = values_.find("passes");
  const bool quarters =
      precision.starts_with("fp8") ||
      (passes != values_.end() && is_one_of(passes->second, "float_to_fp8")) ||
      std::ranges::any_of(
          std::span(o.passes, o.passes ? o.pass_count : 0),  // checked later
          [](const char* name) { return name && !std::strcmp(name, "float_to_fp8"); });
  const bool narrow = quarters || precision == "fp16" || o.precision == POPRT_PRECISION_FP16;
  for (const auto& [name, value] : values_) {
    const OptionRow& row = *find_option(name);
    const bool together = row.goes_with.empty()          ? true
                          : row.goes_with == "precision" ? narrow
                          : row.goes_with == kQuarters   ? quarters
                          : row.goes_with == kBytes      ? precision == "int8"
                                                         : has(row.goes_with);
    if (!together)
      log().warn("`{}` has no effect without `{}`{}", name, row.goes_with,
                 row.goes_with == "precision" ? " fp16" : "");
  }
  const auto loss = values_.find("calibration_loss_type");
  if (has("calibration_percentile") && (loss == values_.end() || loss->second != "percentile"))
    log().warn("`calibration_percentile` has no effect without `calibration_loss_type` percentile");
  if (has("data_preprocess") && !has("calibration_with_data") && !has("precision_compare") &&
      !has("check"))
    log().warn(
        "`data_preprocess` has no effect without `calibration_with_data`, `precision_compare` or "
        "`check`");
}

void NamedOptions::refuse_unavailable() const {
  // The order is that of the table, so the error does not depend on the order of the options.
  for (const OptionRow& row : poprt_options()) {
    const auto found = values_.find(std::string(row.name));
    if (found == values_.end()) continue;
    if (row.effect == OptionEffect::fails)
      fail(ErrorCode::unimplemented, "`{}`: {}", row.name, row.note);
    if (row.effect == OptionEffect::warns) log().warn("`{}`: {}", row.name, row.note);
    if (!row.unavailable.empty() && is_one_of(row.unavailable, found->second))
      fail(ErrorCode::unimplemented, "`{}`: {} is not available yet", row.name, found->second);
  }
}

// Moves the options that have fields in poprt_compile_options.
void NamedOptions::take_fields(poprt_compile_options& o) {
  const auto take = [&](const char* name, bool in_field, auto&& set) {
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    if (in_field)
      fail(ErrorCode::invalid_argument, "`{}` is given twice: as a field and by name", name);
    set(found->second);
    values_.erase(found);
  };
  const auto integer = [](const std::string& text) { return *parse_number<int64_t>(text); };
  const auto position = [](const std::string& text, std::initializer_list<const char*> words) {
    return static_cast<int32_t>(std::find(words.begin(), words.end(), text) - words.begin());
  };
  take("batch_size", o.batch_size != 0, [&](auto& v) { o.batch_size = integer(v); });
  take("batch_axis", o.batch_axis != 0, [&](auto& v) { o.batch_axis = integer(v); });
  // The field has no number for 8-bit floats, bf16 and int8, so they stay an option by name.
  if (const auto chosen = values_.find("precision");
      chosen == values_.end() || is_one_of("fp32,fp16", chosen->second))
    take("precision", o.precision != 0,
         [&](auto& v) { o.precision = position(v, {"", "fp32", "fp16"}); });
  else if (o.precision != 0)
    fail(ErrorCode::invalid_argument, "`precision` is given twice: as a field and by name");
  take("winograd", o.winograd != 0,
       [&](auto& v) { o.winograd = position(v, {"", "off", "exact", "fast"}); });
  take("max_padding", o.max_padding != 0,
       [&](auto& v) { o.max_padding = *parse_number<double>(v); });
  take("convert_version", o.convert_version != 0, [&](auto& v) { o.convert_version = integer(v); });
  take("max_tensor_size", o.max_tensor_size != 0, [&](auto& v) {
    o.max_tensor_size = std::max<int64_t>(integer(v), 0);
    if (v == "0")  // 0 means no limit in the field
      fail(ErrorCode::invalid_argument,
           "`max_tensor_size`: expected -1 for no limit or at least 1, found '0'");
  });
  take("strict", o.strict != 0, [&](auto&) { o.strict = 1; });
  take("embed_source", o.embed_source != 0, [&](auto&) { o.embed_source = 1; });
  take("allow_symlinks", o.allow_links != 0, [&](auto&) { o.allow_links = 1; });
  const auto list = [&](std::vector<const char*>& to, const char* name, const std::string& text) {
    for (std::string& s : split_names(text, name)) to.push_back(keep(std::move(s)));
  };
  take("passes", o.pass_count != 0, [&](auto& v) {
    list(passes_, "passes", v);
    o.passes = passes_.data();
    o.pass_count = passes_.size();
  });
  take("skip_passes", o.skip_pass_count != 0, [&](auto& v) {
    list(skip_passes_, "skip_passes", v);
    o.skip_passes = skip_passes_.data();
    o.skip_pass_count = skip_passes_.size();
  });
  take("infer_shape_ahead", false, [](auto&) {});
  take("check", false, [&](auto&) { check_ = true; });
  take("precision_compare", false, [&](auto&) { precision_compare_ = true; });
}

void NamedOptions::take_shapes(poprt_compile_options& o) {
  const auto found = values_.find("input_shape");
  if (found == values_.end()) return;
  if (o.input_shape_count)
    fail(ErrorCode::invalid_argument, "`input_shape` is given twice: as a field and by name");
  for (const std::string_view word : split_lines(found->second, "input_shape")) {
    auto [name, shapes] = parse_shapes(word);
    const char* const input = keep(std::move(name));
    for (const poprt_input_shape& s : shapes_)
      if (std::string_view(s.name) == input)
        fail(ErrorCode::invalid_argument, "`input_shape`: '{}' is given twice", input);
    for (std::vector<int64_t>& shape : shapes) {
      const std::vector<int64_t>& kept = dimensions_.emplace_back(std::move(shape));
      shapes_.push_back({input, kept.data(), kept.size()});
    }
  }
  o.input_shapes = shapes_.data();
  o.input_shape_count = shapes_.size();
  values_.erase(found);
}

void NamedOptions::take_compiler_options(poprt_compile_options& o) {
  const auto found = values_.find("compiler_options");
  if (found == values_.end()) return;
  std::string ipus = "1", mode = "off";
  bool pipelined = false;
  for (const std::string_view word : split_lines(found->second, "compiler_options")) {
    const auto [key, given] = split_pair(word, "compiler_options");
    const FieldRow& row = compiler_field(key);
    std::string value = checked_value(row, given);
    if (row.effect == OptionEffect::fails)
      fail(ErrorCode::unimplemented, "`compiler_options`: {}: {}", key, row.note);
    if (row.effect == OptionEffect::warns) log().warn("`compiler_options`: {}: {}", key, row.note);
    const bool on = value == "True";
    if (key == "virtual_graph_mode" && value == "executionPhases")
      fail(ErrorCode::unimplemented,
           "`compiler_options`: virtual_graph_mode=executionPhases is for training: use manual or "
           "auto");
    if (key == "num_ipus") ipus = value;
    if (key == "virtual_graph_mode") mode = value;
    if (key == "enable_pipelining") pipelined = on;
    if (key == "enable_engine_caching")
      o.enable_engine_caching = on;
    else if (key == "cache_path")
      o.cache_path = keep(std::move(value));
    else if (key == "constant_weights")
      o.variable_weights = !on;
    else if (key == "opaque_blobs")
      take_opaque_blobs(o, value);
    else if (key == "enable_model_fusion")
      on ? record(std::string(key), value) : void();
    else if (key == "show_compilation_progress_bar")
      o.progress = on ? o.progress : nullptr;
    else
      record(std::string(key), value);
  }
  values_.erase(found);
  if (ipus != "1" && mode == "off")
    fail(ErrorCode::invalid_argument,
         "`compiler_options`: num_ipus={} needs virtual_graph_mode manual (of a model that is cut) "
         "or auto",
         ipus);
  if (pipelined && ipus == "1")
    fail(ErrorCode::invalid_argument,
         "`compiler_options`: enable_pipelining needs several IPUs, num_ipus is 1");
}

void NamedOptions::take_opaque_blobs(poprt_compile_options& o, const std::string& json) {
  const auto parsed = try_parse_json(json);
  const auto texts = [](const auto& item) { return item.is_string(); };
  if (!parsed.is_object() || !std::ranges::all_of(parsed, texts))
    fail(ErrorCode::invalid_argument,
         "`compiler_options`: opaque_blobs: expected a JSON object of texts, found '{}'", json);
  if (o.opaque_blob_count)
    fail(ErrorCode::invalid_argument,
         "`compiler_options`: opaque_blobs is given twice: as a field and by name");
  for (const auto& [name, text] : parsed.items()) {
    const std::string& data = texts_.emplace_back(text.get<std::string>());
    blobs_.push_back({keep(name), data.data(), data.size()});
  }
  o.opaque_blobs = blobs_.data();
  o.opaque_blob_count = blobs_.size();
}

void NamedOptions::take_popart_options() {
  const auto found = values_.find("popart_options");
  if (found == values_.end()) return;
  for (const std::string_view word : split_lines(found->second, "popart_options")) {
    const auto [key, value] = split_pair(word, "popart_options");
    // Entries of a map and fields of a struct are written as KEY.FIELD.
    const std::string_view field = key.substr(0, key.find('.'));
    if (!std::ranges::count(popart_fields(), field))
      fail(ErrorCode::invalid_argument, "`popart_options`: SessionOptions has no field '{}'", key);
    record(fmt::format("popart.{}", key), std::string(value));
  }
  values_.erase(found);
}

void NamedOptions::record(const std::string& name, const std::string& value) {
  const auto same = std::ranges::find(left_, name, &std::pair<std::string, std::string>::first);
  const auto named = values_.find(name);
  const std::string* other = same != left_.end()      ? &same->second
                             : named != values_.end() ? &named->second
                                                      : nullptr;
  if (!other)
    left_.emplace_back(name, value);
  else if (*other != value)
    fail(ErrorCode::invalid_argument, "{} is given twice, as {} and as {}", name, *other, value);
}

void NamedOptions::leave(poprt_compile_options& o) {
  std::vector<std::pair<std::string, std::string>> fields = std::move(left_);
  left_.clear();
  for (const OptionRow& row : poprt_options())
    if (const auto found = values_.find(std::string(row.name)); found != values_.end())
      left_.emplace_back(*found);
  std::ranges::move(fields, std::back_inserter(left_));
  for (const auto& [name, value] : left_) options_.push_back({name.c_str(), value.c_str()});
  o.options = options_.data();
  o.option_count = options_.size();
}

}  // namespace poprt::capi
