// Runs every case of the corpus as a user would: in a separate process, with a model in a folder.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>

#include "case.h"
#include "support/sanitized.h"

namespace poprt::hostile {
namespace {

constexpr long kMostMemory = POPRT_TEST_SANITIZED ? 4 << 20 : 768 << 10;  // KiB
constexpr unsigned kMostSeconds = 120;  // far more than any case needs; then the process is killed

std::string tool(const char* name = "poprt_exec") {
  const char* folder = std::getenv("POPRT_BIN");
  return std::string(folder ? folder : POPRT_BIN) + "/" + name;
}

struct Result {
  int status = 0;
  std::string error;
  long memory = 0;  // KiB at the peak
};

std::string contents(int fd) {
  std::string text(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return text;
}

// An allocation that fails returns null, as malloc does.
constexpr const char* kAsan = "allocator_may_return_null=1";
// OpenGL drivers keep memory until the process ends, so leaks are not detected.
constexpr const char* kAsanOfDrivers = "allocator_may_return_null=1:detect_leaks=0";

Result run(const fs::path& folder, std::vector<std::string> words, const char* asan = kAsan) {
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  setenv("ASAN_OPTIONS", asan, 1);
  const int error = memfd_create("stderr", 0);
  // fork() would copy the page tables of all cases that are in memory; vfork() shares them until
  // the program starts.
  const pid_t pid = vfork();
  if (pid == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    const int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    dup2(error, 2);
    if (chdir(folder.c_str()) != 0) _exit(125);
    alarm(kMostSeconds);
    execv(argv[0], argv.data());
    _exit(126);
  }
  Result result;
  rusage usage{};
  EXPECT_EQ(wait4(pid, &result.status, 0, &usage), pid);
  result.memory = usage.ru_maxrss;
  result.error = contents(error);
  close(error);
  // AddressSanitizer reports refused memory in this way.
  result.error = std::regex_replace(
      result.error, std::regex("==[0-9]+==WARNING: AddressSanitizer failed to allocate[^\n]*\n"),
      "");
  return result;
}

// Returns every file below `root` with its size and the time of its last change.
std::map<std::string, std::string> listing(const fs::path& root) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    struct stat s{};
    lstat(entry.path().c_str(), &s);
    files[entry.path().string()] = std::to_string(s.st_size) + " " +
                                   std::to_string(s.st_mtim.tv_sec) + "." +
                                   std::to_string(s.st_mtim.tv_nsec);
  }
  return files;
}

// Collects the names of the files directly in a folder that are opened, read, changed or created.
class Watch {
 public:
  explicit Watch(const fs::path& folder)
      : watch_(inotify_add_watch(events(), folder.c_str(),
                                 IN_OPEN | IN_ACCESS | IN_MODIFY | IN_CREATE)) {
    EXPECT_GE(watch_, 0);
  }
  ~Watch() { inotify_rm_watch(events(), watch_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  std::string touched() {
    alignas(inotify_event) char buffer[4096];
    std::string names;
    for (ssize_t n; (n = ::read(events(), buffer, sizeof buffer)) > 0;)
      for (char* p = buffer; p < buffer + n;) {
        const auto* event = reinterpret_cast<const inotify_event*>(p);
        // An event without a name is about the folder itself, which may be listed.
        if (event->wd == watch_ && event->len)
          names += std::string(names.empty() ? "" : ", ") + event->name;
        p += sizeof(inotify_event) + event->len;
      }
    return names;
  }

 private:
  // One descriptor serves all cases, because the kernel takes 16 ms to close one that has had a
  // watch.
  static int events() {
    static const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    return fd;
  }

  int watch_;
};

// A temporary folder for one case. The destructor removes it.
class Sandbox {
 public:
  Sandbox() {
    std::string pattern = (fs::temp_directory_path() / "poprt_hostile_XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
    root = pattern;
    folder = {root / "model", root / "outside"};
    fs::create_directory(folder.model);
    fs::create_directory(folder.outside);
    std::ofstream(folder.outside / "secret.bin", std::ios::binary) << std::string(4096, 'S');
  }
  ~Sandbox() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  fs::path root;
  Folder folder;
};

bool one_clean_line(const std::string& text) {
  return !text.empty() && text.back() == '\n' &&
         std::none_of(text.begin(), text.end() - 1,
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

void check(const Case& c) {
  SCOPED_TRACE(c.name);
  const Sandbox box;
  c.make(box.folder);
  const auto before = listing(box.root);
  Watch watch(box.folder.outside);
  std::vector<std::string> words = {tool(), "run"};
  words.insert(words.end(), c.arguments.begin(), c.arguments.end());
  const Result result = run(box.folder.model, std::move(words));
  const std::string touched = watch.touched();
  if (std::getenv("POPRT_HOSTILE_PRINT"))  // for authors of cases
    printf("%s\t%d\t%ld\t%s", c.name.c_str(), result.status, result.memory,
           result.error.empty() ? "\n" : result.error.c_str());

  ASSERT_TRUE(WIFEXITED(result.status)) << "signal " << WTERMSIG(result.status) << "\n"
                                        << result.error;
  const int code = WEXITSTATUS(result.status);
  if (c.outcome == Outcome::accepted || (c.outcome == Outcome::either && code == 0)) {
    EXPECT_EQ(code, 0) << result.error;
    EXPECT_EQ(result.error, "");
  } else if (c.outcome == Outcome::warned) {
    EXPECT_EQ(code, 0) << result.error;
    EXPECT_TRUE(one_clean_line(result.error)) << result.error;
    EXPECT_NE(result.error.find(c.error), std::string::npos) << result.error;
  } else {
    EXPECT_TRUE(code >= 1 && code <= 123) << "exit code " << code << "\n" << result.error;
    EXPECT_TRUE(one_clean_line(result.error)) << result.error;
    EXPECT_NE(result.error.find(c.error), std::string::npos)
        << "expected '" << c.error << "' in: " << result.error;
    EXPECT_EQ(result.error.find("bad_alloc"), std::string::npos) << result.error;
    EXPECT_LE(result.error.size(), 2000u);
    EXPECT_EQ(listing(box.root), before) << "something was written";
  }
  EXPECT_LE(result.memory, kMostMemory);
  EXPECT_EQ(touched, "") << "outside of the model's folder";
}

class Hostile : public testing::TestWithParam<Case> {};

TEST_P(Hostile, EndsAsExpected) { check(GetParam()); }

std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

// Creates each list once, because creating some cases takes as long as running them.
const Cases& cases_of(Cases (*list)()) {
  static std::map<Cases (*)(), Cases> all;
  const auto [it, fresh] = all.try_emplace(list);
  if (fresh) it->second = list();
  return it->second;
}

#define CORPUS(Name, cases) \
  INSTANTIATE_TEST_SUITE_P(Name, Hostile, testing::ValuesIn(cases_of(cases)), name_of)
CORPUS(Wire, wire_cases);
CORPUS(Header, header_cases);
CORPUS(Graph, graph_cases);
CORPUS(Functions, function_cases);
CORPUS(Attributes, attribute_cases);
CORPUS(Values, value_cases);
CORPUS(Payloads, payload_cases);
CORPUS(ExternalData, external_data_cases);
CORPUS(Bombs, bomb_cases);
CORPUS(Contrib, contrib_cases);
CORPUS(Declared, declared_cases);
CORPUS(Places, place_cases);
CORPUS(Quantised, quantised_cases);
CORPUS(Files, file_cases);
CORPUS(Npy, npy_cases);
CORPUS(Popef, popef_cases);
CORPUS(Damaged, damaged_cases);
CORPUS(Controls, control_cases);

const Cases& all_cases() {
  static const Cases all = [] {
    Cases together;
    for (const auto list :
         {wire_cases, header_cases, graph_cases, function_cases, attribute_cases, value_cases,
          payload_cases, external_data_cases, bomb_cases, contrib_cases, declared_cases,
          place_cases, quantised_cases, file_cases, popef_cases, damaged_cases, control_cases})
      together.insert(together.end(), cases_of(list).begin(), cases_of(list).end());
    return together;
  }();
  return all;
}

// The models of the inspector show the valid parts of a file, or refuse it with an error of one
// line.
class Inspected : public testing::TestWithParam<Case> {};

TEST_P(Inspected, ShowsOrRefuses) {
  const Case& c = GetParam();
  if (c.arguments.empty()) GTEST_SKIP() << "it has no file";
  const Sandbox box;
  c.make(box.folder);
  const auto before = listing(box.root);
  Watch watch(box.folder.outside);
  const Result result =
      run(box.folder.model, {tool(), "inspect", c.arguments[0], "--view", "all", "--json"});
  ASSERT_TRUE(WIFEXITED(result.status)) << "signal " << WTERMSIG(result.status) << "\n"
                                        << result.error;
  const int code = WEXITSTATUS(result.status);
  EXPECT_LE(code, 123) << result.error;
  // The output may include warnings of the importer.
  EXPECT_TRUE(code == 0 || one_clean_line(result.error)) << result.error;
  EXPECT_EQ(result.error.find("bad_alloc"), std::string::npos) << result.error;
  EXPECT_LE(result.memory, kMostMemory);
  EXPECT_EQ(watch.touched(), "") << "outside of the model's folder";
  EXPECT_EQ(listing(box.root), before) << "something was written";
}
INSTANTIATE_TEST_SUITE_P(All, Inspected, testing::ValuesIn(all_cases()), name_of);

// Opens the files of many cases in tabs of the inspector itself, without a display.
TEST(InspectorProgram, OpensTheWholeCorpus) {
  if (!fs::exists(tool("poprt-inspector"))) GTEST_SKIP() << "there is no poprt-inspector";
  constexpr size_t kTabs = 64;
  const Cases& cases = all_cases();
  for (size_t first = 0; first < cases.size(); first += kTabs) {
    std::vector<std::unique_ptr<Sandbox>> boxes;
    const Sandbox own;
    std::vector<std::string> words = {tool("poprt-inspector"), "--view",
                                      first / kTabs % 2 ? "program" : "graph", "--screenshot",
                                      (own.root / "picture.png").string()};
    for (size_t i = first; i < std::min(cases.size(), first + kTabs); i++) {
      if (cases[i].arguments.empty()) continue;
      boxes.push_back(std::make_unique<Sandbox>());
      cases[i].make(boxes.back()->folder);
      words.push_back((boxes.back()->folder.model / cases[i].arguments[0]).string());
    }
    const Result result = run(own.folder.model, std::move(words), kAsanOfDrivers);
    ASSERT_TRUE(WIFEXITED(result.status))
        << "signal " << WTERMSIG(result.status) << ", cases from " << cases[first].name << " on\n"
        << result.error;
    // If a model is refused, the program prints a line, and the picture shows the error.
    const bool refused = result.error.find("poprt-inspector: ") != std::string::npos;
    EXPECT_EQ(WEXITSTATUS(result.status), refused ? 1 : 0) << result.error;
    EXPECT_TRUE(fs::exists(own.root / "picture.png"))
        << "cases from " << cases[first].name << " on";
  }
}

TEST(HostileCorpus, HasFourHundredCasesWithUniqueNames) {
  std::set<std::string> names;
  size_t count = 0;
  Cases cases = all_cases();
  for (const Case& c : cases_of(npy_cases)) cases.push_back(c);
  for (const Case& c : cases) {
    names.insert(c.name);
    count += c.outcome == Outcome::rejected;
  }
  EXPECT_GE(count, 400u);
  EXPECT_GE(names.size(), count);
}

// Rules that a loader must keep for every file. Each test only checks that the cases exist which
// would fail if the rule were broken; the cases run with their lists.
void expect_cases(std::initializer_list<const char*> names) {
  for (const char* name : names)
    EXPECT_TRUE(std::ranges::any_of(all_cases(), [&](const Case& c) { return c.name == name; }))
        << name;
}

TEST(LoaderRules, ParsingIsBoundedInDepthAndLength) {
  expect_cases({"graphs_nested_20000_deep", "types_nested_20000_deep", "length_2_to_64",
                "varint_of_eleven_bytes", "groups_inside", "trailing_zeros"});
  expect_cases({"three_gib_in_one_graph"});
}

TEST(LoaderRules, SizesAreCheckedEvenWhenUnused) {
  expect_cases({"dimensions_wrap_to_4", "dimensions_overflow_beside_0",
                "dimension_negative_and_unused", "bytes_overflow"});
  expect_cases({"conv_pads_overflow"});
  expect_cases({"offset_and_length_overflow"});
}

TEST(LoaderRules, ATensorHasOnePayloadOfItsSize) {
  expect_cases({"raw_and_typed", "two_typed_fields", "raw_data_too_short", "raw_data_too_long",
                "u4_too_short", "u4_too_long"});
  expect_cases({"file_and_raw_data"});
}

TEST(LoaderRules, ExternalDataStaysInTheFolderInEveryPlace) {
  expect_cases({"location_is_a_device", "location_is_proc", "location_has_a_zero_byte"});
  for (const char* way : {"_goes_up", "_is_a_symbolic_link", "_is_a_fifo", "_is_a_hard_link"}) {
    const auto places = std::ranges::count_if(cases_of(external_data_cases),
                                              [&](const Case& c) { return c.name.ends_with(way); });
    EXPECT_GE(places, 4) << way;
  }
}

TEST(LoaderRules, SortingIsIterativeAndInliningHasABudget) {
  expect_cases({"chain_of_60000_nodes"});
  expect_cases({"cycle_of_60000", "cycle_of_three"});
  expect_cases({"functions_double_40_times", "functions_nest_1000_deep"});
  expect_cases({"doubling_constants_40_times"});
}

TEST(LoaderRules, MemoryIsEstimatedBeforeItIsTaken) {
  expect_cases({"constant_of_shape_of_terabytes", "expand_to_terabytes",
                "outer_product_of_terabytes", "input_of_terabytes"});
}

TEST(LoaderRules, IndicesAndDivisorsAreChecked) {
  expect_cases({"gather_past_the_end", "gather_elements_past_the_end", "gather_nd_past_the_end",
                "scatter_nd_past_the_end", "indices_out_of_range_at_run_time",
                "gather_nd_indices_at_run_time", "integer_division_of_constants_by_0",
                "smallest_integer_divided_by_minus_1", "integer_remainder_by_0_at_run_time"});
  expect_cases({"quantize_scale_count", "quantize_zero_point_count"});
}

TEST(LoaderRules, ErrorsAreOneLineThatNamesTheCulprit) {
  expect_cases({"control_characters_in_node_name", "control_characters_in_operator",
                "control_characters_in_value_name", "format_characters_in_names",
                "operator_name_of_a_megabyte"});
  expect_cases({"control_characters_in_file_name"});
  expect_cases({"control_characters_in_tensor_name"});
}

}  // namespace

// Lets GoogleTest print the name of a case instead of its bytes.
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

}  // namespace poprt::hostile
