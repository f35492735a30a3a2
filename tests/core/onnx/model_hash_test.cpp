#include "onnx/model_hash.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "codecs/sha256.h"

namespace poprt::onnx {
namespace {

namespace fs = std::filesystem;
namespace pb = ::onnx;

class ModelHash : public ::testing::Test {
 protected:
  ModelHash() {
    folder = fs::path(::testing::TempDir()) /
             fmt::format("model_hash_{}_{}", ::getpid(),
                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder);
  }
  ~ModelHash() override { fs::remove_all(folder); }

  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
  }
  static void externalize(pb::TensorProto& t, const std::string& location) {
    t.set_data_location(pb::TensorProto::EXTERNAL);
    auto* e = t.add_external_data();
    e->set_key("location");
    e->set_value(location);
  }

  fs::path folder;
};

TEST_F(ModelHash, CountsTheModelAndEveryExternalFile) {
  pb::ModelProto model;
  model.set_ir_version(8);
  pb::GraphProto& graph = *model.mutable_graph();
  externalize(*graph.add_initializer(), "a.bin");
  pb::NodeProto& node = *graph.add_node();
  externalize(*node.add_attribute()->mutable_t(), "b.bin");
  pb::GraphProto& body = *node.add_attribute()->mutable_g();
  externalize(*body.add_sparse_initializer()->mutable_values(), "c.bin");
  externalize(*model.add_functions()->add_node()->add_attribute()->add_tensors(), "d.bin");
  for (const char* name : {"a.bin", "b.bin", "c.bin", "d.bin"}) write(name, name);
  write("m.onnx", model.SerializeAsString());

  const std::string first = hash_file(folder / "m.onnx");
  EXPECT_EQ(first.size(), 64u);
  EXPECT_EQ(hash_file(folder / "m.onnx"), first);
  const std::string bytes = model.SerializeAsString();
  EXPECT_EQ(hash_bytes(std::as_bytes(std::span(bytes)), folder), first);
  for (const char* name : {"a.bin", "b.bin", "c.bin", "d.bin"}) {
    write(name, "changed");
    EXPECT_NE(hash_file(folder / "m.onnx"), first) << name;
    write(name, name);
  }
  EXPECT_EQ(hash_file(folder / "m.onnx"), first);
  model.set_producer_name("x");
  write("m.onnx", model.SerializeAsString());
  EXPECT_NE(hash_file(folder / "m.onnx"), first);
}

// A process that maps a truncated file and reads it receives SIGBUS. With `copy`, it is an error.
TEST_F(ModelHash, AFileThatIsTruncatedMeanwhileIsAnErrorIfItIsCopied) {
  pb::ModelProto model;
  externalize(*model.mutable_graph()->add_initializer(), "a.bin");
  write("a.bin", std::string(3 << 20, 'a'));
  write("m.onnx", model.SerializeAsString());
  const auto mapped = open_model_files(folder / "m.onnx"),
             safe = open_model_files(folder / "m.onnx", false, true);
  EXPECT_FALSE(mapped.at(1).may_be_truncated);
  EXPECT_TRUE(safe.at(1).may_be_truncated);
  EXPECT_EQ(hash_of(safe), hash_of(mapped));
  EXPECT_EQ(copy_of(safe[0]), model.SerializeAsString());
  EXPECT_EQ(copy_of(safe[1]), copy_of(mapped[1]));

  std::filesystem::resize_file(folder / "a.bin", 1 << 20);
  std::filesystem::resize_file(folder / "m.onnx", 0);
  const auto code = [](auto&& call) {
    try {
      call();
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::ok;
  };
  EXPECT_EQ(code([&] { hash_of(safe); }), ErrorCode::data_loss);
  EXPECT_EQ(code([&] { copy_of(safe[1]); }), ErrorCode::data_loss);
  EXPECT_EQ(copy_of(safe[0]), model.SerializeAsString());
}

// The hash reads the model with system calls.
TEST_F(ModelHash, AModelThatIsTruncatedMeanwhileIsAnError) {
  pb::ModelProto model;
  model.mutable_graph()->add_initializer()->set_raw_data(std::string(3 << 20, 'a'));
  write("m.onnx", model.SerializeAsString());
  const auto files = open_model_files(folder / "m.onnx");
  EXPECT_EQ(hash_of(files), Sha256().add_sized(model.SerializeAsString()).finish());
  fs::resize_file(folder / "m.onnx", 1 << 20);
  try {
    hash_of(files);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::data_loss);
  }
}

// The external data of a model whose large tensors are not parsed.
TEST_F(ModelHash, FindsFilesOfAModelWithLargeTensors) {
  pb::ModelProto model;
  model.mutable_graph()->add_initializer()->set_raw_data(std::string(1 << 20, 'a'));
  externalize(*model.mutable_graph()->add_initializer(), "part");
  write("part", "bytes");
  const std::string bytes = model.SerializeAsString();
  const auto files = open_model_files(std::as_bytes(std::span(bytes)), folder);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1].location, "part");
}

// The model names a file at every place that may do so.
TEST_F(ModelHash, FindsFilesOfTensorsInAnyField) {
  const auto place = [](int i, pb::ModelProto& model) -> pb::TensorProto& {
    pb::GraphProto& graph = *model.mutable_graph();
    pb::AttributeProto* attribute = nullptr;
    if (i >= 3) attribute = graph.add_node()->add_attribute();
    switch (i) {
      case 0: return *graph.add_initializer();
      case 1: return *graph.add_sparse_initializer()->mutable_values();
      case 2: return *graph.add_sparse_initializer()->mutable_indices();
      case 3: return *attribute->mutable_t();
      case 4: return *attribute->mutable_sparse_tensor()->mutable_values();
      case 5: return *attribute->mutable_sparse_tensor()->mutable_indices();
      case 6: return *attribute->mutable_g()->add_initializer();
      case 7: return *attribute->add_tensors();
      case 8: return *attribute->add_sparse_tensors()->mutable_values();
      case 9: return *attribute->add_sparse_tensors()->mutable_indices();
      case 10: return *attribute->add_graphs()->add_initializer();
      case 11: return *attribute->mutable_g()->add_node()->add_attribute()->mutable_t();
      default:
        return *model.add_functions()
                    ->add_node()
                    ->add_attribute()
                    ->mutable_sparse_tensor()
                    ->mutable_values();
    }
  };
  write("part", "bytes");
  for (int i = 0; i <= 12; i++) {
    pb::ModelProto model;
    externalize(place(i, model), "part");
    const std::string bytes = model.SerializeAsString();
    const auto files = open_model_files(std::as_bytes(std::span(bytes)), folder);
    ASSERT_EQ(files.size(), 2u) << i;
    EXPECT_EQ(files[0].location, "");
    EXPECT_EQ(files[1].location, "part");
    EXPECT_EQ(files[1].bytes.size(), 5u);
  }
}

// The protobuf classes have no field for the default values of a function's attributes.
TEST_F(ModelHash, FindsFilesOfAttributeDefaults) {
  pb::ModelProto model;
  pb::AttributeProto value;
  externalize(*value.mutable_t(), "part");
  model.add_functions()->mutable_unknown_fields()->AddLengthDelimited(11,
                                                                      value.SerializeAsString());
  const std::string bytes = model.SerializeAsString();
  const auto hash = [&] { return hash_bytes(std::as_bytes(std::span(bytes)), folder); };
  write("part", "bytes");
  const std::string before = hash();
  write("part", "other");
  EXPECT_NE(hash(), before);
}

// Each file is hashed once, in the order of names, with its size.
TEST_F(ModelHash, IsThatOfFilesInTheirOrder) {
  const auto model_of = [](std::initializer_list<const char*> names) {
    pb::ModelProto model;
    for (const char* name : names) externalize(*model.mutable_graph()->add_initializer(), name);
    return model.SerializeAsString();
  };
  const std::string bytes = model_of({"b", "a", "b", "c"});
  for (const char* name : {"a", "b", "c"}) write(name, std::string("of ") + name);
  const auto files = open_model_files(std::as_bytes(std::span(bytes)), folder);
  ASSERT_EQ(files.size(), 4u);
  for (size_t i = 1; i < 4; i++) EXPECT_EQ(files[i].location, std::string(1, "abc"[i - 1]));
  const std::string whole = hash_of(files);
  write("a", "of ab");
  write("b", "");
  EXPECT_NE(hash_bytes(std::as_bytes(std::span(bytes)), folder), whole);
  const std::string one = "x";
  const std::vector<ModelFile> plain = {{"", std::as_bytes(std::span(one)), nullptr}};
  EXPECT_EQ(hash_of(plain), Sha256().add_sized(one).finish());
}

TEST_F(ModelHash, ErrorsMatchTheImport) {
  EXPECT_THROW(hash_file(folder / "none.onnx"), Error);
  pb::ModelProto model;
  externalize(*model.mutable_graph()->add_initializer(), "../outside");
  write("m.onnx", model.SerializeAsString());
  EXPECT_THROW(hash_file(folder / "m.onnx"), Error);
  const std::string bytes = model.SerializeAsString();
  EXPECT_THROW(hash_bytes(std::as_bytes(std::span(bytes))), Error);
}

TEST_F(ModelHash, LinksAreFollowedWhenTheyMayBe) {
  pb::ModelProto model;
  model.set_ir_version(8);
  externalize(*model.mutable_graph()->add_initializer(), "a.bin");
  write("real.bin", "bytes");
  fs::create_symlink("real.bin", folder / "a.bin");
  write("m.onnx", model.SerializeAsString());
  const std::string bytes = model.SerializeAsString();
  const auto span = std::as_bytes(std::span(bytes));
  EXPECT_THROW(hash_file(folder / "m.onnx"), Error);
  EXPECT_THROW(hash_bytes(span, folder), Error);
  EXPECT_THROW(open_model_files(folder / "m.onnx"), Error);
  EXPECT_THROW(open_model_files(span, folder), Error);
  EXPECT_EQ(hash_file(folder / "m.onnx", true), hash_bytes(span, folder, true));
  EXPECT_EQ(open_model_files(folder / "m.onnx", true).size(), 2u);
  EXPECT_EQ(open_model_files(span, folder, true).at(1).location, "a.bin");
}

// Only the parts that tensors use are read: the file below would need days and has no such bytes.
TEST_F(ModelHash, ReadsOnlyTheDataOfTensors) {
  constexpr uint64_t kTebibyte = uint64_t{1} << 40;
  pb::ModelProto model;
  const auto part = [&](uint64_t offset, uint64_t length) {
    auto& t = *model.mutable_graph()->add_initializer();
    externalize(t, "sparse");
    for (const auto& [key, value] : {std::pair("offset", offset), std::pair("length", length)}) {
      auto* e = t.add_external_data();
      e->set_key(key);
      e->set_value(std::to_string(value));
    }
  };
  part(kTebibyte - 4096 * 100, 8);
  part(uint64_t{1} << 35, 8);
  part(100, 20);
  write("sparse", "");
  fs::resize_file(folder / "sparse", kTebibyte);
  const auto put = [&](uint64_t at, const std::string& bytes) {
    std::fstream file(folder / "sparse", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file << bytes;
  };
  const std::string bytes = model.SerializeAsString();
  const auto hash = [&] { return hash_bytes(std::as_bytes(std::span(bytes)), folder); };
  const std::string first = hash();
  const auto files = open_model_files(std::as_bytes(std::span(bytes)), folder);
  ASSERT_EQ(files[1].parts.size(), 3u);
  EXPECT_EQ(files[1].parts[0].begin, 0u) << "a small gap belongs to the part";
  EXPECT_EQ(files[1].parts[0].end, 120u);
  EXPECT_EQ(files[1].parts[1].begin, uint64_t{1} << 35);
  put(uint64_t{1} << 36, "unused");
  EXPECT_EQ(hash(), first);
  put((uint64_t{1} << 35) + 7, "x");
  const std::string second = hash();
  EXPECT_NE(second, first);
  put(119, "x");
  EXPECT_NE(hash(), second);
}

// The hashes of earlier versions remain for files without large gaps.
TEST_F(ModelHash, AFileWithAlignedTensorsIsHashedAsAWhole) {
  pb::ModelProto model;
  const std::string data(3 * 4096, 'd');
  write("data", data);
  for (const int at : {0, 4096, 8192}) {
    auto& t = *model.mutable_graph()->add_initializer();
    externalize(t, "data");
    auto* e = t.add_external_data();
    e->set_key("offset");
    e->set_value(std::to_string(at));
    e = t.add_external_data();
    e->set_key("length");
    e->set_value("100");
  }
  const std::string bytes = model.SerializeAsString();
  EXPECT_EQ(hash_bytes(std::as_bytes(std::span(bytes)), folder),
            Sha256().add_sized(bytes).add_sized("data").add_sized(data).finish());
}

TEST_F(ModelHash, ReportsProgressAndIgnoresPieceBoundaries) {
  pb::ModelProto model;
  model.set_ir_version(8);
  externalize(*model.mutable_graph()->add_initializer(), "a.bin");
  const std::string bytes(2 * kHashPiece + 1000, 'x');
  write("a.bin", bytes);
  write("m.onnx", model.SerializeAsString());
  std::vector<double> progress;
  const auto files = open_model_files(folder / "m.onnx");
  const std::string found = hash_of(files, [&](double done) { progress.push_back(done); });
  ASSERT_EQ(progress.size(), 4u);  // the model, and three pieces
  EXPECT_TRUE(std::ranges::is_sorted(progress));
  EXPECT_NEAR(progress[1], 0.5, 0.01);
  EXPECT_EQ(progress.back(), 1);
  Sha256 whole;
  whole.add_sized(model.SerializeAsString()).add_sized("a.bin").add_sized(bytes);
  EXPECT_EQ(found, whole.finish());
}

TEST_F(ModelHash, EndsWithAnExceptionOfProgress) {
  pb::ModelProto model;
  model.set_ir_version(8);
  write("m.onnx", model.SerializeAsString());
  const auto files = open_model_files(folder / "m.onnx");
  EXPECT_THROW(hash_of(files, [](double) { fail(ErrorCode::cancelled, "enough"); }), Error);
}

}  // namespace
}  // namespace poprt::onnx
