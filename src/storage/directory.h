// A directory that is taken as one file (D7 §7.1), as system calls see it: DIR/header.nc is a
// classic file, and what other files keep beside them in FILE.subfiles lies in DIR itself. Whoever
// is given DIR opens DIR/header.nc; nothing else differs.
#pragma once

#include <string>

namespace forebay::directory {

/// The file of definitions in a directory.
std::string header_of(const std::string& directory);
/// Local. Whether `path` is a directory with such a file.
bool is_one(const std::string& path);
/// Whether a path is that of such a file, by its name.
bool is_header(const std::string& path);
/// Local. Whether it is one with nothing else in it than is ours: numbered data files, an index and
/// a state, by what they begin with, too. Only then may it be removed, or become another file. One
/// that lost its file of definitions is, as long as one of the others shows whose they are.
bool is_ours(const std::string& path);
/// Local. Whether it is a folder with nothing in it, which is nobody's: a file that is made may
/// take it, and it may be removed. A kill leaves one ahead of the first definitions.
bool is_empty(const std::string& path);
/// Local. Removes all but the file of definitions of one that is ours, as far as it can.
void remove_data(const std::string& directory) noexcept;
/// Local. `path`, or if that is such a directory its file of definitions: what is to be opened.
std::string to_open(const std::string& path);
/// Where that which belongs to a classic file lies: FILE.subfiles, or the directory whose file of
/// definitions it is.
std::string folder_beside(const std::string& path);

}  // namespace forebay::directory
