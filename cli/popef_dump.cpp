// popef_dump: shows what a PopEF file holds.
#include <fmt/format.h>

#include "common/arguments.h"

int main(int argc, char** argv) {
  using namespace poprt::cli;
  std::string file;
  bool metadata = false, all = false, json = false;
  CLI::App app("Shows what a PopEF file holds: a summary, or more.", "popef_dump");
  app.add_option("FILE", file, "PopEF file")->required();
  auto* m = app.add_flag("-m,--metadata", metadata, "Model metadata and anchors");
  auto* everything = app.add_flag("--all", all, "Everything")->excludes(m);
  app.add_flag("--json", json, "Everything, as JSON")->excludes(m)->excludes(everything);
  if (const auto code = parse(app, argc, argv)) return *code;
  return guarded("popef_dump", [&] {
    poprt_string* text = nullptr;
    check(poprt_popef_dump(file.c_str(),
                           json       ? POPRT_POPEF_JSON
                           : all      ? POPRT_POPEF_ALL
                           : metadata ? POPRT_POPEF_METADATA
                                      : POPRT_POPEF_SUMMARY,
                           &text));
    fmt::print("{}", take(text));
    return 0;
  });
}
