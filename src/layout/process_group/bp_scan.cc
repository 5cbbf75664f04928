#include "layout/process_group/bp_scan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/attempt.h"
#include "base/error.h"
#include "base/raw_bytes.h"
#include "format/bp_read.h"
#include "storage/file.h"

namespace forebay::process_group {

namespace {

constexpr Count window_bytes = 1 << 20;

enum class Item : std::uint8_t { order, step, variable, again, attribute };

template <typename T>
void put(std::vector<std::byte>& out, T value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <typename T>
T get(std::span<const std::byte>& from) {
  T value;
  std::memcpy(&value, from.data(), sizeof value);
  from = from.subspan(sizeof value);
  return value;
}

std::span<const std::byte> get_bytes(std::span<const std::byte>& from) {
  const auto n = static_cast<std::size_t>(get<std::uint64_t>(from));
  const auto bytes = from.first(n);
  from = from.subspan(n);
  return bytes;
}

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
    metadata_bytes_ = metadata_.size();
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
    return std::move(told_);
  }

 private:
  bool at_ok(Offset at) const { return more_ && at < index_end_; }

  void read_head(File& file) {
    std::array<std::byte, bp::head_bytes> head{};
    if (file.read_at(0, head) < head.size())
      throw Error(Errc::ebad_file, "it ends within its first 64 bytes",
                  "its first step was never ended");
    swapped_ = bp::parse_head(head);
    put(told_, Item::order);
    put(told_, static_cast<std::uint8_t>(swapped_));
    index_end_ = file.size();
  }

  // What did not reach its files in whole, as the machine went down, is no step, nor what follows
  // it. Indexes lie one behind the other, so that what is told is no more than md.0 holds.
  void take(const bp::StepRecord& record) {
    if (record.end > metadata_bytes_ || record.groups < metadata_end_ ||
        record.step <= last_step_) {
      more_ = false;
      return;
    }
    metadata_end_ = record.end;
    last_step_ = record.step;
    naming(metadata_.path() + ", step " + std::to_string(record.step), [&] {
      put(told_, Item::step);
      const bool column_major = bp::parse_column_major(
          bytes(record.groups, std::min(record.variables - record.groups, bp::column_major_bytes),
                record.variables),
          swapped_);
      put(told_, static_cast<std::uint8_t>(column_major));
      each_entry(record.variables, record.attributes, [&](Offset at, Count n) {
        const auto entry = bytes(at, std::min(n, bp::longest_first_block), record.attributes);
        bp::VariableEntry parsed(entry, swapped_, column_major);
        bp::Block block;
        if (!parsed.next(block)) return;
        const auto number = static_cast<std::uint32_t>(
            numbers_.emplace(parsed.variable().name, numbers_.size()).first->second);
        if (number == last_.size()) last_.emplace_back();
        Said said{parsed.variable().type, std::move(block.at), std::move(block.operation),
                  block.text.size()};
        if (said == last_[number]) {
          put(told_, Item::again);
          put(told_, number);
        } else {
          last_[number] = std::move(said);
          put(told_, Item::variable);
          put_bytes(entry.first(parsed.at()));
        }
        put(told_, at);
        put(told_, n);
      });
      each_entry(record.attributes, record.end, [&](Offset at, Count n) {
        const auto entry = bytes(at, n, record.end);
        // The first one stays, as for adios2.
        if (!attributes_.insert(bp::parse_attribute(entry, swapped_).name).second) return;
        attribute_bytes_ += n;
        if (attribute_bytes_ > most_attributes)
          throw Error(Errc::ebad_file, "its attributes take more than 256 MiB",
                      "write what is so large as variables");
        put(told_, Item::attribute);
        put_bytes(entry);
      });
    });
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

  void put_bytes(std::span<const std::byte> some) {
    put(told_, static_cast<std::uint64_t>(some.size()));
    told_.insert(told_.end(), some.begin(), some.end());
  }

  // Of md.0, which has them before `end`; until the next call.
  std::span<const std::byte> bytes(Offset at, Count n, Offset end) {
    if (n > end - at)
      throw Error(Errc::ebad_file, "damaged: the index of a step ends too early", "");
    if (at < window_at_ || at + n > window_at_ + static_cast<Count>(window_.size())) {
      window_.resize(
          static_cast<std::size_t>(std::min(std::max(n, window_bytes), metadata_bytes_ - at)));
      window_at_ = at;
      const std::size_t got = metadata_.read_at(at, window_);
      if (static_cast<Count>(got) < n) throw Error(Errc::ebad_file, "it has become shorter", "");
      window_.resize(got);
    }
    return std::span<const std::byte>(window_)
        .subspan(static_cast<std::size_t>(at - window_at_))
        .first(static_cast<std::size_t>(n));
  }

  /// What entries of a variable say alike in most steps.
  struct Said {
    bp::Type type = bp::Type::string_array;  // that of no variable
    bp::Shape at;
    std::string operation;
    std::size_t text = 0;
    bool operator==(const Said&) const = default;
  };
  static constexpr Count most_attributes = Count{256} << 20;

  File index_, metadata_;
  std::unordered_map<std::string, std::size_t> numbers_;  // of variables, as they come
  std::vector<Said> last_;                                // of each
  std::unordered_set<std::string> attributes_;
  Count attribute_bytes_ = 0;
  Offset index_end_ = 0, metadata_bytes_ = 0, metadata_end_ = bp::head_bytes, window_at_ = 0;
  std::uint64_t last_step_ = 0;
  RawBytes window_;
  bool swapped_ = false, more_ = true;
  std::vector<std::byte> told_;
};

}  // namespace

std::vector<std::byte> scan_index(const std::string& path, Rank rank, Report& report) {
  return Scan(path, rank, report).run();
}

void take_scan(std::span<const std::byte> told, ScanTaker& taker) {
  bool swapped = false, column_major = false;
  const auto place = [&] {
    EntryPlace place;
    place.offset = get<Offset>(told);
    place.bytes = get<Count>(told);
    return place;
  };
  while (!told.empty()) {
    switch (get<Item>(told)) {
      case Item::order:
        taker.order(swapped = get<std::uint8_t>(told) != 0);
        break;
      case Item::step:
        taker.step(column_major = get<std::uint8_t>(told) != 0);
        break;
      case Item::attribute:
        taker.attribute(bp::parse_attribute(get_bytes(told), swapped));
        break;
      case Item::again: {
        const auto number = get<std::uint32_t>(told);
        taker.again(number, place());
        break;
      }
      case Item::variable: {
        bp::VariableEntry parsed(get_bytes(told), swapped, column_major);
        bp::Block block;
        parsed.next(block);
        taker.variable(parsed.variable(), block, place());
        break;
      }
    }
  }
}

}  // namespace forebay::process_group
