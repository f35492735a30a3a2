// Sections of a page that a test generates: the lines between "<!-- begin: NAME -->" and
// "<!-- end: NAME -->". With POPRT_WRITE_RECORDS in the environment the section is written instead;
// review its diff.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace poprt::test {

inline void expect_section(const std::string& path, const std::string& name,
                           const std::string& text) {
  std::stringstream stream;
  stream << std::ifstream(path).rdbuf();
  std::string page = stream.str();
  const std::string begin = "<!-- begin: " + name + " -->\n", end = "<!-- end: " + name + " -->";
  const size_t from = page.find(begin), to = page.find(end);
  ASSERT_TRUE(from != page.npos && to != page.npos && from < to) << path << " has no " << name;
  const size_t first = from + begin.size();
  if (std::getenv("POPRT_WRITE_RECORDS")) {
    page.replace(first, to - first, text);
    std::ofstream(path) << page;
    return;
  }
  EXPECT_EQ(page.substr(first, to - first), text) << path << ", section " << name;
}

}  // namespace poprt::test
