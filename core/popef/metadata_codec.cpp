#include "popef/metadata_codec.h"

#include <algorithm>
#include <concepts>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "codecs/capnp_message.h"
#include "popef/error.h"
#include "popef/metadata_fields.h"

namespace poprt::popef {
namespace {

using capnp_message::Message;
using capnp_message::Struct;
using capnp_message::StructBuilder;
using capnp_message::Structs;

void check_names(const Metadata& m) {
  std::set<std::pair<TensorType, std::string_view>> names;
  for (const Anchor& a : m.anchors()) {
    if (a.name().empty()) raise<LinkError>("metadata: an anchor needs a name");
    if (!names.emplace(a.type(), a.name()).second)
      raise<LinkError>("metadata: {} anchor '{}' is there twice", tensor_type_name(a.type()),
                       a.name());
  }
  for (const auto* options : {&m.engineOptions(), &m.deviceOptions()})
    for (const Option& o : *options)
      if (o.name().empty()) raise<LinkError>("metadata: an option needs a name");
}

void put(StructBuilder& out, uint32_t place, bool value) { out.set_bit(place, value); }
void put(StructBuilder& out, uint32_t place, const std::string& value) {
  out.set_text(place, value);
}
template <std::integral Number>
void put(StructBuilder& out, uint32_t place, Number value) {
  out.set(place, value);
}

template <class Value>
Value read(const Struct& in, uint32_t place) {
  if constexpr (std::is_same_v<Value, bool>)
    return in.get_bit(place);
  else if constexpr (std::is_same_v<Value, std::string>)
    return in.text(place);
  else
    return in.get<Value>(place);
}

void encode(StructBuilder& out, const Anchor& anchor) {
  (void)anchor.tensorInfo().sizeInBytes();
  namespace at = places::anchor;
  out.set_text(at::kName, anchor.name());
  out.set_text(at::kHandle, anchor.handle());
  StructBuilder& info = out.init_struct(at::kTensorInfo);
  info.set(places::tensor_info::kDataType, static_cast<uint32_t>(anchor.tensorInfo().dataType()));
  info.set_numbers(places::tensor_info::kShape, anchor.tensorInfo().shape());
  out.set(at::kType, static_cast<uint32_t>(anchor.type()));
  out.set_bit(at::kIsPerReplica, anchor.isPerReplica());
  out.set_numbers(at::kPrograms, anchor.programs());
}

void encode(StructBuilder& out, uint32_t pointer, const std::vector<Option>& options) {
  auto& list = out.init_structs(pointer, options.size());
  for (size_t i = 0; i < list.size(); i++) {
    list[i].set_text(places::option::kName, options[i].name());
    list[i].set_text(places::option::kValue, options[i].value());
  }
}

Anchor decode_anchor(const Struct& in) {
  namespace at = places::anchor;
  const Struct info = in.structure(at::kTensorInfo);
  const auto dtype = info.get<uint32_t>(places::tensor_info::kDataType);
  const auto type = in.get<uint32_t>(at::kType);
  Anchor anchor;
  anchor.setName(in.text(at::kName));
  if (dtype >= kDataTypeCount)
    raise<FormatError>("metadata: anchor '{}' has unknown data type {}", anchor.name(), dtype);
  if (type > static_cast<uint32_t>(TensorType::OUTPUT))
    raise<FormatError>("metadata: anchor '{}' has unknown type {}", anchor.name(), type);
  anchor.setHandle(in.text(at::kHandle));
  anchor.setTensorInfo(
      TensorInfo(static_cast<DataType>(dtype), info.numbers<int64_t>(places::tensor_info::kShape)));
  try {
    (void)anchor.tensorInfo().sizeInBytes();
  } catch (const SizeError& e) {
    raise<FormatError>("metadata: anchor '{}': {}", anchor.name(), e.what());
  }
  anchor.setType(static_cast<TensorType>(type));
  anchor.setIsPerReplica(in.get_bit(at::kIsPerReplica));
  anchor.setPrograms(in.numbers<uint32_t>(at::kPrograms));
  return anchor;
}

std::vector<Option> decode_options(const Structs& in) {
  std::vector<Option> options;
  options.reserve(in.size());
  for (size_t i = 0; i < in.size(); i++)
    options.emplace_back(in[i].text(places::option::kName), in[i].text(places::option::kValue));
  return options;
}

// Each anchor is compared with each program of a flow, so a hostile file must not have many of
// both.
std::vector<uint32_t> decode_flow(const Struct& in, const auto& place) {
  constexpr size_t kMost = 4096;
  auto programs = in.numbers<uint32_t>(place);
  if (programs.size() > kMost)
    raise<FormatError>("metadata: a flow of {} programs, at most {} are supported", programs.size(),
                       kMost);
  return programs;
}

Metadata decode(const Struct& in) {
  namespace at = places::metadata;
  Metadata m;
  for_each_metadata_field(
      [&](const auto& f) { (m.*f.set)(read<MetadataValue<decltype(f)>>(in, f.place)); });
  m.setEngineOptions(decode_options(in.structs(at::kEngineOptions)));
  m.setDeviceOptions(decode_options(in.structs(at::kDeviceOptions)));
  const Structs anchors = in.structs(at::kAnchors);
  m.anchors().reserve(anchors.size());
  for (size_t i = 0; i < anchors.size(); i++) m.anchors().push_back(decode_anchor(anchors[i]));
  m.programFlow().setLoad(decode_flow(in, at::kLoad));
  m.programFlow().setMain(decode_flow(in, at::kMain));
  m.programFlow().setSave(decode_flow(in, at::kSave));
  const Structs names = in.structs(at::kProgramsMap);
  for (size_t i = 0; i < names.size(); i++) {
    const auto index = names[i].get<uint32_t>(places::program_name::kIndex);
    if (!m.programsMap().emplace(index, names[i].text(places::program_name::kName)).second)
      raise<FormatError>("metadata: program {} is named twice", index);
  }
  return m;
}

}  // namespace

std::vector<std::byte> encode_metadata(const Metadata& m) try {
  check_names(m);
  namespace at = places::metadata;
  StructBuilder out;
  for_each_metadata_field([&](const auto& f) { put(out, f.place, (m.*f.get)()); });
  encode(out, at::kEngineOptions, m.engineOptions());
  encode(out, at::kDeviceOptions, m.deviceOptions());
  auto& anchors = out.init_structs(at::kAnchors, m.anchors().size());
  for (size_t i = 0; i < anchors.size(); i++) encode(anchors[i], m.anchors()[i]);
  out.set_numbers(at::kLoad, m.programFlow().load());
  out.set_numbers(at::kMain, m.programFlow().main());
  out.set_numbers(at::kSave, m.programFlow().save());
  std::vector<std::pair<uint32_t, std::string>> names(m.programsMap().begin(),
                                                      m.programsMap().end());
  std::sort(names.begin(), names.end());
  auto& map = out.init_structs(at::kProgramsMap, names.size());
  for (size_t i = 0; i < names.size(); i++) {
    map[i].set(places::program_name::kIndex, names[i].first);
    map[i].set_text(places::program_name::kName, names[i].second);
  }
  return out.canonical_bytes();
} catch (const Error&) {
  throw;
} catch (const poprt::Error& e) {
  throw SizeError("metadata: " + e.message());
}

Metadata decode_metadata(std::span<const std::byte> bytes) try {
  Message message(bytes, "metadata");
  return decode(Struct(message));
} catch (const Error&) {
  throw;
} catch (const poprt::Error& e) {
  throw FormatError(e.message());
}

}  // namespace poprt::popef
