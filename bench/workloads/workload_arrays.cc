#include "workloads/workload_arrays.h"

#include <algorithm>

namespace forebay::bench {
namespace {

std::size_t size_of_block(const ArrayBlock& block, std::span<const ArrayVariable> variables) {
  return static_cast<std::size_t>(block.box.elements()) * size_of(variables[block.variable].type);
}

}  // namespace

void ArrayWorkload::Buffer::add(const ArrayVariable& variable, std::size_t index, Box box) {
  blocks.push_back({variables.size(), std::move(box), nullptr});
  variables.push_back(variable);
  of_pattern.push_back(index);
}

void ArrayWorkload::Buffer::place() {
  std::vector<std::size_t> offsets;
  std::size_t size = 0;
  for (const ArrayBlock& block : blocks) {
    offsets.push_back(size);
    size += (size_of_block(block, variables) + kAlign - 1) / kAlign * kAlign;
  }
  bytes.resize(size);
  for (std::size_t k = 0; k < blocks.size(); ++k) blocks[k].data = bytes.data() + offsets[k];
}

ArrayWorkload::ArrayWorkload(std::unique_ptr<const ArrayPattern> pattern,
                             const ArrayStorage& storage, const Team& team, const ReadOptions& read)
    : pattern_(std::move(pattern)), storage_(storage), team_(team), read_(read) {
  const auto variables = pattern_->variables();
  Amounts mine;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    own_.add(variables[v], v, pattern_->block(v, team_.rank));
    const ArrayBlock& block = own_.blocks.back();
    const std::size_t size = size_of_block(block, own_.variables);
    mine.bytes += static_cast<std::int64_t>(size);
    mine.pieces += pieces_of(block.box, variables[v].shape);
    mine.requests += size > 0;
  }
  own_.place();
  amounts_.bytes = team_.sum(mine.bytes);
  amounts_.pieces = team_.sum(mine.pieces);
  amounts_.requests = team_.sum(mine.requests);
  amounts_.own_data_bytes = team_.max(static_cast<std::int64_t>(own_.bytes.size()));
  choose_what_to_read();
}

void ArrayWorkload::choose_what_to_read() {
  const auto variables = pattern_->variables();
  const auto add = [&](std::size_t v, const Box& box) {
    other_.add(variables[v], v, part_of(box, team_.rank, team_.size));
  };
  if (read_.mode == ReadBack::Whole) {
    for (std::size_t v = 0; v < variables.size(); ++v) add(v, whole_of(variables[v].shape));
  } else if (read_.mode == ReadBack::Hyperslab) {
    std::mt19937_64 random(read_.seed);
    for (int k = 0; k < read_.hyperslabs; ++k) {
      const std::size_t v = random() % variables.size();
      add(v, random_box(variables[v].shape, random));
    }
  }
  other_.place();
}

nlohmann::json ArrayWorkload::parameters() const {
  nlohmann::json out = pattern_->parameters();
  out["chunked"] = storage_.chunked;
  if (!storage_.codec.empty()) out["codec"] = storage_.codec;
  if (storage_.one_call) out["one_call"] = true;
  if (storage_.independent) out["transfer"] = "independent";
  if (read_.mode == ReadBack::Whole) out["read"] = "whole variables";
  if (read_.mode == ReadBack::Hyperslab) out["read"] = "hyperslabs";
  return out;
}

void ArrayWorkload::prepare_write() {
  for (const ArrayBlock& block : own_.blocks) {
    pattern_->fill(block.variable, block.box, block.data);
  }
}

void ArrayWorkload::prepare_read() {
  for (Buffer* buffer : {&own_, &other_}) {
    std::fill(buffer->bytes.begin(), buffer->bytes.end(), std::byte{kStale});
  }
}

std::int64_t ArrayWorkload::verify() {
  std::int64_t wrong = 0;
  std::vector<std::byte> expected;
  const Buffer& buffer = read_.mode == ReadBack::Own ? own_ : other_;
  for (const ArrayBlock& block : buffer.blocks) {
    expected.resize(size_of_block(block, buffer.variables));
    pattern_->fill(buffer.of_pattern[block.variable], block.box, expected.data());
    wrong += count_beyond(expected, {block.data, expected.size()},
                          buffer.variables[block.variable].type, pattern_->bound());
  }
  return wrong;
}

void ArrayWorkload::write(const std::string& path, MPI_Info info, Phases& phases) {
  const auto file = create_array_file(path, team_.comm, info, storage_);
  phases.mark("open");
  file->define(own_.variables);
  phases.mark("define");
  file->write(own_.blocks);
  phases.mark("data");
  file->close();
  phases.mark("close");
}

void ArrayWorkload::read(const std::string& path, MPI_Info info, Phases& phases) {
  const Buffer& buffer = read_.mode == ReadBack::Own ? own_ : other_;
  const auto file = open_array_file(path, team_.comm, info, storage_);
  phases.mark("open");
  file->find(buffer.variables);
  phases.mark("define");
  file->read(buffer.blocks);
  phases.mark("data");
  file->close();
  phases.mark("close");
}

}  // namespace forebay::bench
