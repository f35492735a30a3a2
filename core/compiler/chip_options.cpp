#include "compiler/chip_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "compiler/chip_remedies.h"

namespace poprt::compiler {
namespace {

template <class T>
T chip_number(const OptionText& option, const char* name, T standard, T least, T most) {
  const char* text = option(name);
  if (!text) return standard;
  const std::string_view word = text;
  T value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !(value >= least) ||
      !(value <= most))
    fail(ErrorCode::invalid_argument, "`{}`: expected a number from {} to {}, found '{}'", name,
         least, most, word);
  return value;
}

bool chip_flag(const OptionText& option, const char* name, bool standard = false) {
  const char* text = option(name);
  if (!text) return standard;
  return std::string_view(text) == "True" || std::string_view(text) == "1";
}

Precision chip_precision(const OptionText& option) {
  const char* text = option("precision");
  const std::string_view word = text ? text : "";
  if (word == "fp32") return Precision::fp32;
  if (word == "fp16" || word == "bf16") return Precision::fp16;
  if (word == "fp8") return Precision::fp8;
  if (word == "fp8_weight") return Precision::fp8_weight;
  return Precision::keep;
}

}  // namespace

ipu::Target chip_target(std::string_view word) {
  if (!word.ends_with(".json")) return ipu::target_of(word);
  const auto file = MappedFile::open(std::string(word));
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                              file->bytes().size());
  try {
    return ipu::target_from_json(parse_json(text));
  } catch (const nlohmann::json::parse_error& e) {
    fail(ErrorCode::invalid_argument, "'{}' is not JSON: there is an error at byte {}", word,
         e.byte);
  } catch (Error& e) {
    e.add_context(fmt::format("'{}'", word));
    throw;
  }
}

std::map<std::string, int64_t> loop_rounds(std::string_view lines) {
  std::map<std::string, int64_t> rounds;
  for (size_t begin = 0; begin <= lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    const std::string_view word = lines.substr(begin, end - begin);
    const size_t at = word.rfind('=');
    const std::string_view text = at == word.npos ? "" : word.substr(at + 1);
    int64_t n = -1;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (at == 0 || error != std::errc() || rest != text.data() + text.size() || n < 0)
      fail(ErrorCode::invalid_argument, "--max_size: expected NAME=N, found '{}'", word);
    if (!rounds.emplace(word.substr(0, at), n).second)
      fail(ErrorCode::invalid_argument, "--max_size: '{}' is given twice", word.substr(0, at));
    begin = end + 1;
  }
  return rounds;
}

EstimateOptions chip_options(const OptionText& option) {
  EstimateOptions o;
  const char* target = option("estimate_target");
  if (!target) target = option("ipu_version");
  o.target = chip_target(target ? target : "c600");
  o.precision = chip_precision(option);
  if (const char* rounds = option("max_size")) o.rounds = loop_rounds(rounds);
  ipu::ChipOptions& chip = o.chip;
  chip.num_ipus = chip_number<int64_t>(option, "num_ipus", 1, 1, 1024);
  chip.num_io_tiles = chip_number<int64_t>(option, "num_io_tiles", 0, 0, o.target.tiles - 1);
  chip.batches_per_step = chip_number<int64_t>(option, "batches_per_step", 1, 1, 1'000'000);
  chip.available_memory_proportion =
      chip_number<double>(option, "available_memory_proportion", 0.6, 0, 1);
  const char* partials = option("partials_type");
  chip.float_partials = partials && std::string_view(partials) == "float";
  chip.fast_reduce = chip_flag(option, "enable_fast_reduce");
  chip.use_128bit_conv_unit_load = chip_flag(option, "use_128bit_conv_unit_load");
  chip.outline_threshold =
      chip_number<double>(option, "outline_threshold", chip.outline_threshold, -1e9, 1e9);
  if (const char* outlining = option("enable_outlining");
      outlining && std::string_view(outlining) == "False")
    chip.outline_threshold = -1;
  chip.overlap = chip_flag(option, "enable_pipelining");
  chip.stream_buffers = chip_number<int64_t>(option, "stream_buffering_depth", 1, 1, 1'000'000);
  chip.prefetch = chip_flag(option, "enable_prefetch_datastreams", true);
  chip.multi_stage_reduce = chip_flag(option, "enable_multi_stage_reduce", true);
  chip.group_host_sync = chip_flag(option, "group_host_sync");
  chip.rearrange_streams_on_host = chip_flag(option, "rearrange_streams_on_host");
  chip.rearrange_anchors_on_host = chip_flag(option, "rearrange_anchors_on_host", true);
  chip.stable_softmax = !chip_flag(option, "enable_non_stable_softmax");
  chip.replicas = chip_number<int64_t>(option, "popart.replicatedGraphCount", 1, 1, 1024);
  return o;
}

std::string set_batch(DriverOptions& conversion, int64_t samples, int64_t batch) {
  std::string shapes;
  bool found = false;
  // A conversion uses the last of several shapes.
  ShapeSet& given = conversion.shapes.empty() ? conversion.input_shape : conversion.shapes.back();
  for (auto& [name, shape] : given) {
    const bool has_batch = !shape.empty() && shape[0] == samples;
    if (has_batch) shape[0] = batch;
    found |= has_batch;
    shapes += fmt::format(" {}={}", name, fmt::join(shape, ","));
  }
  if (found && conversion.batch_size > 0) conversion.batch_size = batch;
  if (found) return "--input_shape" + shapes;
  conversion.batch_size = batch;
  if (conversion.batch_axis < 0) conversion.batch_axis = 0;
  return fmt::format("--batch_size {} --batch_axis {}", batch, conversion.batch_axis);
}

ipu::Estimate estimate_source(const ModelSource& source, const DriverOptions& conversion,
                              const EstimateOptions& options, bool allow_links, bool strict,
                              std::vector<ipu::Remedy>* remedies) {
  ModelSource shapes = source;
  shapes.shapes_only = true;
  const auto read = [&](const DriverOptions& driver) {
    auto graph = read_model(shapes, allow_links, strict);
    convert_model(*graph, driver);
    prepare_for_chip(*graph);
    return graph;
  };
  const auto graph = read(conversion);
  ipu::Estimate e = ipu::estimate_of(chip_program(*graph, options), options.target, options.chip);
  if (remedies && !e.fits())
    *remedies = find_remedies(*graph, options, [&](int64_t batch) {
      DriverOptions other = conversion;
      std::string text = set_batch(other, e.program.samples, batch);
      return OtherBatch{read(other), std::move(text)};
    });
  return e;
}

}  // namespace poprt::compiler
