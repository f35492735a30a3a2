// Classifies digits with a server of the Open Inference Protocol, such as poprt_serve or Triton, by
// gRPC:
//
//   protoc --cpp_out=. --grpc_out=. --plugin=protoc-gen-grpc=$(which grpc_cpp_plugin)
//       --proto_path=../../cli/serve inference.proto
//   c++ -std=c++20 -I. client.cpp inference.pb.cc inference.grpc.pb.cc
//       $(pkg-config --cflags --libs grpc++ protobuf) -o client
//   ./client 127.0.0.1:8001 digits IMAGES.idx3-ubyte LABELS.idx1-ubyte
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "inference.grpc.pb.h"

namespace {

constexpr size_t kRows = 8, kPixels = 64, kClasses = 10;

// Returns the bytes of an IDX file after its header: the type (8: bytes) and the number of
// dimensions in bytes 2 and 3, and the size of each dimension.
std::vector<unsigned char> read(const std::string& path, size_t dimensions) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be opened");
  std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(file), {}};
  const size_t header = 4 + 4 * dimensions;
  if (bytes.size() < header || bytes[2] != 8 || bytes[3] != dimensions)
    throw std::runtime_error(path + " is no IDX file of bytes with " + std::to_string(dimensions) +
                             " dimensions");
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  return bytes;
}

// Returns the scores of some images.
std::vector<float> infer(inference::GRPCInferenceService::Stub& stub, const std::string& model,
                         const std::vector<float>& images) {
  inference::ModelInferRequest request;
  request.set_model_name(model);
  auto* image = request.add_inputs();
  image->set_name("image");
  image->set_datatype("FP32");
  const size_t rows = images.size() / kPixels;
  for (const size_t size : {rows, size_t{1}, size_t{8}, size_t{8}})
    image->add_shape(static_cast<int64_t>(size));
  request.add_raw_input_contents(images.data(), images.size() * sizeof(float));

  grpc::ClientContext context;
  inference::ModelInferResponse response;
  const grpc::Status status = stub.ModelInfer(&context, request, &response);
  if (!status.ok()) throw std::runtime_error(status.error_message());
  std::vector<float> scores(rows * kClasses);
  const std::string& bytes = response.raw_output_contents(0);
  if (bytes.size() != scores.size() * sizeof(float))
    throw std::runtime_error("unexpected size of the scores");
  std::memcpy(scores.data(), bytes.data(), bytes.size());
  return scores;
}

size_t classify(const std::string& address, const std::string& model,
                const std::vector<unsigned char>& images,
                const std::vector<unsigned char>& labels) {
  const auto stub = inference::GRPCInferenceService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  size_t right = 0;
  for (size_t first = 0; first < labels.size(); first += kRows) {
    const size_t rows = std::min(kRows, labels.size() - first);
    std::vector<float> batch(rows * kPixels);
    for (size_t i = 0; i < batch.size(); i++)
      batch[i] = static_cast<float>(images[first * kPixels + i]) / 16;
    const std::vector<float> scores = infer(*stub, model, batch);
    for (size_t row = 0; row < rows; row++) {
      const auto* own = scores.data() + row * kClasses;
      right +=
          static_cast<size_t>(std::max_element(own, own + kClasses) - own) == labels[first + row];
    }
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: client ADDRESS MODEL IMAGES LABELS\n");
    return 2;
  }
  try {
    const auto images = read(argv[3], 3), labels = read(argv[4], 1);
    if (images.size() != labels.size() * kPixels)
      throw std::runtime_error("the files have different numbers of images");
    const size_t right = classify(argv[1], argv[2], images, labels);
    std::printf("%zu images, accuracy %.4f\n", labels.size(),
                static_cast<double>(right) / static_cast<double>(labels.size()));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
