// A companion: a small program that does what might crash, or might never end, in place of the
// process that asks for it. It has limits of memory and of processor time, and what becomes of it
// is an error of the file that it looked at.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace forebay {

/// Returns where plug-ins and companions are looked for, in this order: FOREBAY_PLUGIN_PATH, the
/// folder of the library that this function is in, `../lib`, and the folders in which that library
/// looks for others. All end with a slash.
std::vector<std::string> plugin_folders();

struct CompanionCall {
  std::string program;                 ///< its file's name
  std::string path;                    ///< of the file that it looks at; limits grow with its size
  std::vector<std::string> arguments;  ///< after the path
  std::string library;                 ///< which may crash: "HDF5"
  std::string part;             ///< what it reads if it names nothing: "the file's structure"
  bool takes_its_time = false;  ///< no limit of processor time
};

/// Local. Starts the program and returns its answer; nothing if the program is not there or cannot
/// be started. Throws the error that it answers, and Errc::ehdferr if it crashed or did not end:
/// the error names the path and the part that it was at.
std::optional<std::vector<std::byte>> ask_companion(const CompanionCall& call);

/// What a companion uses to name the part that it goes to. Names are kept until it ends, and a name
/// longer than 64 KiB is cut.
using NamePart = std::function<void(const std::string& part)>;

/// The main function of a companion: sets the limits, calls `answer` with the path and arguments,
/// and sends what it returns or throws. Does not return to the program.
[[noreturn]] void be_companion(
    int argc, char** argv,
    const std::function<std::vector<std::byte>(const std::vector<std::string>& words,
                                               const NamePart& name_part)>& answer);

/// Returns whether this process is a companion.
bool is_companion();

}  // namespace forebay
