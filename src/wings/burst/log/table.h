// The records of one log in memory (Hou 2023, §3.2.3 keeps a copy of the metadata log in memory).
// Flushes order them, and reads of staged data search them. A write takes a few dozen bytes. A
// stage flushes when bytes() becomes too large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "array/request.h"
#include "burst/format/staging_entry.h"

namespace forebay::staging {

class Table {
 public:
  /// Adds a write. `runs`: needed if the write selects pieces.
  void add(const Write& write, Runs runs);

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  Count data_bytes() const { return data_bytes_; }  ///< of all writes
  Count bytes() const;                              ///< of memory, including run lists
  Count last_record() const { return last_record_; }
  void clear();

  VarId var(std::size_t i) const { return items_[i].var; }
  Count bytes_of(std::size_t i) const { return items_[i].bytes; }
  bool continues(std::size_t i) const { return items_[i].continues; }
  const WriteFacts& facts(std::size_t i) const { return items_[i]; }
  /// Returns the write as a request whose data will be at `data`.
  Request request(std::size_t i, std::byte* data) const;

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Item : WriteFacts {
    std::uint32_t list = none;  // index in lists_
    std::uint16_t ndims = 0;
    bool strided = false;
    std::size_t numbers = 0;  // index in numbers_ of start, count, stride; or base of pieces
  };

  std::vector<Item> items_;
  std::vector<Count> numbers_;
  std::vector<std::shared_ptr<const RunList>> lists_;
  Count data_bytes_ = 0, list_bytes_ = 0, last_record_ = 0;
};

/// Reads all data of a write into as many bytes. Errc::ebadlog if they are not what was written.
using ReadData = std::function<void(const WriteFacts&, std::span<std::byte>)>;

}  // namespace forebay::staging
