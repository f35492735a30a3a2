#include "poprt/shard_only.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/abi.h"
#include "common/output_path.h"
#include "poprt/convert.h"
#include "poprt/executable_path.h"
#include "poprt/output_folder.h"
#include "poprt/source.h"

namespace poprt::cli {

namespace fs = std::filesystem;

namespace {

// Writes the complete file or none.
void write_whole(const fs::path& name, const std::string& bytes) {
  const fs::path path = resolve_links(name), temporary = path.string() + ".part";
  std::ofstream file(temporary, std::ios::binary);
  file << bytes;
  file.close();
  std::error_code error;
  if (file) fs::rename(temporary, path, error);
  if (file && !error) return;
  fs::remove(temporary, error);
  throw Failure(fmt::format("cannot write '{}'", path.string()));
}

}  // namespace

void shard_only(const GivenOptions& given) {
  const Source source(given);
  const fs::path input = source.path();
  MadeFolder made(given.text("output_dir", "./"));
  const std::string path = converted_path(given, input.string());
  require_separate_files(given, {input.string()}, path, {});
  require_same_onnx(given, path, {input.string()}, false);
  std::ifstream file(input, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file || bytes.empty()) throw Failure(fmt::format("cannot read '{}'", input.string()));
  const std::string devices = given.joined("sharding_info"),
                    stages = given.joined("pipelining_info");
  std::vector<poprt_option> arguments;
  if (!devices.empty()) arguments.push_back({"sharding_info", devices.c_str()});
  if (!stages.empty()) arguments.push_back({"pipelining_info", stages.c_str()});
  const poprt_pass_call call{"manual_sharding", arguments.data(), arguments.size()};
  const fs::path folder = input.parent_path().empty() ? fs::path(".") : input.parent_path();
  poprt_string* made_model = nullptr;
  check(poprt_model_apply_passes(bytes.data(), bytes.size(), folder.c_str(), &call, 1, nullptr,
                                 &made_model));
  write_whole(path, take(made_model));
  made.keep();
  fmt::print("sharded model: {}\n", path);
}

}  // namespace poprt::cli
