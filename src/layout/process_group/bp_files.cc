#include "layout/process_group/bp_files.h"

#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/agree.h"
#include "format/bp_write.h"

namespace forebay::process_group {

namespace fs = std::filesystem;

namespace {

/// What BP3, BP4, BP5 and this library leave in a directory.
bool is_of_bp(const std::string& name) {
  for (const char* known : {"md.idx", "md.0", "mmd.0", "profiling.json", "forebay.idx"})
    if (name == known) return true;
  if (!name.starts_with("data.") || name.size() == 5) return false;
  for (const char c : name.substr(5))
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return false;
  return true;
}

[[noreturn]] void cannot_append(const std::string& path, const std::string& why) {
  throw Error(Errc::ebad_file, path + " cannot be appended to: " + why, "write a new file");
}

}  // namespace

BpFiles::BpFiles(const Comm& comm, const std::string& path, const WriteOptions& options,
                 bool append, Report& report)
    : comm_(comm), path_(strip_prefix(path)), report_(report) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  const auto open = [&](const std::string& name) {
    return std::make_unique<File>(path_ + "/" + name, true, comm.rank(), report);
  };
  by_root(comm_, [&] {
    metadata_ = open("md.0");
    index_ = open("md.idx");
    open_by_root(append);
  });
  std::array<std::int64_t, 3> told{metadata_end, index_end, static_cast<std::int64_t>(steps)};
  comm_.broadcast(told.data(), sizeof told);
  metadata_end = told[0];
  index_end = told[1];
  steps = static_cast<std::uint64_t>(told[2]);
  choose_data_file(options);
  agree_on_error(comm_, attempt_to([&] {
                   if (!metadata_) metadata_ = open("md.0");
                   data_ = open("data." + std::to_string(number_));
                   if (data_ranks_.is_root()) open_data(options.alignment, append);
                 }));
  data_ranks_.broadcast(&data_end, sizeof data_end);
}

void BpFiles::open_by_root(bool append) {
  if (append && fs::exists(path_)) return read_index();
  make_directory();
  metadata_->create(false);
  metadata_->write_at(0, bp::print_head("Metadata"));
  index_->create(false);  // last: with it the directory is a file
  index_->write_at(0, bp::print_head("Index Table"));
  metadata_end = index_end = bp::head_bytes;
}

// What made a file of it goes first, so that a kill leaves none that is half of each.
void BpFiles::make_directory() {
  std::error_code failed;
  if (fs::create_directory(path_, failed)) return;
  if (failed) throw system_error(failed.value(), Errc::ecantcreate, "making", path_);
  std::vector<fs::path> old;
  bool strange = false, is_bp = false;
  for (const auto& entry : fs::directory_iterator(path_, failed)) {
    const std::string name = entry.path().filename();
    is_bp |= name == "md.idx";
    is_of_bp(name) ? old.push_back(entry.path()) : void(strange = true);
  }
  if (failed || (strange && !is_bp)) {
    throw Error(Errc::eexist, path_ + " is there, and no BP file",
                "choose another name, or remove it");
  }
  fs::remove(path_ + "/md.idx");
  for (const auto& path : old) fs::remove(path);
}

void BpFiles::read_index() {
  if (fs::exists(path_ + "/mmd.0"))
    cannot_append(path_, "it is a BP5 file, and this library writes BP4");
  std::array<std::byte, bp::head_bytes> head{};
  if (index_->read_at(0, head) < head.size() ||
      head[bp::head_bp_version_at] != std::byte{bp::bp_version})
    cannot_append(path_, "its md.idx is no index of a BP4 file");
  if (head[bp::head_endian_at] != bp::print_head("")[bp::head_endian_at])
    cannot_append(path_, "it has the other byte order");
  const Offset there = metadata_->size(), last = index_->size() - bp::record_bytes;
  metadata_end = index_end = bp::head_bytes;
  for (; index_end <= last; index_end += bp::record_bytes) {
    std::array<std::uint64_t, 8> record;
    if (index_->read_at(index_end, std::as_writable_bytes(std::span(record))) < sizeof record)
      break;
    // A step that did not reach its files in whole, nor those behind it, is none.
    const auto end = record[5];
    const bool ordered = record[2] <= record[3] && record[3] <= record[4] && record[4] <= end &&
                         record[2] >= static_cast<std::uint64_t>(metadata_end);
    if (!ordered || end > static_cast<std::uint64_t>(there) || record[0] <= steps) break;
    metadata_end = static_cast<Offset>(end);
    steps = record[0];
  }
  index_->truncate(index_end);
  metadata_->truncate(metadata_end);
}

void BpFiles::choose_data_file(const WriteOptions& options) {
  switch (options.ranks_per_file) {
    case WriteOptions::all_ranks:
      data_ranks_ = comm_;
      return;
    case WriteOptions::ranks_of_node:
      data_ranks_ = comm_.split_node(0);
      break;
    default:
      data_ranks_ = comm_.split_node(options.ranks_per_file);
  }
  std::int64_t number = data_ranks_.is_root(), files = 0;
  comm_.exclusive_scan(std::span(&number, 1), std::span(&files, 1));
  data_ranks_.broadcast(&number, sizeof number);
  number_ = static_cast<std::uint32_t>(number);
  one_data_file_ = files == 1;
}

void BpFiles::open_data(Count alignment, bool append) {
  Offset end = 0;
  if (append && fs::exists(data_->path())) end = data_->size();
  bp::Bytes front;
  if (end < bp::head_bytes) {
    end = 0;
    data_->create(false);
    const auto head = bp::print_head("Data");
    front.assign(head.begin(), head.end());
  }
  const Count gap = bp::gap_before_group(end + static_cast<Count>(front.size()), alignment);
  if (gap > 0) bp::append_filler(front, gap, 0);
  if (!front.empty()) data_->write_at(end, front);
  data_end = end + static_cast<Count>(front.size());
}

}  // namespace forebay::process_group
