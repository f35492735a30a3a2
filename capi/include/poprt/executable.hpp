// Executables: compiled models, from the compiler or from PopEF files.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <istream>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "poprt/anchor.hpp"
#include "poprt/compiler.h"
#include "poprt/error.hpp"
#include "poprt/executable.h"
#include "poprt/popef.hpp"

namespace poprt {
inline namespace v1 {

// A compiled model.
class Executable {
 public:
  explicit Executable(const std::string& popefPath) {
    poprt_executable* made = nullptr;
    detail::check(poprt_executable_open(detail::text(popefPath, "popefPath"), &made));
    handle_.reset(made);
  }
  // Opens files that form one model, in any order.
  explicit Executable(const std::vector<std::string>& popefPaths, bool checkPackageHash = true) {
    std::vector<const char*> paths;
    for (const auto& p : popefPaths) paths.push_back(detail::text(p, "popefPaths"));
    poprt_open_options o{};
    o.struct_size = sizeof o;
    o.ignore_package_hash = !checkPackageHash;
    poprt_executable* made = nullptr;
    detail::check(poprt_executable_open_files(paths.data(), paths.size(), &o, &made));
    handle_.reset(made);
  }
  // For example Executable({"program.popef", "weights.popef"}).
  explicit Executable(std::initializer_list<std::string> popefPaths, bool checkPackageHash = true)
      : Executable(std::vector<std::string>(popefPaths), checkPackageHash) {}
  // Reads `size` bytes from the current position (0: to the end).
  explicit Executable(const std::shared_ptr<std::istream>& stream, uint64_t size = 0,
                      bool checkPackageHash = true)
      : Executable(modelOf(stream, size), checkPackageHash) {}
  // Opens a model that popef::ModelBuilder made. The bytes of its readers are used without a copy,
  // unless they are compressed or in a stream.
  explicit Executable(const std::shared_ptr<popef::Model>& model, bool checkPackageHash = true)
      : Executable(detail::given(model, "model"), checkPackageHash) {}
  explicit Executable(const popef::Model& model, bool checkPackageHash = true) {
    poprt_open_options o{};
    o.struct_size = sizeof o;
    o.ignore_package_hash = !checkPackageHash;
    poprt_executable* made = nullptr;
    detail::check(poprt_executable_open_model(model.handle(), &o, &made));
    handle_.reset(made);
  }
  // Takes ownership of the handle.
  explicit Executable(poprt_executable* handle) : handle_(handle) {}
  // Opens a PopEF file, or compiles an ONNX model with default options and stores the result in a
  // cache (poprt_executable_load). Compiler::load takes options. Since 1.0.
  static Executable load(const std::string& path) {
    poprt_executable* made = nullptr;
    detail::check(poprt_executable_load(detail::text(path, "path"), nullptr, &made));
    return Executable(made);
  }
  // The metadata of the ONNX model: producer_name, producer_version, domain, model_version,
  // doc_string, graph_name, graph.doc_string, and its metadata_props as prop.KEY. Since 1.0.
  std::map<std::string, std::string> onnxMetadata() const {
    std::map<std::string, std::string> entries;
    for (size_t i = 0; i < poprt_executable_metadata_count(handle_.get()); i++)
      entries[poprt_executable_metadata_key(handle_.get(), i)] =
          poprt_executable_metadata_value(handle_.get(), i);
    return entries;
  }
  // Makes one executable of several (poprt_executable_fuse): inputs and outputs of the first are
  // called graph0/NAME, of the second graph1/NAME ... Since 1.0.
  static Executable fuse(const std::vector<std::shared_ptr<Executable>>& executables) {
    std::vector<const poprt_executable*> handles;
    for (const auto& e : executables) handles.push_back(detail::given(e, "executables").handle());
    poprt_executable* made = nullptr;
    detail::check(poprt_executable_fuse(handles.data(), handles.size(), &made));
    return Executable(made);
  }
  static Executable fromBytes(const void* data, size_t size) {
    poprt_executable* made = nullptr;
    detail::check(poprt_executable_open_bytes(data, size, &made));
    return Executable(made);
  }

  void serialize(std::ostream& stream) const {
    const auto write = [](const void* data, size_t size, void* to) -> int32_t {
      auto& out = *static_cast<std::ostream*>(to);
      out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
      return out ? 0 : 1;
    };
    detail::check(poprt_executable_save_bytes(handle_.get(), write, &stream));
  }
  // Returns the blobs, as a copy if the compiler made the executable. The first call makes the
  // model, and the executable keeps it until appendOpaqueBlobs(): references such as
  // `getPopefModel()->metadata.programFlow()` are valid until then.
  std::shared_ptr<popef::Model> getPopefModel() const {
    const std::lock_guard<std::mutex> lock(kept_->mutex);
    if (!kept_->model) {
      poprt_popef_model* made = nullptr;
      detail::check(poprt_executable_popef_model(handle_.get(), &made));
      kept_->model = std::make_shared<popef::Model>(made);
    }
    return kept_->model;
  }
  // Returns getPopefModel()->metadata without the blobs.
  popef::Metadata getMetadata() const {
    poprt_popef_metadata* made = nullptr;
    detail::check(poprt_executable_popef_metadata(handle_.get(), &made));
    return popef::impl::fromHandle(popef::impl::MetadataHandle(made).get());
  }
  std::map<std::string, std::string> getOpaqueBlobs() const {
    std::map<std::string, std::string> blobs;
    const auto model = getPopefModel();
    for (const auto& blob : detail::given(model, "model").opaqueBlobs) {
      const popef::Payload payload = blob.payload();
      blobs[blob.name] = std::string(payload.data(), payload.size());
    }
    return blobs;
  }
  // Makes a copy of the executable. Existing runners do not have the new blobs.
  void appendOpaqueBlobs(const std::map<std::string, std::string>& blobs) {
    std::stringstream file;
    serialize(file);
    {
      popef::Writer writer(file);
      for (const auto& [blobName, text] : blobs)
        writer.createOpaqueBlob(blobName, name())->write(text.data(), text.size());
      writer.close();
    }
    const auto stream = std::make_shared<std::istringstream>(file.str());
    // The executable is open already, so its package is not checked again.
    handle_ = std::move(Executable(stream, 0, false).handle_);
    kept_ = std::make_shared<Kept>();
  }
  void appendOpaqueBlobs(const std::pair<std::string, std::string>& blob) {
    appendOpaqueBlobs(std::map<std::string, std::string>{blob});
  }
  std::string name() const { return poprt_executable_name(handle_.get()); }
  std::vector<InputDesc> getInputs() const {
    std::vector<InputDesc> list;
    for (size_t i = 0; i < poprt_executable_input_count(handle_.get()); i++)
      list.push_back(detail::describe(poprt_executable_input(handle_.get(), i)));
    return list;
  }
  std::vector<OutputDesc> getOutputs() const {
    std::vector<OutputDesc> list;
    for (size_t i = 0; i < poprt_executable_output_count(handle_.get()); i++)
      list.push_back(detail::describe(poprt_executable_output(handle_.get(), i)));
    return list;
  }
  // <functions:executable> made from capi/functions.toml by tests/lint/functions.py --write
  // Writes a PopEF file. The file is written completely or not at all, and replaces an existing
  // file. Throws not_found (the folder does not exist); permission_denied (the file cannot be
  // created); resource_exhausted (the disk is full). Since 0.1.
  void save(const std::string& popefPath) const {
    detail::check(poprt_executable_save(handle_.get(), detail::text(popefPath, "popefPath")));
  }
  // Writes the program with its metadata to one PopEF file, and the weights to another. Variable
  // weights are stored by name. Each file is written completely or not at all. Throws
  // invalid_argument (both paths are one file); not_found (a folder does not exist);
  // permission_denied (a file cannot be created); resource_exhausted (the disk is full). Since 0.1.
  void save(const std::string& executablePath, const std::string& variablesPath) const {
    detail::check(poprt_executable_save_parts(handle_.get(),
                                              detail::text(executablePath, "executablePath"),
                                              detail::text(variablesPath, "variablesPath")));
  }
  // The size of the constants in bytes. Since 0.1.
  size_t weightsBytes() const { return poprt_executable_weights_bytes(handle_.get()); }
  // The size of the device memory that one run needs, in bytes. Since 0.1.
  size_t arenaBytes() const { return poprt_executable_arena_bytes(handle_.get()); }
  // The program as text for people. The format may change. Since 0.1.
  std::string listing() const {
    poprt_string* text = nullptr;
    detail::check(poprt_executable_listing(handle_.get(), &text));
    return detail::take(text);
  }
  // Why a runner refuses a batching dimension. The text is empty if requests with any number of
  // rows along the dimension may share a batch, because no row changes the results of another.
  // Throws invalid_argument (the first input has no such dimension); failed_precondition (the
  // executable does not state it, because an earlier version compiled the model). Since 1.0.
  std::string batchingRefusal(size_t dimension) const {
    poprt_string* text = nullptr;
    detail::check(poprt_executable_batching_refusal(handle_.get(), dimension, &text));
    return detail::take(text);
  }
  // What the model costs on a chip, as option `estimate` of the compiler stored it: a JSON object.
  // Throws not_found (the executable was compiled without the option). Since 1.0.
  std::string estimate() const {
    poprt_string* text = nullptr;
    detail::check(poprt_executable_estimate(handle_.get(), &text));
    return detail::take(text);
  }
  // </functions:executable>
  const poprt_executable* handle() const { return handle_.get(); }

 private:
  static std::shared_ptr<popef::Model> modelOf(const std::shared_ptr<std::istream>& stream,
                                               uint64_t size) {
    const auto reader = std::make_shared<popef::Reader>();
    reader->parseStream(stream, size);
    return popef::ModelBuilder(reader).createModel();
  }
  struct Free {
    void operator()(poprt_executable* h) const { poprt_executable_free(h); }
  };
  struct Kept {
    std::mutex mutex;
    std::shared_ptr<popef::Model> model;
  };
  std::unique_ptr<poprt_executable, Free> handle_;
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

}  // namespace v1
}  // namespace poprt
