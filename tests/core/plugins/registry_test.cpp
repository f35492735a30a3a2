// The plug-ins of a process, which never leave it: each test adds others.
#include "plugins/registry.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "plugins/registration.h"

namespace poprt::plugins {
namespace {

int32_t computes(const poprt_op_call*, void*, void*) { return 0; }

// One of each kind, with the same name.
struct Contents {
  explicit Contents(const char* name, const char* path) {
    op.domain = "org.registry";
    op.name = name;
    op.version = 4;
    op.compute = computes;
    pass.name = pattern.name = transform.name = name;
    c = {name, "1.5", path, "abc", &op, 1, &pass, 1, &pattern, 1, &transform, 1};
  }
  poprt_operator op{};
  poprt_pass pass{};
  poprt_pattern pattern{};
  poprt_transform transform{};
  poprt_plugin_contents c{};
};

std::string adopted(const Contents& contents) {
  try {
    adopt(contents.c);
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + ": " + e.message();
  }
  return "added";
}

TEST(Registry, FindsAdoptedLibraries) {
  const size_t before = libraries().size();
  EXPECT_EQ(adopted(Contents("Found", "/lib/found.so")), "added");
  const std::vector<const Library*> all = libraries();
  ASSERT_EQ(all.size(), before + 1);
  const Library& library = *all.back();
  EXPECT_EQ(library.name, "Found");
  EXPECT_EQ(library.version, "1.5");
  EXPECT_EQ(library.path, "/lib/found.so");
  EXPECT_EQ(library.hash, "abc");
  EXPECT_EQ(find_path("/lib/found.so"), &library);
  EXPECT_EQ(find_path("/lib/found"), nullptr);
  const OperatorRef found = find_operator("org.registry", "Found");
  ASSERT_TRUE(found);
  EXPECT_EQ(found.library, &library);
  EXPECT_EQ(found.op->version, 4);
  EXPECT_EQ(found.op->compute, computes);
  EXPECT_FALSE(find_operator("org.registry", "Foun"));
  EXPECT_FALSE(find_operator("org.registr", "Found"));
  const poprt_plugin_contents c = library.contents();
  EXPECT_STREQ(c.name, "Found");
  EXPECT_STREQ(c.version, "1.5");
  EXPECT_STREQ(c.path, "/lib/found.so");
  EXPECT_STREQ(c.hash, "abc");
  EXPECT_EQ(c.operators, library.operators.data());
  EXPECT_EQ(c.passes, library.passes.data());
  EXPECT_EQ(c.patterns, library.patterns.data());
  EXPECT_EQ(c.transforms, library.transforms.data());
  for (const size_t count : {c.operator_count, c.pass_count, c.pattern_count, c.transform_count})
    EXPECT_EQ(count, 1u);
}

// The test runs in a separate process, in which no library was loaded before.
TEST(RegistryDeathTest, TheFirstLibraryIsFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        if (!libraries().empty() || find_operator("org.registry", "First")) ::_exit(2);
        adopt(Contents("First", "/lib/first.so").c);
        ::_exit(libraries().size() == 1 && find_operator("org.registry", "First") ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Registry, TheSamePathIsAddedOnce) {
  EXPECT_EQ(adopted(Contents("Once", "/lib/once.so")), "added");
  const size_t before = libraries().size();
  EXPECT_EQ(adopted(Contents("Once", "/lib/once.so")), "added");
  EXPECT_EQ(libraries().size(), before);
}

TEST(Registry, NamesOfOneKindAreUnique) {
  EXPECT_EQ(adopted(Contents("Taken", "/lib/taken.so")), "added");
  const size_t before = libraries().size();
  const std::string rest = " is there already, from plug-in 'Taken' (/lib/taken.so)";
  Contents other("Taken", "/lib/other.so");
  EXPECT_EQ(adopted(other), "already_exists: operator org.registry.Taken" + rest);
  other.c.operator_count = 0;
  EXPECT_EQ(adopted(other), "already_exists: pass 'Taken'" + rest);
  other.c.pass_count = 0;
  EXPECT_EQ(adopted(other), "already_exists: pattern 'Taken'" + rest);
  other.c.pattern_count = 0;
  EXPECT_EQ(adopted(other), "already_exists: transform 'Taken'" + rest);
  EXPECT_EQ(libraries().size(), before);
  other.op.domain = "org.another";
  other.c.operator_count = 1;
  other.c.transform_count = 0;
  EXPECT_EQ(adopted(other), "added") << "an operator of another domain";
}

TEST(Registry, ListsPluginsAsJson) {
  Contents quoted("Json", "/lib/a \"b\\c\x1f\x01.so");
  quoted.c.version = nullptr;
  quoted.pass.name = "JsonPass";
  quoted.pattern.name = "JsonPattern";
  quoted.transform.name = "JsonTransform";
  EXPECT_EQ(adopted(quoted), "added");
  const std::string wanted =
      "{\"name\": \"Json\", \"version\": \"\", \"path\": \"/lib/a \\\"b\\\\c\\u001f\\u0001.so\", "
      "\"operators\": [{\"domain\": \"org.registry\", \"name\": \"Json\", \"version\": 4}], "
      "\"passes\": [\"JsonPass\"], \"patterns\": [\"JsonPattern\"], \"transforms\": "
      "[\"JsonTransform\"]}]\n";
  EXPECT_TRUE(to_json().ends_with(wanted)) << to_json();
  EXPECT_TRUE(to_json().starts_with("[{"));
  Contents empty("Empty", "/lib/empty.so");
  empty.c.operator_count = empty.c.pass_count = empty.c.pattern_count = empty.c.transform_count = 0;
  EXPECT_EQ(adopted(empty), "added");
  EXPECT_TRUE(to_json().ends_with(
      "}, {\"name\": \"Empty\", \"version\": \"1.5\", \"path\": \"/lib/empty.so\", \"operators\": "
      "[], \"passes\": [], \"patterns\": [], \"transforms\": []}]\n"))
      << to_json();
}

}  // namespace
}  // namespace poprt::plugins
