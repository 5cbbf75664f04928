// A directory that is taken as one file (D7 §7.1), as system calls see it: DIR/header.nc is a
// classic file, and what other files keep beside them in FILE.subfiles lies in DIR itself. Whoever
// is given DIR opens DIR/header.nc; nothing else differs.
#pragma once

#include <string>
#include <string_view>

namespace forebay::directory {

/// What the name of the folder beside a file ends with.
inline constexpr std::string_view beside = ".subfiles";

/// The file of definitions in a directory.
std::string header_of(const std::string& directory);
/// Local. Whether `path` is a directory with such a file.
bool is_one(const std::string& path);
/// Whether a path is that of such a file, by its name.
bool is_header(const std::string& path);
/// Local. Whether a path, with or without a slash behind it, is that of a symbolic link.
bool is_link(const std::string& path);
/// Local. Whether it is one with nothing else in it than is ours: numbered data files, an index and
/// a state, by what they begin with, too. Only then may it be removed, or become another file.
bool is_ours(const std::string& path);
/// Local. Whether it is a folder without definitions, as a kill or a power failure leaves one that
/// was being made: empty, or with nothing else in it than is ours, of which a file shows it. It may
/// be removed, or become a directory. Never FILE.subfiles, whose definitions lie elsewhere, nor
/// what a link leads to, which may have that name.
bool is_unfinished(const std::string& path);
/// Local. Removes what is ours of one, but for the file of definitions, as far as it can.
void remove_data(const std::string& directory) noexcept;
/// Local. `path`, or if that is such a directory its file of definitions: what is to be opened.
std::string to_open(const std::string& path);
/// Local. Where symbolic links lead that stand in a file's place: to what is there, or would be
/// made.
std::string end_of_links(const std::string& path);
/// Where that which belongs to a classic file lies: FILE.subfiles, or the directory whose file of
/// definitions it is. FILE is the file itself, by whatever link it is opened.
std::string folder_beside(const std::string& path);

}  // namespace forebay::directory
