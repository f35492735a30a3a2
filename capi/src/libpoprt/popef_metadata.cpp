#include "poprt/popef_metadata.h"

#include <algorithm>
#include <concepts>
#include <limits>
#include <span>
#include <type_traits>

#include "popef/metadata_fields.h"
#include "popef_handles.h"
#include "struct_size.h"

using namespace poprt;

namespace {

using Options = std::vector<popef::Option>;
using Indices = popef::ProgramFlow::Indices;

// A number that is too large for the C type becomes its largest value.
template <std::integral Number>
constexpr int64_t saturated(Number value) {
  if constexpr (std::is_same_v<Number, uint64_t>)
    return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX));
  else
    return value;
}

// Converts `value` to the type of the field.
template <std::integral Number>
Number checked(poprt_popef_field field, int64_t value) {
  constexpr int64_t low = saturated(std::numeric_limits<Number>::min());
  constexpr int64_t high = saturated(std::numeric_limits<Number>::max());
  if (value < low || value > high)
    fail(ErrorCode::invalid_argument, "metadata field {}: expected a value from {} to {}, given {}",
         field, low, high, value);
  return static_cast<Number>(value);
}

poprt_error* set_text(poprt_popef_metadata* metadata, const char* value, const char* argument,
                      void (popef::Metadata::*set)(std::string)) {
  return capi::guard([&] {
    auto& m = capi::required(metadata, "metadata").value;
    (m.*set)(&capi::required(value, argument));
  });
}

// Returns null for an unknown list or flow.
const Options* options_of(const popef::Metadata& m, poprt_popef_option_list list) {
  if (list == POPRT_POPEF_ENGINE_OPTIONS) return &m.engineOptions();
  return list == POPRT_POPEF_DEVICE_OPTIONS ? &m.deviceOptions() : nullptr;
}

const Indices* flow_of(const popef::Metadata& m, poprt_popef_flow flow) {
  switch (flow) {
    case POPRT_POPEF_LOAD: return &m.programFlow().load();
    case POPRT_POPEF_MAIN: return &m.programFlow().main();
    case POPRT_POPEF_SAVE: return &m.programFlow().save();
    default: return nullptr;
  }
}

}  // namespace

namespace poprt::capi {

popef::TensorInfo tensor_info_of(poprt_dtype dtype, const int64_t* shape, size_t rank) {
  if (rank) required(shape, "shape");
  if (dtype < 0 || dtype > POPRT_DTYPE_F8)
    fail(ErrorCode::invalid_argument, "dtype {} is unknown", dtype);
  const popef::DataType type = dtype == POPRT_DTYPE_F8
                                   ? popef::DataType::F8
                                   : popef::data_type_of(static_cast<DType>(dtype));
  popef::TensorInfo info(type, std::vector<int64_t>(shape, shape + rank));
  (void)info.sizeInBytes();  // refuses invalid values
  return info;
}

poprt_string* lines_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return make_string(std::move(text));
}

}  // namespace poprt::capi

poprt_popef_metadata::poprt_popef_metadata(popef::Metadata metadata) : value(std::move(metadata)) {
  for (const auto& [program, name] : value.programsMap()) programs.push_back(program);
  std::sort(programs.begin(), programs.end());
}

poprt_error* poprt_popef_metadata_create(const poprt_popef_metadata* from,
                                         poprt_popef_metadata** out_metadata) {
  return capi::guard([&] {
    auto& out = capi::required(out_metadata, "out_metadata");
    out = new poprt_popef_metadata(from ? from->value : popef::Metadata());
  });
}

void poprt_popef_metadata_free(poprt_popef_metadata* metadata) { delete metadata; }

int64_t poprt_popef_metadata_get(const poprt_popef_metadata* metadata, poprt_popef_field field) {
  if (!metadata) return 0;
  int64_t result = 0;
  popef::for_each_metadata_field([&](const auto& f) {
    if constexpr (!popef::kIsText<decltype(f)>)
      if (f.number == field) result = saturated((metadata->value.*f.get)());
  });
  return result;
}

poprt_error* poprt_popef_metadata_set(poprt_popef_metadata* metadata, poprt_popef_field field,
                                      int64_t value) {
  return capi::guard([&] {
    popef::Metadata& m = capi::required(metadata, "metadata").value;
    bool known = false;
    popef::for_each_metadata_field([&](const auto& f) {
      if constexpr (!popef::kIsText<decltype(f)>)
        if (f.number == field) {
          known = true;
          (m.*f.set)(checked<popef::MetadataValue<decltype(f)>>(field, value));
        }
    });
    if (!known) fail(ErrorCode::invalid_argument, "metadata field {} is unknown", field);
  });
}

// tests/lint/popef_fields.py generates these from core/popef/metadata.toml. <popef:texts>
const char* poprt_popef_metadata_executable(const poprt_popef_metadata* metadata) {
  return metadata ? metadata->value.executable().c_str() : "";
}

poprt_error* poprt_popef_metadata_set_executable(poprt_popef_metadata* metadata, const char* name) {
  return set_text(metadata, name, "name", &popef::Metadata::setExecutable);
}

const char* poprt_popef_metadata_seed_handle(const poprt_popef_metadata* metadata) {
  return metadata ? metadata->value.seedHandle().c_str() : "";
}

poprt_error* poprt_popef_metadata_set_seed_handle(poprt_popef_metadata* metadata,
                                                  const char* handle) {
  return set_text(metadata, handle, "handle", &popef::Metadata::setSeedHandle);
}
// </popef:texts>

size_t poprt_popef_metadata_option_count(const poprt_popef_metadata* metadata,
                                         poprt_popef_option_list list) {
  const Options* options = metadata ? options_of(metadata->value, list) : nullptr;
  return options ? options->size() : 0;
}

const char* poprt_popef_metadata_option(const poprt_popef_metadata* metadata,
                                        poprt_popef_option_list list, size_t index,
                                        const char** out_value) {
  if (index >= poprt_popef_metadata_option_count(metadata, list)) return nullptr;
  const popef::Option& option = (*options_of(metadata->value, list))[index];
  if (out_value) *out_value = option.value().c_str();
  return option.name().c_str();
}

poprt_error* poprt_popef_metadata_add_option(poprt_popef_metadata* metadata,
                                             poprt_popef_option_list list, const char* name,
                                             const char* value) {
  return capi::guard([&] {
    auto& m = capi::required(metadata, "metadata").value;
    if (!options_of(m, list))
      fail(ErrorCode::invalid_argument, "metadata has no option list {}", list);
    auto& options = list == POPRT_POPEF_ENGINE_OPTIONS ? m.engineOptions() : m.deviceOptions();
    options.emplace_back(&capi::required(name, "name"), &capi::required(value, "value"));
  });
}

const uint32_t* poprt_popef_metadata_flow(const poprt_popef_metadata* metadata,
                                          poprt_popef_flow flow, size_t* out_count) {
  const Indices* programs = metadata ? flow_of(metadata->value, flow) : nullptr;
  if (out_count) *out_count = programs ? programs->size() : 0;
  return programs && !programs->empty() ? programs->data() : nullptr;
}

poprt_error* poprt_popef_metadata_set_flow(poprt_popef_metadata* metadata, poprt_popef_flow flow,
                                           const uint32_t* programs, size_t program_count) {
  return capi::guard([&] {
    auto& flows = capi::required(metadata, "metadata").value.programFlow();
    if (program_count) capi::required(programs, "programs");
    Indices indices(programs, programs + program_count);
    switch (flow) {
      case POPRT_POPEF_LOAD: return flows.setLoad(std::move(indices));
      case POPRT_POPEF_MAIN: return flows.setMain(std::move(indices));
      case POPRT_POPEF_SAVE: return flows.setSave(std::move(indices));
      default: fail(ErrorCode::invalid_argument, "metadata has no program flow {}", flow);
    }
  });
}

size_t poprt_popef_metadata_program_count(const poprt_popef_metadata* metadata) {
  return metadata ? metadata->programs.size() : 0;
}

const char* poprt_popef_metadata_program(const poprt_popef_metadata* metadata, size_t index,
                                         uint32_t* out_program) {
  if (index >= poprt_popef_metadata_program_count(metadata)) return nullptr;
  const uint32_t program = metadata->programs[index];
  if (out_program) *out_program = program;
  return metadata->value.programsMap().find(program)->second.c_str();
}

poprt_error* poprt_popef_metadata_set_program(poprt_popef_metadata* metadata, uint32_t program,
                                              const char* name) {
  return capi::guard([&] {
    auto& m = capi::required(metadata, "metadata");
    std::string text(&capi::required(name, "name"));
    const auto at = std::lower_bound(m.programs.begin(), m.programs.end(), program);
    if (at == m.programs.end() || *at != program) m.programs.insert(at, program);
    m.value.programsMap()[program] = std::move(text);
  });
}

size_t poprt_popef_metadata_anchor_count(const poprt_popef_metadata* metadata) {
  return metadata ? metadata->value.anchors().size() : 0;
}

poprt_error* poprt_popef_metadata_anchor(const poprt_popef_metadata* metadata, size_t index,
                                         poprt_popef_anchor* out_anchor) {
  return capi::guard([&] {
    const auto& anchors = capi::required(metadata, "metadata").value.anchors();
    if (index >= anchors.size())
      fail(ErrorCode::out_of_range, "the metadata has {} anchors, number {} was requested",
           anchors.size(), index);
    const popef::Anchor& a = anchors[index];
    poprt_popef_anchor anchor{};
    anchor.name = a.name().c_str();
    anchor.handle = a.handle().c_str();
    anchor.type = static_cast<poprt_popef_anchor_type>(a.type());
    anchor.dtype = capi::dtype_of(a.tensorInfo());
    anchor.shape = capi::shape_of(a.tensorInfo());
    anchor.rank = a.tensorInfo().shape().size();
    anchor.programs = a.programs().empty() ? nullptr : a.programs().data();
    anchor.program_count = a.programs().size();
    anchor.is_per_replica = a.isPerReplica();
    capi::write_struct(out_anchor, anchor, "out_anchor", "poprt_popef_anchor");
  });
}

poprt_error* poprt_popef_metadata_add_anchor(poprt_popef_metadata* metadata,
                                             const poprt_popef_anchor* anchor) {
  return capi::guard([&] {
    auto& m = capi::required(metadata, "metadata").value;
    capi::required(anchor, "anchor");
    const poprt_popef_anchor a = capi::read_options(anchor, "poprt_popef_anchor");
    if (!a.name || !*a.name) fail(ErrorCode::invalid_argument, "an anchor needs a name");
    if (a.type < POPRT_POPEF_UNKNOWN || a.type > POPRT_POPEF_OUTPUT)
      fail(ErrorCode::invalid_argument, "anchor '{}': type {} is unknown", a.name, a.type);
    if (a.reserved)
      fail(ErrorCode::invalid_argument, "anchor '{}': reserved is {}, must be 0", a.name,
           a.reserved);
    if (a.program_count) capi::required(a.programs, "programs");
    m.anchors().emplace_back(
        a.name, a.handle ? a.handle : "", capi::tensor_info_of(a.dtype, a.shape, a.rank),
        static_cast<popef::TensorType>(a.type),
        popef::Anchor::Programs(a.programs, a.programs + a.program_count), a.is_per_replica != 0);
  });
}
