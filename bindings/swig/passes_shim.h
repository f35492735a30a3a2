// Passes with their arguments, and their results.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "poprt/passes.h"
#include "poprt_shim.h"

// A model in memory, and the output of inspecting passes.
struct raw_pass_result {
  ~raw_pass_result() { poprt_string_free(model); }
  poprt_string* model = nullptr;
  std::string text;
};

// Passes in the order in which they run.
struct raw_passes {
  struct Call {
    std::string name;
    std::list<std::string> texts;  // own the names and values in `arguments`
    std::vector<poprt_option> arguments;
  };

  void add(const char* name) { calls.push_back({name, {}, {}}); }
  // Adds an argument of the last pass.
  void add_argument(const char* name, const char* value) {
    Call& call = calls.back();
    call.texts.emplace_back(name);
    const char* key = call.texts.back().c_str();
    call.texts.emplace_back(value);
    call.arguments.push_back({key, call.texts.back().c_str()});
  }

  poprt_error* apply(const void* model, size_t size, const char* folder,
                     raw_pass_result* to) const {
    std::vector<poprt_pass_call> raw;
    for (const Call& call : calls)
      raw.push_back({call.name.c_str(), call.arguments.data(), call.arguments.size()});
    poprt_apply_options options = {};
    options.struct_size = sizeof options;
    options.sort = sort ? 1 : 0;
    options.no_verify = verify ? 0 : 1;
    options.allow_links = allow_links ? 1 : 0;
    options.strict = strict ? 1 : 0;
    options.rewrite_limit = rewrite_limit;
    options.text = on_text;
    options.user_data = to;
    return poprt_model_apply_passes(model, size, folder, raw.data(), raw.size(), &options,
                                    &to->model);
  }

  static void on_text(const char*, const char* text, void* user_data) {
    static_cast<raw_pass_result*>(user_data)->text += text;
  }

  std::list<Call> calls;
  bool sort = false, verify = true, allow_links = false, strict = false;
  int64_t rewrite_limit = 0;
};
