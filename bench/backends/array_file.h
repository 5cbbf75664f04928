#pragma once

// The library under test, as workloads of dense arrays see it: one open file. Each program links
// one implementation, pnetcdf_file.cc for libraries with PnetCDF's interface, hdf5_file.cc for
// HDF5.

#include <mpi.h>

#include <memory>
#include <span>
#include <string>

#include "workloads/array.h"

namespace forebay::bench {

/// How the variables are to be stored.
struct ArrayStorage {
  bool chunked = false;  ///< in the chunks of the description; otherwise as the library does
  /// Filters in Forebay's notation, "deflate:6"; empty: none is asked for through the interface.
  std::string codec;
  /// HDF5: one H5Dwrite_multi for all variables in place of one H5Dwrite a variable.
  bool one_call = false;
  /// Independent transfers in place of collective ones; with PnetCDF's interface blocking ones.
  bool independent = false;
  /// PnetCDF's interface: one blocking collective call a variable in place of posting all of them
  /// and one wait_all.
  bool blocking = false;
};

/// A block of one variable, and its data in memory.
struct ArrayBlock {
  std::size_t variable = 0;
  Box box;  ///< may be empty: then this rank has nothing of the variable
  std::byte* data = nullptr;
};

/// All calls are collective and throw std::runtime_error with the library's message. The variables
/// must outlive the file.
class ArrayFile {
 public:
  virtual ~ArrayFile() = default;

  /// Defines all variables in a new file; afterwards it takes data.
  virtual void define(std::span<const ArrayVariable> variables) = 0;
  /// Looks all variables up in a file that exists.
  virtual void find(std::span<const ArrayVariable> variables) = 0;
  /// One block for each variable, in their order on every rank; of one variable any block.
  virtual void write(std::span<const ArrayBlock> blocks) = 0;
  virtual void read(std::span<const ArrayBlock> blocks) = 0;
  virtual void close() = 0;
};

std::unique_ptr<ArrayFile> create_array_file(const std::string& path, MPI_Comm comm, MPI_Info info,
                                             const ArrayStorage& storage);
std::unique_ptr<ArrayFile> open_array_file(const std::string& path, MPI_Comm comm, MPI_Info info,
                                           const ArrayStorage& storage);

}  // namespace forebay::bench
