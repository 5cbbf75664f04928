// Walks over the writes in a journal of stage burst (store/journal_reader.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "burst/format/staging_entry.h"
#include "store/journal_reader.h"

namespace forebay::staging {

struct Scan : journal::Scan {
  Count pieces = 0;  ///< number of lists of pieces
};

/// Called for each write that counts, in order, with the runs of its pieces (null for a subarray).
/// Writes of an incomplete request at the end are omitted. All writes that refer to the same pieces
/// get the same shared_ptr as long as somebody holds it. Pieces that were not used for a while are
/// read again.
using Visit = std::function<void(std::uint64_t sequence, const Write&,
                                 const std::shared_ptr<const RunList>& pieces)>;

/// Calls `visit` for each write. `everything`: as in Reader::walk. Errc::ebadlog, with its place,
/// for an entry that is whole and impossible. Memory grows with one entry, not with what the file
/// claims.
Scan walk_writes(Reader& reader, const Visit& visit, bool everything = false);

}  // namespace forebay::staging
