// A weather model's output: several files of very different sizes a step, written through PnetCDF's
// C interface as such models do, or as "BPAR" (docs/bundles.md) describes what they did before: a
// master for each file gathers planes and writes them. `split`: what somebody would write by hand
// who knows the sizes: a group of ranks for each file, which have a range of its planes each by one
// MPI_Alltoallw, and write it with one call.
//
//     geos        seven files with 60, 48, 36, 27, 22, 5 and 2 planes, after the sizes of GEOS-5's
//     manyfiles   two files with 100 planes and 28 with one
//
// Each rank has a block of every plane. Seconds are those of all steps, on the slowest rank, from
// the first create to the last close, and to where what waits has been written.
#include <fcntl.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Options {
  std::string workload = "geos", directory = ".", way = "files", json, hints;
  int steps = 8, nx = 144, ny = 91, compute = 0;
};

int rank = 0, size = 1;

/// Seconds of this rank, of all steps.
struct Phases {
  double create = 0, define = 0, put = 0, close = 0;
} phases;

/// The time since it was asked last.
double lap() {
  static double before = MPI_Wtime();
  const double now = MPI_Wtime();
  return now - std::exchange(before, now);
}

void check(int code, const char* what) {
  if (code == NC_NOERR) return;
  std::fprintf(stderr, "rank %d: %s: %s\n", rank, what, ncmpi_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

std::vector<int> planes_of(const std::string& workload) {
  if (workload == "geos") return {60, 48, 36, 27, 22, 5, 2};
  std::vector<int> planes(30, 1);
  planes[0] = planes[1] = 100;
  return planes;
}

/// A rank's block of a plane.
struct Block {
  int y = 0, ny = 0, x = 0, nx = 0;
  Block(const Options& options, int of) {
    int columns = 1;
    while ((columns + 1) * (columns + 1) <= size) ++columns;
    while (size % columns != 0) --columns;
    const int rows = size / columns, row = of / columns, column = of % columns;
    y = options.ny * row / rows, ny = options.ny * (row + 1) / rows - y;
    x = options.nx * column / columns, nx = options.nx * (column + 1) / columns - x;
  }
};

float value(int file, int plane, int y, int x) {
  return static_cast<float>(file * 1000 + plane) + static_cast<float>(y * 200 + x) * 1e-4F;
}

std::string path_of(const Options& options, int step, int file) {
  return options.directory + "/bench_" + std::to_string(step) + "_" + std::to_string(file) + ".nc";
}

void write_file(const Options& options, int step, int file, int planes,
                const std::vector<float>& values, MPI_Info info) {
  const Block block(options, rank);
  int id = -1, dims[3], var = -1;
  lap();
  check(ncmpi_create(MPI_COMM_WORLD, path_of(options, step, file).c_str(),
                     NC_CLOBBER | NC_64BIT_DATA, info, &id),
        "create");
  phases.create += lap();
  check(ncmpi_def_dim(id, "lev", planes, &dims[0]), "def_dim");
  check(ncmpi_def_dim(id, "lat", options.ny, &dims[1]), "def_dim");
  check(ncmpi_def_dim(id, "lon", options.nx, &dims[2]), "def_dim");
  check(ncmpi_def_var(id, "field", NC_FLOAT, 3, dims, &var), "def_var");
  check(ncmpi_enddef(id), "enddef");
  phases.define += lap();
  const MPI_Offset start[] = {0, block.y, block.x}, count[] = {planes, block.ny, block.nx};
  check(ncmpi_put_vara_float_all(id, var, start, count, values.data()), "put");
  phases.put += lap();
  check(ncmpi_close(id), "close");
  phases.close += lap();
}

void must(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void swap_bytes(std::vector<float>& values, std::size_t from) {
  for (std::size_t i = from; i < values.size(); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &values[i], sizeof bits);
    bits = __builtin_bswap32(bits);
    std::memcpy(&values[i], &bits, sizeof bits);
  }
}

/// A master a file: it gathers each plane and writes it with one call. Masters work at a time.
void write_by_masters(const Options& options, int step, const std::vector<int>& planes,
                      const std::vector<std::vector<float>>& values) {
  const Block mine(options, rank);
  const int cells = mine.nx * mine.ny;
  std::vector<float> plane(static_cast<std::size_t>(options.nx * options.ny)), ordered(plane);
  std::vector<int> counts, places;
  for (int r = 0, at = 0; r < size; ++r) {
    const Block block(options, r);
    counts.push_back(block.nx * block.ny);
    places.push_back(at);
    at += counts.back();
  }
  std::vector<int> descriptors(planes.size(), -1);
  const auto files = static_cast<int>(planes.size());
  for (int f = rank; f < files; f += size) {
    int& fd = descriptors[static_cast<std::size_t>(f)];
    fd = ::open(path_of(options, step, f).c_str(), O_RDWR | O_CREAT | O_TRUNC, 0666);
    must(fd >= 0, "open");
  }
  // All files' planes of one level go at a time, as far as there are masters.
  const int most = *std::max_element(planes.begin(), planes.end());
  for (int k = 0; k < most; ++k) {
    for (int begin = 0; begin < files; begin += size) {
      std::vector<MPI_Request> requests;
      const int end = std::min(files, begin + size);
      for (int f = begin; f < end; ++f) {
        if (k >= planes[static_cast<std::size_t>(f)]) continue;
        requests.emplace_back();
        MPI_Igatherv(values[static_cast<std::size_t>(f)].data() + k * cells, cells, MPI_FLOAT,
                     plane.data(), counts.data(), places.data(), MPI_FLOAT, f % size,
                     MPI_COMM_WORLD, &requests.back());
      }
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
      const int own = begin + rank;
      if (own >= end || k >= planes[static_cast<std::size_t>(own)]) continue;
      const float* from = plane.data();
      for (int r = 0; r < size; ++r) {
        const Block block(options, r);
        for (int y = block.y; y < block.y + block.ny; ++y, from += block.nx)
          std::memcpy(&ordered[static_cast<std::size_t>(y) * static_cast<std::size_t>(options.nx) +
                               static_cast<std::size_t>(block.x)],
                      from, sizeof(float) * static_cast<std::size_t>(block.nx));
      }
      swap_bytes(ordered, 0);
      const std::size_t bytes = ordered.size() * sizeof(float);
      const auto offset = static_cast<off_t>(1024 + static_cast<std::size_t>(k) * bytes);
      must(::pwrite(descriptors[static_cast<std::size_t>(own)], ordered.data(), bytes, offset) ==
               static_cast<ssize_t>(bytes),
           "pwrite");
    }
  }
  const std::vector<char> header(1024);
  for (const int fd : descriptors) {
    if (fd < 0) continue;
    must(::pwrite(fd, header.data(), header.size(), 0) == 1024, "pwrite");
    must(::close(fd) == 0, "close");
  }
}

struct Group {
  std::vector<int> files;
  int first = 0, ranks = 1, planes = 0;
};

/// Small files share a group where there are more files than ranks; then the next rank goes to the
/// group with most planes a rank.
std::vector<Group> groups_of(const std::vector<int>& planes) {
  std::vector<Group> groups;
  for (std::size_t f = 0; f < planes.size(); ++f)
    groups.push_back({{static_cast<int>(f)}, 0, 1, planes[f]});
  const auto fewer = [](const Group& a, const Group& b) { return a.planes < b.planes; };
  while (static_cast<int>(groups.size()) > size) {
    std::sort(groups.begin(), groups.end(), fewer);
    groups[1].files.insert(groups[1].files.end(), groups[0].files.begin(), groups[0].files.end());
    groups[1].planes += groups[0].planes;
    groups.erase(groups.begin());
  }
  for (int left = size - static_cast<int>(groups.size()); left > 0; --left)
    ++std::max_element(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
        return a.planes * b.ranks < b.planes * a.ranks;
      })->ranks;
  int first = 0;
  for (Group& group : groups) {
    group.first = first;
    first += group.ranks;
  }
  return groups;
}

int first_plane(int planes, const Group& group, int member) {
  return planes * member / group.ranks;
}

void write_by_groups(const Options& options, int step, const std::vector<int>& planes,
                     const std::vector<std::vector<float>>& values) {
  static const std::vector<Group> groups = groups_of(planes);
  const auto n = static_cast<std::size_t>(size);
  const Block mine(options, rank);
  const int cells = mine.nx * mine.ny;
  std::size_t rounds = 0;
  for (const Group& group : groups) rounds = std::max(rounds, group.files.size());
  constexpr std::size_t header = 256;  // of floats
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<int> to(n), from(n), at(n);
    std::vector<MPI_Datatype> to_types(n, MPI_FLOAT), from_types(n, MPI_FLOAT);
    std::vector<float> part;
    int file = -1, begin = 0, count = 0;
    for (const Group& group : groups) {
      if (round >= group.files.size()) continue;
      const int f = group.files[round], all = planes[static_cast<std::size_t>(f)];
      for (int member = 0; member < group.ranks; ++member) {
        const int first = first_plane(all, group, member);
        const int some = first_plane(all, group, member + 1) - first;
        const auto owner = static_cast<std::size_t>(group.first + member);
        // Of several files: where each stands in memory is told by the type.
        if (some > 0) {
          MPI_Aint address = 0;
          MPI_Get_address(values[static_cast<std::size_t>(f)].data() + first * cells, &address);
          const int length = some * cells;
          MPI_Type_create_hindexed(1, &length, &address, MPI_FLOAT, &to_types[owner]);
          MPI_Type_commit(&to_types[owner]);
          to[owner] = 1;
        }
        if (group.first + member != rank) continue;
        file = f, begin = first, count = some;
      }
    }
    part.resize(header + static_cast<std::size_t>(count) *
                             static_cast<std::size_t>(options.nx * options.ny));
    for (int r = 0; r < size && count > 0; ++r) {
      const Block block(options, r);
      const int sizes[] = {count, options.ny, options.nx}, some[] = {count, block.ny, block.nx};
      const int starts[] = {0, block.y, block.x};
      MPI_Datatype in_plane = MPI_DATATYPE_NULL;
      MPI_Type_create_subarray(3, sizes, some, starts, MPI_ORDER_C, MPI_FLOAT, &in_plane);
      MPI_Aint address = 0;
      MPI_Get_address(part.data() + header, &address);
      const int one = 1;
      auto& type = from_types[static_cast<std::size_t>(r)];
      MPI_Type_create_hindexed(1, &one, &address, in_plane, &type);
      MPI_Type_commit(&type);
      MPI_Type_free(&in_plane);
      from[static_cast<std::size_t>(r)] = 1;
    }
    MPI_Alltoallw(MPI_BOTTOM, to.data(), at.data(), to_types.data(), MPI_BOTTOM, from.data(),
                  at.data(), from_types.data(), MPI_COMM_WORLD);
    for (std::size_t r = 0; r < n; ++r) {
      if (to[r] != 0) MPI_Type_free(&to_types[r]);
      if (from[r] != 0) MPI_Type_free(&from_types[r]);
    }
    if (count == 0) continue;
    swap_bytes(part, header);
    // The first of the group has the header, too; names are new, so that nobody waits for another.
    const std::size_t skipped = begin == 0 ? 0 : header;
    const int fd = ::open(path_of(options, step, file).c_str(), O_RDWR | O_CREAT, 0666);
    must(fd >= 0, "open");
    const std::size_t bytes = (part.size() - skipped) * sizeof(float);
    const auto offset =
        static_cast<off_t>((skipped + static_cast<std::size_t>(begin) *
                                          static_cast<std::size_t>(options.nx * options.ny)) *
                           sizeof(float));
    must(::pwrite(fd, part.data() + skipped, bytes, offset) == static_cast<ssize_t>(bytes),
         "pwrite");
    must(::close(fd) == 0, "close");
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Options options;
  CLI::App app{"Several files a step"};
  app.add_option("--workload", options.workload)->check(CLI::IsMember({"geos", "manyfiles"}));
  app.add_option("--dir", options.directory);
  app.add_option("--way", options.way, "files: one after another; bundle; masters; split")
      ->check(CLI::IsMember({"files", "bundle", "masters", "split"}));
  app.add_option("--hint", options.hints, "key=value;…, of the files");
  app.add_option("--steps", options.steps);
  app.add_option("--nx", options.nx);
  app.add_option("--ny", options.ny);
  app.add_option("--compute", options.compute,
                 "ms between steps, not counted, in which ranks sleep, as beside an accelerator");
  app.add_option("--json", options.json);
  CLI11_PARSE(app, argc, argv);

  const std::vector<int> planes = planes_of(options.workload);
  const Block block(options, rank);
  std::vector<std::vector<float>> values(planes.size());
  long long bytes = 0;
  for (std::size_t f = 0; f < planes.size(); ++f) {
    for (int k = 0; k < planes[f]; ++k)
      for (int y = block.y; y < block.y + block.ny; ++y)
        for (int x = block.x; x < block.x + block.nx; ++x)
          values[f].push_back(value(static_cast<int>(f), k, y, x));
    bytes += static_cast<long long>(planes[f]) * options.nx * options.ny * 4;
  }
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  if (options.way == "bundle") {
    MPI_Info_set(info, "bundle", "history");
    MPI_Info_set(info, "bundle_files", std::to_string(planes.size()).c_str());
  }
  for (std::size_t at = 0; at < options.hints.size();) {
    const std::size_t end = std::min(options.hints.find(';', at), options.hints.size());
    const std::string pair = options.hints.substr(at, end - at);
    const std::size_t equals = pair.find('=');
    MPI_Info_set(info, pair.substr(0, equals).c_str(), pair.substr(equals + 1).c_str());
    at = end + 1;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<double> seconds;
  for (int step = 0; step < options.steps; ++step) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (options.way == "masters") {
      write_by_masters(options, step, planes, values);
    } else if (options.way == "split") {
      write_by_groups(options, step, planes, values);
    } else {
      for (std::size_t f = 0; f < planes.size(); ++f)
        write_file(options, step, static_cast<int>(f), planes[f], values[f], info);
    }
    double took = MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    seconds.push_back(took);
    ::usleep(static_cast<useconds_t>(options.compute) * 1000);
  }
  MPI_Info_free(&info);
  if (rank == 0) {
    double all = 0;
    for (const double s : seconds) all += s;
    std::printf("%s, %s, %d ranks: %.1f ms a step, %.1f MB\n", options.workload.c_str(),
                options.way.c_str(), size, 1e3 * all / options.steps,
                static_cast<double>(bytes) * 1e-6);
    if (options.way == "files" || options.way == "bundle")
      std::printf("rank 0: create %.1f, define %.1f, put %.1f, close %.1f ms a step\n",
                  1e3 * phases.create / options.steps, 1e3 * phases.define / options.steps,
                  1e3 * phases.put / options.steps, 1e3 * phases.close / options.steps);
    if (!options.json.empty()) {
      const nlohmann::json record = {{{"workload", options.workload},
                                      {"way", options.way},
                                      {"ranks", size},
                                      {"bytes_a_step", bytes},
                                      {"seconds", seconds}}};
      std::ofstream(options.json) << record.dump();
    }
  }
  MPI_Finalize();
  return 0;
}
