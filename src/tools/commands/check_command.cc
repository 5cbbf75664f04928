// forebay check: checks that a file is as it was written, and says what can be read if it is not.
#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/text_table.h"
#include "files/file_check.h"
#include "method/method_values.h"
#include "tools/commands.h"
#include "tools/format_commands.h"
#include "tools/json.h"
#include "tools/leftovers.h"
#include "tools/progress.h"

namespace forebay::tools {
namespace {

const std::string& name_in(const FileCheck& check, VarId var) {
  return check.names[static_cast<std::size_t>(var)];
}

// Returns "chunk 17 of T, T[2, 0:180, 360:720]".
std::string place_of(const FileCheck& check, const Damage& damage) {
  if (!damage.var) return {};
  const std::string name = printable(name_in(check, *damage.var));
  if (damage.place == Damage::Place::page) {
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

// Lists the first names, and how many more there are.
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

// Says what was verified of data files. Their index says where slabs lie, and for which elements.
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
  Json json = {{"part", name_of(damage.place)}};
  if (damage.var) json["variable"] = name_in(check, *damage.var);
  if (damage.chunk) json["chunk"] = *damage.chunk;
  if (damage.place == Damage::Place::page) json["chunks"] = damage.chunks;
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

}  // namespace

static void add_check_command(CLI::App& app, int& status) {
  struct CheckCommandOptions {
    std::vector<std::string> paths;
    bool decode = false, json = false;
  };
  auto options = std::make_shared<CheckCommandOptions>();
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
      tell_notes(path);
      const CommandsEntry* const format = format_commands_of(path);
      if (format != nullptr && format->check != nullptr) {
        FormatCheck check = format->check(path, options->decode);
        status = std::max(status, exit_code(check.status));
        options->json ? files.push_back(std::move(check.json)) : fmt::print("{}", check.text);
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

extern const CommandEntry check_command{3, add_check_command};

}  // namespace forebay::tools
