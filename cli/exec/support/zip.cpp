#include "exec/support/zip.h"

#include <fmt/format.h>
#include <zip.h>

#include <cstdint>
#include <memory>

#include "common/abi.h"

namespace poprt::cli {
namespace {

struct Close {
  void operator()(zip_t* z) const { zip_discard(z); }
  void operator()(zip_file_t* f) const { zip_fclose(f); }
  void operator()(zip_source_t* s) const { zip_source_free(s); }
};
using Archive = std::unique_ptr<zip_t, Close>;
using Source = std::unique_ptr<zip_source_t, Close>;

struct Reason {
  Reason() { zip_error_init(&error); }
  ~Reason() { zip_error_fini(&error); }
  Reason(const Reason&) = delete;
  Reason& operator=(const Reason&) = delete;
  std::string text() { return zip_error_strerror(&error); }
  zip_error_t error;
};

// Opening an archive takes ownership of its source only if it succeeds.
Archive opened(Source& source, int flags, Reason& reason) {
  Archive z(source ? zip_open_from_source(source.get(), flags, &reason.error) : nullptr);
  if (z) (void)source.release();
  return z;
}

}  // namespace

namespace {

// Refuses archives that need much more memory than they have bytes, before anything is unpacked.
// Arrays of equal elements are compressed 1000 to 1, so a small excess is allowed.
void check_unpacked_size(zip_t* z, uint64_t archive_bytes, const std::string& path) {
  constexpr uint64_t kRatio = 16, kExcess = uint64_t{256} << 20;
  uint64_t all = 0;
  for (zip_int64_t i = 0; i < zip_get_num_entries(z, 0); i++) {
    zip_stat_t info;
    if (zip_stat_index(z, static_cast<zip_uint64_t>(i), 0, &info) != 0) return;
    if (__builtin_add_overflow(all, info.size, &all)) all = UINT64_MAX;
  }
  if (all > archive_bytes * kRatio + kExcess)
    throw Failure(fmt::format(
        "'{}' has {} bytes, but its arrays have {}; save large arrays of equal elements "
        "with numpy.savez, without compression",
        path, archive_bytes, all));
}

}  // namespace

std::vector<ZipMember> read_zip(std::span<const std::byte> archive, const std::string& path) {
  const auto bad = [&](const std::string& why) {
    return Failure(fmt::format("'{}' is not a valid .npz file: {}", path, why));
  };
  // Libzip accepts an empty buffer as an empty archive.
  if (archive.empty()) throw bad("it is empty");
  Reason reason;
  Source source(zip_source_buffer_create(archive.data(), archive.size(), 0, &reason.error));
  const Archive z = opened(source, ZIP_RDONLY | ZIP_CHECKCONS, reason);
  if (!z) throw bad(reason.text());
  check_unpacked_size(z.get(), archive.size(), path);
  std::vector<ZipMember> members;
  for (zip_int64_t i = 0; i < zip_get_num_entries(z.get(), 0); i++) {
    const auto index = static_cast<zip_uint64_t>(i);
    zip_stat_t info;
    if (zip_stat_index(z.get(), index, 0, &info) != 0) throw bad(zip_strerror(z.get()));
    // DEFLATE compresses at most 1032 bytes to one (RFC 1951).
    if (info.size / 1032 > archive.size())
      throw bad(fmt::format("member '{}' cannot have {} bytes", info.name, info.size));
    ZipMember m{info.name, std::vector<std::byte>(info.size)};
    const std::unique_ptr<zip_file_t, Close> file(zip_fopen_index(z.get(), index, 0));
    if (!file) throw bad(fmt::format("member '{}': {}", m.name, zip_strerror(z.get())));
    // Reads one byte more than expected, so that libzip reaches the end and verifies the checksum.
    std::byte more;
    const zip_int64_t got = m.data.empty() ? 0 : zip_fread(file.get(), m.data.data(), info.size);
    if (got != static_cast<zip_int64_t>(info.size) || zip_fread(file.get(), &more, 1) != 0)
      throw bad(fmt::format("member '{}' is damaged", m.name));
    members.push_back(std::move(m));
  }
  return members;
}

std::vector<std::byte> make_zip(const std::vector<ZipMember>& members) {
  const auto check = [](bool good, const std::string& why) {
    if (!good) throw Failure("cannot make a .npz file: " + why);
  };
  Reason reason;
  Source target(zip_source_buffer_create(nullptr, 0, 0, &reason.error));
  if (target) zip_source_keep(target.get());  // it must outlive the archive
  zip_source_t* bytes = target.get();
  Archive z = opened(target, ZIP_TRUNCATE, reason);
  check(z != nullptr, reason.text());
  const Source kept(bytes);
  constexpr uint16_t kDate = 0x21;  // 1980-01-01
  for (const ZipMember& m : members) {
    zip_source_t* data = zip_source_buffer(z.get(), m.data.data(), m.data.size(), 0);
    const zip_int64_t i = data ? zip_file_add(z.get(), m.name.c_str(), data, 0) : -1;
    if (i < 0) zip_source_free(data);
    const auto index = static_cast<zip_uint64_t>(i);
    check(i >= 0 && zip_set_file_compression(z.get(), index, ZIP_CM_STORE, 0) == 0 &&
              zip_file_set_dostime(z.get(), index, 0, kDate, 0) == 0,
          zip_strerror(z.get()));
  }
  check(zip_close(z.get()) == 0, zip_strerror(z.get()));
  (void)z.release();
  check(zip_source_open(bytes) == 0 && zip_source_seek(bytes, 0, SEEK_END) == 0, "no memory");
  std::vector<std::byte> out(static_cast<size_t>(zip_source_tell(bytes)));
  check(zip_source_seek(bytes, 0, SEEK_SET) == 0 &&
            zip_source_read(bytes, out.data(), out.size()) == static_cast<zip_int64_t>(out.size()),
        "no memory");
  zip_source_close(bytes);
  return out;
}

}  // namespace poprt::cli
