// forebay config: checks a configuration file, and shows what it would choose.
#include <fmt/format.h>

#include "base/text_table.h"
#include "base/words.h"
#include "method/method.h"
#include "tools/commands.h"
#include "tools/config_file.h"
#include "tools/json.h"

namespace forebay::tools {
namespace {

struct ConfigOptions {
  std::string path;
  std::vector<std::string> names, variables;
  bool json = false, all = false;
};

// Returns the matching elements, by the lines where they begin.
std::vector<std::string> variable_origins(const Method& method, const std::string& variable) {
  std::vector<std::string> origins;
  for (const VariableRule& rule : matching_rules(method, variable)) origins.push_back(rule.origin);
  return origins;
}

Json choice_json(const Method& method, const std::string& name, const ConfigOptions& options) {
  Json json = {{"name", name}};
  for (const MethodKey& key : method_keys()) {
    json["method"][key.name] = {{"value", shown_method_value(method, key.name)},
                                {"origin", method.origin_of(key.name)}};
  }
  json["variables"] = Json::array();
  for (const std::string& variable : options.variables) {
    Json entry = {{"name", variable}};
    for (const auto& [key, value] : variable_method(method, variable)) entry[key] = value;
    entry["origins"] = variable_origins(method, variable);
    json["variables"].push_back(std::move(entry));
  }
  return json;
}

std::string choice_text(const Method& method, const std::string& name,
                        const ConfigOptions& options) {
  TextTable table("lll");
  for (const MethodKey& key : method_keys()) {
    const bool chosen = method.origin.contains(key.name);
    if (!chosen && !options.all && std::string(key.group) != "method") continue;
    table.add({key.name, shown_method_value(method, key.name), method.origin_of(key.name)});
  }
  std::string text = printable(name) + "\n" + table.text();
  TextTable variables("lll");
  for (const std::string& variable : options.variables) {
    const std::string methods = joined(variable_method(method, variable), " ", [](const auto& key) {
      return key.first + "=" + key.second;
    });
    const std::string origins = joined(variable_origins(method, variable), ", ");
    variables.add(
        {"variable " + printable(variable), methods, origins.empty() ? "as the file" : origins});
  }
  return text + variables.text();
}

std::string file_text(const Config& config) {
  std::size_t variables = 0;
  for (const FileRule& rule : config.files) variables += rule.variables.size();
  return fmt::format("{}: in order, {}, {}\n", printable(config.name),
                     counted(std::ssize(config.files), "file element"),
                     counted(static_cast<Count>(variables), "variable element"));
}

void run_config(const ConfigOptions& options) {
  const Config config = read_config(options.path);
  Json choices = Json::array();
  if (!options.json) fmt::print("{}", file_text(config));
  for (const std::string& name : options.names) {
    Method method;
    apply_config(config, name, method);
    if (options.json) {
      choices.push_back(choice_json(method, name, options));
    } else {
      fmt::print("\n{}", choice_text(method, name, options));
    }
  }
  if (options.json) {
    const Json json = {{"file", options.path}, {"choices", choices}};
    print_json(json);
  }
}

}  // namespace

static void add_config_command(CLI::App& app, int& status) {
  auto options = std::make_shared<ConfigOptions>();
  Command command(app, "config",
                  "Check a configuration file (see FOREBAY_CONFIG) and show what it would choose");
  command.add_option("FILE", options->path, "the XML file").required();
  command.add_option("-n,--name", options->names, "a file's path: show its method")
      .one_value_each();
  command.add_option("-v,--var", options->variables, "a variable of these files: show its method")
      .one_value_each();
  command.add_flag("--all", options->all, "show keys with default values too");
  command.add_flag("--json", options->json, "print one JSON object");
  command.callback([options, &status] {
    run_config(*options);
    status = exit_done;
  });
}

extern const CommandEntry config_command{14, add_config_command};

}  // namespace forebay::tools
