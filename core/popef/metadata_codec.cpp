#include "popef/metadata_codec.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/capnp.h"
#include "popef/error.h"
#include "popef/metadata.capnp.h"

namespace poprt::popef {
namespace {

using capnproto::count;
using capnproto::fill;
using capnproto::text;
using capnproto::values;

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

void encode(schema::Anchor::Builder out, const Anchor& anchor) {
  (void)anchor.tensorInfo().sizeInBytes();
  out.setName(text(anchor.name()));
  out.setHandle(text(anchor.handle()));
  auto info = out.initTensorInfo();
  const auto& shape = anchor.tensorInfo().shape();
  info.setDataType(static_cast<uint32_t>(anchor.tensorInfo().dataType()));
  fill(info.initShape(count(shape.size(), "dimensions")), shape);
  out.setType(static_cast<uint32_t>(anchor.type()));
  out.setIsPerReplica(anchor.isPerReplica());
  fill(out.initPrograms(count(anchor.programs().size(), "programs")), anchor.programs());
}

void encode(capnp::List<schema::Option>::Builder out, const std::vector<Option>& options) {
  for (unsigned i = 0; i < options.size(); i++) {
    out[i].setName(text(options[i].name()));
    out[i].setValue(text(options[i].value()));
  }
}

Anchor decode(schema::Anchor::Reader in) {
  const auto info_in = in.getTensorInfo();
  const uint32_t dtype = info_in.getDataType();
  Anchor anchor;
  anchor.setName(text(in.getName()));
  if (dtype >= kDataTypeCount)
    raise<FormatError>("metadata: anchor '{}' has unknown data type {}", anchor.name(), dtype);
  if (in.getType() > static_cast<uint32_t>(TensorType::OUTPUT))
    raise<FormatError>("metadata: anchor '{}' has unknown type {}", anchor.name(), in.getType());
  anchor.setHandle(text(in.getHandle()));
  anchor.setTensorInfo(TensorInfo(static_cast<DataType>(dtype), values(info_in.getShape())));
  try {
    (void)anchor.tensorInfo().sizeInBytes();
  } catch (const SizeError& e) {
    raise<FormatError>("metadata: anchor '{}': {}", anchor.name(), e.what());
  }
  anchor.setType(static_cast<TensorType>(in.getType()));
  anchor.setIsPerReplica(in.getIsPerReplica());
  anchor.setPrograms(values(in.getPrograms()));
  return anchor;
}

std::vector<Option> decode(capnp::List<schema::Option>::Reader in) {
  std::vector<Option> options;
  options.reserve(in.size());
  for (const auto option : in)
    options.emplace_back(text(option.getName()), text(option.getValue()));
  return options;
}

Metadata decode(schema::Metadata::Reader in) {
  Metadata m;
  m.setReplicationFactor(in.getReplicationFactor());
  m.setNumIpus(in.getNumIpus());
  m.setIpuVersion(in.getIpuVersion());
  m.setIsPOD(in.getIsPod());
  m.setIsInference(in.getIsInference());
  m.setNumProcesses(in.getNumProcesses());
  m.setExecutable(text(in.getExecutable()));
  m.setSeedHandle(text(in.getSeedHandle()));
  m.setEngineOptions(decode(in.getEngineOptions()));
  m.setDeviceOptions(decode(in.getDeviceOptions()));
  m.setDeviceIterations(in.getDeviceIterations());
  const auto anchors = in.getAnchors();
  m.anchors().reserve(anchors.size());
  for (const auto anchor : anchors) m.anchors().push_back(decode(anchor));
  m.programFlow().setLoad(values(in.getLoad()));
  m.programFlow().setMain(values(in.getMain()));
  m.programFlow().setSave(values(in.getSave()));
  for (const auto program : in.getProgramsMap())
    if (!m.programsMap().emplace(program.getIndex(), text(program.getName())).second)
      raise<FormatError>("metadata: program {} is named twice", program.getIndex());
  return m;
}

}  // namespace

std::vector<std::byte> encode_metadata(const Metadata& m) try {
  check_names(m);
  capnp::MallocMessageBuilder message;
  auto out = message.initRoot<schema::Metadata>();
  out.setReplicationFactor(m.replicationFactor());
  out.setNumIpus(m.numIpus());
  out.setIpuVersion(m.ipuVersion());
  out.setIsPod(m.isPOD());
  out.setIsInference(m.isInference());
  out.setNumProcesses(m.numProcesses());
  out.setExecutable(text(m.executable()));
  out.setSeedHandle(text(m.seedHandle()));
  encode(out.initEngineOptions(count(m.engineOptions().size(), "engine options")),
         m.engineOptions());
  encode(out.initDeviceOptions(count(m.deviceOptions().size(), "device options")),
         m.deviceOptions());
  out.setDeviceIterations(m.deviceIterations());
  auto anchors = out.initAnchors(count(m.anchors().size(), "anchors"));
  for (unsigned i = 0; i < m.anchors().size(); i++) encode(anchors[i], m.anchors()[i]);
  const ProgramFlow& flow = m.programFlow();
  fill(out.initLoad(count(flow.load().size(), "load programs")), flow.load());
  fill(out.initMain(count(flow.main().size(), "main programs")), flow.main());
  fill(out.initSave(count(flow.save().size(), "save programs")), flow.save());
  std::vector<std::pair<uint32_t, std::string>> names(m.programsMap().begin(),
                                                      m.programsMap().end());
  std::sort(names.begin(), names.end());
  auto map = out.initProgramsMap(count(names.size(), "program names"));
  for (unsigned i = 0; i < names.size(); i++) {
    map[i].setIndex(names[i].first);
    map[i].setName(text(names[i].second));
  }
  return capnproto::canonical_bytes(out.asReader());
} catch (const Error&) {
  throw;
} catch (const poprt::Error& e) {
  throw SizeError("metadata: " + e.message());
}

Metadata decode_metadata(std::span<const std::byte> bytes) try {
  return capnproto::decode_canonical<schema::Metadata>(
      bytes, "metadata", [](schema::Metadata::Reader in) { return decode(in); });
} catch (const Error&) {
  throw;
} catch (const poprt::Error& e) {
  throw FormatError(e.message());
}

}  // namespace poprt::popef
