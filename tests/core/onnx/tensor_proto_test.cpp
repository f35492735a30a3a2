#include "onnx/tensor_proto.h"

#include <set>

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

// Every type that is stored in int32_data, in the order of onnx.proto.
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

std::string refusal(const pb::TensorProto& proto) {
  return message_of_action([&] { take(proto); });
}

// Adds `count` ones to the field of that name.
void fill_field(pb::TensorProto& t, const std::string& field, int count) {
  for (int i = 0; i < count; i++) {
    if (field == "float_data") t.add_float_data(1);
    if (field == "int32_data") t.add_int32_data(1);
    if (field == "int64_data") t.add_int64_data(1);
    if (field == "double_data") t.add_double_data(1);
    if (field == "uint64_data") t.add_uint64_data(1);
    if (field == "string_data") t.add_string_data("1");
  }
}

const char* const kFields[] = {"float_data",  "int32_data",  "int64_data",
                               "double_data", "uint64_data", "string_data"};

// onnx.proto states which types each field holds.
TEST(TensorProto, EveryTypeKeepsItsValuesInOneField) {
  const std::map<std::string, std::set<int32_t>> types = {
      {"float_data", {1, 14}},
      {"double_data", {11, 15}},
      {"int64_data", {7}},
      {"uint64_data", {12, 13}},
      {"string_data", {8}},
      {"int32_data", {2, 3, 4, 5, 6, 9, 10, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26}}};
  for (const auto& [own, list] : types)
    for (const int32_t type : list)
      for (const std::string field : kFields) {
        pb::TensorProto t = tensor(type, {1});
        fill_field(t, field, type == 14 || type == 15 ? 2 : 1);
        if (field == own) {
          EXPECT_EQ(take(t).count(), 1) << type;
          fill_field(t, field, 1);
          EXPECT_NE(refusal(t).find(" values in " + own + ", found "), std::string::npos) << type;
        } else {
          EXPECT_NE(refusal(t).find(" tensor keeps its values in " + own + ", found " + field),
                    std::string::npos)
              << type << ": " << refusal(t);
        }
      }
}

TEST(TensorProto, TwoFieldsAreOneTooMany) {
  for (const std::string one : kFields)
    for (const std::string other : kFields) {
      if (one == other) continue;
      pb::TensorProto t = tensor(1, {1});
      fill_field(t, one, 1);
      fill_field(t, other, 1);
      const std::string message = refusal(t);
      EXPECT_TRUE(message == "it has both " + one + " and " + other ||
                  message == "it has both " + other + " and " + one)
          << message;
    }
}

TEST(TensorProto, NarrowNumbersMayBeSignedOrNot) {
  struct Limits {
    int32_t elem_type;
    const char* name;
    int64_t low, high;
  };
  for (const Limits& l :
       {Limits{2, "u8", -128, 255}, Limits{3, "s8", -128, 255}, Limits{4, "u16", -32768, 65535},
        Limits{5, "s16", -32768, 65535}, Limits{9, "bool", -128, 255},
        Limits{10, "f16", -32768, 65535}, Limits{17, "f8e4m3fn", -128, 255}})
    for (const int64_t v : {l.low - 1, l.low, int64_t{0}, l.high, l.high + 1}) {
      pb::TensorProto t = tensor(l.elem_type, {1});
      t.add_int32_data(static_cast<int32_t>(v));
      EXPECT_EQ(refusal(t),
                v >= l.low && v <= l.high
                    ? "taken"
                    : fmt::format("value {} in int32_data does not fit into {}", v, l.name));
    }
  pb::TensorProto u32 = tensor(12, {1});
  u32.add_uint64_data(uint64_t{1} << 32);
  EXPECT_EQ(refusal(u32), "value 4294967296 in uint64_data does not fit into u32");
  pb::TensorProto boolean = tensor(9, {3});
  for (const int v : {2, 0, -1}) boolean.add_int32_data(v);
  EXPECT_EQ(doubles(boolean), (std::vector<double>{1, 0, 1}));
}

TEST(TensorProto, ErrorsStateTheNeededData) {
  EXPECT_EQ(refusal(raw(1, {2, 3}, std::string(20, 'x'))),
            "a f32 tensor [2,3] needs 24 bytes in raw_data, found 20");
  EXPECT_EQ(refusal(tensor(1, {2, 3})), "a f32 tensor [2,3] needs 6 elements, it has no data");
  pb::TensorProto c = tensor(14, {3});
  fill_field(c, "float_data", 5);
  EXPECT_EQ(refusal(c), "a c64 tensor [3] needs 6 values in float_data, found 5");
  pb::TensorProto packed = tensor(21, {3});
  fill_field(packed, "int32_data", 3);
  EXPECT_EQ(refusal(packed), "a u4 tensor [3] needs 2 values in int32_data, found 3");
  EXPECT_EQ(refusal(tensor(1, {2, -1})), "dims [2,?] has a negative dimension -1");
  EXPECT_EQ(refusal(tensor(1, std::vector<int64_t>(65, 1))),
            "it has 65 dimensions, at most 64 are supported");
  std::vector<int64_t> most(64, 1);
  EXPECT_EQ(refusal(raw(2, most, "x")), "taken");
  EXPECT_NE(refusal(tensor(1, {0, INT64_MAX, 2})).find("overflow"), std::string::npos);
  EXPECT_NE(refusal(tensor(1, {INT64_MAX, 0, 2})).find("overflow"), std::string::npos);
}

TEST(TensorProto, EntriesOfExternalDataStandOnce) {
  for (const std::string key : {"location", "offset", "length"}) {
    pb::TensorProto t = tensor(1, {1});
    t.set_data_location(pb::TensorProto::EXTERNAL);
    for (int i = 0; i < 2; i++) {
      auto* e = t.add_external_data();
      e->set_key(key);
      e->set_value("4");
    }
    EXPECT_EQ(refusal(t), "external_data has '" + key + "' twice");
  }
  pb::TensorProto strings = tensor(8, {1});
  strings.set_data_location(pb::TensorProto::EXTERNAL);
  EXPECT_EQ(refusal(strings), "a string tensor cannot have external data");
  pb::TensorProto number = tensor(1, {1});
  number.set_data_location(pb::TensorProto::EXTERNAL);
  number.add_external_data()->set_key("length");
  number.mutable_external_data(0)->set_value("8x");
  EXPECT_EQ(refusal(number), "external_data length '8x' is not a non-negative integer");
  number.mutable_external_data(0)->set_key("checksum");
  EXPECT_EQ(refusal(number), "external_data has no location");
}

std::string refusal(const pb::SparseTensorProto& s) {
  return message_of_action([&] { dense(s); });
}

TEST(SparseTensor, ErrorsStateTheInvalidIndex) {
  const std::string ascend = "sparse indices should ascend within 6 elements, found ";
  EXPECT_EQ(refusal(sparse({2, 3}, {1}, {1}, {6})), ascend + "6 after -1");
  EXPECT_EQ(refusal(sparse({2, 3}, {1}, {1}, {-1})), ascend + "-1 after -1");
  EXPECT_EQ(refusal(sparse({2, 3}, {1, 2}, {2}, {4, 4})), ascend + "4 after 4");
  EXPECT_EQ(refusal(sparse({2, 3}, {1, 2}, {2, 2}, {1, 0, 0, 2})), ascend + "2 after 3");
  EXPECT_EQ(refusal(sparse({2, 3}, {1}, {1, 2}, {2, 0})),
            "sparse index 2 is outside of dimension 0 of [2,3]");
  EXPECT_EQ(refusal(sparse({2, 3}, {1}, {1, 2}, {1, 3})),
            "sparse index 3 is outside of dimension 1 of [2,3]");
  EXPECT_EQ(refusal(sparse({2, 3}, {1}, {1, 2}, {1, -1})),
            "sparse index -1 is outside of dimension 1 of [2,3]");
  EXPECT_EQ(refusal(sparse({2, 3}, {1, 2}, {1}, {1})),
            "sparse indices should be s64[2] or s64[2,2], found s64[1]");
  EXPECT_EQ(refusal(sparse({2, 3}, {1}, {1, 3}, {0, 0, 0})),
            "sparse indices should be s64[1] or s64[1,2], found s64[1,3]");
  pb::SparseTensorProto wide = sparse({2, 3}, {1}, {1}, {0});
  *wide.mutable_indices() = tensor(6, {1});
  wide.mutable_indices()->add_int32_data(0);
  EXPECT_EQ(refusal(wide), "sparse indices should be s64[1] or s64[1,2], found s32[1]");
  pb::SparseTensorProto flat = sparse({2, 3}, {1}, {1}, {0});
  flat.mutable_values()->add_dims(1);
  EXPECT_EQ(refusal(flat), "sparse values should have one dimension, found [1,1]");
  flat = sparse({2, 3}, {1}, {1}, {0});
  *flat.mutable_values() = tensor(8, {1});
  flat.mutable_values()->add_string_data("a");
  EXPECT_EQ(refusal(flat), "sparse tensors of string are not supported");
  *flat.mutable_values() = raw(21, {1}, "\x01");
  EXPECT_EQ(refusal(flat), "sparse tensors of u4 are not supported");
  EXPECT_EQ(refusal(sparse({(16 << 20) + 1}, {1}, {1}, {0})),
            "a sparse tensor [16777217] needs 67108868 bytes when dense, more than 67108864");
  EXPECT_EQ(refusal(sparse({2, -1}, {1}, {1}, {0})), "dims [2,?] has a negative dimension -1");
}

TEST(SparseTensor, WithoutValuesNeedsNoIndices) {
  pb::SparseTensorProto s = sparse({2}, {}, {0}, {});
  s.clear_indices();
  EXPECT_EQ(dense(s), (std::vector<double>{0, 0}));
  s = sparse({2}, {1}, {1}, {1});
  s.clear_indices();
  EXPECT_NE(refusal(s), "taken");
  EXPECT_EQ(dense(sparse({}, {5}, {1}, {0})), std::vector<double>{5});
  EXPECT_EQ(dense(sparse({16 << 20}, {5}, {1}, {(16 << 20) - 1})).back(), 5) << "the most";
}

TEST(SparseTensor, ElementsOfAnySizeAreMoved) {
  for (const auto& [type, bytes] : std::vector<std::pair<int32_t, std::string>>{
           {2, "\x01\x02"},
           {5, std::string("\x01\x00\x02\x00", 4)},
           {7, std::string("\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16)}}) {
    pb::SparseTensorProto s = sparse({2, 2}, {}, {2}, {1, 3});
    *s.mutable_values() = raw(type, {2}, bytes);
    EXPECT_EQ(dense(s), (std::vector<double>{0, 1, 0, 2})) << type;
  }
}

}  // namespace
}  // namespace poprt::onnx
