#include "exec/support/zip.h"

#include <cstring>

#include "cli/command_line.h"

namespace poprt::cli {
namespace {

std::vector<std::byte> data(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

TEST(Zip, MembersComeBackInOrder) {
  const std::vector<ZipMember> members = {{"b", data("second")}, {"a", {}}, {"c", data("x")}};
  const auto archive = make_zip(members);
  const auto read = read_zip(archive, "f");
  ASSERT_EQ(read.size(), 3U);
  for (size_t i = 0; i < 3; i++) {
    EXPECT_EQ(read[i].name, members[i].name);
    EXPECT_EQ(read[i].data, members[i].data);
  }
  EXPECT_EQ(make_zip(members), archive);
}

TEST(Zip, MembersAreNotCompressedAndOfOneDate) {
  const auto archive = make_zip({{"m", std::vector<std::byte>(1000, std::byte{'z'})}});
  const auto word = [&](size_t at) {
    return static_cast<int>(archive[at]) | static_cast<int>(archive[at + 1]) << 8;
  };
  EXPECT_GT(archive.size(), 1000U);
  // A local header: the method, then time and date, from 1980-01-01 00:00.
  EXPECT_EQ(word(8), 0);
  EXPECT_EQ(word(10), 0);
  EXPECT_EQ(word(12), 0x21);
}

TEST(Zip, RefusesInvalidArchives) {
  const auto message_for = [](std::vector<std::byte> archive) {
    return message_of<Failure>([&] { (void)read_zip(archive, "f.npz"); });
  };
  const std::string head = "'f.npz' is not a valid .npz file: ";
  EXPECT_EQ(message_for({}), head + "it is empty");
  EXPECT_TRUE(
      message_for(data("no archive at all, but long enough for a directory")).starts_with(head));
  auto damaged = make_zip({{"m", data("payload")}});
  for (std::byte& b : damaged)
    if (b == std::byte{'p'}) b = std::byte{'q'};
  EXPECT_EQ(message_for(damaged), head + "member 'm' is damaged");
}

TEST(Zip, TwoMembersOfOneNameAreRefused) {
  EXPECT_TRUE(message_of<Failure>([] {
                (void)make_zip({{"m", {}}, {"m", {}}});
              }).starts_with("cannot make a .npz file: "));
}

}  // namespace
}  // namespace poprt::cli
