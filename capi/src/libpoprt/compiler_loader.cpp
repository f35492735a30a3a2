#include "compiler_loader.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

#include "base/error.h"
#include "base/first_use.h"
#include "base/fork_mutex.h"
#include "base/log.h"
#include "kernels/common/isa_builds.h"
#include "library_calls.h"
#include "plugins/registry.h"

namespace poprt::capi {
namespace {

constexpr const char* kFile = "libpoprt_compiler.so.1";

struct Loader {
  ForkMutex mutex;
  const poprt_compiler_library* compiler = nullptr;
  size_t adopted = 0;     // number of users' plug-ins that were passed to the compiler
  std::string log_level;  // set when the compiler is loaded
  LogReceiver log_receiver = nullptr;
};

Loader& loader() {
  static constinit FirstUse<Loader> made;
  return made.get();
}

// The process that called the compiler last, and the number of its calls in progress.
std::atomic<uint64_t> calls{0};
constexpr int kProcessShift = 32;

uint64_t word_of(pid_t process, uint64_t count) {
  return static_cast<uint64_t>(process) << kProcessShift | count;
}

[[noreturn]] void fail_forked() {
  fail(ErrorCode::failed_precondition,
       "process {} was forked while a thread of its parent used the compiler, and cannot use it: "
       "compile in the parent or in a new process, or fork when no thread compiles",
       this_process());
}

std::filesystem::path own_path() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&own_path), &info) || !info.dli_fname)
    fail(ErrorCode::internal, "cannot determine the folder of libpoprt");
  std::error_code error;
  const auto path = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::filesystem::path(info.dli_fname) : path;
}

std::filesystem::path own_folder() { return own_path().parent_path(); }

// The size of a file and the time of its last change. Empty if there is no such file.
std::string build_of(const std::filesystem::path& file) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(file, failed);
  if (failed) return {};
  const auto changed = std::filesystem::last_write_time(file, failed);
  if (failed) return {};
  return fmt::format("{} bytes, {}", size, changed.time_since_epoch().count());
}

// Some programs load another protobuf with RTLD_GLOBAL; Python's TensorFlow does. Its symbols
// precede those of the compiler's own dependencies unless the compiler is bound to them first.
// Other programs keep the normal order because a preloaded malloc needs it.
int binding() {
  const void* vtable = dlsym(RTLD_DEFAULT, "_ZTVN6google8protobuf7MessageE");
  Dl_info info{};
  if (!vtable || !dladdr(vtable, &info) || !info.dli_fname) return 0;
  const bool same =
      std::filesystem::path(info.dli_fname).filename().string().starts_with(POPRT_PROTOBUF);
  return same ? 0 : RTLD_DEEPBIND;
}

const poprt_compiler_library* load() {
  const std::filesystem::path folder = own_folder();
  const std::string path = (folder / kFile).string();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | binding());
  if (!library) {
    const char* given = dlerror();
    std::string_view why = given ? given : "unknown reason";
    if (why.starts_with(path + ": ")) why.remove_prefix(path.size() + 2);
    std::error_code ignored;
    const char* advice = "";
    // The packages install both libraries in one folder below /usr/lib.
    if (!std::filesystem::exists(path, ignored))
      advice = folder.string().starts_with("/usr/lib/") ? "; install package libpoprt-compiler1"
                                                        : "; copy the file into this folder";
    fail(ErrorCode::failed_precondition, "cannot load the compiler '{}': {}{}", path, why, advice);
  }
  const auto table = reinterpret_cast<const poprt_compiler_library* (*)(void)>(
      dlsym(library, "poprt_compiler_library_table"));
  const poprt_compiler_library* compiler = table ? table() : nullptr;
  const int32_t version = compiler ? compiler->version : 0;
  if (version != POPRT_VERSION) {
    dlclose(library);
    fail(ErrorCode::failed_precondition,
         "the compiler '{}' has version {}, this library has {}: install both from one build", path,
         version, POPRT_VERSION);
  }
  if (!compiler->borrow_kernels(&kernels::own_isa_builds())) {
    dlclose(library);
    fail(ErrorCode::failed_precondition,
         "the compiler '{}' comes from another build of version {}: install both from one build",
         path, POPRT_VERSION);
  }
  return compiler;
}

// Requires the mutex.
void load_once(Loader& l) {
  if (l.compiler) return;
  l.compiler = load();
  if (!l.log_level.empty()) l.compiler->set_log_level(l.log_level.c_str());
  l.compiler->set_log_receiver(l.log_receiver);
}

// Returns null if the compiler is not installed or cannot be used.
const poprt_compiler_library* installed_compiler() {
  Loader& l = loader();
  const std::lock_guard lock(l.mutex);
  try {
    if (l.mutex.abandoned()) fail_forked();
    load_once(l);
  } catch (const Error&) {
    return nullptr;
  }
  return l.compiler;
}

}  // namespace

CompilerCall::CompilerCall() : process_(this_process()) {
  uint64_t before = calls.load(std::memory_order_relaxed);
  uint64_t after;
  do {
    const auto count = static_cast<uint32_t>(before);
    const bool mine = before >> kProcessShift == static_cast<uint64_t>(process_);
    if (!mine && count != 0) fail_forked();
    after = word_of(process_, mine ? count + uint64_t{1} : 1);
  } while (!calls.compare_exchange_weak(before, after, std::memory_order_relaxed));
}

CompilerCall::~CompilerCall() {
  // A process that was forked in a callback of the compiler keeps the count of its parent.
  if (process_ == this_process()) calls.fetch_sub(1, std::memory_order_relaxed);
}

const poprt_compiler_library& loaded_compiler() noexcept {
  Loader& l = loader();
  const std::lock_guard lock(l.mutex);
  return *l.compiler;
}

void load_plugin(const std::string& path) {
  plugins::load(path, [](const poprt_plugin_contents& contents) {
    const poprt_compiler_library* compiler = contents.pass_count ? installed_compiler() : nullptr;
    if (compiler)
      call([&](poprt_library_error* error) { compiler->check_plugin(&contents, error); });
  });
}

const poprt_compiler_library& compiler_library() {
  plugins::load_environment();
  Loader& l = loader();
  const std::lock_guard lock(l.mutex);
  if (l.mutex.abandoned()) fail_forked();
  load_once(l);
  const std::vector<const plugins::Library*> libraries = plugins::libraries();
  for (; l.adopted < libraries.size(); l.adopted++) {
    const poprt_plugin_contents contents = libraries[l.adopted]->contents();
    call([&](poprt_library_error* error) { l.compiler->adopt_plugin(&contents, error); });
  }
  return *l.compiler;
}

std::string compiler_build() { return build_of(own_folder() / kFile); }

std::string library_build() { return build_of(own_path()); }

void set_compiler_log_level(const char* level) {
  Loader& l = loader();
  const std::lock_guard lock(l.mutex);
  if (l.mutex.abandoned()) return;
  l.log_level = level;
  if (l.compiler) l.compiler->set_log_level(level);
}

void set_compiler_log_receiver(LogReceiver receiver) {
  Loader& l = loader();
  const std::lock_guard lock(l.mutex);
  if (l.mutex.abandoned()) return;
  l.log_receiver = receiver;
  if (l.compiler) l.compiler->set_log_receiver(receiver);
}

}  // namespace poprt::capi
