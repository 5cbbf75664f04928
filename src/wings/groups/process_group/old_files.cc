#include "groups/process_group/old_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <unordered_map>

#include "base/error.h"
#include "groups/format/bp_read.h"
#include "groups/process_group/bp_files.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/bp_scan.h"
#include "groups/process_group/index_recovery.h"
#include "groups/process_group/index_walk.h"

namespace forebay::process_group {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view tag = "ADIOS-BP";

/// Returns whether BP3, BP4, BP5 or this library write files of this name in a directory.
bool is_of_bp(const std::string& name) {
  for (const char* known : {"md.idx", "md.0", "mmd.0", "profiling.json", "forebay.idx",
                            "md.idx.old", "md.0.old", "md.idx.new", "md.0.new"})
    if (name == known) return true;
  if (!name.starts_with("data.") || name.size() == 5) return false;
  for (const char c : name.substr(5))
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return false;
  return true;
}

/// Returns the first bytes of a file, or nothing if it cannot be read.
std::optional<std::string> beginning(const std::string& path) {
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return std::nullopt;  // opening a pipe would block
  std::ifstream file(path, std::ios::binary);
  std::string first(tag.size(), ' ');
  file.read(first.data(), std::ssize(first));
  if (!file && !file.eof()) return std::nullopt;
  first.resize(static_cast<std::size_t>(file.gcount()));
  return first;
}

/// Returns whether a file is empty, or begins with a head of BP4.
bool may_be_bp(const std::string& path) {
  const auto first = beginning(path);
  return first && (first->empty() || *first == tag);
}

constexpr const char* to_recover =
    "`forebay recover` finds what is whole, with --skip-damaged it is all that stays";

/// Returns the opening that wrote a step: rank 0's groups are in data.0.
std::uint64_t opening_of(const std::string& path, const bp::StepRecord& record, Report& report) {
  const auto group = IndexWalk(path, 0, report).first_group(record.groups);
  const std::string name = path + "/data.0";
  if (!group || !fs::exists(name)) return 0;
  File data(name, false, 0, report);
  const auto mark = mark_at(data, group->place, record.step);
  return mark ? mark->opening : 0;
}

/// Reads the file's contents by its index. A failed machine or a truncated copy may have left steps
/// without their values. Appending would then overwrite data that recovery can use.
void look_through(const std::string& path, bool column_major, Report& report, OldDirectory& known) {
  if (!fs::exists(path + "/md.0")) cannot_append(path, "md.0 is not there", to_recover);
  std::optional<BpReader> found;
  try {
    found.emplace(Comm(), path, report);
  } catch (const Error& error) {
    cannot_append(path, error.message(),
                  error.code() == Errc::ebad_file ? to_recover : "write a new file");
  }
  const BpReader& old = *found;
  if (old.swapped()) cannot_append(path, "it has the other byte order");
  if (const auto lost = old.unread_steps(); lost > 0)
    cannot_append(path, "md.0 lacks the index of " + std::to_string(lost) + " of its steps",
                  to_recover);
  known.steps = old.steps();
  std::unordered_map<std::uint32_t, Offset> ends;
  const auto end_of = [&](std::uint32_t number) {
    const auto [place, is_new] = ends.emplace(number, 0);
    if (is_new) {
      const std::string name = "data." + std::to_string(number);
      if (!fs::exists(path + "/" + name)) cannot_append(path, name + " is not there", to_recover);
      place->second = static_cast<Offset>(fs::file_size(path + "/" + name));
    }
    return place->second;
  };
  for (std::size_t v = 0; v < old.variables().size(); ++v) {
    const StoredVariable& variable = old.variables()[v];
    bool has_kind = !variable.without_extents;
    for (const std::uint32_t step : variable.steps.numbers())
      old.each_block(v, step, [&](const bp::Block& block) {
        if (!bp::may_be_global(block.at)) has_kind = true;
        const Count bytes = block.has_value ? 0 : bp::stored_bytes(block);
        if (bytes > 0 && bytes > end_of(block.file) - block.payload)
          cannot_append(path,
                        "data." + std::to_string(block.file) + " ends before the values of " +
                            variable.variable.name + " in step " + std::to_string(step),
                        to_recover);
        Offset& end = known.whole_ends[block.file];
        end = std::max(end, block.payload + bytes);
      });
    if (has_kind)
      known.names.push_back(
          {variable.variable, variable.kind, static_cast<std::uint8_t>(variable.dimensions)});
  }
  if (old.steps() > 0 && old.column_major(old.steps() - 1) != column_major)
    cannot_append(path, std::string("its arrays are ") + (column_major ? "row" : "column") +
                            "-major, and those of the group are not");
  for (const bp::Attribute& attribute : old.attributes()) {
    if (attribute.name.size() > std::numeric_limits<std::uint16_t>::max())
      cannot_append(path, "the name of an attribute has more than 65,535 bytes");
    known.names.push_back({{attribute.name, attribute.type}, Kind::attribute});
  }
}

}  // namespace

bool has_index(const std::string& path) {
  std::error_code none;
  const auto size = fs::file_size(path + "/md.idx", none);
  return !none && size >= static_cast<std::uintmax_t>(bp::head_bytes);
}

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

bool begins_as_bp(const std::string& path) { return beginning(path) == tag; }

void check_replaceable(const std::string& given, const WriteOptions& options) {
  const std::string path = plain_path(given);
  if (options.drop_all) return;
  if (options.one_file) return check_replaced_file(path);
  check_no_file(path);
  if (fs::exists(path)) replaced_files(path);
}

void refuse_lost_index(const std::string& path, Rank rank, Report& report) {
  if (!has_bp_files(path)) return;
  const BpRecovery found = recover_index(path, {.look_only = true}, rank, report);
  if (found.steps > 0 || found.unsure)
    cannot_append(path, "its md.idx is lost, and steps are there", to_recover);
}

OldDirectory read_old_directory(const std::string& path, File& index, bool column_major,
                                Report& report) {
  OldDirectory known;
  look_through(path, column_major, report, known);
  known.index_end += static_cast<Offset>(known.steps) * bp::record_bytes;
  if (known.steps == 0) return known;
  std::array<std::byte, bp::record_bytes> last{};
  index.read_at(known.index_end - bp::record_bytes, last);
  const bp::StepRecord record = bp::parse_record(last, false);
  known.metadata_end = record.end;
  known.steps = record.step;
  known.opening = opening_of(path, record, report);
  return known;
}

}  // namespace forebay::process_group
