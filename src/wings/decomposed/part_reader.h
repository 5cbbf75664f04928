// Reads encoded slabs: fetches, checks and decodes their parts, and copies out the values. One
// process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "base/extent.h"
#include "base/report.h"
#include "decomposed/format/decomposed_files.h"
#include "decomposed/part_order.h"
#include "decomposed/slab_coding.h"
#include "layout/chunked/coder.h"

namespace forebay::decomposed {

/// Local. Reads the stored bytes of a part, without a codec. Errc::enotnc, beginning with the
/// file's path, if they are not the bytes that were written.
void fetch_part(ByteFile& file, const StoredPart& part, std::span<std::byte> into);

/// Local. Decodes a fetched part, in the order in which it was stored. Errc::enotnc as above.
void decode_part(const ByteFile& file, const StoredPart& part, const SlabCoding& coding,
                 std::span<const std::byte> stored, std::span<std::byte> raw,
                 CodecWorkspace& workspace);

/// Returns the order of a sorted part. `begin` is its first element's number in the slab.
using OrderOf =
    std::function<std::shared_ptr<const PartOrder>(const StoredPart& part, Count begin)>;

struct PartReaderOptions {
  Count cache_bytes = 16 << 20;  ///< of decoded parts; the current one is held in any case
  int threads = 1;               ///< for decoding
};

class PartReader {
 public:
  PartReader(PartReaderOptions options, Report& report)
      : options_(options), tasks_(options.threads), cache_(options.cache_bytes), report_(report) {}

  /// Local. Reads a slab of data file `number`. Extents count bytes of the slab's elements; they
  /// have whole elements and do not overlap. Only the parts that they meet are read. Errc::enotnc
  /// with the file's name for a damaged part.
  void read(ByteFile& file, std::uint32_t number, const Entry& slab, const SlabCoding& coding,
            const OrderOf& order_of, ExtentStream& extents);
  /// Local. Changes PartReaderOptions::threads; at least one.
  void use_threads(int threads) {
    threads = std::clamp(threads, 1, most_threads);
    if (threads != tasks_.threads()) tasks_ = chunked::TaskTeam(threads);
  }
  /// Local. Call it when the next read is of another commit.
  void forget() { cache_.clear(); }

 private:
  using Bytes = chunked::ChunkCache::Bytes;
  struct Needed {
    const StoredPart* part;
    Offset begin;  // in the slab
    Bytes bytes;
    std::shared_ptr<const PartOrder> order = nullptr;
    Offset end(Count width) const { return begin + part->elements * width; }
  };
  void load(ByteFile& file, std::uint32_t number, const SlabCoding& coding, const OrderOf& order_of,
            std::span<Needed> needed);

  PartReaderOptions options_;
  chunked::TaskTeam tasks_;
  chunked::ChunkCache cache_;  // by data file and place
  Report& report_;
};

}  // namespace forebay::decomposed
