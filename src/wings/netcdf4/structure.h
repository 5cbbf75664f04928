// What HDF5's library and the rest of this wing tell each other. HDF5 makes and reads the structure
// of a file: superblock, object headers, attributes, indexes of chunks. Values do not pass through
// it. Ranks know from here where they lie, and read and write them themselves.
//
// Only the plug-in libforebay_netcdf4.so knows HDF5. It is loaded when the first such file is met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/schema.h"
#include "base/error.h"
#include "base/types.h"
#include "layout/chunked/filtered_chunks.h"

namespace forebay::netcdf4 {

using chunked::Filter;

/// How HDF5 stores an attribute, where that is not how netCDF-C does: text as a scalar of fixed
/// length, numbers in one dimension. So that it stays when the structure is written anew.
struct AttributeForm {
  std::string name;
  bool variable_length = false, utf8 = false;  ///< of text
  bool scalar = false;                         ///< of numbers
  int padding = 0;                             ///< H5T_str_t, of text of fixed length

  bool operator==(const AttributeForm&) const = default;
};

/// How a variable is stored.
struct StoredVariable : chunked::StoredForm {
  enum class Way : std::uint8_t {
    contiguous,  ///< at `place`
    chunks,      ///< in chunks, which ranks encode and decode
    by_hdf5      ///< in a way that only HDF5 reads; `why` says which
  };
  Way way = Way::contiguous;
  Count bytes = 0;    ///< of a contiguous variable that this session placed
  Offset place = -1;  ///< of the first byte; -1: nothing was ever written
  std::string path;   ///< of the dataset, where it is read by HDF5
  std::string why;
  bool never_filled = false;  ///< HDF5's fill time
  std::vector<AttributeForm> attributes;

  bool operator==(const StoredVariable&) const = default;
};

/// The first part of the name of a dataset whose variable has the name of a dimension, but is no
/// coordinate variable of it.
constexpr const char* no_coordinate_prefix = "_nc4_non_coord_";

/// A chunk in the file. Chunks are numbered as in ChunkGrid.
struct ChunkPlace {
  Count id = 0;
  Offset offset = 0;
  Count bytes = 0;
  std::uint64_t skipped = 0;  ///< HDF5's filter mask: filters that were not applied
};

/// A structure to write. Everything but the superblock goes to new places, so that the file shows
/// its old structure until the superblock is replaced.
struct NewStructure {
  const Schema& schema;
  std::span<const StoredVariable> stored;
  bool classic_model = false;
  std::span<const AttributeForm> attributes;  ///< of the file
  /// Returns a free place for bytes of the structure.
  std::function<Offset(Count bytes)> allocate;
  /// Calls f for each chunk of a variable, by increasing number.
  std::function<void(VarId var, const std::function<void(const ChunkPlace&)>& f)> each_chunk;
  /// Returns the parameters with which a program asks HDF5 for a filter that is a plug-in.
  std::function<std::vector<std::uint32_t>(const Filter& filter)> values_to_ask;
};

/// Bytes for the file.
struct WrittenStructure {
  struct Block {
    Offset place;                  ///< as NewStructure::allocate returned it
    std::vector<std::byte> bytes;  ///< as many as there are in use
  };
  std::vector<std::byte> superblock;  ///< the first bytes of the file, which make it show the rest
  std::vector<Block> blocks;
  Offset end = 0;  ///< the size that the file must have at least
};

/// The structure of a file that exists.
struct ReadStructure {
  Schema schema;
  std::vector<StoredVariable> stored;
  std::vector<std::vector<ChunkPlace>> chunks;  ///< of each variable
  bool classic_model = false;
  Offset file_size = 0;
  std::vector<AttributeForm> attributes;  ///< of the file
  /// What a structure that is written anew would not have, though the schema shows it.
  std::vector<std::string> not_kept;
  /// What the schema does not have, one sentence each: groups, types that netCDF's classic model
  /// does not know. Such a file cannot be written to, as its structure is written anew.
  std::vector<std::string> left_out;
};

/// The values of a file that HDF5 reads.
class Hdf5Values {
 public:
  virtual ~Hdf5Values() = default;
  /// Local. Reads a block of a dataset's elements, in the order of bytes that the file has. Records
  /// beyond those of the dataset are left as they are.
  virtual std::optional<Error> read(const StoredVariable& stored, std::span<const Count> start,
                                    std::span<const Count> count, std::byte* to) = 0;
};

/// HDF5's library. All functions are local, and return their error instead of throwing it, as they
/// are in another library.
class Hdf5Side {
 public:
  virtual ~Hdf5Side() = default;
  virtual std::optional<Error> write(const NewStructure& structure, WrittenStructure& written) = 0;
  virtual std::optional<Error> read(const std::string& path, ReadStructure& structure) = 0;
  virtual std::optional<Error> open(const std::string& path,
                                    std::unique_ptr<Hdf5Values>& values) = 0;
  virtual std::string version() const = 0;  ///< of HDF5
};

/// Changes with what this header says, so that a plug-in of another build is refused.
constexpr const char* interface_version = FOREBAY_VERSION "-7";
constexpr std::size_t interface_bytes = sizeof(Schema) + 3 * sizeof(NewStructure) +
                                        5 * sizeof(WrittenStructure) + 7 * sizeof(ReadStructure) +
                                        11 * sizeof(StoredVariable);
using MakeHdf5Side = Hdf5Side* (*)(const char* interface_version, std::size_t interface_bytes);

/// Returns the plug-in, which is loaded once. Errc::enotbuilt if it cannot be had.
Hdf5Side& hdf5_side();

}  // namespace forebay::netcdf4
