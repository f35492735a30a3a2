#include "model/class_names.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "inspector/sample_files.h"

namespace poprt::inspector {
namespace {

using Names = std::vector<std::string>;

TEST(ClassNames, AreLines) {
  SampleFolder folder("class_names");
  EXPECT_EQ(read_class_names(folder.write("a.txt", "tench\r\ngreat white shark\n\nlast\n\n")),
            (Names{"tench", "great white shark", "", "last"}));
  EXPECT_EQ(read_class_names(folder.write("b.txt", "one")), Names{"one"});
}

TEST(ClassNames, OtherFilesAreRefused) {
  SampleFolder folder("class_names_bad");
  EXPECT_THROW(read_class_names(folder.path / "none.txt"), Error);
  EXPECT_THROW(read_class_names(folder.write("empty.txt", "\n\n")), Error);
  EXPECT_THROW(read_class_names(folder.write("model.onnx", std::string("a\0b", 3))), Error);
}

TEST(ClassNames, AreFoundNextToTheModel) {
  SampleFolder folder("class_names_beside");
  EXPECT_EQ(find_class_names(folder.path / "net.onnx"), "");
  folder.write("labels.txt", "a");
  EXPECT_EQ(find_class_names(folder.path / "net.onnx"), folder.path / "labels.txt");
  folder.write("net.labels.txt", "a");
  EXPECT_EQ(find_class_names(folder.path / "net.onnx"), folder.path / "net.labels.txt");
}

}  // namespace
}  // namespace poprt::inspector
