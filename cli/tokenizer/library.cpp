#include "tokenizer/library.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct poprt_tokenizer_model {
  sentencepiece::SentencePieceProcessor processor;
};

namespace {

void check(const sentencepiece::util::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error_message());
}

// Calls `work`. Returns 0, or 1 if it threw; then `error` has the message in one line.
template <class Work>
int guarded(char* error, size_t error_size, Work work) {
  try {
    work();
    return 0;
  } catch (const std::exception& e) {
    const size_t count = std::min(std::strlen(e.what()), error_size - 1);
    std::memcpy(error, e.what(), count);
    error[count] = '\0';
    std::replace(error, error + count, '\n', ' ');
    return 1;
  }
}

poprt_tokenizer_model* open(const char* data, size_t size, char* error, size_t error_size) {
  std::unique_ptr<poprt_tokenizer_model> model;
  const int failed = guarded(error, error_size, [&] {
    model = std::make_unique<poprt_tokenizer_model>();
    check(model->processor.LoadFromSerializedProto(std::string_view(data, size)));
  });
  return failed ? nullptr : model.release();
}

void close(poprt_tokenizer_model* model) { delete model; }

int32_t size(const poprt_tokenizer_model* model) { return model->processor.GetPieceSize(); }
int32_t begin(const poprt_tokenizer_model* model) { return model->processor.bos_id(); }
int32_t end(const poprt_tokenizer_model* model) { return model->processor.eos_id(); }

int encode(const poprt_tokenizer_model* model, const char* text, size_t size,
           poprt_tokenizer_add_tokens add, void* context, char* error, size_t error_size) {
  return guarded(error, error_size, [&] {
    std::vector<int> tokens;
    check(model->processor.Encode(std::string_view(text, size), &tokens));
    add(context, tokens.data(), tokens.size());
  });
}

int decode(const poprt_tokenizer_model* model, const int32_t* tokens, size_t count,
           poprt_tokenizer_add_text add, void* context, char* error, size_t error_size) {
  return guarded(error, error_size, [&] {
    std::string text;
    check(model->processor.Decode(std::vector<int>(tokens, tokens + count), &text));
    add(context, text.data(), text.size());
  });
}

int piece(const poprt_tokenizer_model* model, int32_t token, poprt_tokenizer_add_text add,
          void* context, char* error, size_t error_size) {
  return guarded(error, error_size, [&] {
    const std::string& name = model->processor.IdToPiece(token);
    add(context, name.data(), name.size());
  });
}

}  // namespace

const poprt_tokenizer_library* poprt_tokenizer_library_table(void) {
  static const poprt_tokenizer_library table = {
      POPRT_TOKENIZER_VERSION, open, close, size, begin, end, encode, decode, piece};
  return &table;
}
