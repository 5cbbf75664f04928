#pragma once

// The E3SM workload on parallel HDF5: a dataset a variable, and one H5Dwrite for each variable and
// record, whose file dataspace selects the union of all pieces of this rank.
//
//     write   create; H5Dcreate and attributes of everything; the selection of each decomposition,
//             once, which all its variables share ("select"); for each record H5Dset_extent of the
//             record variables ("extend") and H5Dwrite of every variable, or H5Dwrite_multi of all;
//             close
//     read    open; H5Dopen; selections and H5Dread as above, or whole variables, or hyperslabs
//             (ReadOptions); close

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "backends/hdf5_handles.h"
#include "workloads/read_back.h"
#include "workloads/workload_e3sm.h"

namespace forebay::bench {

struct E3smHdf5Options {
  bool one_call = false;     ///< H5Dwrite_multi and H5Dread_multi, one call a record
  bool independent = false;  ///< independent transfers: ranks without elements make no call
  /// The record dimension has its full length from the beginning, and datasets are contiguous.
  /// Otherwise it is unlimited, as in the netCDF file, and grows with each record; a record is one
  /// chunk, since HDF5 has no other layout that grows.
  bool fixed = false;
  ReadOptions read;
};

class E3smHdf5 final : public E3smWorkload {
 public:
  /// Collective. Throws std::runtime_error if the inputs cannot be had.
  E3smHdf5(const E3smOptions& options, const E3smHdf5Options& hdf5, const Team& team);

  nlohmann::json parameters() const override;
  void write(const std::string& path, MPI_Info info, Phases& phases) override;
  void prepare_read() override;
  void read(const std::string& path, MPI_Info info, Phases& phases) override;
  std::int64_t verify() override;

 private:
  struct Selection {
    Hdf5Id file, memory;
    int record = 0;  // where it stands in the record dimension, if it has one
  };
  static hid_t type_of(Memory memory);

  // What this rank reads of a variable where it does not read what it wrote.
  struct Part {
    int var = 0;
    Box box;  // with the record dimension
    std::vector<std::byte> data;
  };
  // The arguments of H5Dwrite and H5Dread, for one variable or for many.
  struct Calls;

  // Writing and reading back the pieces of this rank.
  void define(hid_t file);
  void open_all(hid_t file);
  void build_selections();
  void move_to_record(int record, bool extend);
  void transfer_slots(bool put, Phases& phases);
  void add_slot(const Slot& slot, Calls& calls);
  std::vector<hsize_t> extent_of(const cdl::Variable& var, int records) const;

  // Reading parts.
  void choose_parts();
  void read_parts(hid_t file, Phases& phases);
  std::int64_t verify_part(const Part& part);
  void find_coverage();

  E3smHdf5Options hdf5_;
  Hdf5Id transfer_;
  std::vector<Hdf5Id> datasets_;  // one a variable
  // Of each map: for variables without and with a record dimension, where there are any.
  std::vector<std::array<std::optional<Selection>, 2>> selections_;
  std::vector<Selection> alone_;  // of one call: variables without a map
  std::vector<Part> parts_;
  // Of each map, all elements: those that no rank writes, that hold a value, that hold fill.
  enum Coverage : unsigned char { Unwritten, Value, Fill };
  std::vector<std::vector<unsigned char>> coverage_;
};

}  // namespace forebay::bench
