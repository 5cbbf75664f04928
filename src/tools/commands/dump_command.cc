// forebay dump: prints header and values of a file as CDL, like ncdump.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/byteorder.h"
#include "base/error.h"
#include "files/open_source.h"
#include "tools/attribute_json.h"
#include "tools/commands.h"
#include "tools/commands/cdl.h"
#include "tools/json.h"
#include "tools/leftovers.h"

namespace forebay::tools {
namespace {

constexpr Count json_most_bytes = 1 << 30;

struct DumpOptions {
  std::string path;
  std::vector<std::string> variables;
  bool header = false, cdl = false, json = false;
};

std::vector<VarId> chosen(const Source& source, const std::vector<std::string>& names) {
  std::vector<VarId> ids;
  ids.reserve(names.size());
  for (const std::string& name : names)
    ids.push_back(find_variable(source.schema(), source.path(), name));
  if (!names.empty()) return ids;
  for (std::size_t v = 0; v < source.schema().vars.size(); ++v)
    ids.push_back(static_cast<VarId>(v));
  return ids;
}

void print_data(const Source& source, const std::vector<VarId>& ids, const std::string& group,
                const std::string& indent) {
  const auto& vars = source.schema().vars;
  const bool any = std::any_of(vars.begin(), vars.end(),
                               [&](auto& var) { return cdl_group_of(var.name) == group; });
  if (!any) return;
  fmt::print("{}data:\n", indent);
  for (const VarId id : ids)
    if (cdl_group_of(vars[static_cast<std::size_t>(id)].name) == group)
      print_cdl_data(source, id, stdout, indent);
}

// Prints a group with its content, indented by its depth.
void print_group(const Source& source, const std::string& path, const std::vector<VarId>& ids,
                 bool with_data, const std::string& indent) {
  const std::string name = cdl_name(cdl_name_in_group(path)), inner = indent + "  ";
  fmt::print("\n{}group: {} {{\n{}", indent, name, cdl_header(source, path, inner));
  if (with_data) print_data(source, ids, path, inner);
  for (const SourceGroup& group : source.groups())
    if (cdl_group_of(group.path) == path) print_group(source, group.path, ids, with_data, inner);
  fmt::print("{}}} // group {}\n", inner, name);
}

void print_cdl(const Source& source, const std::vector<VarId>& ids, bool with_data) {
  fmt::print("netcdf {} {{\n{}", cdl_file_name(source.path()), cdl_header(source));
  if (with_data) print_data(source, ids, "", "");
  for (const SourceGroup& group : source.groups())
    if (cdl_group_of(group.path).empty()) print_group(source, group.path, ids, with_data, "");
  fmt::print("}}\n");
}

// Returns values as a flat list. JSON has no NaN, so values that are not numbers are words.
Json values_json(const Source& source, VarId id) {
  const Variable& var = source.schema().vars[static_cast<std::size_t>(id)];
  const Subarray all = whole(source.shape(id));
  const auto width = static_cast<std::size_t>(size_of(var.type));
  Count bytes = 0;
  if (!multiply_fits(all.elements(), size_of(var.type), bytes) || bytes > json_most_bytes) {
    throw Error(Errc::einval, var.name + " is too large to print as JSON",
                "choose smaller variables, or print CDL");
  }
  Json values = Json::array();
  if (all.elements() == 0) return values;
  std::vector<std::byte> native(static_cast<std::size_t>(bytes));
  source.read(id, all, native.data());
  if (var.type == Type::chr)
    return std::string(reinterpret_cast<char*>(native.data()), native.size());
  for (std::size_t at = 0; at < native.size(); at += width) {
    const std::byte* value = native.data() + at;
    if (is_floating(var.type)) {
      values.push_back(json_number(var.type == Type::float32 ? load_native<float>(value)
                                                             : load_native<double>(value)));
    } else {
      values.push_back(Json::parse(cdl_value(var.type, value)));
    }
  }
  return values;
}

Json dump_json(const Source& source, const std::vector<VarId>& ids, bool with_data) {
  return source_json(source, ids, [&](Json& item, VarId id) {
    if (with_data) item["values"] = values_json(source, id);
  });
}

}  // namespace

static void add_dump_command(CLI::App& app, int& status) {
  auto options = std::make_shared<DumpOptions>();
  Command command(app, "dump", "Print header and values of a file as text");
  command
      .add_option("FILE", options->path, "a netCDF file of any format, a BP file, or an HDF5 file")
      .required();
  command.add_option("VAR", options->variables, "the variables whose values are printed (all)");
  command.add_flag("--header", options->header, "print no values");
  const Option cdl =
      command.add_flag("--cdl", options->cdl, "print CDL, as ncdump does (the default)");
  command.add_flag("--json", options->json, "print one JSON object").excludes(cdl);
  command.footer(
      "Prints what ncdump prints for the same header and values. Values are read in blocks of a "
      "few MiB. Strings, compound types and the like of HDF5 files are left out and told on "
      "standard error. As JSON, values are flat lists in row-major order.");
  command.callback([options, &status] {
    tell_notes(options->path);
    const auto source = open_source(options->path);
    const std::vector<VarId> ids = chosen(*source, options->variables);
    if (options->json) {
      print_json(dump_json(*source, ids, !options->header));
    } else {
      print_cdl(*source, ids, !options->header);
    }
    if (const std::string note = left_out_text(*source); !note.empty())
      fmt::print(stderr, "{}\n", note);
    status = exit_done;
  });
}

extern const CommandEntry dump_command{2, add_dump_command};

}  // namespace forebay::tools
