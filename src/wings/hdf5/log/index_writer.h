// Builds the index that a log file keeps. Entries are sorted by dataset, over all ranks.
#pragma once

#include "hdf5/log/log_reader.h"

namespace forebay::logged {

struct WrittenIndex {
  MetadataBlock place;
  IndexDirectory directory;
};

/// Collective over `comm`. Every rank has a reader of the same file. Each rank reads a share of the
/// sections that the present index does not cover. The entries of a dataset go to one rank, which
/// adds them to those in the present index. Memory: the lookups of a rank's share of the datasets,
/// and the entries of one round of at most 16 MiB of metadata.
WrittenIndex write_index(const Comm& comm, ByteFile& file, BlockSpace& space, LogReader& reader,
                         Report& report);

}  // namespace forebay::logged
