// forebay info: shows what a file has and where it lies.
#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <map>
#include <optional>

#include "base/attempt.h"
#include "base/text_table.h"
#include "base/words.h"
#include "files/classic_file.h"
#include "files/file_check.h"
#include "files/open_source.h"
#include "method/method_values.h"
#include "tools/attribute_json.h"
#include "tools/commands.h"
#include "tools/commands/cdl.h"
#include "tools/commands/info_source.h"
#include "tools/json.h"
#include "tools/leftovers.h"

namespace forebay::tools {
namespace {

const char* format_name(int version) {
  switch (version) {
    case 1:
      return "CDF-1 (netCDF classic)";
    case 2:
      return "CDF-2 (netCDF classic, 64-bit offsets)";
    default:
      return "CDF-5 (netCDF classic, 64-bit data)";
  }
}

// Returns the largest power of two that divides a byte position.
Count alignment_of(Offset position) {
  if (position == 0) return 1;
  return Count{1} << std::min(30, std::countr_zero(static_cast<std::uint64_t>(position)));
}

// Returns one past the last byte of data, chunks included.
Offset expected_size(const ClassicFile& file) {
  const Offset size = expected_size(file.schema());
  const bool here = file.chunks() != nullptr && !file.chunks()->index().apart;
  return here ? std::max(size, file.chunks()->index().end) : size;
}

bool any_chunks(const ClassicFile& file) {
  return file.chunks() != nullptr && file.schema().any_chunked();
}

// Returns the bytes of all records; 0 if their number is impossible.
Count all_bytes(const Schema& schema, const Variable& var) {
  Count bytes = 0;
  if (!multiply_fits(var.inner_bytes(), var.is_record ? schema.numrecs : 1, bytes)) return 0;
  return bytes;
}

double ratio_of(Count raw, Count stored) {
  return stored == 0 ? 0 : static_cast<double>(raw) / static_cast<double>(stored);
}

std::string attribute_shown(const Attribute& attribute, std::size_t limit) {
  return printable(cdl_attribute(attribute, false), limit);
}

const char* name_of(RootSlot::State state) {
  switch (state) {
    case RootSlot::State::empty:
      return "empty";
    case RootSlot::State::valid:
      return "valid";
    default:
      return "damaged";
  }
}

Json chunking_json(const ChunkFacts& facts) {
  Json json = {{"codec", facts.codec},
               {"shape", facts.shape},
               {"grid", facts.grid},
               {"chunks", facts.chunks},
               {"stored", facts.present},
               {"raw", facts.raw},
               {"partly", facts.partly},
               {"masked", facts.masked},
               {"stored_bytes", facts.stored_bytes},
               {"raw_bytes", facts.raw_bytes}};
  json["ratio"] = facts.present == 0 ? Json() : Json(ratio_of(facts.raw_bytes, facts.stored_bytes));
  json["reason"] = facts.reason;
  return json;
}

/// One level of a variable in patches.
struct LevelFacts {
  int level = 0;
  std::vector<Count> shape;
  Count stored = 0, to_read = 0;      ///< bytes: of its details; with all coarser levels
  double ratio = 0;                   ///< the variable's values over `to_read`; 0: nothing to read
  std::optional<LevelErrors> errors;  ///< empty if a patch is damaged
};

/// Returns levels from coarse to fine; none if the variable is not in patches.
std::vector<LevelFacts> level_facts(const ClassicFile& file, VarId id) {
  std::vector<LevelFacts> all;
  const int levels = file.levels(id);
  if (levels == 0) return all;
  const ChunkFacts facts = file.chunks()->facts(id);
  std::vector<LevelErrors> errors;
  attempt_to([&] { errors = file.level_errors(id); });
  Count to_read = 0;
  for (int level = levels; level >= 0; --level) {
    const auto at = static_cast<std::size_t>(level);
    to_read += facts.level_bytes[at];
    LevelFacts& its = all.emplace_back();
    its = {level,
           file.shape(id, level),
           facts.level_bytes[at],
           to_read,
           ratio_of(facts.raw_bytes, to_read),
           {}};
    if (!errors.empty()) its.errors = errors[at];
  }
  return all;
}

Json levels_json(const std::vector<LevelFacts>& levels) {
  Json json = Json::array();
  for (const LevelFacts& its : levels) {
    json.push_back({{"level", its.level},
                    {"shape", its.shape},
                    {"stored_bytes", its.stored},
                    {"read_bytes", its.to_read},
                    {"ratio", its.to_read == 0 ? Json() : Json(its.ratio)},
                    {"error", its.errors ? Json(its.errors->error) : Json()},
                    {"resolution_error", its.errors ? Json(its.errors->resolution) : Json()}});
  }
  return json;
}

// Returns the sums over all chunked variables.
ChunkFacts total_of(const ClassicFile& file) {
  ChunkFacts total;
  for (std::size_t v = 0; v < file.schema().vars.size(); ++v) {
    if (!file.schema().vars[v].chunking) continue;
    const ChunkFacts facts = file.chunks()->facts(static_cast<VarId>(v));
    total.chunks += facts.chunks;
    total.present += facts.present;
    total.raw += facts.raw;
    total.partly += facts.partly;
    total.masked += facts.masked;
    total.stored_bytes += facts.stored_bytes;
    total.raw_bytes += facts.raw_bytes;
  }
  return total;
}

/// Data files, and how evenly they are filled.
struct FileBalance {
  Count files = 0, least = 0, most = 0;
  double largest = 1;  ///< over the average
};

FileBalance balance_of(const std::map<std::uint32_t, Count>& bytes) {
  FileBalance balance;
  Count total = 0;
  for (const auto& [number, its] : bytes) {
    balance.least = balance.files == 0 ? its : std::min(balance.least, its);
    balance.most = std::max(balance.most, its);
    total += its;
    ++balance.files;
  }
  if (total > 0)
    balance.largest = ratio_of(balance.most, total) * static_cast<double>(balance.files);
  return balance;
}

Json chunks_json(const ClassicFile& file) {
  const IndexFacts& index = file.chunks()->index();
  const ChunkFacts total = total_of(file);
  Json json = {{"chunks", total.chunks},
               {"stored", total.present},
               {"raw", total.raw},
               {"stored_bytes", total.stored_bytes},
               {"raw_bytes", total.raw_bytes}};
  json["ratio"] = total.present == 0 ? Json() : Json(ratio_of(total.raw_bytes, total.stored_bytes));
  json["index"] = {{"root", index.root},     {"generation", index.generation},
                   {"synced", index.synced}, {"bytes", index.index_bytes},
                   {"end", index.end},       {"free_bytes", index.free_bytes}};
  if (index.apart) {
    const auto bytes = file.chunks()->bytes_of_files();
    json["files"] = Json::array();
    for (const auto& [number, its] : bytes)
      json["files"].push_back({{"number", number}, {"stored_bytes", its}});
    json["balance"] = balance_of(bytes).largest;
  }
  Json slots = Json::array();
  for (const RootSlot& slot : index.slots) {
    Json item = {{"state", name_of(slot.state)}};
    if (slot.state == RootSlot::State::valid) {
      item["generation"] = slot.root.generation;
      item["synced"] = slot.root.synced;
    }
    if (!slot.problem.empty()) item["problem"] = slot.problem;
    slots.push_back(std::move(item));
  }
  json["index"]["slots"] = std::move(slots);
  if (index.damage) json["index"]["damage"] = index.damage->message();
  return json;
}

std::string codec_of(const Variable& var) { return var.slab_codec.value_or("none"); }

Json slabs_json(const Variable& var, const SlabFacts& facts) {
  Json json = {{"codec", codec_of(var)},   {"slabs", facts.slabs},
               {"parts", facts.parts},     {"raw", facts.raw_parts},
               {"raw_bytes", facts.bytes}, {"stored_bytes", facts.stored_bytes}};
  json["ratio"] = facts.slabs == 0 ? Json() : Json(ratio_of(facts.bytes, facts.stored_bytes));
  return json;
}

/// Returns nothing if there are none, or they cannot be read.
std::vector<SlabFacts> slab_facts(const ClassicFile& file) {
  std::vector<SlabFacts> facts;
  if (file.maps()) attempt_to([&] { facts = file.maps()->slab_facts(); });
  return facts;
}

Json variable_json(const ClassicFile& file, VarId id, const std::vector<SlabFacts>& slabs) {
  const Schema& schema = file.schema();
  const Variable& var = schema.vars[static_cast<std::size_t>(id)];
  Json json = {{"name", var.name}, {"type", name_of(var.type)}};
  json["dimensions"] = Json::array();
  for (const DimId dim : var.dimids) {
    json["dimensions"].push_back(schema.dims[static_cast<std::size_t>(dim)].name);
  }
  json["shape"] = file.shape(id);
  json["record"] = var.is_record;
  json["begin"] = var.begin;
  json["end"] = end_of(schema, var);
  json["bytes"] = all_bytes(schema, var);
  if (var.is_record) json["bytes_per_record"] = var.inner_bytes();
  json["alignment"] = alignment_of(var.begin);
  if (var.chunking) json["chunking"] = chunking_json(file.chunks()->facts(id));
  if (const auto levels = level_facts(file, id); !levels.empty())
    json["levels"] = levels_json(levels);
  if (id < std::ssize(slabs) && file.maps()->keeps(var))
    json["slabs"] = slabs_json(var, slabs[static_cast<std::size_t>(id)]);
  json["attributes"] = attributes_json(var.attributes);
  return json;
}

Json maps_json(const SlabReader& maps) {
  MapFacts facts;
  if (const auto failed = attempt_to([&] { facts = maps.facts(); }))
    return {{"damage", failed->message()}};
  return {{"files", facts.files},
          {"commit", facts.epoch},
          {"synced", facts.synced},
          {"maps", facts.maps},
          {"patterns", facts.patterns},
          {"slabs", facts.slabs},
          {"bytes", facts.slab_bytes},
          {"stored_bytes", facts.stored_bytes},
          {"metadata_bytes", facts.metadata_bytes}};
}

// `path` is what the user gave; for a directory it lacks the header's name.
Json info_json(const std::string& path, const ClassicFile& file) {
  const Schema& schema = file.schema();
  Json json = {{"path", path},
               {"format", "CDF-" + std::to_string(schema.version)},
               {"file_size", file.file_size()},
               {"expected_size", expected_size(file)}};
  json["header"] = {{"size", schema.header_size}, {"extent", schema.header_extent}};
  json["records"] = Json();
  if (const auto dim = schema.record_dim()) {
    json["records"] = {{"dimension", schema.dims[static_cast<std::size_t>(*dim)].name},
                       {"count", schema.numrecs},
                       {"added", file.added_records()},
                       {"size", schema.recsize},
                       {"begin", schema.begin_rec}};
    // Chunked variables have no record section.
    if (any_chunks(file)) json["records"]["size"] = json["records"]["begin"] = Json();
  }
  json["dimensions"] = Json::array();
  for (const Dimension& dim : schema.dims) {
    json["dimensions"].push_back({{"name", dim.name},
                                  {"length", dim.is_record() ? schema.numrecs : dim.length},
                                  {"unlimited", dim.is_record()}});
  }
  json["variables"] = Json::array();
  const std::vector<SlabFacts> slabs = slab_facts(file);
  for (std::size_t v = 0; v < schema.vars.size(); ++v) {
    json["variables"].push_back(variable_json(file, static_cast<VarId>(v), slabs));
  }
  json["attributes"] = attributes_json(schema.attributes);
  if (any_chunks(file)) json["chunks"] = chunks_json(file);
  if (file.maps()) json["maps"] = maps_json(*file.maps());
  return json;
}

std::string with_bytes(Count bytes) {
  if (bytes < 1024) return friendly_size(bytes);
  return friendly_size(bytes) + " (" + grouped(bytes) + " bytes)";
}

// Adds lines about chunks and their index to the summary.
void add_chunks(const ClassicFile& file, TextTable& table) {
  const IndexFacts& index = file.chunks()->index();
  const ChunkFacts total = total_of(file);
  std::string text = counted(total.present, "chunk") + " of " + friendly_size(total.raw_bytes) +
                     " stored in " + friendly_size(total.stored_bytes);
  if (total.stored_bytes > 0) text += ", ratio " + ratio_text(total.raw_bytes, total.stored_bytes);
  if (total.raw > 0) text += ", " + grouped(total.raw) + " raw";
  if (total.masked > 0) text += ", " + grouped(total.masked) + " with missing values kept apart";
  if (total.present < total.chunks)
    text += ", " + grouped(total.chunks - total.present) + " never written";
  if (index.damage) {
    table.add({"chunks", "cannot be read: " + printable(index.damage->message())});
    return;
  }
  table.add({"chunks", text});
  if (const FileBalance files = balance_of(file.chunks()->bytes_of_files()); files.files > 0)
    table.add({"data files", fmt::format("{}, of {} to {}; the largest has {:.2f} times the mean",
                                         grouped(files.files), friendly_size(files.least),
                                         friendly_size(files.most), files.largest)});
  table.add({"index",
             fmt::format("generation {}, {}; {}, {} free, root at byte {}", index.generation,
                         index.synced ? "synced" : "not synced", friendly_size(index.index_bytes),
                         friendly_size(index.free_bytes), grouped(index.root))});
  if (!index.certain)
    table.add({"note", "a root of the index is damaged: forebay check FILE tells more"});
}

// Adds lines about decomposed variables to the summary.
void add_maps(const SlabReader& maps, TextTable& table) {
  std::optional<MapFacts> facts;
  if (const auto failed = attempt_to([&] { facts = maps.facts(); })) {
    table.add({"maps", "cannot be read: " + printable(failed->message())});
    return;
  }
  table.add(
      {"maps", fmt::format("{} of {} in {}, {}", counted(facts->maps, "map"),
                           counted(facts->patterns, "pattern"), counted(facts->files, "data file"),
                           facts->synced ? "synced" : "not synced")});
  const std::string stored =
      facts->stored_bytes == facts->slab_bytes
          ? ""
          : fmt::format(" stored in {}, ratio {:.2f}", friendly_size(facts->stored_bytes),
                        ratio_of(facts->slab_bytes, facts->stored_bytes));
  table.add(
      {"slabs",
       fmt::format("{} of {}{}; metadata {}, {:.2f} %", grouped(facts->slabs),
                   friendly_size(facts->slab_bytes), stored, friendly_size(facts->metadata_bytes),
                   facts->slab_bytes == 0 ? 0.0
                                          : 100.0 * static_cast<double>(facts->metadata_bytes) /
                                                static_cast<double>(facts->slab_bytes))});
}

std::string summary_text(const ClassicFile& file) {
  const Schema& schema = file.schema();
  TextTable table("ll");
  table.add({"format", format_name(schema.version)});
  table.add({"size", with_bytes(file.file_size())});
  table.add({"header", friendly_size(schema.header_size) + " of " +
                           friendly_size(schema.header_extent) + " reserved"});
  Count fixed = 0, fixed_bytes = 0, records = 0, record_bytes = 0;
  for (const Variable& var : schema.vars) {
    (var.is_record ? records : fixed) += 1;
    (var.is_record ? record_bytes : fixed_bytes) += all_bytes(schema, var);
  }
  table.add({"data", counted(fixed, "fixed variable") + ", " + friendly_size(fixed_bytes) + "; " +
                         counted(records, "record variable") + ", " + friendly_size(record_bytes)});
  if (const auto dim = schema.record_dim()) {
    std::string text = fmt::format("{} along {}", grouped(schema.numrecs),
                                   printable(schema.dims[static_cast<std::size_t>(*dim)].name));
    if (!any_chunks(file)) {
      text += fmt::format(", {} each, from byte {}", friendly_size(schema.recsize),
                          grouped(schema.begin_rec));
    }
    if (file.added_records() > 0)
      text += fmt::format("; {} in the header alone", grouped(file.added_records()));
    table.add({"records", text});
  }
  if (any_chunks(file)) add_chunks(file, table);
  if (file.maps()) add_maps(*file.maps(), table);
  const Offset missing = expected_size(file) - file.file_size();
  if (missing > 0) {
    const bool cut = ends_within_values(file.schema(), file.file_size());
    table.add({"note", "the file ends " + with_bytes(missing) + " before its last variable does: " +
                           (cut ? "it was cut short" : "that was never written")});
  }
  return table.text();
}

std::string dimensions_text(const Schema& schema) {
  TextTable table("lrl");
  for (const Dimension& dim : schema.dims) {
    table.add({printable(dim.name), grouped(dim.is_record() ? schema.numrecs : dim.length),
               dim.is_record() ? "unlimited" : ""});
  }
  return "\ndimensions\n" + table.text();
}

std::string variables_text(const Schema& schema, bool with_attributes) {
  TextTable table("lllrrrrr");
  table.add({"name", "type", "dimensions", "begin", "end", "bytes", "per record", "aligned"});
  for (const Variable& var : schema.vars) {
    const bool plain = !var.chunking;  // chunks may be anywhere
    table.add({printable(var.name), name_of(var.type),
               var.dimids.empty() ? "scalar" : dimension_names(schema, var),
               plain ? grouped(var.begin) : "-", plain ? grouped(end_of(schema, var)) : "-",
               friendly_size(all_bytes(schema, var)),
               var.is_record ? friendly_size(var.inner_bytes()) : "-",
               plain ? friendly_size(alignment_of(var.begin)) : "-"});
    if (with_attributes)
      for (const Attribute& attribute : var.attributes)
        table.add_below("      " + printable(attribute.name) + " = " +
                        attribute_shown(attribute, 0));
  }
  return "\nvariables\n" + table.text();
}

std::string chunked_text(const ClassicFile& file) {
  const Schema& schema = file.schema();
  TextTable table("lllrlrrrrl");
  table.add({"name", "codec", "chunk", "bytes", "grid", "chunks", "raw", "stored", "ratio",
             "why this chunk"});
  for (std::size_t v = 0; v < schema.vars.size(); ++v) {
    const Variable& var = schema.vars[v];
    if (!var.chunking) continue;
    const ChunkFacts facts = file.chunks()->facts(static_cast<VarId>(v));
    Count bytes = size_of(var.type);
    for (const Count n : facts.shape)
      if (!multiply_fits(bytes, n, bytes)) bytes = 0;
    table.add({printable(var.name), printable(facts.codec), product_text(facts.shape),
               facts.shape.empty() ? "-" : friendly_size(bytes), product_text(facts.grid),
               grouped(facts.present), grouped(facts.raw), friendly_size(facts.stored_bytes),
               ratio_text(facts.raw_bytes, facts.stored_bytes),
               facts.shape.empty() ? "not chosen yet" : printable(facts.reason)});
  }
  return "\nchunked variables\n" + table.text();
}

/// Returns the table of variables in patches; empty if there are none.
std::string levels_text(const ClassicFile& file) {
  const Schema& schema = file.schema();
  TextTable table("lrlrrrrr");
  table.add(
      {"name", "level", "shape", "stored", "to read", "ratio", "error", "error at full size"});
  bool any = false;
  for (std::size_t v = 0; v < schema.vars.size(); ++v) {
    for (const LevelFacts& its : level_facts(file, static_cast<VarId>(v))) {
      any = true;
      table.add({printable(schema.vars[v].name), std::to_string(its.level), product_text(its.shape),
                 friendly_size(its.stored), friendly_size(its.to_read),
                 its.to_read == 0 ? "-" : fmt::format("{:.2f}", its.ratio),
                 its.errors ? fmt::format("{:.3g}", its.errors->error) : "damaged",
                 its.errors ? fmt::format("{:.3g}", its.errors->resolution) : "damaged"});
    }
  }
  return any ? "\nlevels\n" + table.text() : "";
}

/// Returns the table of variables with encoded slabs; empty if there are none.
std::string encoded_text(const ClassicFile& file) {
  const Schema& schema = file.schema();
  const std::vector<SlabFacts> slabs = slab_facts(file);
  TextTable table("llrrrrr");
  table.add({"name", "codec", "slabs", "parts", "raw", "stored", "ratio"});
  bool any = false;
  for (std::size_t v = 0; v < slabs.size(); ++v) {
    const Variable& var = schema.vars[v];
    if (!file.maps()->keeps(var) || codec_of(var) == "none") continue;
    any = true;
    const SlabFacts& facts = slabs[v];
    table.add({printable(var.name), printable(codec_of(var)), grouped(facts.slabs),
               grouped(facts.parts), grouped(facts.raw_parts), friendly_size(facts.stored_bytes),
               ratio_text(facts.bytes, facts.stored_bytes)});
  }
  return any ? "\nencoded slabs\n" + table.text() : "";
}

std::string info_text(const std::string& path, const ClassicFile& file, bool with_attributes) {
  const Schema& schema = file.schema();
  std::string text = printable(path) + "\n" + summary_text(file);
  if (!schema.dims.empty()) text += dimensions_text(schema);
  if (!schema.vars.empty()) text += variables_text(schema, with_attributes);
  if (any_chunks(file)) text += chunked_text(file) + levels_text(file);
  text += encoded_text(file);
  if (schema.attributes.size() > 0) {
    TextTable table("lll");
    for (const Attribute& attribute : schema.attributes) {
      table.add(
          {printable(attribute.name), "=", attribute_shown(attribute, with_attributes ? 0 : 72)});
    }
    text += "\nglobal attributes\n" + table.text();
  }
  return text;
}

/// A variable, and a part of it.
struct Region {
  std::string variable;
  Subarray part;
};

[[noreturn]] void refuse_region(const std::string& text) {
  throw Error(Errc::einval, "info: --region " + text + " names no region",
              "write VAR[FIRST:END,...] with a range or an index for each dimension, as in "
              "rho[0:64,128:256,7]; END does not belong to it");
}

/// Reads "rho[0:64,128:256,7]".
Region region_of(const std::string& text) {
  const auto open = text.find('[');
  if (open == 0 || open == std::string::npos || text.back() != ']') refuse_region(text);
  Region region{text.substr(0, open), {}};
  const std::string inner = text.substr(open + 1, text.size() - open - 2);
  for (const std::string_view item : items_of(inner, ',')) {
    const auto colon = item.find(':');
    const auto first = parse_count(item.substr(0, colon));
    const auto end = colon == std::string_view::npos ? first : parse_count(item.substr(colon + 1));
    if (!first || !end || *first < 0 || *end < *first) refuse_region(text);
    region.part.start.push_back(*first);
    region.part.count.push_back(colon == std::string_view::npos ? 1 : *end - *first);
  }
  return region;
}

void show_files_of_region(const std::string& path, const std::string& text, bool as_json) {
  const Region region = region_of(text);
  Report unseen;
  const auto files = files_of_region(path, region.variable, region.part, unseen);
  Json json = Json::array();
  for (const NeededFile& file : files) {
    if (!as_json) fmt::print("{}\n", file.path);
    Json& its = json.emplace_back(Json{{"path", file.path}});
    if (file.box) its["box"] = {{"start", file.box->start}, {"count", file.box->count}};
  }
  if (as_json) print_json(json);
}

}  // namespace

static void add_info_command(CLI::App& app, int& status) {
  struct InfoOptions {
    std::string path, region;
    bool json = false, attributes = false;
  };
  auto options = std::make_shared<InfoOptions>();
  Command command(app, "info", "Show what is in a file and where it lies");
  command
      .add_option("FILE", options->path, "a netCDF file of any format, a BP file, or an HDF5 file")
      .required();
  command.add_flag("--json", options->json, "print one JSON object");
  command.add_flag("-a,--attributes", options->attributes, "show all attributes, in full");
  command
      .add_option("--region", options->region,
                  "list the files that a reader of VAR[FIRST:END,...] needs, and nothing else: of "
                  "data files those whose boxes meet it")
      .type_name("REGION");
  command.callback([options, &status] {
    if (!options->region.empty()) {
      show_files_of_region(options->path, options->region, options->json);
      status = exit_done;
      return;
    }
    tell_notes(options->path);
    if (format_of(options->path) != nullptr) {
      const auto source = open_source(options->path);
      if (options->json) {
        print_json(source_info_json(*source));
      } else {
        fmt::print("{}", source_info_text(*source, options->attributes));
      }
      status = exit_done;
      return;
    }
    const ClassicFile file(options->path);
    if (options->json) {
      print_json(info_json(options->path, file));
    } else {
      fmt::print("{}", info_text(options->path, file, options->attributes));
    }
    status = exit_done;
  });
}

extern const CommandEntry info_command{0, add_info_command};

}  // namespace forebay::tools
