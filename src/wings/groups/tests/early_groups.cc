// Steps that are larger than buffer_limit, on nodes that share no memory: every value is read back.
//
//   early_groups FILES [RANK]     how many data files there are to be in the end
//
// RANK, the first of its node, cannot share memory when the file is opened, so that the ranks of
// its node write files of their own.
//
// Ranks have unequal parts, one of them none. A later opening appends. Every rank reads everything,
// alone and in turns with the others; the index tells ranges, sums and histograms.
#include <forebay_groups.h>
#include <mpi.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

namespace {

constexpr int64_t columns = 256, rows_a_box = 3, large = 40'000;
constexpr const char* path = "early.bp";
int rank = 0, size = 0, failures = 0;

void check(bool right, const std::string& what) {
  if (right || ++failures > 5) return;
  std::printf("FAILED: rank %d: %s\n", rank, what.c_str());
}

void ok(int code, const char* what) {
  check(code == 0, std::string(what) + ": " + forebay_error_message());
}
#define OK(call) ok(call, #call)

int64_t rows_of(int r) { return r == 1 ? 0 : 20 + 17 * (r % 4); }
int64_t first_of(int r) {
  int64_t rows = 0;
  for (int before = 0; before < r; ++before) rows += rows_of(before);
  return rows;
}
double value_of(int64_t step, int64_t row, int64_t column) {
  return static_cast<double>(step) * 1e6 + static_cast<double>(row * columns + column);
}

void write_step(int f, int64_t step) {
  const int64_t all = first_of(size), first = first_of(rank), rows = rows_of(rank);
  std::vector<double> box;
  for (int64_t row = 0; row < rows; row += rows_a_box) {
    const int64_t some = std::min(rows_a_box, rows - row);
    box.clear();
    for (int64_t i = 0; i < some * columns; ++i)
      box.push_back(value_of(step, first + row + i / columns, i % columns));
    const int64_t shape[] = {all, columns}, start[] = {first + row, 0}, count[] = {some, columns};
    OK(forebay_write_box(f, "T", shape, start, count, box.data()));
    std::fill(box.begin(), box.end(), -1);  // it was copied, or is in the file
  }
  std::vector<int32_t> own(static_cast<std::size_t>(large));
  std::iota(own.begin(), own.end(), static_cast<int32_t>(step + 1000 * rank));
  const int64_t count[] = {large};
  if (rank % 2 == 0) OK(forebay_write_box(f, "own", nullptr, nullptr, count, own.data()));
  OK(forebay_end_step(f));
}

// Memory that is shared is a file, which is larger than files may be then.
void open_apart(int* f, const char* mode, bool apart) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit little{8, limit.rlim_max};
  if (apart) setrlimit(RLIMIT_FSIZE, &little);
  OK(forebay_open(f, "g", path, mode, MPI_COMM_WORLD));
  setrlimit(RLIMIT_FSIZE, &limit);
}

void write_steps(const char* mode, int64_t first, int64_t last, bool apart) {
  int f = 0;
  open_apart(&f, mode, apart);
  for (int64_t step = first; step < last; ++step) {
    write_step(f, step);
  }
  OK(forebay_sync(f));
  OK(forebay_close(f));
}

void check_array(int f, int64_t step) {
  const int64_t all = first_of(size);
  std::vector<double> values(static_cast<std::size_t>(all * columns), -1);
  const auto look = [&](int64_t from, const char* how) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      if (values[i] == value_of(step, from + at / columns, at % columns)) continue;
      return check(false, std::string(how) + ": element " + std::to_string(i) + " of step " +
                              std::to_string(step) + " is " + std::to_string(values[i]));
    }
  };
  OK(forebay_read(f, "T", step, nullptr, nullptr, values.data()));
  look(0, "alone");
  // Shares that are none of those that ranks wrote.
  const int64_t from = all * (size - 1 - rank) / size, to = all * (size - rank) / size;
  values.assign(static_cast<std::size_t>((to - from) * columns), -1);
  const int64_t start[] = {from, 0}, count[] = {to - from, columns};
  OK(forebay_read_later(f, "T", step, start, count, values.data()));
  OK(forebay_perform_reads(f));
  look(from, "together");
}

void check_index(int f, int64_t step) {
  const int64_t elements = first_of(size) * columns;
  int any = 0;
  double least = 0, greatest = 0, mean = 0, deviation = 0;
  OK(forebay_inq_statistics(f, "T", step, &any, &least, &greatest));
  const double low = value_of(step, 0, 0), high = low + static_cast<double>(elements - 1);
  check(any == 1 && least == low && greatest == high, "the range of T");
  int64_t count = 0;
  OK(forebay_inq_moments(f, "T", step, &count, &mean, &deviation));
  check(count == elements && std::fabs(mean - (low + high) / 2) < 1e-6 * high, "the mean of T");
  int64_t blocks = 0, sum = 0;
  OK(forebay_inq_blocks(f, "T.histogram", step, &blocks));
  for (int64_t block = 0; block < blocks; ++block) {
    int64_t bins[6] = {};
    OK(forebay_read_block(f, "T.histogram", step, block, bins));
    sum = std::accumulate(bins, bins + 6, sum);
  }
  check(sum == elements, "the histogram of T has " + std::to_string(sum) + " values");
}

void check_own(int f, int64_t step) {
  int64_t blocks = 0;
  OK(forebay_inq_blocks(f, "own", step, &blocks));
  check(blocks == (size + 1) / 2, "blocks of own: " + std::to_string(blocks));
  std::vector<int32_t> own(static_cast<std::size_t>(large));
  for (int64_t block = 0; block < blocks; ++block) {
    OK(forebay_read_block(f, "own", step, block, own.data()));
    bool right = true;
    for (int64_t i = 0; i < large; ++i)
      right &= own[static_cast<std::size_t>(i)] == step + 2000 * block + i;
    check(right, "block " + std::to_string(block) + " of own in step " + std::to_string(step));
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long files = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 0;
  OK(forebay_init(nullptr, MPI_COMM_WORLD));
  OK(forebay_define_group("g", "C"));
  OK(forebay_define_var("g", "T", "double", "1,256", "1,256", "0,0",
                        "characteristics=mean,histogram:0,1000000,4"));
  OK(forebay_define_var("g", "own", "integer", "1", nullptr, nullptr, nullptr));
  OK(forebay_define_method("g", "buffer_limit=64k"));
  std::signal(SIGXFSZ, SIG_IGN);
  const bool apart = argc > 2 && std::strtol(argv[2], nullptr, 10) == rank;
  write_steps("w", 0, 3, apart);
  write_steps("a", 3, 5, apart);
  MPI_Barrier(MPI_COMM_WORLD);

  if (rank == 0) {
    long found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path))
      found += entry.path().filename().string().starts_with("data.");
    check(found == files, std::to_string(found) + " data files");
  }
  int f = 0;
  int64_t steps = 0;
  OK(forebay_open(&f, nullptr, path, "r", MPI_COMM_WORLD));
  OK(forebay_inq_steps(f, &steps));
  check(steps == 5, std::to_string(steps) + " steps");
  for (int64_t step = 0; step < steps; ++step) {
    check_array(f, step);
    check_index(f, step);
    check_own(f, step);
  }
  OK(forebay_close(f));
  OK(forebay_finalize());
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf(all == 0 ? "all right\n" : "%d failures\n", all);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
