// Finds, loads and initialises a shared library.
#include <dlfcn.h>
#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <span>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/fork_mutex.h"
#include "codecs/sha256.h"
#include "plugins/registration.h"

namespace poprt::plugins {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEntry = "poprt_plugin_entry";

// Closes a library that is not a plug-in.
struct Handle {
  void* raw = nullptr;
  ~Handle() {
    if (raw) dlclose(raw);
  }
};

std::string loader_message() {
  const char* why = dlerror();
  return why ? why : "unknown reason";
}

const poprt_plugin& plugin_of(void* handle) {
  const auto entry = reinterpret_cast<poprt_plugin_entry_fn>(dlsym(handle, kEntry));
  if (!entry)
    fail(ErrorCode::invalid_argument,
         "is not a plug-in of poprt: it does not export {} (use POPRT_PLUGIN of poprt/plugin.h)",
         kEntry);
  Report report;
  const poprt_plugin* plugin = nullptr;
  call(report, kEntry, [&] {
    plugin = entry();
    return POPRT_OK;
  });
  if (!plugin) fail(ErrorCode::invalid_argument, "{} returned null", kEntry);
  if (plugin->abi != POPRT_PLUGIN_ABI)
    fail(ErrorCode::failed_precondition,
         "was built for version {} of the plug-in ABI, this poprt has {}: build it again with its "
         "headers",
         plugin->abi, POPRT_PLUGIN_ABI);
  return *plugin;
}

// Refuses a library that is cut off. The loader maps its parts without reading them, and the first
// access to a missing page would end the process with SIGBUS.
void check_complete(const fs::path& path) {
  const auto file = MappedFile::open(path);
  const std::span<const std::byte> bytes = file->bytes();
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) return;  // dlopen() reports the fault
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return;
  const auto expect = [&](uint64_t offset, uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset)
      fail(ErrorCode::invalid_argument,
           "is a truncated shared library: it has {} bytes, a part needs {} at offset {}",
           bytes.size(), size, offset);
  };
  expect(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  for (size_t i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr part;
    std::memcpy(&part, bytes.data() + header.e_phoff + i * sizeof part, sizeof part);
    if (part.p_type == PT_LOAD) expect(part.p_offset, part.p_filesz);
  }
}

void load_file(const std::string& path, void (*check)(const poprt_plugin_contents&)) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) fail(ErrorCode::not_found, "cannot be found: {}", error.message());
  if (!fs::is_regular_file(real, error))
    fail(ErrorCode::invalid_argument, "is no shared library: it is no file");
  if (find_path(real.string())) return;
  check_complete(real);
  Handle handle{dlopen(real.c_str(), RTLD_NOW | RTLD_LOCAL)};
  if (!handle.raw)
    fail(ErrorCode::invalid_argument, "is no shared library that can be loaded: {}",
         loader_message());
  const poprt_plugin& plugin = plugin_of(handle.raw);
  // The library stays loaded from here on, because the registry refers to its code and data.
  handle.raw = nullptr;
  auto library = std::make_unique<Library>();
  library->path = real.string();
  library->hash = Sha256().add(MappedFile::open(real)->bytes()).finish();
  initialize(plugin, *library);
  if (check) check(library->contents());
  add(std::move(library));
}

}  // namespace

void load(const std::string& path, void (*check)(const poprt_plugin_contents& contents)) {
  // Plug-ins are loaded one at a time, because init() may rely on that.
  static constinit ForkMutex mutex;
  const std::lock_guard lock(mutex);
  if (mutex.abandoned())
    fail(
        ErrorCode::failed_precondition,
        "process {} was forked while another thread of its parent loaded a plug-in: it cannot load "
        "plug-ins",
        this_process());
  try {
    load_file(path, check);
  } catch (const Error& e) {
    // The argument of load() is a path, so an invalid argument inside is an error of the file.
    const bool in_file = e.code() == ErrorCode::invalid_argument;
    fail(in_file ? ErrorCode::failed_precondition : e.code(), "plug-in '{}': {}", path,
         e.message());
  }
}

void load_environment() {
  const char* given = std::getenv("POPRT_PLUGINS");
  if (!given || !*given) return;
  std::string_view rest = given;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const std::string path(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (path.empty()) continue;
    try {
      load(path);
    } catch (Error& e) {
      e.add_context("POPRT_PLUGINS");
      throw;
    }
  }
}

}  // namespace poprt::plugins
