// PopEF files of every kind that the compiler writes. The number of a case selects the damage:
// bits, bytes and words outside of the weights, and files that end early. Some files stay valid.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <random>
#include <stdexcept>

#include "case.h"

namespace poprt::hostile {
namespace {

using Words = std::vector<std::string>;

struct Kind {
  std::string name;
  Words words;  // arguments of poprt
};

const std::string kDigits = POPRT_EXAMPLES "/digits/digits.onnx",
                  kEncoder = POPRT_EXAMPLES "/packing/encoder.onnx";

Words digits(const std::string& shapes, const Words& more = {}) {
  Words words = {"-i", kDigits, "--input_shape", "image=" + shapes};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"plain", digits("2,1,8,8")},
      {"halves", digits("2,1,8,8", {"--precision", "fp16"})},
      {"quarters", digits("2,1,8,8", {"--precision", "fp8_weight"})},
      {"faithful", digits("2,1,8,8", {"--numerics", "faithful"})},
      {"buckets", digits("1,1,8,8/2,1,8,8/4,1,8,8")},
      {"sharded",
       digits("2,1,8,8", {"--compiler_options", "num_ipus=2", "virtual_graph_mode=auto"})},
      {"pipelined",
       digits("2,1,8,8", {"--compiler_options", "num_ipus=3", "virtual_graph_mode=auto",
                          "enable_pipelining=True", "batches_per_step=3"})},
      {"overlapped",
       digits("2,1,8,8", {"--compiler_options", "batches_per_step=4", "num_io_tiles=32"})},
      {"packed", {"-i", kEncoder, "--pack_args", "max_valid_num=8", "segment_max_size=16"}},
      {"masked", {"-i", kEncoder, "--passes", "insert_attention_mask"}},
      {"fused", {"--config_yaml", "fused.yaml"}},
  };
  return all;
}

// Compiles the file with the command line tool in a temporary folder. Returns its bytes.
std::string compiled(const Kind& kind) {
  std::string pattern = (fs::temp_directory_path() / "poprt_damaged_XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
  const fs::path folder = pattern;
  std::ofstream(folder / "fused.yaml")
      << "model_fusion:\n  - input_model: " << kDigits
      << "\n    input_shape: image=1,1,8,8\n  - input_model: " << kEncoder << "\n";
  const char* bin = std::getenv("POPRT_BIN");
  Words words = {std::string(bin ? bin : POPRT_BIN) + "/poprt", "--export_popef"};
  words.insert(words.end(), kind.words.begin(), kind.words.end());
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    const int null = open("/dev/null", O_WRONLY);
    if (chdir(folder.c_str()) != 0 || dup2(null, 1) != 1) _exit(125);
    execv(argv[0], argv.data());
    _exit(126);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  std::ifstream file(folder / "executable.popef", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  fs::remove_all(folder);
  if (status != 0 || bytes.empty()) throw std::runtime_error("cannot compile kind " + kind.name);
  return bytes;
}

const std::string& bytes_of_kind(const Kind& kind) {
  static std::map<std::string, std::string> made;
  const auto found = made.find(kind.name);
  return found != made.end() ? found->second
                             : made.emplace(kind.name, compiled(kind)).first->second;
}

// The ranges in which a file is damaged: the whole file, the headers of blobs, and the headers and
// programs of executables (core/popef/FORMAT.md).
std::vector<std::pair<size_t, size_t>> places_of(const std::string& bytes) {
  std::vector<std::pair<size_t, size_t>> places = {{0, bytes.size()}};
  const auto add = [&](size_t begin, uint64_t size) {
    if (begin < bytes.size())
      places.emplace_back(begin, std::min<uint64_t>(bytes.size(), begin + size));
  };
  for (size_t at = 0; (at = bytes.find("PopEF", at)) != std::string::npos; at++) add(at, 512);
  const std::string tag("poprt program\0", 14);
  for (size_t at = 0; (at = bytes.find(tag, at)) != std::string::npos; at++) {
    uint64_t program[2];
    if (at + 128 > bytes.size()) break;
    std::memcpy(program, bytes.data() + at + 24, sizeof program);
    for (int often = 0; often < 3; often++) {
      add(at, 128);
      add(at + program[0], program[1]);
    }
  }
  return places;
}

void damage(std::string& bytes, std::mt19937& rng) {
  const auto places = places_of(bytes);
  constexpr uint64_t kWords[] = {0,
                                 1,
                                 64,
                                 uint64_t{1} << 31,
                                 UINT32_MAX,
                                 uint64_t{1} << 40,
                                 INT64_MAX,
                                 uint64_t{1} << 63,
                                 UINT64_MAX - 63,
                                 UINT64_MAX};
  for (unsigned left = 1 + rng() % 3; left-- > 0;) {
    const auto [begin, end] = places[rng() % places.size()];
    if (begin >= bytes.size()) continue;
    size_t at = begin + rng() % (std::min(end, bytes.size()) - begin);
    uint64_t word = kWords[rng() % std::size(kWords)];
    switch (rng() % 8) {
      case 0:
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ 1 << rng() % 8); break;
      case 2: bytes[at] = static_cast<char>(rng()); break;
      case 3:
        at -= at % 4;
        if (at + 4 <= bytes.size()) std::memcpy(bytes.data() + at, &word, 4);
        break;
      case 4:
      case 5:  // a word that becomes a little larger or smaller
        at -= at % 8;
        if (at + 8 > bytes.size()) break;
        std::memcpy(&word, bytes.data() + at, 8);
        word += (rng() % 2 ? 1 : UINT64_MAX) * (rng() % 2 ? 64 : 1);
        std::memcpy(bytes.data() + at, &word, 8);
        break;
      case 6:
        at -= at % 8;
        if (at + 8 <= bytes.size()) std::memcpy(bytes.data() + at, &word, 8);
        break;
      default:
        if (rng() % 4 == 0) bytes.resize(at);
    }
  }
}

}  // namespace

Cases damaged_cases() {
  constexpr unsigned kEach = 16;
  Cases cases;
  for (const Kind& kind : kinds())
    for (unsigned i = 0; i < kEach; i++)
      cases.push_back({"damaged_" + kind.name + "_" + std::to_string(i),
                       "",
                       [&kind, i](const Folder& f) {
                         std::string bytes = bytes_of_kind(kind);
                         std::mt19937 rng(i);
                         damage(bytes, rng);
                         f.write("model.popef", bytes);
                       },
                       Outcome::either,
                       {"model.popef", "--random"}});
  return cases;
}

}  // namespace poprt::hostile
