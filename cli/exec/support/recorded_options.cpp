#include "exec/support/recorded_options.h"

#include <algorithm>

#include "base/error.h"
#include "common/abi.h"
#include "common/option_table.h"

namespace poprt::cli {
namespace {

capi::OptionNames option_names() {
  return {[](std::string_view name, bool& words) {
            const OptionInfo* row = option_tables().find(name);
            words = row && row->kind == "words";
            return row != nullptr;
          },
          [](std::string_view name) {
            return std::ranges::count(option_tables().compiler_fields, name) > 0;
          }};
}

}  // namespace

RecordedOptions::RecordedOptions(const std::vector<popef::Option>& recorded) try : capi
  ::RecordedCompileOptions(recorded, option_names()) {}
catch (const Error& e) {
  throw Failure(e.message());
}

}  // namespace poprt::cli
