// forebay diff: compares two files by value, whatever their formats and layouts.
#include <fmt/format.h>

#include <cstdio>

#include "base/text_table.h"
#include "files/open_source.h"
#include "tools/attribute_json.h"
#include "tools/commands.h"
#include "tools/commands/compare.h"
#include "tools/json.h"
#include "tools/leftovers.h"
#include "tools/progress.h"

namespace forebay::tools {
namespace {

struct DiffOptions {
  std::string a, b;
  CompareOptions how;
  bool header_only = false, data_only = false, json = false, quiet = false;
};

std::string index_text(const Difference& difference) {
  return fmt::format("[{}]", fmt::join(difference.index, ", "));
}

std::string variable_text(const VariableDifference& v) {
  const std::string name = printable(v.name);
  if (!v.not_compared.empty()) return fmt::format("{}: not compared: {}\n", name, v.not_compared);
  std::string where;
  if (!v.common.empty()) {
    where = fmt::format("shape ({}) in A, ({}) in B; in the common part ({}) ",
                        fmt::join(v.shape_a, ", "), fmt::join(v.shape_b, ", "),
                        fmt::join(v.common, ", "));
    if (v.differences == 0)
      return fmt::format("{}: {}all {} values are alike\n", name, where, grouped(v.elements));
  }
  std::string text = fmt::format(
      "{}: {}{} of {} values differ, by {:.6g} at most ({:.3g} relative)\n", name, where,
      grouped(v.differences), grouped(v.elements), v.largest, v.largest_relative);
  TextTable table("lll");
  for (const Difference& d : v.first) table.add({name + index_text(d), d.a, d.b});
  text += table.text("  ");
  if (v.differences > std::ssize(v.first))
    text += fmt::format("  and {} more\n", grouped(v.differences - std::ssize(v.first)));
  return text;
}

std::string result_text(const Comparison& result, const DiffOptions& options) {
  std::string text;
  if (!result.same()) {
    text += fmt::format("A: {}\nB: {}\n", printable(options.a), printable(options.b));
    for (const std::string& line : result.header) text += line + "\n";
    for (const VariableDifference& v : result.variables) text += variable_text(v);
    return text;
  }
  const std::string what =
      options.how.data ? fmt::format("{} variables, {} values", grouped(result.variables_compared),
                                     grouped(result.elements_compared))
                       : "headers only";
  return fmt::format("same: {}\n", what);
}

Json result_json(const Comparison& result, const DiffOptions& options) {
  Json json = {{"a", options.a},
               {"b", options.b},
               {"same", result.same()},
               {"header", result.header},
               {"variables_compared", result.variables_compared},
               {"values_compared", result.elements_compared}};
  json["variables"] = Json::array();
  for (const VariableDifference& v : result.variables) {
    Json item = {{"name", v.name}};
    if (!v.not_compared.empty()) {
      item["not_compared"] = v.not_compared;
    } else {
      if (!v.common.empty()) {
        item["shape_a"] = v.shape_a;
        item["shape_b"] = v.shape_b;
        item["compared"] = v.common;
      }
      item["values"] = v.elements;
      item["differences"] = v.differences;
      item["largest"] = json_number(v.largest);
      item["largest_relative"] = json_number(v.largest_relative);
      item["first"] = Json::array();
      for (const Difference& d : v.first)
        item["first"].push_back({{"index", d.index}, {"a", d.a}, {"b", d.b}});
    }
    json["variables"].push_back(std::move(item));
  }
  return json;
}

}  // namespace

static void add_diff_command(CLI::App& app, int& status) {
  auto options = std::make_shared<DiffOptions>();
  Command command(app, "diff", "Compare two files by value, whatever their formats");
  command.add_option("A", options->a, "a netCDF file of any format, a BP file, or an HDF5 file")
      .required();
  command.add_option("B", options->b, "another one").required();
  command.add_option("--rtol", options->how.rtol, "relative tolerance: of |b|").not_negative();
  command.add_option("--atol", options->how.atol, "absolute tolerance").not_negative();
  command
      .add_option("-v,--variable", options->how.variables,
                  "compare this variable only; may be given several times")
      .type_name("VAR")
      .expected(1);
  command.add_flag("--nan-differs", options->how.nan_differs, "take NaN as different from NaN");
  command.add_option("-n,--examples", options->how.examples,
                     "differing values to show for each variable (5)");
  const Option header = command.add_flag("--header", options->header_only,
                                         "compare dimensions, definitions and attributes only");
  command.add_flag("--data", options->data_only, "compare values only").excludes(header);
  command.add_flag("-q,--quiet", options->quiet, "print nothing; the exit code tells");
  command.add_flag("--json", options->json, "print one JSON object");
  command.footer(
      "Values a and b are alike if |a - b| <= atol + rtol |b|; NaN is like NaN. Variables are "
      "compared by name; how they are stored, and the order of definitions, make no "
      "difference. Variables of one rank but other lengths are compared where both have "
      "elements, and count as different. Strings, compound types and the like of HDF5 files are "
      "not compared: only whether both files have them. A file that ends before its variables do, "
      "as PnetCDF leaves it where the last ones were never written, has zeros there.\nExit codes: "
      "0 the same, 3 different, 1 a "
      "file cannot be read.");
  command.callback([options, &status] {
    options->how.header = !options->data_only;
    options->how.data = !options->header_only;
    for (const std::string& path : {options->a, options->b}) tell_notes(path);
    const auto a = open_source(options->a), b = open_source(options->b);
    for (Source* file : {a.get(), b.get()}) {
      const Count missing = file->zero_beyond_end();
      if (missing > 0 && !options->quiet && options->how.data)
        fmt::print(
            stderr,
            "forebay: {} ends {} bytes before its variables do, which were never written, or "
            "cut off; they count as zero\n",
            printable(file->path()), grouped(missing));
    }
    Comparison result;
    {
      Progress progress("diff");
      options->how.progress = [&](Count done, Count all) { progress.tell(done, all); };
      result = compare(*a, *b, options->how);
    }
    if (options->json) {
      print_json(result_json(result, *options));
    } else if (!options->quiet) {
      fmt::print("{}", result_text(result, *options));
    }
    status = result.same() ? exit_done : exit_different;
  });
}

extern const CommandEntry diff_command{5, add_diff_command};

}  // namespace forebay::tools
