#include "onnx/tensor_io.h"

#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>

#include "base/error.h"
#include "base/file.h"
#include "onnx/tensor_proto.h"
#include "onnx/wire.h"

namespace poprt::onnx {
namespace {

// Field numbers of TensorProto with their wire types, packed and unpacked.
constexpr uint32_t kTensorTags[] = {
    1 << 3,      1 << 3 | 2, 2 << 3,      3 << 3 | 2,  4 << 3 | 5,  4 << 3 | 2, 5 << 3,
    5 << 3 | 2,  6 << 3 | 2, 7 << 3,      7 << 3 | 2,  8 << 3 | 2,  9 << 3 | 2, 10 << 3 | 1,
    10 << 3 | 2, 11 << 3,    11 << 3 | 2, 12 << 3 | 2, 13 << 3 | 2, 14 << 3,    16 << 3 | 2};

// Whether the bytes are a SequenceProto or an OptionalProto. Both have name, elem_type and values
// in fields 1 to 7.
bool is_container(std::span<const std::byte> bytes) {
  ::onnx::OptionalProto proto;
  return bytes.size() <= kMostMessageBytes &&
         proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) &&
         proto.has_elem_type() && proto.unknown_fields().empty();
}

// Whether the values of a sequence are other than `sequences` sequences or, if that is 0, other
// than tensors.
bool has_other_values(const ::onnx::SequenceProto& s, int sequences) {
  return s.sparse_tensor_values_size() > 0 || s.map_values_size() > 0 ||
         s.optional_values_size() > 0 || s.sequence_values_size() != sequences ||
         (sequences > 0 && s.tensor_values_size() > 0);
}

}  // namespace

Tensor read_tensor_pb(const std::filesystem::path& path, std::string* name) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  try {
    ::onnx::TensorProto proto;
    // An empty file is a valid message: an empty OptionalProto, but not a tensor.
    parse_message(file->bytes(), kTensorTags, "ONNX tensor", proto);
    ExternalFiles files(path.parent_path(), false);
    try {
      Tensor tensor = take_tensor(proto, files);
      if (name) *name = proto.name();
      return tensor;
    } catch (const Error&) {
      if (!is_container(file->bytes())) throw;
      fail(ErrorCode::unimplemented, "a sequence or an optional; only tensors are supported");
    }
  } catch (Error& e) {
    e.add_context(path.string());
    throw;
  }
}

std::vector<Tensor> read_tensors_pb(const std::filesystem::path& path) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  // An OptionalProto has the fields of a SequenceProto.
  ::onnx::SequenceProto proto;
  const bool container = file->bytes().empty() || is_container(file->bytes());
  if (!container ||
      !proto.ParseFromArray(file->bytes().data(), static_cast<int>(file->bytes().size())) ||
      !proto.unknown_fields().empty())
    return {read_tensor_pb(path)};
  try {
    ::onnx::SequenceProto* values = &proto;
    if (proto.sequence_values_size() == 1 && !has_other_values(proto, 1))
      values = proto.mutable_sequence_values(0);
    if (has_other_values(*values, 0))
      fail(
          ErrorCode::unimplemented,
          "a sequence of sparse tensors, sequences, maps or optionals; only tensors are supported");
    ExternalFiles files(path.parent_path(), false);
    std::vector<Tensor> tensors;
    for (::onnx::TensorProto& t : *values->mutable_tensor_values())
      tensors.push_back(take_tensor(t, files));
    return tensors;
  } catch (Error& e) {
    e.add_context(path.string());
    throw;
  }
}

void write_tensor_pb(const std::filesystem::path& path, const std::string& name,
                     const Tensor& tensor) {
  // The size is checked first, because making the message copies the bytes of the tensor.
  if (tensor.bytes() > kMostMessageBytes)
    fail(ErrorCode::resource_exhausted,
         "cannot write '{}': the tensor has {} bytes, and a .pb file {} at most", path.string(),
         tensor.bytes(), kMostMessageBytes);
  const std::string bytes = serialize_message(make_tensor_proto(name, tensor), "a tensor");
  AtomicFile file(path);
  file.write(std::as_bytes(std::span<const char>(bytes)));
  file.commit();
}

}  // namespace poprt::onnx
