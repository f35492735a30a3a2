#include "poprt/settings.h"

#include <string>
#include <utility>

#include "common/arguments.h"

namespace poprt::cli {

CompilerSettings::CompilerSettings(NamedOptions named, const GivenOptions& given, ProgressBar& bar)
    : named_(std::move(named)) {
  for (auto& option : given.defaults_of_command()) named_.push_back(std::move(option));
  for (const auto& [name, value] : named_) raw_.push_back({name.c_str(), value.c_str()});
  options_.struct_size = sizeof options_;
  options_.options = raw_.data();
  options_.option_count = raw_.size();
  options_.progress = ProgressBar::callback;
  options_.user_data = &bar;
}

Compiler CompilerSettings::make() const {
  poprt_compiler* compiler = nullptr;
  poprt_error* error = poprt_compiler_create(&options_, &compiler);
  if (error && poprt_error_get_code(error) == POPRT_INVALID_ARGUMENT) {
    const std::string message = poprt_error_message(error);
    poprt_error_free(error);
    throw Usage(spell_options(message));
  }
  check(error);
  return Compiler(compiler);
}

}  // namespace poprt::cli
