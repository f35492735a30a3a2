// Options of `poprt`, made from the library's table (poprt_compiler_list_options).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace poprt::cli {

class Command;
class Option;

struct OptionInfo {
  std::string name, group, help, value, kind, effect, note, standard, since, needs, goes_with;
  std::vector<std::string> choices, unavailable, aliases;
  std::optional<double> least, above, most;
  bool command = false;     // the library does not have the option
  bool executable = false;  // does not affect the converted model

  bool is_flag() const { return kind == "flag"; }
  bool takes_many() const { return kind == "words" || kind == "names"; }
  // The names as users type them.
  std::vector<std::string> spellings() const;
};

struct OptionTables {
  std::vector<OptionInfo> options, tf2onnx;
  std::vector<std::string> compiler_fields;  // fields of --compiler_options

  // Finds an option in both lists by its name or a long alias. Returns null if there is none.
  const OptionInfo* find(std::string_view name) const;
};
const OptionTables& option_tables();

// Returns the words with the spelling of the option's choices, which users may write in upper or
// lower case.
std::vector<std::string> canonical(const OptionInfo& option, std::vector<std::string> words);

// Describes why a word is not a valid value. Returns an empty text if it is valid.
std::string value_error(const OptionInfo& option, const std::string& word);

// Names and values in the form that the library requires.
using NamedOptions = std::vector<std::pair<std::string, std::string>>;

// Returns the message with the names that the words of a command line have for options: --quantize
// instead of --calibration_with_data.
std::string with_typed_names(std::string message, int argc, const char* const* argv);

// The options that were given: words by option name. A flag that is on has the word "True".
class GivenOptions {
 public:
  void add_to(Command& app, const std::vector<OptionInfo>& options);
  // Reads the command line. `app` has been parsed.
  void take();
  // Returns the single-value options that the command line gives several times with different
  // values. The last value is used, as in argparse.
  std::vector<std::string> overridden() const;
  // Adds an option from another source unless the command line gave it.
  void add(const OptionInfo& option, std::vector<std::string> words);
  // If option `passes` contains `pass`, removes it and sets the equivalent option `option`.
  void move_pass(const std::string& pass, const std::string& option);
  // Adds the options of `others` that are not given here.
  void merge(const GivenOptions& others) {
    words_.insert(others.words_.begin(), others.words_.end());
  }

  bool has(const std::string& name) const { return words_.contains(name); }
  // Returns the only word, or `standard` if the option is not given.
  std::string text(const std::string& name, std::string standard = {}) const;
  // Returns the words as one text: names are separated by commas, other words by line feeds. It is
  // empty if the option is not given.
  std::string joined(const std::string& name) const;
  // Returns the names without surrounding blanks. There are none if the option is not given.
  std::vector<std::string> names(const std::string& name) const;
  // Returns the words of all options but these.
  std::vector<std::string> words_except(const std::set<std::string>& options) const;
  // Returns the value of a field of --compiler_options, or `standard` if it is not given.
  std::string compiler_field(const std::string& name, std::string standard = {}) const;
  // Returns the first word of --input_shape with several shapes, or an empty text.
  std::string word_with_several_shapes() const;
  // Returns the options for the library in the order of the table, with names separated by commas
  // and words by line feeds.
  NamedOptions for_library() const;
  // Returns the options for the library whose defaults in command poprt differ, unless they are
  // given: PopRT's converter writes opset 11 and 32-bit integers.
  NamedOptions defaults_of_command() const;
  // Throws Usage if an option requires another one that is not given.
  void check_needs() const;

 private:
  std::map<std::string, std::vector<std::string>> words_;
  std::vector<std::pair<const OptionInfo*, Option*>> parsed_;
};

}  // namespace poprt::cli
