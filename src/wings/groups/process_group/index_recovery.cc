#include "groups/process_group/index_recovery.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "groups/format/bp_read.h"
#include "groups/format/bp_write.h"
#include "groups/process_group/bp_files.h"
#include "groups/process_group/bp_scan.h"
#include "groups/process_group/footer_recovery.h"
#include "groups/process_group/group_walk.h"
#include "groups/process_group/index_walk.h"
#include "storage/file.h"

namespace forebay::process_group {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t last_step = std::numeric_limits<std::uint32_t>::max();

class Recovery {
 public:
  Recovery(const std::string& path, const BpRecoveryOptions& options, Rank rank, Report& report)
      : path_(path), options_(options), rank_(rank), report_(report) {}

  BpRecovery run() {
    refuse_others();
    const bool head = read_head("md.idx"), has_metadata = read_head("md.0");
    if (has_metadata) walk_.emplace(path_, rank_, report_);
    if (head) read_records();
    keep_steps();
    groups_.emplace(path_, rank_, report_);
    find_in_index();
    find_groups();
    look_behind(head);
    result_.steps = records_.size();
    result_.needed = !head || !has_metadata || active_ || result_.lost() > 0 ||
                     result_.by_index + result_.by_groups > 0;
    const bool changes = result_.needed && !options_.look_only && found_any(head, has_metadata) &&
                         (result_.lost() == 0 || options_.skip_damaged);
    if (changes) write();
    remove_new_files();
    return std::move(result_);
  }
  ~Recovery() { remove_new_files(); }
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

 private:
  std::string file(const char* name) const { return path_ + "/" + name; }

  void refuse_others() const {
    if (fs::exists(file("mmd.0")))
      throw Error(Errc::enotsupport, path_ + " is a BP5 file", "BP4 files are recovered");
  }

  // Returns whether a file exists and begins with a head of BP4, of this machine's byte order.
  bool read_head(const char* name) {
    if (!fs::is_regular_file(file(name))) return false;
    std::array<std::byte, bp::head_bytes> head{};
    File opened(file(name), false, rank_, report_);
    if (opened.read_at(0, head) < head.size()) return false;
    bool swapped = false;
    const auto failed = attempt_to([&] { swapped = bp::parse_head(head); });
    if (failed && failed->code() == Errc::enotsupport) throw *failed;
    if (swapped)
      throw Error(Errc::enotsupport, file(name) + " has the other byte order",
                  "recover it on a machine like the one that wrote it");
    if (!failed && std::string_view(name) == "md.idx")
      active_ = head[bp::head_active_at] != std::byte{0};
    return !failed;
  }

  // Keeps the records that readers take (bp_scan.h). Counts all records, also behind a damaged one.
  void read_records() {
    File index(file("md.idx"), false, rank_, report_);
    // Without md.0 the records cannot be checked.
    const Count metadata_bytes = walk_ ? walk_->bytes() : 0;
    bool beyond = false;
    each_record(index, index.size(), metadata_bytes, false,
                [&](const bp::StepRecord& record, bool taken) {
                  beyond = beyond || record.step > last_step;
                  if (record.step <= last_step) ++result_.before;
                  if (taken && !beyond) told_.push_back(record);
                });
  }

  void keep_steps() {
    for (const bp::StepRecord& told : told_) {
      const auto found = walk_->step_at(told.groups, told.step, false);
      if (!found || found->variables != told.variables || found->attributes != told.attributes ||
          found->end > told.end) {
        note("step " + std::to_string(told.step) +
             " of the index is damaged, or its values are "
             "not there");
        return;
      }
      keep_step(told);
    }
  }

  void keep_step(const bp::StepRecord& record) {
    records_.push_back(record);
    last_group_ = walk_->groups().back();
    for (const auto& [file, place] : walk_->blocks()) keep_place(file, place);
  }

  void keep_place(std::uint32_t file, Offset place) {
    Offset& last = kept_places_[file];
    last = std::max(last, place);
  }

  std::uint64_t next_step() const { return records_.empty() ? 1 : records_.back().step + 1; }
  Offset metadata_end() const { return records_.empty() ? bp::head_bytes : records_.back().end; }

  void find_in_index() {
    while (walk_) {
      // adios2 skips the numbers of steps in which nothing was written.
      const auto first = walk_->first_group(metadata_end());
      if (!first || first->step < next_step()) return;
      auto found = walk_->step_at(metadata_end(), first->step, true);
      if (!found || !groups_->may_be_whole(first->step, walk_->groups())) return;
      found->time = record_time();
      keep_step(*found);
      ++result_.by_index;
    }
  }

  void find_groups() {
    // Steps behind a kept one are of the same or a later opening. Another program's step has no
    // opening, but its successors lie behind it.
    if (!records_.empty())
      opening_ = groups_
                     ->opening_of(static_cast<std::uint32_t>(records_.back().step),
                                  last_group_.first, last_group_.second)
                     .value_or(0);
    kept_bytes_ = metadata_end();
    bp::Bytes index;
    while (next_step() <= last_step) {
      const auto found =
          groups_->step(static_cast<std::uint32_t>(next_step()), opening_, kept_places_);
      if (found.empty()) break;
      opening_ = found.front().opening;
      bp::StepRecord record;
      index.clear();
      const auto failed =
          attempt_to([&] { record = groups_->print_index(found, metadata_end(), index); });
      if (failed && failed->code() != Errc::ebad_file && failed->code() != Errc::evarsize)
        throw *failed;
      if (failed) {
        note("step " + std::to_string(next_step()) + ": " + failed->message());
        break;
      }
      if (!options_.look_only) append_metadata(index);
      record.time = record_time();
      records_.push_back(record);
      for (const FoundGroup& group : found) keep_place(group.file, group.place);
      ++result_.by_groups;
    }
  }

  // Examines groups that belong to no step, but may have done so.
  void look_behind(bool has_index) {
    const std::string behind =
        records_.empty() ? "" : " behind step " + std::to_string(next_step() - 1);
    if (walk_ && result_.by_groups == 0 && walk_->bytes() > metadata_end())
      note("md.0 has " + std::to_string(walk_->bytes() - metadata_end()) + " bytes" + behind +
           " that are no whole step");
    const Unused unused = groups_->unused(next_step(), opening_, kept_places_);
    if (unused.next)
      note("groups of step " + std::to_string(next_step()) + " are there, and are no whole step");
    if (unused.later)
      note("groups of step " + std::to_string(unused.later) + " are there, and none before it" +
           behind);
    if (unused.unmarked)
      note("groups of another program lie" + (behind.empty() ? " there" : behind) +
           ", which only an index puts together");
    result_.unsure = !has_index && (unused.later != 0 || unused.unmarked);
  }

  // Returns whether there is an index to write: it is false for a lost index without any step.
  bool found_any(bool index, bool metadata) const { return index || metadata || !records_.empty(); }

  void note(std::string text) { result_.notes.push_back(std::move(text)); }

  File& new_metadata() {
    if (metadata_) return *metadata_;
    const std::string name = file("md.0.new");
    if (kept_bytes_ > bp::head_bytes)
      fs::copy_file(file("md.0"), name, fs::copy_options::overwrite_existing);
    metadata_ = std::make_unique<File>(name, true, rank_, report_);
    if (kept_bytes_ > bp::head_bytes) {
      metadata_->truncate(kept_bytes_);
    } else {
      metadata_->create(false);
      metadata_->write_at(0, bp::print_head("Metadata"));
    }
    written_ = kept_bytes_;
    return *metadata_;
  }

  void append_metadata(std::span<const std::byte> index) {
    new_metadata().write_at(written_, index);
    written_ += static_cast<Count>(index.size());
  }

  void write() {
    const bool has_metadata = walk_.has_value();
    if (!has_metadata) new_metadata();
    File index(file("md.idx.new"), true, rank_, report_);
    index.create(false);
    const auto head = bp::print_head("Index Table");
    bp::Bytes bytes(head.begin(), head.end());
    for (const bp::StepRecord& record : records_) {
      const auto printed = bp::print_record(record);
      bytes.insert(bytes.end(), printed.begin(), printed.end());
    }
    index.write_at(0, bytes);
    index.sync();
    index.close();
    if (metadata_) {
      metadata_->sync();
      metadata_->close();
    }
    keep("md.idx");
    if (metadata_) keep("md.0");
    if (metadata_) fs::rename(file("md.0.new"), file("md.0"));
    if (metadata_)
      PathSync().folder_of(file("md.0"));  // a record is only valid with its step's index
    fs::rename(file("md.idx.new"), file("md.idx"));
    PathSync().folder_of(file("md.idx"));
    result_.changed = true;
  }

  // Gives a second name to the file that will be replaced, or copies it if links are not possible.
  void keep(const char* name) {
    const std::string from = file(name), to = from + ".old";
    if (!fs::exists(from)) return;
    if (fs::exists(to)) return note(to + " is of an earlier recovery, and stays");
    std::error_code failed;
    fs::create_hard_link(from, to, failed);
    if (failed) fs::copy_file(from, to);
    result_.kept.push_back(to);
  }

  void remove_new_files() noexcept {
    if (options_.look_only) return;
    std::error_code ignored;
    for (const char* name : {"md.0.new", "md.idx.new"})
      attempt_to([&] { fs::remove(file(name), ignored); });
  }

  std::string path_;
  BpRecoveryOptions options_;
  Rank rank_;
  Report& report_;
  bool active_ = false;  // marked active, as by a killed adios2 writer: readers wait for more
  std::optional<IndexWalk> walk_;
  std::optional<GroupWalk> groups_;
  std::vector<bp::StepRecord> told_, records_;
  std::uint64_t opening_ = 0;           // of the last step, if known
  std::pair<Rank, Offset> last_group_;  // of the last step in the index
  Places kept_places_;                  // last kept block or group of each data file
  std::unique_ptr<File> metadata_;      // md.0.new
  Offset kept_bytes_ = bp::head_bytes, written_ = 0;
  BpRecovery result_;
};

}  // namespace

bool has_bp_files(const std::string& path) {
  std::error_code none;
  if (fs::is_regular_file(path, none)) return is_bp_file(path);
  if (!fs::is_directory(path, none)) return false;
  std::vector<std::string> names{"md.idx", "md.0"};
  for (const std::uint32_t number : data_files(path))
    names.push_back("data." + std::to_string(number));
  return std::ranges::any_of(
      names, [&](const std::string& name) { return begins_as_bp(path + "/" + name); });
}

BpRecovery recover_index(const std::string& path, const BpRecoveryOptions& options, Rank rank,
                         Report& report) {
  try {
    if (fs::is_regular_file(path)) return recover_footer(path, options, rank, report);
    return Recovery(path, options, rank, report).run();
  } catch (const fs::filesystem_error& error) {
    throw system_error(error.code().value(), Errc::ewrite, "recovering", path);
  }
}

}  // namespace forebay::process_group
