// Writes a sequence of requests through stage `burst` until it is killed, finishes what is left in
// logs, and tells what a file holds.
//
// Usage: kill_burst create FILE
//        kill_burst write FILE LOG SEED CYCLE STEPS
//        kill_burst recover FILE LOG           opens with recover=auto, and closes
//        kill_burst check FILE LOG SEED CYCLE WRITERS acked|synced BASE
//
// LOG gets "pid RANK PID", "ready", "closed" and "error …"; LOG.RANK what a rank did: "b N", "d N"
// before and after its own request N (requests up to N), "B N", "D N" the same for requests of the
// variable `common`, "f" and "s" before and after a call that flushes for all ranks.
//
// `check` regenerates the requests of the WRITERS ranks. Each must be there whole or not at all;
// with `acked` every one that returned, and none that follows one that is not there; with `synced`
// (the log lost something) every one that returned before the last flush that did, and amid a flush
// the others may be there in part. What nobody wrote must be as it was: as
// in BASE, which is then replaced by what the file holds. WRITERS 0: BASE is only made. Exits with
// 1 where anything is otherwise. See run_kill_burst.py.
#include <fcntl.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fault/kill_hooks.h"
#include "kill_burst_check.h"
#include "kill_burst_model.h"
#include "support/harness.h"

using namespace kill_burst;

namespace {

int rank = 0;
int size = 1;
bool wrong = false;
int log_file = -1;
int own_log = -1;

void put_line(int fd, const std::string& line) {
  const std::string text = line + "\n";
  if (fd >= 0 && ::write(fd, text.data(), text.size()) < 0) wrong = true;
}

int open_log(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

bool ok(int code, const std::string& what) {
  if (code == NC_NOERR) return true;
  const std::string text = "error " + what + ": " + forebay_test::error_name(code);
  put_line(log_file, text);
  std::printf("rank %d: %s\n", rank, text.c_str());
  wrong = true;
  return false;
}

// One request's arguments, for as long as it is pending.
struct Call {
  const Request* request;
  std::vector<int> values;
  std::vector<MPI_Offset*> starts, counts;

  Call(const Request& r, int cycle, int owner) : request(&r) {
    for_each_element(r, [&](MPI_Offset row, MPI_Offset column) {
      values.push_back(value_of(cycle, owner, r.number, r.var, row, column));
    });
    for (const Piece& p : r.pieces) {
      starts.push_back(const_cast<MPI_Offset*>(p.start.data()));
      counts.push_back(const_cast<MPI_Offset*>(p.count.data()));
    }
  }

  const Piece& piece() const { return request->pieces.front(); }
  bool scattered() const { return request->pieces.size() > 1; }

  int post(int id, int* number) {
    const int var = request->var;
    if (scattered()) {
      return ncmpi_iput_varn_int(id, var, static_cast<int>(starts.size()), starts.data(),
                                 counts.data(), values.data(), number);
    }
    return ncmpi_iput_vars_int(id, var, piece().start.data(), piece().count.data(),
                               piece().stride.data(), values.data(), number);
  }

  int put(int id, bool together) {
    const int var = request->var;
    if (scattered()) {
      const int n = static_cast<int>(starts.size());
      return together
                 ? ncmpi_put_varn_int_all(id, var, n, starts.data(), counts.data(), values.data())
                 : ncmpi_put_varn_int(id, var, n, starts.data(), counts.data(), values.data());
    }
    const MPI_Offset* start = piece().start.data();
    const MPI_Offset* count = piece().count.data();
    if (piece().stride[0] == 1 && piece().stride[1] == 1) {
      return together ? ncmpi_put_vara_int_all(id, var, start, count, values.data())
                      : ncmpi_put_vara_int(id, var, start, count, values.data());
    }
    const MPI_Offset* stride = piece().stride.data();
    return together ? ncmpi_put_vars_int_all(id, var, start, count, stride, values.data())
                    : ncmpi_put_vars_int(id, var, start, count, stride, values.data());
  }
};

class Writer {
 public:
  Writer(std::string path, std::uint64_t seed, int cycle)
      : path_(std::move(path)),
        seed_(seed),
        cycle_(cycle),
        own_(seed, rank, size),
        common_(seed, size, size) {}

  bool open() {
    return ok(ncmpi_open(MPI_COMM_WORLD, path_.c_str(), NC_WRITE, MPI_INFO_NULL, &id_), "open");
  }
  bool close() {
    return note_flush([&] { return ok(ncmpi_close(id_), "close"); });
  }

  bool step() {
    const Step step = step_at(seed_, own_.step());
    const std::vector<Request> requests = own_.next();
    const std::vector<Request> shared = common_.next();
    switch (step.kind) {
      case Kind::several:
        return post(requests, true);
      case Kind::alone:
        return alone(requests);
      case Kind::common:
        return sync() && put_common(shared.front(), step.writer % size == rank);
      case Kind::sync:
        return sync();
      case Kind::flush:
        return note_flush([&] { return ok(ncmpi_flush(id_), "flush"); });
      case Kind::redefine:
        return redefine();
      case Kind::reopen:
        return close() && open();
      default:
        return put(requests.front(), true);
    }
  }

 private:
  template <typename F>
  bool note_flush(F&& flush) {
    put_line(own_log, "f");
    const bool done = flush();
    if (done) put_line(own_log, "s");
    return done;
  }
  bool sync() {
    return note_flush([&] { return ok(ncmpi_sync(id_), "sync"); });
  }

  bool put(const Request& request, bool together) {
    Call call(request, cycle_, rank);
    const std::string number = std::to_string(request.number);
    put_line(own_log, "b " + number);
    if (!ok(call.put(id_, together), "put")) return false;
    put_line(own_log, "d " + number);
    return true;
  }

  bool post(const std::vector<Request>& requests, bool together) {
    if (requests.empty() && !together) return true;
    std::vector<Call> calls;
    std::vector<int> numbers;
    for (const Request& request : requests) calls.emplace_back(request, cycle_, rank);
    const std::string last = std::to_string(requests.empty() ? 0 : requests.back().number);
    put_line(own_log, "b " + last);
    for (Call& call : calls) {
      numbers.push_back(NC_REQ_NULL);
      if (!ok(call.post(id_, &numbers.back()), "iput")) return false;
    }
    const int n = static_cast<int>(numbers.size());
    const int code = together ? ncmpi_wait_all(id_, n, numbers.data(), nullptr)
                              : ncmpi_wait(id_, n, numbers.data(), nullptr);
    if (!ok(code, "wait")) return false;
    put_line(own_log, "d " + last);
    return true;
  }

  bool alone(const std::vector<Request>& requests) {
    if (!ok(ncmpi_begin_indep_data(id_), "begin_indep_data")) return false;
    const size_t half = requests.size() / 2;
    for (size_t i = 0; i < half; ++i) {
      if (!put(requests[i], false)) return false;
    }
    const std::vector<Request> rest(requests.begin() + static_cast<std::ptrdiff_t>(half),
                                    requests.end());
    return post(rest, false) && ok(ncmpi_end_indep_data(id_), "end_indep_data");
  }

  bool put_common(const Request& request, bool mine) {
    Call call(request, cycle_, size);
    const std::string number = std::to_string(request.number);
    if (mine) put_line(own_log, "B " + number);
    int code = NC_NOERR;
    if (mine) {
      code = call.put(id_, true);
    } else {
      const MPI_Offset none[2] = {0, 0};
      code = ncmpi_put_vara_int_all(id_, common, none, none, call.values.data());
    }
    if (!ok(code, "put of common")) return false;
    if (mine) put_line(own_log, "D " + number);
    return true;
  }

  bool redefine() {
    const int value = own_.step();
    return note_flush([&] {
      return ok(ncmpi_redef(id_), "redef") &&
             ok(ncmpi_put_att_int(id_, NC_GLOBAL, "step", NC_INT, 1, &value), "put_att") &&
             ok(ncmpi_enddef(id_), "enddef");
    });
  }

  std::string path_;
  std::uint64_t seed_;
  int cycle_;
  Sequence own_, common_;
  int id_ = -1;
};

// Zeros everywhere, three records.
void create(const char* path) {
  int id = -1;
  int time = -1;
  if (!ok(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id),
          "create"))
    return;
  ok(ncmpi_def_dim(id, "time", NC_UNLIMITED, &time), "def_dim");
  const int value = 0;
  ok(ncmpi_put_att_int(id, NC_GLOBAL, "step", NC_INT, 1, &value), "put_att");
  for (const VariableInfo& info : infos) {
    int dims[2] = {time, -1};
    int var = -1;
    const std::string name = info.name;
    if (info.rows > 0) ok(ncmpi_def_dim(id, (name + "_y").c_str(), info.rows, &dims[0]), "def_dim");
    ok(ncmpi_def_dim(id, (name + "_x").c_str(), info.columns, &dims[1]), "def_dim");
    ok(ncmpi_def_var(id, info.name, info.type, 2, dims, &var), "def_var");
  }
  ok(ncmpi_enddef(id), "enddef");
  for (int v = 0; v < variables; ++v) {
    const VariableInfo& info = infos[static_cast<size_t>(v)];
    const MPI_Offset rows = info.rows > 0 ? info.rows : 3;
    const MPI_Offset first = rows * rank / size;
    const MPI_Offset start[2] = {first, 0};
    const MPI_Offset count[2] = {rows * (rank + 1) / size - first, info.columns};
    const std::vector<int> zeros(static_cast<size_t>(count[0] * count[1]));
    ok(ncmpi_put_vara_int_all(id, v, start, count, zeros.data()), "put");
  }
  ok(ncmpi_close(id), "close");
}

// No rank is killed before "ready" is there, and it is there when all have told their numbers.
void may_be_killed() {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) put_line(log_file, "ready");
  MPI_Barrier(MPI_COMM_WORLD);
  kill_test::arm(rank);
}

void write(const char* path, std::uint64_t seed, int cycle, int steps) {
  Writer writer(path, seed, cycle);
  if (!writer.open()) return;
  may_be_killed();
  for (int step = 0; step < steps; ++step) {
    if (!writer.step()) return;
  }
  writer.close();
  if (rank == 0) put_line(log_file, "closed");
}

void recover(const char* path) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "recover", "auto");
  may_be_killed();
  int id = -1;
  if (ok(ncmpi_open(MPI_COMM_WORLD, path, NC_WRITE, info, &id), "open"))
    ok(ncmpi_close(id), "close");
  if (rank == 0 && !wrong) put_line(log_file, "closed");
  MPI_Info_free(&info);
}

void check(char** argv) {
  Contents found;
  int id = -1;
  if (!ok(ncmpi_open(MPI_COMM_WORLD, argv[2], NC_NOWRITE, MPI_INFO_NULL, &id), "open")) return;
  ok(ncmpi_inq_dimlen(id, 0, &found.records), "inq_dimlen");
  for (int v = 0; v < variables; ++v) {
    const MPI_Offset start[2] = {0, 0};
    const MPI_Offset count[2] = {found.rows(v), infos[static_cast<size_t>(v)].columns};
    auto& values = found.values[static_cast<size_t>(v)];
    values.resize(static_cast<size_t>(count[0] * count[1]));
    ok(ncmpi_get_vara_int_all(id, v, start, count, values.data()), "get");
  }
  ok(ncmpi_close(id), "close");
  if (rank != 0 || wrong) return;
  const int writers = std::atoi(argv[6]);
  if (writers > 0) {
    Check checking(found, Contents::load(argv[8]), std::strtoull(argv[4], nullptr, 10),
                   std::atoi(argv[5]), writers);
    wrong = !checking.run(argv[3], std::string(argv[7]) == "acked");
  }
  found.save(argv[8]);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string what = argc > 2 ? argv[1] : "";
  forebay_test::start_watch(what.c_str(), rank, 60);
  if (argc > 3 && what != "check") {
    log_file = open_log(argv[3]);
    put_line(log_file, "pid " + std::to_string(rank) + " " + std::to_string(::getpid()));
    own_log = open_log(std::string(argv[3]) + "." + std::to_string(rank));
  }
  if (what == "create" && argc == 3) {
    create(argv[2]);
  } else if (what == "write" && argc == 7) {
    write(argv[2], std::strtoull(argv[4], nullptr, 10), std::atoi(argv[5]), std::atoi(argv[6]));
  } else if (what == "recover" && argc == 4) {
    recover(argv[2]);
  } else if (what == "check" && argc == 9) {
    check(argv);
  } else {
    std::fprintf(stderr, "usage: kill_burst create|write|recover|check ...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  forebay_test::stop_watch();
  int bad = wrong ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return bad;
}
