// Invalid inputs in .npy files.
#include <sys/stat.h>

#include "case.h"

namespace poprt::hostile {
namespace {

std::string npy(const std::string& header, const std::string& data, char major = 1) {
  std::string s = "\x93NUMPY";
  s += major;
  s += '\0';
  s += static_cast<char>(header.size() & 255);
  s += static_cast<char>(header.size() >> 8 & 255);
  if (major > 1) s += std::string("\0\0", 2);
  return s + header + data;
}
std::string described(const std::string& descr, const std::string& shape,
                      const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}
const std::string kData(24, '\0');

Case npy_case(std::string name, std::string error, std::function<void(const Folder&)> make,
              std::string path = "x.npy", Outcome outcome = Outcome::rejected) {
  return {std::move(name),
          std::move(error),
          [make = std::move(make)](const Folder& f) {
            f.write("model.onnx", bytes_of(relu_model()));
            make(f);
          },
          outcome,
          {"model.onnx", "--input", "x=" + path}};
}
Case bytes_case(std::string name, std::string error, std::string bytes,
                Outcome outcome = Outcome::rejected) {
  return npy_case(
      std::move(name), std::move(error),
      [bytes = std::move(bytes)](const Folder& f) { f.write("x.npy", bytes); }, "x.npy", outcome);
}

}  // namespace

Cases npy_cases() {
  const std::string good = described("<f4", "(2, 3)");
  return {
      bytes_case("npy_is_fine", "", npy(good, kData), Outcome::accepted),
      bytes_case("npy_of_version_2_is_fine", "", npy(good, kData, 2), Outcome::accepted),
      bytes_case("npy_is_empty", "'x.npy' is no usable .npy file: the magic bytes are missing", ""),
      bytes_case("npy_magic", "'x.npy' is no usable .npy file: the magic bytes are missing",
                 "\x93NUMPX" + npy(good, kData).substr(6)),
      bytes_case("npy_is_text", "'x.npy' is no usable .npy file: the magic bytes are missing",
                 "1 2 3\n4 5 6\n"),
      bytes_case("npy_is_an_npz", "'x.npy' is no usable .npy file: the magic bytes are missing",
                 "PK\x03\x04" + std::string(60, '\0')),
      bytes_case("npy_magic_only", "'x.npy' is no usable .npy file: the magic bytes are missing",
                 "\x93NUMPY"),
      bytes_case("npy_version_9", "'x.npy' is no usable .npy file: unknown format version 9",
                 npy(good, kData, 9)),
      bytes_case("npy_header_is_cut_off", "'x.npy' is no usable .npy file: the header is truncated",
                 npy(good, "").substr(0, 30)),
      bytes_case("npy_header_longer_than_the_file",
                 "'x.npy' is no usable .npy file: the header is truncated",
                 std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12) + good + kData),
      bytes_case("npy_header_is_empty", "'x.npy' is no usable .npy file: no simple 'descr'",
                 npy("", kData)),
      bytes_case("npy_header_of_garbage", "'x.npy' is no usable .npy file: no simple 'descr'",
                 npy(std::string(200, '\xff'), kData)),
      bytes_case("npy_header_of_zeros", "'x.npy' is no usable .npy file: no simple 'descr'",
                 npy(std::string(200, '\0'), kData)),
      bytes_case("npy_header_of_a_megabyte_of_spaces", "a header of 1048576 bytes",
                 std::string("\x93NUMPY\2\0\0\0\x10\0", 12) +
                     ("{'descr':" + std::string((1 << 20) - 9, ' ')) + kData),
      bytes_case(
          "npy_shape_of_a_megabyte", "a header of 1048576 bytes",
          std::string("\x93NUMPY\2\0\0\0\x10\0", 12) +
              [] {
                std::string h = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
                while (h.size() < (1 << 20) - 4) h += "1, ";
                h.resize((1 << 20) - 2);
                return h + ")}";
              }() +
              kData),
      bytes_case("npy_data_is_cut_off",
                 "'x.npy' is no usable .npy file: its shape needs 24 bytes of data,",
                 npy(good, kData.substr(1))),
      bytes_case("npy_data_is_longer",
                 "'x.npy' is no usable .npy file: its shape needs 24 bytes of data,",
                 npy(good, kData + "x")),
      bytes_case("npy_without_data",
                 "'x.npy' is no usable .npy file: its shape needs 24 bytes of data,",
                 npy(good, "")),
      bytes_case("npy_of_objects", "dtype 'O'", npy(described("|O", "(2, 3)"), "\x80\x04" + kData)),
      bytes_case(
          "npy_structured", "'x.npy' is no usable .npy file: no simple 'descr'",
          npy("{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (3,), }\n",
              kData)),
      bytes_case("npy_of_strings", "input 'x' is f32[2,3], but 'x.npy' contains string[2]",
                 npy(described("<U3", "(2,)"), kData)),
      bytes_case("npy_of_strings_too_short", "its shape needs 72 bytes of data, found 24",
                 npy(described("<U3", "(6,)"), kData)),
      bytes_case("npy_of_strings_without_size", "its text elements have no size",
                 npy(described("<U0", "(6,)"), "")),
      bytes_case("npy_of_strings_of_huge_size", "the shape overflows",
                 npy(described("<U99999999", "(99999999999,)"), kData)),
      bytes_case("npy_of_strings_of_no_size_given",
                 "input 'x' is f32[2,3], but 'x.npy' contains string[0]",
                 npy(described("<U", "(0,)"), "")),
      bytes_case("npy_of_dates", "dtype 'M8[ns]'", npy(described("<M8[ns]", "(3,)"), kData)),
      bytes_case("npy_big_endian", "'x.npy' is no usable .npy file: it is big-endian; save it with",
                 npy(described(">f4", "(2, 3)"), kData)),
      bytes_case("npy_of_unknown_type",
                 "'x.npy' is no usable .npy file: dtype 'f3' is not supported",
                 npy(described("<f3", "(2, 3)"), kData)),
      bytes_case("npy_fortran_order",
                 "'x.npy' is no usable .npy file: it is in Fortran order; save",
                 npy(described("<f4", "(2, 3)", "True"), kData)),
      bytes_case("npy_shape_negative", "'x.npy' is no usable .npy file: no 'shape'",
                 npy(described("<f4", "(-2, -3)"), kData)),
      bytes_case("npy_shape_overflows", "'x.npy' is no usable .npy file: the shape overflows",
                 npy(described("<f4", "(4611686018427387904, 16)"), kData)),
      bytes_case("npy_shape_past_64_bits", "'x.npy' is no usable .npy file: the shape overflows",
                 npy(described("<f4", "(99999999999999999999999, 1)"), kData)),
      bytes_case("npy_shape_wraps_to_the_data",
                 "'x.npy' is no usable .npy file: the shape overflows",
                 npy(described("<f4", "(2305843009213693954, 8, 3)"), kData)),
      bytes_case("npy_shape_is_text", "'x.npy' is no usable .npy file: no 'shape'",
                 npy(described("<f4", "(two, 3)"), kData)),
      bytes_case("npy_without_shape", "'x.npy' is no usable .npy file: no 'shape'",
                 npy("{'descr': '<f4', 'fortran_order': False}\n", kData)),
      bytes_case("npy_shape_0", "input 'x' is f32[2,3], but 'x.npy' contains f32[0,3]",
                 npy(described("<f4", "(0, 3)"), "")),
      bytes_case("npy_other_shape", "input 'x' is f32[2,3], but 'x.npy' contains f32[3,2]",
                 npy(described("<f4", "(3, 2)"), kData)),
      bytes_case("npy_other_type", "input 'x' is f32[2,3], but 'x.npy' contains s32[2,3]",
                 npy(described("<i4", "(2, 3)"), kData)),
      npy_case("npy_missing", "cannot read 'x.npy': No such file or directory",
               [](const Folder&) {}),
      npy_case("npy_folder", "cannot read 'x.npy': it is a folder",
               [](const Folder& f) { fs::create_directory(f.model / "x.npy"); }),
      npy_case("npy_fifo", "no regular file",
               [](const Folder& f) { mkfifo((f.model / "x.npy").c_str(), 0600); }),
      npy_case(
          "npy_device_zero", "no regular file", [](const Folder&) {}, "/dev/zero"),
      npy_case(
          "npy_device_null", "no regular file", [](const Folder&) {}, "/dev/null"),
      npy_case("npy_of_three_gib",
               "'x.npy' is no usable .npy file: its shape needs 24 bytes of data,",
               [](const Folder& f) {
                 f.write("x.npy", npy(described("<f4", "(2, 3)"), kData));
                 fs::resize_file(f.model / "x.npy", uint64_t{3} << 30);
               }),
  };
}

}  // namespace poprt::hostile
