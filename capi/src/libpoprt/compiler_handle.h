// The handle of a compiler.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fork_mutex.h"
#include "compiler_loader.h"
#include "poprt/compiler.h"

// Options with the memory of their pointers.
struct poprt_compiler {
  explicit poprt_compiler(const poprt_compile_options& given) : options(given) {
    shape_values.reserve(given.input_shape_count);
    for (const auto& s : std::span(given.input_shapes, given.input_shape_count)) {
      shape_names.push_back(s.name);
      shape_values.emplace_back(s.shape, s.shape + s.rank);
    }
    for (size_t i = 0; i < shape_values.size(); i++)
      shapes.push_back({shape_names[i].c_str(), shape_values[i].data(), shape_values[i].size()});
    length_names.reserve(given.input_length_count);
    for (const auto& l : std::span(given.input_lengths, given.input_length_count))
      lengths.push_back({length_names.emplace_back(l.name).c_str(), l.length});
    blob_texts.reserve(2 * given.opaque_blob_count);
    for (const auto& b : std::span(given.opaque_blobs, given.opaque_blob_count)) {
      const std::string& name = blob_texts.emplace_back(b.name);
      const std::string& data = blob_texts.emplace_back(static_cast<const char*>(b.data), b.bytes);
      blobs.push_back({name.c_str(), data.data(), data.size()});
    }
    copy(given.passes, given.pass_count, pass_names, passes);
    copy(given.skip_passes, given.skip_pass_count, skip_names, skips);
    copy(given.outputs, given.output_count, output_names, outputs);
    option_texts.reserve(2 * given.option_count);
    for (const auto& n : std::span(given.options, given.option_count)) {
      const std::string& name = option_texts.emplace_back(n.name);
      named.push_back({name.c_str(), option_texts.emplace_back(n.value).c_str()});
    }
    if (given.stop_after) stop_after = given.stop_after;
    options.struct_size = sizeof options;
    options.input_shapes = shapes.data();
    options.input_lengths = lengths.data();
    options.opaque_blobs = blobs.data();
    options.passes = passes.data();
    options.skip_passes = skips.data();
    options.outputs = outputs.data();
    options.options = named.data();
    if (given.stop_after) options.stop_after = stop_after.c_str();
    if (given.cache_path) cache_path = given.cache_path, options.cache_path = cache_path.c_str();
    if (given.load) load_word = given.load, options.load = load_word.c_str();
    if (given.shapes) shapes_word = given.shapes, options.shapes = shapes_word.c_str();
  }
  poprt_compiler(const poprt_compiler&) = delete;
  poprt_compiler& operator=(const poprt_compiler&) = delete;

  static void copy(const char* const* from, size_t count, std::vector<std::string>& names,
                   std::vector<const char*>& pointers) {
    names.assign(from, from + count);
    for (const std::string& n : names) pointers.push_back(n.c_str());
  }

  poprt_compile_options options;
  std::vector<std::string> shape_names, length_names, pass_names, skip_names, output_names;
  std::vector<std::vector<int64_t>> shape_values;
  std::vector<poprt_input_shape> shapes;
  std::vector<poprt_input_length> lengths;
  std::vector<std::string> blob_texts;
  std::vector<poprt_opaque_blob> blobs;
  std::vector<const char*> passes, skips, outputs;
  std::vector<std::string> option_texts;
  std::vector<poprt_option> named;
  std::string stop_after, cache_path, load_word, shapes_word;

  // The model of the last conversion, for a compilation of the same file. Another thread may take
  // it.
  using Kept = std::unique_ptr<void, void (*)(void*)>;
  static void release(void* kept) { poprt::capi::loaded_compiler().release(kept); }
  Kept take_kept() const {
    const std::lock_guard lock(mutex);
    if (mutex.abandoned()) return Kept(nullptr, release);
    return std::exchange(kept, Kept(nullptr, release));
  }
  void keep(void* left) const {
    const std::lock_guard lock(mutex);
    if (mutex.abandoned())
      release(left);
    else
      kept.reset(left);
  }
  mutable ForkMutex mutex;  // guards `kept`, which a child does not use if another thread had it
  mutable Kept kept{nullptr, release};

  // Additional tasks of a conversion.
  bool check_models = false, compare_layers = false;
  mutable std::atomic<bool> converted = false;
};
