#include "common/help_topics.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
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
  throw Usage(fmt::format("there is no topic '{}'{}; {} help lists the topics", argv[2],
                          similar.empty() ? "" : fmt::format(", did you mean {}?", similar),
                          program));
}

}  // namespace poprt::cli
