// What commands do with BP files.
#include <fmt/format.h>

#include <algorithm>

#include "base/attempt.h"
#include "base/text_table.h"
#include "groups/commands/bp_blocks.h"
#include "groups/commands/bp_output.h"
#include "groups/commands/follow_bp.h"
#include "groups/files/bp_source.h"
#include "method/method_values.h"
#include "tools/format_commands.h"

namespace forebay::tools {
namespace {

FormatCheck check_bp_file(const std::string& path, bool values) {
  FormatCheck result;
  auto& [status, json, text] = result;
  BpCheck check;
  try {
    check = check_bp(path, values);
    if (!check.faults.empty()) status = CheckStatus::damaged;
  } catch (const Error& error) {
    status = CheckStatus::unreadable;
    check.faults = {error.what()};
  }
  json = {{"path", path}, {"status", name_of(status)}, {"format", check.format}};
  json["damages"] = check.faults;
  json["notes"] = check.notes;
  json["verified"] = {{"steps", check.steps},
                      {"variables", check.variables},
                      {"blocks", check.blocks},
                      {"bytes", check.bytes},
                      {"decoded", values}};
  text = printable(path) + ": " + name_of(status) + "\n";
  for (const std::string& fault : check.faults) text += "  " + printable(fault) + "\n";
  if (status == CheckStatus::unreadable) return result;
  for (const std::string& note : check.notes) text += "  note: " + printable(note) + "\n";
  text += fmt::format("  {}: {}, {}, {}; {}\n", check.format, counted(check.steps, "step"),
                      counted(check.variables, "variable"), counted(check.blocks, "block"),
                      values ? "read " + friendly_size(check.bytes) + " of values"
                             : "values not read (--decode reads them)");
  return result;
}

std::vector<std::string> notes_on_bp(const std::string& path,
                                     const std::vector<LeftOut>& left_out) {
  std::vector<std::string> notes;
  const auto is_wanted = [&](const std::string& name) {
    return std::ranges::none_of(left_out, [&](const LeftOut& one) { return one.name == name; });
  };
  // Reading reports the error.
  if (attempt_to([&] { notes = notes_on_blocks(path, is_wanted); })) return {};
  return notes;
}

}  // namespace

extern const CommandsEntry bp_commands{
    &bp_format,  FrontEnd::convert_bp, check_bp_file, nullptr,   nullptr, blocks_json,
    blocks_text, no_word_in_bp,        notes_on_bp,   create_bp, nullptr, follow_bp};

}  // namespace forebay::tools
