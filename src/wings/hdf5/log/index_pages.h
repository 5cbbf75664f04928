// The index of a log file, as readers use it: heads of lists and pages, which are read when they
// are needed. Both are kept up to a limit.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "hdf5/format/log_index.h"

namespace forebay::logged {

class IndexPages {
 public:
  /// Reads bytes of the file; throws if they are not there.
  using Read = std::function<std::vector<std::byte>(Offset place, Count bytes)>;
  IndexPages(Read read, Count memory_limit) : read_(std::move(read)), memory_limit_(memory_limit) {}

  /// Sets the index, which begins at `place` of the file. `memory` has all of it, or is empty. It
  /// must stay unchanged until the next call, or the end.
  void set(IndexDirectory directory, Offset place, std::span<const std::byte> memory);
  const IndexDirectory& directory() const { return directory_; }
  /// Returns whether looking at pages reads the file.
  bool is_in_file() const { return memory_.empty(); }

  /// Returns the head of a dataset's list; null if there is none. Errc::ebadlog, etrunc; the same
  /// for the other functions.
  std::shared_ptr<const ListHead> head(std::uint64_t dataset);
  /// Returns the records of a page. Valid until the next call.
  std::span<const std::byte> page(std::uint64_t dataset, const ListHead& head, std::uint32_t page);
  /// Returns all entries of a dataset; nothing if the index has no list of it.
  EntryList list(std::uint64_t dataset);

 private:
  using PageKey = std::pair<std::uint64_t, std::uint32_t>;
  struct Kept {
    std::vector<std::byte> records;
    std::list<PageKey>::iterator use;
  };

  const IndexPlace* place_of(std::uint64_t dataset) const;
  std::span<const std::byte> bytes_at(Offset at, Count bytes, std::vector<std::byte>& room) const;

  Read read_;
  Count memory_limit_;  // of pages, and as much of heads
  IndexDirectory directory_;
  Offset place_ = -1;
  std::span<const std::byte> memory_;
  std::map<std::uint64_t, std::shared_ptr<const ListHead>> heads_;
  Count head_memory_ = 0;
  std::map<PageKey, Kept> pages_;
  std::list<PageKey> recent_;  // most recently used first
  Count page_memory_ = 0;
};

/// Returns the pages whose bounds meet a box.
std::vector<std::uint32_t> pages_meeting(const ListHead& head, const Count* box);
/// Adds the cuts, and puts all into write order.
void complete(const ListHead& head, std::vector<NumberedEntry>& found);

}  // namespace forebay::logged
