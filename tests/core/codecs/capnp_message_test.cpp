#include "codecs/capnp_message.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/error.h"

namespace poprt::capnp_message {
namespace {

std::vector<std::byte> bytes_of(const std::vector<uint64_t>& words) {
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

uint64_t struct_pointer(int32_t offset, uint64_t data, uint64_t pointers) {
  return static_cast<uint32_t>(offset << 2) | data << 32 | pointers << 48;
}
uint64_t list_pointer(int32_t offset, uint64_t size, uint64_t count) {
  return static_cast<uint32_t>(offset << 2) | 1u | size << 32 | count << 35;
}

// The message of `read`, or "" when it does not throw.
template <class F>
std::string error(const std::vector<uint64_t>& words, F&& read) {
  const auto bytes = bytes_of(words);
  try {
    Message message(bytes, "test");
    read(Struct(message));
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::data_loss);
    return e.message();
  }
  return "";
}

TEST(CapnpMessage, EveryKindOfFieldRoundTrips) {
  StructBuilder out;
  out.set<uint8_t>(3, 200);
  out.set<int32_t>(4, -5);
  out.set<uint64_t>(16, std::numeric_limits<uint64_t>::max());
  out.set_bit(65, true);
  out.set_bit(66, false);
  out.set_text(0, "text");
  out.set_numbers(1, std::vector<uint32_t>{1, 2, 3});
  out.set_numbers(2, std::vector<int64_t>{-1});
  out.set_numbers(3, std::vector<float>{0.5f, -2.0f});
  const std::string texts[] = {"", "a", "bcdefghijkl"};
  out.set_texts(4, texts);
  out.init_struct(6).set<uint32_t>(0, 7);
  auto& list = out.init_structs(7, 3);
  list[1].set<uint32_t>(12, 9);
  list[2].set_text(1, "last");

  const auto bytes = out.canonical_bytes();
  Message message(bytes, "test");
  const Struct in(message);
  EXPECT_EQ(in.get<uint8_t>(3), 200);
  EXPECT_EQ(in.get<int32_t>(4), -5);
  EXPECT_EQ(in.get<uint64_t>(16), std::numeric_limits<uint64_t>::max());
  EXPECT_TRUE(in.get_bit(65));
  EXPECT_FALSE(in.get_bit(66));
  EXPECT_EQ(in.text(0), "text");
  EXPECT_EQ(in.numbers<uint32_t>(1), (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(in.numbers<int64_t>(2), std::vector<int64_t>{-1});
  EXPECT_EQ(in.numbers<float>(3), (std::vector<float>{0.5f, -2.0f}));
  EXPECT_EQ(in.texts(4), (std::vector<std::string>{"", "a", "bcdefghijkl"}));
  EXPECT_EQ(in.text(5), "");
  EXPECT_EQ(in.structure(6).get<uint32_t>(0), 7u);
  const Structs structs = in.structs(7);
  ASSERT_EQ(structs.size(), 3u);
  EXPECT_EQ(structs[0].get<uint32_t>(12), 0u);
  EXPECT_EQ(structs[1].get<uint32_t>(12), 9u);
  EXPECT_EQ(structs[1].text(1), "");
  EXPECT_EQ(structs[2].text(1), "last");
}

TEST(CapnpMessage, FieldsThatTheWriterDidNotKnowAreEmpty) {
  StructBuilder out;
  out.set<uint32_t>(0, 1);
  const auto bytes = out.canonical_bytes();
  EXPECT_EQ(bytes.size(), 16u);
  Message message(bytes, "test");
  const Struct in(message);
  EXPECT_EQ(in.get<uint64_t>(8), 0u);
  EXPECT_EQ(in.get<uint64_t>(4), 0u);  // half outside
  EXPECT_EQ(in.text(0), "");
  EXPECT_TRUE(in.numbers<float>(5).empty());
  EXPECT_TRUE(in.texts(5).empty());
  EXPECT_EQ(in.structs(5).size(), 0u);
  EXPECT_EQ(in.structure(5).structure(1).get<uint32_t>(0), 0u);
}

// The word after a struct without pointers is not one of its pointers.
TEST(CapnpMessage, WordsAfterAStructAreNoPointersOfIt) {
  const auto with = [](uint64_t next) {
    return std::vector<uint64_t>{struct_pointer(0, 1, 0), 7, next, struct_pointer(1, 1, 0), 'a'};
  };
  EXPECT_EQ(error(with(list_pointer(0, 7, 1)),
                  [](const Struct& s) { EXPECT_EQ(s.structs(0).size(), 0u); }),
            "");
  EXPECT_EQ(error(with(list_pointer(1, 2, 2)), [](const Struct& s) { EXPECT_EQ(s.text(0), ""); }),
            "");
  EXPECT_EQ(error(with(list_pointer(1, 5, 1)),
                  [](const Struct& s) { EXPECT_TRUE(s.numbers<int64_t>(0).empty()); }),
            "");
  EXPECT_EQ(
      error(with(list_pointer(1, 6, 1)), [](const Struct& s) { EXPECT_TRUE(s.texts(0).empty()); }),
      "");
  EXPECT_EQ(error(with(struct_pointer(1, 1, 0)),
                  [](const Struct& s) { EXPECT_EQ(s.structure(0).get<uint64_t>(0), 0u); }),
            "");
}

TEST(CapnpMessage, ExampleOfTheEncoding) {
  // One word of data and one pointer, to the text "Hi".
  StructBuilder out;
  out.set_text(0, "Hi");
  out.set<uint16_t>(0, 123);
  EXPECT_EQ(out.canonical_bytes(),
            bytes_of({struct_pointer(0, 1, 1), 123, list_pointer(0, 2, 3), 0x6948}));
  EXPECT_EQ(StructBuilder().canonical_bytes(), bytes_of({0xfffffffc}));
}

TEST(CapnpMessage, PointersOutsideAreRefused) {
  const auto text = [](const Struct& s) { (void)s.text(0); };
  EXPECT_NE(error({struct_pointer(0, 2, 0)}, text), "");
  EXPECT_NE(error({struct_pointer(-2, 0, 1)}, text), "");
  EXPECT_NE(error({struct_pointer(std::numeric_limits<int32_t>::max() >> 2, 1, 1)}, text), "");
  const uint64_t root = struct_pointer(0, 0, 1);
  EXPECT_NE(error({root, list_pointer(0, 2, 9), 0}, text), "");
  EXPECT_NE(error({root, list_pointer(1, 2, 1), 0}, text), "");
  EXPECT_NE(error({root, list_pointer(-3, 2, 1), 0}, text), "");
  EXPECT_NE(error({root, list_pointer(0, 5, (1u << 29) - 1), 0}, text), "");
  EXPECT_EQ(error({root, list_pointer(0, 2, 1), 0}, text), "");
}

TEST(CapnpMessage, OtherTypesAreRefused) {
  const uint64_t root = struct_pointer(0, 0, 1);
  const auto text = [](const Struct& s) { (void)s.text(0); };
  const auto numbers = [](const Struct& s) { (void)s.numbers<float>(0); };
  const auto structs = [](const Struct& s) { (void)s.structs(0); };
  const auto structure = [](const Struct& s) { (void)s.structure(0); };
  const auto texts = [](const Struct& s) { (void)s.texts(0); };
  EXPECT_NE(error({root, list_pointer(0, 2, 1), 'x'}, text), "");  // no zero at the end
  EXPECT_NE(error({root, list_pointer(0, 2, 0)}, text), "");
  EXPECT_NE(error({root, struct_pointer(0, 1, 0), 0}, text), "");
  EXPECT_NE(error({root, list_pointer(0, 5, 1), 0}, numbers), "");
  EXPECT_NE(error({root, list_pointer(0, 4, 1), 0}, structs), "");
  EXPECT_NE(error({root, list_pointer(0, 4, 1), 0}, structure), "");
  EXPECT_NE(error({root, list_pointer(0, 4, 1), 0}, texts), "");
  EXPECT_NE(error({root, 2}, text), "");       // a far pointer
  EXPECT_NE(error({root, 3}, structure), "");  // a capability
  // The elements of a list of structs do not fit in it, or its tag is not a tag.
  EXPECT_NE(error({root, list_pointer(0, 7, 1), struct_pointer(2, 1, 0), 0}, structs), "");
  EXPECT_NE(error({root, list_pointer(0, 7, 1), list_pointer(1, 1, 0), 0}, structs), "");
  EXPECT_EQ(error({root, list_pointer(0, 7, 1), struct_pointer(1, 1, 0), 0}, structs), "");
}

TEST(CapnpMessage, RefusesSizesThatAreNotWholeWords) {
  const std::vector<std::byte> bytes(17);
  for (const size_t n : {0, 1, 7, 9, 17})
    EXPECT_THROW(Message(std::span(bytes).first(n), "test"), Error) << n;
}

TEST(CapnpMessage, AmplificationIsBounded) {
  // A thousand pointers to one text of 8 KiB.
  std::vector<uint64_t> words = {struct_pointer(0, 0, 1), list_pointer(0, 6, 1000)};
  for (int i = 0; i < 1000; i++) words.push_back(list_pointer(999 - i, 2, 8192));
  words.resize(words.size() + 1024);
  EXPECT_NE(error(words, [](const Struct& s) { (void)s.texts(0); }).find("more than once"),
            std::string::npos);
  // Elements that take no bytes.
  const std::vector<uint64_t> empty = {struct_pointer(0, 0, 1), list_pointer(0, 7, 0),
                                       struct_pointer((1 << 29) - 1, 0, 0)};
  EXPECT_NE(error(empty, [](const Struct& s) { (void)s.structs(0); }), "");
}

TEST(CapnpMessage, NestingIsBounded) {
  // A struct that is its own child.
  const std::vector<uint64_t> words = {struct_pointer(-1, 0, 1)};
  std::string message;
  int depth = 0;
  message = error(words, [&](Struct s) {
    for (; depth < 1000; depth++) s = s.structure(0);
  });
  EXPECT_NE(message.find("deep"), std::string::npos) << message;
  EXPECT_LT(depth, 20);
}

TEST(CapnpMessage, MutationsNeverReadOutside) {
  std::mt19937 random(5);
  StructBuilder out;
  out.set_text(0, "name");
  out.set_numbers(1, std::vector<int64_t>{1, 2, 3});
  auto& list = out.init_structs(2, 4);
  for (auto& s : list) {
    s.set_text(0, "element");
    s.init_struct(1).set_numbers(0, std::vector<float>{1});
  }
  const std::string texts[] = {"a", "b"};
  out.set_texts(3, texts);
  const auto good = out.canonical_bytes();
  int accepted = 0;
  for (int round = 0; round < 20000; round++) {
    auto bytes = good;  // on the heap, so that AddressSanitizer notices an access outside
    for (unsigned k = 0; k <= random() % 3; k++)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    try {
      Message message(bytes, "test");
      const Struct in(message);
      (void)in.text(0);
      (void)in.numbers<int64_t>(1);
      const Structs structs = in.structs(2);
      for (size_t i = 0; i < structs.size(); i++) {
        (void)structs[i].text(0);
        (void)structs[i].structure(1).numbers<float>(0);
      }
      (void)in.texts(3);
      accepted++;
    } catch (const Error& e) {
      ASSERT_EQ(e.code(), ErrorCode::data_loss);
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 20000);
}

TEST(CapnpMessage, ErrorsStateTheCauseAndTheWord) {
  const uint64_t root = struct_pointer(0, 0, 1);
  const auto nothing = [](const Struct&) {};
  const auto text = [](const Struct& s) { (void)s.text(0); };
  const auto numbers = [](const Struct& s) { (void)s.numbers<float>(0); };
  const auto longs = [](const Struct& s) { (void)s.numbers<int64_t>(0); };
  const auto structs = [](const Struct& s) { (void)s.structs(0); };
  const auto structure = [](const Struct& s) { (void)s.structure(0); };
  const auto texts = [](const Struct& s) { (void)s.texts(0); };
  EXPECT_EQ(error({1}, nothing), "test: expected a struct at word 0, found pointer 0x1");
  EXPECT_EQ(error({struct_pointer(0, 1, 0)}, nothing), "test: the struct of word 0 lies outside");
  EXPECT_EQ(error({root, list_pointer(0, 2, 9), 0}, text), "test: the list of word 1 lies outside");
  EXPECT_EQ(error({root, struct_pointer(0, 1, 0), 0}, text),
            "test: expected a list at word 1, found pointer 0x100000000");
  EXPECT_EQ(error({root, list_pointer(0, 2, 1), 'x'}, text),
            "test: the list of word 1 is not a text");
  EXPECT_EQ(error({root, list_pointer(0, 4, 1), 0}, texts),
            "test: the list of word 1 is not one of texts");
  EXPECT_EQ(error({root, list_pointer(0, 5, 1), 0}, numbers),
            "test: the list of word 1 has elements of 64 bits, expected 32");
  EXPECT_EQ(error({root, list_pointer(0, 4, 1), 0}, longs),
            "test: the list of word 1 has elements of 32 bits, expected 64");
  EXPECT_EQ(error({root, list_pointer(0, 4, 1), 0}, structs),
            "test: the list of word 1 is not one of structs");
  EXPECT_EQ(error({root, list_pointer(0, 7, 1), struct_pointer(2, 1, 0), 0}, structs),
            "test: the list of word 1 is longer than its bytes");
  EXPECT_EQ(error({root, list_pointer(0, 4, 1), 0}, structure),
            "test: expected a struct at word 1, found pointer 0xc00000001");
  try {
    const std::vector<std::byte> bytes(17);
    Message(bytes, "test");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "test: 17 bytes is not a whole number of 8-byte words");
  }
}

TEST(CapnpMessage, AcceptsObjectsThatEndWithTheMessage) {
  const uint64_t root = struct_pointer(0, 0, 1);
  const auto nothing = [](const Struct&) {};
  const auto text = [](const Struct& s) { (void)s.text(0); };
  const auto structs = [](const Struct& s) { (void)s.structs(0); };
  EXPECT_EQ(error({struct_pointer(0, 0, 0)}, nothing), "") << "no words, after the last one";
  EXPECT_NE(error({struct_pointer(1, 0, 0)}, nothing), "");
  EXPECT_EQ(error({struct_pointer(-1, 0, 1)}, nothing), "") << "at word 0";
  EXPECT_NE(error({struct_pointer(-2, 0, 0)}, nothing), "");
  EXPECT_EQ(error({struct_pointer(0, 1, 1), 0, 0}, nothing), "");
  EXPECT_NE(error({struct_pointer(0, 1, 2), 0, 0}, nothing), "");
  // Eight bytes take one word, nine bytes take two.
  EXPECT_EQ(error({root, list_pointer(0, 2, 8), 0}, text), "");
  EXPECT_NE(error({root, list_pointer(0, 2, 9), 0}, text), "");
  EXPECT_EQ(error({root, list_pointer(0, 2, 9), 0, 0}, text), "");
  // A list of no bytes may be after the last word.
  EXPECT_EQ(error({root, list_pointer(0, 4, 0)},
                  [](const Struct& s) {
                    EXPECT_TRUE(s.numbers<float>(0).empty());
                    EXPECT_TRUE(s.texts(0).empty());
                    EXPECT_EQ(s.structs(0).size(), 0u);
                  }),
            "");
  EXPECT_NE(error({root, list_pointer(1, 4, 0)}, structs), "");
  // A list of structs begins with a word that its count does not include.
  EXPECT_EQ(error({root, list_pointer(0, 7, 0), 0}, structs), "");
  EXPECT_NE(error({root, list_pointer(0, 7, 0)}, structs), "");
  EXPECT_NE(error({root, list_pointer(0, 7, 1), struct_pointer(1, 1, 0)}, structs), "");
  EXPECT_EQ(error({root, list_pointer(0, 7, 2), struct_pointer(1, 1, 0), 0, 0},
                  [](const Struct& s) { EXPECT_EQ(s.structs(0).size(), 1u); }),
            "")
      << "fewer than there is room for";
}

// A reader may traverse twice the words of the message plus 1024.
TEST(CapnpMessage, TheBudgetMayBeSpentToTheLast) {
  const auto structs = [](const Struct& s) { (void)s.structs(0); };
  // The message has three words; reading the root and the list uses one each.
  const auto empty = [&](int32_t count) {
    return error({struct_pointer(0, 0, 1), list_pointer(0, 7, 0), struct_pointer(count, 0, 0)},
                 structs);
  };
  EXPECT_EQ(empty(3 * 2 + 1024 - 2), "");
  EXPECT_EQ(empty(3 * 2 + 1024 - 1), "test: too much of the message is there more than once");
}

TEST(CapnpMessage, SixteenLevelsAreTaken) {
  // A struct that is its own child, and a list of such.
  int depth = 1;
  EXPECT_EQ(error({struct_pointer(-1, 0, 1)},
                  [&](Struct s) {
                    for (; depth < 100; depth++) s = s.structure(0);
                  }),
            "test: nested more than 16 deep");
  EXPECT_EQ(depth, 16);
  depth = 1;
  const std::vector<uint64_t> lists = {struct_pointer(0, 0, 1), list_pointer(0, 7, 1),
                                       struct_pointer(1, 0, 1), list_pointer(-2, 7, 1)};
  EXPECT_EQ(error(lists,
                  [&](Struct s) {
                    for (; depth < 100; depth++) s = s.structs(0)[0];
                  }),
            "test: the list of word 3 is nested too deep");
  EXPECT_EQ(depth, 16);
}

// Equal messages have equal bytes, because zeros at the end of data or pointers are not stored.
TEST(CapnpMessage, CanonicalFormOmitsTrailingZeros) {
  StructBuilder zeros;
  zeros.set<uint32_t>(12, 0);
  zeros.set_bit(200, false);
  EXPECT_EQ(zeros.canonical_bytes(), StructBuilder().canonical_bytes());
  StructBuilder later;
  later.set<uint64_t>(8, 5);
  later.set<uint64_t>(24, 0);
  EXPECT_EQ(later.canonical_bytes(), bytes_of({struct_pointer(0, 2, 0), 0, 5}));
  StructBuilder pointers;
  pointers.set_text(2, "");
  EXPECT_EQ(pointers.canonical_bytes(),
            bytes_of({struct_pointer(0, 0, 3), 0, 0, list_pointer(0, 2, 1), 0}));
}

TEST(CapnpMessage, CanonicalBytesOfLists) {
  StructBuilder out;
  auto& list = out.init_structs(0, 3);
  list[0].set<uint64_t>(0, 7);
  list[1].set_text(0, "a");
  list[1].set<uint64_t>(8, 0);  // the second word is left out, because it is zero in all structs
  const std::string texts[] = {"b", "12345678"};
  out.set_texts(1, texts);
  out.init_struct(2);
  // Three pointers; a tag and three structs of two words; "a"; two texts; a struct without words.
  EXPECT_EQ(out.canonical_bytes(),
            bytes_of({struct_pointer(0, 0, 3), list_pointer(2, 7, 6), list_pointer(9, 6, 2),
                      struct_pointer(-1, 0, 0), struct_pointer(3, 1, 1), 7, 0, 0,
                      list_pointer(2, 2, 2), 0, 0, 'a', list_pointer(1, 2, 2),
                      list_pointer(1, 2, 9), 'b', 0x3837363534333231, 0}));
  out.init_structs(0, 0);
  out.set_numbers(1, std::vector<int32_t>{});
  EXPECT_EQ(out.canonical_bytes(),
            bytes_of({struct_pointer(0, 0, 3), list_pointer(2, 7, 0), list_pointer(2, 4, 0),
                      struct_pointer(-1, 0, 0), struct_pointer(0, 0, 0)}));
}

TEST(CapnpMessage, FieldsDependOnlyOnTheirBytes) {
  StructBuilder out;
  out.set<uint8_t>(7, 1);
  out.set<uint16_t>(8, 0xffff);
  out.set_bit(127, true);
  const auto bytes = out.canonical_bytes();
  Message message(bytes, "test");
  const Struct in(message);
  EXPECT_EQ(in.get<uint64_t>(0), uint64_t{1} << 56);
  EXPECT_EQ(in.get<uint64_t>(8), 0x800000000000ffffu);
  EXPECT_EQ(in.get<uint32_t>(12), 0x80000000u) << "the last that is inside";
  EXPECT_EQ(in.get<uint32_t>(16), 0u);
  EXPECT_EQ(in.get<uint64_t>(12), 0u) << "half outside";
  EXPECT_FALSE(in.get_bit(126));
  EXPECT_TRUE(in.get_bit(127));
  EXPECT_FALSE(in.get_bit(128));
}

}  // namespace
}  // namespace poprt::capnp_message
