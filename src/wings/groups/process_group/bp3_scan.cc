#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "base/raw_bytes.h"
#include "groups/format/bp3_read.h"
#include "groups/format/bp_cursor.h"
#include "groups/process_group/bp_scan.h"
#include "groups/process_group/index_broadcast.h"
#include "groups/process_group/index_window.h"
#include "storage/file.h"

namespace forebay::process_group {

namespace {

template <Count n>
std::array<std::byte, static_cast<std::size_t>(n)> bytes_before(File& file, Offset end) {
  std::array<std::byte, static_cast<std::size_t>(n)> bytes{};
  if (end < n || file.read_at(end - n, bytes) < bytes.size())
    throw Error(Errc::ebad_file, "it is too short for a BP file",
                "its index is written when it is closed");
  return bytes;
}

bool is_about_adios(const std::string& name) {
  constexpr std::string_view own = "__adios__/";
  return name.starts_with(own);
}

/// Parses the index and notes what is broadcast. The index is sorted by variables, the broadcast by
/// steps.
class FileScan {
 public:
  FileScan(const std::string& path, Rank rank, Report& report)
      : file_(path, false, rank, report), window_(file_) {}

  std::vector<std::byte> run() {
    naming(file_.path(), [&] {
      read_footer();
      each_group();
      each_element(window_, footer_.variables, footer_.attributes, footer_.swapped,
                   [&](Offset at, Count n) { take_variable(at, n); });
      tell_steps();
      each_element(window_, footer_.attributes, footer_.end, footer_.swapped,
                   [&](Offset at, Count n) { take_attribute(at, n); });
    });
    return told_.take();
  }

 private:
  /// One variable in one step.
  struct Part {
    std::uint32_t time;
    std::uint32_t variable;  // in variables_
    EntryPlace place;
    std::uint32_t first_bytes;  // bytes of its first block
    bool again;                 // the first block has the properties of the step before
  };
  struct Known {
    bp::Variable variable;
    std::int64_t number = -1;  // its number in the broadcast; -1: none yet
  };
  /// The first value of a scalar, for attributes that refer to it.
  struct Single {
    bp::Type type;
    bp::Value value;
    std::string text;
  };

  void read_footer() {
    const Count size = window_.file_bytes();
    footer_ = bp::parse_footer(bytes_before<bp::footer_bytes>(file_, size), size);
    origin_.swapped = footer_.swapped;
    origin_.form = bp::Form::adios1;
    if (footer_.end >= bp::footer_tag_bytes &&
        bp::is_tag_of_adios2(bytes_before<bp::footer_tag_bytes>(file_, footer_.end)))
      origin_.form = bp::Form::bp3;
    told_.order(footer_.subfiles ? Container::subfiles : Container::one_file, origin_.form,
                footer_.swapped);
  }

  // If any group is column-major, all arrays are, as in ADIOS 1 and adios2.
  void each_group() {
    const Offset end = footer_.variables;
    Offset at = footer_.groups;
    std::uint64_t groups =
        bp::parse_groups_head(window_.bytes(at, bp::groups_head_bytes, end), footer_.swapped);
    for (at += bp::groups_head_bytes; groups > 0; --groups) {
      const Count n = bp::parse_group_bytes(window_.bytes(at, 2, end), footer_.swapped);
      bp::Cursor entry(window_.bytes(at, n, end), footer_.swapped);
      const bp::Group group = bp::parse_group(entry);
      times_.insert(group.step);
      origin_.column_major |= group.column_major;
      at += n;
    }
  }

  void take_variable(Offset at, Count n) {
    const Offset end = at + n;
    const bp::VariableEntry head(window_.bytes(at, std::min(n, bp::longest_first_block), end),
                                 origin_);
    if (is_about_adios(head.variable().name)) return;
    Known known{head.variable()};
    name(known.variable, head.group());
    std::map<std::uint32_t, Part> parts;  // by step
    Said last;
    for (at += static_cast<Offset>(head.at()); at < end;) {
      const Count bytes =
          bp::parse_block_bytes(window_.bytes(at, bp::block_head_bytes, end), footer_.swapped);
      if (bytes > bp::longest_first_block)
        throw Error(Errc::ebad_file, "damaged: a block of " + known.variable.name + " is too long",
                    "");
      bp::VariableEntry parsed(head.variable(), window_.bytes(at, bytes, end), origin_);
      bp::Block block;
      parsed.next(block);
      known.variable.type = parsed.variable().type;
      if (block.step == 0 && !times_.contains(0))
        throw Error(Errc::enotsupport,
                    "blocks of " + known.variable.name + " do not tell their step",
                    "an early version of ADIOS 1 wrote it: convert it with ADIOS 1's bp2bp");
      if (parts.empty() && block.has_value)
        singles_.try_emplace({head.group(), head.member()},
                             Single{known.variable.type, block.min, block.text});
      const auto number = static_cast<std::uint32_t>(known_.size());
      const auto [found, is_new] = parts.emplace(
          block.step,
          Part{block.step, number, {at, bytes}, static_cast<std::uint32_t>(bytes), false});
      EntryPlace& place = found->second.place;
      if (is_new) {
        Said said = said_by(known.variable, std::move(block));
        found->second.again = said == last;
        last = std::move(said);
      }
      at += bytes;
      place.bytes = at - place.offset;
    }
    for (const auto& [time, part] : parts) {
      times_.insert(time);
      parts_.push_back(part);
    }
    known_.push_back(std::move(known));
  }

  // Groups of one file may have variables of the same name.
  void name(bp::Variable& variable, const std::string& group) {
    const auto [found, is_new] = names_.emplace(variable.name, group);
    if (is_new) return;
    const std::string other = group + "/" + variable.name;
    if (found->second == group || !names_.emplace(other, group).second)
      throw Error(Errc::ebad_file, "damaged: variable " + variable.name + " is twice in its index",
                  "");
    variable.name = other;
  }

  void tell_steps() {
    std::ranges::stable_sort(parts_, {}, &Part::time);
    auto part = parts_.begin();
    std::int64_t told = 0;
    for (const std::uint32_t time : times_) {
      told_.step(origin_.column_major, time);
      for (; part != parts_.end() && part->time == time; ++part) {
        Known& known = known_[part->variable];
        if (known.number < 0) {
          known.number = told++;
          told_.variable(known.variable, first_block(*part));
        } else if (!part->again) {
          told_.changed(static_cast<std::uint32_t>(known.number), known.variable.type,
                        first_block(*part));
        }
        told_.place(static_cast<std::uint32_t>(known.number), known.variable.name, part->place);
      }
    }
  }

  // First blocks lie anywhere in the file.
  std::span<const std::byte> first_block(const Part& part) {
    first_.resize(part.first_bytes);
    if (file_.read_at(part.place.offset, first_) < first_.size())
      throw Error(Errc::ebad_file, "it has become shorter", "");
    return first_;
  }

  // An attribute has an entry for each step that wrote it. The first one stays.
  void take_attribute(Offset at, Count n) {
    auto parsed = bp::parse_attribute(window_.bytes(at, n, footer_.end), origin_);
    bp::Attribute& attribute = parsed.attribute;
    if (is_about_adios(attribute.name) || !attributes_.insert(attribute.name).second) return;
    if (parsed.variable) {
      const auto found = singles_.find({parsed.group, *parsed.variable});
      if (found != singles_.end()) give_value(attribute, found->second);
    }
    told_.attribute(attribute);
  }

  static void give_value(bp::Attribute& attribute, const Single& single) {
    attribute.type = single.type;
    if (single.type == bp::Type::string) {
      attribute.texts = {single.text};
    } else {
      const auto size = static_cast<std::size_t>(bp::size_of(single.type));
      attribute.values.assign(single.value.begin(), single.value.begin() + size);
    }
  }

  File file_;
  IndexWindow window_;
  bp::Footer footer_;
  bp::Origin origin_;
  std::set<std::uint32_t> times_;  // of all steps
  std::vector<Known> known_;
  std::vector<Part> parts_;
  std::map<std::pair<std::string, std::uint32_t>, Single> singles_;
  std::unordered_map<std::string, std::string> names_;  // names of variables, and their groups
  std::unordered_set<std::string> attributes_;
  RawBytes first_;
  IndexBroadcast told_;
};

}  // namespace

std::vector<std::byte> scan_file(const std::string& path, Rank rank, Report& report) {
  return FileScan(path, rank, report).run();
}

bool is_bp_file(const std::string& path) {
  Report report;
  bool is = false;
  const auto failed = attempt_to([&] {
    if (!std::filesystem::is_regular_file(path)) return;
    File file(path, false, 0, report);
    std::array<std::byte, 4> begin{};
    file.read_at(0, begin);
    for (const std::string_view other : {"CDF", "\x89HDF"})
      if (std::memcmp(begin.data(), other.data(), other.size()) == 0) return;
    // A file of this library that lost its index: the error at the opening says so.
    if ((is = std::memcmp(begin.data(), "[PGI", begin.size()) == 0)) return;
    const Count size = file.size();
    bp::parse_footer(bytes_before<bp::footer_bytes>(file, size), size);
    is = true;
  });
  return is || (failed && failed->code() == Errc::enotsupport);
}

}  // namespace forebay::process_group
