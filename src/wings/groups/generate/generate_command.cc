// forebay generate: prints the statements with which a program writes its groups and reads them.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "groups/generate/group_code.h"
#include "tools/commands.h"
#include "tools/config_file.h"

namespace forebay::tools {
namespace {

struct Options {
  std::string path, language, folder;
  std::vector<std::string> groups;
};

std::vector<GroupDefinition> chosen_groups(const Config& config,
                                           const std::vector<std::string>& names) {
  if (config.groups.empty())
    throw Error(Errc::einval, config.name + " has no group", "declare one: <group name=\"...\">");
  if (names.empty()) return config.groups;
  std::vector<GroupDefinition> chosen;
  std::vector<std::string_view> known;
  for (const GroupDefinition& group : config.groups) known.push_back(group.name);
  for (const std::string& name : names) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end())
      throw Error(Errc::einval, config.name + " has no group " + name,
                  did_you_mean(name, known, ""));
    chosen.push_back(config.groups[static_cast<std::size_t>(found - known.begin())]);
  }
  return chosen;
}

Language language_of(const GroupDefinition& group, const std::string& asked) {
  if (asked.empty()) return group.column_major ? Language::fortran : Language::c;
  return asked == "c" ? Language::c : Language::fortran;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw system_error(errno, Errc::ewrite, "write", path.string());
}

// Returns a file name, which must not contain a folder.
std::string file_name(const GroupDefinition& group) {
  if (group.name.find('/') == std::string::npos) return group.name;
  throw Error(Errc::einval, "no file can have the name of group " + group.name,
              "give another name, or take the code from standard output, without -o");
}

void run(const Options& options) {
  // Generates all code before anything is written.
  std::vector<std::pair<std::string, std::string>> files;
  for (const GroupDefinition& group : chosen_groups(read_config(options.path), options.groups)) {
    const Language language = language_of(group, options.language);
    const GroupCode code = group_code(group, language);
    const char* ending = language == Language::c ? "ch" : "fh";
    const std::string name = options.folder.empty() ? group.name : file_name(group);
    files.emplace_back(fmt::format("gwrite_{}.{}", name, ending), code.write);
    files.emplace_back(fmt::format("gread_{}.{}", name, ending), code.read);
  }
  for (const auto& [name, text] : files) {
    if (options.folder.empty())
      fmt::print("{}{}", text, &text == &files.back().second ? "" : "\n");
    else
      write_file(std::filesystem::path(options.folder) / name, text);
  }
}

}  // namespace

static void add_generate_command(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  Command command(app, "generate",
                  "Make the statements that write a program's groups and read them back");
  command.add_option("FILE", options->path, "the XML file that declares groups").required();
  command.add_option("-g,--group", options->groups, "these groups (default: all)").one_value_each();
  command
      .add_option("-l,--language", options->language,
                  "c or fortran (default: the group's language)")
      .one_of({"c", "fortran"});
  command.add_option(
      "-o,--output", options->folder,
      "write gwrite_NAME.ch and gread_NAME.ch (Fortran: .fh) of each group into this "
      "folder, instead of all to standard output");
  command.footer(
      "A program opens a file, includes this code in each step, looks at forebay_status, and ends "
      "the step (docs/groups.md, \"Generated code\"). The code calls variables as gwrite says, "
      "else "
      "by their names. What dimensions and offsets name is not read: the program sets it, and so "
      "says which box it wants.");
  command.callback([options, &status] {
    run(*options);
    status = exit_done;
  });
}

extern const CommandEntry generate_command{15, add_generate_command};

}  // namespace forebay::tools
