#include "onnx/tensor_io.h"

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

}  // namespace
}  // namespace poprt::onnx
