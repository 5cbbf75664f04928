#include "player.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace forebay_test {
namespace {

uint64_t mixed(uint64_t a, uint64_t b) { return Rng(a * 0x9e3779b97f4a7c15ULL + b).next(); }

// One failing rank speaks for all.
std::string shared_text(std::string text, int from, MPI_Comm comm) {
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, from, comm);
  text.resize(static_cast<size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, from, comm);
  return text;
}

}  // namespace

Player::Player(const PlayerOptions& options, MPI_Comm comm)
    : options_(options), comm_(comm), rng_(options.seed) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
  latest_ = rng_.one_in(2);
  tracked_ = rng_.one_in(2);
  sides_[0].name = "native";
  sides_[1].name = "tested";
  for (Side& side : sides_) {
    side.path = options.directory + "/" + side.name + ".h5";
    side.access = make_list(H5P_FILE_ACCESS);
    if (!options.serial) {
      check(H5Pset_fapl_mpio(side.access, comm, MPI_INFO_NULL), "H5Pset_fapl_mpio");
    }
    const H5F_libver_t low = latest_ ? H5F_LIBVER_LATEST : H5F_LIBVER_EARLIEST;
    check(H5Pset_libver_bounds(side.access, low, H5F_LIBVER_LATEST), "H5Pset_libver_bounds");
  }
  const char* connector = std::getenv("HDF5_VOL_CONNECTOR");
  alone_ = connector == nullptr || *connector == '\0';
  if (alone_) {  // other places in the file, and nothing kept in memory
    check(H5Pset_cache(sides_[1].access, 0, 1, 0, 0), "H5Pset_cache");
    check(H5Pset_sieve_buf_size(sides_[1].access, 1), "H5Pset_sieve_buf_size");
    check(H5Pset_meta_block_size(sides_[1].access, 512), "H5Pset_meta_block_size");
    check(H5Pset_small_data_block_size(sides_[1].access, 0), "H5Pset_small_data_block_size");
  }
  check(H5Pset_vol(sides_[0].access, H5VL_NATIVE, nullptr), "H5Pset_vol");
}

const std::vector<Player::Operation>& Player::operations() {
  static const std::vector<Operation> all{
      {"create group", 3, &Player::create_group},
      {"create type", 2, &Player::create_type},
      {"create dataset", 9, &Player::create_dataset},
      {"put attribute", 6, &Player::put_attribute},
      {"change attribute", 3, &Player::change_attribute},
      {"create link", 4, &Player::create_link},
      {"move link", 2, &Player::move_link},
      {"remove link", 2, &Player::remove_link},
      {"copy object", 2, &Player::copy_object},
      {"look at group", 3, &Player::look_at_group},
      {"look at object", 3, &Player::look_at_object},
      {"compare tokens", 1, &Player::compare_tokens},
      {"count open objects", 1, &Player::count_open},
      {"write", 18, &Player::write_dataset},
      {"read", 10, &Player::read_dataset},
      {"write many", 4, &Player::write_many},
      {"read many", 3, &Player::read_many},
      {"set extent", 6, &Player::set_extent},
      {"hold dataset", 2, &Player::hold_dataset},
      {"flush", 3, &Player::flush},
      {"reopen", 2, &Player::reopen},
  };
  return all;
}

// What external links lead to: an ordinary file, made without the connector under test.
void Player::make_outside_file() {
  if (rank_ == 0) {
    const Id access = make_list(H5P_FILE_ACCESS);
    check(H5Pset_vol(access, H5VL_NATIVE, nullptr), "H5Pset_vol");
    const Id file(
        H5Fcreate((options_.directory + "/outside.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access),
        H5Fclose, "H5Fcreate");
    const Id group(H5Gcreate2(file, "there", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
                   "H5Gcreate2");
    const Id space = simple_space({3});
    const Id dataset(
        H5Dcreate2(file, "data", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose, "H5Dcreate2");
    const int values[] = {1, 2, 3};
    check(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), "H5Dwrite");
  }
  MPI_Barrier(comm_);
}

std::string Player::play() {
  make_outside_file();
  open_files(true);
  int total = 0;
  for (const Operation& operation : operations()) total += operation.weight;
  for (number_ = 0; number_ < options_.operations && failure_.empty(); ++number_) {
    // The first make something to work on.
    const Operation* chosen = &operations()[2];
    if (number_ >= 3) {
      int64_t at = rng_.below(total);
      for (chosen = operations().data(); at >= chosen->weight; ++chosen) at -= chosen->weight;
    }
    if (rank_ == 0) std::printf("operation %d\n", number_);
    std::fflush(stdout);  // whoever waits for the end sees that it goes on
    (this->*chosen->run)();
    if (failed_anywhere()) break;
  }
  if (failure_.empty()) compare_files("before close");
  if (failure_.empty()) {
    close_files();
    if (options_.native_at_end)
      check(H5Pset_vol(sides_[1].access, H5VL_NATIVE, nullptr), "H5Pset_vol");
    if (!failed_anywhere()) open_files(false);
  }
  if (failure_.empty()) compare_files("after reopening");
  if (failure_.empty()) close_files();
  failed_anywhere();
  return failure_;
}

void Player::open_files(bool create) {
  both(
      create ? "H5Fcreate" : "H5Fopen",
      [&](Side& side) {
        const Id creation = make_list(H5P_FILE_CREATE);
        const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
        if (tracked_) check(H5Pset_link_creation_order(creation, order), "creation order");
        side.file =
            create ? Id(H5Fcreate(side.path.c_str(), H5F_ACC_TRUNC, creation, side.access),
                        H5Fclose, "H5Fcreate")
                   : Id(H5Fopen(side.path.c_str(), H5F_ACC_RDWR, side.access), H5Fclose, "H5Fopen");
        return std::string("ok");
      },
      true);
  if (create) failed_anywhere();
}

void Player::close_files() {
  both(
      "H5Fclose",
      [](Side& side) {
        side.held.clear();
        side.file.close("H5Fclose");
        return std::string("ok");
      },
      true);
  if (!options_.serial) MPI_Barrier(comm_);
  dirty_.clear();
}

void Player::both(const std::string& what, const Act& act, bool must) {
  if (!failure_.empty()) return;
  if (options_.trace) std::fprintf(stderr, "%d: rank %d: %s\n", number_, rank_, what.c_str());
  std::string results[2], errors[2];
  for (int k = 0; k < 2; ++k) {
    try {
      results[k] = act(sides_[k]);
    } catch (const std::exception& error) {
      results[k] = "an error";
      errors[k] = error.what();
      if (options_.trace) std::fprintf(stderr, "  %s: %s\n", sides_[k].name, error.what());
    }
    H5Eclear2(H5E_DEFAULT);
  }
  const std::string fault = take_fault();
  const bool at_fault = alone_ && !fault.empty();
  if (results[0] == results[1] && !at_fault && !(must && !errors[0].empty())) return;
  for (int k = 0; k < 2; ++k) {
    if (!errors[k].empty()) results[k] += " (" + errors[k] + ")";
  }
  failure_ = first_difference(what, results[0], results[1]);
  if (!fault.empty()) failure_ += "\n  a call failed that must work: " + fault;
  // At once: the other ranks may wait for this one in a call that it will not make.
  std::fprintf(stderr, "%s\n", failure_.c_str());
}

std::string Player::first_difference(const std::string& what, const std::string& native,
                                     const std::string& tested) const {
  constexpr size_t kBefore = 120, kShown = 360;
  size_t at = 0;
  while (at < native.size() && at < tested.size() && native[at] == tested[at]) ++at;
  const size_t line = native.rfind('\n', at == 0 ? 0 : at - 1);
  const size_t from =
      std::max(line == std::string::npos ? 0 : line + 1, at < kBefore ? 0 : at - kBefore);
  return "seed " + std::to_string(options_.seed) + ", operation " + std::to_string(number_) +
         ", rank " + std::to_string(rank_) + " of " + std::to_string(ranks_) + ": " + what +
         ": character " + std::to_string(at) + "\n  native: " + native.substr(from, kShown) +
         "\n  tested: " + tested.substr(from, kShown);
}

bool Player::failed_anywhere() {
  int first = failure_.empty() ? ranks_ : rank_;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm_);
  if (first == ranks_) return false;
  failure_ = shared_text(failure_, first, comm_);
  return true;
}

void Player::compare_files(const char* when) {
  synchronise();
  both(std::string("all of the file ") + when, [](Side& side) { return describe_file(side.file); });
  failed_anywhere();
}

std::vector<std::string> Player::paths_of(H5O_type_t kind) {
  std::vector<std::string> paths;
  for (const Found& found : find_objects(sides_[0].file)) {
    if (found.kind == kind) paths.push_back(found.path);
  }
  return paths;
}

std::string Player::any_object() {
  const std::vector<Found> all = find_objects(sides_[0].file);
  return all[static_cast<size_t>(rng_.below(static_cast<int64_t>(all.size())))].path;
}

std::string Player::any_group() {
  const std::vector<std::string> groups = paths_of(H5O_TYPE_GROUP);
  return groups[static_cast<size_t>(rng_.below(static_cast<int64_t>(groups.size())))];
}

std::string Player::new_path() {
  const std::string group = any_group();
  // Names of different length and first letter, so that orders by name and by creation differ; now
  // and then one that may be taken.
  const int number = rng_.one_in(12) ? 3 : made_++;
  const std::string name =
      std::string(1, static_cast<char>('a' + (number * 7 + 3) % 26)) + std::to_string(number);
  return group == "." ? name : group + "/" + name;
}

Rng Player::own_rng() {
  return Rng(
      mixed(mixed(options_.seed, static_cast<uint64_t>(number_)), static_cast<uint64_t>(rank_)));
}

}  // namespace forebay_test
