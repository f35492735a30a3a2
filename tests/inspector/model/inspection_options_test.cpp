// Assumptions about a model that is only inspected: its kind, the sizes of open dimensions, its
// IPUs; and the matching nodes of two graphs.
#include <gtest/gtest.h>

#include "base/error.h"
#include "inspector/sample_files.h"
#include "model/diff.h"
#include "model/document.h"
#include "model/pass_history.h"

namespace poprt::inspector {
namespace {

std::unique_ptr<ir::Graph> with_inputs(const std::vector<std::pair<std::string, std::string>>& all,
                                       const std::string& attributes = "") {
  std::string text = "graph \"g\" opset {\"\": 17} {\n";
  for (const auto& [name, type] : all) text += "input %" + name + " : " + type + "\n";
  text += "%y : ? = Relu(%" + all[0].first + ")" + attributes + "\noutput %y\n}\n";
  return ir::parse_text(text);
}

// The sizes that were assumed may be the cause of an error.
TEST(InspectionOptions, AnErrorNamesTheSizesThatWereAssumed) {
  std::string assumed;
  options_for_inspection(*with_inputs({{"x", "f32[?,4]"}}), assumed);
  EXPECT_EQ(
      error_with_assumed("it fails", assumed),
      "it fails; open dimensions were assumed (x=1\u00d74): --input_shape, or the field in the "
      "window, gives others");
  EXPECT_EQ(error_with_assumed("it fails", ""), "it fails");
  EXPECT_EQ(error_with_assumed("", assumed), "");
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message();
  }
  return "taken";
}

TEST(Looking, OpenDimensionsAreOneOrASideOfAPicture) {
  const auto shape_of = [](const std::string& type) {
    const auto graph = with_inputs({{"x", type}});
    std::string assumed;
    const compiler::ShapeSet shapes = options_for_inspection(*graph, assumed).shapes.at(0);
    const auto found = shapes.find("x");
    return found == shapes.end() ? "none" : shape_string(found->second);
  };
  EXPECT_EQ(shape_of("f32[2,3]"), "none");
  EXPECT_EQ(shape_of("f32[*]"), "none");
  EXPECT_EQ(shape_of("f32[N]"), "[1]");
  EXPECT_EQ(shape_of("f32[N,0,?]"), "[1,0,1]");
  EXPECT_EQ(shape_of("f32[N,3,?,?]"), "[1,3,224,224]");
  EXPECT_EQ(shape_of("f32[4,1,?,?]"), "[4,1,224,224]");
  EXPECT_EQ(shape_of("f32[N,?,?,3]"), "[1,224,224,3]");
  EXPECT_EQ(shape_of("f32[N,?,?,1]"), "[1,224,224,1]");
  EXPECT_EQ(shape_of("f32[N,3,?,3]"), "[1,3,1,3]") << "one side is there";
  EXPECT_EQ(shape_of("f32[N,3,5,?]"), "[1,3,5,1]");
  EXPECT_EQ(shape_of("f32[N,?,5,3]"), "[1,1,5,3]");
  EXPECT_EQ(shape_of("f32[N,2,?,?]"), "[1,2,1,1]") << "no colours";
  EXPECT_EQ(shape_of("f32[N,?,?,4]"), "[1,1,1,4]");
  EXPECT_EQ(shape_of("f32[N,?,?,?]"), "[1,1,1,1]");
  EXPECT_EQ(shape_of("f32[3,?,?]"), "[3,1,1]");
  EXPECT_EQ(shape_of("f32[1,3,?,?,3]"), "[1,3,1,1,3]");
}

TEST(Looking, ChosenShapesFitTheInputs) {
  const auto graph =
      with_inputs({{"x", "f32[N,3]"}, {"z", "f32[M]"}, {"a", "f32[*]"}, {"s", "f32[2]"}});
  const auto message_for = [&](const ChosenShapes& chosen) {
    return message_of([&] {
      std::string assumed;
      options_for_inspection(*graph, assumed, chosen);
    });
  };
  EXPECT_EQ(message_for({{"x", {{5, 3}}}}), "taken");
  EXPECT_EQ(message_for({{"x", {{0, 3}}}}), "taken");
  EXPECT_EQ(message_for({{"s", {{2}}}}), "taken");
  EXPECT_EQ(message_for({{"a", {{1, 2, 3}}}}), "taken");
  EXPECT_EQ(message_for({{"x", {{5, 4}}}}), "input 'x' is f32[N,3], which does not match 5×4");
  EXPECT_EQ(message_for({{"x", {{5}}}}), "input 'x' is f32[N,3], which does not match 5");
  EXPECT_EQ(message_for({{"x", {{5, 3, 1}}}}), "input 'x' is f32[N,3], which does not match 5×3×1");
  EXPECT_EQ(message_for({{"s", {{3}}}}), "input 's' is f32[2], which does not match 3");
  EXPECT_EQ(message_for({{"w", {{3}}}}), "the model has no input 'w'");
  std::string assumed;
  const auto one = options_for_inspection(*graph, assumed, {{"z", {{7}}}}).shapes;
  EXPECT_EQ(assumed, "x=1×3");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].at("z"), (Shape{7}));
  EXPECT_EQ(one[0].at("x"), (Shape{1, 3}));
  EXPECT_FALSE(one[0].contains("a"));
  const ChosenShapes both = {{"z", {{9}, {7}}}};
  const auto two = options_for_inspection(*graph, assumed, both).shapes;
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].at("z"), (Shape{7})) << "the smallest is the first";
  EXPECT_EQ(two[1].at("z"), (Shape{9}));
  EXPECT_EQ(two[1].at("x"), (Shape{1, 3}));
  EXPECT_EQ(shapes_text(*graph, both), "x=1,3 z=9/7");
  EXPECT_EQ(message_for({{"z", {{7}, {7, 1}}}}), "input 'z' is f32[M], which does not match 7×1");
  EXPECT_EQ(message_for({{"z", {{7}, {7}}}}),
            "`input_shapes`: 'z' is given twice: shapes 1 and 2 are the same");
  EXPECT_EQ(shapes_text(*graph, {{"z", {{7}}}}), "x=1,3 z=7");
  EXPECT_EQ(shapes_text(*graph, {}), "x=1,3 z=1");
}

TEST(Looking, ShapesAreWords) {
  const auto read = [](const char* words) {
    std::string text;
    const std::string error_text = message_of([&] {
      for (const auto& [name, shapes] : read_shapes(words)) {
        text += name;
        for (const Shape& shape : shapes) text += shape_string(shape);
        text += " ";
      }
    });
    return error_text == "taken" ? text : error_text;
  };
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read("  x=1,2  y=0 "), "x[1,2] y[0] ");
  EXPECT_EQ(read("a=b=3"), "a=b[3] ");
  EXPECT_EQ(read("x="), "x[] ");
  EXPECT_EQ(read("x=1 y=3 x=2"), "x[1][2] y[3] ");
  EXPECT_EQ(read("x=1,8/2,8/5,8"), "x[1,8][2,8][5,8] ");
  for (const char* bad :
       {"x", "=1", "x=1,,2", "x=-1", "x=1x", "x=y", "x=,1", "x=1/", "x=/1", "x=1//2", "x=1,/2"})
    EXPECT_EQ(read(bad), std::string("expected NAME=1,3,224,224, found '") + bad + "'");
}

TEST(Looking, ModelsThatAreCutHaveTheirIpusAndStages) {
  const auto assumed = [](const std::string& attributes, std::string text = "") {
    const auto graph = with_inputs({{"x", "f32[2]"}}, attributes);
    EXPECT_TRUE(options_for_inspection(*graph, text).use_assigned_ipus);
    return text;
  };
  EXPECT_EQ(assumed(""), "");
  EXPECT_EQ(assumed(" {__ipu_number = 0}"), "");
  EXPECT_EQ(assumed(" {__ipu_number = 3}"), "4 IPUs");
  EXPECT_EQ(assumed(" {__ipu_number = 0, __pipeline_stage = 2}", "x=1"), "x=1, 1 IPU and 1 stage");
  EXPECT_EQ(assumed(" {__ipu_number = 0, __pipeline_stage = 0}"), "1 IPU and 1 stage");
  EXPECT_EQ(assumed(" {__ipu_number = 5000}"), "") << "the compiler reports the error";
}

TEST(Looking, FilesHaveAKind) {
  const SampleFolder folder("kinds");
  const auto kind = [&](const std::string& name, const std::string& bytes) {
    return std::string(document_kind_name(document_kind(folder.write(name, bytes))));
  };
  EXPECT_EQ(kind("a", "PopEF "), "PopEF");
  EXPECT_EQ(kind("a", "POPEF!"), "PopEF");
  EXPECT_EQ(kind("a.onnx", "PopEF "), "PopEF") << "the bytes come first";
  EXPECT_EQ(kind("a", "PopE"), "IR text");
  EXPECT_EQ(kind("a.popef", ""), "PopEF");
  EXPECT_EQ(kind("a.telemetry", ""), "recording");
  EXPECT_EQ(kind("a.onnx", "graph"), "ONNX");
  EXPECT_EQ(kind("a.pb", "graph"), "ONNX");
  EXPECT_EQ(kind("a", ""), "IR text");
  EXPECT_EQ(kind("a", "\t\r\n graph\x01"), "IR text");
  EXPECT_EQ(kind("a", "# words\x01"), "IR text");
  EXPECT_EQ(kind("a", "grap\x01"), "ONNX");
  EXPECT_EQ(kind("a", "words\t\r\n"), "IR text");
  EXPECT_EQ(kind("a", "words\x1f"), "ONNX");
  EXPECT_EQ(kind("a", std::string(64, 'w') + "\x01"), "IR text") << "of the first 64 bytes";
  EXPECT_EQ(kind("a", std::string(63, 'w') + "\x01"), "ONNX");
}

TEST(Looking, ErrorsNameTheFileOnce) {
  const SampleFolder folder("errors");
  Progress progress;
  const Document picture = load_document(folder.write("a.png", "x"), progress);
  EXPECT_EQ(
      picture.error,
      "a.png: this file is a picture or a tensor and not a model; drop it on the window while a "
      "model is shown to use it as an input");
  const Document gone = load_document(folder.path / "gone.ir", progress);
  EXPECT_EQ(gone.error,
            "cannot open '" + (folder.path / "gone.ir").string() + "': No such file or directory");
  EXPECT_EQ(gone.bytes, 0u);
  const Document text = load_document(folder.write("b.ir", "graph"), progress);
  EXPECT_EQ(text.error, "b.ir: line 1 column 6: expected '\"', found the end of the text");
  EXPECT_EQ(text.bytes, 5u);
}

TEST(Looking, ShapesThatCannotBeInferredAreAProblem) {
  const SampleFolder folder("problems");
  Progress progress;
  const Document d = load_document(folder.write("a.ir", R"(graph "g" opset {"": 17} {
  input %a : f32[2]
  input %b : f32[3]
  %y : f32[2] = Add(%a, %b)
  output %y
})"),
                                   progress);
  EXPECT_EQ(d.error, "");
  ASSERT_EQ(d.problems.size(), 1u);
  EXPECT_TRUE(d.problems[0].starts_with("only the shapes that the model declares are known: "));
  ASSERT_TRUE(d.graph);
  EXPECT_EQ(d.graph->nodes().size(), 4u);
}

TEST(Looking, EventsAreSentences) {
  EXPECT_EQ(event_text({0, Change::added, "", "n", "Relu"}), "in the model as Relu");
  EXPECT_EQ(event_text({2, Change::added, "", "n", "Relu"}), "made it: Relu");
  EXPECT_EQ(event_text({2, Change::changed, "Relu", "n", "Relu"}),
            "changed its inputs, attributes or types");
  EXPECT_EQ(event_text({2, Change::changed, "Relu", "n", "Clip"}), "Relu became Clip");
  EXPECT_EQ(event_text({2, Change::removed, "Relu", "", ""}), "removed it because it is unused");
  EXPECT_EQ(event_text({2, Change::removed, "Relu", "n", "Conv"}),
            "removed Relu: fused into, or bypassed by, Conv n");
}

// If a file has more than 64 programs, only the first ones are shown.
TEST(Looking, OfManyProgramsTheFirstAreShown) {
  const SampleFolder folder("programs");
  for (const int count : {64, 65}) {
    std::ostringstream file;
    popef::Writer writer(file);
    for (int i = 0; i < count; i++)
      writer.createExecutable("p" + std::to_string(i))->write("not ours", 8);
    writer.close();
    Progress progress;
    const Document d = load_document(folder.write("m.popef", file.str()), progress);
    ASSERT_EQ(d.error, "");
    ASSERT_EQ(d.problems.size(), static_cast<size_t>(count));
    EXPECT_TRUE(d.problems[0].starts_with("program 'p0' cannot be shown: ")) << d.problems[0];
    EXPECT_EQ(d.problems.back() == "of 65 programs the first 64 are shown", count == 65)
        << d.problems.back();
  }
}

}  // namespace
}  // namespace poprt::inspector
