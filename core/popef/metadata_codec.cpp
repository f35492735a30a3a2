#include "popef/metadata_codec.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/capnp_message.h"
#include "popef/error.h"

namespace poprt::popef {
namespace {

// Places of fields are those of metadata.capnp.
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

void encode(StructBuilder& out, const Anchor& anchor) {
  (void)anchor.tensorInfo().sizeInBytes();
  out.set_text(0, anchor.name());
  out.set_text(1, anchor.handle());
  StructBuilder& info = out.init_struct(2);
  info.set(0, static_cast<uint32_t>(anchor.tensorInfo().dataType()));
  info.set_numbers(0, anchor.tensorInfo().shape());
  out.set(0, static_cast<uint32_t>(anchor.type()));
  out.set_bit(32, anchor.isPerReplica());
  out.set_numbers(3, anchor.programs());
}

void encode(StructBuilder& out, uint32_t pointer, const std::vector<Option>& options) {
  auto& list = out.init_structs(pointer, options.size());
  for (size_t i = 0; i < list.size(); i++) {
    list[i].set_text(0, options[i].name());
    list[i].set_text(1, options[i].value());
  }
}

Anchor decode_anchor(const Struct& in) {
  const Struct info = in.structure(2);
  const auto dtype = info.get<uint32_t>(0);
  const auto type = in.get<uint32_t>(0);
  Anchor anchor;
  anchor.setName(in.text(0));
  if (dtype >= kDataTypeCount)
    raise<FormatError>("metadata: anchor '{}' has unknown data type {}", anchor.name(), dtype);
  if (type > static_cast<uint32_t>(TensorType::OUTPUT))
    raise<FormatError>("metadata: anchor '{}' has unknown type {}", anchor.name(), type);
  anchor.setHandle(in.text(1));
  anchor.setTensorInfo(TensorInfo(static_cast<DataType>(dtype), info.numbers<int64_t>(0)));
  try {
    (void)anchor.tensorInfo().sizeInBytes();
  } catch (const SizeError& e) {
    raise<FormatError>("metadata: anchor '{}': {}", anchor.name(), e.what());
  }
  anchor.setType(static_cast<TensorType>(type));
  anchor.setIsPerReplica(in.get_bit(32));
  anchor.setPrograms(in.numbers<uint32_t>(3));
  return anchor;
}

std::vector<Option> decode_options(const Structs& in) {
  std::vector<Option> options;
  options.reserve(in.size());
  for (size_t i = 0; i < in.size(); i++) options.emplace_back(in[i].text(0), in[i].text(1));
  return options;
}

Metadata decode(const Struct& in) {
  Metadata m;
  m.setReplicationFactor(in.get<uint32_t>(0));
  m.setNumIpus(in.get<uint32_t>(4));
  m.setIpuVersion(in.get<int32_t>(8));
  m.setIsPOD(in.get_bit(96));
  m.setIsInference(in.get_bit(97));
  m.setNumProcesses(in.get<uint32_t>(16));
  m.setDeviceIterations(in.get<uint64_t>(24));
  m.setExecutable(in.text(0));
  m.setSeedHandle(in.text(1));
  m.setEngineOptions(decode_options(in.structs(2)));
  m.setDeviceOptions(decode_options(in.structs(3)));
  const Structs anchors = in.structs(4);
  m.anchors().reserve(anchors.size());
  for (size_t i = 0; i < anchors.size(); i++) m.anchors().push_back(decode_anchor(anchors[i]));
  m.programFlow().setLoad(in.numbers<uint32_t>(5));
  m.programFlow().setMain(in.numbers<uint32_t>(6));
  m.programFlow().setSave(in.numbers<uint32_t>(7));
  const Structs names = in.structs(8);
  for (size_t i = 0; i < names.size(); i++) {
    const auto index = names[i].get<uint32_t>(0);
    if (!m.programsMap().emplace(index, names[i].text(0)).second)
      raise<FormatError>("metadata: program {} is named twice", index);
  }
  return m;
}

}  // namespace

std::vector<std::byte> encode_metadata(const Metadata& m) try {
  check_names(m);
  StructBuilder out;
  out.set(0, m.replicationFactor());
  out.set(4, m.numIpus());
  out.set(8, m.ipuVersion());
  out.set_bit(96, m.isPOD());
  out.set_bit(97, m.isInference());
  out.set(16, m.numProcesses());
  out.set(24, m.deviceIterations());
  out.set_text(0, m.executable());
  out.set_text(1, m.seedHandle());
  encode(out, 2, m.engineOptions());
  encode(out, 3, m.deviceOptions());
  auto& anchors = out.init_structs(4, m.anchors().size());
  for (size_t i = 0; i < anchors.size(); i++) encode(anchors[i], m.anchors()[i]);
  out.set_numbers(5, m.programFlow().load());
  out.set_numbers(6, m.programFlow().main());
  out.set_numbers(7, m.programFlow().save());
  std::vector<std::pair<uint32_t, std::string>> names(m.programsMap().begin(),
                                                      m.programsMap().end());
  std::sort(names.begin(), names.end());
  auto& map = out.init_structs(8, names.size());
  for (size_t i = 0; i < names.size(); i++) {
    map[i].set(0, names[i].first);
    map[i].set_text(0, names[i].second);
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
