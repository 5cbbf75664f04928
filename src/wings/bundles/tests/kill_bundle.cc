// Writes the files of a bundle, step by step, until it is killed (kill_hooks.h), and looks at what
// is left: each file is whole, or nobody takes it for a file. Run by run_kill_bundle.py.
//
//     kill_bundle write DIRECTORY LOG      "done STEP" in the log: all closes of it have returned
//     kill_bundle check DIRECTORY LEAST    steps that must be there, whole
#include <mpi.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fault/kill_hooks.h"

namespace {

constexpr int steps = 3, files = 3, records = 2, width = 700;
int rank = 0, size = 1;

std::string path_of(const std::string& directory, int step, int file) {
  return directory + "/" + std::to_string(step) + "_" + std::to_string(file) + ".nc";
}

int value(int step, int file, int record, int x) {
  return ((step * files + file) * records + record) * 10000 + x;
}

void must(int code, const char* what) {
  if (code == NC_NOERR) return;
  std::fprintf(stderr, "rank %d: %s: %s\n", rank, what, ncmpi_strerror(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void write_file(const std::string& path, int step, int file) {
  int id = -1, dims[2], var = -1;
  must(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_64BIT_DATA, MPI_INFO_NULL, &id), "create");
  must(ncmpi_def_dim(id, "time", NC_UNLIMITED, &dims[0]), "def_dim");
  must(ncmpi_def_dim(id, "x", width * (file + 1), &dims[1]), "def_dim");
  must(ncmpi_def_var(id, "v", NC_INT, 2, dims, &var), "def_var");
  must(ncmpi_enddef(id), "enddef");
  const int all = width * (file + 1), begin = all * rank / size, end = all * (rank + 1) / size;
  for (int record = 0; record < records; ++record) {
    std::vector<int> values;
    for (int x = begin; x < end; ++x) values.push_back(value(step, file, record, x));
    const MPI_Offset start[] = {record, begin}, count[] = {1, end - begin};
    must(ncmpi_put_vara_int_all(id, var, start, count, values.data()), "put");
  }
  must(ncmpi_close(id), "close");
}

void write_all(const std::string& directory, const std::string& log) {
  kill_test::arm(rank);
  for (int step = 0; step < steps; ++step) {
    for (int file = 0; file < files; ++file) write_file(path_of(directory, step, file), step, file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) std::ofstream(log, std::ios::app) << "done " << step + 1 << std::endl;
  }
}

/// Whether it is a file yet.
bool is_begun(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char first[3] = "";
  return file.read(first, 3) && std::string(first, 3) == "CDF";
}

int check(const std::string& directory, int least) {
  int wrong = 0, whole = 0;
  for (int step = 0; step < steps; ++step) {
    for (int file = 0; file < files; ++file) {
      const std::string path = path_of(directory, step, file);
      if (!is_begun(path)) {
        wrong += step < least;
        if (step < least) std::printf("%s is not there\n", path.c_str());
        continue;
      }
      int id = -1, var = -1;
      MPI_Offset found = 0;
      must(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &id), "open");
      must(ncmpi_inq_varid(id, "v", &var), "inq_varid");
      must(ncmpi_inq_dimlen(id, 0, &found), "inq_dimlen");
      bool good = found == records;
      std::vector<int> values(static_cast<std::size_t>(good ? records * width * (file + 1) : 0));
      if (good) must(ncmpi_get_var_int_all(id, var, values.data()), "get");
      for (std::size_t i = 0; good && i < values.size(); ++i) {
        const int all = width * (file + 1), at = static_cast<int>(i);
        good = values[i] == value(step, file, at / all, at % all);
      }
      must(ncmpi_close(id), "close");
      if (!good) std::printf("%s is there in part: %lld records\n", path.c_str(), found);
      wrong += !good;
      whole += good;
    }
  }
  std::printf("%d whole\n", whole);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int code = 2;
  if (argc == 4 && std::string(argv[1]) == "write") {
    write_all(argv[2], argv[3]);
    code = 0;
  } else if (argc == 4) {
    code = check(argv[2], std::atoi(argv[3]));
  }
  MPI_Finalize();
  return code;
}
