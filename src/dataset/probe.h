// What can be done with a file by its name, without opening it as a dataset. Local, no MPI.
#pragma once

#include <optional>
#include <string>

namespace forebay {

/// 1, 2, 5: classic formats; 3: netCDF-4 (HDF5); nothing for anything else. Reads the first bytes
/// only. Errc::enoent, eaccess, efile and so on where the file cannot be read.
std::optional<int> probe_format(const std::string& path);

/// Removes a file, or a directory that is taken as one, with what lies beside it. Errc::enoent,
/// eaccess (another folder, too), ecantremove (a directory with other things in it), efile.
void delete_file(const std::string& path);

/// Whether a path is a directory that is taken as one file, with nothing else in it.
bool is_directory_file(const std::string& path);

/// Where files of a file's values lie beside it: a folder, if there is one.
std::optional<std::string> folder_of_values(const std::string& path);

/// `to` becomes what `from` is, with what lies beside it; what `to` was goes. In one step where
/// both are single files; else `to` is whole, or not there. Errc::ecantcreate, and what
/// delete_file() throws.
void rename_file(const std::string& from, const std::string& to);

}  // namespace forebay
