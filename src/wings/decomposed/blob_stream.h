// The extents of this rank's blobs, made while a transport asks for them. Blobs of hundreds of
// variables share one list of where elements are in memory.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/extent.h"
#include "decomposed/selected.h"

namespace forebay::decomposed {

struct Blob {
  Offset offset = 0;
  Count padding = 0;  ///< zero bytes after the blob
  std::shared_ptr<const Selected> what;
  const std::byte* data = nullptr;  ///< where positions in the selection's memory count from
  int width = 1, swap = 1;
};

class BlobStream : public ExtentStream {
 public:
  /// `blobs` are in order of offset.
  explicit BlobStream(std::shared_ptr<const std::vector<Blob>> blobs) : blobs_(std::move(blobs)) {}

  StreamSummary summary() const override {
    StreamSummary summary;
    for (const Blob& b : *blobs_) {
      const Count bytes = b.what->elements * b.width + b.padding;
      if (summary.pieces == 0) summary.first = b.offset;
      summary.last = b.offset + bytes;
      summary.bytes += bytes;
      summary.pieces += static_cast<Count>(std::max<std::size_t>(b.what->gather.size(), 1)) +
                        (b.padding > 0 ? 1 : 0);
    }
    return summary;
  }
  std::size_t next(std::span<Extent> out) override {
    std::size_t made = 0;
    while (made < out.size() && blob_ < blobs_->size()) {
      const Blob& b = (*blobs_)[blob_];
      const std::size_t pieces = std::max<std::size_t>(b.what->gather.size(), 1);
      if (piece_ < pieces) {
        const Gathered g =
            b.what->gather.empty() ? Gathered{0, 0, b.what->elements} : b.what->gather[piece_];
        out[made++] = {b.offset + g.position * b.width, g.count * b.width,
                       const_cast<std::byte*>(b.data) + g.memory * b.width, 0, b.swap};
        ++piece_;
      } else {
        if (b.padding > 0)
          out[made++] = {b.offset + b.what->elements * b.width, b.padding, zeros(), 0, 1};
        piece_ = 0;
        ++blob_;
      }
    }
    return made;
  }
  void rewind() override { blob_ = piece_ = 0; }
  std::unique_ptr<ExtentStream> clone() const override {
    return std::make_unique<BlobStream>(blobs_);
  }

 private:
  static std::byte* zeros() {
    static std::byte bytes[8]{};  // only written to files, never changed
    return bytes;
  }

  std::shared_ptr<const std::vector<Blob>> blobs_;
  std::size_t blob_ = 0, piece_ = 0;
};

}  // namespace forebay::decomposed
