#include "limits/workload_codec_limit.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>
#include <stdexcept>

#include "limits/posix_file.h"

namespace forebay::bench {
namespace {

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Type external_type(Element type) {
  switch (type) {
    case Element::Int:
      return Type::int32;
    case Element::Float:
      return Type::float32;
    default:
      return Type::float64;
  }
}

template <typename Word>
void swap_bytes(std::byte* data, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k, data += sizeof(Word)) {
    std::reverse(data, data + sizeof(Word));
  }
}

void swap_external(std::byte* data, std::size_t count, std::size_t width) {
  if constexpr (std::endian::native == std::endian::little) {
    width == 8 ? swap_bytes<std::uint64_t>(data, count) : swap_bytes<std::uint32_t>(data, count);
  }
}

}  // namespace

CodecLimitWorkload::CodecLimitWorkload(std::unique_ptr<const ArrayPattern> pattern,
                                       const std::string& codec, int ranks, const Team& team)
    : pattern_(std::move(pattern)), ranks_(ranks > 0 ? ranks : 1) {
  if (team.size != 1) throw std::runtime_error("the limit is measured by one process");
  const Pipeline pipeline = Pipeline::parse(codec);
  codec_ = pipeline.text();
  const auto variables = pattern_->variables();
  std::size_t bytes = 0;
  for (const ArrayVariable& v : variables) {
    bytes += static_cast<std::size_t>(v.elements()) * size_of(v.type);
  }
  raw_.reserve(bytes);
  std::size_t most = 0;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    pipelines_.push_back(pipeline.for_type(external_type(variables[v].type)));
    for (const Box& box : variables[v].chunks()) {
      add_chunk(v, box);
      most += static_cast<std::size_t>(pipelines_.back().most_bytes(chunks_.back().info));
    }
  }
  stored_.resize(most);
  amounts_.bytes = static_cast<std::int64_t>(raw_.size());
  amounts_.pieces = amounts_.requests = static_cast<std::int64_t>(chunks_.size());
  amounts_.own_data_bytes = 3 * amounts_.bytes;
}

void CodecLimitWorkload::add_chunk(std::size_t variable, const Box& box) {
  const Element type = pattern_->variables()[variable].type;
  const auto count = static_cast<std::size_t>(box.elements());
  Chunk chunk;
  chunk.pipeline = variable;
  chunk.info.type = external_type(type);
  chunk.info.shape.assign(box.count.begin(), box.count.end());
  chunk.at = raw_.size();
  chunk.element = type;
  chunk.parts.resize(static_cast<std::size_t>(pipelines_.back().parts()));
  raw_.resize(raw_.size() + count * size_of(type));
  pattern_->fill(variable, box, raw_.data() + chunk.at);
  swap_external(raw_.data() + chunk.at, count, size_of(type));
  chunks_.push_back(std::move(chunk));
}

nlohmann::json CodecLimitWorkload::parameters() const {
  nlohmann::json out = pattern_->parameters();
  out["codec"] = codec_;
  out["as_ranks"] = ranks_;
  out["chunks"] = chunks_.size();
  return out;
}

void CodecLimitWorkload::write(const std::string& path, MPI_Info /*info*/, Phases& phases) {
  end_ = 0;
  const double before = thread_seconds();
  for (Chunk& chunk : chunks_) {
    const auto bytes = static_cast<std::size_t>(chunk.info.bytes());
    pipelines_[chunk.pipeline].encode(chunk.info, {raw_.data() + chunk.at, bytes}, chunk.parts,
                                      workspace_);
    for (EncodedChunk& part : chunk.parts) {
      const std::size_t length = part.bytes.size();
      if (length > stored_.size() - end_) throw std::runtime_error("a chunk grew");
      std::byte* const to = stored_.data() + end_;
      if (length > 0) std::memcpy(to, part.bytes.data(), length);
      part.bytes = {to, length};
      end_ += length;
    }
  }
  phases.note("codec_cpu", thread_seconds() - before);
  phases.mark("encode");
  PosixFile file(path, O_WRONLY | O_CREAT | O_TRUNC);
  file.write_all(0, {stored_.data(), end_});
  file.close();
  phases.mark("pwrite");
}

void CodecLimitWorkload::prepare_read() {
  decoded_.assign(raw_.size(), static_cast<std::byte>(kStale));
  std::fill(stored_.begin(), stored_.end(), static_cast<std::byte>(kStale));
}

void CodecLimitWorkload::read(const std::string& path, MPI_Info /*info*/, Phases& phases) {
  PosixFile file(path, O_RDONLY);
  file.read_all(0, {stored_.data(), end_});
  file.close();
  phases.mark("pread");
  const double before = thread_seconds();
  for (const Chunk& chunk : chunks_) {
    const auto bytes = static_cast<std::size_t>(chunk.info.bytes());
    pipelines_[chunk.pipeline].decode(chunk.info, chunk.parts, {decoded_.data() + chunk.at, bytes},
                                      workspace_);
  }
  phases.note("codec_cpu", thread_seconds() - before);
  phases.mark("decode");
}

std::int64_t CodecLimitWorkload::verify() {
  std::int64_t wrong = 0;
  std::vector<std::byte> was, is;
  for (const Chunk& chunk : chunks_) {
    const auto bytes = static_cast<std::size_t>(chunk.info.bytes()), width = size_of(chunk.element);
    was.assign(raw_.data() + chunk.at, raw_.data() + chunk.at + bytes);
    is.assign(decoded_.data() + chunk.at, decoded_.data() + chunk.at + bytes);
    for (auto* data : {&was, &is}) swap_external(data->data(), bytes / width, width);
    wrong += count_beyond(was, is, chunk.element, pattern_->bound());
  }
  return wrong;
}

}  // namespace forebay::bench
