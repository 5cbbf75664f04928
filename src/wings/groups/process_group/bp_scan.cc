#include "groups/process_group/bp_scan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/attempt.h"
#include "base/error.h"
#include "groups/format/bp_read.h"
#include "groups/process_group/index_broadcast.h"
#include "groups/process_group/index_window.h"
#include "storage/client_caches.h"
#include "storage/file.h"

namespace forebay::process_group {

/// Decides which records of md.idx are taken, in order: those whose index is whole in md.0, behind
/// that of the step before.
class RecordOrder {
 public:
  bool takes(const bp::StepRecord& record, Offset metadata_bytes) {
    if (record.end > metadata_bytes || record.groups < end_ || record.step <= last_) return false;
    end_ = record.end;
    last_ = record.step;
    return true;
  }

 private:
  Offset end_ = bp::head_bytes;
  std::uint64_t last_ = 0;
};

/// Parses md.idx and md.0 and notes what is broadcast: for each step and each of its variables the
/// place of the entry, and its first bytes, up to the first block, if they differ from the step
/// before; each attribute once, in full.
class DirectoryScan::Scan {
 public:
  Scan(const std::string& path, Rank rank, Report& report)
      : index_(path + "/md.idx", false, rank, report),
        metadata_(path + "/md.0", false, rank, report) {}

  std::vector<std::byte> run() {
    naming(index_.path(), [&] { read_head(index_); });
    read_records();
    auto told = told_.take();
    window_.reset();
    index_.close();
    metadata_.close();
    return told;
  }

  std::optional<std::vector<std::byte>> more(const std::string& folder) {
    if (broken_) throw *broken_;
    const Offset before = next_;
    broken_ = attempt_to([&] {
      look_again(folder);
      read_records();
    });
    if (broken_) throw *broken_;
    if (next_ == before) return std::nullopt;
    return told_.take();
  }

  bool is_being_written(const std::string& folder) {
    look_again(folder);
    std::array<std::byte, 1> mark{};
    return index_.read_at(bp::head_active_at, mark) == 1 && mark[0] != std::byte{0};
  }

  bool is_current() { return index_.is_linked() && metadata_.is_linked(); }

 private:
  // A file that has been renamed is opened where it is now.
  void look_again(const std::string& folder) {
    if (!follows_) {
      for (File* file : {&index_, &metadata_})
        file->share(client_caches_of(folder + "/md.idx", false));
      index_.moved(folder + "/md.idx");
      metadata_.moved(folder + "/md.0");
      follows_ = true;
    }
    index_.look_again();
    metadata_.look_again();
  }

  // Reads records from `next_` on, up to the first one that is not taken. That one may be whole
  // later.
  void read_records() {
    // md.0 is as long as the records say: it is written before them.
    const auto some = static_cast<std::size_t>(bp::record_bytes) * 1024;
    std::vector<std::byte> records(some);
    more_ = true;
    while (more_) {
      records.resize(some);
      records.resize(index_.read_at(next_, records));
      if (records.size() < static_cast<std::size_t>(bp::record_bytes)) return;
      window_.emplace(metadata_);
      for (std::span<const std::byte> rest(records);
           more_ && rest.size() >= static_cast<std::size_t>(bp::record_bytes);
           rest = rest.subspan(bp::record_bytes)) {
        const auto record = rest.first<bp::record_bytes>();
        take(naming(index_.path(), [&] { return bp::parse_record(record, swapped_); }));
        if (more_) next_ += bp::record_bytes;
      }
    }
  }

  void read_head(File& file) {
    std::array<std::byte, bp::head_bytes> head{};
    if (file.read_at(0, head) < head.size())
      throw Error(Errc::ebad_file, "it ends within its first 64 bytes",
                  "its first step was never ended, or `forebay recover` makes its index again");
    swapped_ = bp::parse_head(head);
    told_.order(Container::directory, bp::Form::bp4, swapped_);
  }

  // A step that did not reach its files completely, because the machine failed, is no step, and
  // neither are later ones. Indexes follow one another, so the broadcast is no larger than md.0.
  void take(const bp::StepRecord& record) {
    const RecordOrder before = order_;
    more_ = order_.takes(record, window_->file_bytes());
    if (!more_) return;
    // Caches of clients may have holes where another node has written; a whole step has a group.
    if (metadata_.has_weak_caches() && begins_with_zeros(record)) {
      order_ = before;
      more_ = false;
      return;
    }
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
        // The first value stays, as in adios2.
        if (attributes_.insert(parsed.attribute.name).second) told_.attribute(parsed.attribute);
      });
    });
  }

  bool begins_with_zeros(const bp::StepRecord& record) {
    const auto head = bytes(record.groups, bp::elements_head_bytes, record.end);
    return std::ranges::all_of(head, [](std::byte b) { return b == std::byte{0}; });
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
      told_.variable(parsed.variable(), first);
      last_.push_back(std::move(said));
    } else if (said != last_[number]) {
      told_.changed(number, parsed.variable().type, first);
      last_[number] = std::move(said);
    }
    told_.place(number, parsed.variable().name, place);
  }

  template <typename F>
  void each_entry(Offset from, Offset to, F&& f) {
    const Count all = bp::parse_elements_head(bytes(from, bp::elements_head_bytes, to), swapped_);
    from += bp::elements_head_bytes;
    // adios2 may or may not count the length field among the bytes of attributes.
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
  std::unordered_map<std::string, std::size_t> numbers_;  // by first entry
  std::vector<Said> last_;                                // of each variable
  std::unordered_set<std::string> attributes_;
  std::optional<IndexWindow> window_;  // of md.0
  Offset next_ = bp::head_bytes;       // of the first record that was not taken
  RecordOrder order_;
  bool swapped_ = false, more_ = true, follows_ = false;
  std::optional<Error> broken_;
  IndexBroadcast told_;
};

DirectoryScan::DirectoryScan(const std::string& path, Rank rank, Report& report)
    : scan_(std::make_unique<Scan>(path, rank, report)) {}
DirectoryScan::~DirectoryScan() = default;
std::vector<std::byte> DirectoryScan::run() { return scan_->run(); }
std::optional<std::vector<std::byte>> DirectoryScan::more(const std::string& folder) {
  return scan_->more(folder);
}
bool DirectoryScan::is_being_written(const std::string& folder) {
  return scan_->is_being_written(folder);
}

bool DirectoryScan::is_current() { return scan_->is_current(); }

void each_record(ByteFile& index, Offset index_end, Offset metadata_bytes, bool swapped,
                 const std::function<void(const bp::StepRecord&, bool taken)>& f) {
  RecordOrder order;
  bool all_taken = true;
  std::array<std::byte, bp::record_bytes> bytes{};
  for (Offset at = bp::head_bytes;
       at + bp::record_bytes <= index_end && index.read_at(at, bytes) == bytes.size();
       at += bp::record_bytes) {
    bp::StepRecord record;
    // Zeros, as a failed machine may leave, are no record of a step. Neither is a torn record.
    const bool is_one = !attempt_to([&] { record = bp::parse_record(bytes, swapped); }) &&
                        record.step > 0 && record.groups >= bp::head_bytes;
    all_taken = all_taken && is_one && order.takes(record, metadata_bytes);
    if (is_one) f(record, all_taken);
  }
}

// Looks at both files as they are now, since a step may have been added after they were read. md.0
// is written first.
std::uint64_t steps_without_index(const std::string& path, std::uint64_t steps, Rank rank,
                                  Report& report) {
  File index(path + "/md.idx", false, rank, report);
  std::array<std::byte, bp::head_bytes> head{};
  if (index.read_at(0, head) < head.size()) return 0;
  const Offset index_end = index.size();
  if (static_cast<std::uint64_t>((index_end - bp::head_bytes) / bp::record_bytes) <= steps)
    return 0;
  const Offset metadata_end = File(path + "/md.0", false, rank, report).size();
  std::uint64_t lost = 0;
  each_record(index, index_end, metadata_end, bp::parse_head(head),
              [&](const bp::StepRecord&, bool taken) { lost += taken ? 0 : 1; });
  return lost;
}

}  // namespace forebay::process_group
