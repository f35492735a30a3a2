#include "popef/export_npy.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/file.h"
#include "popef/error.h"
#include "popef/reader.h"

namespace poprt::popef {
namespace {

std::string_view descr(DataType type) {
  switch (type) {
    case DataType::BOOL: return "|b1";
    case DataType::F8:
    case DataType::F8143:
    case DataType::F8152:
    case DataType::U8: return "|u1";
    case DataType::S8: return "|i1";
    case DataType::F16: return "<f2";
    case DataType::F32: return "<f4";
    case DataType::F64: return "<f8";
    case DataType::S16: return "<i2";
    case DataType::U16: return "<u2";
    case DataType::S32: return "<i4";
    case DataType::U32: return "<u4";
    case DataType::S64: return "<i8";
    case DataType::U64: return "<u8";
  }
  raise<FormatError>("data type {} is unknown", static_cast<uint32_t>(type));
}

// Does not use the reader's map, because its pages would count as memory of this process.
void copy_payload(const BlobInfo& blob, AtomicFile& to) {
  std::ifstream in(blob.source, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(blob.payload_offset));
  std::vector<char> buffer(size_t{1} << 20);
  for (uint64_t left = blob.payload_bytes; left != 0;) {
    const uint64_t step = std::min<uint64_t>(left, buffer.size());
    if (!in.read(buffer.data(), static_cast<std::streamsize>(step)))
      throw FileError(ErrorCode::data_loss,
                      fmt::format("cannot read '{}': it has changed", blob.source));
    to.write(std::as_bytes(std::span(buffer.data(), step)));
    left -= step;
  }
}

template <class Blob>
void export_last(const std::vector<Blob>& blobs, const char* kind, const std::string& name,
                 const std::string& executable, const std::string& npy_path) {
  const Blob* found = nullptr;
  std::string names;
  for (const Blob& b : blobs) {
    if (b.info.name() == name &&
        (executable.empty() || b.executable.empty() || b.executable == executable))
      found = &b;
    if (names.size() < 1000)
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", b.info.name());
  }
  if (found == nullptr)
    throw FileError(ErrorCode::not_found,
                    fmt::format("no {} '{}'{}; there are: {}", kind, name,
                                executable.empty() ? "" : " of '" + executable + "'",
                                names.empty() ? "none" : names));
  std::vector<int64_t> shape = found->info.tensorInfo().shape();
  if constexpr (std::is_same_v<Blob, FeedReader>)
    shape.insert(shape.begin(), static_cast<int64_t>(found->info.numTensors()));
  try {
    AtomicFile out(npy_path);
    const std::string head = npy_head(descr(found->info.tensorInfo().dataType()), shape);
    out.write(std::as_bytes(std::span(head)));
    copy_payload(found->blob(), out);
    out.commit();
  } catch (const Error&) {
    throw;
  } catch (const poprt::Error& e) {
    throw FileError(e.code(), e.message());
  }
}

}  // namespace

std::string npy_head(std::string_view descr, const std::vector<int64_t>& shape) {
  std::string dims;
  for (const int64_t d : shape) dims += fmt::format("{}, ", d);
  if (shape.size() > 1) dims.resize(dims.size() - 2);
  if (shape.size() == 1) dims.pop_back();
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, dims);
  // The length has 16 bits in version 1 and 32 bits in version 2. The data begins at a multiple of
  // 64.
  const bool wide = dict.size() > 60000;
  const size_t prefix = wide ? 12 : 10;
  dict.append(63 - (prefix + dict.size()) % 64, ' ');
  dict += '\n';
  std::string head = "\x93NUMPY";
  head += wide ? '\x02' : '\x01';
  head += '\0';
  for (size_t i = 0; i < prefix - 8; i++) head += static_cast<char>(dict.size() >> (8 * i) & 255);
  return head + dict;
}

void export_tensor(const std::string& path, const std::string& name, const std::string& executable,
                   const std::string& npy_path) {
  Reader reader;
  reader.parseFile(path);
  export_last(reader.tensors(), "tensor", name, executable, npy_path);
}

void export_feed(const std::string& path, const std::string& name, const std::string& executable,
                 const std::string& npy_path) {
  Reader reader;
  reader.parseFile(path);
  export_last(reader.feeds(), "feed", name, executable, npy_path);
}

}  // namespace poprt::popef
