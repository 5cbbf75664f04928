#include "backends/workload_e3sm_pnetcdf.h"

#include <algorithm>

#include "backends/backend.h"
#include "backends/define.h"

// Forebay's additions, which the peer lacks: null where the linked library has none.
extern "C" {
#define FOREBAY_BENCH_WEAK __attribute__((weak))
FOREBAY_BENCH_WEAK int ncmpi_def_decom(int ncid, int ndims, const int* dimids, int nreqs,
                                       MPI_Offset* const* starts, MPI_Offset* const* counts,
                                       int* decomidp);
FOREBAY_BENCH_WEAK int ncmpi_def_decom_var(int ncid, const char* name, nc_type xtype, int ndims,
                                           const int* dimidsp, int decomid, int* varidp);
#define FOREBAY_BENCH_DECOM(type, name)                                                        \
  FOREBAY_BENCH_WEAK int ncmpi_iput_decom_##name(int ncid, int varid, const MPI_Offset* start, \
                                                 const MPI_Offset* count, const type* buf,     \
                                                 int* request);                                \
  FOREBAY_BENCH_WEAK int ncmpi_iget_decom_##name(int ncid, int varid, const MPI_Offset* start, \
                                                 const MPI_Offset* count, type* buf,           \
                                                 int* request);
FOREBAY_BENCH_DECOM(char, text)
FOREBAY_BENCH_DECOM(int, int)
FOREBAY_BENCH_DECOM(float, float)
FOREBAY_BENCH_DECOM(double, double)
}

namespace forebay::bench {

E3smPnetcdf::E3smPnetcdf(const E3smOptions& options, const Team& team, E3smWay way, int file_ranks)
    : E3smWorkload(options, team), way_(way), file_ranks_(team.comm), var_ids_(plans_.size()) {
  if (way == E3smWay::maps && !ncmpi_def_decom)
    throw std::runtime_error("this library has no decompositions");
  if (way == E3smWay::blobs) share_files(file_ranks);
}

E3smPnetcdf::~E3smPnetcdf() {
  if (file_ranks_ != team_.comm) MPI_Comm_free(&file_ranks_);
}

void E3smPnetcdf::share_files(int file_ranks) {
  if (file_ranks > 0) {
    MPI_Comm_split(team_.comm, team_.rank / file_ranks, team_.rank, &file_ranks_);
  } else {
    MPI_Comm_split_type(team_.comm, MPI_COMM_TYPE_SHARED, team_.rank, MPI_INFO_NULL, &file_ranks_);
  }
  const Team file(file_ranks_);
  // Files are numbered in the order of their first ranks.
  const int leads = file.rank == 0 ? 1 : 0;
  MPI_Scan(&leads, &file_, 1, MPI_INT, MPI_SUM, team_.comm);
  --file_;
  MPI_Bcast(&file_, 1, MPI_INT, 0, file_ranks_);
  files_ = static_cast<int>(team_.sum(leads));
  for (const Pieces& pieces : pieces_) {
    Blob& blob = blobs_.emplace_back();
    const MPI_Offset mine = pieces.elements();
    MPI_Exscan(&mine, &blob.begin, 1, MPI_OFFSET, MPI_SUM, file_ranks_);
    if (file.rank == 0) blob.begin = 0;
    blob.of_file = file.sum(mine);
  }
}

nlohmann::json E3smPnetcdf::parameters() const {
  auto out = E3smWorkload::parameters();
  if (way_ == E3smWay::maps) out["by_maps"] = true;
  if (way_ == E3smWay::blobs) out["blobs"] = files_;
  return out;
}

std::string E3smPnetcdf::file_of(const std::string& path, int file) {
  return file == 0 ? path : path + "." + std::to_string(file);
}

std::vector<std::string> E3smPnetcdf::files(const std::string& path) const {
  std::vector<std::string> all;
  all.reserve(static_cast<std::size_t>(files_));
  for (int file = 0; file < files_; ++file) all.push_back(file_of(path, file));
  return all;
}

bool E3smPnetcdf::define(int ncid, int var, std::span<const int> dims, int* id) {
  if (plans_[static_cast<std::size_t>(var)].map < 0 || way_ == E3smWay::pieces) return false;
  way_ == E3smWay::maps ? define_by_map(ncid, var, dims, id) : define_as_blobs(ncid, var, dims, id);
  return true;
}

// A dimension of length 0 would be the unlimited one.
void E3smPnetcdf::define_as_blobs(int ncid, int var, std::span<const int> dims, int* id) {
  const VariablePlan& plan = plans_[static_cast<std::size_t>(var)];
  const cdl::Variable& variable = case_.header.vars[static_cast<std::size_t>(var)];
  Blob& blob = blobs_[static_cast<std::size_t>(plan.map)];
  if (blob.dim < 0) {
    const std::string name = "D" + std::to_string(plan.map);
    check(ncmpi_def_dim(ncid, name.c_str(), std::max<MPI_Offset>(blob.of_file, 1), &blob.dim),
          name.c_str());
  }
  const int its[] = {plan.record ? dims[0] : blob.dim, blob.dim};
  check(ncmpi_def_var(ncid, variable.name.c_str(), static_cast<nc_type>(variable.type),
                      plan.record ? 2 : 1, its, id),
        variable.name.c_str());
}

void E3smPnetcdf::define_by_map(int ncid, int var, std::span<const int> dims, int* id) {
  const VariablePlan& plan = plans_[static_cast<std::size_t>(var)];
  const cdl::Variable& variable = case_.header.vars[static_cast<std::size_t>(var)];
  const auto mapped = dims.subspan(plan.record ? 1 : 0);
  const auto [at, fresh] =
      maps_.try_emplace({plan.map, std::vector<int>(mapped.begin(), mapped.end())}, -1);
  if (fresh) {
    const Pieces& p = pieces_[static_cast<std::size_t>(plan.map)];
    check(ncmpi_def_decom(ncid, static_cast<int>(mapped.size()), mapped.data(), p.count(),
                          p.fixed_starts(), p.fixed_counts(), &at->second),
          "def_decom");
  }
  check(ncmpi_def_decom_var(ncid, variable.name.c_str(), static_cast<nc_type>(variable.type),
                            plan.record ? 1 : 0, dims.data(), at->second, id),
        variable.name.c_str());
}

void E3smPnetcdf::write(const std::string& path, MPI_Info info, Phases& phases) {
  int ncid = 0;
  check(ncmpi_create(file_ranks_, file_of(path, file_).c_str(), NC_CLOBBER | NC_64BIT_DATA, info,
                     &ncid),
        "create");
  phases.mark("open");
  maps_.clear();
  for (Blob& blob : blobs_) blob.dim = -1;
  define_header(ncid, case_.header, [&](int file, int var, std::span<const int> dims, int* id) {
    return define(file, var, dims, id);
  });
  check(ncmpi_enddef(ncid), "enddef");
  phases.mark("define");
  for (std::size_t v = 0; v < var_ids_.size(); ++v) var_ids_[v] = static_cast<int>(v);
  post_all(ncid, true, phases);
  check(ncmpi_close(ncid), "close");
  phases.mark("close");
}

void E3smPnetcdf::read(const std::string& path, MPI_Info info, Phases& phases) {
  int ncid = 0;
  check(ncmpi_open(file_ranks_, file_of(path, file_).c_str(), NC_NOWRITE, info, &ncid), "open");
  phases.mark("open");
  for (std::size_t v = 0; v < var_ids_.size(); ++v) {
    check(ncmpi_inq_varid(ncid, case_.header.vars[v].name.c_str(), &var_ids_[v]), "inq_varid");
  }
  phases.mark("define");
  post_all(ncid, false, phases);
  check(ncmpi_close(ncid), "close");
  phases.mark("close");
}

void E3smPnetcdf::post_all(int ncid, bool put, Phases& phases) {
  int record = 0;
  for (Pieces& pieces : pieces_) pieces.set_record(0);
  for (const Slot& slot : slots_) {
    if (slot.record != record) {
      record = slot.record;
      if (wait_each_record_) wait(ncid, put, phases);
      for (Pieces& pieces : pieces_) pieces.set_record(record);
    }
    post(ncid, put, var_ids_[static_cast<std::size_t>(slot.var)], slot);
  }
  wait(ncid, put, phases);
}

void E3smPnetcdf::wait(int ncid, bool put, Phases& phases) {
  phases.mark("post");
  check(ncmpi_wait_all(ncid, NC_REQ_ALL, nullptr, nullptr), "wait_all");
  phases.mark("wait");
  if (!put || options_.compute <= 0) return;
  for (const double begin = MPI_Wtime(); MPI_Wtime() - begin < options_.compute;) {
  }
  phases.leave_out();
}

void E3smPnetcdf::post(int ncid, bool put, int varid, const Slot& slot) {
  VariablePlan& plan = plans_[static_cast<std::size_t>(slot.var)];
  void* at = buffer_.get() + slot.offset;
  int status = NC_NOERR;
  const auto call = [&](auto* data, auto iput_varn, auto iget_varn, auto iput_vara, auto iget_vara,
                        auto iput_decom, auto iget_decom) {
    if (plan.map >= 0 && way_ == E3smWay::blobs) {
      if (plan.elements == 0) return;
      const MPI_Offset begin = blobs_[static_cast<std::size_t>(plan.map)].begin;
      const MPI_Offset start[] = {plan.record ? slot.record : begin, begin};
      const MPI_Offset count[] = {plan.record ? 1 : plan.elements, plan.elements};
      status = put ? iput_vara(ncid, varid, start, count, data, nullptr)
                   : iget_vara(ncid, varid, start, count, data, nullptr);
    } else if (plan.map >= 0 && way_ == E3smWay::maps) {
      const MPI_Offset start = slot.record, count = 1;
      status = put ? iput_decom(ncid, varid, &start, &count, data, nullptr)
                   : iget_decom(ncid, varid, &start, &count, data, nullptr);
    } else if (plan.map >= 0) {
      const Pieces& p = pieces_[static_cast<std::size_t>(plan.map)];
      MPI_Offset* const* starts = plan.record ? p.record_starts() : p.fixed_starts();
      MPI_Offset* const* counts = plan.record ? p.record_counts() : p.fixed_counts();
      status = put ? iput_varn(ncid, varid, p.count(), starts, counts, data, nullptr)
                   : iget_varn(ncid, varid, p.count(), starts, counts, data, nullptr);
    } else if (team_.rank == 0) {
      if (plan.record) plan.start[0] = slot.record;
      const MPI_Offset* start = plan.start.data();
      const MPI_Offset* count = plan.count.data();
      status = put ? iput_vara(ncid, varid, start, count, data, nullptr)
                   : iget_vara(ncid, varid, start, count, data, nullptr);
    }
  };
  switch (plan.memory) {
    case Memory::Text:
      call(static_cast<char*>(at), ncmpi_iput_varn_text, ncmpi_iget_varn_text, ncmpi_iput_vara_text,
           ncmpi_iget_vara_text, ncmpi_iput_decom_text, ncmpi_iget_decom_text);
      break;
    case Memory::Int:
      call(static_cast<int*>(at), ncmpi_iput_varn_int, ncmpi_iget_varn_int, ncmpi_iput_vara_int,
           ncmpi_iget_vara_int, ncmpi_iput_decom_int, ncmpi_iget_decom_int);
      break;
    case Memory::Float:
      call(static_cast<float*>(at), ncmpi_iput_varn_float, ncmpi_iget_varn_float,
           ncmpi_iput_vara_float, ncmpi_iget_vara_float, ncmpi_iput_decom_float,
           ncmpi_iget_decom_float);
      break;
    case Memory::Double:
      call(static_cast<double*>(at), ncmpi_iput_varn_double, ncmpi_iget_varn_double,
           ncmpi_iput_vara_double, ncmpi_iget_vara_double, ncmpi_iput_decom_double,
           ncmpi_iget_decom_double);
      break;
  }
  check(status, case_.header.vars[static_cast<std::size_t>(slot.var)].name.c_str());
}

}  // namespace forebay::bench
