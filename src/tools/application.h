// The whole command line: all subcommands in the order in which people read about them, and what
// is generated from it: pages of documentation, man pages, completion.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace forebay::tools {

/// Gives `app` its description, its options and all subcommands.
void build_application(CLI::App& app, int& status);

/// Builds one and does what the command line says, which is without the program's name. Gives an
/// ExitCode; throws what the command throws.
int run_application(std::vector<std::string> arguments);

/// docs/commands.md.
std::string commands_page(const CLI::App& app);

/// A man page in roff; of a subcommand, or of `app` itself if `command` is null.
std::string man_page(const CLI::App& app, const CLI::App* command);

/// All man pages, as files of a folder, which is made if need be.
void save_man_pages(const CLI::App& app, const std::string& directory);

/// A completion script for "bash", "zsh" or "fish".
std::string completion_script(const CLI::App& app, const std::string& shell);

/// The subcommands that are shown to people.
std::vector<const CLI::App*> visible_commands(const CLI::App& app);

}  // namespace forebay::tools
