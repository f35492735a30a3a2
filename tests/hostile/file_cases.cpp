// Files that cannot be models because of their name, kind or size.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "case.h"

namespace poprt::hostile {
namespace {

Case file_case(std::string name, std::string error, std::function<void(const Folder&)> make,
               std::string path = "model.onnx") {
  return {std::move(name),
          std::move(error),
          std::move(make),
          Outcome::rejected,
          {std::move(path), "--random"}};
}
void nothing(const Folder&) {}

// Writes a sparse file of `size` bytes, which begins with `start`.
void sparse(const fs::path& path, const std::string& start, uint64_t size) {
  std::ofstream(path, std::ios::binary) << start;
  fs::resize_file(path, size);
}
constexpr uint64_t kGiB = uint64_t{1} << 30;

}  // namespace

Cases file_cases() {
  return {
      file_case("missing_file", "cannot open 'model.onnx': No such file or directory", nothing),
      file_case("missing_folder", "cannot open 'no/such/model.onnx': No such file or directory",
                nothing, "no/such/model.onnx"),
      file_case("a_folder", "cannot read 'model.onnx': expected a regular file, found a directory",
                [](const Folder& f) { fs::create_directory(f.model / "model.onnx"); }),
      file_case("a_fifo", "cannot read 'model.onnx': expected a regular file, found a device,",
                [](const Folder& f) { mkfifo((f.model / "model.onnx").c_str(), 0600); }),
      file_case("device_zero", "cannot read '/dev/zero': expected a regular file, found a device,",
                nothing, "/dev/zero"),
      file_case("device_null", "cannot read '/dev/null': expected a regular file, found a device,",
                nothing, "/dev/null"),
      file_case("device_urandom",
                "cannot read '/dev/urandom': expected a regular file, found a device,", nothing,
                "/dev/urandom"),
      file_case("link_to_nothing", "cannot open 'model.onnx': No such file or directory",
                [](const Folder& f) { fs::create_symlink("nowhere", f.model / "model.onnx"); }),
      file_case("link_loop", "cannot open 'model.onnx': Too many levels of symbolic links",
                [](const Folder& f) { fs::create_symlink("model.onnx", f.model / "model.onnx"); }),
      file_case(
          "below_a_file", "cannot open 'file/model.onnx': Not a directory",
          [](const Folder& f) { f.write("file", "x"); }, "file/model.onnx"),
      file_case("name_too_long", "File name too long", nothing, std::string(5000, 'a') + ".onnx"),
      file_case("no_name", "MODEL: the value is empty", nothing, ""),
      file_case("control_characters_in_file_name", "cannot open 'a\\x0ab\\x1b[31m.onnx'", nothing,
                "a\nb\x1b[31m.onnx"),
      file_case("three_gib_of_zeros", "not an ONNX model: no protobuf field starts here",
                [](const Folder& f) { sparse(f.model / "model.onnx", "", 3 * kGiB); }),
      file_case("three_gib_after_a_model",
                "the ONNX model is truncated or damaged at byte 53: no protobuf field",
                [](const Folder& f) {
                  sparse(f.model / "model.onnx", bytes_of(relu_model()), 3 * kGiB);
                }),
      file_case("three_gib_in_one_graph",
                "the ONNX model has 3221225472 bytes and protobuf reads 2 GiB at most;",
                [](const Folder& f) {
                  // ir_version, then a graph of 3 GiB - 8.
                  const std::string start("\x08\x08\x3a\xf8\xff\xff\xff\x0b", 8);
                  sparse(f.model / "model.onnx", start, 3 * kGiB);
                }),
      file_case("a_terabyte_of_nothing", "model.onnx",
                [](const Folder& f) {
                  sparse(f.model / "model.onnx", bytes_of(relu_model()), 1024 * kGiB);
                }),
      file_case("popef_missing", "cannot open 'model.popef': No such file or directory", nothing,
                "model.popef"),
      file_case(
          "popef_folder", "cannot read 'model.popef': expected a regular file, found a directory",
          [](const Folder& f) { fs::create_directory(f.model / "model.popef"); }, "model.popef"),
      file_case(
          "popef_fifo", "cannot read 'model.popef': expected a regular file, found a device,",
          [](const Folder& f) { mkfifo((f.model / "model.popef").c_str(), 0600); }, "model.popef"),
      {"link_to_a_model", "",
       [](const Folder& f) {
         f.write("real.onnx", bytes_of(relu_model()));
         fs::create_symlink("real.onnx", f.model / "model.onnx");
       },
       Outcome::accepted},
  };
}

}  // namespace poprt::hostile
