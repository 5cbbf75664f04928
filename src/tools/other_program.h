// Subcommands that other programs carry out: this process becomes the program, with the same place
// among the ranks of an MPI job.
#pragma once

#include <string>
#include <vector>

namespace forebay::tools {

/// What stands beside this command, by its path relative to it; empty if nothing of that name does.
std::string beside_this_command(const std::string& name);

/// The same for a program; otherwise the bare name, for PATH.
std::string find_program(const std::string& name);

/// Becomes the program that is the first of the words, with the others as its arguments; no shell
/// sees them. Throws Errc::enotfound with `advice` if it cannot be started.
[[noreturn]] void become(std::vector<std::string> words, const std::string& advice);

}  // namespace forebay::tools
