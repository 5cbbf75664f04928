// forebay ls: lists the variables of a file, one on each line.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/text_table.h"
#include "base/words.h"
#include "files/open_source.h"
#include "method/method_values.h"
#include "tools/attribute_json.h"
#include "tools/commands.h"
#include "tools/commands/cdl.h"
#include "tools/format_commands.h"
#include "tools/json.h"
#include "tools/leftovers.h"

namespace forebay::tools {
namespace {

// Returns "time=24*, lat=180". The star marks the unlimited dimension.
std::string dimensions_text(const Source& source, const Variable& var) {
  const Schema& schema = source.schema();
  if (var.dimids.empty()) return "scalar";
  return joined(var.dimids, ", ", [&](DimId id) {
    return fmt::format("{}={}{}", printable(schema.dims[static_cast<std::size_t>(id)].name),
                       source.length(id), source.unlimited(id) ? "*" : "");
  });
}

std::string chunks_text(const Variable& var) {
  if (!var.chunking) return "-";
  if (var.chunking->shape.empty()) return "not chosen";
  return joined(var.chunking->shape, "x");
}

struct Sizes {
  Count bytes = 0;
  std::optional<Count> stored;  // of chunks
};

Sizes sizes_of(const Source& source, VarId id) {
  const Variable& var = source.schema().vars[static_cast<std::size_t>(id)];
  Sizes sizes;
  sizes.bytes = size_of(var.type);
  for (const Count n : source.shape(id))
    if (!multiply_fits(sizes.bytes, n, sizes.bytes)) return {};
  sizes.stored = source.stored_bytes(id);
  return sizes;
}

std::string attribute_line(const Attribute& attribute) {
  return "    " + printable(attribute.name) + " = " + printable(cdl_attribute(attribute));
}

std::string ls_text(const Source& source, bool with_attributes) {
  const Schema& schema = source.schema();
  if (schema.vars.empty()) return printable(source.path()) + " has no variables\n";
  TextTable table("llllrr");
  table.add({"name", "type", "dimensions", "chunks", "bytes", "stored"});
  for (std::size_t v = 0; v < schema.vars.size(); ++v) {
    const Variable& var = schema.vars[v];
    const Sizes sizes = sizes_of(source, static_cast<VarId>(v));
    const std::string codec =
        var.chunking ? " " + printable(source.codec(static_cast<VarId>(v))) : "";
    table.add({printable(var.name), name_of(var.type), dimensions_text(source, var),
               chunks_text(var) + codec, friendly_size(sizes.bytes),
               sizes.stored ? friendly_size(*sizes.stored) : "-"});
    if (with_attributes)
      for (const Attribute& attribute : var.attributes) table.add_below(attribute_line(attribute));
  }
  std::string text = table.text("");
  if (!with_attributes) return text;
  const auto add = [&](const AttributeList& list) {
    for (const Attribute& attribute : list) text += attribute_line(attribute) + "\n";
  };
  if (schema.attributes.size() > 0) text += "global attributes\n";
  add(schema.attributes);
  for (const SourceGroup& group : source.groups()) {
    if (group.attributes.size() > 0) text += "attributes of group " + printable(group.path) + "\n";
    add(group.attributes);
  }
  return text;
}

Json ls_json(const Source& source) {
  return source_json(source, all_variables(source), [&](Json& item, VarId id) {
    const Variable& var = source.schema().vars[static_cast<std::size_t>(id)];
    const Sizes sizes = sizes_of(source, id);
    item["unlimited"] = std::any_of(var.dimids.begin(), var.dimids.end(),
                                    [&](DimId dim) { return source.unlimited(dim); });
    item["chunk_shape"] = var.chunking ? Json(var.chunking->shape) : Json();
    item["codec"] = var.chunking ? Json(source.codec(id)) : Json();
    item["bytes"] = sizes.bytes;
    item["stored_bytes"] = sizes.stored ? Json(*sizes.stored) : Json();
  });
}

}  // namespace

static void add_ls_command(CLI::App& app, int& status) {
  struct LsOptions {
    std::string path;
    bool json = false, attributes = false, blocks = false;
  };
  auto options = std::make_shared<LsOptions>();
  Command command(app, "ls", "List the variables of a file, one line each");
  command
      .add_option("FILE", options->path, "a netCDF file of any format, a BP file, or an HDF5 file")
      .required();
  command.add_flag("-l,--long", options->attributes,
                   "show all attributes, too, and of BP files steps, blocks, and the least and "
                   "greatest value of each variable");
  command.add_flag("-D,--blocks", options->blocks, "of BP files show all blocks, too");
  command.add_flag("--json", options->json, "print one JSON object");
  command.footer(
      "The columns: name, type, dimensions with their lengths (* marks the unlimited one), the "
      "shape and codec of chunks, bytes of all values, bytes that chunks take in the file. What "
      "lies in a group is named by its path.");
  command.callback([options, &status] {
    tell_notes(options->path);
    const auto source = open_source(options->path);
    const CommandsEntry* const format = format_commands_of(options->path);
    const bool blocks = (options->attributes || options->blocks) && format != nullptr &&
                        format->blocks_json != nullptr;
    if (options->json) {
      Json json = ls_json(*source);
      if (blocks) json["blocks"] = format->blocks_json(options->path, options->blocks);
      print_json(json);
    } else {
      fmt::print("{}", ls_text(*source, options->attributes));
      if (blocks)
        fmt::print("by the index\n{}", format->blocks_text(options->path, options->blocks));
    }
    if (const std::string note = left_out_text(*source); !note.empty())
      fmt::print(stderr, "{}\n", note);
    status = exit_done;
  });
}

extern const CommandEntry ls_command{1, add_ls_command};

}  // namespace forebay::tools
