// Builds the index that a log file keeps: entries are sorted by dataset, over all ranks.
#pragma once

#include "layout/logged/log_reader.h"

namespace forebay::logged {

struct WrittenIndex {
  MetadataBlock place;
  IndexDirectory directory;
};

/// Collective over `comm`, each of whose ranks has a reader of the same file. Reads the metadata
/// that the present index does not cover, each rank a share of the sections; each dataset's entries
/// go to one rank, which adds them to what the present index holds of it. Holds, besides the
/// lookups of a rank's share of the datasets, entries of one round of at most 16 MiB of metadata.
WrittenIndex write_index(const Comm& comm, ByteFile& file, BlockSpace& space, LogReader& reader,
                         Report& report);

}  // namespace forebay::logged
