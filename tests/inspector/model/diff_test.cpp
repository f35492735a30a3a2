#include "model/diff.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "inspector/sample_files.h"

namespace poprt::inspector {
namespace {

class DiffTest : public testing::Test {
 protected:
  Document load(const std::string& name, const std::string& bytes) {
    Progress progress;
    return load_document(folder.write(name, bytes), progress);
  }
  static const DiffRow* find(const std::vector<DiffRow>& rows, const std::string& category,
                             const std::string& name) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const DiffRow& r) {
      return r.category == category && r.name == name;
    });
    return found == rows.end() ? nullptr : &*found;
  }
  std::vector<DiffRow> rows_of(const Document& left, const Document& right) {
    Progress progress;
    return diff_documents(left, right, progress).rows;
  }
  SampleFolder folder{"diff"};
};

TEST_F(DiffTest, OtherShapesOfTheSameNodeAreShapes) {
  const auto text = [](int n) {
    return "graph \"g\" opset {\"\": 17} {\n input %x : f32[" + std::to_string(n) +
           "]\n %y : f32[" + std::to_string(n) + "] = Relu(%x) \"r\"\n output %y\n}\n";
  };
  const auto rows = rows_of(load("a.ir", text(2)), load("b.ir", text(3)));
  const DiffRow* row = find(rows, "shape", "r");
  ASSERT_TRUE(row);
  EXPECT_NE(row->left.find("f32[2]"), std::string::npos) << row->left;
  EXPECT_NE(row->right.find("f32[3]"), std::string::npos) << row->right;
  EXPECT_FALSE(find(rows, "node", "r"));
}

TEST_F(DiffTest, WeightsAreListedByTheValueOfTheirNumbers) {
  const auto text = [](const std::string& w) {
    return "graph \"g\" opset {\"\": 17} {\n input %x : f32[1]\n const %n_103 : f32[1] = [" + w +
           "]\n const %n_11 : f32[1] = [" + w +
           "]\n %a : f32[1] = Add(%x, %n_103)\n %y : f32[1] = Add(%a, %n_11)\n output %y\n}\n";
  };
  std::vector<std::string> names;
  for (const DiffRow& row : rows_of(load("a.ir", text("1.0")), load("b.ir", text("2.0"))))
    if (row.category == "weight") names.push_back(row.name);
  EXPECT_EQ(names, (std::vector<std::string>{"n_11", "n_103"}));
}

TEST_F(DiffTest, WeightsDifferWhereTheirElementsDo) {
  const auto text = [](const std::string& w, const std::string& v) {
    return "graph \"g\" opset {\"\": 17} {\n input %x : f32[4]\n const %w : f32[4] = [" + w +
           "]\n const %v : s64[2] = [" + v +
           "]\n %a : f32[4] = Add(%x, %w) \"a\"\n %y : f32[2,4] = Expand(%a, %v) \"e\"\n output "
           "%y\n}\n";
  };
  const Document left = load("a.ir", text("1.0, nan, 3.0, 4.0", "2, 4"));
  const auto message_for = [&](const std::string& w, const std::string& v) {
    Progress progress;
    const DocumentDiff diff = diff_documents(left, load("b.ir", text(w, v)), progress);
    EXPECT_LE(progress.look().first, 1);
    const DiffRow* row = find(diff.rows, "weight", "w");
    return row ? row->left + " / " + row->right : "";
  };
  EXPECT_EQ(message_for("1.0, nan, 3.0, 4.0", "2, 4"), "");
  EXPECT_EQ(message_for("1.0, nan, 3.5, 2.0", "2, 4"),
            "f32 4 / f32 4, 2 of 4 elements differ, by at most 2");
  EXPECT_EQ(message_for("nan, nan, 3.0, 4.0", "2, 4"),
            "f32 4 / f32 4, 1 of 4 elements differ, by at most 0");
  EXPECT_EQ(message_for("1.0, 2.0, 3.0, 4.0", "2, 4"),
            "f32 4 / f32 4, 1 of 4 elements differ, by at most 0");
}

// Neighbours beyond 2^53 are the same double.
TEST_F(DiffTest, IntegerWeightsAreComparedExactly) {
  const auto text = [](const std::string& w) {
    return "graph \"g\" opset {\"\": 17} {\n input %x : s64[2]\n const %w : s64[2] = [" + w +
           "]\n %y : s64[2] = Add(%x, %w) \"a\"\n output %y\n}\n";
  };
  const auto rows =
      rows_of(load("a.ir", text("9007199254740992, 7")), load("b.ir", text("9007199254740993, 7")));
  const DiffRow* row = find(rows, "weight", "w");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->right, "s64 2, 1 of 2 elements differ, by at most 1");
}

TEST_F(DiffTest, NonNumericWeightsDifferByContents) {
  const auto text = [](const std::string& w) {
    return "graph \"g\" opset {\"\": 17} {\n input %x : bool[3]\n const %w : bool[3] = [" + w +
           "]\n %y : bool[3] = And(%x, %w) \"a\"\n output %y\n}\n";
  };
  const Document left = load("a.ir", text("true, false, true"));
  const auto rows = rows_of(left, load("b.ir", text("true, true, true")));
  const DiffRow* row = find(rows, "weight", "w");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->left + " / " + row->right, "bool 3 / bool 3, other contents");
}

TEST_F(DiffTest, AWeightIsAtTheNodeThatReadsIt) {
  std::string other = kSampleText;
  other.replace(other.find("8.0]"), 4, "9.0]");
  const Document left = load("a.ir", kSampleText), right = load("b.ir", other);
  Progress progress;
  const DocumentDiff diff = diff_documents(left, right, progress);
  const DiffRow* row = find(diff.rows, "weight", "w");
  ASSERT_TRUE(row);
  const int node = right.graph->find("/block/fc/MatMul");
  EXPECT_EQ(row->left_node, left.graph->find("/block/fc/MatMul"));
  EXPECT_EQ(row->right_node, node);
  EXPECT_EQ(diff.graph.after[static_cast<size_t>(node)], Change::changed);
}

TEST_F(DiffTest, PopefFilesDifferInAnchorsMetadataAndOpaqueBlobs) {
  std::string other = sample_popef();
  const size_t at = other.find("cat\",\"dog");
  ASSERT_NE(at, std::string::npos);
  other.replace(at, 3, "cow");
  const auto rows = rows_of(load("a.popef", sample_popef()), load("b.popef", other));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].category, "opaque");
  EXPECT_EQ(rows[0].name, "labels");
  EXPECT_NE(rows[0].right.find("cow"), std::string::npos);
}

// Models "a" and "b" in one file, which have an anchor, data and a blob of the same names.
std::string two_models(int64_t extent_of_b, float value_of_b, const std::string& blob_of_b) {
  std::ostringstream file;
  popef::Writer writer(file);
  for (const std::string& model : {std::string("a"), std::string("b")}) {
    const bool second = model == "b";
    popef::Metadata metadata = runtime::make_metadata(model, compiled(kSampleText).program);
    metadata.anchors().push_back(popef::Anchor(
        "table", "handle", popef::TensorInfo(popef::DataType::F32, {second ? extent_of_b : 3}),
        popef::TensorType::INPUT, {0}, false));
    writer.write(metadata);
    popef::TensorDataInfo info("table", popef::TensorInfo(popef::DataType::F32, {1}));
    const float value = second ? value_of_b : 1;
    writer.createTensorData(info, model)->write(&value, sizeof value);
    const std::string blob = second ? blob_of_b : "first";
    writer.createOpaqueBlob("notes", model)->write(blob.data(), blob.size());
  }
  writer.close();
  return file.str();
}

TEST_F(DiffTest, ModelsInOneFileAreComparedSeparately) {
  const Document left = load("left.popef", two_models(3, 1, "second"));
  EXPECT_TRUE(rows_of(left, load("same.popef", two_models(3, 1, "second"))).empty());
  std::vector<std::string> differences;
  for (const DiffRow& row : rows_of(left, load("right.popef", two_models(4, 2, "other"))))
    if (row.category != "memory") differences.push_back(row.category + " " + row.name);
  EXPECT_EQ(differences,
            (std::vector<std::string>{"anchor b: table", "opaque b: notes", "data b: table"}));
}

TEST_F(DiffTest, LongOpaqueBlobsAreComparedToTheirEnd) {
  const auto with_blob = [&](const std::string& name, char last) {
    const compiler::Executable made = compiled(kSampleText);
    const auto path = folder.path / name;
    runtime::write_popef(path, "net", made.program, made.weights,
                         {{"long", std::string(20000, 'a') + last}, {"short", "{\"a\": [1,\n2]}"}});
    Progress progress;
    return load_document(path, progress);
  };
  Progress progress;
  const Document a = with_blob("a.popef", 'a'), b = with_blob("b.popef", 'b');
  std::vector<DiffRow> rows = diff_documents(a, b, progress).rows;
  std::erase_if(rows, [](const DiffRow& r) { return r.category != "opaque"; });
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "long");
  EXPECT_EQ(rows[0].left.find('\n'), std::string::npos);
  EXPECT_TRUE(rows[0].left.starts_with("19.5 KiB, checksum ")) << rows[0].left.substr(0, 60);
}

TEST_F(DiffTest, CompiledModelsDifferInInstructionsMemoryAndTime) {
  const Document left = load("a.ir", kSampleText);
  std::string more = kSampleText;
  more.replace(more.find("output %d"), 9, "%e : f32[1,2] = Softmax(%d) \"/Softmax\"\n output %e");
  const Document right = load("b.ir", more);
  Progress progress;
  const auto [a, b] = measure_documents(left, nullptr, right, nullptr, 0.02, progress);
  ASSERT_TRUE(a.profile);
  ASSERT_TRUE(b.profile);
  const auto rows = diff_programs(a, b);
  for (const DiffRow& row : rows) EXPECT_TRUE(is_of_programs(row)) << row.category;
  EXPECT_TRUE(find(rows, "time", "whole run"));
  EXPECT_TRUE(find(rows, "program", "instructions"));
  const DiffRow* made = find(rows, "instruction", "/Softmax");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->change, Change::added);
  const auto still = measure_documents(left, nullptr, right, nullptr, 0, progress);
  EXPECT_FALSE(still.first.profile);
}

TEST_F(DiffTest, TimesWithinTheNoiseAreEqual) {
  const auto side = [](double run, double noise, double a, double b) {
    auto p = std::make_shared<ProgramProfile>();
    p->run_ns = run;
    p->run_noise_ns = noise;
    p->names = {"a", "b"};
    p->instructions = {a, b};
    p->noise = {noise, 0};
    return Measured{nullptr, p};
  };
  auto rows = diff_programs(side(1e6, 3e4, 6e5, 4e5), side(1.05e6, 3e4, 6.5e5, 4e5));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].change, Change::none);
  EXPECT_NE(rows[0].right.find("equal within 60"), std::string::npos) << rows[0].right;
  rows = diff_programs(side(1e6, 1e3, 6e5, 4e5), side(1.3e6, 1e3, 7e5, 6e5));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].change, Change::changed);
  EXPECT_EQ(rows[1].name, "b") << "the largest difference first";
  EXPECT_EQ(rows[2].name, "a");
}

TEST_F(DiffTest, RefusesToMeasureWithoutAProgram) {
  Progress progress;
  const Document left = load("a.ir", kSampleText), none = load("b.onnx", "?");
  EXPECT_THROW(measure_documents(left, nullptr, none, nullptr, 0, progress), Error);
}

// Rows of one category, as "name change: left / right".
std::vector<std::string> rows_in(const DocumentDiff& diff, const std::string& category) {
  std::vector<std::string> text;
  for (const DiffRow& r : diff.rows)
    if (r.category == category)
      text.push_back(fmt::format("{} {}: {} / {}", r.name, change_name(r.change), r.left, r.right));
  return text;
}

TEST_F(DiffTest, TextsShowBothSides) {
  const auto text = [](const std::string& type, const std::string& op, const std::string& value,
                       const std::string& weights) {
    return "graph \"g\" opset {\"\": 17} {\n input %x : " + type + "\n " + weights +
           "\n %a : " + type + " = " + op + "(%x, _) {k = \"" + value +
           "\"} \"n\"\n output %a\n}\n";
  };
  // Sixty characters of an attribute with its quotes are shown.
  const std::string whole(58, 'v'), longer(59, 'v');
  Progress progress;
  const DocumentDiff diff = diff_documents(
      load("a.ir", text("f32[2]", "Relu", whole, "const %w : f32[2] = [1.0, 2.0]")),
      load("b.ir", text("f32[3]", "Neg", longer, "const %v : s8[1] = [1]")), progress);
  EXPECT_EQ(rows_in(diff, "shape"),
            (std::vector<std::string>{"x changed: input() : f32[2] / input() : f32[3]",
                                      "a changed: output(a) / output(a)"}));
  const auto nodes = rows_in(diff, "node");
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_TRUE(nodes[0].starts_with("n changed: Relu(x, _) : f32[2] k=\"" + whole +
                                   "\" / Neg(x, _) : f32[3] k=\"v"))
      << nodes[0];
  EXPECT_NE(nodes[0].find("…"), std::string::npos) << nodes[0];
}

// A weight that only one side has does not change the match of the other nodes.
TEST_F(DiffTest, WeightsOfOneSideAreAddedOrRemoved) {
  const auto text = [](const std::string& bias) {
    return std::string(
               "graph \"g\" opset {\"\": 17} {\n input %x : f32[2]\n const %w : f32[2] = "
               "[1.0, 2.0]\n ") +
           (bias.empty() ? "" : "const %b : f32[1] = [0.5]\n ") + "%y : f32[2] = Op(%x, %w" +
           (bias.empty() ? "" : ", %b") + ") \"n\"\n output %y\n}\n";
  };
  const Document without = load("a.ir", text("")), with = load("b.ir", text("b"));
  Progress progress;
  DocumentDiff diff = diff_documents(without, with, progress);
  EXPECT_EQ(rows_in(diff, "weight"), std::vector<std::string>{"b added:  / f32 1"});
  const DiffRow* row = find(diff.rows, "weight", "b");
  EXPECT_EQ(row->left_node, kNone);
  EXPECT_EQ(row->right_node, with.graph->find("n"));
  diff = diff_documents(with, without, progress);
  EXPECT_EQ(rows_in(diff, "weight"), std::vector<std::string>{"b removed: f32 1 / "});
  row = find(diff.rows, "weight", "b");
  EXPECT_EQ(row->left_node, with.graph->find("n"));
  EXPECT_EQ(row->right_node, kNone);
}

TEST_F(DiffTest, ComparesOnlyPartsThatBothHave) {
  Progress progress;
  const DocumentDiff diff =
      diff_documents(load("a.ir", kSampleText), load("b.popef", sample_popef()), progress);
  for (const DiffRow& r : diff.rows) EXPECT_EQ(r.category, "memory") << r.name;
}

// A file with one model whose input is called `input`, and a tensor of the values.
std::string popef_with(const std::string& input, const std::vector<float>& values, uint32_t program,
                       const std::string& note) {
  std::ostringstream file;
  popef::Writer writer(file);
  popef::Metadata m;
  m.setExecutable("m");
  m.programFlow().setLoad({0});
  m.programFlow().setMain({1});
  const auto info = popef::TensorInfo(popef::DataType::F32, {std::ssize(values)});
  m.anchors() = {{input, "h", info, popef::TensorType::INPUT, {program}, input == "x"},
                 {"y", "out", info, popef::TensorType::OUTPUT, {1}}};
  writer.write(m);
  writer.createExecutable("m")->write("not ours", 8);
  writer.createTensorData({input, info})->write(values.data(), values.size() * sizeof(float));
  writer.createOpaqueBlob(input + " note", "m")->write(note.data(), note.size());
  writer.close();
  return file.str();
}

TEST_F(DiffTest, PopefFilesDifferByMissingParts) {
  Progress progress;
  const DocumentDiff diff =
      diff_documents(load("a.popef", popef_with("x", {1, 2}, 1, "\n\n one\n\n two\n")),
                     load("b.popef", popef_with("z", {1}, 0, "")), progress);
  EXPECT_EQ(rows_in(diff, "anchor"),
            (std::vector<std::string>{
                "x removed: INPUT F32 2 programs main handle h per replica / ",
                "y changed: OUTPUT F32 2 programs main handle out / OUTPUT F32 1 programs main "
                "handle out",
                "z added:  / INPUT F32 1 programs load handle h"}));
  EXPECT_EQ(rows_in(diff, "data"),
            (std::vector<std::string>{"x removed: f32 2 / ", "z added:  / f32 1"}));
  const auto opaque = rows_in(diff, "opaque");
  ASSERT_EQ(opaque.size(), 2u);
  EXPECT_TRUE(opaque[0].starts_with("x note removed: one two ")) << opaque[0];
  EXPECT_EQ(opaque[1], "z note added:  / ");
}

// Metadata of several models is matched by the model's number, that of one model by its name.
TEST_F(DiffTest, MetadataIsOfItsModel) {
  const auto names = [&](const std::string& left, const std::string& right) {
    Progress progress;
    std::string text;
    for (const DiffRow& r :
         diff_documents(load("a.popef", left), load("b.popef", right), progress).rows)
      if (r.category == "metadata") text += (text.empty() ? "" : ", ") + r.name;
    return text;
  };
  const std::string one = names(sample_popef("a"), sample_popef("b"));
  EXPECT_NE(one, "");
  const std::string second = sample_popef("c");
  EXPECT_EQ(names(sample_popef("a") + second, sample_popef("b") + second), "a: " + one);
  EXPECT_EQ(names(second + sample_popef("a"), second + sample_popef("b")), "a: " + one);
  EXPECT_EQ(names(second + sample_popef("a"), sample_popef("a") + second), "");
}

TEST_F(DiffTest, BothSidesAreMeasured) {
  std::string more = kSampleText;
  more.replace(more.find("output %d"), 9, "%e : f32[1,2] = Softmax(%d) \"/Softmax\"\n output %e");
  const Document left = load("a.ir", kSampleText), right = load("b.ir", more);
  Progress progress;
  const auto still = measure_documents(left, nullptr, right, nullptr, 0, progress);
  EXPECT_LT(still.first.program->instructions().size(),
            still.second.program->instructions().size());
  const auto [a, b] = measure_documents(left, nullptr, right, nullptr, 0.01, progress);
  for (const Measured* side : {&a, &b}) {
    const ProgramProfile& p = *side->profile;
    EXPECT_GT(p.run_ns, 0);
    ASSERT_EQ(p.instructions.size(), side->program->live_bytes().size());
    double sum = 0;
    for (const double ns : p.instructions) sum += ns;
    EXPECT_GT(sum, 0);
  }
  EXPECT_LT(a.profile->instructions.size(), b.profile->instructions.size());
}

}  // namespace
}  // namespace poprt::inspector
