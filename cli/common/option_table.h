// Options of `poprt`, made from the library's table (poprt_compiler_list_options).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace poprt::cli {

class Command;
class Option;

struct OptionInfo {
  std::string name, group, help, value, kind, effect, note, standard, since, needs;
  std::vector<std::string> choices, unavailable, aliases;
  std::optional<double> least, above, most;
  bool command = false;     // the library does not take it
  bool executable = false;  // decides nothing of the converted model

  bool is_flag() const { return kind == "flag"; }
  bool takes_many() const { return kind == "words" || kind == "names"; }
  // As they are typed.
  std::vector<std::string> spellings() const;
};

struct OptionTables {
  std::vector<OptionInfo> options, tf2onnx;
  std::vector<std::string> compiler_fields;  // of --compiler_options

  // Of any of both, by its name or an alias; null when there is none.
  const OptionInfo* find(std::string_view name) const;
};
const OptionTables& option_tables();

// What is wrong with a word as a value; empty when nothing is.
std::string complaint(const OptionInfo& option, const std::string& word);

// Name and value, as the library takes them.
using NamedOptions = std::vector<std::pair<std::string, std::string>>;

// What was given: words by name of option. A flag that is on has the word "True".
class GivenOptions {
 public:
  void add_to(Command& app, const std::vector<OptionInfo>& options);
  // What the command line said. `app` has been parsed.
  void take();
  // Options of one value that the command line gave several: the last one counts, as in argparse.
  std::vector<std::string> overridden() const;
  // From elsewhere, unless the command line said something else.
  void add(const OptionInfo& option, std::vector<std::string> words);
  // `pass` among the names of option `passes` is option `option`, which does what it is for.
  void move_pass(const std::string& pass, const std::string& option);
  // Those of `others` that are not here.
  void merge(const GivenOptions& others) {
    words_.insert(others.words_.begin(), others.words_.end());
  }

  bool has(const std::string& name) const { return words_.contains(name); }
  // The only word, or `standard`.
  std::string text(const std::string& name, std::string standard = {}) const;
  // As one text: names separated by commas. Empty when it is not given.
  std::string joined(const std::string& name) const;
  // The names one by one, without blanks around them; none when the option is not given.
  std::vector<std::string> names(const std::string& name) const;
  // For the library: names separated by commas, words by line feeds. In the order of the table.
  NamedOptions for_library() const;
  // Throws Usage when an option lacks the one that it needs.
  void check_needs() const;

 private:
  std::map<std::string, std::vector<std::string>> words_;
  std::vector<std::pair<const OptionInfo*, Option*>> parsed_;
};

}  // namespace poprt::cli
