// Reading slabs that were encoded: their parts are fetched, checked, decoded, and handed out. One
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
#include "format/decomposed.h"
#include "layout/chunked/coder.h"
#include "layout/decomposed/part_order.h"
#include "layout/decomposed/slab_coding.h"

namespace forebay::decomposed {

/// Local. The stored bytes of a part; no codec is needed. Errc::enotnc, beginning with the file's
/// path, where they are not those that were written.
void fetch_part(ByteFile& file, const StoredPart& part, std::span<std::byte> into);

/// Local. The elements of a part that was fetched, as they were stored. Errc::enotnc as above.
void decode_part(const ByteFile& file, const StoredPart& part, const SlabCoding& coding,
                 std::span<const std::byte> stored, std::span<std::byte> raw,
                 CodecWorkspace& workspace);

/// Of a part that is sorted, the `begin`-th element of the slab being its first.
using OrderOf =
    std::function<std::shared_ptr<const PartOrder>(const StoredPart& part, Count begin)>;

struct PartReaderOptions {
  Count cache_bytes = 16 << 20;  ///< of decoded parts; one that is read is held in any case
  int threads = 1;               ///< that decode
};

class PartReader {
 public:
  PartReader(PartReaderOptions options, Report& report)
      : options_(options), tasks_(options.threads), cache_(options.cache_bytes), report_(report) {}

  /// Local. Extents by byte of the slab's elements, of whole elements and without overlap, get what
  /// the slab of data file `number` has there. Only the parts that have some of them are read.
  /// Errc::enotnc naming the file for a damaged one.
  void read(ByteFile& file, std::uint32_t number, const Entry& slab, const SlabCoding& coding,
            const OrderOf& order_of, ExtentStream& extents);
  /// Local. As PartReaderOptions::threads, from here on; at least one.
  void use_threads(int threads) {
    threads = std::clamp(threads, 1, most_threads);
    if (threads != tasks_.threads()) tasks_ = chunked::TaskTeam(threads);
  }
  /// Local. To be called when what is read next is of another commit.
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
