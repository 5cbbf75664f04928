// The engine of an ordinary HDF5 file whose datasets the ranks write: layout `chunked` over those
// with filters, one operation of the transport over those without.
//
// HDF5 keeps the index of chunks and the file's space. So places are HDF5's. Elements without
// filters have theirs from the beginning (chunked_places.h). For filtered chunks all ranks write a
// chunk of the same size directly (H5Dwrite_chunk), in the same order, which changes metadata
// alike on all, as parallel HDF5 needs it. The bytes of that write are held back, and the owner of
// the chunk writes its own to where they would have gone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/chunk_grid.h"
#include "array/request.h"
#include "base/report.h"
#include "comm/comm.h"
#include "hdf5/connector/chunked_dataset.h"
#include "hdf5/connector/chunked_places.h"
#include "layout/chunked/stored_chunks.h"
#include "method/method.h"
#include "storage/file.h"
#include "transport/transport.h"

namespace forebay {
class HeldBackWrite;
}

namespace forebay::vol {

class ChunkedFile {
 public:
  /// Collective. `path` is absolute; all arguments outlive the object.
  ChunkedFile(const Comm& comm, const std::string& path, const Method& method, Report& report);
  ~ChunkedFile();

  /// A dataset that is open below while its writes are carried out.
  struct OpenDataset {
    std::shared_ptr<ChunkedDataset> dataset;
    UnderObject under;
  };
  /// A list of requests for each group of writes.
  using Groups = std::vector<std::vector<Request>>;
  /// Collective, with the same datasets on all ranks, in the same order. Carries out the groups of
  /// take(), one after another; it is called once the filtered datasets have their variables. The
  /// variable of placed[i] is -1 - i. All ranks have as many groups. After an error all
  /// ranks call forget().
  void write(std::span<const OpenDataset> filtered, std::span<const PlacedVariable* const> placed,
             const std::function<Groups()>& take);

  /// Pieces of this size are not gathered: each costs little more than its bytes.
  static constexpr Count least_in_place = 128 << 10;
  /// Local. Returns whether a request is in pieces so large that its rank should write it by
  /// itself. The variable's places are known.
  bool goes_in_place(const Request& request, const PlacedVariable& var) const;
  /// Local. Writes them. The variable of placed[i] is -1 - i.
  void write_in_place(std::span<const Request> requests,
                      std::span<const PlacedVariable* const> placed);

  /// Collective. The file's datasets and their chunks may have changed.
  void forget();
  /// Collective.
  void close();
  std::vector<std::string> reasons() const;

 private:
  void prepare(std::span<const OpenDataset> datasets);
  void add(const OpenDataset& open);
  void set_extents(const OpenDataset& open, const std::vector<Count>& extents);
  void load(const OpenDataset& open);
  void look_elsewhere(VarId var, Count id);
  Offset place_of(VarId var, Count id, const chunked::Entry& entry);
  void put_chunk(VarId var, Count id, Count bytes, std::uint32_t skipped);

  const Comm& comm_;
  const std::string& path_;
  const Method& method_;
  Report& report_;
  std::shared_ptr<File> file_;
  std::unique_ptr<Transport> transport_;
  Schema schema_;
  std::vector<std::shared_ptr<ChunkedDataset>> datasets_;  // by variable
  std::vector<ChunkGrid> grids_;
  std::unique_ptr<chunked::StoredChunks> chunks_;
  // While write() runs.
  std::vector<UnderObject> open_;  // by variable
  std::vector<std::byte> dummy_;   // what HDF5 "writes"
  HeldBackWrite* held_back_ = nullptr;
};

}  // namespace forebay::vol
