#include "common/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/text_wrapping.h"

namespace poprt::cli {
namespace {

// Formats one item of a list: a head such as `--precision TYPE`, and its text in the right column.
std::string list_item(const std::string& head, const std::string& text, size_t width) {
  const size_t column = std::min<size_t>(30, width / 3);
  std::string line = "  " + head;
  if (!text.empty()) {
    if (line.size() + 2 > column)
      line += "\n" + std::string(column, ' ');
    else
      line.resize(column, ' ');
    line += wrapped(text, width, column, column);
  }
  return line + "\n";
}

// The names of an option and of its value, such as `-o,--output PATH`.
std::string head_of(const CLI::Option& option) {
  const bool positional = option.get_positional();
  std::string head = positional ? option.get_name(true) : option.get_name(false, true);
  // CLI11 prints a range as "INT:INT in [2 - 64]".
  std::string value = option.get_type_name();
  for (const char* type : {"TEXT:", "INT:", "UINT:", "FLOAT:"})
    if (value.starts_with(type)) value.erase(0, std::string_view(type).size());
  if (!positional && option.get_items_expected_max() > 0 && !value.empty()) head += " " + value;
  if (option.get_items_expected_max() > 1 && !positional) head += " ...";
  return head;
}

std::string text_of(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!option.get_default_str().empty()) text += fmt::format(" [{}]", option.get_default_str());
  return text;
}

bool is_first(const CLI::Option& option, const std::vector<std::string>& first) {
  return std::ranges::any_of(first,
                             [&](const std::string& name) { return option.check_name(name); });
}

std::vector<const CLI::Option*> options_of(const CLI::App& app, const std::string& group) {
  return app.get_options([&](const CLI::Option* option) {
    return option->nonpositional() && option->get_group() == group;
  });
}

// The groups in the order in which their first options were added. Hidden options have none.
std::vector<std::string> groups_of(const CLI::App& app) {
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options({}))
    if (option->nonpositional() && !option->get_group().empty() &&
        std::ranges::count(groups, option->get_group()) == 0)
      groups.push_back(option->get_group());
  return groups;
}

std::string options_in_full(const CLI::App& app, size_t width) {
  std::string text;
  for (const std::string& group : groups_of(app)) {
    text += fmt::format("\n{}:\n", group);
    for (const CLI::Option* option : options_of(app, group))
      text += list_item(head_of(*option), text_of(*option), width);
  }
  return text;
}

std::string options_by_name(const CLI::App& app, const std::string& name,
                            const std::vector<std::string>& first, size_t width) {
  std::string text = fmt::format(
      "\n{}:\n", wrapped("Other options (" + name + " --help-all describes them)", width, 0, 0));
  for (const std::string& group : groups_of(app)) {
    std::string names;
    for (const CLI::Option* option : options_of(app, group)) {
      if (is_first(*option, first)) continue;
      names += (names.empty() ? "" : " ") + option->get_name(false, true);
    }
    if (!names.empty()) text += "  " + wrapped(group + ": " + names, width, 2, 6) + "\n";
  }
  return text;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  const size_t width = text_width();
  const bool all = mode == CLI::AppFormatMode::All;
  const auto subcommands = app->get_subcommands({});
  const auto positionals =
      app->get_options([](const CLI::Option* option) { return option->get_positional(); });
  std::string usage = fmt::format("Usage: {} [OPTIONS]", name);
  for (const CLI::Option* option : positionals) {
    const std::string word =
        option->get_name(true) + (option->get_items_expected_max() > 1 ? "..." : "");
    usage += option->get_required() ? " " + word : " [" + word + "]";
  }
  if (!subcommands.empty())
    usage += app->get_require_subcommand_min() > 0 ? " SUBCOMMAND" : " [SUBCOMMAND]";
  std::string text =
      wrapped(app->get_description(), width, 0, 0) + "\n" + wrapped(usage, width, 0, 2) + "\n";
  if (!positionals.empty()) text += "\nPositionals:\n";
  for (const CLI::Option* option : positionals)
    text += list_item(head_of(*option), text_of(*option), width);
  const bool brief = !first.empty() && !all;
  if (brief) {
    text += "\nStart here:\n";
    for (const std::string& option : first)
      if (const CLI::Option* found = app->get_option_no_throw(option))
        text += list_item(head_of(*found), text_of(*found), width);
  }
  if (!examples.empty()) text += "\nExamples:\n";
  for (const auto& [line, effect] : examples)
    text += fmt::format("  {}\n      {}\n", line, wrapped(effect, width, 6, 6));
  text += brief ? options_by_name(*app, name, first, width) : options_in_full(*app, width);
  if (!subcommands.empty()) text += "\nSubcommands:\n";
  for (const CLI::App* sub : subcommands)
    text += list_item(sub->get_name(), sub->get_description(), width);
  if (!footer.empty()) text += "\n" + wrapped(footer, width, 0, 0) + "\n";
  if (all)
    for (const CLI::App* sub : subcommands)
      text += fmt::format("\n=== {} {} ===\n", name, sub->get_name()) +
              sub->get_formatter()->make_help(sub, name + " " + sub->get_name(), mode);
  return text;
}

}  // namespace poprt::cli
