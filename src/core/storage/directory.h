// A directory that is used as one file (Hou 2023, §7.1), as system calls see it. DIR/header.nc is a
// classic file. What other files keep beside them in FILE.subfiles lies in DIR itself. To open DIR
// means to open DIR/header.nc. Nothing else differs.
#pragma once

#include <string>
#include <string_view>

namespace forebay::directory {

/// The end of the name of the folder beside a file.
inline constexpr std::string_view beside = ".subfiles";

/// Returns the path of the file of definitions in a directory.
std::string header_of(const std::string& directory);
/// Local. Returns whether `path` is a directory with such a file.
bool is_one(const std::string& path);
/// Returns whether a path is that of such a file, by its name.
bool is_header(const std::string& path);
/// Local. Returns whether a path, with or without a slash at its end, is a symbolic link.
bool is_link(const std::string& path);
/// Local. Returns whether it is such a directory with only our files: numbered data files, an index
/// and a state, by name and first bytes. Only then may it be removed or become another file.
bool is_ours(const std::string& path);
/// Local. Returns whether it is a folder without definitions, as a kill or a power failure leaves
/// one in the making: empty, or with only our files, one of which proves that. It may be removed or
/// become a directory. FILE.subfiles never is one, because its definitions lie elsewhere. Nor is
/// the target of a link, unless it is empty: it may have that name.
bool is_unfinished(const std::string& path);
/// Local. Removes our files in a directory, except the file of definitions, as far as possible.
void remove_data(const std::string& directory) noexcept;
/// Local. Returns the path to open: `path`, or the file of definitions if it is such a directory.
std::string to_open(const std::string& path);
/// Local. Follows symbolic links in a file's place. Returns what they lead to, even if nothing is
/// there yet.
std::string end_of_links(const std::string& path);
/// Local. Returns the path to make for a new file or folder. It is the end of its links, because
/// the system follows none then. Throws Errc::efile for links that lead to each other.
std::string to_make(const std::string& path);
/// Returns the mode of a folder for the data of a file of that mode. Others may not do more there
/// than with the file.
unsigned mode_for(unsigned mode_of_file);
/// Local. Makes a folder for what belongs to `file`, if there is none. A file of definitions has
/// one; if not, its folder was renamed meanwhile: throws Errc::enoent.
void make_beside(const std::string& folder, const std::string& file);
/// Returns the folder for the data of a classic file: FILE.subfiles, or the directory if it is a
/// file of definitions. FILE is the file itself, by whatever link it is opened.
std::string folder_beside(const std::string& path);

}  // namespace forebay::directory
