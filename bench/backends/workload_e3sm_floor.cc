#include "backends/workload_e3sm_floor.h"

#include <fcntl.h>

#include "backends/backend.h"
#include "backends/define.h"
#include "limits/posix_file.h"

namespace forebay::bench {
namespace {

std::string data_of(const std::string& path) { return path + ".data"; }

}  // namespace

E3smFloor::E3smFloor(const E3smOptions& options, const Team& team, bool pass)
    : E3smWorkload(options, team), pass_(pass) {
  const auto add = [&](std::size_t begin, std::size_t end) {
    stretches_.push_back({{buffer_.get() + begin, end - begin}, 0});
  };
  std::size_t begin = 0;
  for (std::size_t i = 1; i < slots_.size() && wait_each_record_; ++i) {
    if (slots_[i].record == slots_[i - 1].record) continue;
    add(begin, slots_[i].offset);
    begin = slots_[i].offset;
  }
  add(begin, buffer_bytes_);
  std::int64_t end = 0;
  for (Stretch& s : stretches_) {
    const auto mine = static_cast<std::int64_t>(s.data.size());
    MPI_Exscan(&mine, &s.offset, 1, MPI_INT64_T, MPI_SUM, team_.comm);
    if (team_.rank == 0) s.offset = 0;
    s.offset += end;
    end += team_.sum(mine);
  }
}

nlohmann::json E3smFloor::parameters() const {
  auto out = E3smWorkload::parameters();
  out["floor"] = true;
  if (pass_) out["pass"] = true;
  return out;
}

std::vector<std::string> E3smFloor::files(const std::string& path) const {
  return {path, data_of(path)};
}

void E3smFloor::look_at_pieces() {
  for (const Slot& slot : slots_) {
    const VariablePlan& plan = plans_[static_cast<std::size_t>(slot.var)];
    if (plan.map < 0) continue;
    const auto map = static_cast<std::size_t>(plan.map);
    const Pieces& p = pieces_[map];
    MPI_Offset* const* starts = plan.record ? p.record_starts() : p.fixed_starts();
    MPI_Offset* const* counts = plan.record ? p.record_counts() : p.fixed_counts();
    const std::size_t n = case_.maps[map].dims.size() + (plan.record ? 1 : 0);
    for (int i = 0; i < p.count(); ++i) {
      // The least that a hash does for each number.
      for (std::size_t d = 0; d < n; ++d)
        seen_ += static_cast<std::uint64_t>(starts[i][d] ^ (counts[i][d] << 32)) * (2 * d + 31);
    }
  }
}

// A stretch at a time, and the end of both files.
template <typename F>
void E3smFloor::move(int ncid, PosixFile& file, Phases& phases, F&& one) {
  for (const Stretch& s : stretches_) {
    one(s);
    MPI_Barrier(team_.comm);
  }
  file.close();
  phases.mark("data");
  check(ncmpi_close(ncid), "close");
  phases.mark("close");
}

void E3smFloor::write(const std::string& path, MPI_Info info, Phases& phases) {
  int ncid = 0;
  check(ncmpi_create(team_.comm, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &ncid), "create");
  if (team_.rank == 0) PosixFile(data_of(path), O_WRONLY | O_CREAT | O_TRUNC).close();
  phases.mark("open");
  define_header(ncid, case_.header);
  check(ncmpi_enddef(ncid), "enddef");
  phases.mark("define");
  if (pass_) {
    look_at_pieces();
    phases.mark("post");
  }
  MPI_Barrier(team_.comm);
  PosixFile file(data_of(path), O_WRONLY);
  move(ncid, file, phases, [&](const Stretch& s) { file.write_all(s.offset, s.data); });
}

void E3smFloor::read(const std::string& path, MPI_Info info, Phases& phases) {
  int ncid = 0;
  check(ncmpi_open(team_.comm, path.c_str(), NC_NOWRITE, info, &ncid), "open");
  phases.mark("open");
  PosixFile file(data_of(path), O_RDONLY);
  move(ncid, file, phases, [&](const Stretch& s) { file.read_all(s.offset, s.data); });
}

}  // namespace forebay::bench
