// Writes that go on behind the program: H5Dwrite_async with event sets, or H5Dwrite where a hint
// lets it return early. Which connector is under test is a matter of the environment; HDF5's own
// gives the same values.
//
//   async values FILE [--plain] [--goes-on]      what is written is what is read
//   async failing FILE [--plain]                 a write of one rank fails (FOREBAY_FAULT)
//   async full FILE OTHER [--plain]              on a small file system that is full
//   (run_full_disk.py)
//   async refused FILE                           the connector's string has stage=async
//
// --plain: without event sets. --goes-on: some requests must still be in progress after the calls.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "handles.h"

using namespace forebay_test;

namespace {

constexpr int kSteps = 7, kFields = 3;
constexpr hsize_t kWide = 200000;  // elements of a rank in one large write: 800 kB
constexpr hsize_t kSmall = 50;     // and in a small one
constexpr int kNothing = -1;

int rank = 0, ranks = 1;
bool plain = false, goes_on = false;

[[noreturn]] void fail(const std::string& what) {
  std::printf("FAILED: rank %d of %d: %s\n", rank, ranks, what.c_str());
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void expect(bool condition, const std::string& what) {
  if (!condition) fail(what);
}

int value_of(int call, int field, hsize_t element) {
  return static_cast<int>((static_cast<hsize_t>(call) * 7 + static_cast<hsize_t>(field)) * 100003 +
                          element % 99991);
}

/// The requests of a program; none of them with --plain.
class Events {
 public:
  Events() : set_(H5EScreate(), H5ESclose, "H5EScreate") {
    check(H5ESregister_complete_func(set_, count_one, &completed_), "H5ESregister_complete_func");
  }
  hid_t id() const { return set_; }
  size_t count() const {
    size_t n = 0;
    check(H5ESget_count(set_, &n), "H5ESget_count");
    return n;
  }
  /// Waits for all. Returns whether one failed.
  bool wait(uint64_t ns = H5ES_WAIT_FOREVER) {
    size_t going_on = 0;
    hbool_t failed = false;
    do {
      check(H5ESwait(set_, ns, &going_on, &failed), "H5ESwait");
      if (ns == H5ES_WAIT_FOREVER && !failed)
        expect(going_on == 0, "a write goes on after H5ESwait has waited for ever");
    } while (!failed && count() > 0);
    return failed;
  }
  /// Waits until none is in progress, although one has failed.
  void finish() {
    while (count() > 0) wait();
    take_messages();
  }
  int completed() const { return completed_; }
  /// From now on no operation comes into this set: the calls fail.
  void refuse() {
    const auto never = [](const H5ES_op_info_t*, void*) { return -1; };
    check(H5ESregister_insert_func(set_, never, nullptr), "H5ESregister_insert_func");
  }
  /// All messages of the operations that failed.
  std::string take_messages() {
    std::string text;
    size_t failed = 0, cleared = 0;
    check(H5ESget_err_count(set_, &failed), "H5ESget_err_count");
    std::vector<H5ES_err_info_t> infos(failed);
    if (failed > 0)
      check(H5ESget_err_info(set_, failed, infos.data(), &cleared), "H5ESget_err_info");
    for (size_t i = 0; i < cleared; ++i) {
      check(H5Ewalk2(infos[i].err_stack_id, H5E_WALK_DOWNWARD, add_message, &text), "H5Ewalk2");
      text += std::string(" [") + infos[i].api_name + "]";
      H5Eclose_stack(infos[i].err_stack_id);
      H5free_memory(infos[i].api_name), H5free_memory(infos[i].api_args);
      H5free_memory(infos[i].app_file_name), H5free_memory(infos[i].app_func_name);
    }
    return text;
  }

 private:
  static herr_t add_message(unsigned, const H5E_error2_t* error, void* text) {
    *static_cast<std::string*>(text) += error->desc;
    return 0;
  }
  static int count_one(const H5ES_op_info_t*, H5ES_status_t, hid_t, void* completed) {
    ++*static_cast<int*>(completed);
    return 0;
  }
  int completed_ = 0;
  Id set_;
};

Id transfer_list(bool collective) {
  Id list = make_list(H5P_DATASET_XFER);
  if (collective) check(H5Pset_dxpl_mpio(list, H5FD_MPIO_COLLECTIVE), "H5Pset_dxpl_mpio");
  return list;
}

/// Made by new: after an error nothing closes the file, for which all ranks would have to come.
class Program {
 public:
  explicit Program(const char* path) : path_(path), access_(make_list(H5P_FILE_ACCESS)) {
    check(H5Pset_fapl_mpio(access_, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
    file_ = Id(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access_), H5Fclose, "H5Fcreate");
    const Id list = make_list(H5P_DATASET_CREATE);
    check(H5Pset_fill_value(list, H5T_NATIVE_INT, &kNothing), "H5Pset_fill_value");
    for (int f = 0; f < kFields; ++f) {
      const Id space = simple_space({elements()});
      fields_.emplace_back(H5Dcreate2(file_, name_of(f).c_str(), H5T_NATIVE_INT, space, H5P_DEFAULT,
                                      list, H5P_DEFAULT),
                           H5Dclose, "H5Dcreate2");
      models_.emplace_back(elements(), kNothing);
    }
  }

  static hsize_t elements() { return kWide * static_cast<hsize_t>(ranks) + kWide; }

  /// All ranks write: `mine` elements of each rank from a place that moves with each step, so that
  /// calls write over each other. The last of several ranks is empty, the first one late.
  void write(Events& events, int step, int field, hsize_t mine) {
    const Part part = next_part(step, field, mine);
    const hid_t dataset = fields_[static_cast<size_t>(field)];
    status_ =
        plain ? H5Dwrite(dataset, H5T_NATIVE_INT, part.memory, part.space, together_, part.values)
              : H5Dwrite_async(dataset, H5T_NATIVE_INT, part.memory, part.space, together_,
                               part.values, events.id());
    if (plain) spoil();
  }

  /// The same, in one call with another field, of which nothing is written. The call of one rank
  /// fails, because what it selects there is outside.
  void write_two(Events& events, int step, int field, hsize_t mine, bool fails) {
    const Part part = next_part(step, field, mine);
    const Id outside = simple_space({elements() + kSmall}), memory = simple_space({kSmall});
    const hsize_t first = elements(), count = kSmall;
    if (fails) {
      check(H5Sselect_hyperslab(outside, H5S_SELECT_SET, &first, nullptr, &count, nullptr),
            "selecting");
    } else {
      check(H5Sselect_none(outside), "H5Sselect_none");
      check(H5Sselect_none(memory), "H5Sselect_none");
    }
    const std::vector<int> nothing(kSmall);
    const auto one = static_cast<size_t>(field), other = (one + 1) % fields_.size();
    hid_t datasets[] = {fields_[one], fields_[other]};
    hid_t types[] = {H5T_NATIVE_INT, H5T_NATIVE_INT};
    hid_t memories[] = {part.memory, memory}, spaces[] = {part.space, outside};
    const void* values[] = {part.values, nothing.data()};
    status_ =
        H5Dwrite_multi_async(2, datasets, types, memories, spaces, together_, values, events.id());
  }
  herr_t status() const { return status_; }

  /// The program uses the memory of completed writes anew.
  void spoil() {
    for (auto& values : buffers_) std::fill(values.begin(), values.end(), -7);
    buffers_.clear();
  }

  /// This rank reads what it wrote in this step, or all ranks read everything.
  void read_mine(int step, int field, hsize_t mine) {
    if (is_empty(rank)) return;
    compare(field, first_of(rank, step), mine, false, nullptr);
  }
  void read_all(Events* events = nullptr) {
    for (int f = kFields - 1; f >= 0; --f) compare(f, 0, elements(), true, events);  // latest first
  }

  /// One rank reads what another one wrote in this step.
  void read_of(int other, int step, int field, hsize_t mine) {
    compare(field, first_of(other, step), mine, false, nullptr);
  }

  herr_t flush(Events* events = nullptr) {
    return events ? H5Fflush_async(file_, H5F_SCOPE_GLOBAL, events->id())
                  : H5Fflush(file_, H5F_SCOPE_GLOBAL);
  }

  void reopen(Events& events) {
    for (Id& field : fields_) release(field, H5Dclose_async, events, "H5Dclose_async");
    release(file_, H5Fclose_async, events, "H5Fclose_async");
    if (events.wait()) fail("closing the file failed: " + events.take_messages());
    spoil();
    MPI_Barrier(MPI_COMM_WORLD);
    file_ = Id(H5Fopen(path_, H5F_ACC_RDONLY, access_), H5Fclose, "H5Fopen");
    for (int f = 0; f < kFields; ++f)
      fields_[static_cast<size_t>(f)] =
          Id(H5Dopen2(file_, name_of(f).c_str(), H5P_DEFAULT), H5Dclose, "H5Dopen2");
  }

 private:
  /// What this rank writes next to a field.
  struct Part {
    Id space, memory;
    const void* values;
  };
  Part next_part(int step, int field, hsize_t mine) {
    if (rank == 0) ::usleep(3000);
    const bool empty = is_empty(rank) || mine == 0;
    std::vector<int>& values = buffers_.emplace_back(empty ? 0 : mine);
    const hsize_t first = first_of(rank, step);
    ++calls_;
    for (hsize_t k = 0; k < values.size(); ++k) values[k] = value_of(calls_, field, first + k);
    Id space(H5Dget_space(fields_[static_cast<size_t>(field)]), H5Sclose, "H5Dget_space");
    Id memory = simple_space({mine});
    if (empty) {
      check(H5Sselect_none(space), "H5Sselect_none");
      check(H5Sselect_none(memory), "H5Sselect_none");
    } else {
      check(H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, nullptr, &mine, nullptr),
            "selecting");
    }
    for (int r = 0; r < ranks; ++r) {
      if (is_empty(r)) continue;
      const hsize_t from = first_of(r, step);
      for (hsize_t k = 0; k < mine; ++k)
        models_[static_cast<size_t>(field)][from + k] = value_of(calls_, field, from + k);
    }
    return {std::move(space), std::move(memory), values.data()};
  }
  static std::string name_of(int field) { return "field" + std::to_string(field); }
  static bool is_empty(int r) { return ranks > 1 && r == ranks - 1; }
  static hsize_t first_of(int r, int step) {
    return static_cast<hsize_t>(r) * kWide + static_cast<hsize_t>(step % 3) * (kWide / 2);
  }

  template <typename Close>
  static void release(Id& id, Close close, Events& events, const char* what) {
    const hid_t held = id;
    check(H5Iinc_ref(held), "H5Iinc_ref");  // Id releases one
    id.reset();
    check(close("async.cc", "release", 1, held, events.id()), what);
  }

  void compare(int field, hsize_t first, hsize_t count, bool collective, Events* events) {
    const hid_t dataset = fields_[static_cast<size_t>(field)];
    std::vector<int> found(count, -3);
    const Id space(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
    const Id memory = simple_space({count});
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, nullptr, &count, nullptr),
          "selecting");
    const hid_t transfer = collective ? together_ : alone_;
    if (events) {
      check(H5Dread_async(dataset, H5T_NATIVE_INT, memory, space, transfer, found.data(),
                          events->id()),
            "H5Dread_async");
      if (events->wait()) fail("reading failed: " + events->take_messages());
    } else {
      check(H5Dread(dataset, H5T_NATIVE_INT, memory, space, transfer, found.data()), "H5Dread");
    }
    for (hsize_t k = 0; k < count; ++k) {
      const int wanted = models_[static_cast<size_t>(field)][first + k];
      if (found[k] != wanted)
        fail("element " + std::to_string(first + k) + " of field " + std::to_string(field) +
             " is " + std::to_string(found[k]) + ", not " + std::to_string(wanted));
    }
  }

  const char* path_;
  Id access_, file_;
  Id together_ = transfer_list(true), alone_ = transfer_list(false);
  std::vector<Id> fields_;
  std::vector<std::vector<int>> models_, buffers_;
  herr_t status_ = 0;
  int calls_ = 0;
};

int total(int mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return mine;
}

/// A rank that reads what another one's thread is still writing from the program's memory is told
/// so. Once the event set has completed it finds the values. On one node it finds copies at once.
void test_others(Program& program, Events& events) {
  int told = 0;
  for (int step = kSteps; step < kSteps + 6; ++step) {
    program.write(events, step, 0, kWide);
    check(program.status(), "writing");
    MPI_Barrier(MPI_COMM_WORLD);
    try {
      if (rank == 0) program.read_of(1, step, 0, kWide);
    } catch (const std::runtime_error& error) {
      if (std::string(error.what()).find("is still writing") == std::string::npos) throw;
      ++told;
    }
    if (events.wait()) fail("writing failed: " + events.take_messages());
    program.spoil();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) program.read_of(1, step, 0, kWide);
  }
  if (rank == 0 && plain) expect(told == 0, "reads of copies were refused");
  if (rank == 0 && !plain) expect(told >= 4, "reads of what is being written were not refused");
}

/// Once a call has failed, the program's memory is free, whatever was handed to the thread.
void test_calls_that_fail(Program& program, Events& events) {
  for (int step = 0; step < 5; ++step) {
    Events refusing;
    refusing.refuse();
    program.write(refusing, step, 0, kWide);
    expect(total(program.status() < 0 ? 1 : 0) > 0, "no event set was asked to take a request");
    program.spoil();
    check(program.flush(), "H5Fflush");
    program.read_all();

    program.write_two(events, step, 1, kWide, rank == 0);
    expect((program.status() < 0) == (rank == 0), "the wrong ranks fail to write");
    if (rank == 0) program.spoil();
    if (events.wait()) fail("writing failed: " + events.take_messages());
    program.spoil();
    check(program.flush(), "H5Fflush");
    program.read_all();
  }
  // A write of nothing does not wait for another one.
  Events none;
  program.write(events, 0, 2, kWide);
  program.write(none, 0, 1, 0);
  check(program.status(), "writing nothing");
  expect(!none.wait(), "a write of nothing failed");
  if (events.wait()) fail("writing failed: " + events.take_messages());
  program.spoil();
  H5Eclear2(H5E_DEFAULT);
}

void test_values(const char* path) {
  Program& program = *new Program(path);
  Events events, reads;
  int in_progress = 0;
  for (int step = 0; step < kSteps; ++step) {
    for (int field = 0; field < kFields; ++field) {
      const std::vector<hsize_t> mixed = {kSmall, kWide, kWide - 7, kSmall};
      const std::vector<hsize_t> large = {kWide, kWide - 7, kWide - 20};
      // Small calls let large ones be copied, and wait in memory.
      for (const hsize_t mine : step % 3 == 2 ? mixed : large) {
        program.write(events, step, field, mine);
        check(program.status(), "writing");
      }
    }
    in_progress += static_cast<int>(events.count());
    if (step % 2 == 0) program.read_mine(step, 0, kSmall);  // before the event set is waited for
    if (step % 3 == 1) program.read_all(step % 2 ? &reads : nullptr);
    if (step % 3 == 2) check(program.flush(&events), "H5Fflush_async");
    const bool failed = events.wait(step % 2 ? 1000000 : H5ES_WAIT_FOREVER);
    if (failed) fail("writing failed: " + events.take_messages());
    program.spoil();
    if (step % 3 == 0) program.read_mine(step, 1, kWide);
  }
  expect(events.completed() >= in_progress, "not every write has called the program");
  in_progress = total(in_progress);
  if (goes_on) expect(in_progress >= 5, "no write went on behind the program");
  if ((goes_on || plain) && ranks > 2) test_others(program, events);
  if (goes_on) test_calls_that_fail(program, events);
  program.reopen(events);
  program.read_all();
  delete &program;
  if (rank == 0)
    std::printf("async: %d requests were in progress; all is as written\n", in_progress);
}

/// Sets what fails from now on, on all ranks; FOREBAY_FAULT must be set when the program starts.
void set_fault(const std::string& text) {
  MPI_Barrier(MPI_COMM_WORLD);
  ::setenv("FOREBAY_FAULT", text.c_str(), 1);
}

/// All ranks' calls fail, or none does.
void expect_all(bool fails, herr_t status, const std::string& what) {
  const int failed = total(status < 0 ? 1 : 0);
  expect(failed == (fails ? ranks : 0),
         what + " failed on " + std::to_string(failed) + " ranks: " + take_errors());
  H5Eclear2(H5E_DEFAULT);
}

/// Until all pass through the thread, which the first large write does not.
void warm_up(Program& program, Events& events) {
  for (int step = 0; step < 2; ++step) {
    program.write(events, step, 0, kWide);
    check(program.status(), "writing");
  }
  if (events.wait()) fail("writing failed: " + events.take_messages());
  check(program.flush(), "H5Fflush");
  program.spoil();
}

/// What an event set says of a write that failed, on the rank that it failed on.
void expect_told(Events& events, bool on_this_rank, const char* why) {
  if (plain) return;
  const bool failed = events.wait();
  if (failed && !on_this_rank) fail("a write failed: " + events.take_messages());
  expect(failed == on_this_rank, "the event set does not tell of the write that failed");
  if (!failed) return;
  const std::string told = events.take_messages();
  expect(told.find(why) != std::string::npos && told.find("H5Dwrite_async") != std::string::npos,
         "the event set says: " + told);
  events.finish();
}

/// Once HDF5 has told a rank of a failure, that rank's writes are complete when they return, so
/// that event sets that take no request any more do no harm. If such a write fails, it fails on all
/// ranks.
void test_failing(const char* path) {
  Program& program = *new Program(path);
  Events events;
  warm_up(program, events);
  const int victim = ranks > 2 ? 1 : 0;  // not the empty one
  std::vector<bool> told(static_cast<size_t>(ranks));
  const auto fault_of = [](int which) {
    return "pwrite:rank=" + std::to_string(which) + ":errno=ENOSPC:call=1";
  };
  for (int step = 2; step < 7; ++step) {
    // Every write fails until the space is there: told by the event set, then by each collective
    // call.
    set_fault(fault_of(victim) + ":from");
    bool in_call = told[static_cast<size_t>(victim)];
    for (const int field : {0, 1}) {
      program.write(events, step, field, kWide);
      // The thread may have failed by the second call, which is collective and tries again.
      if (field == 0) expect_all(in_call, program.status(), "the first write");
      if (field == 1 && (in_call || total(program.status() < 0 ? 1 : 0) > 0))
        expect_all(true, program.status(), "the second write");
    }
    expect_told(events, rank == victim && !in_call, "No space left");
    told[static_cast<size_t>(victim)] = !plain;
    program.spoil();
    expect_all(true, program.flush(), "a flush without space");
    expect_all(true, program.flush(), "another flush without space");
    set_fault("none");
    expect_all(false, program.flush(), "a flush with space again");
    program.read_all();
    // The same event set is used further.
    program.write(events, step, 1, kWide);
    expect_all(false, program.status(), "a write with an event set that has failed");
    if (events.count() == 0) program.spoil();
    if (events.wait()) fail("writing failed: " + events.take_messages());
    program.spoil();
    expect_all(false, program.flush(), "a flush after that");
    program.read_all();
    // One write fails once, on rank 0: the next collective call writes it.
    set_fault(fault_of(0));
    in_call = told[0];
    program.write(events, step, 2, kWide);
    expect_all(in_call, program.status(), "a write that fails once");
    expect_told(events, rank == 0 && !in_call, "No space left");
    told[0] = !plain;
    program.spoil();
    expect_all(false, program.flush(), "a flush that tries again");
    set_fault("none");
    program.read_all();
  }
  program.reopen(events);
  program.read_all();
  delete &program;
  if (rank == 0) std::printf("async: errors were told, and nothing is lost\n");
}

/// Takes all space of a file system, but for a few pages.
void fill(const char* other) {
  if (rank == 0) {
    const int file = ::open(other, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const std::vector<char> page(4096, 'x');
    off_t size = 0;
    while (::write(file, page.data(), page.size()) == static_cast<ssize_t>(page.size()))
      size += static_cast<off_t>(page.size());
    if (::ftruncate(file, size - 8 * 4096) != 0) fail("ftruncate");
    ::close(file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void make_room(const char* other) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) ::unlink(other);
  MPI_Barrier(MPI_COMM_WORLD);
}

void test_full(const char* path, const char* other) {
  Program& program = *new Program(path);
  Events events;
  warm_up(program, events);
  for (int step = 2; step < 7; ++step) {
    fill(other);
    program.write(events, step, 0, kWide);
    // At first ranks whose thread has found no space tell so; at least one has. Later such a rank
    // writes in the call.
    const bool first = step == 2;
    expect_all(!plain && !first, program.status(), "a write without space");
    const bool failed = !plain && events.wait();
    if (!plain && first) expect(total(failed ? 1 : 0) > 0, "no event set tells of the full disk");
    if (failed) {
      const std::string told = events.take_messages();
      expect(told.find("No space left") != std::string::npos, "the event set says: " + told);
      events.finish();
    }
    program.spoil();
    program.write(events, step, 1, kWide);
    expect_all(true, program.status(), "a collective write after one that failed");
    program.spoil();
    make_room(other);
    expect_all(false, program.flush(), "a flush with space again");
    program.read_all();
  }
  program.reopen(events);
  program.read_all();
  delete &program;
  if (rank == 0) std::printf("async: a full disk was told, and nothing is lost\n");
}

/// A file without a log cannot have what the program says for this very file.
void test_refused(const char* path) {
  const auto expect_refused = [](hid_t file, const std::string& what) {
    expect(file < 0, what + " is not refused");
    const std::string told = take_errors();
    expect(told.find("stage=async cannot be done") != std::string::npos, what + ": " + told);
  };
  const Id in_memory = make_list(H5P_FILE_ACCESS), paged = make_list(H5P_FILE_ACCESS),
           pages = make_list(H5P_FILE_CREATE), native = make_list(H5P_FILE_ACCESS),
           shared = make_list(H5P_FILE_ACCESS);
  check(H5Pset_fapl_core(in_memory, 1 << 16, true), "H5Pset_fapl_core");
  check(H5Pset_file_space_strategy(pages, H5F_FSPACE_STRATEGY_PAGE, false, 1), "strategy");
  check(H5Pset_page_buffer_size(paged, 1 << 16, 0, 0), "H5Pset_page_buffer_size");
  check(H5Pset_vol(native, H5VL_NATIVE, nullptr), "H5Pset_vol");
  check(H5Pset_fapl_mpio(shared, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
  const auto create = [&](hid_t creation, hid_t access) {
    return H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
  };
  expect_refused(create(H5P_DEFAULT, in_memory), "a file in memory");
  expect_refused(create(pages, paged), "a file with a page buffer");
  Id(create(H5P_DEFAULT, native), H5Fclose, "H5Fcreate");
  for (const hid_t access : {hid_t{H5P_DEFAULT}, hid_t{shared}}) {
    expect_refused(H5Fopen(path, H5F_ACC_RDWR, access), "an ordinary file");
    Id(H5Fopen(path, H5F_ACC_RDONLY, access), H5Fclose, "H5Fopen");
  }
  Id(create(H5P_DEFAULT, H5P_DEFAULT), H5Fclose, "H5Fcreate");
  Id(H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, "H5Fopen");
  std::printf("async: files without a log are refused\n");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const std::string mode = argc > 2 ? argv[1] : "";
  for (int i = 3; i < argc; ++i) {
    plain |= std::strcmp(argv[i], "--plain") == 0;
    goes_on |= std::strcmp(argv[i], "--goes-on") == 0;
  }
  try {
    if (mode == "values")
      test_values(argv[2]);
    else if (mode == "failing")
      test_failing(argv[2]);
    else if (mode == "full" && argc > 3)
      test_full(argv[2], argv[3]);
    else if (mode == "refused")
      test_refused(argv[2]);
    else
      fail("usage: async values|failing|refused FILE [--plain] [--goes-on]");
  } catch (const std::exception& error) {
    fail(error.what());
  }
  H5close();
  MPI_Finalize();
  return EXIT_SUCCESS;
}
