#include "groups/process_group/index_walk.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/attempt.h"
#include "base/error.h"
#include "groups/format/bp_cursor.h"
#include "groups/format/bp_read.h"

namespace forebay::process_group {

IndexWalk::IndexWalk(const std::string& path, Rank rank, Report& report)
    : path_(path),
      rank_(rank),
      report_(report),
      file_(path + "/md.0", false, rank, report),
      window_(file_) {}

std::optional<bp::StepRecord> IndexWalk::step_at(Offset at, std::uint64_t number, bool heads) {
  bp::StepRecord record;
  record.step = number;
  record.groups = at;
  const auto failed = attempt_to([&] { look(record, heads); });
  if (!failed) return record;
  if (failed->code() == Errc::ebad_file || failed->code() == Errc::enotsupport) return std::nullopt;
  throw *failed;
}

bp::Group IndexWalk::group_entry(Offset& at, Offset end) {
  const Count n = bp::parse_group_bytes(window_.bytes(at, 2, end), false);
  bp::Cursor entry(window_.bytes(at, n, end), false);
  bp::Group group = bp::parse_group(entry);
  if (!entry.at_end()) bp::damaged("a group's entry is longer than what it says");
  at += n;
  return group;
}

std::optional<bp::Group> IndexWalk::first_group(Offset at) {
  bp::Group group;
  const auto failed = attempt_to([&] {
    if (at > bytes() - bp::groups_head_bytes) bp::damaged("no groups");
    group = group_entry(at += bp::groups_head_bytes, bytes());
  });
  if (!failed) return group;
  if (failed->code() == Errc::ebad_file) return std::nullopt;
  throw *failed;
}

void IndexWalk::look(bp::StepRecord& record, bool heads) {
  groups_.clear();
  blocks_.clear();
  bool column_major = false;
  record.variables = look_at_groups(record.groups, record.step, column_major);
  record.attributes = look_at_variables(record.variables, record.step, column_major, heads);
  record.end = look_at_attributes(record.attributes);
}

Offset IndexWalk::look_at_groups(Offset at, std::uint64_t number, bool& column_major) {
  const Offset file_end = bytes();
  bp::Cursor head(window_.bytes(at, bp::groups_head_bytes, file_end), false);
  const auto groups = head.number<std::uint64_t>(), length = head.number<std::uint64_t>();
  at += bp::groups_head_bytes;
  if (length > static_cast<std::uint64_t>(file_end - at)) bp::damaged("groups beyond the end");
  const Offset end = at + static_cast<Offset>(length);
  std::uint64_t seen = 0;
  for (; at < end; ++seen) {
    const bp::Group group = group_entry(at, end);
    column_major = group.column_major;
    if (group.step != number) bp::damaged("a group of another step");
    groups_.emplace_back(static_cast<Rank>(group.rank), group.place);
  }
  if (seen != groups || groups == 0) bp::damaged("groups are missing");
  return at;
}

Offset IndexWalk::look_at_variables(Offset at, std::uint64_t number, bool column_major,
                                    bool heads) {
  return each_element(window_, at, bytes(), false, [&](Offset place, Count n) {
    const auto entry = window_.bytes(place, n, bytes());
    bp::VariableEntry parsed(entry, {false, column_major});
    constexpr std::size_t number_bytes = sizeof(std::uint64_t);
    bp::Cursor of_blocks(entry.subspan(parsed.at() - number_bytes, number_bytes), false);
    const auto blocks = of_blocks.number<std::uint64_t>();
    std::uint64_t seen = 0;
    for (bp::Block block; parsed.next(block); ++seen) look_at_block(block, number, heads);
    if (seen != blocks) bp::damaged("blocks are missing");
  });
}

/// Returns one of the data files, valid until the next call; null if it is not there.
File* IndexWalk::data(std::uint32_t number) {
  File* file = nullptr;
  const auto failed = attempt_to([&] {
    file = data_
               .get(number,
                    [&] {
                      auto opened = std::make_unique<File>(
                          path_ + "/data." + std::to_string(number), false, rank_, report_);
                      opened->ensure_open();
                      return opened;
                    })
               .get();
  });
  if (failed && failed->code() != Errc::enoent) throw *failed;
  return file;
}

void IndexWalk::look_at_block(const bp::Block& block, std::uint64_t number, bool heads) {
  if (block.step != number) bp::damaged("a block of another step");
  if (!ends_.contains(block.file)) {
    File* const file = data(block.file);
    ends_[block.file] = file ? file->size() : 0;
  }
  const Offset end = ends_[block.file];
  const Count bytes = std::max<Count>(bp::stored_bytes(block), 1);
  if (!block.has_value && block.bytes > 0 && bytes > end - block.payload)
    bp::damaged("values are not there");
  Offset& last = blocks_[block.file];
  last = std::max(last, block.place);
  if (!heads) return;
  constexpr std::string_view tag = "[VMD";
  std::array<std::byte, 4> found{};
  if (block.place < 0 || block.place > end - std::ssize(tag)) bp::damaged("no block");
  data(block.file)->read_at(block.place, found);
  if (!std::ranges::equal(found, std::as_bytes(std::span(tag)))) bp::damaged("no block");
}

Offset IndexWalk::look_at_attributes(Offset at) {
  return each_element(window_, at, bytes(), false, [&](Offset place, Count n) {
    bp::parse_attribute(window_.bytes(place, n, bytes()), {});
  });
}

}  // namespace forebay::process_group
