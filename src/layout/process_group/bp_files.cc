#include "layout/process_group/bp_files.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/agree.h"
#include "comm/topology.h"
#include "comm/turns.h"
#include "format/bp_read.h"
#include "format/bp_write.h"
#include "layout/process_group/bp_reader.h"
#include "layout/process_group/bp_scan.h"
#include "layout/process_group/data_spread.h"
#include "layout/process_group/index_walk.h"
#include "layout/process_group/recovery.h"
#include "storage/client_caches.h"

namespace forebay::process_group {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view tag = "ADIOS-BP";

/// What BP3, BP4, BP5 and this library leave in a directory.
bool is_of_bp(const std::string& name) {
  for (const char* known : {"md.idx", "md.0", "mmd.0", "profiling.json", "forebay.idx",
                            "md.idx.old", "md.0.old", "md.idx.new", "md.0.new"})
    if (name == known) return true;
  if (!name.starts_with("data.") || name.size() == 5) return false;
  for (const char c : name.substr(5))
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return false;
  return true;
}

/// What a file begins with; nothing where it cannot be read.
std::optional<std::string> beginning(const std::string& path) {
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return std::nullopt;  // to open a pipe would wait
  std::ifstream file(path, std::ios::binary);
  std::string first(tag.size(), ' ');
  file.read(first.data(), std::ssize(first));
  if (!file && !file.eof()) return std::nullopt;
  first.resize(static_cast<std::size_t>(file.gcount()));
  return first;
}

/// Whether a file is empty, or begins as those of BP4 do.
bool may_be_bp(const std::string& path) {
  const auto first = beginning(path);
  return first && (first->empty() || *first == tag);
}

bool has_index(const std::string& path) {
  std::error_code none;
  const auto size = fs::file_size(path + "/md.idx", none);
  return !none && size >= static_cast<std::uintmax_t>(bp::head_bytes);
}

constexpr const char* to_recover =
    "`forebay recover` finds what is whole, with --skip-damaged it is all that stays";

// Who goes on with steps whose index is lost would remove them.
void refuse_lost_index(const std::string& path, Rank rank, Report& report) {
  if (!has_bp_files(path)) return;
  const BpRecovery found = recover_index(path, {.look_only = true}, rank, report);
  if (found.steps > 0 || found.unsure)
    cannot_append(path, "its md.idx is lost, and steps are there", to_recover);
}

/// Collective. Those of rank 0.
void share_places(const Comm& comm, Places& places) {
  std::vector<std::int64_t> flat;
  for (const auto& [file, place] : places) flat.insert(flat.end(), {std::int64_t{file}, place});
  comm.broadcast(flat);
  for (std::size_t i = 0; i < flat.size(); i += 2)
    places[static_cast<std::uint32_t>(flat[i])] = flat[i + 1];
}

/// Collective. Of this rank's group among those that `comm` is divided into, and how many there
/// are.
std::pair<std::uint32_t, std::uint32_t> number_of(const Comm& comm, const Comm& group) {
  std::int64_t number = group.is_root(), all = 0;
  comm.exclusive_scan(std::span(&number, 1), std::span(&all, 1));
  group.broadcast(&number, sizeof number);
  return {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(all)};
}

/// What goes into a data file at `end` before the next group: its head, and a filler.
bp::Bytes front_at(Offset end, Count alignment) {
  bp::Bytes front;
  if (end < bp::head_bytes) {
    const auto head = bp::print_head("Data");
    front.assign(head.begin(), head.end());
  }
  const Count gap = bp::gap_before_group(end + static_cast<Count>(front.size()), alignment);
  if (gap > 0) bp::append_filler(front, gap, 0);
  return front;
}

/// What is there is replaced where it is empty, a BP3 file, or what a kill left of one.
void check_replaced_file(const std::string& path) {
  if (!fs::exists(path)) return;
  const auto first = beginning(path);
  if ((first && first->empty()) || is_bp_file(path)) return;
  throw Error(Errc::eexist, path + " is there, and no BP3 file",
              "choose another name, or remove it");
}

void check_no_file(const std::string& path) {
  if (fs::is_regular_file(path))
    throw Error(Errc::eexist, path + " is a file, and no directory of BP4",
                "choose another name, or bp_version=3 where it is a file of that");
}

/// All that is in a folder which may become another file. One without an index is ours if all that
/// is in it looks as a kill leaves it.
std::vector<fs::path> replaced_files(const std::string& path) {
  std::error_code failed;
  std::vector<fs::path> old;
  const bool is_bp = has_index(path) && may_be_bp(path + "/md.idx");
  bool strange = false;
  for (const auto& entry : fs::directory_iterator(path, failed)) {
    if (is_of_bp(entry.path().filename())) old.push_back(entry.path());
    strange |= !is_of_bp(entry.path().filename()) || !may_be_bp(entry.path());
  }
  if (failed || (strange && !is_bp)) {
    throw Error(Errc::eexist, path + " is there, and no BP file",
                "choose another name, or remove it");
  }
  return old;
}

std::uint64_t new_opening() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

}  // namespace

std::uint64_t record_time() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      duration_cast<seconds>(system_clock::now().time_since_epoch()).count());
}

bool begins_as_bp(const std::string& path) { return beginning(path) == tag; }

void check_replaceable(const std::string& given, const WriteOptions& options) {
  const std::string path = plain_path(given);
  if (options.drop_all) return;
  if (options.one_file) return check_replaced_file(path);
  check_no_file(path);
  if (fs::exists(path)) replaced_files(path);
}

/// Shared by the ranks of a node. Their first writes it, and the others touch it behind the
/// agreement of prepare_early() alone; from there on `begin` stays, and `next` is only added to,
/// but in drop_early(), between two meetings of all.
struct BpFiles::EarlyEnd {
  Offset begin;              // of what this opening writes there
  std::atomic<Offset> next;  // where the next group goes
  static_assert(std::atomic<Offset>::is_always_lock_free);
};

BpFiles::BpFiles(const Comm& comm, const std::string& path, const WriteOptions& options,
                 bool append, Report& report)
    : comm_(comm), path_(plain_path(path)), report_(report), drops_all_(options.drop_all) {
  append &= !drops_all_;
  if (options.one_file) {
    open_one_file(options, append);
    return;
  }
  by_root(comm_, [&] {
    metadata_ = new_file("md.0");
    index_ = new_file("md.idx");
    open_by_root(append, options.column_major);
  });
  std::array<std::int64_t, 5> told{metadata_end, index_end, static_cast<std::int64_t>(steps),
                                   static_cast<std::int64_t>(new_opening()), goes_on_};
  comm_.broadcast(told.data(), sizeof told);
  metadata_end = told[0];
  index_end = told[1];
  steps = static_cast<std::uint64_t>(told[2]);
  opening = static_cast<std::uint64_t>(told[3]);
  goes_on_ = told[4] != 0;
  if (append) share_places(comm_, whole_ends_);
  int sharing = options.ranks_per_file;
  if (sharing == WriteOptions::by_size) {
    // A file that is there has had its first step.
    Count there = 0;
    for (const auto& [file, end] : whole_ends_) there += end;
    waits_for_size_ = !goes_on_;
    sharing = steps > 0 ? choose_by_size(there / static_cast<Count>(steps), options.ranks_per_node)
                        : WriteOptions::all_ranks;
  }
  choose_data_file(sharing, options.ranks_per_node);
  agree_on_error(comm_, attempt_to([&] {
                   if (!metadata_) metadata_ = new_file("md.0");
                 }));
  start_data_file(options);
  if (options.step_memory > 0) prepare_early(options, append);
  if (append) follow_openings();
  if (options.open_stagger > 0) open_in_turns(options.open_stagger);
}

/// Collective. One that is there already stays.
void BpFiles::start_data_file(const WriteOptions& options) {
  agree_on_error(comm_, attempt_to([&] {
                   if (data_) return;
                   data_ = new_file("data." + std::to_string(number_));
                   if (data_ranks_.is_root()) open_data(options.alignment, goes_on_);
                 }));
  data_ranks_.broadcast(&data_end, sizeof data_end);
}

/// Collective.
int BpFiles::choose_by_size(Count bytes_of_all, int ranks_per_node) {
  chosen_ =
      spread_of(bytes_of_all, comm_.size(), Topology::of(comm_, ranks_per_node).largest_node());
  chosen_by_ = bytes_of_all;
  return chosen_;
}

void BpFiles::spread(const WriteOptions& options, Count bytes) {
  const int sharing = choose_by_size(comm_.all_reduce(bytes, Reduce::sum), options.ranks_per_node);
  if (sharing == WriteOptions::all_ranks) {
    waits_for_size_ = false;
    return;
  }
  const std::uint32_t early = early_number_;
  const Offset end = data_end;
  std::unique_ptr<File> before;
  choose_data_file(sharing, options.ranks_per_node);
  early_number_ = early;
  if (number_ != 0) before = std::move(data_);
  const auto failed = attempt_to([&] {
    start_data_file(options);
    if (options.open_stagger > 0) open_in_turns(options.open_stagger);
  });
  waits_for_size_ = failed.has_value();
  if (!failed) return;
  choose_data_file(WriteOptions::all_ranks, options.ranks_per_node);
  early_number_ = early;
  data_end = end;
  if (before) data_ = std::move(before);
  throw *failed;
}

std::unique_ptr<File> BpFiles::new_file(const std::string& name) const {
  auto file = std::make_unique<File>(path_ + "/" + name, true, comm_.rank(), report_);
  if (drops_all_) file->drop_all();
  return file;
}

void BpFiles::sync_names() const {
  if (drops_all_) return;
  const fs::path above = fs::path(path_).parent_path();
  if (!trailing_) sync_path(path_);
  sync_path(above.empty() ? "." : above.string());
}

// A server of metadata that all ranks ask at once makes some wait for minutes.
void BpFiles::open_in_turns(int at_a_time) {
  in_turns(comm_, at_a_time, [&] {
    data_->ensure_open();
    if (!trailing_) metadata_->ensure_open();
  });
}

// Clocks may go back, and what follows a step has to be found by its opening.
void BpFiles::follow_openings() {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) - 1;
  const auto last =
      comm_.all_reduce(static_cast<std::int64_t>(std::min(last_opening_, most)), Reduce::max);
  opening = std::max(opening, static_cast<std::uint64_t>(last) + 1);
}

/// Collective.
void BpFiles::open_one_file(const WriteOptions& options, bool append) {
  data_ranks_ = comm_;
  TrailingIndex::Found found;
  agree_on_error(comm_, attempt_to([&] {
                   data_ = std::make_unique<File>(path_, true, comm_.rank(), report_);
                   if (drops_all_) data_->drop_all();
                   data_->share(client_caches_of(path_, true));
                   trailing_ = std::make_unique<TrailingIndex>(comm_, *data_, drops_all_);
                 }));
  by_root(comm_, [&] {
    if (append && fs::is_directory(path_))
      cannot_append(path_, "it is a directory, and no BP3 file");
    // An empty one is what a kill left while it was made.
    if (append && fs::exists(path_) && !(fs::is_regular_file(path_) && fs::is_empty(path_))) {
      found = TrailingIndex::find(path_, options.column_major, comm_.rank(), report_);
      data_end = found.data_end + bp::gap_before_group(found.data_end, bp::payload_alignment);
    } else {
      if (!drops_all_) check_replaced_file(path_);
      if (!drops_all_) data_->create(false);
      trailing_->write_empty();
    }
    data_->meet();
  });
  names = std::move(found.names);
  std::array<std::int64_t, 3> told{
      data_end, static_cast<std::int64_t>(found.steps),
      static_cast<std::int64_t>(std::max(new_opening(), found.opening + 1))};
  comm_.broadcast(told.data(), sizeof told);
  data_end = told[0];
  steps = static_cast<std::uint64_t>(told[1]);
  opening = static_cast<std::uint64_t>(told[2]);
  trailing_->learn(std::move(found.contents));
  if (!drops_all_) {  // what a kill left of a step
    trailing_->cut_to_size();
    trailing_->settle(data_end);
  }
  if (options.open_stagger > 0) open_in_turns(options.open_stagger);
}

void BpFiles::open_by_root(bool append, bool column_major) {
  check_no_file(path_);
  // One without an index, and without steps, is what a kill left while it was made.
  goes_on_ = append && has_index(path_);
  if (goes_on_) return read_index(column_major);
  if (append) refuse_lost_index(path_, comm_.rank(), report_);
  if (!drops_all_) make_directory();
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
  const auto old = replaced_files(path_);
  fs::remove(path_ + "/md.idx");
  for (const auto& path : old) fs::remove(path);
}

void BpFiles::read_index(bool column_major) {
  look_through(column_major);
  metadata_end = bp::head_bytes;
  index_end = bp::head_bytes + static_cast<Offset>(steps) * bp::record_bytes;
  if (steps > 0) {
    std::array<std::byte, bp::record_bytes> last{};
    index_->read_at(index_end - bp::record_bytes, last);
    const bp::StepRecord record = bp::parse_record(last, false);
    metadata_end = record.end;
    steps = record.step;
    learn_opening(record);
  }
  index_->truncate(index_end);
  metadata_->truncate(metadata_end);
}

// That of the last step: rank 0's groups are in data.0.
void BpFiles::learn_opening(const bp::StepRecord& record) {
  const auto group = IndexWalk(path_, comm_.rank(), report_).first_group(record.groups);
  const std::string name = path_ + "/data.0";
  if (!group || !fs::exists(name)) return;
  File data(name, false, comm_.rank(), report_);
  if (const auto mark = mark_at(data, group->place, record.step)) last_opening_ = mark->opening;
}

// What is in the file, by its index. A machine that went down, or a copy that was cut short, may
// have left steps without their values: who goes on would write over what may be put together
// again.
void BpFiles::look_through(bool column_major) {
  if (!fs::exists(path_ + "/md.0")) cannot_append(path_, "md.0 is not there", to_recover);
  std::optional<BpReader> found;
  try {
    found.emplace(Comm(), path_, report_);
  } catch (const Error& error) {
    cannot_append(path_, error.message(),
                  error.code() == Errc::ebad_file ? to_recover : "write a new file");
  }
  const BpReader& old = *found;
  if (old.swapped()) cannot_append(path_, "it has the other byte order");
  if (const auto lost = old.unread_steps(); lost > 0)
    cannot_append(path_, "md.0 lacks the index of " + std::to_string(lost) + " of its steps",
                  to_recover);
  steps = old.steps();
  std::unordered_map<std::uint32_t, Offset> ends;
  const auto end_of = [&](std::uint32_t number) {
    const auto [known, is_new] = ends.emplace(number, 0);
    if (is_new) {
      const std::string name = "data." + std::to_string(number);
      if (!fs::exists(path_ + "/" + name)) cannot_append(path_, name + " is not there", to_recover);
      known->second = static_cast<Offset>(fs::file_size(path_ + "/" + name));
    }
    return known->second;
  };
  for (std::size_t v = 0; v < old.variables().size(); ++v) {
    const StoredVariable& variable = old.variables()[v];
    bool has_kind = !variable.without_extents;
    for (const std::uint32_t step : variable.steps.numbers())
      old.each_block(v, step, [&](const bp::Block& block) {
        if (!bp::may_be_global(block.at)) has_kind = true;
        if (!block.has_value && block.bytes > 0 && block.bytes > end_of(block.file) - block.payload)
          cannot_append(path_,
                        "data." + std::to_string(block.file) + " ends before the values of " +
                            variable.variable.name + " in step " + std::to_string(step),
                        to_recover);
        const bool plain = !block.has_value && block.operation.empty();
        Offset& end = whole_ends_[block.file];
        end = std::max(end, block.payload + (plain ? block.bytes : 0));
      });
    if (has_kind)
      names.push_back(
          {variable.variable, variable.kind, static_cast<std::uint8_t>(variable.dimensions)});
  }
  if (steps > 0 && old.column_major(steps - 1) != column_major)
    cannot_append(path_, std::string("its arrays are ") + (column_major ? "row" : "column") +
                             "-major, and those of the group are not");
  for (const bp::Attribute& attribute : old.attributes()) {
    if (attribute.name.size() > std::numeric_limits<std::uint16_t>::max())
      cannot_append(path_, "the name of an attribute has more than 65,535 bytes");
    names.push_back({{attribute.name, attribute.type}, Kind::attribute});
  }
}

/// Collective.
void BpFiles::choose_data_file(int ranks_per_file, int ranks_per_node) {
  if (ranks_per_file == WriteOptions::all_ranks) {
    data_ranks_ = comm_;
    number_ = 0;
    one_data_file_ = true;
    early_number_ = 1;
    return;
  }
  const bool of_node = ranks_per_file == WriteOptions::ranks_of_node;
  data_ranks_ = comm_.split_node(of_node ? ranks_per_node : ranks_per_file);
  const auto [number, files] = number_of(comm_, data_ranks_);
  number_ = number;
  one_data_file_ = files == 1;
  early_number_ = files;
}

/// Of one that is there: behind what a torn group says that it has, and none that it seems to end
/// with. What is no data file yet ends at 0.
Offset BpFiles::end_of_data(File& data, std::uint32_t number) {
  const auto told = whole_ends_.find(number);
  const Offset whole = told == whole_ends_.end() ? 0 : told->second;
  const Leftover left = left_behind(data, std::max(whole, bp::head_bytes));
  last_opening_ = std::max(last_opening_, left.opening);
  return left.end < bp::head_bytes ? 0 : left.end;
}

void BpFiles::open_data(Count alignment, bool append) {
  Offset end = 0;
  if (append && fs::exists(data_->path())) end = end_of_data(*data_, number_);
  if (end == 0) data_->create(false);
  const bp::Bytes front = front_at(end, alignment);
  if (!front.empty()) data_->write_at(end, front);
  data_end = end + static_cast<Count>(front.size());
}

/// Collective.
void BpFiles::prepare_early(const WriteOptions& options, bool append) {
  Comm node = Topology::of(comm_, options.ranks_per_node).node();
  // Behind all data files that there may be; whoever goes on with the file has the same number.
  if (options.ranks_per_file == WriteOptions::by_size)
    early_number_ =
        std::min(static_cast<std::uint32_t>(comm_.size()),
                 std::max<std::uint32_t>(most_spread_files, number_of(comm_, node).second));
  early_end_ = NodeMemory::create(node, sizeof(EarlyEnd));
  if (!early_end_) {  // then each has a file of its own
    node = Comm();
    early_end_ = NodeMemory::create(node, sizeof(EarlyEnd));
  }
  early_number_ += number_of(comm_, node).first;
  alignment_ = options.alignment;
  agree_on_error(comm_, attempt_to([&] {
                   if (!early_end_) return;
                   early_ = new_file("data." + std::to_string(early_number_));
                   if (!node.is_root()) return;
                   Offset end = 0;
                   if (append && fs::exists(early_->path()))
                     end = end_of_data(*early_, early_number_);
                   auto* const shared = new (early_end_.data()) EarlyEnd{end, 0};
                   shared->next = end + std::ssize(front_at(end, alignment_));
                   cuts_early_ = true;
                   early_kept_ = shared->next;
                 }));
}

BpFiles::EarlyEnd& BpFiles::early_end() const {
  return *std::launder(reinterpret_cast<EarlyEnd*>(early_end_.data()));
}

// Others may be in their next step already, whose first groups stay then, too.
void BpFiles::keep_early() {
  if (cuts_early_) early_kept_ = early_end().next;
}

void BpFiles::drop_early() {
  if (!cuts_early_ || early_end().next == early_kept_) return;
  early_end().next = early_kept_;
  attempt_to([&] {
    early_->ensure_open();
    if (early_->size() > early_kept_) early_->truncate(early_kept_);
  });
}

Offset BpFiles::take_early(Count bytes) {
  EarlyEnd* const shared = &early_end();
  if (!early_is_open_) {
    auto failed = attempt_to([&] { early_->ensure_open(); });
    if (failed) failed = attempt_to([&] { early_->create(true); });
    if (failed) early_->ensure_open();  // another rank has made it meanwhile
    // Each rank writes the same: nobody knows whether another has got so far.
    const bp::Bytes front = front_at(shared->begin, alignment_);
    if (const auto full = attempt_to([&] {
          if (!front.empty()) early_->write_at(shared->begin, front);
        })) {
      attempt_to([&] { early_->close(); });
      throw *full;
    }
    early_is_open_ = true;
  }
  return shared->next.fetch_add(bytes);
}

}  // namespace forebay::process_group
