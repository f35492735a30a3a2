// Implements `poprt help TOPIC`: documents inside the command, because packages have no source
// tree.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace poprt::cli {

struct HelpTopic {
  const char *name, *summary;
  // One line for each paragraph or list item; lines that begin with a tab are code.
  const char* text;
};
struct HelpAlias {
  const char *name, *topic;
};

// cmake/packages/help_topics.py makes these tables from docs/.
extern const HelpTopic kHelpTopics[];
extern const std::size_t kHelpTopicCount;
extern const HelpAlias kHelpAliases[];
extern const std::size_t kHelpAliasCount;

// Finds a topic by its name, by an alias, or by the name of its document. Returns null if there is
// none.
const HelpTopic* find_topic(std::string_view name);

// Returns the text of a topic with lines of at most `width` columns.
std::string topic_text(const HelpTopic& topic, std::size_t width);

// Handles the command line `PROGRAM help [TOPIC]`: prints the topic or the list of topics. Returns
// the exit code, or nothing for another command line.
std::optional<int> handle_help(const char* program, int argc, char** argv);

}  // namespace poprt::cli
