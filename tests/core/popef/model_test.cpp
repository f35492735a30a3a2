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

TEST(Model, UserAnchorsAreThoseOfMainWithoutData) {
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
