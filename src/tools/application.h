// The command line as a whole: all subcommands, in the order in which people read about them, and
// what is generated from it: documentation, man pages, completion.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace forebay::tools {

/// Gives `app` its description, its options and all subcommands.
void build_application(CLI::App& app, int& status);

/// Builds the application and carries out a command line, which lacks the program's name. Returns
/// an ExitCode. Throws what the command throws.
int run_application(std::vector<std::string> arguments);

/// Returns docs/commands.md.
std::string commands_page(const CLI::App& app);

/// Returns a man page in roff, of a subcommand, or of `app` itself if `command` is null.
std::string man_page(const CLI::App& app, const CLI::App* command);

/// Writes all man pages into a folder, which is made if needed.
void save_man_pages(const CLI::App& app, const std::string& directory);

/// Returns a completion script for "bash", "zsh" or "fish".
std::string completion_script(const CLI::App& app, const std::string& shell);

/// Returns the subcommands that are not hidden.
std::vector<const CLI::App*> visible_commands(const CLI::App& app);

}  // namespace forebay::tools
