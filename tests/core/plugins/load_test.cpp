// Files that are not plug-ins are refused with one line, before the dynamic loader maps segments
// that the file does not contain.
#include <dlfcn.h>
#include <elf.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/error.h"
#include "plugins/registration.h"

namespace poprt::plugins {
namespace {

namespace fs = std::filesystem;

class PluginFile : public testing::Test {
 protected:
  PluginFile() {
    std::string name = (fs::temp_directory_path() / "poprt_plugins_XXXXXX").string();
    folder = mkdtemp(name.data());
    path = folder / "p.so";
  }
  ~PluginFile() override { fs::remove_all(folder); }

  std::string message_for(const std::string& bytes) const {
    std::ofstream(path, std::ios::binary) << bytes;
    return loaded(path);
  }
  static std::string loaded(const fs::path& file) {
    try {
      load(file);
    } catch (const Error& e) {
      return std::string(error_code_name(e.code())) + ": " + e.message();
    }
    return "loaded";
  }

  fs::path folder, path;
};

// A header, and one part to load with `filesz` bytes at `offset`.
std::string elf(uint64_t offset, uint64_t filesz, uint32_t type = PT_LOAD) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr part{};
  part.p_type = type;
  part.p_offset = offset;
  part.p_filesz = filesz;
  std::string bytes(sizeof header + sizeof part, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &part, sizeof part);
  return bytes;
}

TEST_F(PluginFile, MustExistAndBeAFile) {
  EXPECT_EQ(loaded(folder / "none.so"), "not_found: plug-in '" + (folder / "none.so").string() +
                                            "': cannot be found: No such file or directory");
  EXPECT_EQ(loaded(folder), "failed_precondition: plug-in '" + folder.string() +
                                "': is no shared library: it is no file");
}

TEST_F(PluginFile, ThatIsCutOffIsRefused) {
  const std::string cut = "failed_precondition: plug-in '" + path.string() +
                          "': is a truncated shared library: it has 120 bytes, a part needs ";
  EXPECT_EQ(message_for(elf(0, 121)), cut + "121 at offset 0");
  EXPECT_EQ(message_for(elf(121, 0)), cut + "0 at offset 121");
  EXPECT_EQ(message_for(elf(100, 21)), cut + "21 at offset 100");
  EXPECT_EQ(message_for(elf(16, UINT64_MAX)), cut + "18446744073709551615 at offset 16");
  EXPECT_EQ(message_for(elf(0, 0).substr(0, sizeof(Elf64_Ehdr))),
            "failed_precondition: plug-in '" + path.string() +
                "': is a truncated shared library: it has 64 bytes, a part needs 56 at offset 64");
  std::string more = elf(0, 0);
  more[offsetof(Elf64_Ehdr, e_phnum)] = 2;
  EXPECT_EQ(message_for(more), cut + "112 at offset 64");
}

// The loader reports these.
TEST_F(PluginFile, IsGivenToTheLoaderIfComplete) {
  const std::string wrong = "failed_precondition: plug-in '" + path.string() +
                            "': is no shared library that can be loaded: ";
  std::string narrow = elf(0, 121), other = elf(0, 121), bits = elf(0, 121);
  narrow[offsetof(Elf64_Ehdr, e_phentsize)]--;
  other[1] = 'e';
  bits[EI_CLASS] = ELFCLASS32;
  // The header counts one part, so what follows is none.
  const std::string next = elf(0, 120) + elf(0, 999).substr(sizeof(Elf64_Ehdr));
  for (const std::string& bytes : {std::string(), elf(0, 120), elf(120, 0), elf(0, 121, PT_NOTE),
                                   elf(0, 121).substr(0, 63), narrow, other, bits, next}) {
    const std::string text = message_for(bytes);
    EXPECT_TRUE(text.starts_with(wrong)) << text;
    EXPECT_GT(text.size(), wrong.size());
    EXPECT_FALSE(text.ends_with("unknown reason")) << text;
  }
}

TEST_F(PluginFile, ALibraryWithoutTheEntryIsRefused) {
  Dl_info libc{};
  ASSERT_NE(::dladdr(reinterpret_cast<const void*>(::gnu_get_libc_version), &libc), 0);
  EXPECT_EQ(loaded(libc.dli_fname),
            std::string("failed_precondition: plug-in '") + libc.dli_fname +
                "': is not a plug-in of poprt: it does not export poprt_plugin_entry (use "
                "POPRT_PLUGIN of poprt/plugin.h)");
}

fs::path broken(const std::string& kind) {
  return fs::path(POPRT_TEST_PLUGINS) / ("libbroken_" + kind + ".so");
}

TEST_F(PluginFile, WhoseEntryReturnsNullIsRefused) {
  EXPECT_EQ(loaded(broken("null")), "failed_precondition: plug-in '" + broken("null").string() +
                                        "': poprt_plugin_entry returned null");
}

TEST_F(PluginFile, OfAnotherAbiIsRefused) {
  EXPECT_EQ(loaded(broken("abi")), "failed_precondition: plug-in '" + broken("abi").string() +
                                       "': was built for version 99 of the plug-in ABI, this poprt "
                                       "has 1: build it again with its headers");
}

// RTLD_NOLOAD finds a library only while it is loaded.
TEST_F(PluginFile, ThatIsRefusedDoesNotStayLoaded) {
  for (const char* kind : {"entry", "null", "abi"}) {
    EXPECT_NE(loaded(broken(kind)), "loaded");
    EXPECT_EQ(dlopen(broken(kind).c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr) << kind;
  }
}

// The caller may refuse what a plug-in registers; then nothing of it is added.
TEST_F(PluginFile, IsShownToTheCallerBeforeItIsAdded) {
  const fs::path hold = fs::path(POPRT_TEST_PLUGINS) / "libhold.so";
  const size_t before = libraries().size();
  try {
    load(hold, [](const poprt_plugin_contents& c) {
      fail(ErrorCode::already_exists, "{} patterns of {} are refused", c.pattern_count, c.name);
    });
    ADD_FAILURE() << "the check was not called";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::already_exists);
    EXPECT_EQ(e.message(), "plug-in '" + hold.string() + "': 1 patterns of hold are refused");
  }
  EXPECT_EQ(libraries().size(), before);
  EXPECT_EQ(find_path(hold.string()), nullptr);
}

// Its init() takes 100 ms, and fails if it is called again.
TEST_F(PluginFile, IsInitialisedOnceIfSeveralThreadsLoadIt) {
  const size_t before = libraries().size();
  std::vector<std::string> results(4);
  std::atomic<size_t> started{0};
  std::vector<std::thread> threads;
  for (std::string& result : results)
    threads.emplace_back([&] {
      started++;
      while (started != results.size()) std::this_thread::yield();
      result = loaded(broken("slow"));
    });
  for (std::thread& t : threads) t.join();
  for (const std::string& result : results) EXPECT_EQ(result, "loaded");
  ASSERT_EQ(libraries().size(), before + 1);
  EXPECT_EQ(libraries().back()->path, fs::canonical(broken("slow")));
  EXPECT_TRUE(find_operator("org.example", "Slow"));
  EXPECT_EQ(loaded(broken("slow")), "loaded") << "a library is loaded once";
  EXPECT_NE(dlopen(broken("slow").c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr) << "it stays loaded";
}

TEST_F(PluginFile, OfTheEnvironmentAreLoadedInTheirOrder) {
  const auto with = [](const char* value) -> std::string {
    ::setenv("POPRT_PLUGINS", value, 1);
    std::string text = "loaded";
    try {
      load_environment();
    } catch (const Error& e) {
      text = e.what();
    }
    ::unsetenv("POPRT_PLUGINS");
    return text;
  };
  const auto missing = [](const std::string& name) {
    return "POPRT_PLUGINS: plug-in '" + name + "': cannot be found: No such file or directory";
  };
  for (const char* none : {"", ":", "::"}) EXPECT_EQ(with(none), "loaded");
  EXPECT_EQ(with("/none/a.so"), missing("/none/a.so"));
  EXPECT_EQ(with("/none/a.so:/none/b.so"), missing("/none/a.so"));
  for (const char* one : {":/none/b.so", "::/none/b.so:"})
    EXPECT_EQ(with(one), missing("/none/b.so"));
  EXPECT_EQ(with("/none/b.so:"), missing("/none/b.so"));
  for (const char* end : {"", ":", "::"})
    EXPECT_EQ(with((broken("slow").string() + end).c_str()), "loaded");
  ::unsetenv("POPRT_PLUGINS");
  EXPECT_NO_THROW(load_environment());
}

}  // namespace
}  // namespace poprt::plugins
