// forebay check: whether a file is as it was written, and what can be read if it is not.
#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/text_table.h"
#include "files/bp_source.h"
#include "files/file_check.h"
#include "files/hdf5/log_report.h"
#include "files/hdf5/source.h"
#include "method/method_values.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/progress.h"
#include "tools/staged_note.h"

namespace forebay::tools {
namespace {

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

const std::string& name_in(const FileCheck& check, VarId var) {
  return check.names[static_cast<std::size_t>(var)];
}

// "chunk 17 of T, T[2, 0:180, 360:720]"
std::string place_of(const FileCheck& check, const Damage& damage) {
  if (!damage.var) return {};
  const std::string name = printable(name_in(check, *damage.var));
  if (damage.part == Damage::Part::page) {
    return fmt::format("chunks {} to {} of {}", *damage.chunk, *damage.chunk + damage.chunks - 1,
                       name);
  }
  if (!damage.chunk) return "variable " + name;
  std::string box;
  for (std::size_t d = 0; damage.box && d < damage.box->first.size(); ++d) {
    const Count first = damage.box->first[d], extent = damage.box->extent[d];
    box += d == 0 ? "" : ", ";
    box += extent == 1 ? std::to_string(first) : fmt::format("{}:{}", first, first + extent);
  }
  return fmt::format("chunk {} of {}, {}[{}]", *damage.chunk, name, name, box);
}

// Names, as many as people read.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

std::string readable_text(const FileCheck& check) {
  std::vector<std::string> whole, in_part, lost;
  for (const VariableCheck& v : check.vars) {
    const std::string& name = name_in(check, v.var);
    if (!v.readable) {
      lost.push_back(name);
    } else if (v.problem.empty()) {
      whole.push_back(name);
    } else {
      in_part.push_back(name + " (" + v.problem + ")");
    }
  }
  std::string text;
  if (!whole.empty()) text += "  can be read:      " + listed(whole) + "\n";
  if (!in_part.empty()) text += "  can in part:      " + listed(in_part) + "\n";
  if (!lost.empty()) text += "  cannot be read:   " + listed(lost) + "\n";
  return text;
}

// What was looked into of data files: their index says where slabs lie, and of whose elements.
std::string data_files_text(const FileCheck& check) {
  return fmt::format("  verified {}: state, roots, {} of {}, {} of {}\n",
                     counted(check.data_files, "data file"), counted(check.maps, "map"),
                     counted(check.patterns, "pattern"), counted(check.slabs, "slab"),
                     friendly_size(check.slab_bytes));
}

std::string check_text(const FileCheck& check, bool decoded) {
  std::string text = printable(check.path) + ": " + name_of(check.status) + "\n";
  if (check.status == CheckStatus::unreadable) {
    text += "  " + printable(check.error) + "\n";
    if (!check.advice.empty()) text += "  " + printable(check.advice) + "\n";
    return text;
  }
  for (const Damage& damage : check.damages) {
    const std::string place = place_of(check, damage);
    text += "  " + place + (place.empty() ? "" : ": ") + printable(damage.problem) + "\n";
  }
  if (check.status == CheckStatus::damaged) text += readable_text(check);
  if (check.data_files > 0) text += data_files_text(check);
  if (check.chunked) {
    text += fmt::format("  verified {} of {}, {}{}\n", counted(check.chunks, "chunk"),
                        friendly_size(check.bytes), counted(check.pages, "page"),
                        decoded ? "; all decoded" : "");
  } else if (check.parts > 0) {
    text += fmt::format("  verified {} of slabs, {}{}\n", counted(check.parts, "part"),
                        friendly_size(check.bytes), decoded ? "; all decoded" : "");
  } else {
    text += fmt::format("  header and length of {}; the format has no checksums of data\n",
                        counted(std::ssize(check.vars), "variable"));
  }
  for (const std::string& note : check.notes) text += "  note: " + printable(note) + "\n";
  return text;
}

Json damage_json(const FileCheck& check, const Damage& damage) {
  Json json = {{"part", name_of(damage.part)}};
  if (damage.var) json["variable"] = name_in(check, *damage.var);
  if (damage.chunk) json["chunk"] = *damage.chunk;
  if (damage.part == Damage::Part::page) json["chunks"] = damage.chunks;
  if (damage.box) {
    json["first"] = damage.box->first;
    json["extent"] = damage.box->extent;
  }
  json["problem"] = damage.problem;
  return json;
}

Json check_json(const FileCheck& check, bool decoded) {
  Json json = {{"path", check.path}, {"status", name_of(check.status)}};
  if (check.status == CheckStatus::unreadable) {
    json["error"] = check.error;
    json["advice"] = check.advice;
    return json;
  }
  json["format"] = "CDF-" + std::to_string(check.version);
  json["file_size"] = check.file_size;
  json["expected_size"] = check.expected_size;
  json["damages"] = Json::array();
  for (const Damage& damage : check.damages) json["damages"].push_back(damage_json(check, damage));
  json["variables"] = Json::array();
  for (const VariableCheck& v : check.vars) {
    Json item = {{"name", name_in(check, v.var)}, {"chunked", v.chunked}, {"readable", v.readable}};
    if (!v.chunked && v.present > 0) {
      item["parts"] = v.present;
      item["damaged"] = v.damaged;
      item["stored_bytes"] = v.stored_bytes;
    }
    if (v.chunked) {
      item["chunks"] = v.present;
      item["damaged"] = v.damaged;
      item["stored_bytes"] = v.stored_bytes;
    }
    if (!v.problem.empty()) item["problem"] = v.problem;
    json["variables"].push_back(std::move(item));
  }
  if (check.chunked) {
    json["index"] = {{"generation", check.index.generation}, {"synced", check.index.synced}};
    json["verified"] = {{"pages", check.pages},
                        {"chunks", check.chunks},
                        {"bytes", check.bytes},
                        {"decoded", decoded}};
  }
  if (!check.chunked && check.parts > 0)
    json["verified"] = {{"parts", check.parts}, {"bytes", check.bytes}, {"decoded", decoded}};
  if (check.data_files > 0)
    json["verified"]["data_files"] = {{"files", check.data_files},
                                      {"maps", check.maps},
                                      {"patterns", check.patterns},
                                      {"slabs", check.slabs},
                                      {"bytes", check.slab_bytes}};
  json["notes"] = check.notes;
  return json;
}

int exit_code(CheckStatus status) {
  switch (status) {
    case CheckStatus::good:
      return exit_done;
    case CheckStatus::damaged:
      return exit_failed;
    default:
      return exit_unreadable;
  }
}

// An HDF5 file: its checksums are HDF5's, of metadata and, where a dataset has the filter, of
// chunks; those of a log are verified too.
struct Hdf5Check {
  CheckStatus status = CheckStatus::good;
  Count datasets = 0, bytes = 0;
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
    // Where the log is damaged, values would only say it again.
    const bool read = values && check.faults.empty();
    const auto found = check_hdf5(path, read, check.datasets, check.bytes);
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
  return text + fmt::format("  HDF5: opened {}, {}\n", counted(check.datasets, "dataset"),
                            values ? "read " + friendly_size(check.bytes) + " of values"
                                   : "values not read (--decode reads them)");
}

Json hdf5_check_json(const std::string& path, const Hdf5Check& check, bool values) {
  Json json = {{"path", path}, {"status", name_of(check.status)}, {"format", "HDF5"}};
  json["damages"] = check.faults;
  json["datasets"] = check.datasets;
  json["verified"] = {{"bytes", check.bytes}, {"decoded", values}};
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

// A BP file, as text and as JSON.
CheckStatus check_bp_file(const std::string& path, bool values, Json& json, std::string& text) {
  CheckStatus status = CheckStatus::good;
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
  if (status == CheckStatus::unreadable) return status;
  for (const std::string& note : check.notes) text += "  note: " + printable(note) + "\n";
  text += fmt::format("  {}: {}, {}, {}; {}\n", check.format, counted(check.steps, "step"),
                      counted(check.variables, "variable"), counted(check.blocks, "block"),
                      values ? "read " + friendly_size(check.bytes) + " of values"
                             : "values not read (--decode reads them)");
  return status;
}

}  // namespace

void add_check_command(CLI::App& app, int& status) {
  struct Options {
    std::vector<std::string> paths;
    bool decode = false, json = false;
  };
  auto options = std::make_shared<Options>();
  Command command(app, "check",
                  "Verify the header, the chunk index and the checksum of every chunk of files");
  command.add_option("FILE", options->paths, "netCDF files of any format, BP files, or HDF5 files")
      .required();
  command.add_flag("--decode", options->decode, "also decode every chunk, and part of slabs");
  command.add_flag("--json", options->json, "print one JSON object");
  command.footer(
      "In HDF5 files every object is opened, whose metadata HDF5 verifies; values are read with "
      "--decode only, and verified where datasets have the filter fletcher32. In files of the log "
      "layout every checksum of metadata, selections and data is verified.\n"
      "Of BP files, which have no checksums, every block is looked for in its data file; "
      "with "
      "--decode values are compared with the least and largest that the index has.\n"
      "Exit codes: 0 all is well, 1 something is damaged, 2 a file cannot be read at "
      "all.");
  command.callback([options, &status] {
    status = exit_done;
    Json files = Json::array();
    for (const std::string& path : options->paths) {
      tell_staged_writes(path);
      if (is_hdf5_file(path)) {
        const Hdf5Check check = check_hdf5_file(path, options->decode);
        status = std::max(status, exit_code(check.status));
        if (options->json) {
          files.push_back(hdf5_check_json(path, check, options->decode));
        } else {
          fmt::print("{}", hdf5_check_text(path, check, options->decode));
        }
        continue;
      }
      if (is_bp(path)) {
        Json json;
        std::string text;
        status = std::max(status, exit_code(check_bp_file(path, options->decode, json, text)));
        options->json ? files.push_back(std::move(json)) : fmt::print("{}", text);
        continue;
      }
      FileCheck check;
      {
        Progress line(path);
        CheckOptions how;
        how.decode = options->decode;
        how.progress = [&](Count done, Count all) { line.tell(done, all); };
        check = check_file(path, how);
      }
      status = std::max(status, exit_code(check.status));
      if (options->json) {
        files.push_back(check_json(check, options->decode));
      } else {
        fmt::print("{}", check_text(check, options->decode));
        std::fflush(stdout);
      }
    }
    if (options->json) {
      const Json all = {{"files", std::move(files)}};
      print_json(all);
    }
  });
}

}  // namespace forebay::tools
