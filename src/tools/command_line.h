// One subcommand and its options, as the commands declare them. CLI11, which parses the command
// line, takes longer to compile than most commands do: only command_line.cc and what deals with the
// whole application (application.h) include it.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace forebay {
class Error;
}  // namespace forebay

namespace forebay::tools {

/// A view of an option, or of an argument that is known by its place.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  /// What --help calls the value.
  Option& type_name(const std::string& name);
  /// So many values, no more and no fewer.
  Option& expected(int values);
  /// Values in one word, parted by this.
  Option& delimiter(char between);
  /// One value each time that it is given.
  Option& one_value_each();
  Option& one_of(std::initializer_list<std::string> values);
  Option& not_negative();
  /// As method keys take sizes: "64KiB" (parse_size).
  Option& size();
  /// A finite number above 0.
  Option& positive();
  /// `fault` gives what is wrong with a value, empty if nothing is.
  Option& check(std::function<std::string(const std::string&)> fault);
  Option& excludes(const Option& other);
  Option& needs(const Option& other);

  bool given() const;

 private:
  CLI::Option* option_;
};

/// A view of a subcommand.
class Command {
 public:
  /// Adds it to `app`.
  Command(CLI::App& app, const std::string& name, const std::string& text);

  /// Of a name without hyphens: an argument known by its place. T is one of those that
  /// command_line.cc lists. The value must live as long as the application.
  template <typename T>
  Option add_option(const std::string& name, T& value, const std::string& text);
  Option add_flag(const std::string& name, bool& value, const std::string& text);
  void footer(const std::string& text);
  /// Not shown to people.
  void hide();
  void callback(std::function<void()> work);
  /// The options and arguments that were given, for another program with the same ones: each option
  /// by its long name and in one word with its value, arguments known by their place behind "--".
  std::vector<std::string> given() const;

 private:
  CLI::App* command_;
};

/// What went wrong, and below it what to do, to standard error.
void print_error(const Error& error);

}  // namespace forebay::tools
