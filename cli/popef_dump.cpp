// popef_dump: prints the contents of a PopEF file.
#include <fmt/format.h>

#include <optional>

#include "common/arguments.h"
#include "common/file_signals.h"
#include "common/interrupt.h"
#include "common/waiting.h"
#include "common/written_files.h"

namespace {

// Replaces characters that are not valid in file names.
std::string file_name(std::string name) {
  for (char& c : name)
    if (c == '/' || static_cast<unsigned char>(c) < 0x20) c = '_';
  return name == "." || name == ".." ? "_" : name;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace poprt::cli;
  hold_standard_streams();
  remove_temporaries_when_interrupted();
  handle_file_signals();
  std::string file, tensor, feed, executable, output;
  bool metadata = false, all = false, json = false, user_anchors = false, verify = false;
  Command app("Shows the contents of a PopEF file: a summary, or more.", "popef_dump");
  app.add_option("FILE", file, "PopEF file")->required();
  app.set_version_flag("-v,--version", versions());
  std::vector<Option*> modes = {
      app.add_flag("-m,--metadata", metadata, "Model metadata and anchors"),
      app.add_flag("--all", all, "Everything"),
      app.add_flag("--json", json, "Everything, as JSON"),
      app.add_flag("--user-anchors", user_anchors,
                   "The anchors for which the caller must provide data"),
      app.add_flag(
          "--verify", verify,
          "Check the checksums of all blobs; a difference is an error that names the blob"),
      app.add_option("--tensor", tensor, "Export the data of this tensor to a .npy file"),
      app.add_option("--feed", feed, "Export the tensors of this feed to a .npy file")};
  for (Option* mode : modes)
    for (Option* other : modes)
      if (mode != other) mode->excludes(other);
  app.add_option("--executable", executable,
                 "With --tensor or --feed: select the model with this executable");
  app.add_option("-o,--output", output,
                 "With --tensor or --feed: the file to write; default: NAME.npy");
  return guarded("popef_dump", [&] {
    if (const auto code = app.parse(argc, argv)) return *code;
    const std::string& name = tensor.empty() ? feed : tensor;
    if (name.empty() && !(executable.empty() && output.empty()))
      throw Usage("--executable and --output need --tensor or --feed");
    if (!name.empty()) {
      if (output.empty()) output = file_name(name) + ".npy";
      CommandFiles files;
      files.reads(file);
      files.writes(output, Contents::arrays, "--output");
      const auto export_data = tensor.empty() ? poprt_popef_export_feed : poprt_popef_export_tensor;
      check(export_data(file.c_str(), name.c_str(),
                        executable.empty() ? nullptr : executable.c_str(), output.c_str()));
      fmt::print("{}\n", output);
      return 0;
    }
    poprt_string* text = nullptr;
    std::optional<Waiting> waiting;
    if (verify) waiting.emplace("verify " + file);
    check(poprt_popef_dump(file.c_str(),
                           json           ? POPRT_POPEF_JSON
                           : all          ? POPRT_POPEF_ALL
                           : metadata     ? POPRT_POPEF_METADATA
                           : verify       ? POPRT_POPEF_VERIFY
                           : user_anchors ? POPRT_POPEF_USER_ANCHORS
                                          : POPRT_POPEF_SUMMARY,
                           &text));
    waiting.reset();
    fmt::print("{}", take(text));
    return 0;
  });
}
