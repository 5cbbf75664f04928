#pragma once

// The command line: options that all programs share, and workloads, which each program adds as it
// has them.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/array_file.h"
#include "driver/runner.h"
#include "limits/workload_posix.h"
#include "workloads/arrays_checkerboard.h"
#include "workloads/arrays_field.h"
#include "workloads/arrays_flash.h"
#include "workloads/arrays_pandana.h"
#include "workloads/arrays_s3d.h"
#include "workloads/arrays_small.h"
#include "workloads/e3sm_case.h"
#include "workloads/read_back.h"
#include "workloads/workload.h"
#include "workloads/workload_blocks.h"
#include "workloads/workload_metadata.h"

// CLI11 takes longer to compile than what uses it: two files include it for all programs.
namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace forebay::bench {

struct Command {
  std::string dir = ".";
  std::string file = "forebay-bench.nc";
  std::string op = "both";
  std::string json;
  std::string stage_out;  ///< write in this directory and copy to `dir`; empty: write in `dir`
  std::vector<std::string> hints;
  RunOptions run;
  bool no_verify = false;
  /// Set by the subcommand that was given. Collective.
  std::function<std::unique_ptr<Workload>(const Team&)> make;
};

/// Options of the workloads of dense arrays.
struct ArrayCommand {
  CheckerboardOptions checkerboard;
  FieldOptions field;
  FlashOptions flash;
  PandanaOptions pandana;
  S3dOptions s3d;
  SmallOptions small;
  std::string real;  ///< FILE:VARIABLE
  ArrayStorage storage;
  ReadOptions read;
  int as_ranks = 0;  ///< the pattern of so many ranks; 0: of those that run
};

/// Options of the E3SM workload.
struct E3smCommand {
  std::string case_letter = "F";
  std::string generate;
  std::string wait = "usual";
  bool no_merge = false;
  bool by_maps = false, blobs = false, floor = false, pass = false;  ///< of PnetCDF's interface
  int file_ranks = 0;  ///< that share a file of blobs; 0: a node's
  E3smOptions options;
};

/// Options of the FLASH I/O workload. Data moves by blocking collective calls, one a variable.
struct FlashIoCommand {
  FlashIoCommand() { storage.blocking = true; }
  MPI_Offset blocks = 20;  ///< of a rank
  ArrayStorage storage;
  ReadOptions read;
};

/// For options that are sizes: "4096", "4KiB", "64MiB", "1G" become bytes.
CLI::Validator size_validator();

/// Adds a program's workloads to `app`; what they set lives as long as the process. Each program
/// links one definition.
void add_workloads(CLI::App& app, Command& command);

/// Makes a workload of a pattern, as the backend measures it.
using MakeArrays = std::function<std::unique_ptr<Workload>(std::unique_ptr<const ArrayPattern>,
                                                           const ArrayCommand&, const Team&)>;

/// Makes an E3SM workload, as the backend measures it.
using MakeE3sm = std::function<std::unique_ptr<Workload>(const E3smOptions&, const Team&)>;

/// Adds options that say what is read back.
void add_read_options(CLI::App* sub, ReadOptions& read);

/// Adds e3sm. Returns it, for options that only one backend has.
CLI::App* add_e3sm_workload(CLI::App& app, Command& command, E3smCommand& e3sm,
                            const MakeE3sm& make);

/// Adds options of PnetCDF's interface to e3sm.
void add_pnetcdf_options(CLI::App* sub, E3smCommand& e3sm);

/// Makes a workload of blocks, as the backend measures it.
using MakeBlocks = std::function<std::unique_ptr<Workload>(const BlockOptions&, const Team&)>;

/// Adds one of the shapes of blocks, that of `blocks`, under a name.
void add_block_workload(CLI::App& app, Command& command, const char* name, const char* what,
                        BlockOptions& blocks, const MakeBlocks& make);

/// Makes a workload of variables and attributes, as the backend measures it.
using MakeMetadata = std::function<std::unique_ptr<Workload>(const MetadataOptions&, const Team&)>;

/// Adds metadata.
void add_metadata_workload(CLI::App& app, Command& command, MetadataOptions& metadata,
                           const MakeMetadata& make);

/// Adds one of the ways without a library, that of `posix`, under a name.
void add_posix_workload(CLI::App& app, Command& command, const char* name, const char* what,
                        PosixOptions& posix);

/// Adds flash-io.
void add_flash_io_workload(CLI::App& app, Command& command, FlashIoCommand& flash_io);

/// Adds checkerboard2d, field, flash, pandana, s3d and small.
void add_array_workloads(CLI::App& app, Command& command, ArrayCommand& arrays,
                         const MakeArrays& make);

/// The program: measures what the command line says with a backend of this name. Between MPI_Init
/// and MPI_Finalize; gives the exit code.
int run_program(int argc, char** argv, const char* backend);

}  // namespace forebay::bench
