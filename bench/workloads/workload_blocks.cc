#include "workloads/workload_blocks.h"

#include <cstring>

namespace forebay::bench {
namespace {

constexpr std::uint32_t kSeed = 12345;

using Shape = BlockOptions::Shape;

}  // namespace

BlockWorkload::BlockWorkload(const BlockOptions& options, const Team& team)
    : options_(options), team_(team), shape_(options, team.size) {
  variable_ = {"x", shape_.is_double() ? Element::Double : Element::Float, shape_.dims(), {}};
  storage_.blocking = true;
  storage_.independent = options.independent;
  for (MPI_Offset call = 0; call < shape_.writes(); ++call) {
    written_.push_back({0, shape_.written(team_.rank, call)});
    add_runs(written_.back().box);
  }
  for (MPI_Offset call = 0; call < shape_.reads(); ++call)
    read_.push_back({0, shape_.read(team_.rank, call)});
  const std::int64_t bytes = elements_ * static_cast<std::int64_t>(size_of(variable_.type));
  buffer_.resize(static_cast<std::size_t>(bytes));
  take_places(written_);
  take_places(read_);
  amounts_.bytes = team_.sum(bytes);
  amounts_.pieces = team_.sum(static_cast<std::int64_t>(runs_.size()));
  amounts_.requests = team_.sum(static_cast<std::int64_t>(written_.size()));
  amounts_.own_data_bytes = team_.max(bytes);
}

// The buffer has the blocks one after the other.
void BlockWorkload::take_places(std::vector<ArrayBlock>& blocks) {
  std::byte* at = buffer_.data();
  for (ArrayBlock& block : blocks) {
    block.data = at;
    at += static_cast<std::size_t>(block.box.elements()) * size_of(variable_.type);
  }
}

void BlockWorkload::add_runs(const Box& box) {
  const std::vector<MPI_Offset>& dims = shape_.dims();
  const std::size_t fastest = dims.size() - 1;
  std::vector<MPI_Offset> at(dims.size(), 0);
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) offset = offset * dims[d] + box.start[d] + at[d];
    runs_.push_back({offset, box.count[fastest], false});
    elements_ += box.count[fastest];
    std::size_t d = fastest;
    while (d > 0 && ++at[d - 1] == box.count[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

std::string BlockWorkload::name() const { return name_of(options_.shape); }

nlohmann::json BlockWorkload::parameters() const {
  if (options_.shape == Shape::Btio) {
    return {{"grid", options_.grid}, {"iterations", options_.iterations}};
  }
  nlohmann::json out{{"bytes_per_rank", options_.bytes_per_rank}};
  if (options_.shape != Shape::Contiguous) out["piece_bytes"] = options_.piece_bytes;
  if (options_.independent) out["independent"] = true;
  return out;
}

void BlockWorkload::prepare_write() {
  if (shape_.is_double()) {
    make_pattern<double>(reinterpret_cast<double*>(buffer_.data()), runs_, kSeed, 0);
  } else {
    make_pattern<float>(reinterpret_cast<float*>(buffer_.data()), runs_, kSeed, 0);
  }
}

void BlockWorkload::prepare_read() { std::memset(buffer_.data(), kStale, buffer_.size()); }

std::int64_t BlockWorkload::verify() {
  return shape_.is_double()
             ? count_mismatches<double>(reinterpret_cast<double*>(buffer_.data()), runs_, kSeed, 0)
             : count_mismatches<float>(reinterpret_cast<float*>(buffer_.data()), runs_, kSeed, 0);
}

void BlockWorkload::write(const std::string& path, MPI_Info info, Phases& phases) {
  const auto file = create_array_file(path, team_.comm, info, storage_);
  phases.mark("open");
  file->define({&variable_, 1});
  phases.mark("define");
  for (const ArrayBlock& block : written_) file->write({&block, 1});
  phases.mark("data");
  file->close();
  phases.mark("close");
}

void BlockWorkload::read(const std::string& path, MPI_Info info, Phases& phases) {
  const auto file = open_array_file(path, team_.comm, info, storage_);
  phases.mark("open");
  file->find({&variable_, 1});
  for (const ArrayBlock& block : read_) file->read({&block, 1});
  phases.mark("data");
  file->close();
  phases.mark("close");
}

}  // namespace forebay::bench
