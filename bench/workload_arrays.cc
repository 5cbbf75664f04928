#include "workload_arrays.h"

#include <algorithm>
#include <cstring>

namespace forebay::bench {
namespace {

constexpr int kStale = 0xA5;
constexpr std::size_t kAlign = 8;

}  // namespace

ArrayWorkload::ArrayWorkload(std::unique_ptr<const ArrayPattern> pattern,
                             const ArrayStorage& storage, const Team& team)
    : pattern_(std::move(pattern)), storage_(storage), team_(team) {
  const auto variables = pattern_->variables();
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
  Amounts mine;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    Box box = pattern_->block(v, team_.rank);
    const auto size = static_cast<std::size_t>(box.elements()) * size_of(variables[v].type);
    offsets.push_back(bytes);
    bytes += (size + kAlign - 1) / kAlign * kAlign;
    mine.bytes += static_cast<std::int64_t>(size);
    mine.pieces += pieces_of(box, variables[v].shape);
    mine.requests += size > 0;
    blocks_.push_back({v, std::move(box), nullptr});
  }
  buffer_.resize(bytes);
  for (ArrayBlock& block : blocks_) block.data = buffer_.data() + offsets[block.variable];
  amounts_.bytes = team_.sum(mine.bytes);
  amounts_.pieces = team_.sum(mine.pieces);
  amounts_.requests = team_.sum(mine.requests);
  amounts_.own_data_bytes = team_.max(static_cast<std::int64_t>(bytes));
}

nlohmann::json ArrayWorkload::parameters() const {
  nlohmann::json out = pattern_->parameters();
  out["chunked"] = storage_.chunked;
  if (!storage_.codec.empty()) out["codec"] = storage_.codec;
  if (storage_.one_call) out["one_call"] = true;
  return out;
}

void ArrayWorkload::prepare_write() {
  for (const ArrayBlock& block : blocks_) pattern_->fill(block.variable, block.box, block.data);
}

void ArrayWorkload::prepare_read() { std::memset(buffer_.data(), kStale, buffer_.size()); }

std::int64_t ArrayWorkload::verify() {
  std::int64_t wrong = 0;
  std::vector<std::byte> expected;
  for (const ArrayBlock& block : blocks_) {
    const std::size_t width = size_of(pattern_->variables()[block.variable].type);
    expected.resize(static_cast<std::size_t>(block.box.elements()) * width);
    pattern_->fill(block.variable, block.box, expected.data());
    if (std::equal(expected.begin(), expected.end(), block.data)) continue;
    for (std::size_t at = 0; at < expected.size(); at += width) {
      wrong += std::memcmp(expected.data() + at, block.data + at, width) != 0;
    }
  }
  return wrong;
}

void ArrayWorkload::write(const std::string& path, MPI_Info info, Timeline& timeline) {
  const auto file = create_array_file(path, team_.comm, info, storage_);
  timeline.mark("open");
  file->define(pattern_->variables());
  timeline.mark("define");
  file->write(blocks_);
  timeline.mark("data");
  file->close();
  timeline.mark("close");
}

void ArrayWorkload::read(const std::string& path, MPI_Info info, Timeline& timeline) {
  const auto file = open_array_file(path, team_.comm, info, storage_);
  timeline.mark("open");
  file->find(pattern_->variables());
  timeline.mark("define");
  file->read(blocks_);
  timeline.mark("data");
  file->close();
  timeline.mark("close");
}

}  // namespace forebay::bench
