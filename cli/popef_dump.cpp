// popef_dump: shows what a PopEF file holds.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "common/abi.h"

int main(int argc, char** argv) {
  using namespace poprt::cli;
  std::string file;
  bool metadata = false, all = false, json = false;
  CLI::App app("Shows what a PopEF file holds: a summary, or more.", "popef_dump");
  app.add_option("FILE", file, "PopEF file")->required();
  auto* m = app.add_flag("-m,--metadata", metadata, "The metadata");
  auto* everything = app.add_flag("--all", all, "Everything")->excludes(m);
  app.add_flag("--json", json, "Everything, as JSON")->excludes(m)->excludes(everything);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    poprt_string* text = nullptr;
    check(poprt_popef_dump(file.c_str(),
                           json       ? POPRT_POPEF_JSON
                           : all      ? POPRT_POPEF_ALL
                           : metadata ? POPRT_POPEF_METADATA
                                      : POPRT_POPEF_SUMMARY,
                           &text));
    fmt::print("{}", take(text));
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "popef_dump: {}\n", e.what());
    return 1;
  }
}
