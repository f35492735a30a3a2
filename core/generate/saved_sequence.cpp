#include "generate/saved_sequence.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/json.h"
#include "codecs/crc32c.h"
#include "program/builder.h"
#include "program/serialize.h"

namespace poprt::generate {
namespace {

using nlohmann::json;

constexpr std::string_view kMagic = "POPRTSEQ";
constexpr size_t kHeader = 24, kChecksum = 4;
constexpr int64_t kVersion = 1;

[[noreturn]] void fail_damaged(std::string_view what) {
  fail(ErrorCode::data_loss, "the saved sequence is damaged or truncated: {}", what);
}

template <class T>
T number_at(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

nlohmann::ordered_json options_json(const SequenceOptions& o) {
  const SamplingOptions& s = o.sampling;
  return {{"temperature", s.temperature},
          {"top_k", s.top_k},
          {"top_p", s.top_p},
          {"min_p", s.min_p},
          {"repetition_penalty", s.repetition_penalty},
          {"seed", s.seed},
          {"bad_tokens", s.bad_tokens},
          {"stop_tokens", s.stop_tokens},
          {"ignore_stop", s.ignore_stop},
          {"max_new_tokens", s.max_new_tokens},
          {"min_new_tokens", s.min_new_tokens},
          {"time_limit", o.time_limit.count()},
          {"wait_for_logits", o.wait_for_logits},
          {"source", o.source}};
}

// get<>() would convert any number, even 1e300.
uint64_t count_of(const json& from) {
  if (!from.is_number_unsigned())
    fail(ErrorCode::data_loss, "expected a number without sign, found {}", json_text(from));
  return from.get<uint64_t>();
}

SequenceOptions read_options_of(const json& from) {
  SequenceOptions o;
  SamplingOptions& s = o.sampling;
  s.temperature = from.at("temperature").get<double>();
  s.top_k = whole_number(from.at("top_k"));
  s.top_p = from.at("top_p").get<double>();
  s.min_p = from.at("min_p").get<double>();
  s.repetition_penalty = from.at("repetition_penalty").get<double>();
  s.seed = count_of(from.at("seed"));
  s.bad_tokens = whole_numbers(from.at("bad_tokens"));
  s.stop_tokens = whole_numbers(from.at("stop_tokens"));
  s.ignore_stop = from.at("ignore_stop").get<bool>();
  s.max_new_tokens = whole_number(from.at("max_new_tokens"));
  s.min_new_tokens = whole_number(from.at("min_new_tokens"));
  o.time_limit = std::chrono::nanoseconds(whole_number(from.at("time_limit")));
  o.wait_for_logits = from.at("wait_for_logits").get<bool>();
  o.source = whole_numbers(from.at("source"));
  return o;
}

// `rest` are the bytes after the text, which begin with the logits and the features.
SavedSequence read_fields(const json& from, std::span<const std::byte>& rest) {
  SavedSequence s;
  s.options = read_options_of(from.at("options"));
  s.prompt_length = count_of(from.at("prompt_length"));
  s.tokens = whole_numbers(from.at("tokens"));
  s.computed = count_of(from.at("computed"));
  for (const json& pair : from.at("unread"))
    s.unread.push_back({whole_number(pair.at(0)), std::bit_cast<double>(whole_number(pair.at(1)))});
  const auto finish = whole_number(from.at("finish"));
  if (finish < 0 || finish >= static_cast<int64_t>(Finish::error)) fail_damaged("'finish'");
  s.finish = static_cast<Finish>(finish);
  s.waits = from.at("waits").get<bool>();
  s.draws = count_of(from.at("draws"));
  s.encoded = from.at("encoded").get<bool>();
  s.source_length = whole_number(from.at("source_length"));
  const auto take = [&](const char* key, std::vector<float>& to) {
    const uint64_t count = count_of(from.at(key));
    if (count > rest.size() / sizeof(float)) fail_damaged("the number of its logits or features");
    to.resize(count);
    if (count) std::memcpy(to.data(), rest.data(), count * sizeof(float));
    rest = rest.subspan(count * sizeof(float));
  };
  take("pending", s.pending);
  take("features", s.options.features);
  return s;
}

// Throws data_loss unless a generator can have these tokens and counts between two of its runs.
void check_progress(const SavedSequence& s, const Description& d) {
  const auto require = [](bool holds, const char* what) {
    if (!holds) fail_damaged(what);
  };
  const auto inside = [&](int64_t t) { return t >= 0 && t < d.vocabulary; };
  require(std::ranges::all_of(s.tokens, inside), "'tokens'");
  require(std::ranges::all_of(s.unread, inside, &Token::id), "'unread'");
  require(s.prompt_length >= 1 && s.prompt_length <= s.tokens.size(), "'prompt_length'");
  const size_t made = s.tokens.size() - s.prompt_length;
  require(s.unread.size() <= made && s.draws <= made, "'draws'");
  if (s.finish != Finish::none) return;
  if (s.computed < s.prompt_length)
    require(made == 0 && s.pending.empty() && !s.waits, "'computed'");
  else
    require(s.computed + (s.pending.empty() ? 1 : 0) == s.tokens.size() &&
                (s.pending.empty() || s.pending.size() == static_cast<size_t>(d.vocabulary)),
            "'computed'");
  require(!s.waits || (!s.pending.empty() && s.options.wait_for_logits), "'waits'");
  require(!s.encoded || d.encoder.has_value(), "'encoded'");
  require(s.encoded || !d.encoder || s.computed == 0, "'encoded'");
  require(s.source_length >= 0 && s.source_length <= (d.encoder ? d.encoder->places : 0),
          "'source_length'");
}

// A program whose states have the same size for every length does not depend on max_length, so the
// fingerprint does not detect another max_length.
void check_length(const SavedSequence& s, const Description& d) {
  const auto most = static_cast<size_t>(d.max_length);
  if (s.prompt_length >= most || s.tokens.size() > most ||
      (s.finish == Finish::none && s.tokens.size() == most))
    fail(ErrorCode::failed_precondition,
         "the saved sequence has {} tokens, which a generator with max_length {} cannot continue",
         s.tokens.size(), most);
}

}  // namespace

std::string fingerprint_of(const runtime::Model& model) {
  const std::span<const std::byte> weights = model.image.weights;
  std::vector<program::Weight> pieces;
  constexpr uint64_t kPiece = uint64_t{1} << 20;
  for (uint64_t at = 0; at < weights.size(); at += kPiece) {
    const std::span<const std::byte> piece =
        weights.subspan(at, std::min(kPiece, weights.size() - at));
    pieces.push_back({at, piece.size(), [piece](std::span<std::byte> to) {
                        std::memcpy(to.data(), piece.data(), piece.size());
                      }});
  }
  Crc32c crc;
  uint64_t bytes = 0;
  program::write_executable(
      [&](std::span<const std::byte> piece) {
        crc.update(piece);
        bytes += piece.size();
      },
      model.program(), pieces);
  return fmt::format("{} {} {:08x}", program::package(), bytes, crc.value());
}

std::vector<std::byte> write_saved(const SavedSequence& s, const std::string& fingerprint) {
  nlohmann::ordered_json unread = nlohmann::ordered_json::array();
  for (const Token& t : s.unread)
    unread.push_back({t.id, std::bit_cast<int64_t>(t.log_probability)});
  const std::string text =
      json_text(nlohmann::ordered_json{{"version", kVersion},
                                       {"model", fingerprint},
                                       {"prompt_length", s.prompt_length},
                                       {"tokens", s.tokens},
                                       {"computed", s.computed},
                                       {"unread", unread},
                                       {"finish", static_cast<int64_t>(s.finish)},
                                       {"waits", s.waits},
                                       {"draws", s.draws},
                                       {"encoded", s.encoded},
                                       {"source_length", s.source_length},
                                       {"pending", s.pending.size()},
                                       {"features", s.options.features.size()},
                                       {"options", options_json(s.options)}});
  std::vector<std::byte> to;
  const auto add = [&](std::span<const std::byte> bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
  };
  const auto pending = std::as_bytes(std::span(s.pending)),
             features = std::as_bytes(std::span(s.options.features));
  const std::array<uint64_t, 2> sizes = {
      kHeader + text.size() + pending.size() + features.size() + s.device.size() + kChecksum,
      text.size()};
  to.reserve(sizes[0]);
  add(std::as_bytes(std::span(kMagic)));
  add(std::as_bytes(std::span(sizes)));
  add(std::as_bytes(std::span(text)));
  add(pending);
  add(features);
  add(s.device);
  Crc32c crc;
  crc.update(to);
  const std::array<uint32_t, 1> sum = {crc.value()};
  add(std::as_bytes(std::span(sum)));
  return to;
}

SavedSequence read_saved(std::span<const std::byte> bytes, const std::string& fingerprint,
                         const Decoder& decoder) {
  if (bytes.size() < kHeader + kChecksum ||
      std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    fail(ErrorCode::data_loss, "{} bytes are not a saved sequence", bytes.size());
  const auto size = number_at<uint64_t>(bytes, 8), text_size = number_at<uint64_t>(bytes, 16);
  if (size != bytes.size())
    fail_damaged(fmt::format("it has {} bytes, expected {}", bytes.size(), size));
  Crc32c crc;
  crc.update(bytes.first(bytes.size() - kChecksum));
  if (crc.value() != number_at<uint32_t>(bytes, bytes.size() - kChecksum))
    fail_damaged("its checksum differs");
  std::span<const std::byte> rest = bytes.subspan(kHeader, bytes.size() - kHeader - kChecksum);
  if (text_size > rest.size()) fail_damaged("the size of its text");
  const json from =
      try_parse_json(std::string_view(reinterpret_cast<const char*>(rest.data()), text_size));
  rest = rest.subspan(text_size);
  if (!from.is_object() || from.value("version", json(0)) != json(kVersion))
    fail(ErrorCode::failed_precondition, "the sequence was saved by another version of poprt");
  SavedSequence s;
  try {
    const auto model = from.value("model", std::string());
    if (model != fingerprint)
      fail(ErrorCode::failed_precondition,
           "the sequence was saved by a generator of another model, build or size: '{}', and this "
           "one is '{}'",
           model, fingerprint);
    s = read_fields(from, rest);
  } catch (const json::exception& e) {
    fail_damaged(e.what());
  }
  check_progress(s, decoder.description());
  check_length(s, decoder.description());
  const bool has_state = s.finish == Finish::none && (s.computed > 0 || s.encoded);
  const uint64_t expected = has_state ? decoder.saved_bytes(static_cast<int64_t>(s.computed)) : 0;
  if (rest.size() != expected)
    fail_damaged(fmt::format("its state has {} bytes, expected {}", rest.size(), expected));
  s.device.assign(rest.begin(), rest.end());
  return s;
}

}  // namespace poprt::generate
