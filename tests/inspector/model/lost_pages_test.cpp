#include "model/lost_pages.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "inspector/sample_files.h"
#include "model/document.h"
#include "model/tensor_statistics.h"

namespace poprt::inspector {
namespace {

TEST(LostPages, OfAFileThatIsShortenedAreZeros) {
  survive_lost_pages();
  const SampleFolder folder("lost");
  const auto path = folder.write("a", std::string(5 * 4096, 'a'));
  const auto map = MappedFile::open(path);
  std::filesystem::resize_file(path, 4096);
  const uint64_t before = lost_pages();
  size_t letters = 0;
  for (const std::byte b : map->bytes()) letters += b == std::byte{'a'};
  EXPECT_EQ(letters, 4096u);
  EXPECT_EQ(lost_pages() - before, 4u);
}

TEST(LostPages, ADocumentOutlivesItsFile) {
  survive_lost_pages();
  const SampleFolder folder("lost2");
  const auto path = folder.write("m.popef", sample_popef());
  Progress progress;
  const Document d = load_document(path, progress);
  ASSERT_TRUE(d.popef);
  std::ofstream(path, std::ios::trunc | std::ios::binary).flush();
  EXPECT_EQ(tensor_statistics(d.popef->tensor(0)).zeros, 3u);
  EXPECT_TRUE(has_changed(d));
  EXPECT_NO_THROW((void)d.popef->opaque_text(0));
  EXPECT_THROW(d.popef->program(), Error);
}

}  // namespace
}  // namespace poprt::inspector
