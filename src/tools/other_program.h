// Subcommands that are other programs. This process becomes the program, and keeps its rank in an
// MPI job.
#pragma once

#include <string>
#include <vector>

namespace forebay::tools {

/// Returns the path of a file relative to this command; empty if there is none.
std::string beside_this_command(const std::string& name);

/// The same for a program; if there is none, returns its bare name, to be found in PATH.
std::string find_program(const std::string& name);

/// Becomes the program `words[0]`, with the other words as arguments. No shell is involved. Throws
/// Errc::enotfound with `advice` if it cannot be started.
[[noreturn]] void become(std::vector<std::string> words, const std::string& advice);

}  // namespace forebay::tools
