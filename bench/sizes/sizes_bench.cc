// A benchmark that extrapolates sizes (H §V-C): what compressed fields take, block by block, says
// what the ranks of a larger run would write, and five pipelines write that much.
//
//   forebay-bench-sizes capture-sizes FILE --grid 8x8x8 --out SIZES.json
//   mpiexec -n 32 forebay-bench-sizes extrapolated SIZES.json --dir DIR [--files 8]
//   forebay-bench-sizes extrapolated SIZES.json --plan-only 100x100x100 --patches 2x2x1
//
// A plan of all ranks is made by one process; no rank's work in it depends on the others', so that
// its time is that of all ranks one after another. What is written is checked to be where it should
// be, after the last round.
#include <fcntl.h>
#include <mpi.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <future>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "base/timeline.h"
#include "comm/mpi.h"
#include "layout/chunked/gathered_writes.h"
#include "patches/planning.h"
#include "plan/file_space.h"
#include "sizes/capture.h"
#include "sizes/pipelines.h"

namespace {

using namespace forebay;
using namespace forebay::bench;
using Clock = std::chrono::steady_clock;
using nlohmann::json;

struct Options {
  std::string sizes, dir = ".", grid = "8x8x8", out, json_path, loads_path, plan_only, ranks;
  std::string patches = "1x1x1";
  Count files = 0;  // 0: an eighth of the ranks
  int variables = 16, rounds = 5, node_ranks = 64;
  double scale = 1;
};

std::string read_all(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Count files_of(const Options& options, Count ranks) {
  return options.files > 0 ? options.files : std::max<Count>(ranks / 8, 1);
}

json record_of(Pipeline pipeline, const Load& load, const PipelinePlan& plan) {
  const Count total = std::accumulate(load.bytes.begin(), load.bytes.end(), Count{0});
  return {{"workload", "extrapolated"},
          {"backend", name_of(pipeline)},
          {"ranks", load.count()},
          {"patches", load.bytes.size()},
          {"files", plan.file_bytes.size()},
          {"bytes", total},
          {"largest_over_mean", plan.largest_over_mean},
          {"moved_percent", 100.0 * static_cast<double>(plan.moved) / static_cast<double>(total)}};
}

void plan_only(const Options& options, const SizeGrid& grid, json& records) {
  auto start = Clock::now();
  const auto ranks = parse_lengths(options.plan_only), each = parse_lengths(options.patches);
  constexpr Count most = Count{1} << 28;
  Count patches = 1;
  for (const auto& lengths : {ranks, each}) {
    for (const Count n : lengths) {
      if (n > most / patches)
        throw std::runtime_error("--plan-only " + options.plan_only + " --patches " +
                                 options.patches + ": more than 2^28 patches");
      patches *= n;
    }
  }
  const Load load = extrapolated(grid, ranks, each, options.variables, options.scale);
  std::printf("%lld ranks, %zu patches: sizes in %.2f s\n", static_cast<long long>(load.count()),
              load.bytes.size(), seconds_since(start));
  if (!options.loads_path.empty())
    std::ofstream(options.loads_path) << json({{"bytes", load.bytes}}).dump() << '\n';
  std::printf("%-17s %9s %12s %8s %8s %8s\n", "pipeline", "files", "largest/mean", "moved %", "s",
              "MiB");
  for (const Pipeline pipeline : all_pipelines) {
    start = Clock::now();
    const auto plan = plan_of(pipeline, load, files_of(options, load.count()), options.node_ranks);
    json record = record_of(pipeline, load, plan);
    record["operation"] = "plan";
    record["seconds"] = {seconds_since(start)};
    record["peak_mib"] = peak_mib();
    std::printf("%-17s %9zu %12.2f %8.1f %8.2f %8.0f\n", name_of(pipeline).data(),
                plan.file_bytes.size(), plan.largest_over_mean,
                record["moved_percent"].get<double>(), record["seconds"][0].get<double>(),
                peak_mib());
    records.push_back(std::move(record));
  }
}

// -- runs

void check(int code, const char* what) {
  if (code != MPI_SUCCESS) throw std::runtime_error(std::string(what) + " failed");
}

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : fd_(::open(path.c_str(), O_CREAT | O_TRUNC | O_RDWR, 0666)) {
    if (fd_ < 0) throw std::runtime_error("cannot make " + path);
  }
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void write(const std::byte* from, Count bytes, Offset at) const {
    while (bytes > 0) {
      const ssize_t n = ::pwrite(fd_, from, static_cast<std::size_t>(bytes), at);
      if (n <= 0) throw std::runtime_error("a write failed");
      from += n;
      at += n;
      bytes -= n;
    }
  }

 private:
  int fd_;
};

std::byte mark_of(std::size_t patch) { return static_cast<std::byte>(patch % 251 + 1); }

/// This rank's patches, one behind the other.
struct Mine {
  std::vector<std::size_t> patches;
  std::vector<Offset> begin;  // of each, and the end
  std::vector<std::byte> bytes;
};

Mine make_mine(const Load& load, int rank) {
  Mine mine;
  mine.begin = {0};
  for (std::size_t p = 0; p < load.bytes.size(); ++p) {
    if (load.owner[p] != rank) continue;
    mine.patches.push_back(p);
    mine.begin.push_back(mine.begin.back() + load.bytes[p]);
  }
  mine.bytes.resize(static_cast<std::size_t>(mine.begin.back()));
  for (std::size_t i = 0; i < mine.patches.size(); ++i)
    std::fill(mine.bytes.begin() + mine.begin[i], mine.bytes.begin() + mine.begin[i + 1],
              mark_of(mine.patches[i]));
  return mine;
}

class Run {
 public:
  Run(const Options& options, const Load& load)
      : options_(options), load_(load), comm_(make_comm(MPI_COMM_WORLD)) {
    mine_ = make_mine(load, comm_.rank());
  }

  double carry_out(Pipeline pipeline) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto start = Clock::now();
    switch (pipeline) {
      case Pipeline::file_per_process:
        write_alone();
        break;
      case Pipeline::collective:
        write_collectively(MPI_COMM_WORLD, path(pipeline, 0));
        break;
      case Pipeline::group_collective:
        write_in_groups();
        break;
      default:
        write_gathered(pipeline);
    }
    double seconds = seconds_since(start);
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
  }

  /// Collective. Whether all bytes of the files are patches' own; then they go.
  bool check_and_remove(Pipeline pipeline, const PipelinePlan& plan) const {
    std::int64_t wrong = 0;
    if (comm_.is_root()) wrong = count_wrong(pipeline, plan);
    MPI_Bcast(&wrong, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    return wrong == 0;
  }

 private:
  std::string path(Pipeline pipeline, std::size_t number) const {
    return options_.dir + "/" + std::string(name_of(pipeline)) + "." + std::to_string(number);
  }

  void write_alone() const {
    const Descriptor file(path(Pipeline::file_per_process, static_cast<std::size_t>(comm_.rank())));
    file.write(mine_.bytes.data(), std::ssize(mine_.bytes), 0);
  }

  void write_collectively(MPI_Comm comm, const std::string& path) const {
    std::int64_t bytes = std::ssize(mine_.bytes), before = 0;
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    check(MPI_Exscan(&bytes, &before, 1, MPI_INT64_T, MPI_SUM, comm), "MPI_Exscan");
    MPI_File file;
    check(
        MPI_File_open(comm, path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file),
        "MPI_File_open");
    check(MPI_File_write_at_all(file, rank == 0 ? 0 : before, mine_.bytes.data(),
                                static_cast<int>(bytes), MPI_BYTE, MPI_STATUS_IGNORE),
          "MPI_File_write_at_all");
    check(MPI_File_close(&file), "MPI_File_close");
  }

  void write_in_groups() const {
    const Count files = files_of(options_, load_.count());
    const auto number = static_cast<int>(comm_.rank() * files / load_.count());
    MPI_Comm group;
    check(MPI_Comm_split(MPI_COMM_WORLD, number, comm_.rank(), &group), "MPI_Comm_split");
    write_collectively(group, path(Pipeline::group_collective, static_cast<std::size_t>(number)));
    MPI_Comm_free(&group);
  }

  /// The file of each of this rank's patches.
  std::vector<Count> files_of_mine(Pipeline pipeline, Count files) const {
    const auto patches = std::ssize(load_.bytes);
    std::vector<PatchSize> sizes;
    std::vector<Count> found;
    for (const std::size_t p : mine_.patches) {
      const auto number = static_cast<Count>(p);
      sizes.push_back({number, load_.bytes[p]});
      found.push_back(number * files / patches);
    }
    if (pipeline != Pipeline::balanced) return found;
    found.clear();
    for (const PatchFile& its : patches::balance_files(comm_, sizes, patches, files))
      found.push_back(its.file);
    return found;
  }

  // As the library does: nobody gathers sizes, and writers find places and get windows.
  void write_gathered(Pipeline pipeline) const {
    const Count files = files_of(options_, load_.count());
    const auto found = files_of_mine(pipeline, files);
    std::vector<chunked::OwnPart> parts;
    for (std::size_t i = 0; i < mine_.patches.size(); ++i) {
      const std::size_t p = mine_.patches[i];
      if (load_.bytes[p] > 0)
        parts.push_back({static_cast<std::uint32_t>(found[i]),
                         {static_cast<std::uint32_t>(p), 0},
                         load_.bytes[p],
                         mine_.bytes.data() + mine_.begin[i]});
    }
    Offset end = 0;
    const auto find_place = [&end](Count bytes) {
      const Offset place = end;
      end += round_up(bytes, FileSpace::unit);
      return place;
    };
    const auto writers = writers_of(load_, files, options_.node_ranks);
    chunked::GatheredWrites gathered(comm_, writers, parts, find_place, Count{8} << 20);
    const auto its = std::find(writers.begin(), writers.end(), comm_.rank());
    std::optional<Descriptor> file;
    if (its != writers.end())
      file.emplace(path(pipeline, static_cast<std::size_t>(its - writers.begin())));
    std::future<void> behind;  // a window is written while the next one comes
    for (std::uint32_t w = 0; w < gathered.windows(); ++w) {
      gathered.gather(w);
      if (behind.valid()) behind.get();
      if (!file) continue;
      behind = std::async(std::launch::async, [&file, runs = gathered.runs(w)] {
        for (const Extent& run : runs) file->write(run.memory, run.length, run.offset);
      });
    }
    if (behind.valid()) behind.get();
  }

  // Runs of one mark each; what pads a patch is zero.
  std::int64_t count_wrong(Pipeline pipeline, const PipelinePlan& plan) const {
    std::vector<Count> expected(252, 0), found(252, 0);
    for (std::size_t p = 0; p < load_.bytes.size(); ++p)
      expected[static_cast<std::size_t>(mark_of(p))] += load_.bytes[p];
    for (std::size_t f = 0; f < plan.file_bytes.size(); ++f) {
      const std::string text = read_all(path(pipeline, f));
      for (const char c : text) ++found[static_cast<unsigned char>(c)];
      ::unlink(path(pipeline, f).c_str());
    }
    std::int64_t wrong = 0;
    for (std::size_t mark = 1; mark < 252; ++mark) wrong += expected[mark] != found[mark];
    return wrong;
  }

  const Options& options_;
  const Load& load_;
  Comm comm_;
  Mine mine_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Rounds take turns, the other way round each time.
int run(const Options& options, const SizeGrid& grid, json& records) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Lengths ranks{};
  if (options.ranks.empty()) {
    int dims[3] = {0, 0, 0};
    MPI_Dims_create(size, 3, dims);
    ranks = {dims[0], dims[1], dims[2]};
  } else {
    ranks = parse_lengths(options.ranks);
  }
  const Load load =
      extrapolated(grid, ranks, parse_lengths(options.patches), options.variables, options.scale);
  if (load.count() != size) throw std::runtime_error("the grid of ranks has another number");
  Run runs(options, load);
  std::vector<std::vector<double>> seconds(std::size(all_pipelines));
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < std::size(all_pipelines); ++i) {
      const std::size_t which = round % 2 == 0 ? i : std::size(all_pipelines) - 1 - i;
      seconds[which].push_back(runs.carry_out(all_pipelines[which]));
    }
  }
  int wrong = 0;
  for (std::size_t i = 0; i < std::size(all_pipelines); ++i) {
    const auto plan =
        plan_of(all_pipelines[i], load, files_of(options, load.count()), options.node_ranks);
    const bool right = runs.check_and_remove(all_pipelines[i], plan);
    wrong += !right;
    if (rank != 0) continue;
    json record = record_of(all_pipelines[i], load, plan);
    record["operation"] = "write";
    record["seconds"] = seconds[i];
    if (i == 0)
      std::printf("%d ranks, %.1f MiB\n%-17s %6s %12s %8s %10s %8s\n", size,
                  record["bytes"].get<double>() / (1 << 20), "pipeline", "files", "largest/mean",
                  "moved %", "median s", "values");
    std::printf("%-17s %6zu %12.2f %8.1f %10.4f %8s\n", name_of(all_pipelines[i]).data(),
                plan.file_bytes.size(), plan.largest_over_mean,
                record["moved_percent"].get<double>(), median(seconds[i]),
                right ? "right" : "WRONG");
    records.push_back(std::move(record));
  }
  return wrong == 0 ? 0 : 1;
}

void add_options(CLI::App& app, Options& o) {
  auto* capture = app.add_subcommand("capture-sizes", "bytes of a file's chunks, by blocks");
  capture->add_option("FILE", o.sizes)->required();
  capture->add_option("--grid", o.grid, "blocks, slowest dimension first")->capture_default_str();
  capture->add_option("--out", o.out, "where to; else to the screen");
  auto* sub = app.add_subcommand("extrapolated", "sizes of a larger run through five pipelines");
  sub->add_option("SIZES", o.sizes)->required();
  sub->add_option("--dir", o.dir, "where files are written")->capture_default_str();
  sub->add_option("--files", o.files, "of the last three pipelines; else an eighth of the ranks");
  sub->add_option("--variables", o.variables, "each with those sizes")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  sub->add_option("--scale", o.scale, "of the sizes")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  sub->add_option("--ranks", o.ranks, "the grid of ranks; else as MPI_Dims_create has it");
  sub->add_option("--patches", o.patches, "of a rank")->capture_default_str();
  sub->add_option("--node-ranks", o.node_ranks, "of a node")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  sub->add_option("--rounds", o.rounds, "medians are over these")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  sub->add_option("--plan-only", o.plan_only, "plans for a grid of so many ranks, on one process");
  sub->add_option("--loads", o.loads_path, "with --plan-only: bytes of each patch go there");
  sub->add_option("--json", o.json_path, "records go there, too");
  app.require_subcommand(1);
}

int carry_out(const CLI::App& app, const Options& options) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (app.got_subcommand("capture-sizes")) {
    const std::string text = print(capture_sizes(options.sizes, parse_lengths(options.grid)));
    if (options.out.empty())
      std::fputs(text.c_str(), stdout);
    else
      std::ofstream(options.out) << text;
    return 0;
  }
  const SizeGrid grid = parse_size_grid(read_all(options.sizes));
  json records = json::array();
  int code = 0;
  if (options.plan_only.empty())
    code = run(options, grid, records);
  else
    plan_only(options, grid, records);
  if (rank == 0 && !options.json_path.empty())
    std::ofstream(options.json_path) << records.dump(1) << '\n';
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
  int code = 1;
  {
    CLI::App app("Sizes of compressed blocks, extrapolated and written");
    Options options;
    add_options(app, options);
    try {
      app.parse(argc, argv);
      code = carry_out(app, options);
    } catch (const CLI::ParseError& error) {
      code = app.exit(error);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "forebay-bench-sizes: %s\n", error.what());
      int ranks = 0;
      MPI_Comm_size(MPI_COMM_WORLD, &ranks);
      if (ranks > 1) MPI_Abort(MPI_COMM_WORLD, 1);  // others may wait for this one
    }
  }
  MPI_Finalize();
  return code;
}
