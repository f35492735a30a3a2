// Bytes that are no protobuf message, or a message with wrong lengths.
#include "case.h"

namespace poprt::hostile {
namespace {

std::string varint(uint64_t value) {
  std::string s;
  for (; value >= 0x80; value >>= 7) s += static_cast<char>(value | 0x80);
  return s + static_cast<char>(value);
}
std::string tag(uint64_t field, unsigned type) { return varint(field << 3 | type); }
std::string field(uint64_t number, const std::string& bytes) {
  return tag(number, 2) + varint(bytes.size()) + bytes;
}
const std::string kIrVersion = std::string("\x08\x08", 2);
constexpr uint64_t kGraph = 7, kNode = 1, kAttribute = 5;

std::string head(uint64_t number, size_t size) { return tag(number, 2) + varint(size); }

// Nested messages: `around` returns the bytes before and after a message of a size. The parts are
// joined once, because copying the content at each of 20 000 levels takes seconds.
template <class Around>
std::string nested(int depth, Around&& around) {
  size_t size = 0;
  std::vector<std::string> before;
  std::string after;
  for (int i = 0; i < depth; i++) {
    const auto [front, back] = around(size);
    size += front.size() + back.size();
    before.push_back(front);
    after += back;
  }
  std::string whole;
  for (auto part = before.rbegin(); part != before.rend(); ++part) whole += *part;
  return whole + after;
}

// Attributes, graphs and nodes that are nested `depth` times.
std::string nested_graphs(int depth) {
  return kIrVersion +
         field(kGraph, nested(depth, [](size_t graph) {
                 const std::string type = tag(20, 0) + varint(5);
                 const std::string attribute = field(1, "g") + head(6, graph);
                 const std::string node = field(4, "If") +
                                          head(kAttribute, attribute.size() + graph + type.size()) +
                                          attribute;
                 return std::pair{head(kNode, node.size() + graph + type.size()) + node, type};
               }));
}

// A value whose type is a sequence of sequences, nested `depth` times.
std::string nested_types(int depth) {
  const std::string type = nested(depth, [](size_t element) {
    const std::string inner = head(1, element);
    return std::pair{head(4, inner.size() + element) + inner, std::string()};
  });
  return kIrVersion + field(kGraph, field(13, field(1, "v") + field(2, type)));
}

}  // namespace

Cases wire_cases() {
  const std::string whole = bytes_of(relu_model());
  Cases cases = {
      from_bytes("empty_file", "not an ONNX model: it is empty", ""),
      from_bytes("one_zero_byte", "not an ONNX model: no protobuf field starts here",
                 std::string(1, '\0')),
      from_bytes("plain_text", "not an ONNX model: it starts with protobuf field 14",
                 "this is not a model\n"),
      from_bytes("json", "not an ONNX model: it starts with protobuf field 15",
                 "{\"ir_version\": 8, \"graph\": {}}"),
      from_bytes("png", "not an ONNX model: it starts with protobuf field 1281",
                 "\x89PNG\r\n\x1a\n" + std::string(100, '\1')),
      from_bytes("zip_archive", "not an ONNX model: it starts with protobuf field 10",
                 "PK\x03\x04" + std::string(60, '\0')),
      from_bytes("gzip_archive", "not an ONNX model: it starts with protobuf field 3",
                 "\x1f\x8b\x08" + std::string(60, '\0')),
      from_bytes("tar_archive", "not an ONNX model: it starts with protobuf field 13",
                 "model.onnx" + std::string(247, '\0') + "ustar" + std::string(250, '\0')),
      from_bytes("elf", "not an ONNX model: it starts with protobuf field 15",
                 "\x7f" + std::string("ELF\2\1\1") + std::string(60, '\0')),
      from_bytes("popef_named_onnx", "a PopEF file, not an ONNX model: it is compiled already",
                 "PopEF 1.0" + std::string(200, '\0')),
      from_bytes("zeros", "not an ONNX model: no protobuf field starts here",
                 std::string(4096, '\0')),
      from_bytes("ones", "not an ONNX model: no protobuf field starts here",
                 std::string(4096, '\xff')),
      from_bytes("trailing_zeros",
                 "the ONNX model is truncated or damaged at byte 53: no protobuf field",
                 whole + std::string(16, '\0')),
      from_bytes("trailing_text",
                 "the ONNX model is truncated or damaged at byte 53: field 1 needs 35",
                 whole + "\n# the end\n"),
      from_bytes("trailing_ones",
                 "the ONNX model is truncated or damaged at byte 53: no protobuf field",
                 whole + std::string(16, '\xff')),
      from_bytes("endless_varint",
                 "the ONNX model is truncated or damaged at byte 2: a number does not",
                 kIrVersion + "\x28" + std::string(100, '\x80')),
      from_bytes("varint_of_eleven_bytes",
                 "the ONNX model is truncated or damaged at byte 2: a number does not",
                 kIrVersion + "\x28" + std::string(10, '\x80') + "\1" + whole),
      from_bytes("varint_cut_off",
                 "the ONNX model is truncated or damaged at byte 2: a number does not",
                 kIrVersion + "\x28\x80"),
      from_bytes("length_cut_off",
                 "the ONNX model is truncated or damaged at byte 2: a length does not",
                 kIrVersion + tag(kGraph, 2)),
      from_bytes("length_2_gib", "the ONNX model is truncated or damaged at byte 2: field 7 needs",
                 kIrVersion + tag(kGraph, 2) + varint(0x7fffffff) + "x"),
      from_bytes("length_4_gib", "the ONNX model is truncated or damaged at byte 2: field 7 needs",
                 kIrVersion + tag(kGraph, 2) + varint(0xffffffff) + "x"),
      from_bytes("length_2_to_63",
                 "the ONNX model is truncated or damaged at byte 2: field 7 needs",
                 kIrVersion + tag(kGraph, 2) + varint(uint64_t{1} << 63) + "x"),
      from_bytes("length_2_to_64",
                 "the ONNX model is truncated or damaged at byte 2: field 7 needs",
                 kIrVersion + tag(kGraph, 2) + varint(~uint64_t{0}) + "x"),
      from_bytes("inner_length_past_outer",
                 "the ONNX model is truncated or damaged: a nested message does not",
                 kIrVersion + field(kGraph, tag(kNode, 2) + varint(100) + "abc")),
      from_bytes("inner_message_is_text",
                 "the ONNX model is truncated or damaged: a nested message does not",
                 kIrVersion + field(kGraph, "not a graph message")),
      from_bytes("group_at_the_top",
                 "the ONNX model is truncated or damaged at byte 2: a protobuf group,",
                 kIrVersion + std::string(100000, '\x0b')),
      from_bytes("groups_inside",
                 "the ONNX model is truncated or damaged: a nested message does not",
                 kIrVersion + field(kGraph, std::string(100000, '\x0b'))),
      from_bytes("group_end_alone",
                 "the ONNX model is truncated or damaged at byte 2: a protobuf group,",
                 kIrVersion + "\x0c"),
      from_bytes("wire_type_6",
                 "the ONNX model is truncated or damaged at byte 2: a protobuf group,",
                 kIrVersion + "\x0e" + whole),
      from_bytes("wire_type_7",
                 "the ONNX model is truncated or damaged at byte 2: a protobuf group,",
                 kIrVersion + "\x0f" + whole),
      from_bytes("field_number_zero",
                 "the ONNX model is truncated or damaged at byte 2: no protobuf field",
                 kIrVersion + std::string("\x02\x01x", 3) + whole),
      from_bytes("tag_past_32_bits",
                 "the ONNX model is truncated or damaged at byte 2: no protobuf field",
                 kIrVersion + varint(uint64_t{1} << 40) + whole),
      from_bytes("ir_version_as_text", "not an ONNX model: it starts with protobuf field 1",
                 field(1, "8") + whole.substr(2)),
      from_bytes("graph_as_number", "the model has no graph",
                 kIrVersion + tag(kGraph, 0) + varint(1)),
      from_bytes("graph_twice",
                 "graph input 'x': value 'x' is defined twice: a name may be assigned",
                 whole + whole),
      from_bytes("graphs_nested_300_deep",
                 "the ONNX model is truncated or damaged: a nested message does not",
                 nested_graphs(300)),
      from_build("graphs_nested_20000_deep",
                 "the ONNX model is truncated or damaged: a nested message does not",
                 [] { return nested_graphs(20000); }),
      from_build("types_nested_20000_deep",
                 "the ONNX model is truncated or damaged: a nested message does not",
                 [] { return nested_types(20000); }),
      from_bytes("packed_dims_cut_off",
                 "the ONNX model is truncated or damaged: a nested message does not",
                 kIrVersion + field(kGraph, field(5, field(1, "\x02\x80") + field(8, "w")))),
      from_bytes("a_tensor_instead",
                 "the ONNX model is truncated or damaged: a nested message does not",
                 bytes_of({}) + tensor(kFloat, {1}, "t").SerializeAsString()),
  };
  for (const size_t part : {1, 2, 3})
    cases.push_back(from_bytes("truncated_at_" + std::to_string(part) + "_quarters",
                               "truncated or damaged", whole.substr(0, whole.size() * part / 4)));
  cases.push_back(from_bytes("last_byte_missing",
                             "the ONNX model is truncated or damaged at byte 49: field 8 needs 2",
                             whole.substr(0, whole.size() - 1)));
  cases.push_back(from_bytes("first_byte_missing",
                             "the ONNX model is truncated or damaged at byte 9: no protobuf field",
                             whole.substr(1)));
  // A case for each length in a small model, which becomes 127 and thus too large.
  for (size_t i = 2; i < whole.size() && cases.size() < 60; i++)
    if (whole[i] == '\x0a') {
      std::string bytes = whole;
      bytes[i + 1] = '\x7f';
      cases.push_back(
          from_bytes("wrong_length_at_" + std::to_string(i), "truncated or damaged", bytes));
    }
  return cases;
}

}  // namespace poprt::hostile
