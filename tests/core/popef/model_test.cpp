#include "popef/model.h"

#include <gtest/gtest.h>

#include "core/popef/support.h"
#include "popef/error.h"

namespace poprt::popef {
namespace {

struct Made {
  std::ostringstream out;
  Writer writer{out};
  std::shared_ptr<Reader> read() {
    writer.close();
    auto reader = std::make_shared<Reader>();
    parse(*reader, out.str());
    return reader;
  }
  void executable(const std::string& name) { writer.createExecutable(name)->stream << name; }
  void tensor(const std::string& name, const TensorInfo& info, char fill,
              const std::string& owner = {}) {
    const std::string data(info.sizeInBytes(), fill);
    writer.createTensorData({name, info}, owner)->write(data.data(), data.size());
  }
};

const TensorInfo kW(DataType::F16, {4});

std::vector<std::string> names(const std::vector<const Anchor*>& anchors) {
  std::vector<std::string> result;
  for (const Anchor* a : anchors) result.push_back(a->name());
  return result;
}

TEST(ModelBuilder, LinksEverythingByName) {
  Made made;
  write_sample(made.writer);
  made.writer.createOpaqueBlob("stranger", "someone else");
  const auto model = ModelBuilder(made.read()).createModel();
  EXPECT_EQ(model->metadata, sample_metadata());
  EXPECT_EQ(text_of(model->executable.payload()), "executable bytes of model");
  ASSERT_NE(model->findTensor("w"), nullptr);
  EXPECT_EQ(text_of(model->findTensor("w")->payload()), "12345678");
  ASSERT_NE(model->findFeed("x"), nullptr);
  EXPECT_EQ(model->findTensor("x"), nullptr);
  ASSERT_EQ(model->opaqueBlobs.size(), 1u);
  EXPECT_EQ(model->opaqueBlobs[0].name, "notes");
}

TEST(ModelBuilder, RefusesMismatchedDataEvenWithMatchingData) {
  const TensorInfo wrong(DataType::S32, {4});
  for (const bool wrong_first : {false, true}) {
    Made made;
    made.executable("a");
    Metadata m;
    m.setExecutable("a");
    m.anchors().emplace_back("w", "h2d_w", kW, TensorType::INPUT, Anchor::Programs{0});
    made.writer.write(m);
    made.tensor("w", wrong_first ? wrong : kW, '1');
    made.tensor("w", wrong_first ? kW : wrong, '2');
    const auto reader = made.read();
    EXPECT_THROW(ModelBuilder(reader).createModel(), FormatError);
  }
  // Data of another type may belong to another model.
  Made two;
  for (const auto& [name, info] : {std::pair("a", kW), std::pair("b", wrong)}) {
    two.executable(name);
    Metadata m;
    m.setExecutable(name);
    m.anchors().emplace_back("w", "h2d_w", info, TensorType::INPUT, Anchor::Programs{0});
    two.writer.write(m);
    two.tensor("w", info, *name);
  }
  const auto models = ModelBuilder(two.read()).createModels();
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(text_of(models[0]->findTensor("w")->payload()), "aaaaaaaa");
  EXPECT_EQ(models[1]->findTensor("w")->info.tensorInfo(), wrong);
}

TEST(ModelBuilder, OpaqueBlobsOfMissingExecutablesAreAWarning) {
  Made made;
  write_sample(made.writer);
  made.writer.createOpaqueBlob("stranger", "someone else");
  const ModelBuilder builder(made.read());
  builder.createModel();
  builder.createModel();
  ASSERT_EQ(builder.warnings().size(), 1u);
  EXPECT_NE(builder.warnings()[0].find("'stranger'"), std::string::npos);
  EXPECT_NE(builder.warnings()[0].find("'someone else', which was not read"), std::string::npos);
}

TEST(ModelBuilder, ModelOutlivesReaderAndBuilder) {
  std::shared_ptr<Model> model;
  {
    Made made;
    write_sample(made.writer);
    model = ModelBuilder(made.read()).createModel();
  }
  EXPECT_EQ(text_of(model->executable.payload()), "executable bytes of model");
}

TEST(ModelBuilder, MissingPiecesAreLinkErrors) {
  Made none;
  none.writer.createOpaqueBlob("o", "");
  EXPECT_THROW(ModelBuilder(none.read()).createModel(), LinkError);

  Made no_metadata;
  no_metadata.executable("a");
  EXPECT_THROW(ModelBuilder(no_metadata.read()).createModel(), LinkError);

  Made other_metadata;
  other_metadata.executable("a");
  other_metadata.writer.write(sample_metadata("b"));
  EXPECT_THROW(ModelBuilder(other_metadata.read()).createModel(), LinkError);

  Made twice;
  twice.executable("a");
  twice.writer.write(sample_metadata("a"));
  twice.writer.write(sample_metadata("a"));
  EXPECT_THROW(ModelBuilder(twice.read()).createModel(), LinkError);
}

// Each row: the content of a file, and a part of the error message.
TEST(ModelBuilder, ErrorMatrix) {
  const auto nothing = [](Made& m) { m.writer.createOpaqueBlob("o", ""); };
  const auto no_metadata = [](Made& m) { m.executable("a"); };
  const auto no_executable = [](Made& m) { m.writer.write(sample_metadata("a")); };
  const auto metadata_of_another = [](Made& m) {
    m.executable("a");
    m.writer.write(sample_metadata("b"));
  };
  const auto metadata_left_over = [](Made& m) {
    m.executable("a");
    m.writer.write(sample_metadata("a"));
    m.writer.write(sample_metadata("b"));
  };
  const auto metadata_twice = [](Made& m) {
    m.executable("a");
    m.writer.write(sample_metadata("a"));
    m.writer.write(sample_metadata("a"));
  };
  const auto two_executables = [](Made& m) {
    for (const char* name : {"a", "b"}) m.executable(name), m.writer.write(sample_metadata(name));
  };
  const auto misfit = [](Made& m) {
    m.executable("a");
    m.writer.write(sample_metadata("a"));
    m.tensor("w", TensorInfo(DataType::F32, {4}), '1');
  };
  const auto misfit_feed = [](Made& m) {
    m.executable("a");
    m.writer.write(sample_metadata("a"));
    m.writer.createFeedData({"x", TensorInfo(DataType::F32, {3, 2}), 1})
        ->write(random_bytes(24).data(), 24);
  };
  struct Row {
    void (*make)(Made&);
    const char* error_part;
  };
  for (const Row& row :
       {Row{nothing, "no executable was read"}, Row{no_metadata, "'a' has no metadata"},
        Row{no_executable, "no executable was read"},
        Row{metadata_of_another, "metadata for executable 'b', which was not read"},
        Row{metadata_left_over, "metadata for executable 'b', which was not read"},
        Row{metadata_twice, "'a' has metadata twice"},
        Row{two_executables, "2 executables were read, name the one to use: 'a' 'b'"},
        Row{misfit, "is F32[4], its anchor is F16[4]"},
        Row{misfit_feed, "is F32[3,2], its anchor is F32[2,3]"}}) {
    Made made;
    row.make(made);
    try {
      (void)ModelBuilder(made.read()).createModel();
      ADD_FAILURE() << "no error: " << row.error_part;
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find(row.error_part), std::string::npos) << e.what();
    }
  }
  Made left_over;
  metadata_left_over(left_over);
  EXPECT_EQ(ModelBuilder(left_over.read()).createModel("a")->executable.name, "a");
}

TEST(ModelBuilder, SeveralModelsDoNotMix) {
  Made made;
  write_sample(made.writer, "a");
  write_sample(made.writer, "b");
  made.tensor("w", kW, 'B', "b");
  const auto reader = made.read();
  const ModelBuilder builder(reader);
  EXPECT_THROW((void)builder.createModel(), LinkError);
  EXPECT_THROW((void)builder.createModel("c"), LinkError);
  EXPECT_EQ(text_of(builder.createModel("a")->findTensor("w")->payload()), "12345678");
  EXPECT_EQ(text_of(builder.createModel("b")->findTensor("w")->payload()), "BBBBBBBB");
  const auto models = builder.createModels();
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[1]->metadata.executable(), "b");
  EXPECT_EQ(models[1]->opaqueBlobs.size(), 1u);
}

TEST(ModelBuilder, LaterDataReplacesEarlierTiedBeatsUntied) {
  Made made;
  made.executable("model");
  made.writer.write(sample_metadata());
  made.tensor("w", kW, '1');
  made.tensor("w", kW, '2');
  auto reader = made.read();
  ModelBuilder builder(reader);
  EXPECT_EQ(text_of(builder.createModel()->findTensor("w")->payload()), "22222222");
  EXPECT_EQ(builder.createModel()->tensors.size(), 1u);
  EXPECT_FALSE(builder.warnings().empty());

  Made tied;
  tied.executable("model");
  tied.writer.write(sample_metadata());
  tied.tensor("w", kW, '1', "model");
  tied.tensor("w", kW, '2');
  EXPECT_EQ(text_of(ModelBuilder(tied.read()).createModel()->findTensor("w")->payload()),
            "11111111");
}

TEST(ModelBuilder, DataOfAnotherShapeIsAFormatError) {
  Made made;
  made.executable("model");
  made.writer.write(sample_metadata());
  made.tensor("w", TensorInfo(DataType::F16, {2, 2}), '1');
  EXPECT_THROW(ModelBuilder(made.read()).createModel(), FormatError);
}

TEST(ModelBuilder, DataWithoutAnchorIsAWarning) {
  Made made;
  made.executable("model");
  made.writer.write(sample_metadata());
  made.tensor("stranger", kW, '1');
  const ModelBuilder builder(made.read());
  EXPECT_TRUE(builder.createModel()->tensors.empty());
  ASSERT_EQ(builder.warnings().size(), 1u);
  EXPECT_NE(builder.warnings()[0].find("stranger"), std::string::npos);
}

TEST(Model, UserAnchorsAreAnchorsOfMainWithoutData) {
  Made made;
  made.executable("model");
  made.writer.write(sample_metadata());
  auto model = ModelBuilder(made.read()).createModel();
  EXPECT_EQ(names(model->getUserInputAnchors()), std::vector<std::string>{"x"});
  EXPECT_EQ(names(model->getUserOutputAnchors()), std::vector<std::string>{"y"});

  Made with_feed;
  write_sample(with_feed.writer);
  model = ModelBuilder(with_feed.read()).createModel();
  EXPECT_TRUE(model->getUserInputAnchors().empty());
}

}  // namespace
}  // namespace poprt::popef
