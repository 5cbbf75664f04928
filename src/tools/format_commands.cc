#include "tools/format_commands.h"

namespace forebay::tools {

const CommandsEntry* format_commands_of(const std::string& path) {
  for (const CommandsEntry* commands : built_in_format_commands())
    if (commands->format->recognise(path)) return commands;
  return nullptr;
}

const CommandsEntry* format_commands_named(const std::string& name) {
  for (const CommandsEntry* commands : built_in_format_commands())
    if (name == commands->format->name) return commands;
  return nullptr;
}

const char* name_of(CheckStatus status) {
  switch (status) {
    case CheckStatus::good:
      return "ok";
    case CheckStatus::damaged:
      return "damaged";
    default:
      return "unreadable";
  }
}

}  // namespace forebay::tools
