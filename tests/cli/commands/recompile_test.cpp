#include "cli/commands/command_test.h"
#include "popef/model.h"
#include "popef/reader.h"
#include "popef/writer.h"

namespace poprt::cli::test {
namespace {

using popef::Metadata;

// Executables of one model with changes by a user.
class Recompile : public CommandTest {
 protected:
  Recompile() {
    onnx("net.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[1,2]
  const %w : f32[1,2] = [1.0, 2.0]
  %y : f32[1,2] = Mul(%x, %w)
  output %y
})");
  }
  static Ran recompile(std::vector<std::string> words) {
    words.insert(words.begin(), "recompile");
    return run_command(add_recompile, words);
  }
  static std::shared_ptr<popef::Model> model(const std::string& file) {
    const auto reader = std::make_shared<popef::Reader>();
    reader->parseFile(file);
    return popef::ModelBuilder(reader).createModel();
  }
  // Rewrites the file with other metadata, and with the blobs that `more` adds.
  static void rewrite(
      const std::string& file, const std::function<void(Metadata&)>& change,
      const std::function<void(popef::Writer&)>& more = [](popef::Writer&) {}) {
    const auto was = model(file);
    Metadata metadata = was->metadata;
    change(metadata);
    popef::FileWriter writer(file);
    writer.write(metadata);
    const auto copy = [](const popef::BlobData& from, popef::BlobWriter& to) {
      const popef::Payload payload = from.payload();
      to.write(payload.bytes.data(), payload.bytes.size());
      to.close();
    };
    copy(was->executable, *writer.createExecutable(metadata.executable()));
    for (const auto& t : was->tensors)
      copy(t, *writer.createTensorData(t.info, metadata.executable()));
    for (const auto& o : was->opaqueBlobs)
      copy(o, *writer.createOpaqueBlob(o.name, metadata.executable()));
    more(writer);
    writer.close();
  }
  static void options(Metadata& m, const std::function<void(std::vector<popef::Option>&)>& f) {
    std::vector<popef::Option> all = m.engineOptions();
    f(all);
    m.setEngineOptions(std::move(all));
  }
};

TEST_F(Recompile, KeepsMetadataThatAUserHasSet) {
  popef("a.popef", "net.onnx");
  rewrite("a.popef", [](Metadata& m) {
    m.setExecutable("mine");
    m.setSeedHandle("seed");
    m.setReplicationFactor(3);
    m.setDeviceIterations(7);
    m.setNumIpus(5);
    m.setNumProcesses(4);
    m.setIsPOD(!m.isPOD());
    m.setIsInference(!m.isInference());
    m.setDeviceOptions({{"gateway", "true"}});
  });
  const Metadata was = model("a.popef")->metadata;
  const Ran ran = recompile({"a.popef", "--force"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  const Metadata now = model("a.popef")->metadata;
  EXPECT_EQ(now.executable(), "mine");
  EXPECT_EQ(now.seedHandle(), "seed");
  EXPECT_EQ(now.replicationFactor(), 3);
  EXPECT_EQ(now.deviceIterations(), 7);
  EXPECT_EQ(now.numIpus(), 5);
  EXPECT_EQ(now.numProcesses(), 4);
  EXPECT_EQ(now.isPOD(), was.isPOD());
  EXPECT_EQ(now.isInference(), was.isInference());
  EXPECT_EQ(now.deviceOptions(), was.deviceOptions());
  EXPECT_EQ(now.engineOptions(), was.engineOptions());
}

// Changed inputs differ from those of the program: the file gets the new metadata.
TEST_F(Recompile, AnchorsOfTheNewProgramAreTaken) {
  popef("a.popef", "net.onnx");
  const auto anchors = model("a.popef")->metadata.anchors();
  rewrite("a.popef", [](Metadata& m) {
    auto changed = m.anchors();
    for (popef::Anchor& a : changed)
      if (a.name() == "x") a.setHandle("elsewhere");
    m.setAnchors(changed);
    m.setSeedHandle("seed");
    m.setDeviceOptions({{"gateway", "true"}});
  });
  const Ran ran = recompile({"a.popef", "--force"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err,
            "poprt_exec recompile: warning: inputs or outputs of 'a.popef' are not those of the "
            "new program; the file gets the new ones, without the changes that were made to its "
            "metadata\n");
  const Metadata now = model("a.popef")->metadata;
  EXPECT_EQ(now.anchors(), anchors);
  EXPECT_EQ(now.seedHandle(), "");
  EXPECT_EQ(now.deviceOptions(), (std::vector<popef::Option>{{"gateway", "true"}}));
}

// Blobs of the compiler are made again or removed; the others belong to the user.
TEST_F(Recompile, BlobsOfOthersStay) {
  popef("a.popef", "net.onnx");
  const auto add = [](popef::Writer& writer) {
    for (const char* name : {"mine", "poprt.old", "plugins", "class_labels/y", "class_label",
                             "onnx_metadata.mine", "poprt"})
      writer.createOpaqueBlob(name, "net")->stream << "bytes of " << name;
    const float feed[] = {1, 2, 3, 4};
    writer.createFeedData({"x", popef::TensorInfo(popef::DataType::F32, {1, 2}), 2}, "net")
        ->write(feed, sizeof feed);
  };
  rewrite("a.popef", [](Metadata& m) { m.setExecutable("net"); }, add);
  EXPECT_EQ(recompile({"a.popef", "--force"}).code, 0);
  const auto now = model("a.popef");
  std::vector<std::string> names;
  for (const auto& o : now->opaqueBlobs) {
    names.push_back(o.name);
    const popef::Payload payload = o.payload();
    const std::string text(reinterpret_cast<const char*>(payload.bytes.data()),
                           payload.bytes.size());
    if (o.name != "onnx_metadata" && o.name != "poprt.rows") EXPECT_EQ(text, "bytes of " + o.name);
  }
  std::ranges::sort(names);
  std::erase(names, "onnx_metadata");  // the compiler may make this one
  EXPECT_EQ(std::erase(names, "poprt.rows"), 1u);
  EXPECT_EQ(names,
            (std::vector<std::string>{"class_label", "mine", "onnx_metadata.mine", "poprt"}));
  ASSERT_EQ(now->feeds.size(), 1);
  EXPECT_EQ(now->feeds[0].info.numTensors(), 2);
  EXPECT_EQ(now->feeds[0].payload().bytes.size(), 16);
}

// Weights that a user has replaced in the file stay if their shape is unchanged.
TEST_F(Recompile, DataOfTheFileStays) {
  popef("a.popef", "net.onnx", {{"compiler_options", "constant_weights=False"}});
  const auto weight = [](const popef::Model& m, size_t i) {
    const popef::TensorReader* w = m.findTensor("w");
    EXPECT_NE(w, nullptr);
    const popef::Payload payload = w->payload();
    float value = 0;
    std::memcpy(&value, payload.bytes.data() + 4 * i, 4);
    return value;
  };
  EXPECT_EQ(weight(*model("a.popef"), 1), 2);
  {
    const auto was = model("a.popef");
    popef::FileWriter writer("a.popef", popef::FileWriter::Mode::APPEND);
    const float data[] = {8, 9};
    writer.createTensorData(was->findTensor("w")->info, was->metadata.executable())
        ->write(data, sizeof data);
    writer.close();
  }
  EXPECT_EQ(weight(*model("a.popef"), 1), 9);
  EXPECT_EQ(recompile({"a.popef", "--force"}).code, 0);
  EXPECT_EQ(weight(*model("a.popef"), 0), 8);
  EXPECT_EQ(weight(*model("a.popef"), 1), 9);
}

TEST_F(Recompile, KeepsAFileOfTheCurrentVersion) {
  popef("a.popef", "net.onnx");
  const std::string before = file_text("a.popef");
  const Ran ran = recompile({"a.popef"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(ran.out.starts_with("'a.popef' was compiled by poprt ")) << ran.out;
  EXPECT_TRUE(ran.out.ends_with(
      ", which is this version; it is not compiled again (give --force to compile it)\n"));
  const nlohmann::json json = recompile({"a.popef", "--json"}).json();
  EXPECT_EQ(json["recompiled"], false);
  EXPECT_EQ(json["file"], "a.popef");
  EXPECT_EQ(json["package_before"], json["package_after"]);
  EXPECT_EQ(json.size(), 4);
  EXPECT_EQ(file_text("a.popef"), before);
  // Another file is always written.
  EXPECT_EQ(recompile({"a.popef", "--output", "b.popef"}).code, 0);
  EXPECT_EQ(file_text("b.popef"), before);
}

TEST_F(Recompile, ReportsTheRecompilation) {
  popef("a.popef", "net.onnx", {{"strict", "True"}});
  const std::string before = file_text("a.popef");
  const Ran ran = recompile({"a.popef", "--force", "-o", "b.popef"});
  EXPECT_TRUE(ran.out.starts_with("b.popef: compiled again from 'net.onnx' (poprt ")) << ran.out;
  EXPECT_NE(ran.out.find(", before poprt "), std::string::npos) << ran.out;
  EXPECT_EQ(file_text("a.popef"), before);
  EXPECT_EQ(file_text("b.popef"), before);
  const Ran again = recompile({"a.popef", "--force", "-o", "c.popef", "--json"});
  EXPECT_EQ(again.code, 0);
  const nlohmann::json json = again.json();
  EXPECT_EQ(json["recompiled"], true);
  EXPECT_EQ(json["output"], "c.popef");
  EXPECT_EQ(json["bytes"], before.size());
  EXPECT_EQ(json["source"], "net.onnx");
  EXPECT_EQ(json["source_hash"].get<std::string>().size(), 64);
  EXPECT_EQ(json["options"][0],
            (nlohmann::json{{"name", model("a.popef")->metadata.engineOptions()[0].name()},
                            {"value", model("a.popef")->metadata.engineOptions()[0].value()}}));
}

TEST_F(Recompile, FindsTheSourceNextToTheFile) {
  popef("a.popef", "net.onnx");
  const std::string fresh = file_text("a.popef");
  std::filesystem::create_directory("sub");
  std::filesystem::rename("a.popef", "sub/a.popef");
  const Ran missing = recompile({"sub/a.popef", "--force"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("was compiled from 'net.onnx', which is neither embedded nor next to "
                             "it; give --source MODEL.onnx"),
            std::string::npos)
      << missing.err;
  std::filesystem::rename("net.onnx", "sub/net.onnx");
  EXPECT_EQ(recompile({"sub/a.popef", "--force", "--json"}).json()["source"], "sub/net.onnx");
  EXPECT_EQ(file_text("sub/a.popef"), fresh);
  // A path in the file is not trusted.
  rewrite("sub/a.popef", [](Metadata& m) {
    options(m, [](auto& all) {
      for (popef::Option& o : all)
        if (o.name() == "source") o = {"source", "../../elsewhere/net.onnx"};
    });
  });
  EXPECT_EQ(recompile({"sub/a.popef", "--force", "--json"}).json()["source"], "sub/net.onnx");
  // A source with another name is recorded under that name.
  std::filesystem::rename("sub/net.onnx", "other.onnx");
  EXPECT_EQ(recompile({"sub/a.popef", "--force", "--source", "other.onnx"}).code, 0);
  std::vector<std::string> names;
  const auto now = model("sub/a.popef");
  for (const popef::Option& o : now->metadata.engineOptions())
    if (o.name().starts_with("source")) names.push_back(o.name() + "=" + o.value());
  ASSERT_EQ(names.size(), 2);
  EXPECT_EQ(names[0], "source=other.onnx");
  EXPECT_TRUE(names[1].starts_with("source_hash="));
}

TEST_F(Recompile, FileThatNamesNoSource) {
  popef("a.popef", "net.onnx");
  rewrite("a.popef", [](Metadata& m) {
    options(m, [](auto& all) {
      std::erase_if(all, [](const popef::Option& o) { return o.name() == "source"; });
    });
  });
  const Ran ran = recompile({"a.popef", "--force"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err,
            "poprt_exec recompile: 'a.popef' neither contains its ONNX model nor records "
            "its path; give --source MODEL.onnx\n");
  onnx("wrong.onnx", R"(graph "g" opset {"": 17} {
  input %x : f32[1,2]
  %y : f32[1,2] = Neg(%x)
  output %y
})");
  const Ran wrong = recompile({"a.popef", "--force", "--source", "wrong.onnx"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_TRUE(
      wrong.err.starts_with("poprt_exec recompile: 'wrong.onnx' is not the source of "
                            "'a.popef': its hash is "))
      << wrong.err;
  EXPECT_NE(wrong.err.find(", expected the recorded hash "), std::string::npos) << wrong.err;
  EXPECT_EQ(recompile({"a.popef", "--force", "--source", "net.onnx"}).code, 0);
  // If the file records no hash, any model is accepted as source.
  rewrite("a.popef", [](Metadata& m) {
    options(m, [](auto& all) {
      std::erase_if(all, [](const popef::Option& o) { return o.name().starts_with("source"); });
    });
  });
  EXPECT_EQ(recompile({"a.popef", "--force", "--source", "wrong.onnx"}).code, 0);
}

TEST_F(Recompile, EmbeddedSourceIsUsedUnlessAnotherIsGiven) {
  popef("a.popef", "net.onnx", {{"embed_source", "True"}});
  const std::string fresh = file_text("a.popef");
  std::filesystem::rename("net.onnx", "moved.onnx");
  const Ran ran = recompile({"a.popef", "--force"});
  EXPECT_TRUE(ran.out.starts_with("a.popef: compiled again from its embedded source (poprt "))
      << ran.out << ran.err;
  EXPECT_EQ(file_text("a.popef"), fresh);
  EXPECT_EQ(recompile({"a.popef", "--force", "--json"}).json()["source"], "embedded");
  EXPECT_EQ(recompile({"a.popef", "--force", "--json", "--source", "moved.onnx"}).json()["source"],
            "moved.onnx");
}

// Names of embedded files with external data must not lead out of the folder.
TEST_F(Recompile, EmbeddedFilesStayInTheirFolder) {
  onnx::export_file(*ir::parse_text(R"(graph "g" opset {"": 17} {
  input %x : f32[1,2]
  const %w : f32[1,2] = [1.0, 2.0]
  %y : f32[1,2] = Mul(%x, %w)
  output %y
})"),
                    "out.onnx", {.external_data = true, .external_threshold = 1});
  popef("a.popef", "out.onnx", {{"embed_source", "True"}});
  const std::string good = file_text("a.popef");
  EXPECT_EQ(recompile({"a.popef", "--force"}).code, 0);
  EXPECT_EQ(file_text("a.popef"), good);
  for (const char* location : {"/ut.onnx.data", "../.onnx.data", "a/../nx.data1", "", "."}) {
    write("a.popef", good);
    popef::FileWriter writer("a.popef", popef::FileWriter::Mode::APPEND);
    writer.createOpaqueBlob(std::string("poprt.source/") + location,
                            model("a.popef")->metadata.executable())
            ->stream
        << "data";
    writer.close();
    const Ran ran = recompile({"a.popef", "--force"});
    EXPECT_EQ(ran.code, 1) << location;
    if (location != std::string("."))
      EXPECT_NE(ran.err.find(std::string("the embedded source has a file '") + location +
                             "' outside its folder"),
                std::string::npos)
          << ran.err;
  }
}

TEST_F(Recompile, RefusesMoreThanOneExecutable) {
  popef("a.popef", "net.onnx");
  write("two.popef", file_text("a.popef"));
  rewrite("two.popef", [](Metadata& m) { m.setExecutable("second"); });
  write("both.popef", file_text("a.popef") + file_text("two.popef"));
  const Ran ran = recompile({"both.popef", "--force"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find(
                "'both.popef' contains 2 executables; only a file with one can be compiled again"),
            std::string::npos)
      << ran.err;
}

}  // namespace
}  // namespace poprt::cli::test
