#include "onnx/tensor_proto.h"

#include "support.h"

namespace poprt::onnx {
namespace {

pb::TensorProto tensor(int32_t elem_type, std::vector<int64_t> dims) {
  pb::TensorProto t;
  t.set_data_type(elem_type);
  for (const int64_t d : dims) t.add_dims(d);
  return t;
}

pb::TensorProto raw(int32_t elem_type, std::vector<int64_t> dims, const std::string& bytes) {
  pb::TensorProto t = tensor(elem_type, std::move(dims));
  t.set_raw_data(bytes);
  return t;
}

Tensor take(pb::TensorProto proto) {
  ExternalFiles files(std::nullopt, false);
  return take_tensor(proto, files);
}

std::vector<double> doubles(pb::TensorProto proto) { return take(std::move(proto)).to_doubles(); }

TEST(TensorProto, ReadsRawDataWithoutCopy) {
  const float values[] = {1.5f, -2.0f, 3.25f, 0.0f, 1e30f, -0.5f, 7.0f, 8.0f};
  pb::TensorProto proto = raw(1, {2, 4}, std::string(reinterpret_cast<const char*>(values), 32));
  const void* before = proto.raw_data().data();
  ExternalFiles files(std::nullopt, false);
  const Tensor t = take_tensor(proto, files);
  EXPECT_EQ(t.data(), before);
  EXPECT_EQ(t.shape(), (Shape{2, 4}));
  EXPECT_EQ(std::memcmp(t.data(), values, 32), 0);
}

TEST(TensorProto, ReadsFloatData) {
  pb::TensorProto p = tensor(1, {3});
  for (const float f : {1.f, 2.f, -3.f}) p.add_float_data(f);
  EXPECT_EQ(doubles(p), (std::vector<double>{1, 2, -3}));
}

TEST(TensorProto, ReadsDoubleInt64AndUint64Data) {
  pb::TensorProto d = tensor(11, {2});
  d.add_double_data(0.1);
  d.add_double_data(-1e300);
  EXPECT_EQ(doubles(d), (std::vector<double>{0.1, -1e300}));
  pb::TensorProto i = tensor(7, {2});
  i.add_int64_data(INT64_MIN);
  i.add_int64_data(5);
  EXPECT_EQ(take(i).to_int64s(), (std::vector<int64_t>{INT64_MIN, 5}));
  pb::TensorProto u = tensor(13, {1});
  u.add_uint64_data(UINT64_MAX);
  EXPECT_EQ(take(u).values<uint64_t>()[0], UINT64_MAX);
  pb::TensorProto u32 = tensor(12, {1});
  u32.add_uint64_data(UINT32_MAX);
  EXPECT_EQ(take(u32).values<uint32_t>()[0], UINT32_MAX);
}

// Every type that int32_data holds, as ONNX's onnx.proto lists them.
TEST(TensorProto, ReadsInt32DataOfNarrowTypes) {
  struct Case {
    int32_t elem_type;
    std::vector<int32_t> stored;
    std::vector<double> expected;
  };
  const Case cases[] = {
      {2, {0, 255}, {0, 255}},        // uint8
      {3, {-128, 127}, {-128, 127}},  // int8
      {3, {255, 1}, {-1, 1}},         // int8 written unsigned
      {4, {65535, 1}, {65535, 1}},    // uint16
      {5, {-32768, 7}, {-32768, 7}},  // int16
      {6, {INT32_MIN, INT32_MAX}, {INT32_MIN, INT32_MAX}},
      {9, {1, 0}, {1, 0}},              // bool
      {10, {0x3c00, 0xc000}, {1, -2}},  // float16
      {16, {0x3f80, 0xc000}, {1, -2}},  // bfloat16
      {17, {0x38, 0xb8}, {1, -1}},      // float8e4m3fn, bias 7
      {18, {0x40, 0xc0}, {1, -1}},      // float8e4m3fnuz, bias 8
      {19, {0x3c, 0xbc}, {1, -1}},      // float8e5m2, bias 15
      {20, {0x40, 0xc0}, {1, -1}},      // float8e5m2fnuz, bias 16
  };
  for (const Case& c : cases) {
    pb::TensorProto p = tensor(c.elem_type, {static_cast<int64_t>(c.stored.size())});
    for (const int32_t v : c.stored) p.add_int32_data(v);
    EXPECT_EQ(doubles(p), c.expected) << "element type " << c.elem_type;
  }
}

TEST(TensorProto, ReadsPackedSubByteTypes) {
  struct Case {
    int32_t elem_type;
    std::string bytes;
    std::vector<double> expected;
  };
  const Case cases[] = {
      {21, "\x21\x0f", {1, 2, 15}},    // uint4, low nibble first
      {22, "\x8f\x07", {-1, -8, 7}},   // int4
      {23, "\x32\x0a", {1, 1.5, -1}},  // float4e2m1
      {25, "\xe4\x01", {0, 1, 2, 3, 1}}, {26, "\xe4\x03", {0, 1, -2, -1, -1}},
  };
  for (const Case& c : cases) {
    const auto n = static_cast<int64_t>(c.expected.size());
    EXPECT_EQ(doubles(raw(c.elem_type, {n}, c.bytes)), c.expected) << c.elem_type;
    pb::TensorProto typed = tensor(c.elem_type, {n});
    for (const char b : c.bytes) typed.add_int32_data(static_cast<uint8_t>(b));
    EXPECT_EQ(doubles(typed), c.expected) << c.elem_type << " in int32_data";
  }
}

TEST(TensorProto, ReadsComplex) {
  pb::TensorProto c64 = tensor(14, {2});
  for (const float f : {1.f, 2.f, 3.f, 4.f}) c64.add_float_data(f);
  const Tensor a = take(c64);
  EXPECT_EQ(a.dtype(), DType::c64);
  EXPECT_EQ(static_cast<const float*>(a.data())[3], 4.f);
  pb::TensorProto c128 = tensor(15, {1});
  c128.add_double_data(1);
  c128.add_double_data(-1);
  EXPECT_EQ(take(c128).bytes(), 16u);
}

TEST(TensorProto, ReadsStrings) {
  pb::TensorProto p = tensor(8, {2});
  p.add_string_data("a");
  p.add_string_data(std::string("b\0c", 3));
  EXPECT_EQ(take(p).string_values(), (std::vector<std::string>{"a", std::string("b\0c", 3)}));
  pb::TensorProto short_one = tensor(8, {3});
  short_one.add_string_data("a");
  expect_error(ErrorCode::data_loss, {"3", "string_data"}, [&] { take(short_one); });
}

TEST(TensorProto, NormalizesRawBools) {
  const Tensor t = take(raw(9, {3}, std::string("\x02\x00\x01", 3)));
  const auto* p = static_cast<const uint8_t*>(t.data());
  EXPECT_EQ((std::vector<int>{p[0], p[1], p[2]}), (std::vector<int>{1, 0, 1}));
}

TEST(TensorProto, AcceptsZeroElementsAndScalars) {
  EXPECT_EQ(take(tensor(1, {0, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(take(raw(1, {0}, "")).bytes(), 0u);
  EXPECT_EQ(take(tensor(8, {0})).dtype(), DType::string);
  EXPECT_EQ(doubles(raw(1, {}, std::string(4, '\0'))), std::vector<double>{0});
}

TEST(TensorProto, RefusesWrongSizes) {
  expect_error(ErrorCode::data_loss, {"[2,3]", "24", "20"},
               [] { take(raw(1, {2, 3}, std::string(20, 'x'))); });
  expect_error(ErrorCode::data_loss, {"no data"}, [] { take(tensor(1, {2})); });
  pb::TensorProto p = tensor(1, {2});
  p.add_float_data(1);
  expect_error(ErrorCode::data_loss, {"float_data", "2", "1"}, [&] { take(p); });
  // Terabytes from a few bytes: nothing is allocated.
  expect_error(ErrorCode::data_loss, {"no data"}, [] { take(tensor(1, {1 << 30, 1 << 12})); });
  expect_error(ErrorCode::out_of_range, {"overflow"},
               [] { take(tensor(1, {INT64_MAX, INT64_MAX})); });
}

TEST(TensorProto, RefusesMalformed) {
  expect_error(ErrorCode::invalid_argument, {"negative"}, [] { take(tensor(1, {2, -1})); });
  expect_error(ErrorCode::invalid_argument, {"unknown element type 99"},
               [] { take(tensor(99, {1})); });
  expect_error(ErrorCode::invalid_argument, {"unknown element type 0"},
               [] { take(tensor(0, {1})); });
  expect_error(ErrorCode::invalid_argument, {"dimensions"},
               [] { take(tensor(1, std::vector<int64_t>(1000, 1))); });
  pb::TensorProto two = raw(1, {1}, "abcd");
  two.add_float_data(1);
  expect_error(ErrorCode::invalid_argument, {"raw_data", "float_data"}, [&] { take(two); });
  pb::TensorProto other = tensor(1, {1});
  other.add_int64_data(1);
  expect_error(ErrorCode::invalid_argument, {"float_data", "int64_data"}, [&] { take(other); });
  pb::TensorProto wide = tensor(2, {1});
  wide.add_int32_data(256);
  expect_error(ErrorCode::invalid_argument, {"256", "u8"}, [&] { take(wide); });
  pb::TensorProto segment = raw(1, {1}, "abcd");
  segment.mutable_segment()->set_begin(0);
  expect_error(ErrorCode::unimplemented, {"segments"}, [&] { take(segment); });
  expect_error(ErrorCode::invalid_argument, {"string_data", "raw_data"},
               [] { take(raw(8, {1}, "abcd")); });
}

pb::SparseTensorProto sparse(std::vector<int64_t> dims, std::vector<float> values,
                             std::vector<int64_t> index_dims, std::vector<int64_t> indices) {
  pb::SparseTensorProto s;
  for (const int64_t d : dims) s.add_dims(d);
  *s.mutable_values() = tensor(1, {static_cast<int64_t>(values.size())});
  for (const float v : values) s.mutable_values()->add_float_data(v);
  *s.mutable_indices() = tensor(7, std::move(index_dims));
  for (const int64_t i : indices) s.mutable_indices()->add_int64_data(i);
  return s;
}

std::vector<double> dense(pb::SparseTensorProto s) {
  ExternalFiles files(std::nullopt, false);
  return take_sparse_tensor(s, files).to_doubles();
}

TEST(SparseTensor, BecomesDense) {
  EXPECT_EQ(dense(sparse({2, 3}, {5, 7}, {2}, {1, 5})), (std::vector<double>{0, 5, 0, 0, 0, 7}));
  EXPECT_EQ(dense(sparse({2, 3}, {5, 7}, {2, 2}, {0, 1, 1, 2})),
            (std::vector<double>{0, 5, 0, 0, 0, 7}));
  EXPECT_EQ(dense(sparse({3}, {}, {0}, {})), (std::vector<double>{0, 0, 0}));
}

TEST(SparseTensor, RefusesBadIndicesAndBombs) {
  expect_error(ErrorCode::invalid_argument, {"6"}, [] { dense(sparse({2, 3}, {1}, {1}, {6})); });
  expect_error(ErrorCode::invalid_argument, {"-1"}, [] { dense(sparse({2, 3}, {1}, {1}, {-1})); });
  expect_error(ErrorCode::invalid_argument, {"dimension 1"},
               [] { dense(sparse({2, 3}, {1}, {1, 2}, {0, 3})); });
  expect_error(ErrorCode::invalid_argument, {"ascend"},
               [] { dense(sparse({3}, {1, 2}, {2}, {1, 1})); });
  expect_error(ErrorCode::invalid_argument, {"indices"},
               [] { dense(sparse({3}, {1, 2}, {1}, {1})); });
  expect_error(ErrorCode::resource_exhausted, {"dense"},
               [] { dense(sparse({1 << 20, 1 << 20}, {1}, {1}, {0})); });
}

}  // namespace
}  // namespace poprt::onnx
