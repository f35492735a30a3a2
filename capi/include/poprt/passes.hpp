// Passes on ONNX models in memory.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "poprt/compiler.hpp"
#include "poprt/error.hpp"
#include "poprt/passes.h"

namespace poprt {
inline namespace v1 {
namespace passes {

// A pass with its arguments, each as text (see poprt_pass_call). Since 1.0.
struct PassCall {
  std::string name;
  std::map<std::string, std::string> arguments;
};

// See poprt_apply_options. Since 1.0.
struct ApplyOptions {
  bool sort = false;
  bool verify = true;
  bool allowLinks = false;
  bool strict = false;
  int64_t rewriteLimit = 0;  // 0: no limit
  std::string folder;        // folder of external data; empty: external data is an error
  // Called after each pass. applyPasses() rethrows an exception of this function or of `text` at
  // its end.
  std::function<void(const compiler::PassReport&)> afterPass;
  // Receives the output of inspecting passes; by default it is printed.
  std::function<void(const std::string& pass, const std::string& text)> text;
};

namespace detail {

struct Listener {
  const ApplyOptions& options;
  std::exception_ptr thrown;

  template <class Use>
  void guard(Use use) {
    if (thrown) return;
    try {
      use();
    } catch (...) {
      thrown = std::current_exception();
    }
  }
};

}  // namespace detail

// Runs passes on the bytes of an ONNX model and returns the bytes of the result. Throws
// poprt::Error. Since 1.0.
inline std::string applyPasses(const std::string& model, const std::vector<PassCall>& passes,
                               const ApplyOptions& options = {}) {
  std::vector<std::vector<poprt_option>> arguments;
  std::vector<poprt_pass_call> calls;
  for (const PassCall& call : passes) {
    arguments.emplace_back();
    for (const auto& [name, value] : call.arguments)
      arguments.back().push_back(
          {poprt::detail::text(name, "name"), poprt::detail::text(value, "value")});
    calls.push_back(
        {poprt::detail::text(call.name, "name"), arguments.back().data(), arguments.back().size()});
  }
  detail::Listener listener{options, nullptr};
  poprt_apply_options o{};
  o.struct_size = sizeof o;
  o.sort = options.sort;
  o.no_verify = !options.verify;
  o.allow_links = options.allowLinks;
  o.strict = options.strict;
  o.rewrite_limit = options.rewriteLimit;
  o.user_data = &listener;
  if (options.afterPass)
    o.after_pass = [](const char* pass, int64_t rewrites, double milliseconds, int64_t before,
                      int64_t after, void* self) {
      auto& l = *static_cast<detail::Listener*>(self);
      l.guard([&] { l.options.afterPass({pass, rewrites, milliseconds, before, after}); });
    };
  if (options.text)
    o.text = [](const char* pass, const char* text, void* self) {
      auto& l = *static_cast<detail::Listener*>(self);
      l.guard([&] { l.options.text(pass, text); });
    };
  poprt_string* made = nullptr;
  poprt_error* error = poprt_model_apply_passes(
      model.data(), model.size(),
      options.folder.empty() ? nullptr : poprt::detail::text(options.folder, "folder"),
      calls.data(), calls.size(), &o, &made);
  if (listener.thrown) {
    poprt_error_free(error);
    poprt_string_free(made);
    std::rethrow_exception(listener.thrown);
  }
  poprt::detail::check(error);
  return poprt::detail::take(made);
}

// Returns all passes with their descriptions as JSON. Since 1.0.
inline std::string listPasses() {
  poprt_string* text = nullptr;
  poprt::detail::check(poprt_compiler_list_passes_json(&text));
  return poprt::detail::take(text);
}

// Returns the passes in a valid order, with the passes that must run before them. Since 1.0.
inline std::vector<std::string> sortPasses(const std::vector<std::string>& names) {
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(poprt::detail::text(name, "name"));
  poprt_string* text = nullptr;
  poprt::detail::check(poprt_passes_sort(pointers.data(), pointers.size(), &text));
  std::vector<std::string> sorted(1);
  for (const char c : poprt::detail::take(text)) {
    if (c == '\n')
      sorted.emplace_back();
    else
      sorted.back() += c;
  }
  sorted.pop_back();
  return sorted;
}

}  // namespace passes
}  // namespace v1
}  // namespace poprt
