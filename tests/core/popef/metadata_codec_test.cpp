#include "popef/metadata_codec.h"

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <random>
#include <string_view>

#include "support/capnp_library.h"

#include <capnp/dynamic.h>

// Generated headers must follow support/capnp_library.h.
#include "core/popef/support.h"
#include "popef/error.h"
#include "popef/metadata.capnp.h"
#include "popef/metadata_fields.h"

namespace poprt::popef {
namespace {

TEST(MetadataCodec, DefaultsRoundTrip) {
  EXPECT_EQ(decode_metadata(encode_metadata(Metadata())), Metadata());
}

TEST(MetadataCodec, EveryFieldRoundTrips) {
  EXPECT_EQ(decode_metadata(encode_metadata(sample_metadata())), sample_metadata());
}

// Each anchor is compared with each program of a flow.
TEST(MetadataCodec, RefusesFlowsOfVeryManyPrograms) {
  for (const size_t count : {size_t{4096}, size_t{4097}}) {
    Metadata m = sample_metadata();
    m.programFlow().setSave(std::vector<uint32_t>(count, 7));
    const auto bytes = encode_metadata(m);
    if (count == 4096)
      EXPECT_EQ(decode_metadata(bytes), m);
    else
      EXPECT_THROW(decode_metadata(bytes), FormatError);
  }
}

Metadata random_metadata(std::mt19937& engine) {
  const auto random = [&] { return static_cast<uint32_t>(engine()); };
  const auto text = [&] { return random_bytes(random() % 20, random()) + "."; };
  const auto indices = [&] {
    std::vector<uint32_t> v(random() % 5);
    for (auto& i : v) i = random();
    return v;
  };
  Metadata m;
  for_each_metadata_field([&](const auto& f) {
    using Value = MetadataValue<decltype(f)>;
    // Values are often zero, because the canonical form omits zeros.
    if constexpr (kIsText<decltype(f)>)
      (m.*f.set)(random() % 2 ? text() : "");
    else
      (m.*f.set)(static_cast<Value>(random() % 2 * (uint64_t{random()} << 32 | random())));
  });
  for (unsigned i = random() % 6; i > 0; i--) m.engineOptions().emplace_back(text(), text());
  for (unsigned i = random() % 6; i > 0; i--) m.deviceOptions().emplace_back(text(), "");
  for (unsigned i = random() % 9; i > 0; i--) {
    std::vector<int64_t> shape(random() % 5);
    for (auto& d : shape) d = random() % 100;
    m.anchors().emplace_back(text() + std::to_string(i), random() % 2 ? text() : "",
                             TensorInfo(static_cast<DataType>(random() % kDataTypeCount), shape),
                             static_cast<TensorType>(random() % 3), indices(), random() % 2 == 0);
  }
  m.programFlow().setLoad(indices());
  m.programFlow().setMain(indices());
  m.programFlow().setSave(indices());
  for (unsigned i = random() % 6; i > 0; i--) m.programsMap()[random() % 9] = text();
  return m;
}

TEST(MetadataCodec, RandomMetadataRoundTrips) {
  std::mt19937 engine(11);
  for (int round = 0; round < 200; round++) {
    const Metadata m = random_metadata(engine);
    ASSERT_EQ(decode_metadata(encode_metadata(m)), m);
  }
}

// Converts num_ipus to numIpus.
std::string schema_name(std::string_view key) {
  std::string name;
  for (size_t i = 0; i < key.size(); i++)
    name += key[i] == '_' ? static_cast<char>(std::toupper(key[++i])) : key[i];
  return name;
}

// Builds the same message with the Cap'n Proto library.
void build(schema::Metadata::Builder out, const Metadata& m) {
  using capnp_library::fill;
  const auto size = [](const auto& v) { return static_cast<unsigned>(v.size()); };
  const auto text = [](const std::string& s) { return capnp::Text::Reader(s.c_str(), s.size()); };
  const auto options = [&](capnp::List<schema::Option>::Builder list,
                           const std::vector<Option>& given) {
    for (unsigned i = 0; i < given.size(); i++) {
      list[i].setName(text(given[i].name()));
      list[i].setValue(text(given[i].value()));
    }
  };
  for_each_metadata_field([&](const auto& f) {
    capnp::DynamicValue::Reader value;
    if constexpr (kIsText<decltype(f)>)
      value = text((m.*f.get)());
    else
      value = (m.*f.get)();
    capnp::DynamicStruct::Builder(out).set(schema_name(f.name), value);
  });
  options(out.initEngineOptions(size(m.engineOptions())), m.engineOptions());
  options(out.initDeviceOptions(size(m.deviceOptions())), m.deviceOptions());
  auto anchors = out.initAnchors(size(m.anchors()));
  for (unsigned i = 0; i < m.anchors().size(); i++) {
    const Anchor& a = m.anchors()[i];
    anchors[i].setName(text(a.name()));
    anchors[i].setHandle(text(a.handle()));
    auto info = anchors[i].initTensorInfo();
    info.setDataType(static_cast<uint32_t>(a.tensorInfo().dataType()));
    fill(info.initShape(size(a.tensorInfo().shape())), a.tensorInfo().shape());
    anchors[i].setType(static_cast<uint32_t>(a.type()));
    anchors[i].setIsPerReplica(a.isPerReplica());
    fill(anchors[i].initPrograms(size(a.programs())), a.programs());
  }
  const ProgramFlow& flow = m.programFlow();
  fill(out.initLoad(size(flow.load())), flow.load());
  fill(out.initMain(size(flow.main())), flow.main());
  fill(out.initSave(size(flow.save())), flow.save());
  const std::map<uint32_t, std::string> names(m.programsMap().begin(), m.programsMap().end());
  auto map = out.initProgramsMap(size(names));
  unsigned at = 0;
  for (const auto& [index, name] : names) {
    map[at].setIndex(index);
    map[at++].setName(text(name));
  }
}

TEST(MetadataCodec, BytesMatchTheCapnProtoLibrary) {
  std::mt19937 engine(12);
  for (int round = 0; round < 200; round++) {
    const Metadata m = round ? random_metadata(engine) : Metadata();
    capnp::MallocMessageBuilder message(1 << 16);
    build(message.initRoot<schema::Metadata>(), m);
    const auto reference = message.getRoot<schema::Metadata>().asReader();
    ASSERT_EQ(encode_metadata(m), capnp_library::canonical_bytes(reference)) << round;
    // The message is not canonical, but can be read.
    ASSERT_EQ(decode_metadata(capnp_library::segment_bytes(message)), m) << round;
  }
}

TEST(MetadataCodec, OrderOfTheProgramsMapDoesNotMatter) {
  Metadata a, b;
  for (uint32_t i = 0; i < 100; i++) a.programsMap()[i] = "p";
  for (uint32_t i = 100; i-- > 0;) b.programsMap()[i] = "p";
  EXPECT_EQ(encode_metadata(a), encode_metadata(b));
}

TEST(MetadataCodec, AnchorsAreChecked) {
  Metadata m;
  m.anchors().emplace_back("a", "", TensorInfo(DataType::F32, {-1}), TensorType::INPUT,
                           Anchor::Programs{});
  EXPECT_THROW(encode_metadata(m), SizeError);
  m.anchors()[0].setTensorInfo(TensorInfo());
  m.anchors()[0].setName("");
  EXPECT_THROW(encode_metadata(m), LinkError);
  m.anchors()[0].setName("a");
  m.anchors().push_back(m.anchors()[0]);
  EXPECT_THROW(encode_metadata(m), LinkError);
  m.anchors()[1].setType(TensorType::OUTPUT);
  EXPECT_NO_THROW(encode_metadata(m));
}

TEST(MetadataCodec, BrokenBytesAreFormatErrors) {
  const auto good = encode_metadata(sample_metadata());
  for (size_t n = 0; n < good.size(); n++)
    EXPECT_THROW(decode_metadata(std::span(good).first(n)), FormatError) << n;
}

}  // namespace
}  // namespace poprt::popef
