#include "workloads/workload_stage_out.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "limits/posix_file.h"

namespace forebay::bench {
namespace {

constexpr std::int64_t kBlock = 8 << 20;
// Parts of ranks begin at multiples of it, so that no two write to one stripe.
constexpr std::int64_t kBoundary = 1 << 20;

std::int64_t part_begin(std::int64_t size, int rank, int ranks) {
  const std::int64_t boundaries = (size + kBoundary - 1) / kBoundary;
  return std::min(size, boundaries * rank / ranks * kBoundary);
}

}  // namespace

StageOutWorkload::StageOutWorkload(std::unique_ptr<Workload> inner, std::string fast,
                                   const Team& team)
    : inner_(std::move(inner)), fast_(std::move(fast)), team_(team) {}

std::string StageOutWorkload::on_fast(const std::string& path) const {
  return fast_ + "/" + std::filesystem::path(path).filename().string();
}

std::vector<std::string> StageOutWorkload::files(const std::string& path) const {
  // With what a run that was stopped left on the fast device.
  std::vector<std::string> all = inner_->files(path);
  for (std::string& name : inner_->files(on_fast(path))) all.push_back(std::move(name));
  return all;
}

void StageOutWorkload::write(const std::string& path, MPI_Info info, Phases& phases) {
  inner_->write(on_fast(path), info, phases);
  const auto to = inner_->files(path), from = inner_->files(on_fast(path));
  if (team_.rank == 0) {
    for (const std::string& name : to) PosixFile(name, O_WRONLY | O_CREAT | O_TRUNC).close();
  }
  MPI_Barrier(team_.comm);
  for (std::size_t i = 0; i < to.size(); ++i) copy(from[i], to[i]);
  MPI_Barrier(team_.comm);
  if (team_.rank == 0) {
    for (const std::string& name : from) ::unlink(name.c_str());
  }
  phases.mark("copy");
}

void StageOutWorkload::copy(const std::string& from, const std::string& to) const {
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(from));
  const std::int64_t end = part_begin(size, team_.rank + 1, team_.size);
  std::int64_t at = part_begin(size, team_.rank, team_.size);
  if (at == end) return;
  PosixFile source(from, O_RDONLY), target(to, O_WRONLY);
  std::vector<std::byte> block(static_cast<std::size_t>(std::min(kBlock, end - at)));
  while (at < end) {
    const std::span<std::byte> some(block.data(),
                                    static_cast<std::size_t>(std::min(kBlock, end - at)));
    source.read_all(at, some);
    target.write_all(at, some);
    at += static_cast<std::int64_t>(some.size());
  }
  target.close();
}

void StageOutWorkload::read(const std::string& path, MPI_Info info, Phases& phases) {
  inner_->read(path, info, phases);
}

}  // namespace forebay::bench
