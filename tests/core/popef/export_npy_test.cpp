#include "popef/export_npy.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "core/popef/support.h"
#include "popef/error.h"

namespace poprt::popef {
namespace {

// The contents of a .npy file.
struct Npy {
  std::string header, data;
};

Npy read_npy(const std::string& path) {
  const std::string bytes = file_bytes(path);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\0", 8));
  const size_t length = static_cast<unsigned char>(bytes[8]) |
                        static_cast<size_t>(static_cast<unsigned char>(bytes[9])) << 8;
  EXPECT_EQ((10 + length) % 64, 0u);
  EXPECT_EQ(bytes[9 + length], '\n');
  return {bytes.substr(10, length), bytes.substr(10 + length)};
}

TEST(ExportNpy, EveryTypeAndRank) {
  const std::vector<std::pair<DataType, const char*>> types = {
      {DataType::BOOL, "|b1"}, {DataType::F8, "|u1"},    {DataType::F16, "<f2"},
      {DataType::F32, "<f4"},  {DataType::F64, "<f8"},   {DataType::S8, "|i1"},
      {DataType::U8, "|u1"},   {DataType::S16, "<i2"},   {DataType::U16, "<u2"},
      {DataType::S32, "<i4"},  {DataType::U32, "<u4"},   {DataType::S64, "<i8"},
      {DataType::U64, "<u8"},  {DataType::F8143, "|u1"}, {DataType::F8152, "|u1"}};
  const std::vector<std::pair<std::vector<int64_t>, const char*>> shapes = {
      {{}, "()"}, {{3}, "(3,)"}, {{2, 0}, "(2, 0)"}, {{2, 3, 1}, "(2, 3, 1)"}};
  ASSERT_EQ(types.size(), kDataTypeCount);
  const TemporaryFolder folder;
  for (const auto& [type, descr] : types)
    for (const auto& [shape, text] : shapes) {
      const TensorInfo info(type, shape);
      const std::string data = random_bytes(info.sizeInBytes());
      {
        FileWriter writer(folder / "f");
        writer.createTensorData({"t", info})->write(data.data(), data.size());
        writer.close();
      }
      export_tensor(folder / "f", "t", "", folder / "t.npy");
      const Npy npy = read_npy(folder / "t.npy");
      EXPECT_EQ(npy.data, data);
      EXPECT_NE(npy.header.find(fmt::format("'descr': '{}'", descr)), npy.header.npos);
      EXPECT_NE(npy.header.find(fmt::format("'shape': {}", text)), npy.header.npos) << npy.header;
    }
}

TEST(ExportNpy, FeedsGetTheirCountAsFirstDimension) {
  const TemporaryFolder folder;
  write_bytes(folder / "f", sample_file());
  export_feed(folder / "f", "x", "", folder / "x.npy");
  const Npy npy = read_npy(folder / "x.npy");
  EXPECT_EQ(npy.data, random_bytes(48));
  EXPECT_NE(npy.header.find("'shape': (2, 2, 3)"), npy.header.npos);
}

TEST(ExportNpy, LastBlobOfTheModelWins) {
  const TemporaryFolder folder;
  {
    FileWriter writer(folder / "f");
    for (const char* data : {"1", "2", "3", "4"}) {
      const std::string owner = *data == '2' ? "a" : *data == '3' ? "b" : *data == '4' ? "c" : "";
      writer.createTensorData({"t", TensorInfo(DataType::U8, {1})}, owner)->write(data, 1);
    }
    writer.close();
  }
  for (const auto& [owner, expected] :
       {std::pair("", "4"), std::pair("a", "2"), std::pair("b", "3"), std::pair("z", "1")}) {
    export_tensor(folder / "f", "t", owner, folder / "t.npy");
    EXPECT_EQ(read_npy(folder / "t.npy").data, expected);
  }
}

TEST(ExportNpy, ErrorsListTheExistingNames) {
  const TemporaryFolder folder;
  write_bytes(folder / "f", sample_file());
  for (const auto& [export_data, has] :
       {std::pair(&export_tensor, "'w'"), std::pair(&export_feed, "'x'")})
    try {
      export_data(folder / "f", "none", "", folder / "t.npy");
      FAIL();
    } catch (const FileError& e) {
      EXPECT_EQ(e.code(), ErrorCode::not_found);
      EXPECT_NE(std::string(e.what()).find(has), std::string::npos) << e.what();
    }
  EXPECT_THROW(export_tensor(folder / "f", "w", "", folder / "none/t.npy"), FileError);
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(ExportNpy, LargeDataTakesConstantMemory) {
  const TemporaryFolder folder;
  constexpr uint64_t kBytes = uint64_t{192} << 20;
  {
    FileWriter writer(folder / "f");
    const auto blob = writer.createTensorData({"t", TensorInfo(DataType::U8, {kBytes})});
    const std::string piece = random_bytes(1 << 20);
    for (uint64_t i = 0; i < kBytes >> 20; i++) blob->write(piece.data(), piece.size());
    blob->close();
    writer.close();
  }
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  export_tensor(folder / "f", "t", "", folder / "t.npy");
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 32 << 10);  // KiB
  EXPECT_EQ(std::filesystem::file_size(folder / "t.npy"), kBytes + 128);
}

}  // namespace
}  // namespace poprt::popef
