#include "common/help_topics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <utility>
#include <vector>

#include "common/arguments.h"
#include "common/text_wrapping.h"

namespace poprt::cli {
namespace {

std::span<const HelpTopic> help_topics() { return {kHelpTopics, kHelpTopicCount}; }
std::span<const HelpAlias> help_aliases() { return {kHelpAliases, kHelpAliasCount}; }

std::string topic_list(const char* program, size_t width) {
  std::string text =
      wrapped(fmt::format("Usage: {} help TOPIC", program), width, 0, 2) + "\n\nTopics:\n";
  for (const HelpTopic& topic : help_topics())
    text += fmt::format("  {:<14}{}\n", topic.name, wrapped(topic.summary, width, 16, 16));
  return text;
}

}  // namespace

const HelpTopic* find_topic(std::string_view name) {
  for (const HelpAlias& alias : help_aliases())
    if (name == alias.name) name = alias.topic;
  for (const HelpTopic& topic : help_topics())
    if (name == topic.name) return &topic;
  return nullptr;
}

std::string topic_text(const HelpTopic& topic, size_t width) {
  std::string text;
  std::string_view rest = topic.text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.starts_with('\t')) {
      text += "    " + std::string(line.substr(1)) + "\n";
      continue;
    }
    const size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    const bool item =
        line.substr(blanks).starts_with("* ") || line.substr(blanks).starts_with("- ");
    text += std::string(blanks, ' ') +
            wrapped(line.substr(blanks), width, blanks, blanks + (item ? 2 : 0)) + "\n";
  }
  return text;
}

// The names of the topics whose text contains a word in upper or lower case: at most five, and the
// topics with the most occurrences first.
std::vector<std::string_view> topics_with(std::string_view word) {
  if (word.empty()) return {};  // every text contains it
  std::vector<std::pair<size_t, std::string_view>> found;
  for (const HelpTopic& topic : help_topics()) {
    const std::string_view text = topic.text;
    const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
    size_t times = 0;
    for (auto at = text.begin();; at += static_cast<ptrdiff_t>(word.size()), times++) {
      at = std::search(at, text.end(), word.begin(), word.end(), same);
      if (at == text.end()) break;
    }
    if (times > 0) found.emplace_back(times, topic.name);
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<std::string_view> names;
  for (size_t i = 0; i < std::min<size_t>(found.size(), 5); i++) names.push_back(found[i].second);
  return names;
}

std::optional<int> handle_help(const char* program, int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "help") return std::nullopt;
  if (argc > 3) throw Usage(fmt::format("help: expected one topic, found {}", argc - 2));
  if (argc == 2) {
    fmt::print("{}", topic_list(program, text_width()));
    return 0;
  }
  if (const HelpTopic* topic = find_topic(argv[2])) {
    fmt::print("{}", topic_text(*topic, text_width()));
    return 0;
  }
  std::vector<std::string> names;
  for (const HelpTopic& topic : help_topics()) names.emplace_back(topic.name);
  for (const HelpAlias& alias : help_aliases()) names.emplace_back(alias.name);
  const std::string similar = similar_word(names, argv[2]);
  std::string hint = similar.empty() ? "" : fmt::format(", did you mean {}?", similar);
  if (const auto found = topics_with(argv[2]); !found.empty())
    hint = fmt::format("; the word is in {}", fmt::join(found, ", "));
  throw Usage(
      fmt::format("there is no topic '{}'{}; {} help lists the topics", argv[2], hint, program));
}

}  // namespace poprt::cli
