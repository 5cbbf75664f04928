// Collective reads in which the pages of the index are dealt to the ranks (Hou 2023, §7.3), so that
// no rank holds them all, and each page is read from the file once. A rank that wants entries has
// the heads of their lists, and asks the keepers of the pages that may have them. It gets the
// records that meet what it wants, not the data.
//
// A look-up has rounds of all ranks. In each round a rank asks a keeper for a few pages, and a
// keeper answers until its memory is used; other pages are asked for again in the next round.
//
// Memory: an eighth of `memory` for questions under way and for answers, the keeper's pages, and
// the entries that were found.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/comm.h"
#include "hdf5/log/log_reader.h"

namespace forebay::logged {

/// What one read looks for.
struct WantedEntries {
  std::uint64_t dataset = 0;
  std::uint32_t ndims = 1;
  Bounds bounds;
};

/// Local. Returns which of `ranks` ranks keeps a page. Neighbouring pages have different keepers.
inline Rank keeper_of(std::uint64_t dataset, std::uint32_t page, int ranks) {
  const auto all = static_cast<std::uint64_t>(ranks);
  return static_cast<Rank>((dataset % all + page % all) % all);
}

/// Collective. Returns for each read the entries that the index has for it, as LogReader::read
/// takes them. A rank that fails takes part in all rounds, and throws at the end; the others do
/// not. Errc::ebadlog, etrunc.
std::vector<std::vector<NumberedEntry>> find_together(const Comm& comm, LogReader& reader,
                                                      std::span<const WantedEntries> wanted,
                                                      Count memory);

}  // namespace forebay::logged
