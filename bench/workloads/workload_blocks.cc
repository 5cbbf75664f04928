#include "workloads/workload_blocks.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "backends/backend.h"

namespace forebay::bench {
namespace {

constexpr int kStale = 0xA5;
constexpr std::uint32_t kSeed = 12345;

using Shape = BlockOptions::Shape;

}  // namespace

BlockWorkload::BlockWorkload(const BlockOptions& options, const Team& team)
    : options_(options), team_(team), shape_(options, team.size) {
  for (MPI_Offset call = 0; call < shape_.writes(); ++call)
    boxes_.push_back(shape_.written(team_.rank, call));
  for (MPI_Offset call = 0; call < shape_.reads(); ++call)
    read_boxes_.push_back(shape_.read(team_.rank, call));
  for (const Box& box : boxes_) add_runs(box);
  const auto bytes =
      elements_ * static_cast<std::int64_t>(shape_.is_double() ? sizeof(double) : sizeof(float));
  buffer_.resize(static_cast<std::size_t>(bytes));
  amounts_.bytes = team_.sum(bytes);
  amounts_.pieces = team_.sum(static_cast<std::int64_t>(runs_.size()));
  amounts_.requests = team_.sum(static_cast<std::int64_t>(boxes_.size()));
  amounts_.own_data_bytes = team_.max(bytes);
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
  int ncid = 0;
  int varid = 0;
  check(ncmpi_create(team_.comm, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &ncid), "create");
  phases.mark("open");
  const std::vector<MPI_Offset>& dims = shape_.dims();
  std::vector<int> dim_ids(dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    check(ncmpi_def_dim(ncid, ("d" + std::to_string(d)).c_str(), dims[d], &dim_ids[d]), "def_dim");
  }
  check(ncmpi_def_var(ncid, "x", shape_.is_double() ? NC_DOUBLE : NC_FLOAT,
                      static_cast<int>(dims.size()), dim_ids.data(), &varid),
        "def_var");
  check(ncmpi_enddef(ncid), "enddef");
  phases.mark("define");
  transfer(ncid, varid, boxes_, true);
  phases.mark("data");
  check(ncmpi_close(ncid), "close");
  phases.mark("close");
}

void BlockWorkload::read(const std::string& path, MPI_Info info, Phases& phases) {
  int ncid = 0;
  int varid = 0;
  check(ncmpi_open(team_.comm, path.c_str(), NC_NOWRITE, info, &ncid), "open");
  phases.mark("open");
  check(ncmpi_inq_varid(ncid, "x", &varid), "inq_varid");
  transfer(ncid, varid, read_boxes_, false);
  phases.mark("data");
  check(ncmpi_close(ncid), "close");
  phases.mark("close");
}

void BlockWorkload::transfer(int ncid, int varid, const std::vector<Box>& boxes, bool put) {
  if (options_.independent) check(ncmpi_begin_indep_data(ncid), "begin_indep_data");
  std::byte* at = buffer_.data();
  for (const Box& box : boxes) {
    const MPI_Offset* start = box.start.data();
    const MPI_Offset* count = box.count.data();
    std::int64_t elements = 1;
    for (MPI_Offset c : box.count) elements *= c;
    int status = NC_NOERR;
    if (options_.independent) {
      auto* data = reinterpret_cast<double*>(at);
      status = put ? ncmpi_put_vara_double(ncid, varid, start, count, data)
                   : ncmpi_get_vara_double(ncid, varid, start, count, data);
    } else if (shape_.is_double()) {
      auto* data = reinterpret_cast<double*>(at);
      status = put ? ncmpi_put_vara_double_all(ncid, varid, start, count, data)
                   : ncmpi_get_vara_double_all(ncid, varid, start, count, data);
    } else {
      auto* data = reinterpret_cast<float*>(at);
      status = put ? ncmpi_put_vara_float_all(ncid, varid, start, count, data)
                   : ncmpi_get_vara_float_all(ncid, varid, start, count, data);
    }
    check(status, put ? "put_vara_all" : "get_vara_all");
    at +=
        static_cast<std::size_t>(elements) * (shape_.is_double() ? sizeof(double) : sizeof(float));
  }
  if (options_.independent) check(ncmpi_end_indep_data(ncid), "end_indep_data");
}

}  // namespace forebay::bench
