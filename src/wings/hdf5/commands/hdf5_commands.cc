// What commands do with HDF5 files, and with the log in them.
#include "hdf5/commands/hdf5_commands.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text_table.h"
#include "base/words.h"
#include "hdf5/files/hdf5_check.h"
#include "hdf5/files/hdf5_source.h"
#include "hdf5/files/log_report.h"
#include "method/method_values.h"
#include "tools/format_commands.h"
#include "tools/progress.h"

namespace forebay::tools {
namespace {

// The result for an HDF5 file. HDF5 has checksums of metadata and, with the filter, of chunks. The
// checksums of a log are verified too.
struct Hdf5Check {
  CheckStatus status = CheckStatus::good;
  Hdf5Checked looked_at;
  std::vector<std::string> faults;
  std::optional<Hdf5LogCheck> log;
};

Hdf5Check check_hdf5_file(const std::string& path, bool values) {
  Hdf5Check check;
  try {
    {
      Progress line(path);
      check.log =
          check_hdf5_log(path, [&](Count done, Count all) { line.tell("check", done, all); });
    }
    if (check.log) check.faults = check.log->faults;
    // If the log is damaged, reading values would only repeat it.
    const bool read = values && check.faults.empty();
    const auto found = check_hdf5(path, read, check.looked_at);
    check.faults.insert(check.faults.end(), found.begin(), found.end());
    if (!check.faults.empty()) check.status = CheckStatus::damaged;
  } catch (const Error& error) {
    check.status = CheckStatus::unreadable;
    check.faults = {error.what()};
  }
  return check;
}

std::string hdf5_check_text(const std::string& path, const Hdf5Check& check, bool values) {
  std::string text = printable(path) + ": " + name_of(check.status) + "\n";
  for (const std::string& fault : check.faults) text += "  " + fault + "\n";
  if (check.status == CheckStatus::unreadable) return text;
  if (check.log) {
    const LogCheck& log = check.log->check;
    text += fmt::format("  log: verified {} of data, {}, {}, {}, {}\n", friendly_size(log.bytes),
                        grouped(log.entries) + (log.entries == 1 ? " entry" : " entries"),
                        counted(log.sections, "section"), counted(log.patterns, "selection"),
                        counted(log.lists, "list") + " of the index");
  }
  const Hdf5Checked& its = check.looked_at;
  std::string read = "values not read (--decode reads them)";
  if (values) read = "read " + friendly_size(its.bytes) + " of values";
  if (its.with_checksums > 0)
    read += ", " + (its.with_checksums == its.bytes ? "all" : friendly_size(its.with_checksums)) +
            " with checksums (fletcher32)";
  return text + fmt::format("  HDF5: opened {}, {}\n", counted(its.datasets, "dataset"), read);
}

Json hdf5_check_json(const std::string& path, const Hdf5Check& check, bool values) {
  Json json = {{"path", path}, {"status", name_of(check.status)}, {"format", "HDF5"}};
  json["damages"] = check.faults;
  json["datasets"] = check.looked_at.datasets;
  json["verified"] = {{"bytes", check.looked_at.bytes},
                      {"bytes_with_checksums", check.looked_at.with_checksums},
                      {"decoded", values}};
  if (check.log) {
    const LogCheck& log = check.log->check;
    json["verified"]["log"] = {{"bytes", log.bytes},
                               {"entries", log.entries},
                               {"sections", log.sections},
                               {"selections", log.patterns},
                               {"lists", log.lists}};
  }
  return json;
}

double percent(Count part, Count all) {
  return all == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

Json log_json(const Hdf5LogFacts& facts) {
  const LogStatistics& log = facts.statistics;
  const logged::Savings& selections = log.selections;
  Json json = {{"writes", selections.writes},    {"entries", log.entries},
               {"datasets", log.datasets},       {"hyperslabs", selections.blocks},
               {"data_bytes", log.data_bytes},   {"blocks", log.blocks},
               {"block_bytes", log.block_bytes}, {"subfiles", log.subfiles}};
  json["selections"] = {{"plain_bytes", selections.plain},
                        {"flattened_bytes", selections.flat},
                        {"packed_bytes", selections.packed},
                        {"stored_bytes", selections.stored},
                        {"shared", selections.shared}};
  json["index"] = {{"bytes", facts.index_bytes}, {"blocks", log.indexed_blocks}};
  if (!facts.index_damage.empty()) json["index"]["damage"] = facts.index_damage;
  return json;
}

std::string log_text(const Hdf5LogFacts& facts) {
  const LogStatistics& log = facts.statistics;
  const logged::Savings& selections = log.selections;
  TextTable table("ll");
  table.add({"writes", fmt::format("{}, of {} hyperslabs in {} datasets; {} entries",
                                   grouped(selections.writes), grouped(selections.blocks),
                                   grouped(log.datasets), grouped(log.entries))});
  table.add({"data", friendly_size(log.data_bytes) + " as stored" +
                         (log.subfiles > 0 ? ", in " + grouped(log.subfiles) + " subfiles" : "")});
  table.add({"selections",
             fmt::format("{} plain, {} flattened, {} packed, {} stored",
                         friendly_size(selections.plain), friendly_size(selections.flat),
                         friendly_size(selections.packed), friendly_size(selections.stored))});
  table.add({"shared", fmt::format("{} writes ({:.1f} %) name a selection that was there",
                                   grouped(selections.shared),
                                   percent(selections.shared, selections.writes))});
  table.add({"metadata",
             fmt::format("{} blocks, {}", grouped(log.blocks), friendly_size(log.block_bytes))});
  std::string index = facts.index_bytes == 0
                          ? "none: reading looks through all metadata"
                          : fmt::format("{}, of {} blocks", friendly_size(facts.index_bytes),
                                        grouped(log.indexed_blocks));
  if (!facts.index_damage.empty()) index = "damaged: " + printable(facts.index_damage);
  table.add({"index", index});
  return "\nlog\n" + table.text();
}

FormatCheck check_hdf5_format(const std::string& path, bool values) {
  const Hdf5Check check = check_hdf5_file(path, values);
  return {check.status, hdf5_check_json(path, check, values), hdf5_check_text(path, check, values)};
}

void add_log_json(const Source& source, Json& json) {
  if (const auto facts = hdf5_log_facts(source.path())) json["log"] = log_json(*facts);
}

void add_log_text(const Source& source, std::string& text) {
  if (const auto facts = hdf5_log_facts(source.path())) text += log_text(*facts);
}

}  // namespace

// Other files become netCDF-4 files, which a container writes.
extern const CommandsEntry hdf5_commands{&hdf5_format,      FrontEnd::convert_hdf5,
                                         check_hdf5_format, add_log_json,
                                         add_log_text,      nullptr,
                                         nullptr,           nullptr,
                                         nullptr,           nullptr,
                                         copy_hdf5_file};

}  // namespace forebay::tools
