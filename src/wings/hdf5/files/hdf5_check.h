// Whether HDF5 can read a file. HDF5's own code does not withstand all files that somebody damaged,
// or made to harm, so a companion process goes first (base/companion.h), and a crash of it is an
// error of the file. Where there is no companion, this process does it.
#pragma once

#include <string>
#include <vector>

#include "base/companion.h"
#include "base/types.h"

namespace forebay {

/// What check_hdf5() looked at.
struct Hdf5Checked {
  Count datasets = 0;
  Count bytes = 0;           ///< of values that were read
  Count with_checksums = 0;  ///< those of them whose chunks have checksums (fletcher32)
};

/// Opens every object of an HDF5 file and, with `values`, reads all its elements, so that filters
/// with checksums verify them. Returns one sentence for each unreadable object. Throws if the file
/// cannot be opened, and if HDF5 crashes.
std::vector<std::string> check_hdf5(const std::string& path, bool values, Hdf5Checked& looked_at);

/// Has a companion read all of a file but its values, and throws what it meets: after an error of
/// HDF5 its state may be bad. Errc::ehdferr, with the name of the object, if it crashes or does not
/// end. Does nothing in a companion, and nothing for a file
/// that was the last one tried and has not changed.
void try_hdf5_structure(const std::string& path);

/// The companion's side: `words` are the path and what is asked for.
std::vector<std::byte> answer_about_hdf5(const std::vector<std::string>& words,
                                         const NamePart& name_part);

}  // namespace forebay
