#include "runtime/session/executable_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/temporaries.h"
#include "popef/error.h"
#include "popef/model.h"
#include "popef/types.h"
#include "popef/writer.h"
#include "runtime/session/popef_file.h"

namespace poprt::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOpaqueName = "poprt.cache";
constexpr std::string_view kWarnings = "poprt.warnings";  // each is followed by a zero byte

// The contents of the opaque blob.
std::string note(const CacheKey& key, uint64_t sum) {
  return fmt::format("{}\n{}\n{:016x}\n", key.hash, key.description, sum);
}

bool is_entry(const fs::path& path) {
  const std::string stem = path.stem().string();
  return path.extension() == ".popef" && stem.size() == 64 &&
         stem.find_first_not_of("0123456789abcdef") == stem.npos;
}

std::string read_blob(const popef::Reader& reader, std::string_view name) {
  for (const popef::OpaqueReader& o : reader.opaqueBlobs())
    if (o.name == name) {
      const popef::Payload p = o.payload();
      return {reinterpret_cast<const char*>(p.bytes.data()), p.bytes.size()};
    }
  return {};
}

std::vector<std::string> read_warnings(const popef::Reader& reader) {
  std::vector<std::string> warnings;
  std::istringstream text(read_blob(reader, kWarnings));
  for (std::string warning; std::getline(text, warning, '\0');) warnings.push_back(warning);
  return warnings;
}

std::string line_of(const std::string& text, size_t number) {
  size_t at = 0;
  for (; number > 0 && at < text.size(); number--) {
    const size_t end = text.find('\n', at);
    at = end == text.npos ? text.size() : end + 1;
  }
  return text.substr(at, std::min(text.find('\n', at), text.size()) - at);
}

// Returns the reason not to use a file of `owner`, or an empty text.
std::string foreign(uid_t owner, const fs::path& path) {
  if (owner == ::geteuid() || owner == 0) return {};
  return fmt::format(
      "cache file '{}' belongs to user {}, not to user {} of this process; remove it or choose "
      "another folder",
      path.string(), owner, ::geteuid());
}

// Returns the reason why another user may have made the entry, or may have replaced it, or an empty
// text. An executable decides what a program computes, and the writer of a file can also write its
// checksum.
std::string distrust(const fs::path& folder, const fs::path& path) {
  struct stat info{};
  if (::stat(folder.empty() ? "." : folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
      (info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0)
    return fmt::format(
        "every user can write to the cache folder '{}'; forbid it (chmod o-w) or choose another "
        "folder",
        folder.string());
  return ::lstat(path.c_str(), &info) == 0 ? foreign(info.st_uid, path) : std::string();
}

void warn_unusable(const fs::path& path, const std::exception& e) {
  log().warn("cache file '{}' cannot be used, making it again: {}", path.string(), e.what());
}

// Maps an entry. Returns null if there is none or, with a warning, if the system cannot open it or
// if another user may have made it. The owner is that of the mapped file, because the path may name
// another file after a check.
std::shared_ptr<const MappedFile> map_own(const fs::path& folder, const fs::path& path) {
  std::string reason = distrust(folder, path);
  if (reason.empty()) try {
      std::error_code error;
      if (!fs::exists(path, error)) return nullptr;
      auto file = MappedFile::open(path);
      reason = foreign(file->owner(), path);
      if (reason.empty()) return file;
    } catch (const Error& e) {
      warn_unusable(path, e);
      return nullptr;
    }
  log().warn("the cache is not used: {}", reason);
  return nullptr;
}

// Creates the folder if it is missing. Every user could write to it if the umask permitted that,
// and then distrust() would refuse it. Throws permission_denied, or invalid_argument.
void make_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::create_directories(folder, error))
    fs::permissions(folder, fs::perms::others_write, fs::perm_options::remove, error);
  if (error)
    fail(error == std::errc::permission_denied ? ErrorCode::permission_denied
                                               : ErrorCode::invalid_argument,
         "the folder cannot be made: {}", error.message());
}

}  // namespace

// Every word passes through invertible steps in its lane, so a single changed word always changes
// the result.
uint64_t content_checksum(std::span<const std::byte> bytes) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  constexpr size_t kBlock = 64;
  std::array<uint64_t, 8> lanes{1, 2, 3, 4, 5, 6, 7, 8};
  const auto add = [&](const std::array<uint64_t, 8>& words) {
    for (size_t i = 0; i < 8; i++) lanes[i] = std::rotl((lanes[i] ^ words[i]) * kOdd, 29);
  };
  const size_t whole = bytes.size() / kBlock * kBlock;
  std::array<uint64_t, 8> words{};
  // The compiler keeps the lanes in registers because each copy has a constant size.
  for (size_t at = 0; at < whole; at += kBlock) {
    std::memcpy(words.data(), bytes.data() + at, kBlock);
    add(words);
  }
  if (whole < bytes.size()) {
    words = {};
    std::memcpy(words.data(), bytes.data() + whole, bytes.size() - whole);
    add(words);
  }
  uint64_t sum = bytes.size();
  for (const uint64_t lane : lanes) sum = std::rotl((sum ^ lane) * kOdd, 31);
  return sum;
}

std::optional<fs::path> user_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/') return fs::path(cache) / "poprt";
  const char* home = std::getenv("HOME");
  if (home && *home == '/') return fs::path(home) / ".cache/poprt";
  return std::nullopt;
}

std::optional<fs::path> cache_folder_of_environment() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value ? value : "");
  };
  const fs::path popxl = variable("POPXL_CACHE_DIR"), popart = variable("POPART_CACHE_DIR");
  if (!popxl.empty() && !popart.empty() && popxl != popart)
    log().warn("POPXL_CACHE_DIR '{}' is used, POPART_CACHE_DIR '{}' is not", popxl.string(),
               popart.string());
  if (popxl.empty() && popart.empty()) return std::nullopt;
  return popxl.empty() ? popart : popxl;
}

std::optional<fs::path> default_cache_folder() {
  if (auto folder = cache_folder_of_environment()) return folder;
  return user_cache_folder();
}

fs::path ExecutableCache::path_of(const CacheKey& key) const {
  return folder_ / (key.hash + ".popef");
}

std::shared_ptr<const Model> ExecutableCache::find(const CacheKey& key,
                                                   std::vector<std::string>* warnings) const {
  const fs::path path = path_of(key);
  const auto file = map_own(folder_, path);
  if (!file) return nullptr;
  try {
    auto reader = std::make_shared<popef::Reader>();
    reader->parseMemory(file->bytes(), file, path.string());
    const auto model = popef::ModelBuilder(reader).createModel();
    const std::string note_text = read_blob(*reader, kOpaqueName);
    if (line_of(note_text, 0) != key.hash || line_of(note_text, 1) != key.description ||
        model->executable.name != key.name) {
      log().warn("cache file '{}' was made from something else ({}), making it again",
                 path.string(), line_of(note_text, 1));
      return nullptr;
    }
    const popef::Payload payload = model->executable.payload();
    if (note_text != note(key, content_checksum(payload.bytes))) {
      log().warn("cache file '{}' is damaged: its checksum is wrong, making it again",
                 path.string());
      return nullptr;
    }
    auto opened = open_payload(key.name, payload.bytes, payload.owner);
    if (warnings) *warnings = read_warnings(*reader);
    std::error_code error;
    fs::last_write_time(path, fs::file_time_type::clock::now(), error);
    log().info("using the executable in cache file '{}'", path.string());
    return opened;
  } catch (const std::exception& e) {
    warn_unusable(path, e);
    return nullptr;
  }
}

namespace {

// Returns an input or output whose type PopEF cannot describe, or null.
const program::Anchor* anchor_without_type(const program::Program& program) {
  for (const auto* anchors : {&program.inputs, &program.outputs})
    for (const program::Anchor& a : *anchors) try {
        static_cast<void>(popef::data_type_of(a.dtype));
      } catch (const popef::SizeError&) {
        return &a;
      }
  return nullptr;
}

}  // namespace

bool ExecutableCache::store(const CacheKey& key, std::span<const std::byte> payload,
                            const std::vector<std::string>& warnings) const noexcept {
  try {
    if (!distrust(folder_, path_of(key)).empty()) return false;  // find() has warned
    const program::LoadedProgram loaded = program::read_executable(payload, nullptr);
    // The user cannot act on it, so it is not a warning.
    if (const program::Anchor* a = anchor_without_type(loaded.program)) {
      log().info("'{}' is not cached, because PopEF has no data type for {} of '{}'", key.name,
                 dtype_name(a->dtype), a->name);
      return false;
    }
    make_folder(folder_);
    popef::FileWriter writer(path_of(key).string());
    writer.write(make_metadata(key.name, loaded.program));
    const std::string note_text = note(key, content_checksum(payload));
    writer.createOpaqueBlob(std::string(kOpaqueName), key.name)
        ->write(note_text.data(), note_text.size());
    std::string text;
    for (const std::string& warning : warnings) text.append(warning).push_back('\0');
    if (!text.empty())
      writer.createOpaqueBlob(std::string(kWarnings), key.name)->write(text.data(), text.size());
    writer.createExecutable(key.name)->write(payload.data(), payload.size());
    writer.close();
    log().info("wrote cache file '{}'", path_of(key).string());
    return true;
  } catch (const std::exception& e) {
    log().warn("cannot write to the cache '{}': {}; POPXL_CACHE_DIR names another folder",
               folder_.string(), e.what());
    return false;
  }
}

std::vector<CacheEntry> ExecutableCache::list() const {
  std::vector<CacheEntry> entries;
  std::error_code error;
  const fs::directory_iterator folder(folder_, error);
  if (error == std::errc::no_such_file_or_directory) return entries;
  if (error)
    fail(error == std::errc::permission_denied ? ErrorCode::permission_denied
                                               : ErrorCode::invalid_argument,
         "cannot list the cache '{}': {}", folder_.string(), error.message());
  for (const fs::directory_entry& file : folder) {
    if (!is_entry(file.path()) || !file.is_regular_file(error)) continue;
    CacheEntry entry{file.path(), file.file_size(error), {}, {}};
    if (!error) entry.last_used = file.last_write_time(error);
    if (error) continue;  // removed by another process
    try {
      popef::Reader reader;
      reader.parseFile(file.path().string());
      entry.description = line_of(read_blob(reader, kOpaqueName), 1);
    } catch (const Error&) {
      // It is listed nevertheless, so that it can be pruned.
    }
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
    return std::tie(a.last_used, a.path) < std::tie(b.last_used, b.path);
  });
  return entries;
}

ExecutableCache::Pruned ExecutableCache::prune(const Limits& limits) const {
  const std::vector<CacheEntry> entries = list();
  const auto now = fs::file_time_type::clock::now();
  uint64_t left = 0;
  for (const CacheEntry& e : entries) left += e.bytes;
  Pruned pruned;
  std::error_code error;
  for (const CacheEntry& e : entries) {
    const bool all = !limits.max_bytes && !limits.max_age;
    // Compares seconds, because a large limit does not fit into the nanoseconds of file times.
    const bool old = limits.max_age &&
                     std::chrono::ceil<std::chrono::seconds>(now - e.last_used) > *limits.max_age;
    const bool large = limits.max_bytes && left > *limits.max_bytes;
    if (!all && !old && !large) continue;
    const bool removed = fs::remove(e.path, error);
    if (error) {  // it still exists, so its bytes count
      if (pruned.failed++ == 0)
        pruned.reason = fmt::format("'{}': {}", e.path.string(), error.message());
      continue;
    }
    left -= e.bytes;
    if (!removed) continue;  // another process has removed it
    pruned.files++;
    pruned.bytes += e.bytes;
  }
  sweep_temporaries(folder_);
  return pruned;
}

}  // namespace poprt::runtime
