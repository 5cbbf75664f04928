#include "limits/workload_posix.h"

#include <cstring>

#include "limits/posix_file.h"

namespace forebay::bench {
namespace {

constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15u;

using Way = PosixOptions::Way;

}  // namespace

PosixWorkload::PosixWorkload(const PosixOptions& options, const Team& team)
    : options_(options), team_(team) {
  if (options_.way == Way::OneProcess) {
    length_ = team_.rank == 0 ? options_.bytes : 0;
  } else {
    const std::int64_t each = options_.bytes / team_.size;
    offset_ = each * team_.rank;
    length_ = team_.rank + 1 == team_.size ? options_.bytes - offset_ : each;
  }
  buffer_ = std::make_unique<std::uint64_t[]>(static_cast<std::size_t>(length_) / 8 + 1);
  if (options_.way == Way::Exchange)
    received_ = std::make_unique<std::byte[]>(static_cast<std::size_t>(length_));
  amounts_.bytes = options_.bytes;
  amounts_.requests = amounts_.pieces = team_.sum(posix_calls(length_));
  amounts_.own_data_bytes = team_.max(length_);
}

std::string PosixWorkload::name() const {
  switch (options_.way) {
    case Way::OneProcess:
      return "limit";
    case Way::OwnFiles:
      return "log-limit";
    case Way::Exchange:
      return "exchange-limit";
    default:
      return "append";
  }
}

std::string PosixWorkload::own_file(const std::string& path, int rank) const {
  return options_.way == Way::OwnFiles ? path + "." + std::to_string(rank) : path;
}

std::vector<std::string> PosixWorkload::files(const std::string& path) const {
  if (options_.way != Way::OwnFiles) return {path};
  std::vector<std::string> names;
  for (int rank = 0; rank < team_.size; ++rank) names.push_back(own_file(path, rank));
  return names;
}

void PosixWorkload::prepare_write() {
  const auto words = static_cast<std::uint64_t>(length_) / 8 + 1;
  for (std::uint64_t w = 0; w < words; ++w) {
    buffer_[w] = (w + static_cast<std::uint64_t>(offset_)) * kFactor;
  }
}

std::span<std::byte> PosixWorkload::data() {
  return {reinterpret_cast<std::byte*>(buffer_.get()), static_cast<std::size_t>(length_)};
}

void PosixWorkload::prepare_read() {
  std::memset(buffer_.get(), 0xA5, static_cast<std::size_t>(length_));
}

void PosixWorkload::exchange() {
  const auto share = static_cast<int>(options_.bytes / team_.size / team_.size);
  if (share == 0) return;  // on all ranks
  MPI_Alltoall(data().data(), share, MPI_BYTE, received_.get(), share, MPI_BYTE, team_.comm);
}

std::int64_t PosixWorkload::verify() {
  std::int64_t wrong = 0;
  const auto words = static_cast<std::uint64_t>(length_) / 8;
  for (std::uint64_t w = 0; w < words; ++w) {
    wrong += buffer_[w] != (w + static_cast<std::uint64_t>(offset_)) * kFactor;
  }
  return wrong;
}

void PosixWorkload::write(const std::string& path, MPI_Info /*info*/, Phases& phases) {
  const bool own = options_.way == Way::OwnFiles;
  if (!own && team_.rank == 0) PosixFile(path, O_WRONLY | O_CREAT | O_TRUNC).close();
  if (options_.way == Way::Append || options_.way == Way::Exchange) MPI_Barrier(team_.comm);
  if (own || length_ > 0) {
    PosixFile file(own_file(path, team_.rank), own ? O_WRONLY | O_CREAT | O_TRUNC : O_WRONLY);
    phases.mark("open");
    if (options_.way == Way::Exchange) exchange();
    file.write_all(own ? 0 : offset_, data());
    phases.mark("data");
    file.close();
  }
  phases.mark("close");
}

void PosixWorkload::read(const std::string& path, MPI_Info /*info*/, Phases& phases) {
  const bool own = options_.way == Way::OwnFiles;
  if (own || length_ > 0) {
    PosixFile file(own_file(path, team_.rank), O_RDONLY);
    phases.mark("open");
    file.read_all(own ? 0 : offset_, data());
    if (options_.way == Way::Exchange) exchange();
    phases.mark("data");
    file.close();
  }
  phases.mark("close");
}

}  // namespace forebay::bench
