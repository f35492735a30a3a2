#include "popef/dump.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/popef/support.h"
#include "popef/error.h"

namespace poprt::popef {
namespace {

std::string dumped(DumpFormat format, const std::string& file = sample_file()) {
  const auto reader = std::make_shared<Reader>();
  parse(*reader, file);
  return dump(reader, "sample.popef", format);
}

// The sample without the feed that serves its only input.
std::string without_feed() {
  std::ostringstream out;
  Writer writer(out);
  writer.write(sample_metadata());
  writer.createExecutable("model")->stream << "12345";
  writer.close();
  return out.str();
}

TEST(Dump, BytesOfUnknownBlobsCount) {
  std::string file = without_feed();
  const char unknown = 77;
  for (size_t at = 0; at < file.size();) {
    file[at + 16] = unknown;
    uint64_t size = 0;
    std::memcpy(&size, file.data() + at + 24, sizeof size);
    at += size;
  }
  const std::string head = "sample.popef: 0 blobs, " + std::to_string(file.size()) + " bytes";
  EXPECT_EQ(dumped(DumpFormat::summary, file).substr(0, head.size()), head);
}

TEST(Dump, SummaryShowsUserProvidedAnchors) {
  EXPECT_EQ(dumped(DumpFormat::summary, without_feed()),
            "sample.popef: 2 blobs, 4160 bytes\n"
            "Executable model: 5 bytes at offset 4096\n"
            "Model model: 2 replicas, 4 IPUs (version 21), training\n"
            "  Anchors, user-provided\n"
            "    Inputs\n"
            "      x  F32   [2,3]  24 bytes\n"
            "    Outputs\n"
            "      y  U8    [0,7]  0 bytes\n"
            "  Anchors, others: 3\n");
}

// The JSON dump of a model whose opaque blob onnx_metadata is `note`.
nlohmann::json dumped_model(const std::string& note) {
  std::ostringstream out;
  Writer writer(out);
  writer.write(sample_metadata());
  writer.createExecutable("model")->stream << "12345";
  writer.createOpaqueBlob("onnx_metadata", "model")->stream << note;
  writer.close();
  return nlohmann::json::parse(dumped(DumpFormat::json, out.str())).at("models").at(0);
}

TEST(Dump, ShowsOnnxMetadataOnlyIfAllValuesAreText) {
  EXPECT_EQ(dumped_model(R"({"producer": "p", "b": ""})").at("onnx"),
            (nlohmann::json{{"producer", "p"}, {"b", ""}}));
  for (const char* other :
       {R"({"producer": 1})", R"({"producer": "p", "b": null})", R"(["p"])", R"("p")", "{", ""})
    EXPECT_FALSE(dumped_model(other).contains("onnx")) << other;
}

// A file with the blob of option `estimate`.
std::string with_estimate(const std::string& content) {
  std::ostringstream out;
  Writer writer(out);
  writer.write(sample_metadata());
  writer.createExecutable("model")->stream << "12345";
  writer.createOpaqueBlob("poprt.estimate", "model")->stream << content;
  writer.close();
  return out.str();
}

TEST(Dump, PrintsTheEstimateOfAChip) {
  const std::string content =
      R"({"cycles": 1500, "milliseconds": 0.001, "throughput": 1000.5, "fits": true,)"
      R"( "target": {"name": "c600"}, "quality": {"cycles": {"trust": "checked"}}})";
  const std::string text = dumped(DumpFormat::summary, with_estimate(content));
  EXPECT_NE(text.find("Estimate for c600: 1500 cycles [checked], 0.001 ms, 1000.5 samples/s, fits"),
            std::string::npos)
      << text;
  const auto json = nlohmann::json::parse(dumped(DumpFormat::json, with_estimate(content)));
  EXPECT_EQ(json["opaque_blobs"][0]["estimate"]["cycles"], 1500);
}

TEST(Dump, AnEstimateWithOtherContentIsNoError) {
  for (const char* content : {"", "{", "[]", "1", "\"text\""}) {
    const std::string text = dumped(DumpFormat::summary, with_estimate(content));
    EXPECT_EQ(text.find("Estimate"), std::string::npos) << content;
  }
  for (const char* content :
       {"{}", R"({"target": 1, "quality": [1], "fits": 7})", R"({"quality": {"cycles": "x"}})"}) {
    const std::string text = dumped(DumpFormat::summary, with_estimate(content));
    EXPECT_NE(text.find("Estimate for ?: ? cycles [?], ? ms, ? samples/s, ?"), std::string::npos)
        << text;
  }
  const std::string text =
      dumped(DumpFormat::summary, with_estimate(R"({"cycles": "a\nb", "target": {"name": 5}})"));
  EXPECT_NE(text.find("Estimate for 5: a\\x0ab cycles"), std::string::npos) << text;
}

// A file with the opaque blobs whose contents are printed.
std::string with_contents() {
  std::ostringstream out;
  Writer writer(out);
  Metadata m = sample_metadata();
  m.setAnchors({
      Anchor("a_long_name", "h1", TensorInfo(DataType::F32, {2, 3}), TensorType::INPUT, {5}),
      Anchor("x", "h2", TensorInfo(DataType::F16, {4}), TensorType::INPUT, {5}, true),
      Anchor("y", "h3", TensorInfo(DataType::U8, {}), TensorType::OUTPUT, {5}),
      Anchor("scores", "h4", TensorInfo(DataType::BOOL, {7}), TensorType::OUTPUT, {5, 9}),
  });
  writer.write(m);
  writer.createExecutable("model")->stream << "12345";
  const auto opaque = [&](const std::string& name, const std::string& content) {
    writer.createOpaqueBlob(name, "model")->stream << content;
  };
  opaque("class_labels/y", "cat\ndog");
  opaque("poprt.shards", "2 IPUs");
  opaque("notes", "not printed");
  opaque("poprt.estimate", R"({"cycles": 7, "fits": false})");
  opaque("onnx_metadata", R"({"producer": "p", "b": ""})");
  writer.close();
  return out.str();
}

TEST(Dump, SummaryPrintsTheContentsOfKnownBlobs) {
  EXPECT_EQ(dumped(DumpFormat::summary, with_contents()),
            "sample.popef: 7 blobs, 5120 bytes\n"
            "Executable model: 5 bytes at offset 4096\n"
            "Model model: 2 replicas, 4 IPUs (version 21), training\n"
            "  Anchors, user-provided\n"
            "    Inputs\n"
            "      a_long_name  F32   [2,3]  24 bytes\n"
            "      x            F16   [4]  8 bytes\n"
            "    Outputs\n"
            "      y       U8    []  1 bytes\n"
            "      scores  BOOL  [7]  7 bytes\n"
            "Opaque class_labels/y: 7 bytes, for executable model\n"
            "  cat\\x0adog\n"
            "Opaque poprt.shards: 6 bytes, for executable model\n"
            "  2 IPUs\n"
            "Opaque notes: 11 bytes, for executable model\n"
            "Opaque poprt.estimate: 28 bytes, for executable model\n"
            "  Estimate for ?: 7 cycles [?], ? ms, ? samples/s, does not fit\n"
            "Opaque onnx_metadata: 26 bytes, for executable model\n");
}

TEST(Dump, MetadataPrintsOnnxMetadata) {
  const std::string s = dumped(DumpFormat::metadata, with_contents());
  EXPECT_EQ(s.substr(s.find("    program 7")),
            "    program 7: WeightsToHost\n"
            "  onnx:\n"
            "    producer: p\n"
            "    b: \n"
            "  Anchors: 4\n"
            "    INPUT a_long_name F32[2,3], 24 bytes, handle 'h1', programs [5]\n"
            "    INPUT x F16[4], 8 bytes, handle 'h2', programs [5], per replica\n"
            "    OUTPUT y U8[], 1 bytes, handle 'h3', programs [5]\n"
            "    OUTPUT scores BOOL[7], 7 bytes, handle 'h4', programs [5,9]\n");
}

TEST(Dump, AllPrintsThePlaceOfEachBlob) {
  std::string file = with_contents();
  file.replace(file.find("1.1", 896), 3, "1.7");  // a newer minor version
  const std::string s = dumped(DumpFormat::all, file);
  EXPECT_EQ(s.substr(s.find("Blob at"), s.find("Blob at offset 4352") - s.find("Blob at")),
            "Blob at offset 0: 896 bytes, METADATA, version 1.1, payload 728 bytes at offset 128\n"
            "Blob at offset 896: 3264 bytes, POPLAR_EXECUTABLE model, version 1.7, payload 5 bytes "
            "at offset 4096\n"
            "Blob at offset 4160: 192 bytes, OPAQUE class_labels/y, version 1.1, payload 7 bytes "
            "at offset 4288\n");
}

TEST(Dump, UserAnchorsHaveAllTheirFields) {
  EXPECT_EQ(dumped(DumpFormat::user_anchors, with_contents()),
            "sample.popef: 7 blobs, 5120 bytes\n"
            "Model model\n"
            "  Inputs (user-provided): 2\n"
            "    Name: a_long_name\n"
            "      TensorInfo: { dtype: F32, sizeInBytes: 24, shape: [2,3] }\n"
            "      Programs: [5]\n"
            "      Handle: h1\n"
            "      IsPerReplica: false\n"
            "    Name: x\n"
            "      TensorInfo: { dtype: F16, sizeInBytes: 8, shape: [4] }\n"
            "      Programs: [5]\n"
            "      Handle: h2\n"
            "      IsPerReplica: true\n"
            "  Outputs (user-provided): 2\n"
            "    Name: y\n"
            "      TensorInfo: { dtype: U8, sizeInBytes: 1, shape: [] }\n"
            "      Programs: [5]\n"
            "      Handle: h3\n"
            "      IsPerReplica: false\n"
            "    Name: scores\n"
            "      TensorInfo: { dtype: BOOL, sizeInBytes: 7, shape: [7] }\n"
            "      Programs: [5,9]\n"
            "      Handle: h4\n"
            "      IsPerReplica: false\n");
}

TEST(Dump, AFileWithoutMetadataHasNoneInAnyFormat) {
  std::ostringstream out;
  Writer writer(out);
  writer.createOpaqueBlob("notes", "")->stream << "1";
  writer.close();
  const std::string head = "sample.popef: 1 blob, 192 bytes\n";
  EXPECT_EQ(dumped(DumpFormat::metadata, out.str()), head + "no metadata\n");
  EXPECT_EQ(dumped(DumpFormat::user_anchors, out.str()), head + "no metadata\n");
  EXPECT_EQ(dumped(DumpFormat::summary, out.str()),
            head + "Opaque notes: 1 bytes, for executable \n");
  EXPECT_EQ(dumped(DumpFormat::verify, out.str()),
            "sample.popef: 1 blob, 192 bytes, all checksums are right\n");
}

// Longer contents are not read into memory.
TEST(Dump, ContentsHaveALargestSize) {
  const auto json_of = [](const std::string& name, const std::string& content) {
    std::ostringstream out;
    Writer writer(out);
    writer.write(sample_metadata());
    writer.createExecutable("model")->stream << "12345";
    writer.createOpaqueBlob(name, "model")->stream << content;
    writer.close();
    return nlohmann::json::parse(dumped(DumpFormat::json, out.str()));
  };
  for (const size_t more : {0u, 1u}) {
    const std::string labels(65'536 + more, 'x');
    EXPECT_EQ(json_of("class_labels/y", labels).at("opaque_blobs").at(0).value("text", ""),
              more ? "" : labels);
    std::string onnx = R"({"a": "b"})";
    onnx.resize((1 << 20) + more, ' ');
    EXPECT_EQ(json_of("onnx_metadata", onnx).at("models").at(0).contains("onnx"), !more);
  }
  std::string estimate = R"({"cycles": 1})";
  estimate.resize((16 << 20) + 1, ' ');
  EXPECT_FALSE(json_of("poprt.estimate", estimate).at("opaque_blobs").at(0).contains("estimate"));
}

TEST(Dump, SummaryListsData) {
  const std::string s = dumped(DumpFormat::summary);
  EXPECT_NE(s.find("Tensor w: F16[4], 8 bytes\n"), std::string::npos) << s;
  EXPECT_NE(s.find("Feed x: 2 tensors of F32[2,3], 24 bytes each\n"), std::string::npos) << s;
  EXPECT_NE(s.find("Opaque notes: 9 bytes, for executable model\n"), std::string::npos) << s;
}

TEST(Dump, MetadataShowsEveryField) {
  EXPECT_EQ(dumped(DumpFormat::metadata, without_feed()),
            "sample.popef: 2 blobs, 4160 bytes\n"
            "Metadata of executable model\n"
            "  replication_factor: 2\n"
            "  num_ipus: 4\n"
            "  ipu_version: 21\n"
            "  is_pod: true\n"
            "  num_processes: 3\n"
            "  is_inference: false\n"
            "  device_iterations: 1099511627776\n"
            "  seed_handle: h2d_seed\n"
            "  engine_options:\n"
            "    b = 2\n"
            "    a = \n"
            "  device_options:\n"
            "    gateway = true\n"
            "  program_flow: load [0,2] main [5] save [7,3]\n"
            "    program 0: WeightsFromHost\n"
            "    program 5: Program\n"
            "    program 7: WeightsToHost\n"
            "  Anchors: 5\n"
            "    INPUT x F32[2,3], 24 bytes, handle 'h2d_x', programs [5]\n"
            "    INPUT w F16[4], 8 bytes, handle 'h2d_w', programs [0], per replica\n"
            "    OUTPUT w F16[4], 8 bytes, handle 'weight_d2h_w', programs [7]\n"
            "    UNKNOWN c S64[], 8 bytes, handle '', programs []\n"
            "    OUTPUT y U8[0,7], 0 bytes, handle 'anchor_d2h_y', programs [5,9]\n");
}

TEST(Dump, AllListsEveryBlob) {
  const std::string s = dumped(DumpFormat::all, sample_file(true));
  for (const char* type : {"POPLAR_EXECUTABLE model", "METADATA", "DATA_TENSOR w", "DATA_FEED x",
                           "OPAQUE notes", "25 unpacked"})
    EXPECT_NE(s.find(type), std::string::npos) << type << "\n" << s;
}

TEST(Dump, JsonHoldsTheSame) {
  const auto j = nlohmann::json::parse(dumped(DumpFormat::json, without_feed()));
  EXPECT_EQ(j["file"], "sample.popef");
  EXPECT_EQ(j["blobs"].size(), 2u);
  const auto& m = j["models"].at(0);
  EXPECT_EQ(m["user_inputs"].at(0)["name"], "x");
  EXPECT_EQ(m["user_inputs"].at(0)["shape"], nlohmann::json::array({2, 3}));
  EXPECT_EQ(m["user_outputs"].at(0)["bytes"], 0);
  EXPECT_EQ(m["anchors"].size(), 5u);
  EXPECT_EQ(m["programs"]["5"], "Program");
  EXPECT_EQ(m["device_iterations"], uint64_t{1} << 40);
}

TEST(Dump, ReportsWhyAModelIsIncomplete) {
  std::ostringstream out;
  Writer writer(out);
  writer.write(sample_metadata("gone"));
  writer.close();
  const std::string s = dumped(DumpFormat::summary, out.str());
  EXPECT_NE(s.find("Incomplete: no executable 'gone'"), std::string::npos) << s;
}

TEST(Dump, HostileNamesAreEscaped) {
  std::ostringstream out;
  Writer writer(out);
  writer.createOpaqueBlob("a\x1b[31m\nb\xff", "");
  writer.close();
  const std::string s = dumped(DumpFormat::summary, out.str());
  EXPECT_NE(s.find("a\\x1b[31m\\x0ab"), std::string::npos) << s;
  EXPECT_NO_THROW((void)nlohmann::json::parse(dumped(DumpFormat::json, out.str())));
  EXPECT_NO_THROW((void)dumped(DumpFormat::all, out.str()));
}

TEST(Dump, BadFileThrowsOneLine) {
  const TemporaryFolder folder;
  write_bytes(folder / "f", "rubbish\nrubbish");
  try {
    (void)dump(folder / "f");
    FAIL();
  } catch (const FormatError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace poprt::popef
