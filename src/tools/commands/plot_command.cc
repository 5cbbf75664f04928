// forebay plot: draws with the Python package (python/forebay/plot). Its options are declared here
// for --help, man pages and completion. Then this process becomes Python.
#include <cstdlib>
#include <memory>

#include "base/types.h"
#include "tools/commands.h"
#include "tools/other_program.h"

namespace forebay::tools {
namespace {

constexpr const char* program = R"(import sys
try:
    from forebay.plot.__main__ import main
except ImportError as error:
    sys.exit(f'''forebay: plot: {sys.executable} cannot draw: {error}
         it needs the Python package: pip install "forebay[plot]" (FOREBAY_PYTHON names another Python)''')
sys.exit(main()))";

// Returns the Python beside this command, where pip puts both, or the first in PATH.
std::string find_python() {
  const char* const given = std::getenv("FOREBAY_PYTHON");
  if (given != nullptr && *given != '\0') return given;
  const std::string built = beside_this_command("../lib/forebay/python3");
  return built.empty() ? find_program("python3") : built;
}

[[noreturn]] void become_python(std::vector<std::string> words) {
  words.insert(words.begin(), {find_python(), "-c", program});
  ::setenv("PYTHONSAFEPATH", "1", 1);  // ignores packages in the working directory
  become(std::move(words),
         "plot needs Python 3.11 or newer, with: pip install \"forebay[plot]\" (FOREBAY_PYTHON "
         "names another Python)");
}

// Only given options are passed on. Python parses their values.
struct Values {
  std::string file, variable, output, slice, coords, range, report, plan;
  Count level = 0, record = 0;
  int resolution_level = 0;
  int entry = -1;
  bool chunks = false;
};

}  // namespace

static void add_plot_command(CLI::App& app, int& /*status*/) {
  const auto values = std::make_shared<Values>();
  Command command(
      app, "plot",
      "Draw a slice of a variable, its chunks, a report of timings, or a plan, with matplotlib");
  command.add_option("FILE", values->file,
                     "a netCDF file of any format, a BP file, or an HDF5 file");
  command.add_option("VAR", values->variable, "a variable of numbers");
  command.add_option("-o,--output", values->output, "the picture: .png, .svg or .pdf")
      .required()
      .type_name("PICTURE");
  command.add_option("-s,--slice", values->slice,
                     "what is shown, as NumPy has it (\"0, 10:50, ::2\") or by names "
                     "(\"time=-1, lat=10:50\")");
  command.add_option("-l,--level", values->level,
                     "index along the level dimension, from 0; -1 is the last");
  command.add_option("-r,--record", values->record, "record, from 0; -1 is the last");
  command
      .add_option("-c,--coords", values->coords,
                  "variables with the coordinates (default: found by units or name)")
      .type_name("LAT,LON");
  command.add_option("--range", values->range, "values at the ends of the colours")
      .type_name("LOW,HIGH");
  command.add_option(
      "--resolution-level", values->resolution_level,
      "of a variable in patches, the level that is drawn (default: the coarsest that "
      "fills the picture, or 0 with --slice or --level)");
  command.add_flag(
      "--chunks", values->chunks,
      "draw how many bytes each chunk of VAR takes, and who encoded it (with --report), "
      "or which data file it lies in, or where in the file it is");
  command
      .add_option("--report", values->report,
                  "draw a timeline of where time went on each rank, from a file that "
                  "FOREBAY_REPORT=json:PATH made")
      .type_name("JSON");
  command
      .add_option(
          "--plan", values->plan,
          "draw what each node sends, gets and stores, from what forebay plan --json printed")
      .type_name("JSON");
  command.add_option("--entry", values->entry,
                     "of a report of several files, which, from 0; -1 is the last (the default)");
  command.footer(
      "Of the dimensions that are neither fixed by an index nor chosen otherwise, the last two "
      "longer than 1 are drawn, and of the others the first index; of one dimension a line. "
      "Latitudes and longitudes are found by their units or names; where they are of one "
      "dimension, as on unstructured grids, every pixel takes the nearest point.\n"
      "Files do not record which rank encoded a chunk: --chunks takes it from a report of the run "
      "that wrote the file, made by FOREBAY_REPORT=json:PATH. HDF5 (netCDF-4) files have no "
      "owners.\n"
      "--plan draws the numbers of each node, which forebay plan gives for up to 65536 of them; of "
      "what forebay bundle plan --json printed, for several numbers of ranks one behind the other, "
      "a line for each scheme.\n"
      "--report draws a lane for each rank: how much of every stretch of time each step took. "
      "Reports of earlier versions, which do not tell when that was, give bars.\n"
      "The Python package draws (pip install \"forebay[plot]\"; forebay.plot has the same as "
      "functions). FOREBAY_PYTHON names the Python that has it; without, it is the one that was "
      "built or installed with this command, else the first python3 in PATH.");
  command.callback([command, values] { become_python(command.given()); });
}

extern const CommandEntry plot_command{10, add_plot_command};

}  // namespace forebay::tools
