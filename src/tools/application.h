// The whole command line: all subcommands in the order in which people read about them, and what
// is generated from it: pages of documentation, man pages, completion.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace forebay::tools {

/// Gives `app` its description, its options and all subcommands.
void build_application(CLI::App& app, int& status);

/// docs/commands.md.
std::string commands_page(const CLI::App& app);

/// A man page in roff; of a subcommand, or of `app` itself if `command` is null.
std::string man_page(const CLI::App& app, const CLI::App* command);

/// A completion script for "bash", "zsh" or "fish".
std::string completion_script(const CLI::App& app, const std::string& shell);

/// The subcommands that are shown to people.
std::vector<const CLI::App*> visible_commands(const CLI::App& app);

}  // namespace forebay::tools
