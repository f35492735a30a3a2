// Models that the backend serves in the small server of host.h, and requests to them.
#pragma once

#include <poprt/poprt.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "host.h"

namespace host {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Options = std::vector<std::pair<std::string, std::string>>;

// Throws the error, if there is one.
void succeed(poprt_error* error);

void compile(const char* onnx, const Options& options, const fs::path& popef);

// A folder with PopEF files that all tests share.
const fs::path& files();

const Library& library();

std::vector<float> random_values(size_t count);

std::vector<char> bytes_of(const void* data, size_t size);

// The scores of images by a runner of the C library, without the backend.
std::vector<float> reference(const std::vector<float>& images);

// A request with images, in one buffer or in several of the given number of bytes.
std::unique_ptr<TRITONBACKEND_Request> request_of(const std::vector<float>& images,
                                                  size_t buffer_bytes = 0);

std::vector<float> floats_of(const TRITONBACKEND_Request& request, const char* output);

void expect_close(const std::vector<float>& found, const std::vector<float>& expected);

// A model of the server with its version folder.
class Served {
 public:
  explicit Served(const char* popef, const Json& config = Json::object(),
                  bool compile_onnx = false);
  ~Served();
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  fs::path folder() const { return folder_ / "1"; }
  TRITONBACKEND_Model& model() { return model_; }
  Json config() const { return Json::parse(model_.config); }

  std::string load() { return host::text_of(library().model_initialize(&model_)); }
  std::string add_instance(
      TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_CPU);
  TRITONBACKEND_ModelInstance& instance(size_t i = 0) { return *instances_.at(i); }
  void remove_instances();

  // Executes the requests and waits until they are answered.
  template <class... Requests>
  void run(Requests&... requests) {
    run_all({requests.get()...});
  }

 private:
  void run_all(std::vector<TRITONBACKEND_Request*> all);

  fs::path folder_;
  TRITONBACKEND_Backend backend_;
  TRITONBACKEND_Model model_;
  std::vector<std::unique_ptr<TRITONBACKEND_ModelInstance>> instances_;
};

Json parameter(const char* name, const char* value);

}  // namespace host
