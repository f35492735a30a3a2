#include "warnings.h"

#include <set>
#include <string>
#include <utility>

#include "engine_options.h"
#include "option_lists.h"

namespace poprt::capi {
namespace {

// The warnings of this thread's last conversion of a file. A converted model is usually compiled
// from the same file afterwards, and may be converted in memory again. The same warnings would be
// redundant.
struct Conversion {
  std::string path;
  std::set<std::string> warnings;
};
thread_local Conversion last_conversion;

}  // namespace

WarningFilter note_warnings(const poprt_compile_options& o, const poprt_library_source& source) {
  if (named_option(o, kQuiet)) return WarningFilter([](const auto&) { return false; });
  last_conversion = {source.path ? source.path : "", {}};
  return WarningFilter(
      [](const std::string& text) { return last_conversion.warnings.insert(text).second; });
}

WarningFilter new_warnings(const poprt_compile_options& o, const poprt_library_source& source) {
  if (named_option(o, kQuiet)) return WarningFilter([](const auto&) { return false; });
  if (!source.path || last_conversion.path != source.path)
    last_conversion = {source.path ? source.path : "", {}};
  return WarningFilter(
      [](const std::string& text) { return last_conversion.warnings.insert(text).second; });
}

WarningFilter skip_warnings(const poprt_compile_options& o, const poprt_library_source& source,
                            const poprt_library_sink* sink) {
  const bool quiet = named_option(o, kQuiet) != nullptr;
  Conversion before;
  if (!quiet) before = std::exchange(last_conversion, {});
  if (!source.path || before.path != source.path) before.warnings.clear();
  return WarningFilter(
      [quiet, sink, warnings = std::move(before.warnings)](const std::string& text) {
        if (sink && sink->warn) sink->warn(sink->warn_context, text.c_str());
        return !quiet && !warnings.contains(text);
      });
}

}  // namespace poprt::capi
