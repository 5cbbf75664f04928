#include "workloads/workload_blocks.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "backends/backend.h"

namespace forebay::bench {
namespace {

constexpr int kStale = 0xA5;
constexpr std::uint32_t kSeed = 12345;
constexpr MPI_Offset kBtioComponents = 5;

using Shape = BlockOptions::Shape;

// The n points of an axis in q parts that differ by one at most: where part p begins.
MPI_Offset cut(MPI_Offset n, MPI_Offset q, MPI_Offset p) { return n / q * p + std::min(n % q, p); }

}  // namespace

BlockWorkload::BlockWorkload(const BlockOptions& options, const Team& team)
    : options_(options), team_(team) {
  switch (options_.shape) {
    case Shape::Contiguous:
      shape_contiguous();
      break;
    case Shape::Strided:
      shape_strided();
      break;
    case Shape::Checkerboard:
      shape_checkerboard();
      break;
    case Shape::IorStrided:
    case Shape::IorContiguous:
      shape_ior();
      break;
    case Shape::Btio:
      shape_btio();
      break;
  }
  if (read_boxes_.empty()) read_boxes_ = boxes_;
  for (const Box& box : boxes_) add_runs(box);
  const auto bytes =
      elements_ * static_cast<std::int64_t>(is_double_ ? sizeof(double) : sizeof(float));
  buffer_.resize(static_cast<std::size_t>(bytes));
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

void BlockWorkload::shape_ior() {
  is_double_ = true;
  const MPI_Offset piece =
      std::max<MPI_Offset>(1, options_.piece_bytes / MPI_Offset{sizeof(double)});
  const MPI_Offset calls =
      std::max<MPI_Offset>(1, options_.bytes_per_rank / (piece * MPI_Offset{sizeof(double)}));
  const MPI_Offset rank = team_.rank;
  dims_ = {calls * piece * team_.size};
  const bool strided = options_.shape == Shape::IorStrided;
  for (MPI_Offset i = 0; i < calls; ++i) {
    boxes_.push_back({{(strided ? rank * calls + i : i * team_.size + rank) * piece}, {piece}});
  }
  if (strided) read_boxes_.push_back({{rank * calls * piece}, {calls * piece}});
}

void BlockWorkload::shape_btio() {
  is_double_ = true;
  MPI_Offset q = 1;
  while (q * q < team_.size) ++q;
  const MPI_Offset n = options_.grid;
  if (q * q != team_.size) throw std::runtime_error("btio takes a square number of ranks");
  if (n < q) throw std::runtime_error("btio: the grid has fewer points than cells along an edge");
  dims_ = {options_.iterations, n, n, n, kBtioComponents};
  const MPI_Offset i = team_.rank % q, j = team_.rank / q;
  for (MPI_Offset step = 0; step < options_.iterations; ++step) {
    for (MPI_Offset c = 0; c < q; ++c) {
      const MPI_Offset x = (i + c) % q, y = (j - c + q) % q;
      const auto size = [&](MPI_Offset p) { return cut(n, q, p + 1) - cut(n, q, p); };
      boxes_.push_back({{step, cut(n, q, c), cut(n, q, y), cut(n, q, x), 0},
                        {1, size(c), size(y), size(x), kBtioComponents}});
    }
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
    case Shape::Strided:
      return "strided";
    case Shape::Checkerboard:
      return "checkerboard";
    case Shape::IorStrided:
      return "ior-strided";
    case Shape::IorContiguous:
      return "ior-contiguous";
    case Shape::Btio:
      return "btio";
    default:
      return "contiguous";
  }
}

nlohmann::json BlockWorkload::parameters() const {
  if (options_.shape == Shape::Btio) {
    return {{"grid", options_.grid}, {"iterations", options_.iterations}};
  }
  nlohmann::json out{{"bytes_per_rank", options_.bytes_per_rank}};
  if (options_.shape != Shape::Contiguous) out["piece_bytes"] = options_.piece_bytes;
  return out;
}

void BlockWorkload::prepare_write() {
  if (is_double_) {
    make_pattern<double>(reinterpret_cast<double*>(buffer_.data()), runs_, kSeed, 0);
  } else {
    make_pattern<float>(reinterpret_cast<float*>(buffer_.data()), runs_, kSeed, 0);
  }
}

void BlockWorkload::prepare_read() { std::memset(buffer_.data(), kStale, buffer_.size()); }

std::int64_t BlockWorkload::verify() {
  return is_double_
             ? count_mismatches<double>(reinterpret_cast<double*>(buffer_.data()), runs_, kSeed, 0)
             : count_mismatches<float>(reinterpret_cast<float*>(buffer_.data()), runs_, kSeed, 0);
}

void BlockWorkload::write(const std::string& path, MPI_Info info, Phases& phases) {
  int ncid = 0;
  int varid = 0;
  check(ncmpi_create(team_.comm, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &ncid), "create");
  phases.mark("open");
  std::vector<int> dim_ids(dims_.size());
  for (std::size_t d = 0; d < dims_.size(); ++d) {
    check(ncmpi_def_dim(ncid, ("d" + std::to_string(d)).c_str(), dims_[d], &dim_ids[d]), "def_dim");
  }
  check(ncmpi_def_var(ncid, "x", is_double_ ? NC_DOUBLE : NC_FLOAT, static_cast<int>(dims_.size()),
                      dim_ids.data(), &varid),
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
  std::byte* at = buffer_.data();
  for (const Box& box : boxes) {
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
