#pragma once

// What compressed arrays cost at least: each chunk encoded by one call after the other in one
// thread, then one pwrite stream of what came out; reading, one pread stream, then each chunk
// decoded. No communication, no file format, no conversion of byte order.
//
// Phases: "encode" or "decode", "pwrite" or "pread", both in elapsed time, and as a further number
// "codec_cpu", the processor time of the codec calls. With `cores` cores, the limit is
//
//     codec_cpu / cores + pwrite (pread)

#include <memory>
#include <string>
#include <vector>

#include "codec/pipeline.h"
#include "workloads/array.h"
#include "workloads/workload.h"

namespace forebay::bench {

class CodecLimitWorkload final : public Workload {
 public:
  /// `pattern` is that of `ranks` ranks, `team` must be one process. Makes all data; throws
  /// forebay::Error if the codec cannot be had.
  CodecLimitWorkload(std::unique_ptr<const ArrayPattern> pattern, const std::string& codec,
                     int ranks, const Team& team);

  std::string name() const override { return pattern_->name(); }
  nlohmann::json parameters() const override;
  Amounts amounts() const override { return amounts_; }

  void write(const std::string& path, MPI_Info info, Phases& phases) override;
  void prepare_read() override;
  void read(const std::string& path, MPI_Info info, Phases& phases) override;
  std::int64_t verify() override;

 private:
  struct Chunk {
    std::size_t pipeline = 0;  // index: one a variable
    ChunkInfo info;
    std::size_t at = 0;  // in raw_
    Element element = Element::Float;
    std::vector<EncodedChunk> parts;  // views of stored_
  };

  void add_chunk(std::size_t variable, const Box& box);

  std::unique_ptr<const ArrayPattern> pattern_;
  int ranks_;
  std::string codec_;
  std::vector<Pipeline> pipelines_;
  std::vector<Chunk> chunks_;
  std::vector<std::byte> raw_;     // all chunks in external form, one after the other
  std::vector<std::byte> stored_;  // as in the file, up to end_
  std::size_t end_ = 0;
  std::vector<std::byte> decoded_;  // like raw_, from the file
  CodecWorkspace workspace_;
  Amounts amounts_;
};

}  // namespace forebay::bench
