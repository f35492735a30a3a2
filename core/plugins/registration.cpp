#include "plugins/registration.h"

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "base/log.h"
#include "poprt/log.h"
#include "poprt/version.h"

struct poprt_plugin_registry {
  poprt::plugins::Library& library;
  poprt::plugins::Report& report;
};

namespace poprt::plugins {
namespace {

// Throws unless the name has only letters, digits and the characters in `more`, because names occur
// in lists, options and file names.
void check_name(const char* name, std::string_view what, std::string_view more = "_") {
  const std::string_view text = name ? name : "";
  const auto fits = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           more.find(c) != std::string_view::npos;
  };
  if (text.empty() || text.size() > 128 || !std::ranges::all_of(text, fits))
    fail(ErrorCode::invalid_argument,
         "{} '{}': expected 1 to 128 letters, digits and characters of '{}'", what, text, more);
}

// Reads a struct of any version: fields that the plug-in does not know are zero, and fields that
// this library does not know must be zero.
template <class T>
T read(const T* given, std::string_view what) {
  if (!given) fail(ErrorCode::invalid_argument, "{}: the struct is null", what);
  if (given->struct_size < offsetof(T, name) + sizeof(given->name))
    fail(ErrorCode::invalid_argument, "{}: struct_size is {}, set it to sizeof of the struct", what,
         given->struct_size);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(T); i < given->struct_size; i++)
    if (bytes[i])
      fail(ErrorCode::failed_precondition,
           "{}: a field past byte {} is set, which this poprt ({}) does not have: update it", what,
           sizeof(T), POPRT_VERSION);
  T copy{};
  std::memcpy(&copy, given, std::min(given->struct_size, sizeof(T)));
  return copy;
}

const char* keep(Library& library, const char* text) {
  return library.texts.emplace_back(text ? text : "").c_str();
}

void need(bool there, std::string_view what, const char* name, std::string_view function) {
  if (!there) fail(ErrorCode::invalid_argument, "{} '{}' has no {}()", what, name, function);
}

// An exception of `add` goes to the report, because no exception may pass through a plug-in.
template <class F>
int32_t reported(poprt_plugin_registry* registry, F&& add) noexcept {
  if (!registry) return POPRT_INVALID_ARGUMENT;
  try {
    add(registry->library);
    return POPRT_OK;
  } catch (const Error& e) {
    return registry->report.set(e.code(), e.message());
  } catch (const std::exception& e) {
    return registry->report.set(ErrorCode::internal, e.what());
  }
}

// Appends an object, or throws if the library has one with the same name.
template <class Rows>
void add_named(Rows& rows, const typename Rows::value_type& row, std::string_view what) {
  for (const auto& other : rows)
    if (!std::strcmp(other.name, row.name))
      fail(ErrorCode::already_exists, "{} '{}' is added twice", what, row.name);
  rows.push_back(row);
}

int32_t add_operator(poprt_plugin_registry* registry, const poprt_operator* given) {
  return reported(registry, [&](Library& library) {
    poprt_operator op = read(given, "operator");
    check_name(op.name, "operator", "_");
    check_name(op.domain, "domain of an operator", "_.-");
    const std::string_view domain = op.domain;
    if (domain == "ai.onnx" || domain == "poprt" || domain.starts_with("ai.onnx."))
      fail(ErrorCode::invalid_argument,
           "operator '{}': domain '{}' belongs to ONNX or poprt, choose one of your own", op.name,
           domain);
    if (op.version < 1)
      fail(ErrorCode::invalid_argument, "operator '{}': version {}, expected 1 or more", op.name,
           op.version);
    constexpr uint32_t kFlags = POPRT_OPERATOR_IMPURE | POPRT_OPERATOR_ELEMENTWISE |
                                POPRT_OPERATOR_HALF | POPRT_OPERATOR_PER_SAMPLE;
    if (op.flags & ~kFlags)
      fail(ErrorCode::failed_precondition, "operator '{}': flags {:#x} are unknown", op.name,
           op.flags & ~kFlags);
    need(op.compute, "operator", op.name, "compute");
    if (op.parts) need(op.compute_part, "operator", op.name, "compute_part");
    if (op.compute_part) need(op.parts, "operator", op.name, "parts");
    op.domain = keep(library, op.domain);
    op.name = keep(library, op.name);
    for (const poprt_operator& other : library.operators)
      if (is_same_operator(op, other))
        fail(ErrorCode::already_exists, "operator {}.{} is added twice", op.domain, op.name);
    library.operators.push_back(op);
  });
}

void keep_parameters(Library& library, poprt_pass& pass) {
  const std::span given(pass.parameters, pass.parameter_count);
  auto& list = library.parameter_lists.emplace_back();
  for (const poprt_pass_parameter* one : given) {
    poprt_pass_parameter p = read(one, fmt::format("a parameter of pass '{}'", pass.name));
    check_name(p.name, fmt::format("parameter of pass '{}'", pass.name));
    if (p.kind < POPRT_PARAMETER_TEXT || p.kind > POPRT_PARAMETER_WORDS)
      fail(ErrorCode::failed_precondition,
           "pass '{}': parameter '{}' has kind {}, which this poprt ({}) does not have: update it",
           pass.name, p.name, p.kind, POPRT_VERSION);
    if (p.required && p.standard)
      fail(ErrorCode::invalid_argument,
           "pass '{}': parameter '{}' is required, its default '{}' would never be used", pass.name,
           p.name, p.standard);
    for (const poprt_pass_parameter* other : list)
      if (!std::strcmp(other->name, p.name))
        fail(ErrorCode::already_exists, "pass '{}': parameter '{}' is there twice", pass.name,
             p.name);
    p.name = keep(library, p.name);
    p.summary = keep(library, p.summary);
    p.standard = keep(library, p.standard);
    list.push_back(&library.parameters.emplace_back(p));
  }
  pass.parameters = list.data();
}

int32_t add_pass(poprt_plugin_registry* registry, const poprt_pass* given) {
  return reported(registry, [&](Library& library) {
    poprt_pass pass = read(given, "pass");
    check_name(pass.name, "pass");
    need(pass.run, "pass", pass.name, "run");
    if (pass.parameter_count && !pass.parameters)
      fail(ErrorCode::invalid_argument, "pass '{}' has {} parameters, which are null", pass.name,
           pass.parameter_count);
    pass.name = keep(library, pass.name);
    pass.summary = keep(library, pass.summary);
    pass.condition = keep(library, pass.condition);
    keep_parameters(library, pass);
    add_named(library.passes, pass, "pass");
  });
}

int32_t add_pattern(poprt_plugin_registry* registry, const poprt_pattern* given) {
  return reported(registry, [&](Library& library) {
    poprt_pattern pattern = read(given, "pattern");
    check_name(pattern.name, "pattern");
    need(pattern.matches, "pattern", pattern.name, "matches");
    need(pattern.apply, "pattern", pattern.name, "apply");
    pattern.name = keep(library, pattern.name);
    pattern.summary = keep(library, pattern.summary);
    add_named(library.patterns, pattern, "pattern");
  });
}

int32_t add_transform(poprt_plugin_registry* registry, const poprt_transform* given) {
  return reported(registry, [&](Library& library) {
    poprt_transform transform = read(given, "transform");
    check_name(transform.name, "transform");
    need(transform.apply, "transform", transform.name, "apply");
    transform.name = keep(library, transform.name);
    transform.summary = keep(library, transform.summary);
    add_named(library.transforms, transform, "transform");
  });
}

int32_t fail_init(poprt_plugin_registry* registry, poprt_error_code code, const char* format, ...) {
  if (!registry) return code;
  std::va_list arguments;
  va_start(arguments, format);
  registry->report.set(code, format, arguments);
  va_end(arguments);
  return code;
}

constexpr poprt_plugin_host kHost = {sizeof(poprt_plugin_host),
                                     POPRT_VERSION,
                                     0,
                                     add_operator,
                                     add_pass,
                                     add_pattern,
                                     add_transform,
                                     fail_init,
                                     write_log};

}  // namespace

bool is_same_operator(const poprt_operator& a, const poprt_operator& b) {
  return !std::strcmp(a.domain, b.domain) && !std::strcmp(a.name, b.name);
}

void write_log(int32_t level, const char* message) noexcept {
  try {
    const std::string_view text = message ? message : "";
    if (level >= POPRT_LOG_ERROR)
      log().error("{}", text);
    else if (level == POPRT_LOG_WARNING)
      log().warn("{}", text);
    else if (level == POPRT_LOG_INFO)
      log().info("{}", text);
    else
      log().debug("{}", text);
  } catch (...) {  // losing a message is better than an exception in a plug-in
  }
}

void initialize(const poprt_plugin& plugin, Library& library) {
  if (plugin.struct_size < sizeof(poprt_plugin))
    fail(ErrorCode::invalid_argument, "struct_size of poprt_plugin is {}, expected {}",
         plugin.struct_size, sizeof(poprt_plugin));
  check_name(plugin.name, "name of the plug-in", "_-.");
  library.name = plugin.name;
  library.version = plugin.version ? plugin.version : "";
  if (!plugin.init) fail(ErrorCode::invalid_argument, "the plug-in has no init()");
  Report report;
  poprt_plugin_registry registry{library, report};
  call(report, "init", [&] { return plugin.init(&kHost, &registry); });
}

}  // namespace poprt::plugins
