#include "popef/compress.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "popef/error.h"
#include "popef/header.h"

namespace poprt::popef {
namespace {

constexpr int kLevel = 3;
constexpr int kMaxWindowLog = 23;  // 8 MiB, the memory that a reader may need
constexpr uint32_t kSkippableMagic = 0x184D2A50;
constexpr uint64_t kSkippableHeader = 8;

class CompressedContent final : public Content {
 public:
  CompressedContent(std::unique_ptr<Content> stored, uint64_t raw_bytes)
      : stored_(std::move(stored)), raw_bytes_(raw_bytes), context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
  }

  uint64_t size() const override { return raw_bytes_; }

  void read(uint64_t position, std::span<std::byte> out) override {
    if (position < produced_) restart();
    std::vector<std::byte> skipped;
    while (produced_ < position) {
      skipped.resize(std::min<uint64_t>(position - produced_, 1 << 17));
      decompress(skipped);
    }
    decompress(out);
    if (produced_ == raw_bytes_) check_end();
  }

 private:
  void restart() {
    ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
    produced_ = consumed_ = 0;
    input_ = {};
  }

  // Runs one step. Returns false if no input is left.
  bool step(ZSTD_outBuffer& output) {
    if (input_.pos == input_.size) {
      const uint64_t left = stored_->size() - consumed_;
      if (left == 0) return false;
      buffer_.resize(std::min<uint64_t>(left, 1 << 17));
      stored_->read(consumed_, buffer_);
      consumed_ += buffer_.size();
      input_ = {buffer_.data(), buffer_.size(), 0};
    }
    const size_t result = ZSTD_decompressStream(context_.get(), &output, &input_);
    if (ZSTD_isError(result))
      raise<FormatError>("compressed executable is damaged: {}", ZSTD_getErrorName(result));
    in_frame_ = result != 0;
    return true;
  }

  void decompress(std::span<std::byte> out) {
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    while (output.pos < output.size) {
      // The input may be used up while the decoder still has output.
      const size_t before = output.pos;
      if (!step(output)) {
        ZSTD_inBuffer none{nullptr, 0, 0};
        const size_t result = ZSTD_decompressStream(context_.get(), &output, &none);
        if (ZSTD_isError(result) || output.pos == before)
          raise<FormatError>("compressed executable ends after {} of {} bytes",
                             produced_ + output.pos, raw_bytes_);
      }
    }
    produced_ += out.size();
  }

  // Checks that no content follows. This also checks the checksum of the frame.
  void check_end() {
    std::byte extra;
    ZSTD_outBuffer output{&extra, 1, 0};
    while (output.pos == 0 && step(output)) {
    }
    if (output.pos != 0)
      raise<FormatError>("compressed executable holds more than its {} bytes", raw_bytes_);
    if (in_frame_) raise<FormatError>("compressed executable is cut off");
  }

  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<Content> stored_;
  uint64_t raw_bytes_;
  std::unique_ptr<ZSTD_DCtx, Free> context_;
  std::vector<std::byte> buffer_;
  ZSTD_inBuffer input_{};
  uint64_t produced_ = 0, consumed_ = 0;
  bool in_frame_ = false;
};

}  // namespace

struct Compressor::State {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::vector<std::byte> buffer = std::vector<std::byte>(ZSTD_CStreamOutSize());
  ~State() { ZSTD_freeCCtx(context); }
};

Compressor::Compressor(Output output)
    : state_(std::make_unique<State>()), output_(std::move(output)) {
  if (!state_->context) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(state_->context, ZSTD_c_checksumFlag, 1);
}

Compressor::~Compressor() = default;

void Compressor::run(std::span<const std::byte> bytes, bool end) {
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  for (;;) {
    ZSTD_outBuffer output{state_->buffer.data(), state_->buffer.size(), 0};
    const size_t left =
        ZSTD_compressStream2(state_->context, &output, &input, end ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left))
      throw Error(ErrorCode::internal, fmt::format("zstd: {}", ZSTD_getErrorName(left)));
    if (output.pos != 0) output_(std::span(state_->buffer).first(output.pos));
    stored_bytes_ += output.pos;
    if (end ? left == 0 : input.pos == input.size) return;
  }
}

void Compressor::write(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  run(bytes, false);
  raw_bytes_ += bytes.size();
}

void Compressor::finish() {
  run({}, true);
  const uint64_t least = raw_bytes_ / kMaxCompressionRatio;
  while (stored_bytes_ < least) {
    const uint64_t bytes =
        std::min<uint64_t>(std::max(least - stored_bytes_, kSkippableHeader + 1), 1 << 20);
    std::vector<std::byte> frame(bytes);
    const uint32_t head[] = {kSkippableMagic, static_cast<uint32_t>(bytes - kSkippableHeader)};
    std::memcpy(frame.data(), head, sizeof(head));
    output_(frame);
    stored_bytes_ += bytes;
  }
}

std::unique_ptr<Content> compressed_content(std::unique_ptr<Content> stored, uint64_t raw_bytes) {
  return std::make_unique<CompressedContent>(std::move(stored), raw_bytes);
}

}  // namespace poprt::popef
