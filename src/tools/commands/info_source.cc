#include "tools/commands/info_source.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/text_table.h"
#include "base/words.h"
#include "method/method_values.h"
#include "tools/attribute_json.h"
#include "tools/commands/cdl.h"
#include "tools/format_commands.h"
#include "tools/json.h"

namespace forebay::tools {
namespace {

// Returns the size of a file, or of all files in a folder.
Count file_size(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) {
    const auto size = std::filesystem::file_size(path, failed);
    return failed ? 0 : static_cast<Count>(size);
  }
  Count size = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path, failed))
    if (entry.is_regular_file(failed)) size += static_cast<Count>(entry.file_size(failed));
  return size;
}

Count bytes_of(const Source& source, VarId id) {
  return whole(source.shape(id)).elements() *
         size_of(source.schema().vars[static_cast<std::size_t>(id)].type);
}

void add_attributes(std::string& text, const std::string& title, const AttributeList& list,
                    bool in_full) {
  if (list.size() == 0) return;
  TextTable table("lll");
  for (const Attribute& attribute : list)
    table.add(
        {printable(attribute.name), "=", printable(cdl_attribute(attribute), in_full ? 0 : 72)});
  text += "\n" + title + "\n" + table.text();
}

std::string variables_text(const Source& source) {
  const Schema& schema = source.schema();
  TextTable table("llllrrl");
  table.add({"name", "type", "dimensions", "chunk", "bytes", "stored", "filters"});
  for (std::size_t v = 0; v < schema.vars.size(); ++v) {
    const Variable& var = schema.vars[v];
    const auto id = static_cast<VarId>(v);
    table.add({printable(var.name), name_of(var.type),
               var.dimids.empty() ? "scalar" : dimension_names(schema, var),
               var.chunking ? product_text(var.chunking->shape) : "-",
               friendly_size(bytes_of(source, id)),
               friendly_size(source.stored_bytes(id).value_or(0)),
               var.chunking ? printable(source.codec(id)) : "-"});
  }
  return "\nvariables\n" + table.text();
}

}  // namespace

std::string product_text(const std::vector<Count>& lengths) {
  return lengths.empty() ? "-" : joined(lengths, " × ", grouped);
}

Json source_info_json(const Source& source) {
  Json json = source_json(source, all_variables(source), [&](Json& item, VarId id) {
    const Variable& var = source.schema().vars[static_cast<std::size_t>(id)];
    item["chunk_shape"] = var.chunking ? Json(var.chunking->shape) : Json();
    item["codec"] = var.chunking ? Json(source.codec(id)) : Json();
    item["bytes"] = bytes_of(source, id);
    item["stored_bytes"] = source.stored_bytes(id).value_or(0);
  });
  json["file_size"] = file_size(source.path());
  const CommandsEntry* const format = format_commands_of(source.path());
  if (format != nullptr && format->add_info_json != nullptr) format->add_info_json(source, json);
  return json;
}

std::string source_info_text(const Source& source, bool all_attributes) {
  const Schema& schema = source.schema();
  Count bytes = 0, stored = 0;
  for (std::size_t v = 0; v < schema.vars.size(); ++v) {
    bytes += bytes_of(source, static_cast<VarId>(v));
    stored += source.stored_bytes(static_cast<VarId>(v)).value_or(0);
  }
  TextTable summary("ll");
  summary.add({"format", source.format()});
  summary.add({"size", friendly_size(file_size(source.path()))});
  summary.add(
      {"data", fmt::format("{} variables, {} stored in {}", grouped(std::ssize(schema.vars)),
                           friendly_size(bytes), friendly_size(stored))});
  if (!source.groups().empty())
    summary.add({"groups", grouped(std::ssize(source.groups())) + " below the root"});
  for (const LeftOut& item : source.left_out())
    summary.add({"no netCDF", printable(item.name) + ": " + item.what});
  std::string text = printable(source.path()) + "\n" + summary.text();
  const CommandsEntry* const format = format_commands_of(source.path());
  if (format != nullptr && format->add_info_text != nullptr) format->add_info_text(source, text);
  TextTable dimensions("lrl");
  for (std::size_t d = 0; d < schema.dims.size(); ++d) {
    const auto id = static_cast<DimId>(d);
    dimensions.add({printable(schema.dims[d].name), grouped(source.length(id)),
                    source.unlimited(id) ? "unlimited" : ""});
  }
  if (!schema.dims.empty()) text += "\ndimensions\n" + dimensions.text();
  if (!schema.vars.empty()) text += variables_text(source);
  for (const Variable& var : schema.vars)
    if (all_attributes)
      add_attributes(text, "attributes of " + printable(var.name), var.attributes, true);
  add_attributes(text, "global attributes", schema.attributes, all_attributes);
  for (const SourceGroup& group : source.groups())
    add_attributes(text, "attributes of group " + printable(group.path), group.attributes,
                   all_attributes);
  return text;
}

}  // namespace forebay::tools
