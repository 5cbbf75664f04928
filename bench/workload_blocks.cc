#include "workload_blocks.h"

#include <algorithm>
#include <cstring>

#include "backend.h"

namespace forebay::bench {
namespace {

constexpr int kStale = 0xA5;
constexpr std::uint32_t kSeed = 12345;

}  // namespace

BlockWorkload::BlockWorkload(const BlockOptions& options, const Team& team)
    : options_(options), team_(team) {
  switch (options_.shape) {
    case BlockOptions::Shape::Contiguous:
      shape_contiguous();
      break;
    case BlockOptions::Shape::Strided:
      shape_strided();
      break;
    case BlockOptions::Shape::Checkerboard:
      shape_checkerboard();
      break;
  }
  for (const Box& box : boxes_) add_runs(box);
  const std::size_t width = is_double_ ? sizeof(double) : sizeof(float);
  buffer_ = std::make_unique<std::byte[]>(static_cast<std::size_t>(elements_) * width);
  const auto bytes = elements_ * static_cast<std::int64_t>(width);
  amounts_.bytes = team_.sum(bytes);
  amounts_.pieces = team_.sum(static_cast<std::int64_t>(runs_.size()));
  amounts_.requests = team_.sum(static_cast<std::int64_t>(boxes_.size()));
  amounts_.own_data_bytes = team_.max(bytes);
}

void BlockWorkload::shape_contiguous() {
  is_double_ = true;
  const MPI_Offset n =
      std::max<MPI_Offset>(1, options_.bytes_per_rank / MPI_Offset{sizeof(double)});
  dims_ = {n * team_.size};
  boxes_.push_back({{n * team_.rank}, {n}});
}

void BlockWorkload::shape_strided() {
  const MPI_Offset piece =
      std::max<MPI_Offset>(1, options_.piece_bytes / MPI_Offset{sizeof(float)});
  const MPI_Offset rows =
      std::max<MPI_Offset>(1, options_.bytes_per_rank / (piece * MPI_Offset{sizeof(float)}));
  dims_ = {rows, team_.size, piece};
  boxes_.push_back({{0, team_.rank, 0}, {rows, 1, piece}});
}

void BlockWorkload::shape_checkerboard() {
  const MPI_Offset ranks = team_.size;
  const MPI_Offset piece =
      std::max<MPI_Offset>(1, options_.piece_bytes / MPI_Offset{sizeof(float)});
  const MPI_Offset height = std::max<MPI_Offset>(
      1, options_.bytes_per_rank / (ranks * piece * MPI_Offset{sizeof(float)}));
  dims_ = {ranks * height, ranks * piece};
  for (MPI_Offset row = 0; row < ranks; ++row) {
    boxes_.push_back({{row * height, (team_.rank + row) % ranks * piece}, {height, piece}});
  }
}

void BlockWorkload::add_runs(const Box& box) {
  const std::size_t fastest = dims_.size() - 1;
  std::vector<MPI_Offset> at(dims_.size(), 0);
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < dims_.size(); ++d)
      offset = offset * dims_[d] + box.start[d] + at[d];
    runs_.push_back({offset, box.count[fastest], false});
    elements_ += box.count[fastest];
    std::size_t d = fastest;
    while (d > 0 && ++at[d - 1] == box.count[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

std::string BlockWorkload::name() const {
  switch (options_.shape) {
    case BlockOptions::Shape::Strided:
      return "strided";
    case BlockOptions::Shape::Checkerboard:
      return "checkerboard";
    default:
      return "contiguous";
  }
}

nlohmann::json BlockWorkload::parameters() const {
  nlohmann::json out{{"bytes_per_rank", options_.bytes_per_rank}};
  if (options_.shape != BlockOptions::Shape::Contiguous) out["piece_bytes"] = options_.piece_bytes;
  return out;
}

void BlockWorkload::prepare_write() {
  if (is_double_) {
    make_pattern<double>(reinterpret_cast<double*>(buffer_.get()), runs_, kSeed, 0);
  } else {
    make_pattern<float>(reinterpret_cast<float*>(buffer_.get()), runs_, kSeed, 0);
  }
}

void BlockWorkload::prepare_read() {
  std::memset(buffer_.get(), kStale, static_cast<std::size_t>(amounts_.own_data_bytes));
}

std::int64_t BlockWorkload::verify() {
  return is_double_
             ? count_mismatches<double>(reinterpret_cast<double*>(buffer_.get()), runs_, kSeed, 0)
             : count_mismatches<float>(reinterpret_cast<float*>(buffer_.get()), runs_, kSeed, 0);
}

void BlockWorkload::write(const std::string& path, MPI_Info info, Timeline& timeline) {
  int ncid = 0;
  int varid = 0;
  check(ncmpi_create(team_.comm, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &ncid), "create");
  timeline.mark("open");
  std::vector<int> dim_ids(dims_.size());
  for (std::size_t d = 0; d < dims_.size(); ++d) {
    check(ncmpi_def_dim(ncid, ("d" + std::to_string(d)).c_str(), dims_[d], &dim_ids[d]), "def_dim");
  }
  check(ncmpi_def_var(ncid, "x", is_double_ ? NC_DOUBLE : NC_FLOAT, static_cast<int>(dims_.size()),
                      dim_ids.data(), &varid),
        "def_var");
  check(ncmpi_enddef(ncid), "enddef");
  timeline.mark("define");
  transfer(ncid, varid, true);
  timeline.mark("data");
  check(ncmpi_close(ncid), "close");
  timeline.mark("close");
}

void BlockWorkload::read(const std::string& path, MPI_Info info, Timeline& timeline) {
  int ncid = 0;
  int varid = 0;
  check(ncmpi_open(team_.comm, path.c_str(), NC_NOWRITE, info, &ncid), "open");
  timeline.mark("open");
  check(ncmpi_inq_varid(ncid, "x", &varid), "inq_varid");
  transfer(ncid, varid, false);
  timeline.mark("data");
  check(ncmpi_close(ncid), "close");
  timeline.mark("close");
}

void BlockWorkload::transfer(int ncid, int varid, bool put) {
  std::byte* at = buffer_.get();
  for (const Box& box : boxes_) {
    const MPI_Offset* start = box.start.data();
    const MPI_Offset* count = box.count.data();
    std::int64_t elements = 1;
    for (MPI_Offset c : box.count) elements *= c;
    int status = NC_NOERR;
    if (is_double_) {
      auto* data = reinterpret_cast<double*>(at);
      status = put ? ncmpi_put_vara_double_all(ncid, varid, start, count, data)
                   : ncmpi_get_vara_double_all(ncid, varid, start, count, data);
    } else {
      auto* data = reinterpret_cast<float*>(at);
      status = put ? ncmpi_put_vara_float_all(ncid, varid, start, count, data)
                   : ncmpi_get_vara_float_all(ncid, varid, start, count, data);
    }
    check(status, put ? "put_vara_all" : "get_vara_all");
    at += static_cast<std::size_t>(elements) * (is_double_ ? sizeof(double) : sizeof(float));
  }
}

}  // namespace forebay::bench
