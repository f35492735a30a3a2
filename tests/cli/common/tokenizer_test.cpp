#include "common/tokenizer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "cli/command_line.h"
#include "common/abi.h"
#include "common/json.h"
#include "common/temporary_folder.h"
#include "common/text_stream.h"

namespace poprt::cli {
namespace {

namespace fs = std::filesystem;

const fs::path kTokenizers = fs::path(POPRT_TEST_DATA) / "generation" / "tokenizers";

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Skipped in builds without the library of sentencepiece.
class SentencePieceModel : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      tokenizer_ = open_sentencepiece(kTokenizers / (std::string(GetParam()) + ".model"));
    } catch (const Failure& e) {
#ifdef POPRT_HAS_TOKENIZER
      FAIL() << e.what();
#else
      ASSERT_NE(std::string(e.what()).find("libpoprt_tokenizer.so.1"), std::string::npos)
          << e.what();
      GTEST_SKIP() << e.what();
#endif
    }
    expected_ = read_json(kTokenizers / "expected.json")[GetParam()];
  }
  std::unique_ptr<Tokenizer> tokenizer_;
  nlohmann::json expected_;
};

TEST_P(SentencePieceModel, TokensAndTextsMatchSpm) {
  EXPECT_EQ(tokenizer_->size(), expected_["size"].get<int64_t>());
  for (const auto& text : expected_["texts"]) {
    const auto tokens = text["tokens"].get<std::vector<int64_t>>();
    EXPECT_EQ(tokenizer_->encode(text["text"].get<std::string>(), false), tokens);
    EXPECT_EQ(tokenizer_->decode(tokens), text["decoded"].get<std::string>());
    TextStream stream(*tokenizer_, {});
    std::string pieces;
    for (const int64_t token : tokens) pieces += stream.add(token);
    EXPECT_EQ(pieces + stream.finish(), text["decoded"].get<std::string>());
  }
}

TEST_P(SentencePieceModel, TokensThatItDoesNotHaveHaveNoText) {
  const std::vector<int64_t> tokens = {-1, int64_t{1} << 40, tokenizer_->size()};
  EXPECT_EQ(tokenizer_->decode(tokens), "");
  for (const int64_t token : tokens) EXPECT_EQ(tokenizer_->name(token), "");
  EXPECT_EQ(tokenizer_->name(1), "<s>");
  EXPECT_EQ(tokenizer_->name(tokenizer_->encode("the", false)[0]), " the");
}

TEST_P(SentencePieceModel, TheConfigurationSelectsSpecialTokens) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "tokenizer.model";
  fs::copy_file(kTokenizers / (std::string(GetParam()) + ".model"), file);
  const auto tokens = [&](const std::string& config) {
    write_file(folder.path() / "tokenizer_config.json", config);
    return open_sentencepiece(file)->encode("", true);
  };
  using Tokens = std::vector<int64_t>;
  EXPECT_EQ(tokenizer_->encode("", true), (Tokens{1}));
  EXPECT_EQ(tokens("{}"), (Tokens{1}));
  EXPECT_EQ(tokens(R"({"add_bos_token": false})"), (Tokens{}));
  EXPECT_EQ(tokens(R"({"add_bos_token": null, "add_eos_token": true})"), (Tokens{1, 2}));
  for (const char* wrong : {"[]", "{", R"({"add_bos_token": 1})"})
    EXPECT_NE(message_of<Failure>([&] { (void)tokens(wrong); }).find("tokenizer_config.json"),
              std::string::npos);
}

TEST_P(SentencePieceModel, DamagedFilesAreRefused) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "tokenizer.model";
  std::ifstream stream(kTokenizers / (std::string(GetParam()) + ".model"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  for (const std::string& wrong : {std::string("text"), bytes.substr(0, bytes.size() / 2),
                                   std::string(), std::string(1000, '\xff')}) {
    write_file(file, wrong);
    EXPECT_NE(message_of<Failure>([&] {
                (void)open_sentencepiece(file);
              }).find("is not a model of sentencepiece"),
              std::string::npos);
  }
  EXPECT_NE(message_of<Failure>([&] {
              (void)open_sentencepiece(folder.path() / "none");
            }).find("cannot be read"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Models, SentencePieceModel, testing::Values("words", "bytes"),
                         [](const auto& named) { return std::string(named.param); });

// Replaces PyPI's package tokenizers. Like that, it has a vocabulary whose ids have gaps, drops ids
// that it does not have, and takes only ids of 32 bits.
constexpr const char* kPackage = R"python(
IDS = {0: "a", 7: "b", 50: "c"}
def check(id):
    if not 0 <= id < 1 << 32:
        raise OverflowError("number does not fit in target type")
class Tokenizer:
    @staticmethod
    def from_file(path):
        return Tokenizer()
    def get_vocab_size(self, with_added_tokens):
        return len(IDS)
    def decode(self, ids, skip_special_tokens):
        for id in ids:
            check(id)
        return " ".join(IDS[id] for id in ids if id in IDS)
    def id_to_token(self, id):
        check(id)
        return IDS.get(id)
)python";

TEST(TokenizerJson, IdsMayExceedTheNumberOfTokens) {
  const TemporaryFolder folder;
  write_file(folder.path() / "tokenizers.py", kPackage);
  write_file(folder.path() / "tokenizer.json", "{}");
  ::setenv("PYTHONPATH", folder.path().c_str(), 1);
  const auto tokenizer = open_tokenizer_json(folder.path() / "tokenizer.json");
  ::unsetenv("PYTHONPATH");
  EXPECT_EQ(tokenizer->size(), 3);
  constexpr int64_t kOther = int64_t{1} << 32;
  EXPECT_EQ(tokenizer->decode(std::vector<int64_t>{0, 7, 50}), "a b c");
  EXPECT_EQ(tokenizer->decode(std::vector<int64_t>{-1, 50, 1, kOther - 1, kOther, INT64_MIN, 0}),
            "c a");
  EXPECT_EQ(tokenizer->name(50), "c");
  for (const int64_t token : {int64_t{-1}, int64_t{1}, kOther - 1, kOther, INT64_MIN})
    EXPECT_EQ(tokenizer->name(token), "") << token;
}

TEST(Tokenizer, FilesAreFoundByTheirNames) {
  const TemporaryFolder folder;
  EXPECT_EQ(find_tokenizer(folder.path(), true), "");
  write_file(folder.path() / "tokenizer.json", "{}");
  EXPECT_EQ(find_tokenizer(folder.path(), false), "");
  EXPECT_EQ(find_tokenizer(folder.path(), true), folder.path() / "tokenizer.json");
  write_file(folder.path() / "spiece.model", "");
  EXPECT_EQ(find_tokenizer(folder.path(), true), folder.path() / "spiece.model");
  write_file(folder.path() / "tokenizer.model", "");
  EXPECT_EQ(find_tokenizer(folder.path(), false), folder.path() / "tokenizer.model");
}

}  // namespace
}  // namespace poprt::cli
