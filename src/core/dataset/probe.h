// Operations on a file by name, without opening it as a dataset. Local, no MPI.
#pragma once

#include <optional>
#include <string>

namespace forebay {

/// Returns 1, 2 or 5 for classic formats, 3 for netCDF-4 (HDF5), nullopt for anything else. Reads
/// the first bytes only. Errc::enoent, eaccess, efile and so on: the file cannot be read.
std::optional<int> probe_format(const std::string& path);

/// Removes a file, or a directory that counts as one file, with all that belongs to it.
/// Errc::enoent, eaccess (also for other folders), ecantremove (a directory with other contents),
/// efile.
void delete_file(const std::string& path);

/// Returns whether a path is a directory that counts as one file and has no other contents.
bool is_directory_file(const std::string& path);

/// Returns the folder beside a file that holds the files of its values, if there is one.
std::optional<std::string> folder_of_values(const std::string& path);

/// Follows symbolic links at a path to the file that exists there, or that would be made.
std::string end_of_links(const std::string& path);

/// Renames `from`, with all that belongs to it, to `to`, and replaces what was there. This is one
/// step if both are single files; otherwise `to` is whole or missing. Errc::ecantcreate, and the
/// errors of delete_file().
void rename_file(const std::string& from, const std::string& to);

}  // namespace forebay
