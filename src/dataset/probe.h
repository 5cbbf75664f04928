// What can be done with a file by its name, without opening it as a dataset. Local, no MPI.
#pragma once

#include <optional>
#include <string>

namespace forebay {

/// 1, 2, 5: classic formats; 3: netCDF-4 (HDF5); nothing for anything else. Reads the first bytes
/// only. Errc::enoent, eaccess, efile and so on where the file cannot be read.
std::optional<int> probe_format(const std::string& path);

/// Removes a file. Errc::enoent, eaccess (a folder, too), efile.
void delete_file(const std::string& path);

}  // namespace forebay
