// forebay find: finds the steps and blocks of BP files whose values meet a condition.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/attempt.h"
#include "base/error.h"
#include "base/text_table.h"
#include "groups/commands/bp_blocks.h"
#include "groups/files/bp_source.h"
#include "tools/commands.h"
#include "tools/json.h"

namespace forebay::tools {
namespace {

std::string why(const FoundBlock& found) {
  if (found.matches) return fmt::format("{} elements", *found.matches);
  return found.certain ? "some elements" : "perhaps";
}

Json to_json(const FoundBlock& found) {
  Json json = block_json(found);
  json["certain"] = found.certain;
  json["matches"] = found.matches ? Json(*found.matches) : Json();
  return json;
}

struct FindOptions {
  std::string condition;
  std::vector<std::string> paths;
  bool values = false, json = false;
};

// Reports steps of a file that could not be searched. Returns whether there are any.
bool tell_unread(const std::string& path, const Searched& searched) {
  if (searched.unread == 0) return false;
  std::fflush(stdout);
  fmt::print(stderr,
             "{}: {} steps were not searched, as md.0 lacks their index (`forebay recover`)\n",
             printable(path), searched.unread);
  return true;
}

struct Found {
  bool any = false, all_searched = true;
};

// Prints what is found in one file, or adds it to `files`.
Found find_in(const std::string& path, const Search& what, const FindOptions& options,
              Json& files) {
  if (!std::filesystem::exists(path))
    throw Error(Errc::enoent, path + " is not there", "look at the path");
  if (!is_bp(path))
    throw Error(Errc::enotsupport, path + " is no BP file", "other files have no index of values");
  Json blocks = Json::array();
  Count found_blocks = 0, steps = 0;
  std::size_t last = 0;
  const Searched searched = find_in_bp(path, what, options.values, [&](const FoundBlock& found) {
    steps += found_blocks == 0 || found.step != last;
    last = found.step;
    ++found_blocks;
    if (options.json)
      blocks.push_back(to_json(found));
    else
      fmt::print("{}: {}: {}; {}\n", printable(path), place_of(what.variable, found),
                 range_of(found), why(found));
  });
  if (options.json)
    files.push_back({{"path", path},
                     {"found", std::move(blocks)},
                     {"searched",
                      {{"steps", searched.steps},
                       {"blocks", searched.blocks},
                       {"unread_steps", searched.unread}}}});
  else
    fmt::print("{}: {} of {} blocks, in {} of {} steps\n", printable(path), found_blocks,
               searched.blocks, steps, searched.steps);
  return {found_blocks > 0, !tell_unread(path, searched)};
}

// An error of one file does not stop the search in the others.
int find_in_all(const FindOptions& options) {
  Json files = Json::array();
  bool any = false, senseless = false;
  const auto tell = [&](const Error& error) {
    senseless = true;
    std::fflush(stdout);
    print_error(error);
  };
  Search what;
  if (const auto nonsense = attempt_to([&] { what = parse_search(options.condition); })) {
    tell(*nonsense);
  } else {
    for (const std::string& path : options.paths) {
      const auto failed = attempt_to([&] {
        const Found found = find_in(path, what, options, files);
        any |= found.any;
        senseless |= !found.all_searched;
      });
      if (!failed) continue;
      tell(*failed);
      files.push_back({{"path", path}, {"error", failed->message()}});
    }
  }
  if (options.json) print_json({{"condition", options.condition}, {"files", std::move(files)}});
  if (senseless) return exit_unreadable;
  return any ? exit_done : exit_failed;
}

}  // namespace

static void add_find_command(CLI::App& app, int& status) {
  auto options = std::make_shared<FindOptions>();
  Command command(app, "find", "Find steps and blocks of BP files (BP3, BP4) by their values");
  command
      .add_option("CONDITION", options->condition,
                  "what values are to be: 'T > 300', 'T >= 1 and T < 5'")
      .required();
  command.add_option("FILE", options->paths, "BP files").required();
  command.add_flag("--values", options->values, "read these blocks and count the elements");
  command.add_flag("--json", options->json, "print one JSON object");
  command.footer(
      "Blocks are found by the least and greatest value that the index has of each; data files are "
      "not read, and need not be there, without --values. Operators: <, <=, >, >=, ==, !=. Only "
      "finite values count. \"perhaps\": a block whose range leaves it open, or that the index has "
      "no range of. Blocks of adios2 that hold NaN have wrong ranges there.\n"
      "Names are the file's own, else those that forebay ls shows: of a/b that is a.b, where the "
      "file "
      "has no a.b itself.\n"
      "Exit codes: 0 something was found, 1 nothing was, 2 a condition or a file that makes no "
      "sense, or steps that could not be searched.");
  command.callback([options, &status] { status = find_in_all(*options); });
}

extern const CommandEntry find_command{6, add_find_command};

}  // namespace forebay::tools
