// forebay plot: pictures of a variable's values, of its chunks, and of where time went.
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/text_table.h"
#include "files/hdf5/open.h"
#include "tools/commands.h"
#include "tools/plot_parts.h"

namespace forebay::tools {
namespace {

struct Options {
  FieldOptions field;
  std::string path, output, report;
  std::vector<std::string> coordinates;
  std::vector<double> range;
  Count level = 0, record = 0;
  bool chunks = false;
  int entry = -1;
};

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void plot_report(const Options& options) {
  std::string summary;
  draw_report(options.report, options.entry, summary).write_png(options.output);
  fmt::print("{}: {}\n", options.output, printable(summary));
}

void plot_chunks(const Options& options) {
  const auto file = open_source(options.path);
  std::string summary;
  draw_chunks(*file, options.field.variable, options.report, summary).write_png(options.output);
  fmt::print("{}: {}\n", options.output, printable(summary));
}

void plot_field(Options& options) {
  if (!options.coordinates.empty()) {
    options.field.latitude = options.coordinates[0];
    options.field.longitude = options.coordinates[1];
  }
  const auto file = open_source(options.path);
  const Field field = read_field(*file, options.field);
  Range range{field.min, field.max};
  if (!options.range.empty()) range = {options.range[0], options.range[1]};
  draw_field(field, base_name(options.path), range).write_png(options.output);
  fmt::print("{}: {}", options.output, printable(field.title));
  if (std::isnan(field.min)) {
    fmt::print(", no data");
  } else {
    fmt::print(", {:.6g} to {:.6g}", field.min, field.max);
  }
  for (const std::string& remark : field.remarks) fmt::print(", {}", printable(remark));
  fmt::print("\n");
}

void run(Options& options) {
  const bool has_variable = !options.path.empty() && !options.field.variable.empty();
  if (options.chunks && has_variable) {
    plot_chunks(options);
  } else if (!options.report.empty() && options.path.empty() && !options.chunks) {
    plot_report(options);
  } else if (has_variable && options.report.empty()) {
    plot_field(options);
  } else {
    throw Error(Errc::einval, "plot: it is not clear what to draw",
                "forebay plot FILE VAR -o PNG, forebay plot FILE VAR --chunks [--report JSON] "
                "-o PNG, or forebay plot --report JSON -o PNG");
  }
}

}  // namespace

void add_plot_command(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  Command command(
      app, "plot",
      "Draw a slice of a variable, its chunks, or a report of timings as a PNG picture");
  command.add_option("FILE", options->path, "a netCDF file of any format, or an HDF5 file");
  command.add_option("VAR", options->field.variable, "a variable of numbers");
  command.add_option("-o,--output", options->output, "the picture").required();
  command.add_option("-s,--slice", options->field.slice,
                     "what is shown, as NumPy has it (\"0, 10:50, ::2\") or by names "
                     "(\"time=-1, lat=10:50\")");
  const Option level = command.add_option(
      "-l,--level", options->level, "index along the level dimension, from 0; -1 is the last");
  const Option record =
      command.add_option("-r,--record", options->record, "record, from 0; -1 is the last");
  command
      .add_option("-c,--coords", options->coordinates,
                  "LAT,LON: variables with the coordinates (default: found by units or name)")
      .delimiter(',')
      .expected(2);
  command.add_option("--range", options->range, "LOW,HIGH: values at the ends of the colours")
      .delimiter(',')
      .expected(2);
  command.add_flag(
      "--chunks", options->chunks,
      "draw how many bytes each chunk of VAR takes, and who encoded it (with --report) "
      "or where in the file it is");
  command.add_option("--report", options->report,
                     "draw a timeline of where time went on each rank, from a file that "
                     "FOREBAY_REPORT=json:PATH made");
  command.add_option("--entry", options->entry,
                     "of a report of several files, which, from 0; -1 is the last (the default)");
  command.footer(
      "Of the dimensions that are neither fixed by an index nor chosen otherwise, the last two "
      "longer than 1 are "
      "drawn, and of the others the first index. Latitudes and longitudes are found by their units "
      "or names; where they are of one dimension, as on unstructured grids, every pixel takes the "
      "nearest point.\n"
      "Files do not record which rank encoded a chunk: --chunks takes it from a report of the run "
      "that wrote the file, made by FOREBAY_REPORT=json:PATH. HDF5 (netCDF-4) files have no "
      "owners.\n"
      "--report draws a lane for each rank: how much of every stretch of time each step took. "
      "Reports of earlier versions, which do not tell when that was, give bars.");
  command.callback([options, level, record, &status] {
    if (level.given()) options->field.level = options->level;
    if (record.given()) options->field.record = options->record;
    run(*options);
    status = exit_done;
  });
}

}  // namespace forebay::tools
