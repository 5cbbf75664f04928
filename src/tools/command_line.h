// A subcommand and its options, as the commands declare them. CLI11 parses the command line, but
// takes longer to compile than most commands. So only command_line.cc and the files about the whole
// application (application.h) include it.
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

/// A view of an option, or of a positional argument.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  /// Sets the name of the value in --help.
  Option& type_name(const std::string& name);
  /// Requires exactly so many values.
  Option& expected(int values);
  /// Allows several values in one word, with this separator.
  Option& delimiter(char between);
  /// Takes one value each time the option is given.
  Option& one_value_each();
  Option& one_of(std::initializer_list<std::string> values);
  Option& not_negative();
  /// Takes a size as method keys do: "64KiB" (parse_size).
  Option& size();
  /// Takes a finite number above 0.
  Option& positive();
  /// `fault` returns what is wrong with a value; empty if nothing is.
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

  /// A name without hyphens is a positional argument. command_line.cc lists the possible types T.
  /// `value` must live as long as the application.
  template <typename T>
  Option add_option(const std::string& name, T& value, const std::string& text);
  /// Takes a finite number above 0. --help shows its present value.
  Option add_rate(const std::string& name, double& value, const std::string& text);
  Option add_flag(const std::string& name, bool& value, const std::string& text);
  void footer(const std::string& text);
  /// Hides the subcommand from --help and documentation.
  void hide();
  void callback(std::function<void()> work);
  /// Returns the given options and arguments for another program that has the same ones. An option
  /// is one word with its long name and value. Positional arguments follow "--".
  std::vector<std::string> given() const;

 private:
  CLI::App* command_;
};

/// Prints an error and, below it, its advice to standard error.
void print_error(const Error& error);

}  // namespace forebay::tools
