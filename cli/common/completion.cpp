#include "common/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/option_table.h"

namespace poprt::cli {
namespace {

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Returns the choices of an option without those that are not available.
std::vector<std::string> offered(const OptionInfo& option) {
  std::vector<std::string> words = option.choices;
  std::erase_if(words, [&](const std::string& word) {
    return std::ranges::count(option.unavailable, word) > 0;
  });
  return words;
}

// Returns a branch of the completion function, for command lines that match `pattern`: the words
// that may follow, and the values of options with a fixed set of values.
std::string bash_branch(std::string_view pattern, const std::vector<OptionInfo>& options,
                        std::vector<std::string> words) {
  std::string cases;
  for (const OptionInfo& option : options) {
    append(words, option.spellings());
    if (!option.choices.empty())
      cases +=
          fmt::format("        {}) COMPREPLY=($(compgen -W \"{}\" -- \"$current\")); return ;;\n",
                      fmt::join(option.spellings(), "|"), fmt::join(offered(option), " "));
  }
  return fmt::format(
      "    {})\n      words=\"{}\"\n      case \"$previous\" in\n{}      esac\n      ;;\n", pattern,
      fmt::join(words, " "), cases);
}

std::string bash() {
  const OptionTables& tables = option_tables();
  return "# bash completion of poprt, made by poprt --print_completion bash.\n"
         "_poprt() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words\n"
         "  case \" ${COMP_WORDS[*]:1:COMP_CWORD-1} \" in\n" +
         bash_branch("*\" tf2onnx \"*", tables.tf2onnx, {"-h", "--help"}) +
         bash_branch("*", tables.options, {"tf2onnx", "-h", "--help"}) +
         "  esac\n"
         "  if [[ \"$current\" = -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  else\n"
         "    compopt -o filenames; COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -F _poprt poprt\n";
}

// Escapes a text for '...[...]' of _arguments.
std::string zsh_text(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

std::string zsh_arguments(const std::vector<OptionInfo>& options) {
  std::string lines;
  for (const OptionInfo& option : options) {
    std::string value;
    if (!option.is_flag())
      value = fmt::format(
          ":{}:{}", zsh_text(option.name),
          option.choices.empty() ? "_files" : fmt::format("({})", fmt::join(offered(option), " ")));
    for (const std::string& name : option.spellings())
      lines += fmt::format("      '{}[{}]{}' \\\n", name, zsh_text(option.help), value);
  }
  return lines;
}

std::string zsh() {
  const OptionTables& tables = option_tables();
  return "#compdef poprt\n"
         "# zsh completion of poprt, made by poprt --print_completion zsh.\n\n"
         "_poprt() {\n"
         "  if (( $words[(I)tf2onnx] )); then\n"
         "    _arguments \\\n" +
         zsh_arguments(tables.tf2onnx) +
         "      '*:file:_files'\n    return\n  fi\n  _arguments \\\n" +
         zsh_arguments(tables.options) +
         "      '*:file:_files'\n"
         "}\n"
         "# From a folder of functions, or sourced.\n"
         "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
         "  _poprt \"$@\"\n"
         "elif (( $+functions[compdef] )); then\n"
         "  compdef _poprt poprt\n"
         "fi\n";
}

}  // namespace

std::string completion(const std::string& shell) { return shell == "zsh" ? zsh() : bash(); }

}  // namespace poprt::cli
