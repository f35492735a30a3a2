#include "kept_conversion.h"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>

#include "base/error.h"
#include "onnx/model_hash.h"

namespace poprt::capi {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kSettled = 2 * kSecond;  // the coarsest resolution of file times

int64_t nanoseconds(const timespec& t) { return t.tv_sec * kSecond + t.tv_nsec; }

}  // namespace

std::optional<Stamps::Stamp> Stamps::stamp_of(const std::string& path) {
  struct stat s = {};
  if (::stat(path.c_str(), &s) != 0) return std::nullopt;
  return Stamp{path,
               static_cast<uint64_t>(s.st_dev),
               static_cast<uint64_t>(s.st_ino),
               static_cast<uint64_t>(s.st_size),
               nanoseconds(s.st_mtim),
               nanoseconds(s.st_ctim)};
}

std::optional<Stamps> Stamps::of(const std::string& path, bool allow_links, bool copy) {
  std::vector<std::string> paths;
  try {
    const std::filesystem::path model = path;
    for (const onnx::ModelFile& f : onnx::open_model_files(model, allow_links, copy))
      paths.push_back(f.location.empty() ? path : (model.parent_path() / f.location).string());
  } catch (const Error&) {
    return std::nullopt;
  }
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  Stamps made;
  for (const std::string& file : paths) {
    const auto stamp = stamp_of(file);
    if (!stamp || now - stamp->changed < kSettled) return std::nullopt;
    made.list_.push_back(*stamp);
  }
  return made;
}

bool Stamps::are_current() const {
  for (const Stamp& before : list_)
    if (stamp_of(before.path) != before) return false;
  return true;
}

}  // namespace poprt::capi
