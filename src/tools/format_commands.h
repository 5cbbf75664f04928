// What commands do with files of a format that a wing brings (files/open_source.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/file_check.h"
#include "files/open_source.h"
#include "method/front_end.h"
#include "tools/convert/convert_file.h"
#include "tools/json.h"

namespace forebay::tools {

/// The result of `forebay check` for one file.
struct FormatCheck {
  CheckStatus status = CheckStatus::good;
  Json json;
  std::string text;
};

/// A wing defines one for its format. Functions may be null if there is nothing to do.
struct CommandsEntry {
  const FormatEntry* format;
  FrontEnd front_end;  ///< of `convert --to` this format
  /// Checks a file; with `values` also reads them. Throws nothing about the file.
  FormatCheck (*check)(const std::string& path, bool values);
  /// Adds what `forebay info` shows besides the schema.
  void (*add_info_json)(const Source& source, Json& json);
  void (*add_info_text)(const Source& source, std::string& text);
  /// Return the blocks that ranks wrote, for `forebay ls`. With `all`, each of them.
  Json (*blocks_json)(const std::string& path, bool all);
  std::string (*blocks_text)(const std::string& path, bool all);
  /// Returns what this format cannot express of a file that is to be written in it.
  std::vector<LeftOut> (*inexpressible)(const Source& source);
  /// Returns notes about what a conversion of a file of this format hides.
  std::vector<std::string> (*conversion_notes)(const std::string& path,
                                               const std::vector<LeftOut>& left_out);
  /// Creates the output of a conversion. Null: only `copy` makes files of this format.
  std::unique_ptr<Output> (*create)(const Comm& comm, const Source& source, const std::string& path,
                                    const ConvertOptions& options);
  /// Copies a file of this format into another one, with all its content.
  ConvertResult (*copy)(const Comm& comm, const std::string& in, const std::string& out,
                        const ConvertOptions& options);
  /// Collective. Copies a file of this format while it is written, step by step, until its writer
  /// closes it. Null: files of this format are not followed.
  ConvertResult (*follow)(const Comm& comm, const ConvertOptions& options) = nullptr;
};

/// Returns all that wings bring, in no order.
std::span<const CommandsEntry* const> built_in_format_commands();

/// Returns what commands do with a file, or with the format of that name; null for the classic
/// formats.
const CommandsEntry* format_commands_of(const std::string& path);
const CommandsEntry* format_commands_named(const std::string& name);

/// Returns "ok", "damaged" or "unreadable".
const char* name_of(CheckStatus status);

}  // namespace forebay::tools
