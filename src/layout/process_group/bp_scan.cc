#include "layout/process_group/bp_scan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/attempt.h"
#include "base/error.h"
#include "format/bp_read.h"
#include "layout/process_group/index_window.h"
#include "layout/process_group/told_index.h"
#include "storage/file.h"

namespace forebay::process_group {

namespace {

/// Goes through md.idx and md.0 and notes what all ranks are told: of each step and each of its
/// variables the place of the entry; its first bytes, up to the first block, where they say other
/// things than in the step before; attributes whole, once.
class Scan {
 public:
  Scan(const std::string& path, Rank rank, Report& report)
      : index_(path + "/md.idx", false, rank, report),
        metadata_(path + "/md.0", false, rank, report) {}

  std::vector<std::byte> run() {
    naming(index_.path(), [&] { read_head(index_); });
    window_.emplace(metadata_);
    std::vector<std::byte> records(static_cast<std::size_t>(bp::record_bytes * 1024));
    for (Offset at = bp::head_bytes; at_ok(at); at += static_cast<Offset>(records.size())) {
      const std::size_t n =
          index_.read_at(at, records) / static_cast<std::size_t>(bp::record_bytes);
      for (std::size_t r = 0; more_ && r < n; ++r) {
        const auto record = std::span<const std::byte>(records)
                                .subspan(r * static_cast<std::size_t>(bp::record_bytes))
                                .first<bp::record_bytes>();
        take(naming(index_.path(), [&] { return bp::parse_record(record, swapped_); }));
      }
      if (n * static_cast<std::size_t>(bp::record_bytes) < records.size()) break;
    }
    return told_.take();
  }

 private:
  bool at_ok(Offset at) const { return more_ && at < index_end_; }

  void read_head(File& file) {
    std::array<std::byte, bp::head_bytes> head{};
    if (file.read_at(0, head) < head.size())
      throw Error(Errc::ebad_file, "it ends within its first 64 bytes",
                  "its first step was never ended");
    swapped_ = bp::parse_head(head);
    told_.order(Container::directory, bp::Form::bp4, swapped_);
    index_end_ = file.size();
  }

  // What did not reach its files in whole, as the machine went down, is no step, nor what follows
  // it. Indexes lie one behind the other, so that what is told is no more than md.0 holds.
  void take(const bp::StepRecord& record) {
    if (record.end > window_->file_bytes() || record.groups < metadata_end_ ||
        record.step <= last_step_) {
      more_ = false;
      return;
    }
    metadata_end_ = record.end;
    last_step_ = record.step;
    naming(metadata_.path() + ", step " + std::to_string(record.step), [&] {
      const bool column_major = bp::parse_column_major(
          bytes(record.groups, std::min(record.variables - record.groups, bp::column_major_bytes),
                record.variables),
          swapped_);
      told_.step(column_major, static_cast<std::uint32_t>(record.step));
      each_entry(record.variables, record.attributes, [&](Offset at, Count n) {
        take_variable(bytes(at, std::min(n, bp::longest_first_block), record.attributes),
                      {swapped_, column_major, bp::Form::bp4}, {at, n});
      });
      each_entry(record.attributes, record.end, [&](Offset at, Count n) {
        auto parsed = bp::parse_attribute(bytes(at, n, record.end), {swapped_});
        // The first one stays, as for adios2.
        if (attributes_.insert(parsed.attribute.name).second) told_.attribute(parsed.attribute);
      });
    });
  }

  void take_variable(std::span<const std::byte> entry, bp::Origin origin, const EntryPlace& place) {
    bp::VariableEntry parsed(entry, origin);
    const std::size_t head = parsed.at();
    bp::Block block;
    if (!parsed.next(block)) return;
    const auto number = static_cast<std::uint32_t>(
        numbers_.emplace(parsed.variable().name, numbers_.size()).first->second);
    Said said = said_by(parsed.variable(), std::move(block));
    const auto first = entry.subspan(head, parsed.at() - head);
    if (number == last_.size()) {
      last_.push_back(std::move(said));
      return told_.variable(parsed.variable(), first, place);
    }
    if (said == last_[number]) return told_.again(number, place);
    last_[number] = std::move(said);
    told_.changed(number, parsed.variable().type, first, place);
  }

  template <typename F>
  void each_entry(Offset from, Offset to, F&& f) {
    const Count all = bp::parse_elements_head(bytes(from, bp::elements_head_bytes, to), swapped_);
    from += bp::elements_head_bytes;
    // adios2 counts its own length among the bytes of attributes, or does not.
    if (all > to - from + bp::elements_head_bytes)
      throw Error(Errc::ebad_file, "damaged: its index is longer than the step's", "");
    for (const Offset end = std::min(from + all, to); from + 4 <= end;) {
      const Count n = bp::parse_entry_bytes(bytes(from, 4, end), swapped_);
      if (n > end - from)
        throw Error(Errc::ebad_file, "damaged: an entry is longer than the step's index", "");
      f(from, n);
      from += n;
    }
  }

  std::span<const std::byte> bytes(Offset at, Count n, Offset end) {
    return window_->bytes(at, n, end);
  }

  File index_, metadata_;
  std::unordered_map<std::string, std::size_t> numbers_;  // of variables, as they come
  std::vector<Said> last_;                                // of each
  std::unordered_set<std::string> attributes_;
  std::optional<IndexWindow> window_;  // of md.0
  Offset index_end_ = 0, metadata_end_ = bp::head_bytes;
  std::uint64_t last_step_ = 0;
  bool swapped_ = false, more_ = true;
  ToldIndex told_;
};

}  // namespace

// As both files are now, of which md.0 is written first: another step may have come since they were
// read.
std::uint64_t steps_without_index(const std::string& path, std::uint64_t steps, Rank rank,
                                  Report& report) {
  File index(path + "/md.idx", false, rank, report);
  std::array<std::byte, bp::head_bytes> head{};
  if (index.read_at(0, head) < head.size()) return 0;
  const Offset index_end = index.size();
  if (static_cast<std::uint64_t>((index_end - bp::head_bytes) / bp::record_bytes) <= steps)
    return 0;
  const Offset metadata_end = File(path + "/md.0", false, rank, report).size();
  const bool swapped = bp::parse_head(head);
  std::uint64_t told = 0, there = 0, last = 0;
  Offset end = bp::head_bytes;
  bool all_there = true;
  std::array<std::byte, bp::record_bytes> bytes{};
  for (Offset at = bp::head_bytes;
       at + bp::record_bytes <= index_end && index.read_at(at, bytes) == bytes.size();
       at += bp::record_bytes) {
    bp::StepRecord record;
    // Zeros, say, that a machine left which went down, are none, nor is a torn one.
    const bool is_one = !attempt_to([&] { record = bp::parse_record(bytes, swapped); }) &&
                        record.step > 0 && record.groups >= bp::head_bytes;
    if (is_one) ++told;
    all_there = all_there && is_one && record.groups >= end && record.step > last &&
                record.end <= metadata_end;
    if (!all_there) continue;
    ++there;
    end = record.end;
    last = record.step;
  }
  return told - there;
}

std::vector<std::byte> scan_directory(const std::string& path, Rank rank, Report& report) {
  return Scan(path, rank, report).run();
}

}  // namespace forebay::process_group
