// PopEF files that no compiler wrote. Random changes of a real one are in tests/core/popef.
#include "case.h"

namespace poprt::hostile {
namespace {

template <class T>
void put(std::string& s, size_t at, T value) {
  std::memcpy(s.data() + at, &value, sizeof value);
}

// One blob of `type` whose payload is 64 zeros.
std::string blob(uint32_t type = 5) {
  std::string s(192, '\0');
  s.replace(0, 9, "PopEF 1.0");
  put<uint32_t>(s, 16, type);
  put<uint64_t>(s, 24, 192);
  put<uint32_t>(s, 32, 64);
  put<uint32_t>(s, 36, 16);
  put<uint64_t>(s, 40, 128);
  put<uint64_t>(s, 48, 64);
  put<uint64_t>(s, 56, 64);
  put<uint16_t>(s, 64, 1);  // descriptor: a name of one letter
  put<uint32_t>(s, 68, 1);
  s[72] = 'a';
  return s;
}
template <class T>
std::string with(size_t at, T value, uint32_t type = 5) {
  std::string s = blob(type);
  put(s, at, value);
  return s;
}

Case popef_case(std::string name, std::string error, std::string bytes) {
  return {std::move(name),
          std::move(error),
          [bytes = std::move(bytes)](const Folder& f) { f.write("model.popef", bytes); },
          Outcome::rejected,
          {"model.popef", "--random"}};
}

}  // namespace

Cases popef_cases() {
  return {
      popef_case("popef_empty", "not a PopEF file: it is empty", ""),
      popef_case("popef_text", "truncated at offset 0: a blob header needs 64 bytes, 16 are left",
                 "not a PopEF file"),
      popef_case("popef_is_onnx", "an ONNX model, not a PopEF file: compile it first",
                 bytes_of(relu_model())),
      popef_case("popef_header_cut_off",
                 "truncated at offset 0: a blob header needs 64 bytes, 40 are left",
                 blob().substr(0, 40)),
      popef_case("popef_payload_cut_off", "truncated: blob at offset 0 has 192 bytes, 130 are left",
                 blob().substr(0, 130)),
      popef_case("popef_without_model", "no executable was read, so there is no model", blob()),
      popef_case("popef_other_major",
                 "blob at offset 0 has PopEF version 9.0, this library reads version 1;",
                 with(6, '9')),
      popef_case("popef_size_0", "blob at offset 0: size 0 is below the 64 bytes of a header",
                 with<uint64_t>(24, 0)),
      popef_case("popef_size_huge",
                 "truncated: blob at offset 0 has 18446744073709551552 bytes, 192 are",
                 with<uint64_t>(24, ~uint64_t{63})),
      popef_case("popef_size_odd", "blob at offset 0: size 191 is not a multiple of 64",
                 with<uint64_t>(24, 191)),
      popef_case("popef_descriptor_huge",
                 "OPAQUE blob at offset 0: descriptor of 4294967295 bytes, at most",
                 with<uint32_t>(36, 0xffffffff)),
      popef_case("popef_header_size_huge",
                 "OPAQUE blob at offset 0: header 4294967232, descriptor 16, payload",
                 with<uint32_t>(32, 0xffffffc0)),
      popef_case("popef_payload_outside",
                 "OPAQUE blob at offset 0: header 64, descriptor 16, payload 192 + 64",
                 with<uint64_t>(40, 192)),
      popef_case("popef_payload_offset_overflows",
                 "OPAQUE blob at offset 0: header 64, descriptor 16, payload",
                 with<uint64_t>(40, ~uint64_t{0} - 63)),
      popef_case("popef_payload_huge",
                 "OPAQUE blob at offset 0: header 64, descriptor 16, payload 128 +",
                 with<uint64_t>(48, ~uint64_t{0})),
      popef_case("popef_name_outside_of_descriptor",
                 "OPAQUE blob at offset 0: descriptor: a record is cut off",
                 with<uint32_t>(68, 0xffffffff)),
      popef_case("popef_compressed_opaque",
                 "OPAQUE blob at offset 0: only executables may be compressed",
                 with<uint32_t>(20, 1)),
      popef_case("popef_unknown_flag",
                 "OPAQUE blob at offset 0 needs features 0x2 of a newer library",
                 with<uint32_t>(20, 2)),
      popef_case("popef_metadata_of_zeros", "no executable was read, so there is no model",
                 blob(2)),
      popef_case("popef_metadata_points_outside", "metadata: the struct of word 0 lies outside",
                 with<uint64_t>(128, 0x0009000400007ff0, 2)),
      popef_case("popef_executable_of_zeros", "executable 'a' has no metadata", blob(1)),
      popef_case("popef_executable_bomb",
                 "POPLAR_EXECUTABLE blob at offset 0: 1125899906842624 bytes compressed",
                 [] {
                   std::string s = with<uint32_t>(20, 1, 1);
                   put<uint64_t>(s, 56, uint64_t{1} << 50);
                   return s;
                 }()),
  };
}

}  // namespace poprt::hostile
