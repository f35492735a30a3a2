#include "onnx/tensor_io.h"

#include <sys/mman.h>

#include "onnx/elem_type.h"
#include "support.h"

namespace poprt::onnx {
namespace {

TEST(TensorFile, RoundTripsEveryType) {
  const TemporaryDirectory dir;
  for (int32_t type = 1; type <= 26; type++) {
    if (type == 24) continue;
    const DType dtype = dtype_from_elem_type(type);
    EXPECT_EQ(elem_type_from_dtype(dtype), type);
    Tensor t = dtype == DType::string ? Tensor::strings({5}, {"a", "", "c", "d", "e"})
                                      : Tensor::zeros(dtype, {5});
    for (uint64_t i = 0; i < t.bytes(); i++)
      static_cast<uint8_t*>(t.mutable_data())[i] = static_cast<uint8_t>(i % 2);
    write_tensor_pb(dir / "t.pb", "name", t);
    std::string name;
    EXPECT_TRUE(read_tensor_pb(dir / "t.pb", &name).same_as(t)) << dtype_name(dtype);
    EXPECT_EQ(name, "name");
  }
}

TEST(TensorFile, RefusesOtherFiles) {
  const TemporaryDirectory dir;
  expect_error(ErrorCode::not_found, {"none.pb"}, [&] { read_tensor_pb(dir / "none.pb"); });
  write_file(dir / "empty.pb", "");
  expect_error(ErrorCode::invalid_argument, {"empty.pb", "empty"},
               [&] { read_tensor_pb(dir / "empty.pb"); });
  write_file(dir / "text.pb", "hello world, this is text");
  EXPECT_THROW(read_tensor_pb(dir / "text.pb"), Error);
  // SequenceProto: elem_type 2 = TENSOR, tensor_values 3.
  pb::TensorProto element;
  element.set_data_type(pb::TensorProto::FLOAT);
  element.add_dims(1);
  element.set_raw_data("abcd");
  const std::string inner = element.SerializeAsString();
  write_file(dir / "sequence.pb",
             std::string("\x10\x01\x1a", 3) + static_cast<char>(inner.size()) + inner);
  expect_error(ErrorCode::unimplemented, {"sequence.pb", "sequence"},
               [&] { read_tensor_pb(dir / "sequence.pb"); });
  expect_error(ErrorCode::unimplemented, {"f8_143"},
               [&] { write_tensor_pb(dir / "q.pb", "q", Tensor::zeros(DType::f8_143, {1})); });
  EXPECT_FALSE(std::filesystem::exists(dir / "q.pb"));
}

TEST(TensorFile, SurvivesMutations) {
  const TemporaryDirectory dir;
  pb::TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(1);
  proto.add_dims(3);
  for (int i = 0; i < 3; i++) proto.add_float_data(1);
  const std::string whole = proto.SerializeAsString();
  for (size_t n = 0; n < whole.size(); n++)
    for (const int x : {0, 0x01, 0x80, 0xff}) {
      std::string bytes = x ? whole : whole.substr(0, n);
      if (x) bytes[n] = static_cast<char>(bytes[n] ^ x);
      write_file(dir / "t.pb", bytes);
      try {
        read_tensor_pb(dir / "t.pb");
      } catch (const Error&) {
      }
    }
}

// A message of a field: its number, then the bytes.
std::string field(int number, const std::string& bytes) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) +
         bytes;
}

pb::TensorProto of_number(float v) {
  pb::TensorProto t;
  t.set_data_type(pb::TensorProto::FLOAT);
  t.add_dims(1);
  t.add_float_data(v);
  return t;
}

// onnx-data.proto: elem_type is field 2, a tensor field 3, a sequence field 5.
TEST(TensorFile, ListsComeFromSequencesAndOptionals) {
  const TemporaryDirectory dir;
  const auto read = [&](const std::string& bytes) {
    write_file(dir / "t.pb", bytes);
    std::vector<double> numbers;
    for (const Tensor& t : read_tensors_pb(dir / "t.pb")) numbers.push_back(t.to_doubles().at(0));
    return numbers;
  };
  const std::string one = of_number(1).SerializeAsString(), two = of_number(2).SerializeAsString();
  const std::string tensors("\x10\x01", 2), sequences("\x10\x03", 2);
  const std::string list = tensors + field(3, one) + field(3, two);
  EXPECT_EQ(read(one), std::vector<double>{1}) << "a tensor";
  EXPECT_EQ(read(tensors), std::vector<double>{}) << "an empty sequence";
  EXPECT_EQ(read(""), std::vector<double>{}) << "an optional without a value";
  EXPECT_EQ(read(tensors + field(3, two)), std::vector<double>{2});
  EXPECT_EQ(read(list), (std::vector<double>{1, 2}));
  EXPECT_EQ(read(sequences + field(5, list)), (std::vector<double>{1, 2}));
  const auto message_for = [&](const std::string& bytes) {
    return message_of_action([&] { read(bytes); });
  };
  pb::TensorProto bad = of_number(1);
  bad.add_float_data(3);
  EXPECT_EQ(message_for(tensors + field(3, bad.SerializeAsString())),
            (dir / "t.pb").string() + ": a f32 tensor [1] needs 1 values in float_data, found 2");
  EXPECT_EQ(message_for("words"),
            (dir / "t.pb").string() + ": not an ONNX tensor: it starts with protobuf field 14");
}

// The numbers are those of SequenceProto: sparse tensors 4, sequences 5, maps 6, optionals 7.
TEST(TensorFile, SequencesOfOtherValuesAreNotSupported) {
  const TemporaryDirectory dir;
  const auto refused = [&](const std::string& bytes) {
    write_file(dir / "t.pb", bytes);
    expect_error(ErrorCode::unimplemented, {"t.pb", "only tensors are supported"},
                 [&] { read_tensors_pb(dir / "t.pb"); });
  };
  const std::string tensors("\x10\x01", 2), sequences("\x10\x03", 2);
  const std::string list = tensors + field(3, of_number(1).SerializeAsString());
  refused(std::string("\x10\x02", 2) + field(4, ""));
  refused(std::string("\x10\x04", 2) + field(6, ""));
  refused(std::string("\x10\x05", 2) + field(7, ""));
  refused(sequences + field(5, list) + field(5, list));
  refused(sequences + field(5, sequences + field(5, list)));
  refused(sequences + field(5, std::string("\x10\x04", 2) + field(6, "")));
  refused(sequences + field(5, list) + field(6, ""));
  refused(list + field(5, list));
}

// The file has a hole, and the tensor's pages are not used.
TEST(TensorFile, TensorsAreSmallerThanTwoGiB) {
  const TemporaryDirectory dir;
  constexpr int64_t kSize = int64_t{1} << 31;
  void* pages =
      ::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const std::shared_ptr<void> owner(pages, [](void* p) { ::munmap(p, kSize); });
  const Tensor large = Tensor::view(DType::u8, {kSize}, pages, kSize, owner);
  expect_error(ErrorCode::resource_exhausted, {"t.pb", std::to_string(kSize)},
               [&] { write_tensor_pb(dir / "t.pb", "t", large); });
  EXPECT_FALSE(std::filesystem::exists(dir / "t.pb"));
  // A SequenceProto with a field of that size.
  write_file(dir / "t.pb", std::string("\x10\x01\x1a\x80\x80\x80\x80\x08", 8));
  std::filesystem::resize_file(dir / "t.pb", 8 + static_cast<uintmax_t>(kSize));
  EXPECT_THROW(read_tensors_pb(dir / "t.pb"), Error);
}

TEST(TensorFile, KeepsNamesAndReadsExternalData) {
  const TemporaryDirectory dir;
  write_tensor_pb(dir / "t.pb", "", Tensor::scalar(1.F));
  std::string name = "old";
  read_tensor_pb(dir / "t.pb", &name);
  EXPECT_EQ(name, "");
  pb::TensorProto t = of_number(1);
  t.clear_float_data();
  t.set_data_location(pb::TensorProto::EXTERNAL);
  auto* e = t.add_external_data();
  e->set_key("location");
  e->set_value("part");
  write_file(dir / "t.pb", t.SerializeAsString());
  write_file(dir / "part", std::string("\0\0\x80\x3f", 4));
  EXPECT_EQ(read_tensor_pb(dir / "t.pb").to_doubles(), std::vector<double>{1});
  std::filesystem::rename(dir / "part", dir / "other");
  std::filesystem::create_symlink("other", dir / "part");
  EXPECT_THROW(read_tensor_pb(dir / "t.pb"), Error) << "links are refused";
}

}  // namespace
}  // namespace poprt::onnx
