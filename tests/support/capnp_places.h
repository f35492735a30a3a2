// What core/*/*_places.h must say about a Cap'n Proto schema: where each field lies.
#pragma once

#include <capnp/schema.h>
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace poprt::capnp_places {

// tensorInfo -> tensor_info, TensorInfo -> tensor_info.
inline std::string snake(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) && !text.empty()) text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

// In the unit that base/capnp_message.h takes: bytes, for a flag bits, for anything else pointers.
inline uint32_t place_of(const capnp::StructSchema::Field& field) {
  const uint32_t offset = field.getProto().getSlot().getOffset();
  switch (field.getType().which()) {
    case capnp::schema::Type::BOOL:
    case capnp::schema::Type::INT8:
    case capnp::schema::Type::UINT8: return offset;
    case capnp::schema::Type::INT16:
    case capnp::schema::Type::UINT16: return 2 * offset;
    case capnp::schema::Type::INT32:
    case capnp::schema::Type::UINT32:
    case capnp::schema::Type::FLOAT32: return 4 * offset;
    case capnp::schema::Type::INT64:
    case capnp::schema::Type::UINT64:
    case capnp::schema::Type::FLOAT64: return 8 * offset;
    default: return offset;
  }
}

inline std::string header(std::string_view schema, std::string_view space,
                          const std::vector<capnp::StructSchema>& structs) {
  std::ostringstream out;
  out << "// Where the fields of " << schema
      << " lie: bytes of numbers, bits of flags, pointers of the rest.\n"
         "// A test makes this from the schema and says what to write here when they differ.\n"
         "#pragma once\n\n#include <cstdint>\n\nnamespace "
      << space << " {\n";
  for (const capnp::StructSchema& s : structs) {
    const std::string name = snake(s.getShortDisplayName().cStr());
    out << "\nnamespace " << name << " {\n";
    for (const auto field : s.getFields()) {
      std::string constant = field.getProto().getName().cStr();
      constant[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(constant[0])));
      out << "inline constexpr uint32_t k" << constant << " = " << place_of(field) << ";\n";
    }
    out << "}  // namespace " << name << "\n";
  }
  out << "\n}  // namespace " << space << "\n";
  return out.str();
}

inline void expect_header(const std::string& path, const std::string& wanted) {
  std::ifstream file(path);
  std::ostringstream found;
  found << file.rdbuf();
  EXPECT_EQ(found.str(), wanted) << path << " is not what the schema says";
}

}  // namespace poprt::capnp_places
