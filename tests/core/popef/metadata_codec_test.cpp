#include "popef/metadata_codec.h"

#include <gtest/gtest.h>

#include "core/popef/support.h"
#include "popef/error.h"

namespace poprt::popef {
namespace {

TEST(MetadataCodec, DefaultsRoundTrip) {
  EXPECT_EQ(decode_metadata(encode_metadata(Metadata())), Metadata());
}

TEST(MetadataCodec, EveryFieldRoundTrips) {
  EXPECT_EQ(decode_metadata(encode_metadata(sample_metadata())), sample_metadata());
}

TEST(MetadataCodec, RandomMetadataRoundTrips) {
  std::mt19937 engine(11);
  const auto random = [&] { return static_cast<uint32_t>(engine()); };
  const auto text = [&] { return random_bytes(random() % 20, random()) + "."; };
  const auto indices = [&] {
    std::vector<uint32_t> v(random() % 5);
    for (auto& i : v) i = random();
    return v;
  };
  for (int round = 0; round < 200; round++) {
    Metadata m;
    m.setReplicationFactor(random());
    m.setNumIpus(random());
    m.setIpuVersion(static_cast<int32_t>(random()));
    m.setIsPOD(random() % 2 == 0);
    m.setIsInference(random() % 2 == 0);
    m.setNumProcesses(random());
    m.setDeviceIterations(uint64_t{random()} << 32 | random());
    m.setExecutable(text());
    m.setSeedHandle(text());
    for (unsigned i = random() % 6; i > 0; i--) m.engineOptions().emplace_back(text(), text());
    for (unsigned i = random() % 6; i > 0; i--) m.deviceOptions().emplace_back(text(), text());
    for (unsigned i = random() % 9; i > 0; i--) {
      std::vector<int64_t> shape(random() % 5);
      for (auto& d : shape) d = random() % 100;
      m.anchors().emplace_back(text() + std::to_string(i), text(),
                               TensorInfo(static_cast<DataType>(random() % kDataTypeCount), shape),
                               static_cast<TensorType>(random() % 3), indices(), random() % 2 == 0);
    }
    m.programFlow().setLoad(indices());
    m.programFlow().setMain(indices());
    m.programFlow().setSave(indices());
    for (unsigned i = random() % 6; i > 0; i--) m.programsMap()[random()] = text();
    ASSERT_EQ(decode_metadata(encode_metadata(m)), m);
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
