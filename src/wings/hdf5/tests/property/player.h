// Random operations of HDF5 on two files at once: one through HDF5's own connector, one through the
// connector under test. Every operation says what a program sees of it, and both must say the same.
//
// Where no connector is under test, HDF5 itself is: the second file is an ordinary one too, made
// with settings that must not matter, and calls that must work do not fail alike either.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "describe.h"
#include "handles.h"
#include "selections.h"
#include "support/rng.h"
#include "values.h"

namespace forebay_test {

// One of the two files.
struct Side {
  const char* name;
  std::string path;
  Id access;
  Id file;
  std::vector<Id> held;  // datasets that stay open from one operation to the next
};

struct PlayerOptions {
  uint64_t seed = 1;
  int operations = 60;
  std::string directory = ".";
  bool serial = false;         // without MPI-IO: one rank, and all types
  bool trace = false;          // say what is done before it is done
  bool native_at_end = false;  // the file must be an ordinary one once it is closed
  int spoil = -1;  // from this operation on data is not the same: shows that the test can fail
};

// Plays one sequence of operations; every rank of `comm` makes the same calls, on data of its own.
class Player {
 public:
  Player(const PlayerOptions& options, MPI_Comm comm);

  // Empty if both files went the same way; otherwise what differed, the same on all ranks.
  std::string play();

 private:
  using Act = std::function<std::string(Side&)>;

  // What is done in one step: how it is called, and how often it comes.
  struct Operation {
    const char* name;
    int weight;
    void (Player::*run)();
  };
  static const std::vector<Operation>& operations();

  // The two sides.
  void make_outside_file();
  void open_files(bool create);
  void close_files();
  // Does `act` to both. Failing is as good as anything if both fail, unless it `must` work.
  void both(const std::string& what, const Act& act, bool must = false);
  void compare_files(const char* when);
  bool failed_anywhere();
  std::string first_difference(const std::string& what, const std::string& native,
                               const std::string& tested) const;

  // What there is to work on, from the native file.
  std::vector<std::string> paths_of(H5O_type_t kind);
  std::string any_object();
  std::string any_group();
  std::string new_path();
  Rng own_rng();  // another sequence on every rank

  // Links, groups, types, attributes (player_objects.cc).
  void create_group();
  void create_type();
  void create_dataset();
  Id dataset_list(const std::vector<hsize_t>& dims, bool grows, hid_t type);
  void put_attribute();
  void change_attribute();
  void create_link();
  void move_link();
  void remove_link();
  void copy_object();
  void look_at_group();
  void look_at_object();
  void compare_tokens();
  void count_open();

  // Data (player_data.cc).
  struct Target;
  Target choose_target(const std::string& path, Rng& own, bool write, bool collective, bool plain);
  std::vector<std::string> choose_datasets(int64_t most, bool plain);
  Id transfer_list(bool collective) const;
  bool must_be_collective(const std::string& path);
  bool is_chunked(const std::string& path);
  bool is_written_together(const std::string& path);
  bool has_storage(const std::string& path);
  bool keeps_freed_chunk(const std::string& path);
  static void write_cut_chunks(hid_t dataset);
  std::vector<std::string> referable();
  void remember_referred(Side& side, const std::set<std::string>& paths);
  bool holds_referred(const std::string& path);
  void write_dataset();
  void read_dataset();
  void write_many();
  void read_many();
  void transfer(bool write, bool many);
  void set_extent();
  void hold_dataset();
  void synchronise();
  void flush();
  void reopen();

  PlayerOptions options_;
  MPI_Comm comm_;
  int rank_ = 0;
  int ranks_ = 1;
  Rng rng_;
  Side sides_[2];
  int number_ = 0;                  // of the operation that is played
  int made_ = 0;                    // names given so far
  std::set<std::string> referred_;  // tokens of objects that references may point to
  bool alone_ = false;              // no connector is under test
  bool latest_ = false;             // format of the files
  bool tracked_ = false;            // whether groups keep the order of creation
  std::set<std::string> dirty_;     // datasets with data that other ranks may not see yet
  std::string failure_;
};

}  // namespace forebay_test
