// Tensors whose bytes do not fit their shape or type.
#include "case.h"

namespace poprt::hostile {
namespace {

// y = Identity(w)
pb::ModelProto with(const pb::TensorProto& w) {
  pb::ModelProto m = empty_model();
  add_output(*m.mutable_graph(), "y");
  *m.mutable_graph()->add_initializer() = w;
  m.mutable_graph()->mutable_initializer(0)->set_name("w");
  add_node(*m.mutable_graph(), "Identity", {"w"}, {"y"});
  return m;
}
// Models with `w` as an attribute, and as an initializer that no node reads.
pb::ModelProto in_attribute(const pb::TensorProto& w) {
  pb::ModelProto m = empty_model();
  add_output(*m.mutable_graph(), "y");
  add_attribute(add_node(*m.mutable_graph(), "Constant", {}, {"y"}), {"value", w});
  return m;
}
pb::ModelProto unused(const pb::TensorProto& w) {
  pb::ModelProto m = relu_model();
  *m.mutable_graph()->add_initializer() = w;
  m.mutable_graph()->mutable_initializer(0)->set_name("w");
  return m;
}

pb::TensorProto raw_tensor(int type, const Dims& dims, size_t bytes) {
  auto t = tensor(type, dims);
  t.set_raw_data(std::string(bytes, '\1'));
  return t;
}
pb::TensorProto int32_tensor(int type, const std::vector<int32_t>& values) {
  auto t = tensor(type, {static_cast<int64_t>(values.size())});
  for (const int32_t v : values) t.add_int32_data(v);
  return t;
}
pb::TensorProto float_tensor(const Dims& dims, int count) {
  auto t = tensor(kFloat, dims);
  for (int i = 0; i < count; i++) t.add_float_data(1);
  return t;
}

pb::ModelProto sparse(const Dims& dims, const Ints& indices, const Floats& values,
                      const Dims& index_dims = {}) {
  pb::ModelProto m = empty_model();
  add_output(*m.mutable_graph(), "y");
  auto& s = *m.mutable_graph()->add_sparse_initializer();
  *s.mutable_values() = tensor(kFloat, {static_cast<int64_t>(values.size())}, "w");
  s.mutable_values()->set_raw_data(raw(values));
  *s.mutable_indices() =
      tensor(kS64, index_dims.empty() ? Dims{static_cast<int64_t>(indices.size())} : index_dims);
  s.mutable_indices()->set_raw_data(raw(indices));
  for (const int64_t d : dims) s.add_dims(d);
  add_node(*m.mutable_graph(), "Identity", {"w"}, {"y"});
  return m;
}

}  // namespace

Cases payload_cases() {
  constexpr int kU4 = 21, kS4 = 22, kF4 = 23;
  return {
      reject("raw_data_too_short",
             "initializer 'w': a f32 tensor [4] needs 16 bytes in raw_data, found 15",
             with(raw_tensor(kFloat, {4}, 15))),
      reject("raw_data_too_long",
             "initializer 'w': a f32 tensor [4] needs 16 bytes in raw_data, found 17",
             with(raw_tensor(kFloat, {4}, 17))),
      reject("raw_data_missing",
             "initializer 'w': a f32 tensor [4] needs 4 elements, it has no data",
             with(tensor(kFloat, {4}))),
      reject("raw_data_for_nothing",
             "initializer 'w': a f32 tensor [0,4] needs 0 bytes in raw_data, found 4",
             with(raw_tensor(kFloat, {0, 4}, 4))),
      reject("raw_data_of_a_scalar_missing",
             "initializer 'w': a f32 tensor [] needs 1 elements, it has no data",
             with(tensor(kFloat, {}))),
      reject("raw_data_short_in_attribute",
             "attribute 'value': a f32 tensor [4] needs 16 bytes in raw_data, found",
             in_attribute(raw_tensor(kFloat, {4}, 15))),
      reject("raw_data_short_and_unused",
             "initializer 'w': a f32 tensor [4] needs 16 bytes in raw_data, found 15",
             unused(raw_tensor(kFloat, {4}, 15))),
      reject("float_data_too_short",
             "initializer 'w': a f32 tensor [4] needs 4 values in float_data, found",
             with(float_tensor({4}, 3))),
      reject("float_data_too_long",
             "initializer 'w': a f32 tensor [4] needs 4 values in float_data, found",
             with(float_tensor({4}, 5))),
      reject("dimension_negative", "initializer 'w': dims [?] has a negative dimension -4",
             with(raw_tensor(kFloat, {-4}, 16))),
      reject("dimensions_negative_twice", "initializer 'w': dims [?,?] has a negative dimension -2",
             with(raw_tensor(kFloat, {-2, -2}, 16))),
      reject("dimension_negative_and_unused",
             "initializer 'w': dims [?] has a negative dimension -1", unused(tensor(kFloat, {-1}))),
      reject("dimensions_overflow", "initializer 'w': shape: 9223372036854775807 * 2 overflows",
             with(raw_tensor(kFloat, {kMax, 2}, 16))),
      reject("dimensions_wrap_to_4", "initializer 'w': shape: 4611686018427387904 * 4 overflows",
             with(raw_tensor(kFloat, {int64_t{1} << 62, 4, 4}, 16))),
      reject("dimensions_overflow_beside_0", "overflows", with(tensor(kFloat, {0, kMax, kMax}))),
      reject("bytes_overflow", "initializer 'w': size: 2305843009213693952 * 64 overflows",
             with(raw_tensor(kDouble, {int64_t{1} << 61}, 16))),
      reject("terabytes_of_nothing",
             "initializer 'w': a f32 tensor [1099511627776] needs 1099511627776",
             with(tensor(kFloat, {int64_t{1} << 40}))),
      reject("dimensions_are_65", "initializer 'w': it has 65 dimensions, at most 64 are supported",
             with(raw_tensor(kFloat, Dims(65, 1), 4))),
      reject("dimensions_are_100000",
             "initializer 'w': it has 100000 dimensions, at most 64 are supported",
             with(raw_tensor(kFloat, Dims(100000, 1), 4))),
      reject("type_undefined", "initializer 'w': unknown element type 0",
             with(raw_tensor(0, {4}, 16))),
      reject("type_99", "initializer 'w': unknown element type 99", with(raw_tensor(99, {4}, 16))),
      reject("type_negative", "initializer 'w': unknown element type -1",
             with(raw_tensor(-1, {4}, 16))),
      reject("raw_and_typed", "initializer 'w': it has both raw_data and float_data",
             with(changed(float_tensor({4}, 4),
                          [](auto& t) { t.set_raw_data(std::string(16, '\0')); }))),
      reject("two_typed_fields", "initializer 'w': it has both float_data and int64_data",
             with(changed(float_tensor({4}, 4), [](auto& t) { t.add_int64_data(1); }))),
      reject("other_typed_field",
             "initializer 'w': a f32 tensor keeps its values in float_data, found",
             with(changed(tensor(kFloat, {1}), [](auto& t) { t.add_double_data(1); }))),
      reject("string_with_raw_data",
             "initializer 'w': a string tensor keeps its values in string_data,",
             with(raw_tensor(kString, {4}, 16))),
      reject("string_count", "initializer 'w': a string tensor [4] needs 4 values in string_data,",
             with(changed(tensor(kString, {4}), [](auto& t) { t.add_string_data("a"); }))),
      reject("u4_too_short", "initializer 'w': a u4 tensor [5] needs 3 bytes in raw_data, found 2",
             with(raw_tensor(kU4, {5}, 2))),
      reject("u4_too_long", "initializer 'w': a u4 tensor [5] needs 3 bytes in raw_data, found 5",
             with(raw_tensor(kU4, {5}, 5))),
      reject("s4_count", "initializer 'w': a s4 tensor [5] needs 3 values in int32_data, found 5",
             with(changed(tensor(kS4, {5}),
                          [](auto& t) {
                            for (int i = 0; i < 5; i++) t.add_int32_data(1);
                          }))),
      reject("f4_too_short",
             "initializer 'w': a f4e2m1 tensor [3] needs 2 bytes in raw_data, found",
             with(raw_tensor(kF4, {3}, 1))),
      reject("u8_out_of_range", "initializer 'w': value 256 in int32_data does not fit into u8",
             with(int32_tensor(kU8, {0, 256}))),
      reject("s8_out_of_range", "initializer 'w': value -129 in int32_data does not fit into s8",
             with(int32_tensor(kS8, {0, -129}))),
      reject("half_out_of_range",
             "initializer 'w': value 65536 in int32_data does not fit into f16",
             with(int32_tensor(kHalf, {1 << 16}))),
      reject("segmented", "initializer 'w': it is stored in segments, which is not supported",
             with(changed(raw_tensor(kFloat, {4}, 16),
                          [](auto& t) {
                            t.mutable_segment()->set_begin(0);
                            t.mutable_segment()->set_end(4);
                          }))),
      reject("control_characters_in_tensor_name",
             "initializer 'w\\x0a\\x1b[2J': a f32 tensor [4] needs 4 elements, it has",
             changed(relu_model(),
                     [](auto& m) {
                       *m.mutable_graph()->add_initializer() = tensor(kFloat, {4}, "w\n\x1b[2J");
                     })),
      reject("sparse_index_past_the_end",
             "initializer 'w': sparse indices should ascend within 4 elements,",
             sparse({4}, {4}, {1})),
      reject("sparse_index_negative",
             "initializer 'w': sparse indices should ascend within 4 elements,",
             sparse({4}, {-1}, {1})),
      reject("sparse_indices_descend",
             "initializer 'w': sparse indices should ascend within 4 elements,",
             sparse({4}, {2, 1}, {1, 2})),
      reject("sparse_indices_repeat",
             "initializer 'w': sparse indices should ascend within 4 elements,",
             sparse({4}, {1, 1}, {1, 2})),
      reject("sparse_counts_differ",
             "initializer 'w': sparse indices should be s64[2] or s64[2,1], found",
             sparse({4}, {1, 2, 3}, {1, 2})),
      reject("sparse_index_rank",
             "initializer 'w': sparse indices should be s64[1] or s64[1,2], found",
             sparse({2, 2}, {0, 0, 0}, {1}, {1, 3})),
      reject("sparse_column_past_the_end",
             "initializer 'w': sparse index 2 is outside of dimension 1 of [2,2]",
             sparse({2, 2}, {0, 2}, {1}, {1, 2})),
      reject("sparse_dimension_negative", "initializer 'w': dims [?] has a negative dimension -4",
             sparse({-4}, {0}, {1})),
      reject("sparse_dimensions_overflow",
             "initializer 'w': shape: 9223372036854775807 * 9223372036854775807",
             sparse({kMax, kMax}, {0}, {1})),
      reject("sparse_terabyte",
             "initializer 'w': a sparse tensor [274877906944] needs 1099511627776",
             sparse({int64_t{1} << 38}, {0}, {1})),
      reject("sparse_without_values", "initializer '': it has no name",
             changed(sparse({4}, {1}, {1}),
                     [](auto& m) {
                       m.mutable_graph()->mutable_sparse_initializer(0)->clear_values();
                     })),
      reject("sparse_without_indices", "initializer 'w': unknown element type 0",
             changed(sparse({4}, {1}, {1}),
                     [](auto& m) {
                       m.mutable_graph()->mutable_sparse_initializer(0)->clear_indices();
                     })),
      reject(
          "sparse_values_of_strings", "initializer 'w': sparse tensors of string are not supported",
          changed(sparse({4}, {1}, {1}),
                  [](auto& m) {
                    auto& v = *m.mutable_graph()->mutable_sparse_initializer(0)->mutable_values();
                    v.clear_raw_data();
                    v.set_data_type(kString);
                    v.add_string_data("a");
                  })),
      reject("sparse_indices_are_floats",
             "initializer 'w': sparse indices should be s64[1] or s64[1,1], found",
             changed(sparse({4}, {1}, {1}),
                     [](auto& m) {
                       auto& i =
                           *m.mutable_graph()->mutable_sparse_initializer(0)->mutable_indices();
                       i.set_data_type(kDouble);
                     })),
      accept("sparse_is_fine", sparse({4}, {1, 3}, {1, 2})),
      accept("nothing_needs_no_data", with(tensor(kFloat, {0, 4}))),
  };
}

}  // namespace poprt::hostile
