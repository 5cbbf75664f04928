// Plays the same short program again and again while one allocation after another fails on one
// rank: no rank may hang or crash, and what calls say they have written must be there.
//
// Which layout, stage and transport: by FOREBAY_HINTS. Usage: no_memory_cases.h. With
// NO_MEMORY_SYNCED in the environment a file need not show anything before a sync or close has
// succeeded.
#include <forebay.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "fault/no_memory_cases.h"

namespace {

using no_memory::fail, no_memory::of_all, no_memory::rank, no_memory::size;

constexpr int columns = 24, rows = 240, most_records = 4;
constexpr int never = 99;           // a version that must not be found
constexpr int left_in_logs = -238;  // NC_EBADLOG

/// What the elements of a variable may be: a bit for each version that was written, bit 0 for the
/// fill value.
class Model {
 public:
  explicit Model(std::size_t elements) : may_be_(elements, 1), ever_(elements, 1) {}

  void written(std::size_t element, int version, bool surely) {
    const auto bit = std::uint64_t{1} << version;
    ever_[element] |= bit;
    may_be_[element] = surely ? bit : may_be_[element] | bit;
  }
  /// A step failed that carries out what was written before.
  void forget() { may_be_ = ever_; }
  bool may_be(std::size_t element, int version) const {
    return version >= 0 && version < 64 && (may_be_[element] >> version & 1) != 0;
  }
  std::size_t elements() const { return may_be_.size(); }

 private:
  std::vector<std::uint64_t> may_be_, ever_;
};

class Player {
 public:
  Player(const char* path, no_memory::Steps& steps)
      : path_(path), steps_(steps), fixed_(rows * columns), records_(most_records * columns) {}

  void play() {
    write_file();
    if (created_ && defined_) read_file();
    steps_.disarm();
    const bool shown = shown_ || std::getenv("NO_MEMORY_SYNCED") == nullptr;
    if (created_ && defined_ && !half_moved_ && shown) check_file();
  }

 private:
  struct Box {
    MPI_Offset start[2], count[2];
  };

  /// Calls f() with allocations failing and returns its code.
  template <typename F>
  int call(const char* step, F&& f, int expected = NC_NOERR) {
    const int code = steps_.call(step, true, f);
    steps_.note(step, code);
    if (code == NC_EMULTIDEFINE) fail("ranks are in different calls");
    if (code != expected && steps_.must_succeed()) fail(ncmpi_strerror(code));
    return code;
  }

  /// Of a call that ends alike on all ranks. Where it carries out what others have left to it, and
  /// fails, anything that was ever written may be there.
  template <typename F>
  bool together(const char* step, F&& f) {
    const int code = call(step, f);
    const bool done = code == NC_NOERR, none = of_all(!done);
    if (of_all(done) || none) return after(done);
    if (!done)
      std::fprintf(stderr, "rank %d: %s: %s (%s)\n", rank, step, ncmpi_strerror(code),
                   forebay_error_message());
    MPI_Barrier(MPI_COMM_WORLD);
    fail("a collective call failed on some ranks only");
  }

  bool after(bool done) {
    if (!done) {
      fixed_.forget();
      records_.forget();
    }
    return done;
  }

  /// Of local calls: whether it succeeded on all ranks.
  template <typename F>
  bool everywhere(const char* step, F&& f) {
    return of_all(call(step, f) == NC_NOERR);
  }

  static std::vector<int> of_each(int mine) {
    std::vector<int> all(static_cast<std::size_t>(size));
    MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
    return all;
  }

  static std::size_t element(MPI_Offset row, MPI_Offset column) {
    return static_cast<std::size_t>(row * columns + column);
  }
  static int value(int version, std::size_t element) {
    return version == 0 ? NC_FILL_INT : version * 100000 + static_cast<int>(element);
  }
  static std::vector<int> values_of(int version, const Box& box) {
    std::vector<int> values;
    for (MPI_Offset r = 0; r < box.count[0]; ++r) {
      for (MPI_Offset c = 0; c < box.count[1]; ++c)
        values.push_back(value(version, element(box.start[0] + r, box.start[1] + c)));
    }
    return values;
  }
  static void note(Model& model, int version, const Box& box, bool surely) {
    for (MPI_Offset r = 0; r < box.count[0]; ++r) {
      for (MPI_Offset c = 0; c < box.count[1]; ++c)
        model.written(element(box.start[0] + r, box.start[1] + c), version, surely);
    }
  }

  /// Every rank has a share of the columns.
  static int first_column(int of) { return columns * of / size; }
  static Box share(int of, int from, int to) {
    return {{from, first_column(of)}, {to - from, first_column(of + 1) - first_column(of)}};
  }

  void write_file() {
    created_ = together("create", [&] {
      return ncmpi_create(MPI_COMM_WORLD, path_, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id_);
    });
    if (!created_) return;
    int dims[3] = {}, old = 0;
    bool defined =
        everywhere("def_dim", [&] { return ncmpi_def_dim(id_, "time", NC_UNLIMITED, &dims[0]); });
    defined &= everywhere("def_dim", [&] { return ncmpi_def_dim(id_, "row", rows, &dims[1]); });
    defined &=
        everywhere("def_dim", [&] { return ncmpi_def_dim(id_, "column", columns, &dims[2]); });
    defined &= everywhere("set_fill", [&] { return ncmpi_set_fill(id_, NC_FILL, &old); });
    const int of_record[2] = {dims[0], dims[2]};
    // Patches are of numbers that are no integers; these are exact, as is the fill value.
    const bool as_double = std::getenv("NO_MEMORY_DOUBLE") != nullptr;
    const nc_type type = as_double ? NC_DOUBLE : NC_INT;
    const double fill = NC_FILL_INT;
    defined &= everywhere(
        "def_var", [&] { return ncmpi_def_var(id_, "fixed", type, 2, dims + 1, &fixed_id_); });
    if (as_double)
      defined &=
          everywhere("def_var_fill", [&] { return ncmpi_def_var_fill(id_, fixed_id_, 0, &fill); });
    defined &= everywhere("def_var", [&] {
      return ncmpi_def_var(id_, "record", NC_DOUBLE, 2, of_record, &record_id_);
    });
    defined &= everywhere("put_att",
                          [&] { return ncmpi_put_att_text(id_, fixed_id_, "units", 6, "metres"); });
    defined_ = defined && together("enddef", [&] { return ncmpi_enddef(id_); });
    if (!defined_) {
      call("abort", [&] { return ncmpi_abort(id_); });
      return;
    }
    put_rows("put_all", 1, 0, rows / 2, true);
    put_record("put_record_all", 2, 0);
    post_columns(3);
    put_varn(4);
    get_back("get_all");
    get_rows("get_rows_all", true);
    if (everywhere("begin_indep", [&] { return ncmpi_begin_indep_data(id_); })) {
      put_rows("put_indep", 5, rows / 2, rows, false);
      put_rows("put_indep_again", 6, rows / 2 + 3, rows / 2 + 7, false);
      get_rows("get_indep", false);
      together("end_indep", [&] { return ncmpi_end_indep_data(id_); });
    }
    put_record("put_record_all_2", 7, 2);
    shown_ = together("sync", [&] { return ncmpi_sync(id_); });
    if (together("redef", [&] { return ncmpi_redef(id_); })) redefine();
    shown_ |= together("close", [&] { return ncmpi_close(id_); });
  }

  void redefine() {
    int dim = 0, var = 0;
    everywhere("def_dim_2", [&] { return ncmpi_def_dim(id_, "more", 3000, &dim); });
    everywhere("def_var_2", [&] { return ncmpi_def_var(id_, "more", NC_INT, 1, &dim, &var); });
    if (!together("enddef_2", [&] { return ncmpi_enddef(id_); })) {
      // What the file holds may have been moved by half, and closing tries again.
      half_moved_ = true;
      return;
    }
    put_rows("put_all_2", 8, 2, 5, true);
    together("put_att_2", [&] { return ncmpi_put_att_text(id_, fixed_id_, "units", 6, "inches"); });
  }

  void read_file() {
    if (!together("open",
                  [&] { return ncmpi_open(MPI_COMM_WORLD, path_, NC_WRITE, MPI_INFO_NULL, &id_); }))
      return;
    if (!half_moved_) {
      get_back("get_all_again");
      put_rows("put_all_again", 9, 1, rows - 1, true);
    }
    everywhere("get_att", [&] {
      char text[16] = "";
      const int code = ncmpi_get_att_text(id_, fixed_id_, "units", text);
      if (code == NC_NOERR && std::strcmp(text, "metres") != 0 && std::strcmp(text, "inches") != 0)
        fail("a wrong attribute");
      return code;
    });
    close_with_request();
  }

  /// What was posted and never waited for is told of, and does not reach the file; all else does.
  void close_with_request() {
    const Box mine = share(rank, 0, rows);
    const auto values = values_of(never, mine);
    int request = NC_REQ_NULL;
    const bool posted = everywhere("iput_pending", [&] {
      return ncmpi_iput_vara_int(id_, fixed_id_, mine.start, mine.count, values.data(), &request);
    });
    const int expected = posted ? NC_EPENDING : NC_NOERR;
    const int code = call(
        "close_again", [&] { return ncmpi_close(id_); }, expected);
    if (of_all(code == NC_NOERR || code == NC_EPENDING)) return;
    fixed_.forget();
    records_.forget();
  }

  void check_file() {
    const int code = ncmpi_open(MPI_COMM_WORLD, path_, NC_NOWRITE, MPI_INFO_NULL, &id_);
    // What a close left in logs, as it told, somebody has to recover first.
    if (code == left_in_logs) return;
    if (code != NC_NOERR) fail(ncmpi_strerror(code));
    get_back("check");
    if (ncmpi_close(id_) != NC_NOERR) fail("closing what was read");
  }

  void put_rows(const char* step, int version, int from, int to, bool all) {
    const Box mine = share(rank, from, to);
    const auto values = values_of(version, mine);
    const int code = call(step, [&] {
      return all ? ncmpi_put_vara_int_all(id_, fixed_id_, mine.start, mine.count, values.data())
                 : ncmpi_put_vara_int(id_, fixed_id_, mine.start, mine.count, values.data());
    });
    const auto done = of_each(code == NC_NOERR);
    for (int r = 0; r < size; ++r)
      note(fixed_, version, share(r, from, to), done[static_cast<std::size_t>(r)]);
  }

  /// Converted from int.
  void put_record(const char* step, int version, int record) {
    const Box mine = share(rank, record, record + 1);
    const auto values = values_of(version, mine);
    const int code = call(step, [&] {
      return ncmpi_put_vara_int_all(id_, record_id_, mine.start, mine.count, values.data());
    });
    const auto done = of_each(code == NC_NOERR);
    for (int r = 0; r < size; ++r)
      note(records_, version, share(r, record, record + 1), done[static_cast<std::size_t>(r)]);
  }

  /// Up to four requests of a column each.
  static Box column_of(int of, int i) { return {{3, first_column(of) + i}, {rows - 10, 1}}; }

  void post_columns(int version) {
    std::vector<std::vector<int>> values;
    std::vector<int> requests;
    int posted = 0;
    for (int i = 0; i < std::min(4, first_column(rank + 1) - first_column(rank)); ++i) {
      const Box box = column_of(rank, i);
      values.push_back(values_of(version, box));
      int request = NC_REQ_NULL;
      call("iput", [&] {
        return ncmpi_iput_vara_int(id_, fixed_id_, box.start, box.count, values.back().data(),
                                   &request);
      });
      if (request == NC_REQ_NULL) continue;
      requests.push_back(request);
      posted |= 1 << i;
    }
    std::vector<int> statuses(requests.size());
    const int code = call("wait_all", [&] {
      return ncmpi_wait_all(id_, static_cast<int>(requests.size()), requests.data(),
                            statuses.data());
    });
    const auto there = of_each(posted), done = of_each(code == NC_NOERR);
    for (std::size_t r = 0; r < there.size(); ++r) {
      for (int i = 0; i < 4; ++i) {
        if ((there[r] >> i & 1) != 0)
          note(fixed_, version, column_of(static_cast<int>(r), i), done[r]);
      }
    }
    // What is still in the queue is not to come later.
    if (code != NC_NOERR) ncmpi_cancel(id_, NC_REQ_ALL, nullptr, nullptr);
  }

  static Box piece_of(int of, int i) {
    return {{6 + 5 * i, first_column(of)},
            {2, std::min(3, first_column(of + 1) - first_column(of))}};
  }

  void put_varn(int version) {
    constexpr int pieces = 5;
    std::vector<Box> boxes;
    for (int i = 0; i < pieces; ++i) boxes.push_back(piece_of(rank, i));
    std::vector<MPI_Offset*> starts, counts;
    std::vector<int> values;
    for (Box& box : boxes) {
      starts.push_back(box.start);
      counts.push_back(box.count);
      const auto its = values_of(version, box);
      values.insert(values.end(), its.begin(), its.end());
    }
    const int code = call("put_varn_all", [&] {
      return ncmpi_put_varn_int_all(id_, fixed_id_, pieces, starts.data(), counts.data(),
                                    values.data());
    });
    const auto done = of_each(code == NC_NOERR);
    for (int r = 0; r < size; ++r) {
      for (int i = 0; i < pieces; ++i)
        note(fixed_, version, piece_of(r, i), done[static_cast<std::size_t>(r)]);
    }
  }

  /// Everybody reads everything.
  void get_back(const char* step) {
    const Box all{{0, 0}, {rows, columns}};
    std::vector<int> values(rows * columns, -1);
    if (call(step, [&] {
          return ncmpi_get_vara_int_all(id_, fixed_id_, all.start, all.count, values.data());
        }) == NC_NOERR)
      expect(step, fixed_, all, values);
    for (const int record : {0, 2}) {
      MPI_Offset there = 0;
      ncmpi_inq_dimlen(id_, 0, &there);
      // Unwritten doubles are no int, and not every rank need know of a record whose put failed.
      bool written = there > record;
      for (int c = 0; c < columns; ++c) written &= !records_.may_be(element(record, c), 0);
      if (!of_all(written)) continue;
      const Box box{{record, 0}, {1, columns}};
      if (call(step, [&] {
            return ncmpi_get_vara_int_all(id_, record_id_, box.start, box.count, values.data());
          }) == NC_NOERR)
        expect(step, records_, box, values);
    }
  }

  /// What this rank has written.
  void get_rows(const char* step, bool all) {
    const Box mine = share(rank, 1, rows - 1);
    std::vector<int> values(static_cast<std::size_t>(mine.count[0] * mine.count[1]), -1);
    if (call(step, [&] {
          return all ? ncmpi_get_vara_int_all(id_, fixed_id_, mine.start, mine.count, values.data())
                     : ncmpi_get_vara_int(id_, fixed_id_, mine.start, mine.count, values.data());
        }) == NC_NOERR)
      expect(step, fixed_, mine, values);
  }

  static void expect(const char* step, const Model& model, const Box& box,
                     const std::vector<int>& values) {
    std::size_t i = 0;
    for (MPI_Offset r = 0; r < box.count[0]; ++r) {
      for (MPI_Offset c = 0; c < box.count[1]; ++c, ++i) {
        const std::size_t e = element(box.start[0] + r, box.start[1] + c);
        int version = -1;
        for (int v = 0; v < 10; ++v) {
          if (value(v, e) == values[i]) version = v;
        }
        if (model.may_be(e, version)) continue;
        std::fprintf(stderr, "%s: element %zu has value %d, of version %d\n", step, e, values[i],
                     version);
        fail("a wrong value");
      }
    }
  }

  const char* path_;
  no_memory::Steps& steps_;
  bool created_ = false, defined_ = false, half_moved_ = false, shown_ = false;
  int id_ = -1, fixed_id_ = -1, record_id_ = -1;
  Model fixed_, records_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = no_memory::run(
      argc, argv, "no_memory", [](const char* file, auto& steps) { Player(file, steps).play(); });
  MPI_Finalize();
  return code;
}
