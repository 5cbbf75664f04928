// What ranks write together, in one call or in many, is what each of them reads after a flush, and
// what HDF5's own connector reads after the close. Every case compares with a model of the array.
//
//   together FILE [--refuses]
//
// --refuses: the connector under test says so where values wait, and lets one rank's wrong
// arguments fail on that rank alone. HDF5 would read at once, and hang.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "handles.h"

using namespace forebay_test;

namespace {

int rank = 0, size = 1, failures = 0;
bool refuses = false;
std::string path;

using Dims = std::vector<hsize_t>;

Id access_list(bool native = false, MPI_Comm comm = MPI_COMM_WORLD) {
  Id list = make_list(H5P_FILE_ACCESS);
  check(H5Pset_fapl_mpio(list, comm, MPI_INFO_NULL), "H5Pset_fapl_mpio");
  if (native) check(H5Pset_vol(list, H5VL_NATIVE, nullptr), "H5Pset_vol");
  return list;
}

Id create_file(hid_t creation = H5P_DEFAULT) {
  return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access_list()), H5Fclose, "H5Fcreate"};
}

Id transfer(bool collective) {
  Id list = make_list(H5P_DATASET_XFER);
  check(H5Pset_dxpl_mpio(list, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT), "dxpl");
  return list;
}

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "rank %d: %s\n", rank, what.c_str());
  ++failures;
}

struct Box {
  Dims start, count, stride = {};
  hsize_t elements() const {
    hsize_t product = 1;
    for (const hsize_t c : count) product *= c;
    return product;
  }
};

// A dataset of ints, and what it must hold.
class Array {
 public:
  Array(hid_t file, const std::string& name, const Dims& dims, Dims chunk = {},
        const Dims& most = {}, hid_t type = H5T_STD_I32LE, bool filtered = false)
      : name_(name), dims_(dims) {
    const Id list = make_list(H5P_DATASET_CREATE);
    for (std::size_t d = 0; d < chunk.size() && most.empty(); ++d)
      chunk[d] = std::min(chunk[d], dims[d]);
    if (!chunk.empty())
      check(H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data()), "H5Pset_chunk");
    if (filtered) check(H5Pset_deflate(list, 1), "H5Pset_deflate");
    const int fill = -5;
    check(H5Pset_fill_value(list, H5T_NATIVE_INT, &fill), "H5Pset_fill_value");
    const Id space = simple_space(dims, most.empty() ? nullptr : most.data());
    dataset_ = Id(H5Dcreate2(file, name.c_str(), type, space, H5P_DEFAULT, list, H5P_DEFAULT),
                  H5Dclose, "H5Dcreate2");
    values_.assign(elements(), fill);
  }
  // A dataset that is there.
  static Array existing(hid_t file, const std::string& name, std::vector<int> values) {
    Array array;
    array.name_ = name;
    array.values_ = std::move(values);
    array.open(file);
    const Id space(H5Dget_space(array.dataset_), H5Sclose, "H5Dget_space");
    array.dims_ = extent_of(space);
    return array;
  }

  hid_t id() const { return dataset_; }
  const std::string& name() const { return name_; }
  void close() { dataset_.close("H5Dclose"); }
  void open(hid_t file) {
    dataset_ = Id(H5Dopen2(file, name_.c_str(), H5P_DEFAULT), H5Dclose, "H5Dopen2");
  }

  Id select(const Box* box) const {
    Id space = simple_space(dims_);
    if (box == nullptr)
      check(H5Sselect_none(space), "H5Sselect_none");
    else
      check(H5Sselect_hyperslab(space, H5S_SELECT_SET, box->start.data(),
                                box->stride.empty() ? nullptr : box->stride.data(),
                                box->count.data(), nullptr),
            "H5Sselect_hyperslab");
    return space;
  }
  static std::vector<int> numbers(const Box* box, int first) {
    std::vector<int> numbers(box == nullptr ? 1 : box->elements());
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = first + static_cast<int>(k);
    return numbers;
  }

  // This rank's part; the parts of all are added to the model by told().
  void write(const Box* box, int first, bool collective = true) {
    const std::vector<int> numbers = Array::numbers(box, first);
    const Id memory = simple_space({numbers.size()}), space = select(box),
             list = transfer(collective);
    if (box == nullptr) check(H5Sselect_none(memory), "H5Sselect_none");
    check(H5Dwrite(dataset_, H5T_NATIVE_INT, memory, space, list, numbers.data()), "H5Dwrite");
  }
  // One call of all ranks, of which of(r) is what rank r writes; no elements: nothing.
  void write_all(const std::function<Box(int)>& of, int first) {
    const Box mine = of(rank);
    write(mine.elements() == 0 ? nullptr : &mine, first + 1000000 * rank);
    for (int r = 0; r < size; ++r) note(of(r), first + 1000000 * r);
  }
  void note(const Box& box, int first) {
    Dims at(dims_.size(), 0);
    const std::vector<int> numbers = Array::numbers(&box, first);
    for (std::size_t k = 0; k < box.elements(); ++k) {
      hsize_t rest = k, index = 0, below = 1;
      for (std::size_t d = dims_.size(); d-- > 0; rest /= box.count[d], below *= dims_[d])
        index +=
            (box.start[d] + rest % box.count[d] * (box.stride.empty() ? 1 : box.stride[d])) * below;
      values_[index] = numbers[k];
    }
  }

  void resize(const Dims& dims) {
    std::vector<int> values;
    Dims at(dims.size(), 0);
    hsize_t all = 1;
    for (const hsize_t d : dims) all *= d;
    for (hsize_t k = 0; k < all; ++k) {
      hsize_t rest = k, index = 0, below = 1;
      bool inside = true;
      for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d], below *= dims_[d]) {
        inside = inside && rest % dims[d] < dims_[d];
        index += rest % dims[d] * below;
      }
      values.push_back(inside ? values_[index] : -5);
    }
    check(H5Dset_extent(dataset_, dims.data()), "H5Dset_extent");
    dims_ = dims;
    values_ = std::move(values);
  }

  // Returns the error, if it is one.
  std::string read(std::vector<int>& got, bool collective) const {
    got.assign(std::max<hsize_t>(elements(), 1), 0);
    const Id list = transfer(collective);
    const herr_t done = H5Dread(dataset_, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, list, got.data());
    return done < 0 ? "an error: " + take_errors() : "";
  }
  void compare(const char* when, bool collective) const {
    std::vector<int> got;
    const std::string error = read(got, collective);
    if (!error.empty()) return expect(false, name_ + " " + when + ": " + error);
    got.resize(values_.size());
    for (std::size_t k = 0; k < got.size(); ++k)
      if (got[k] != values_[k])
        return expect(false, name_ + " " + when + ": element " + std::to_string(k) + " is " +
                                 std::to_string(got[k]) + ", not " + std::to_string(values_[k]));
  }
  hsize_t elements() const {
    hsize_t product = 1;
    for (const hsize_t d : dims_) product *= d;
    return product;
  }
  const std::vector<int>& values() const { return values_; }

 private:
  Array() = default;

  std::string name_;
  Dims dims_;
  Id dataset_;
  std::vector<int> values_;
};

void flush(hid_t file) {
  check(H5Fflush(file, H5F_SCOPE_GLOBAL), "H5Fflush");
  MPI_Barrier(MPI_COMM_WORLD);
}

// Closes the file, and reads all arrays by HDF5's own connector.
void finish(Id& file, std::vector<Array*> arrays) {
  for (Array* array : arrays) array->close();
  file.close("H5Fclose");
  Id native(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access_list(true)), H5Fclose, "H5Fopen");
  for (Array* array : arrays) {
    array->open(native);
    array->compare("natively after the close", false);
    array->close();
  }
}

Box rows(hsize_t columns, int r, hsize_t each) {
  return {{each * static_cast<hsize_t>(r), 0}, {each, columns}};
}

void small_calls() {
  Id file = create_file();
  const auto n = static_cast<hsize_t>(size);
  Array a(file, "contiguous", {3 * n, 17}), b(file, "chunks", {3 * n, 17}, {2, 5}),
      c(file, "long_chunks", {3 * n, 17}, {3 * n, 6}), d(file, "one", {5 * n}),
      e(file, "filtered", {3 * n, 17}, {2, 5}, {}, H5T_STD_I32LE, true),
      f(file, "big_endian", {3 * n, 17}, {}, {}, H5T_IEEE_F64BE);
  for (int turn = 0; turn < 3; ++turn)
    for (Array* array : {&a, &b, &c, &e, &f})
      // In each turn another rank writes over what was written before it.
      array->write_all([&](int r) { return rows(17, (r + turn) % size, 3); }, 1000 * turn);
  d.write_all([&](int r) { return Box{{static_cast<hsize_t>(r)}, {5}, {n}}; }, 7);
  for (const Array* array : {&a, &b, &c, &d}) array->compare("read collectively", true);
  b.write_all(
      [&](int r) {
        return r % 2 == 0 ? Box{{static_cast<hsize_t>(r), 1}, {1, 4}, {1, 3}} : Box{{0, 0}, {0, 0}};
      },
      50);
  flush(file);
  for (const Array* array : {&a, &b, &c, &d, &e, &f}) array->compare("after a flush", false);
  a.write_all([&](int r) { return rows(17, size - 1 - r, 3); }, 90);
  finish(file, {&a, &b, &c, &d, &e, &f});
}

// From the program's memory: each rank by itself, or in one operation where pieces are small.
void large_calls() {
  Id file = create_file();
  const auto n = static_cast<hsize_t>(size);
  Array a(file, "slabs", {64 * n, 4096}), b(file, "columns", {512, 512 * n}),
      s(file, "small", {4 * n, 8}), c(file, "chunks", {64 * n, 4096}, {60, 4096});
  for (int turn = 0; turn < 2 * size; ++turn) {
    s.write_all([&](int r) { return rows(8, (r + turn) % size, 4); }, turn);
    a.write_all([&](int r) { return rows(4096, (r + turn) % size, 64); }, 10 * turn);
    c.write_all([&](int r) { return rows(4096, (r + 2 * turn + 1) % size, 64); }, 10 * turn);
  }
  b.write_all([&](int r) { return Box{{0, 512 * static_cast<hsize_t>(r)}, {512, 512}}; }, 3);
  a.compare("read collectively", true);
  flush(file);
  for (const Array* array : {&a, &b, &c, &s}) array->compare("after a flush", false);
  finish(file, {&a, &b, &c, &s});
}

void extents_change() {
  Id file = create_file();
  const auto n = static_cast<hsize_t>(size);
  const Dims most = {H5S_UNLIMITED, 4 * n}, any = {H5S_UNLIMITED, H5S_UNLIMITED};
  Array a(file, "records", {0, 4 * n}, {2, 3}, most), b(file, "other", {5, 4 * n}, {2, 3}, any),
      c(file, "beside", {9, 4 * n}, {2, 4});
  const auto columns = [](hsize_t row, hsize_t count) {
    return [row, count](int r) { return Box{{row, 4 * static_cast<hsize_t>(r)}, {count, 4}}; };
  };
  for (hsize_t row = 0; row < 9; ++row) {
    a.resize({row + 1, 4 * n});
    a.write_all(columns(row, 1), static_cast<int>(100 * row));
    c.write_all(columns(row, 1), static_cast<int>(row));
  }
  b.write_all(columns(0, 5), 5);
  b.resize({6, 4 * n + 3});
  b.write_all(
      [&](int r) {
        return Box{{static_cast<hsize_t>(r % 6), 4 * n}, {r < 6 ? hsize_t{1} : 0, 3}};
      },
      9);
  flush(file);
  a.compare("grown", false);
  b.compare("grown", false);
  if (size == 1 || refuses) {  // HDF5 1.14.5 brings back chunks that it has cut, see player_data.cc
    a.write_all(columns(3, 2), 777);
    a.resize({4, 4 * n});
    Array d(file, "in_freed_space", {40, 4 * n}, {2, 3});
    d.write_all(columns(1, 30), 31);
    a.resize({9, 4 * n});
    a.write_all(columns(6, 2), 888);
    flush(file);
    a.compare("cut and grown", false);
    d.compare("in freed space", false);
    finish(file, {&a, &b, &c, &d});
  } else {
    finish(file, {&a, &b, &c});
  }
}

// A selection that no box has, in a space that was asked for before the dataset grew. (HDF5 itself
// loses writes after it shrank.)
void older_spaces() {
  Id file = create_file();
  const auto n = static_cast<hsize_t>(size), r = static_cast<hsize_t>(rank);
  const Dims any = {H5S_UNLIMITED, H5S_UNLIMITED, H5S_UNLIMITED};
  Array a(file, "a", {4 * n, 3, 10}, {5, 2, 4}, any);
  for (const Dims& next : {Dims{4 * n, 3, 13}, Dims{4 * n, 5, 13}, Dims{5 * n, 5, 16}}) {
    const Id space(H5Dget_space(a.id()), H5Sclose, "H5Dget_space");
    const auto boxes_of = [](hsize_t its) {
      return std::vector<Box>{{{4 * its, 0, 1}, {1, 2, 5}},
                              {{4 * its + 1, 1, 2}, {1, 1, 3}},
                              {{4 * its + 2, 0, 4}, {2, 3, 6}}};
    };
    H5S_seloper_t how = H5S_SELECT_SET;
    for (const Box& box : boxes_of(r)) {
      check(H5Sselect_hyperslab(space, how, box.start.data(), nullptr, box.count.data(), nullptr),
            "H5Sselect_hyperslab");
      how = H5S_SELECT_OR;
    }
    a.resize(next);
    std::vector<int> numbers(10 + 3 + 36);
    for (std::size_t k = 0; k < numbers.size(); ++k)
      numbers[k] = static_cast<int>(k + 1000 * r + 10 * next[2] + next[1]);
    const Id memory = simple_space({numbers.size()}), list = transfer(true);
    check(H5Dwrite(a.id(), H5T_NATIVE_INT, memory, space, list, numbers.data()), "H5Dwrite");
    for (hsize_t other = 0; other < n; ++other) {
      auto first = static_cast<int>(1000 * other + 10 * next[2] + next[1]);
      for (const Box& box : boxes_of(other)) {
        a.note(box, first);
        first += static_cast<int>(box.elements());
      }
    }
    flush(file);
    a.compare("by an older space", false);
  }
  finish(file, {&a});
}

// Only one rank has data for a dataset that is gone before it is written.
void removed_by_ranks_without_data() {
  Id file = create_file();
  const auto n = static_cast<hsize_t>(size);
  for (const bool in_chunks : {false, true}) {
    Array gone(file, "gone", {6 * n, 50}, in_chunks ? Dims{4, 7} : Dims{});
    check(H5Ldelete(file, "gone", H5P_DEFAULT), "H5Ldelete");
    gone.write_all([&](int r) { return r == 0 ? rows(50, 0, 6) : Box{{0, 0}, {0, 0}}; }, 1);
    gone.close();
    std::vector<Array> kept;
    for (int k = 0; k < 5; ++k)
      kept.emplace_back(file, (in_chunks ? "c" : "k") + std::to_string(k), Dims{6 * n, 50},
                        in_chunks ? Dims{4, 7} : Dims{});
    for (Array& array : kept) array.write_all([&](int r) { return rows(50, r, 6); }, 70);
    flush(file);
    for (const Array& array : kept) array.compare("beside what was removed", false);
  }
  file.close("H5Fclose");
}

// The selection in the file stands in the list of properties, on one rank or on all.
void selections_in_lists() {
  Id file = create_file();
  const auto n = static_cast<hsize_t>(size);
  Array a(file, "a", {2 * n, 10}), b(file, "b", {2 * n, 10}, {2, 4});
  for (Array* array : {&a, &b}) {
    array->write_all([&](int r) { return rows(10, size - 1 - r, 2); }, 1);
    const Box mine = rows(10, rank, 1);
    const Id list = transfer(true), memory = simple_space({10}), space = array->select(&mine);
    const bool in_list = array == &a || rank == 0;
    if (in_list)
      check(H5Pset_dataset_io_hyperslab_selection(list, 2, H5S_SELECT_SET, mine.start.data(),
                                                  nullptr, mine.count.data(), nullptr),
            "H5Pset_dataset_io_hyperslab_selection");
    const std::vector<int> numbers = Array::numbers(&mine, 500 + 1000000 * rank);
    check(H5Dwrite(array->id(), H5T_NATIVE_INT, memory,
                   in_list ? H5S_PLIST : static_cast<hid_t>(space), list, numbers.data()),
          "H5Dwrite");
    for (int r = 0; r < size; ++r) array->note(rows(10, r, 1), 500 + 1000000 * r);
    flush(file);
    array->compare("by H5S_PLIST", false);
  }
  finish(file, {&a, &b});
}

void removed_datasets() {
  Id file = create_file();
  const auto n = static_cast<hsize_t>(size);
  std::vector<Array> kept;
  for (int turn = 0; turn < 4; ++turn) {
    Array gone(file, "gone", {6 * n, 50}, turn % 2 == 0 ? Dims{} : Dims{4, 7});
    gone.write_all([&](int r) { return rows(50, r, 6); }, 1);
    check(H5Ldelete(file, "gone", H5P_DEFAULT), "H5Ldelete");
    gone.write_all([&](int r) { return rows(50, (r + 1) % size, 6); }, 2);
    if (turn >= 2) flush(file);
    gone.close();
    kept.emplace_back(file, "kept" + std::to_string(turn), Dims{6 * n, 50},
                      turn % 2 == 0 ? Dims{} : Dims{4, 7});
    kept.back().write_all([&](int r) { return rows(50, r, 6); }, 10 * turn);
    if (turn == 1) check(H5Ocopy(file, "kept0", file, "copy", H5P_DEFAULT, H5P_DEFAULT), "H5Ocopy");
  }
  flush(file);
  for (const Array& array : kept) array.compare("in the space of a removed one", false);
  {
    Array copy = Array::existing(file, "copy", kept[0].values());
    copy.compare("as a copy", true);
    copy.write_all([&](int r) { return rows(50, (r + 1) % size, 6); }, 400);
    flush(file);
    copy.compare("changed", false);
    kept[0].compare("beside its copy", false);
  }
  finish(file, {&kept[0], &kept[1], &kept[2], &kept[3]});
}

void many_datasets_in_a_call() {
  Id file = create_file();
  const auto n = static_cast<hsize_t>(size);
  std::vector<Array> arrays;
  for (int k = 0; k < 20; ++k)
    arrays.emplace_back(file, "d" + std::to_string(k), Dims{2 * n, 30},
                        k % 3 == 0 ? Dims{} : Dims{3, 8}, Dims{}, H5T_STD_I32LE, k % 3 == 2);
  const Box box = rows(30, rank, 2);
  std::vector<std::vector<int>> data;
  std::vector<const void*> buffers;
  std::vector<hid_t> ids, types, memory, file_spaces;
  std::vector<Id> spaces;
  for (int k = 0; k < 20; ++k) {
    data.push_back(Array::numbers(&box, 1000 * k + 1000000 * rank));
    buffers.push_back(data.back().data());
    ids.push_back(arrays[static_cast<std::size_t>(k)].id());
    types.push_back(H5T_NATIVE_INT);
    spaces.push_back(simple_space({box.elements()}));
    memory.push_back(spaces.back());
    spaces.push_back(arrays[static_cast<std::size_t>(k)].select(&box));
    file_spaces.push_back(spaces.back());
    for (int r = 0; r < size; ++r)
      arrays[static_cast<std::size_t>(k)].note(rows(30, r, 2), 1000 * k + 1000000 * r);
  }
  check(H5Dwrite_multi(20, ids.data(), types.data(), memory.data(), file_spaces.data(),
                       transfer(true), buffers.data()),
        "H5Dwrite_multi");
  flush(file);
  std::vector<Array*> all;
  for (Array& array : arrays) {
    array.compare("after H5Dwrite_multi", false);
    all.push_back(&array);
  }
  finish(file, all);
}

void independent_writes() {
  Id file = create_file();
  const auto n = static_cast<hsize_t>(size);
  Array a(file, "a", {2 * n, 20}), b(file, "b", {2 * n, 20}, {3, 7});
  for (Array* array : {&a, &b}) {
    const Box mine = rows(20, rank, 2);
    array->write(&mine, 1000000 * rank, false);
    for (int r = 0; r < size; ++r) array->note(rows(20, r, 2), 1000000 * r);
    MPI_Barrier(MPI_COMM_WORLD);
    array->write_all([&](int r) { return rows(20, (r + 1) % size, 2); }, 100);
    MPI_Barrier(MPI_COMM_WORLD);
    const Box part{{0, 3}, {2 * n, 2}};
    if (rank == size - 1) array->write(&part, 5000, false);
    array->note(part, 5000);
    MPI_Barrier(MPI_COMM_WORLD);
    array->write_all([&](int r) { return Box{{2 * static_cast<hsize_t>(r), 4}, {1, 3}}; }, 300);
    if (refuses && size > 1) {
      std::vector<int> got;
      const std::string told = array->read(got, false);
      expect(told.find("call H5Fflush") != std::string::npos, "what waits is not refused: " + told);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  flush(file);
  a.compare("after independent writes", false);
  b.compare("after independent writes", false);
  finish(file, {&a, &b});
}

// A rank with wrong arguments does not keep the others waiting.
void wrong_arguments() {
  if (!refuses) return;
  Id file = create_file();
  const auto n = static_cast<hsize_t>(size);
  for (const hsize_t columns : {hsize_t{10}, hsize_t{100000}}) {
    Array a(file, "a" + std::to_string(columns), {2 * n, columns});
    const Box mine = rows(columns, rank, 2);
    if (rank == size - 1) {
      const Id memory = simple_space({7}), space = a.select(&mine), list = transfer(true);
      const int numbers[7] = {};
      expect(H5Dwrite(a.id(), H5T_NATIVE_INT, memory, space, list, numbers) < 0,
             "a wrong call succeeds");
      take_errors();
      // As many elements, beyond the end of what memory has.
      const std::vector<int> more(2 * mine.elements() + 5);
      const hsize_t from = mine.elements(), count = mine.elements();
      const Id short_memory = simple_space({mine.elements() + 5});
      check(H5Sselect_hyperslab(short_memory, H5S_SELECT_SET, &from, nullptr, &count, nullptr),
            "H5Sselect_hyperslab");
      expect(H5Dwrite(a.id(), H5T_NATIVE_INT, short_memory, space, list, more.data()) < 0,
             "a selection outside of memory is written");
      take_errors();
    } else {
      a.write(&mine, 1000000 * rank);
      a.write(&mine, 1000000 * rank);
    }
    for (int r = 0; r + 1 < size; ++r) a.note(rows(columns, r, 2), 1000000 * r);
    flush(file);
    a.compare("beside a wrong call", false);
  }
}

// Fields of a compound type, of which some ranks write only one. HDF5 hangs if not all do.
void fields() {
  struct Pair {
    int a, b;
  };
  Id file = create_file();
  const auto type_of = [](bool both) {
    Id type(H5Tcreate(H5T_COMPOUND, sizeof(Pair)), H5Tclose, "H5Tcreate");
    check(H5Tinsert(type, "a", 0, H5T_NATIVE_INT), "H5Tinsert");
    if (both) check(H5Tinsert(type, "b", sizeof(int), H5T_NATIVE_INT), "H5Tinsert");
    return type;
  };
  const Id both = type_of(true), one = type_of(false);
  const auto n = static_cast<hsize_t>(size);
  const Id space = simple_space({3 * n}), memory = simple_space({3}), list = transfer(true);
  Id set(H5Dcreate2(file, "pairs", both, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose,
         "H5Dcreate2");
  const hsize_t start = 3 * static_cast<hsize_t>(rank), count = 3;
  const Id part = copy_space(space);
  check(H5Sselect_hyperslab(part, H5S_SELECT_SET, &start, nullptr, &count, nullptr), "select");
  const std::vector<Pair> first(3, {rank, -1}), second(3, {rank + 50, 9});
  check(H5Dwrite(set, both, memory, part, list, first.data()), "H5Dwrite");
  check(H5Dwrite(set, rank == 0 || !refuses ? one : both, memory, part, list, second.data()),
        "H5Dwrite");
  flush(file);
  std::vector<Pair> got(3 * n);
  check(H5Dread(set, both, H5S_ALL, H5S_ALL, H5P_DEFAULT, got.data()), "H5Dread");
  for (int r = 0; r < size; ++r)
    expect(got[3 * static_cast<std::size_t>(r)].a == r + 50 &&
               got[3 * static_cast<std::size_t>(r)].b == (r == 0 || !refuses ? -1 : 9),
           "fields are not as written");
}

// Files that one process made, whose datasets have not all their space.
void files_made_alone() {
  const auto n = static_cast<hsize_t>(size);
  if (rank == 0) {
    const Id access = make_list(H5P_FILE_ACCESS);
    check(H5Pset_vol(access, H5VL_NATIVE, nullptr), "H5Pset_vol");
    const Id file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose,
                  "H5Fcreate");
    Array late(file, "late", {2 * n, 9}), parts(file, "parts", {2 * n, 9}, {2, 4}),
        early(file, "early", {2 * n, 9});
    const Id space = simple_space({2 * n, 9}), list = make_list(H5P_DATASET_XFER);
    const std::vector<int> all(2 * n * 9, -5);
    check(H5Dwrite(early.id(), H5T_NATIVE_INT, space, space, list, all.data()), "H5Dwrite");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Id file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access_list()), H5Fclose, "H5Fopen");
  std::vector<int> fill(2 * n * 9, -5);
  Array late = Array::existing(file, "late", fill), parts = Array::existing(file, "parts", fill),
        early = Array::existing(file, "early", fill);
  for (int turn = 0; turn < 2; ++turn)
    for (Array* array : {&late, &parts, &early})
      array->write_all([&](int r) { return rows(9, (r + turn) % size, 2); }, 40 * turn);
  flush(file);
  for (const Array* array : {&late, &parts, &early}) array->compare("of a file made alone", false);
  finish(file, {&late, &parts, &early});
}

void odd_files() {
  const auto n = static_cast<hsize_t>(size);
  {
    const Id creation = make_list(H5P_FILE_CREATE);
    check(H5Pset_userblock(creation, 1024), "H5Pset_userblock");
    Id file = create_file(creation);
    Array a(file, "behind_a_user_block", {2 * n, 9}),
        none(file, "empty", {0, 9}, {2, 3}, {H5S_UNLIMITED, 9});
    a.write_all([&](int r) { return rows(9, r, 2); }, 4);
    none.write_all([&](int) { return Box{{0, 0}, {0, 0}}; }, 4);
    finish(file, {&a, &none});
  }
  // Half of the ranks have the file open.
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  const std::string mine = path + std::to_string(rank % 2);
  int number = 0, of = 1;
  MPI_Comm_rank(half, &number);
  MPI_Comm_size(half, &of);
  {
    const Id file(H5Fcreate(mine.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access_list(false, half)),
                  H5Fclose, "H5Fcreate");
    Array a(file, "half", {2 * static_cast<hsize_t>(of), 9});
    const Box box = rows(9, number, 2);
    a.write(&box, number);
    for (int r = 0; r < of; ++r) a.note(rows(9, r, 2), r);
    a.compare("of half of the ranks", true);
  }
  if (number == 0) ::unlink(mine.c_str());
  MPI_Comm_free(&half);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  if (argc < 2) return EXIT_FAILURE;
  path = argv[1];
  refuses = argc > 2 && std::strcmp(argv[2], "--refuses") == 0;
  const std::pair<const char*, void (*)()> cases[] = {
      {"small_calls", small_calls},
      {"large_calls", large_calls},
      {"extents_change", extents_change},
      {"older_spaces", older_spaces},
      {"removed_datasets", removed_datasets},
      {"removed_by_ranks_without_data", removed_by_ranks_without_data},
      {"selections_in_lists", selections_in_lists},
      {"many_datasets_in_a_call", many_datasets_in_a_call},
      {"independent_writes", independent_writes},
      {"wrong_arguments", wrong_arguments},
      {"fields", fields},
      {"files_made_alone", files_made_alone},
      {"odd_files", odd_files}};
  for (const auto& [name, run] : cases) {
    if (rank == 0) std::printf("%s\n", name), std::fflush(stdout);
    try {
      run();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d, %s: %s\n", rank, name, error.what());
      MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) ::unlink(path.c_str());
  H5close();
  MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
