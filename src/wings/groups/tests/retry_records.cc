// Steps of groups as records, of which one system call fails on one rank, each in turn: the step is
// written again, and in the end all records have what was written, and fill values.
//
// Usage: FOREBAY_FAULT=pwrite:rank=99:call=1:errno=EIO mpiexec -n 3 retry_records [--late] FILE
//
// --late: with a variable that comes when there are records. Classic record sections are moved
// then, which no failure may interrupt, so this is for other layouts.
#include <forebay_groups.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr int steps = 5, each = 40;
constexpr float fill = 9.9692099683868690e+36F;
int rank = 0, size = 1;

void must(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "rank %d: %s: %d: %s\n", rank, what, code, forebay_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

bool late = false;

// In which steps a variable is: all but the first; B, if it is late, from the fourth one on. Of H
// some elements are missing.
bool has(char name, int step) { return step >= (name == 'B' && late ? 3 : 1); }

float value(char name, int step, int n) {
  return static_cast<float>(10000 * (name - 'A' + 1) + 1000 * step + n);
}

void write_step(int file, int step) {
  const std::int32_t first = 7;
  must(forebay_write(file, "first", &first), "first");
  for (const char name : {'A', 'B', 'H'}) {
    if (!has(name, step)) continue;
    const std::int64_t all = size * each, at = rank * each, mine = name == 'H' ? each / 2 : each;
    std::vector<float> values;
    for (int n = 0; n < mine; ++n) values.push_back(value(name, step, rank * each + n));
    must(forebay_write_box(file, std::string(1, name).c_str(), &all, &at, &mine, values.data()),
         "box");
  }
}

void check(const char* path) {
  int file = 0;
  must(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file), "ncmpi_open");
  for (const char name : {'A', 'B', 'H'}) {
    int var = 0;
    must(ncmpi_inq_varid(file, std::string(1, name).c_str(), &var), "inq_varid");
    const MPI_Offset start[2] = {0, 0}, count[2] = {steps, MPI_Offset{size} * each};
    std::vector<float> values(static_cast<std::size_t>(count[0] * count[1]));
    must(ncmpi_get_vara_float_all(file, var, start, count, values.data()), "get");
    for (int n = 0; n < static_cast<int>(values.size()); ++n) {
      const int step = n / (size * each), at = n % (size * each);
      const bool is = has(name, step) && (name != 'H' || at % each < each / 2);
      const float expected = is ? value(name, step, at) : fill;
      if (values[static_cast<std::size_t>(n)] == expected) continue;
      std::fprintf(stderr, "%c, step %d, element %d: %g, not %g\n", name, step, at,
                   static_cast<double>(values[static_cast<std::size_t>(n)]),
                   static_cast<double>(expected));
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  must(ncmpi_close(file), "ncmpi_close");
}

// Whether a call failed: else there are not so many.
bool play(const char* path, int who, int call) {
  const std::string fault =
      "pwrite:rank=" + std::to_string(who) + ":call=" + std::to_string(call) + ":errno=ENOSPC";
  int file = 0, failed = 0;
  must(forebay_open(&file, "group", path, "w", MPI_COMM_WORLD), "open");
  setenv("FOREBAY_FAULT", fault.c_str(), 1);
  for (int step = 0; step < steps; ++step) {
    int code = 0;
    for (int again = 0; again < 4; ++again) {
      write_step(file, step);
      code = forebay_end_step(file);
      int worst = 0, least = 0;
      MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
      MPI_Allreduce(&code, &least, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
      if (worst < 0 && least == 0) must(-1, "end_step ended in two ways");
      if (code == 0) break;
      ++failed;
    }
    must(code, "end_step, again and again");
  }
  setenv("FOREBAY_FAULT", "pwrite:rank=99:call=1:errno=EIO", 1);
  const int closed = forebay_close(file);  // where writes were staged it may be this that fails
  if (closed != 0) return true;
  check(path);
  return failed > 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  late = argc > 2 && std::string(argv[1]) == "--late";
  must(forebay_init(nullptr, MPI_COMM_WORLD), "init");
  must(forebay_define_group("group", nullptr), "group");
  must(forebay_define_var("group", "first", "int32", nullptr, nullptr, nullptr, "steps=once"),
       "var");
  for (const char* name : {"A", "B", "H"})
    must(forebay_define_var("group", name, "float", "1", "1", "0", nullptr), "var");
  int failures = 0;
  for (int who = 0; who < size; ++who)
    for (int call = 1; call <= 24; ++call) failures += play(argv[argc - 1], who, call) ? 1 : 0;
  if (rank == 0) std::printf("%d steps failed, and were written again\n", failures);
  if (failures < 6) must(-1, "hardly anything failed");
  MPI_Finalize();
  return 0;
}
