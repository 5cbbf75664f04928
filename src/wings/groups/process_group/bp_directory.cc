#include "groups/process_group/bp_directory.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/topology.h"
#include "comm/turns.h"
#include "groups/format/bp_write.h"
#include "groups/process_group/data_spread.h"
#include "storage/directory.h"

namespace forebay::process_group {

namespace fs = std::filesystem;

namespace {

/// Collective. Broadcasts the places of rank 0.
void share_places(const Comm& comm, Places& places) {
  std::vector<std::int64_t> flat;
  for (const auto& [file, place] : places) flat.insert(flat.end(), {std::int64_t{file}, place});
  comm.broadcast(flat);
  for (std::size_t i = 0; i < flat.size(); i += 2)
    places[static_cast<std::uint32_t>(flat[i])] = flat[i + 1];
}

/// Collective. `comm` is divided into groups. Returns the number of this rank's group, and how many
/// groups there are.
std::pair<std::uint32_t, std::uint32_t> number_of(const Comm& comm, const Comm& group) {
  std::int64_t number = group.is_root(), all = 0;
  comm.exclusive_scan(std::span(&number, 1), std::span(&all, 1));
  group.broadcast(&number, sizeof number);
  return {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(all)};
}

/// Truncates the file behind whole steps. If that fails, makes sure that the rest is no step. The
/// file may end earlier while steps wait in logs.
void cut_off(File& file, Offset end) {
  constexpr std::array<std::byte, bp::payload_alignment> nothing{};
  if (file.size() <= end) return;
  if (attempt_to([&] { file.truncate(end); })) file.write_at(end, nothing);
}

/// Returns the directory that an open file lies in. It may have been renamed.
std::string folder_of(File& inside) { return fs::path(inside.place_now()).parent_path().string(); }

}  // namespace

BpDirectory::BpDirectory(const Comm& comm, const std::string& path, const WriteOptions& options,
                         bool append, Report& report)
    : BpFiles(comm, path, options, report) {
  by_root(comm_, [&] {
    metadata_ = file_of("md.0");
    index_ = file_of("md.idx");
    open_by_root(append);
  });
  const FileIdentity identity = tell_of_root();
  if (append) share_places(comm_, old_.whole_ends);
  int sharing = options_.ranks_per_file;
  if (sharing == WriteOptions::by_size) {
    // An existing file has had its first step.
    Count there = 0;
    for (const auto& [file, end] : old_.whole_ends) there += end;
    waits_for_size_ = !goes_on_;
    sharing =
        steps > 0 ? choose_by_size(there / static_cast<Count>(steps)) : WriteOptions::all_ranks;
  }
  choose_data_file(sharing);
  agree_on_error(comm_, attempt_to([&] {
                   if (!metadata_) metadata_ = file_of("md.0");
                   metadata_->expect(identity);
                 }));
  start_data_file();
  if (options_.step_memory > 0) prepare_early(append);
  if (append) follow_openings();
  open_in_turns();
}

/// Collective. Broadcasts what rank 0 has found. Returns the identity of its md.0.
FileIdentity BpDirectory::tell_of_root() {
  std::array<std::int64_t, 5 + FileIdentity::count> told{
      metadata_end, index_end, static_cast<std::int64_t>(steps),
      static_cast<std::int64_t>(new_opening()), goes_on_};
  const auto identity = std::span(told).last<FileIdentity::count>();
  attempt_to([&] {
    if (comm_.is_root()) metadata_->identity().put(identity);
  });
  comm_.broadcast(told.data(), sizeof told);
  metadata_end = told[0];
  index_end = told[1];
  steps = static_cast<std::uint64_t>(told[2]);
  opening = static_cast<std::uint64_t>(told[3]);
  goes_on_ = told[4] != 0;
  return FileIdentity::from(identity);
}

void BpDirectory::open_by_root(bool append) {
  check_no_file(path_);
  // A directory without an index and without steps is an incomplete one that a kill left.
  goes_on_ = append && has_index(path_);
  if (goes_on_) {
    old_ = read_old_directory(path_, *index_, options_.column_major, report_);
    steps = old_.steps;
    last_opening_ = old_.opening;
    metadata_end = old_.metadata_end;
    index_end = old_.index_end;
    names = std::move(old_.names);
    index_->truncate(index_end);
    metadata_->truncate(metadata_end);
    mark(options_.follow);  // an earlier writer may have been killed
    return;
  }
  if (append) refuse_lost_index(path_, comm_.rank(), report_);
  if (!options_.drop_all) make_directory();
  metadata_->create(false);
  metadata_->write_at(0, bp::print_head("Metadata"));
  index_->create(false);  // last: it makes the directory a BP4 file
  auto head = bp::print_head("Index Table");
  head[bp::head_active_at] = std::byte{options_.follow};
  index_->write_at(0, head);
  metadata_end = index_end = bp::head_bytes;
}

/// On rank 0. Says in md.idx whether the file is being written, if it does not say so already.
void BpDirectory::mark(bool written) {
  std::array<std::byte, 1> before{};
  const std::array<std::byte, 1> now{std::byte{written}};
  if (index_->read_at(bp::head_active_at, before) == 1 && before == now) return;
  index_->write_at(bp::head_active_at, std::span<const std::byte>(now));
}

// The index is removed first, so that a kill leaves no mixture of both files.
void BpDirectory::make_directory() {
  std::error_code failed;
  if (fs::create_directory(directory::to_make(path_), failed)) return;
  if (failed) throw system_error(failed.value(), Errc::ecantcreate, "making", path_);
  const auto old = replaced_files(path_);
  fs::remove(path_ + "/md.idx");
  for (const auto& path : old) fs::remove(path);
}

/// Collective.
void BpDirectory::choose_data_file(int ranks_per_file) {
  data_ranks_ = comm_;
  number_ = 0;
  data_files_ = 1;
  if (ranks_per_file != WriteOptions::all_ranks) {
    const bool of_node = ranks_per_file == WriteOptions::ranks_of_node;
    data_ranks_ = comm_.split_node(of_node ? options_.ranks_per_node : ranks_per_file);
    std::tie(number_, data_files_) = number_of(comm_, data_ranks_);
  }
  one_data_file_ = data_files_ == 1;
}

/// Collective.
int BpDirectory::choose_by_size(Count bytes_of_all) {
  const int of_node = Topology::of(comm_, options_.ranks_per_node).largest_node();
  chosen_ = {spread_of(bytes_of_all, comm_.size(), of_node), bytes_of_all};
  return chosen_.first;
}

/// Collective. Opens this rank's data file if it is not open.
void BpDirectory::start_data_file() {
  agree_on_error(comm_, attempt_to([&] {
                   if (data_) return;
                   data_ = file_of("data." + std::to_string(number_));
                   if (!data_ranks_.is_root()) return;
                   metadata_->ensure_open();  // checks that the folder is the one of rank 0
                   open_data();
                 }));
  std::array<std::int64_t, 1 + FileIdentity::count> told{data_end};
  const auto identity = std::span(told).last<FileIdentity::count>();
  attempt_to([&] {
    if (data_ranks_.is_root()) data_->identity().put(identity);
  });
  data_ranks_.broadcast(told.data(), sizeof told);
  data_end = told[0];
  data_->expect(FileIdentity::from(identity));
}

void BpDirectory::spread(Count bytes) {
  const int sharing = choose_by_size(comm_.all_reduce(bytes, Reduce::sum));
  if (sharing == WriteOptions::all_ranks) {
    waits_for_size_ = false;
    return;
  }
  const Offset end = data_end;
  std::shared_ptr<File> before;
  choose_data_file(sharing);
  if (number_ != 0) before = std::move(data_);
  const auto failed = attempt_to([&] {
    start_data_file();
    open_in_turns();
  });
  waits_for_size_ = failed.has_value();
  if (!failed) return;
  choose_data_file(WriteOptions::all_ranks);
  data_end = end;
  if (before) data_ = std::move(before);
  throw *failed;
}

/// Returns the end of an existing data file, behind the stated length of a torn group. Returns 0
/// for a file that is not a data file yet.
Offset BpDirectory::end_of_data(File& data, std::uint32_t number) {
  const auto told = old_.whole_ends.find(number);
  const Offset whole = told == old_.whole_ends.end() ? 0 : told->second;
  const Leftover left = left_behind(data, std::max(whole, bp::head_bytes));
  last_opening_ = std::max(last_opening_, left.opening);
  return left.end < bp::head_bytes ? 0 : left.end;
}

void BpDirectory::open_data() {
  Offset end = 0;
  if (goes_on_ && fs::exists(data_->path())) end = end_of_data(*data_, number_);
  if (end == 0) data_->create(false);
  const bp::Bytes front = front_at(end, options_.alignment);
  if (!front.empty()) data_->write_at(end, front);
  data_end = end + static_cast<Count>(front.size());
}

/// Collective.
void BpDirectory::prepare_early(bool append) {
  Comm node = Topology::of(comm_, options_.ranks_per_node).node();
  std::uint32_t number = data_files_;
  // A number behind all possible data files. A later opening that appends has the same number.
  if (options_.ranks_per_file == WriteOptions::by_size)
    number = std::min(static_cast<std::uint32_t>(comm_.size()),
                      std::max<std::uint32_t>(most_spread_files, number_of(comm_, node).second));
  NodeMemory shared = NodeMemory::create(node, NodeFile::shared_bytes);
  if (!shared) {  // then each rank has a file of its own
    node = Comm();
    shared = NodeMemory::create(node, NodeFile::shared_bytes);
  }
  number += number_of(comm_, node).first;
  agree_on_error(comm_, attempt_to([&] {
                   if (!shared) return;
                   auto file = file_of("data." + std::to_string(number));
                   Offset end = 0;
                   if (node.is_root() && append && fs::exists(file->path()))
                     end = end_of_data(*file, number);
                   early_ = std::make_unique<NodeFile>(std::move(file), number, options_.alignment,
                                                       std::move(shared), *metadata_);
                   if (node.is_root()) early_->begin_at(end);
                 }));
}

// A metadata server that all ranks ask at once makes some of them wait for minutes.
void BpDirectory::open_in_turns() {
  if (options_.open_stagger <= 0) return;
  in_turns(comm_, options_.open_stagger, [&] {
    data_->ensure_open();
    metadata_->ensure_open();
  });
}

// The opening must be larger than earlier ones, even if clocks go back: it identifies what follows
// a step.
void BpDirectory::follow_openings() {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto last =
      comm_.all_reduce(static_cast<std::int64_t>(std::min(last_opening_, most)), Reduce::max);
  opening = std::max(opening, opening_after(static_cast<std::uint64_t>(last)));
}

void BpDirectory::show(std::span<const bp::StepRecord> records) {
  // Where clients have caches of their own, a follower must not see a record before its step.
  if (options_.follow)
    agree_on_error(comm_, attempt_to([&] {
                     data_->meet();
                     if (early_ && early_->was_written()) early_->file().meet();
                     metadata_->meet();
                   }));
  by_root(comm_, [&] {
    bp::Bytes printed;
    for (const bp::StepRecord& record : records) {
      const auto one = bp::print_record(record);
      printed.insert(printed.end(), one.begin(), one.end());
    }
    index_->write_at(index_end, printed);
    if (options_.follow) index_->meet();
  });
  index_end += std::ssize(records) * bp::record_bytes;
}

// A record whose write failed may be in the index nonetheless. What it names stays until it is
// gone.
bool BpDirectory::give_back() {
  if (attempt_to([&] { by_root(comm_, [&] { cut_off(*index_, index_end); }); })) return false;
  if (data_ranks_.is_root()) attempt_to([&] { cut_off(*data_, data_end); });
  if (comm_.is_root()) attempt_to([&] { cut_off(*metadata_, metadata_end); });
  return true;
}

/// Local. Earlier steps may lie in data files that this opening does not write, and their writer
/// may have ended without a sync. Ranks divide these files among themselves.
void BpDirectory::sync_earlier() {
  if (synced_earlier_) return;
  Rank next = 0;
  for (const auto& [number, end] : old_.whole_ends) {
    if (next == comm_.rank()) {
      metadata_->ensure_open();  // it tells where the directory is by now
      const std::string path = folder_of(*metadata_) + "/data." + std::to_string(number);
      // Nobody needs a file of blocks without a payload, whose values are in the index.
      if (fs::exists(path)) path_sync_.file(path);
    }
    next = (next + 1) % comm_.size();
  }
}

void BpDirectory::sync() {
  agree_on_error(comm_, attempt_to([&] {
                   data_->sync();
                   if (early_ && early_->was_written()) early_->file().sync();
                   metadata_->sync();
                   sync_earlier();
                 }));
  synced_earlier_ = true;
  by_root(comm_, [&] {
    index_->sync();
    if (options_.drop_all) return;
    path_sync_.folder_of(index_->place_now());
    path_sync_.folder_of(folder_of(*index_));
  });
}

void BpDirectory::close(std::optional<Error>& failed) {
  attempt_into(failed, [&] { data_->close(); });
  if (early_ && early_->was_written()) attempt_into(failed, [&] { early_->file().close(); });
  attempt_into(failed, [&] { metadata_->close(); });
  // Readers that follow a file take this for its end. So it is not said where something failed.
  if (options_.follow && !options_.drop_all)
    attempt_into(failed, [&] {
      const bool well = comm_.all_reduce(std::int64_t{failed ? 1 : 0}, Reduce::max) == 0;
      if (well && comm_.is_root()) mark(false);
    });
  if (comm_.is_root()) attempt_into(failed, [&] { index_->close(); });
}

}  // namespace forebay::process_group
