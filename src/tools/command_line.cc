#include "tools/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "method/method_values.h"

namespace forebay::tools {

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::expected(int values) {
  option_->expected(values);
  return *this;
}

Option& Option::delimiter(char between) {
  option_->delimiter(between);
  return *this;
}

Option& Option::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::one_of(std::initializer_list<std::string> values) {
  option_->check(CLI::IsMember(std::vector<std::string>(values)));
  return *this;
}

Option& Option::size() {
  return type_name("SIZE").check([](const std::string& text) {
    return parse_size(text) ? "" : text + " is not a size: 65536, 64KiB, 1.5GiB";
  });
}

Option& Option::positive() {
  return type_name("NUMBER").check([](const std::string& text) {
    const double number = std::atof(text.c_str());
    return std::isfinite(number) && number > 0 ? "" : text + " is not a number above 0";
  });
}

Option& Option::not_negative() {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

Option& Option::check(std::function<std::string(const std::string&)> fault) {
  option_->check(std::move(fault));
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

bool Option::given() const { return option_->count() > 0; }

Command::Command(CLI::App& app, const std::string& name, const std::string& text)
    : command_(app.add_subcommand(name, text)) {}

template <typename T>
Option Command::add_option(const std::string& name, T& value, const std::string& text) {
  return Option(command_->add_option(name, value, text));
}

template Option Command::add_option(const std::string&, std::string&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::string>&,
                                    const std::string&);
template Option Command::add_option(const std::string&, double&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<double>&, const std::string&);
template Option Command::add_option(const std::string&, int&, const std::string&);
template Option Command::add_option(const std::string&, std::size_t&, const std::string&);
template Option Command::add_option(const std::string&, Count&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<Count>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<Rank>&, const std::string&);

Option Command::add_rate(const std::string& name, double& value, const std::string& text) {
  return add_option(name, value, fmt::format("{} (default: {})", text, value)).positive();
}

Option Command::add_flag(const std::string& name, bool& value, const std::string& text) {
  return Option(command_->add_flag(name, value, text));
}

void Command::footer(const std::string& text) { command_->footer(text); }

void Command::hide() { command_->group(""); }

void Command::callback(std::function<void()> work) { command_->callback(std::move(work)); }

std::vector<std::string> Command::given() const {
  std::vector<std::string> options, places{"--"};
  for (const CLI::Option* option : command_->get_options()) {
    const bool flag = option->get_items_expected_max() == 0;
    for (const std::string& value : option->results()) {
      if (option->get_positional()) {
        places.push_back(value);
      } else {
        options.push_back("--" + option->get_lnames().at(0) + (flag ? "" : "=" + value));
      }
    }
  }
  options.insert(options.end(), places.begin(), places.end());
  return options;
}

void print_error(const Error& error) {
  fmt::print(stderr, "forebay: {}\n", error.message());
  if (!error.advice().empty()) fmt::print(stderr, "         {}\n", error.advice());
}

}  // namespace forebay::tools
