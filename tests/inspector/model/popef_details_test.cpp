// The details of a PopEF file with several models and data of every kind, and of one without a
// program of this library.
#include <gtest/gtest.h>

#include "base/error.h"
#include "inspector/sample_files.h"
#include "model/document.h"
#include "model/report.h"

namespace poprt::inspector {
namespace {

class PopefDetails : public testing::Test {
 protected:
  Document load(const std::string& bytes) {
    Progress progress;
    return load_document(folder.write("m.popef", bytes), progress);
  }
  SampleFolder folder{"popef_details"};
};

popef::Anchor popef_anchor(const std::string& name, popef::TensorType type,
                           std::vector<uint32_t> programs, std::vector<int64_t> shape) {
  return {name, name + "_handle", popef::TensorInfo(popef::DataType::F32, std::move(shape)), type,
          std::move(programs)};
}

popef::Metadata metadata_of(const std::string& model) {
  popef::Metadata m;
  m.setExecutable(model);
  m.programFlow().setLoad({0, 1});
  m.programFlow().setMain({2});
  m.programFlow().setSave({3});
  m.programsMap() = {{0, "first"}, {3, "save\n"}};
  return m;
}

// Two models whose inputs have a common name, with data for the first, the second, and all models.
std::string two_models() {
  std::ostringstream file;
  popef::Writer writer(file);
  for (const std::string name : {"a", "b"}) {
    popef::Metadata m = metadata_of(name);
    const auto in = popef::TensorType::INPUT, out = popef::TensorType::OUTPUT;
    m.anchors() = {popef_anchor("weights", in, {0}, {2}), popef_anchor("all", in, {1}, {1}),
                   popef_anchor("x", in, {2}, {4, 2}),    popef_anchor("fed", in, {2, 7}, {3}),
                   popef_anchor("y", out, {2, 3}, {2}),   popef_anchor("odd", in, {9, 8}, {})};
    writer.write(m);
    writer.createExecutable(name)->write("not ours", 8);
  }
  const float values[6] = {1, 2, 3, 4, 5, 6};
  const auto f32 = [](std::vector<int64_t> shape) {
    return popef::TensorInfo(popef::DataType::F32, std::move(shape));
  };
  writer.createTensorData({"weights", f32({2})}, "a")->write(values, 8);
  writer.createTensorData({"all", f32({1})})->write(values, 4);
  writer.createFeedData({"fed", f32({3}), 2}, "b")->write(values, 24);
  writer.createOpaqueBlob("words", "a")->write("one\ntwo\t\x7a\n", 10);
  writer.createOpaqueBlob("number", "")->write("17", 2);
  writer.createOpaqueBlob("none", "")->write("", 0);
  writer.createOpaqueBlob("bytes", "b")->write("0123456789abcdef\x7f\x80", 18);
  writer.close();
  return file.str();
}

TEST_F(PopefDetails, AnchorsListProgramsAndData) {
  const Document d = load(two_models());
  ASSERT_TRUE(d.popef) << d.error;
  std::vector<std::string> rows;
  for (const AnchorRow& a : d.popef->anchors())
    rows.push_back(fmt::format("{} {} {} {} {} '{}' '{}'", a.model, a.name, a.direction, a.shape,
                               a.bytes, a.programs, a.data));
  EXPECT_EQ(rows, (std::vector<std::string>{
                      "a weights INPUT 2 8 'load' 'tensor'", "a all INPUT 1 4 'load' 'tensor'",
                      "a x INPUT 4×2 32 'main' ''", "a fed INPUT 3 12 'main 7' ''",
                      "a y OUTPUT 2 8 'main save' ''", "a odd INPUT scalar 4 '9 8' ''",
                      "b weights INPUT 2 8 'load' ''", "b all INPUT 1 4 'load' 'tensor'",
                      "b x INPUT 4×2 32 'main' ''", "b fed INPUT 3 12 'main 7' 'feed of 2'",
                      "b y OUTPUT 2 8 'main save' ''", "b odd INPUT scalar 4 '9 8' ''"}));
  const auto shown = [&](std::string_view filter, std::string_view prefix = "") {
    std::string text;
    for (const size_t i : d.popef->anchor_rows(filter, AnchorColumn::bytes, false, prefix))
      text += fmt::format("{} ", i);
    return text;
  };
  EXPECT_EQ(shown("feed"), "9 ");
  EXPECT_EQ(shown("32 B"), "2 8 ");
  EXPECT_EQ(shown("SAVE"), "4 10 ");
  EXPECT_EQ(shown("", "x"), "2 8 ");
  EXPECT_EQ(shown("output", "x"), "");
}

TEST_F(PopefDetails, DataAndFeedsAreTensors) {
  const Document d = load(two_models());
  ASSERT_TRUE(d.popef) << d.error;
  std::vector<std::string> rows;
  for (const DataRow& r : d.popef->data())
    rows.push_back(fmt::format("{} of '{}': {} {} x {} = {}{}", r.name, r.executable, r.dtype,
                               r.shape, r.tensors, r.bytes, r.is_feed ? ", fed" : ""));
  EXPECT_EQ(rows,
            (std::vector<std::string>{"weights of 'a': F32 2 x 1 = 8", "all of '': F32 1 x 1 = 4",
                                      "fed of 'b': F32 3 x 2 = 24, fed"}));
  EXPECT_EQ(d.popef->tensor(0).to_doubles(), (std::vector<double>{1, 2}));
  EXPECT_EQ(d.popef->tensor(1).to_doubles(), std::vector<double>{1});
  EXPECT_EQ(d.popef->tensor(2).shape(), (Shape{2, 3}));
  EXPECT_EQ(d.popef->tensor(2).to_doubles(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST_F(PopefDetails, OpaqueBlobsAreTextJsonOrHex) {
  const Document d = load(two_models());
  ASSERT_TRUE(d.popef) << d.error;
  ASSERT_EQ(d.popef->opaque().size(), 4u);
  EXPECT_EQ(d.popef->opaque_text(0), "one\ntwo\\x09z\n");
  EXPECT_EQ(d.popef->opaque_text(0, 10), "one\ntwo\\x09z\n") << "as many as may be";
  EXPECT_EQ(d.popef->opaque_text(0, 9),
            "00000000  6f 6e " + std::string(42, ' ') + " on\n… 10 bytes in all\n");
  EXPECT_EQ(d.popef->opaque_text(1), "17");
  EXPECT_EQ(d.popef->opaque_text(2), "");
  EXPECT_EQ(d.popef->opaque_text(3),
            "00000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef\n"
            "00000010  7f 80 " +
                std::string(42, ' ') + " ..\n");
  EXPECT_NE(d.popef->opaque_checksum(0), d.popef->opaque_checksum(1));
  EXPECT_EQ(d.popef->opaque_checksum(2), 1469598103934665603u) << "of nothing";
  EXPECT_EQ(d.popef->opaque_checksum(1), 11171346004778685299u);
}

TEST_F(PopefDetails, HexIsOfSixteenBytesALine) {
  const auto hex = [](const std::string& bytes, size_t most) {
    return hex_text(std::as_bytes(std::span(bytes)), most);
  };
  EXPECT_EQ(hex("", 100), "");
  EXPECT_EQ(hex(std::string("\x1f ~\x7f", 4), 16),
            "00000000  1f 20 7e 7f " + std::string(36, ' ') + " . ~.\n");
  EXPECT_EQ(hex("abcd", 15),
            "00000000  61 62 63 " + std::string(39, ' ') + " abc\n… 4 bytes in all\n");
  EXPECT_EQ(hex("abcd", 3), "… 4 bytes in all\n");
}

TEST_F(PopefDetails, MetadataIsRows) {
  const Document d = load(two_models());
  ASSERT_TRUE(d.popef) << d.error;
  popef::Metadata m = metadata_of("net");
  m.setReplicationFactor(2);
  m.setNumIpus(4);
  m.setIpuVersion(21);
  m.setIsPOD(true);
  m.setNumProcesses(3);
  m.setIsInference(false);
  m.setDeviceIterations(9);
  m.setSeedHandle("seed\n");
  m.programFlow().setLoad({});
  m.setEngineOptions({{"e\n", "1"}});
  m.setDeviceOptions({{"d", "2\n"}});
  std::ostringstream file;
  popef::Writer writer(file);
  writer.write(m);
  writer.createExecutable("net")->write("not ours", 8);
  writer.close();
  const Document other = load(file.str());
  ASSERT_TRUE(other.popef) << other.error;
  using Rows = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(other.popef->metadata_rows(0), (Rows{{"executable", "net"},
                                                 {"replication factor", "2"},
                                                 {"IPUs", "4"},
                                                 {"IPU version", "21"},
                                                 {"POD", "yes"},
                                                 {"processes", "3"},
                                                 {"inference", "no"},
                                                 {"device iterations", "9"},
                                                 {"seed handle", "seed\\x0a"},
                                                 {"load programs", "none"},
                                                 {"main programs", "2"},
                                                 {"save programs", "3 save\\x0a"},
                                                 {"engine option e\\x0a", "1"},
                                                 {"device option d", "2\\x0a"}}));
  const Rows usual = d.popef->metadata_rows(1);
  EXPECT_EQ(usual[0].second, "b");
  EXPECT_EQ(usual[4].second, "no");
  EXPECT_EQ(usual[6].second, "yes");
  EXPECT_EQ(usual[8].second, "none");
  EXPECT_EQ(usual[9].second, "0 first, 1");
}

TEST_F(PopefDetails, WithoutAProgramOfOursThereIsNoViewOfOne) {
  const Document d = load(two_models());
  ASSERT_TRUE(d.popef) << d.error;
  EXPECT_FALSE(d.program);
  EXPECT_EQ(views_of(d), (std::vector<std::string>{"summary", "anchors", "blobs", "metadata",
                                                   "data", "opaque"}));
  EXPECT_EQ(report(d, "all", {}, nullptr).size(), 6u + 3u) << "three tensors have statistics";
  try {
    report(d, "program", {}, nullptr);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(
        e.message(),
        "m.popef has no view 'program', it has summary, anchors, blobs, metadata, data, opaque");
  }
  ReportOptions node;
  node.node = "x";
  try {
    report(d, "all", node, nullptr);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "m.popef has no graph, so no node 'x'");
  }
}

TEST_F(PopefDetails, RowsAreFilteredAndCounted) {
  const Document d = load(two_models());
  ASSERT_TRUE(d.popef) << d.error;
  const auto rows = [&](const std::string& view, ReportOptions options) {
    return report(d, view, options, nullptr).at(0).rows.size();
  };
  ReportOptions options;
  EXPECT_EQ(rows("anchors", options), 12u);
  options.most = 12;
  EXPECT_EQ(rows("anchors", options), 12u);
  options.most = 5;
  EXPECT_EQ(rows("anchors", options), 5u);
  options = {};
  options.filter = "WEIGHTS";
  EXPECT_EQ(rows("anchors", options), 2u);
  EXPECT_EQ(rows("blobs", options), 1u);
  options.filter = "no such word";
  EXPECT_EQ(rows("blobs", options), 0u);
}

}  // namespace
}  // namespace poprt::inspector
