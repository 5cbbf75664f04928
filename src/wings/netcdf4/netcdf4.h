// The container `netcdf4`: a netCDF-4 file, which is an HDF5 file. Values lie where ranks put them:
// fixed variables contiguously, others in chunks that layout `chunked` encodes, as HDF5's filters
// do. HDF5's library writes all else, on rank 0: the *structure* (structure.h).
//
// The structure is written anew at each sync and at the close, to space that the file's present one
// does not use. Then the superblock, 48 bytes at the beginning of the file, is replaced by one
// write. So the file always shows the structure of the last sync or close, whole, and every reader
// of HDF5 can read it, also when the job was killed. Chunks are never overwritten while a structure
// that the file shows refers to them (ChunkStore).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "container/joint_container.h"
#include "layout/chunked/stored_chunks.h"
#include "layout/classic_part.h"
#include "netcdf4/structure.h"
#include "storage/file.h"
#include "transport/transport.h"

namespace forebay::netcdf4 {

/// Local. Returns whether a file has HDF5's superblock.
bool is_hdf5(const std::string& path);

class Netcdf4Container final : public JointContainer {
 public:
  explicit Netcdf4Container(const ContainerSite& site);
  ~Netcdf4Container() override;

  bool create(bool exclusive, bool may_be_later, bool& made, const Tells& tells) override;
  void open() override;
  bool has_engine() const override { return transport_ != nullptr; }

  std::vector<std::byte> print() const override;
  Offset definitions_bytes() const override;
  void check_attribute(const std::string& name) const override;
  void set_chunk(Variable& var, std::span<const Count> shape) const override;
  void set_filter(Variable& var, const std::string& pipeline) const override;
  void choose(const Schema* old) override;
  void place(const Schema* old, const EnddefArguments& arguments) override;
  std::vector<std::byte> print_placed() const override { return print(); }
  void take_over(std::span<const std::byte> placed) override;
  bool redefine(const Schema* old) override;
  bool is_defined_by_root(const Schema* /*old*/) const override { return false; }
  bool fills_new(const Schema* old) const override;
  void fill_new(const Schema* old) override;
  std::shared_ptr<const Decomposition> stored_decomposition(int /*id*/) override { return nullptr; }
  void write_definitions() override { changed_ = true; }

  Layout& layout() override { return *layout_; }
  bool publishes_records() const override { return true; }
  bool has_fixed_places() const override { return false; }
  void publish() override;
  void show() override { commit(false); }
  void fill_record(VarId var, Count record) override;
  bool is_regular() override { return file_.is_regular(); }
  std::shared_ptr<File> beside(Report& report) override;

  // A file that is written together with others: its chunks are, and the structure at its close.
  bool is_being_made() const override { return false; }
  FileIdentity wait_until_made() override {
    return comm_.is_root() ? file_.identity() : FileIdentity();
  }
  void made(const FileIdentity& /*file*/) override {}
  void finish_making() override {}
  ByteFile* values_file() override { return nullptr; }
  bool has_weak_caches() const override { return file_.has_weak_caches(); }
  void put_off_definitions(bool /*put_off*/) override {}
  bool definitions_wait() const override { return false; }
  void publish_alone() override {}
  void published() override { changed_ = true; }
  void publish_closed() override { commit(false); }
  void moved(const std::string& path) override { file_.moved(path); }

  void sync() override;
  void look_again() override { file_.look_again(); }
  void refresh_definitions() override {}
  void publish_last() override;
  void fill_up(bool /*changed*/) override {}
  void release() override;
  void close() override;
  std::string place_now() override { return file_.place_now(); }
  void remove(const std::string& place) override;
  std::vector<std::string> reasons() const override;

 private:
  class Values;
  /// A piece of the file.
  struct Place {
    Offset offset;
    Count bytes;
  };
  struct NewPlace {
    Offset offset;
    Count bytes, used;
  };

  void share_file();
  void make_engine();
  void refuse_layouts();
  StoredVariable new_variable(const Variable& var) const;
  void forget_from(std::size_t first);
  void take_shapes();
  void check_names() const;
  /// Collective. Makes the file show what was written. `to_device`: and brings it to the device.
  /// Returns false if the file shows all already.
  bool commit(bool to_device);
  using Places = std::vector<NewPlace>;
  WrittenStructure make_structure(Places& places);
  void write_structure(Places& places, bool ordered, bool to_device, bool& reached);
  void settle_ways(ReadStructure& found) const;
  void refuse_changes(const ReadStructure& found) const;
  void place_unwritten();
  void free_unknown_space();
  void keep(const Places& places);
  void give_back(Offset offset, Count bytes);
  StoredVariable& stored_of(VarId var) { return stored_[static_cast<std::size_t>(var)]; }

  ContainerSite site_;
  const Comm& comm_;
  Schema& schema_;
  std::shared_ptr<File> file_owner_;
  File& file_;
  std::vector<StoredVariable> stored_;  // of each variable that the file has
  std::size_t defined_ = 0;             // how many of them are not of an enddef that failed
  chunked::FormOf form_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Layout> contiguous_;
  std::unique_ptr<chunked::StoredChunks> chunks_;
  std::unique_ptr<Layout> layout_;
  std::unique_ptr<Hdf5Values> by_hdf5_;
  std::vector<Place> structure_;    // where the present structure lies, if this object wrote it
  bool has_unknown_space_ = false;  // the structure that another wrote lies somewhere
  std::vector<std::string> left_out_;
  std::vector<AttributeForm> attributes_;
  bool changed_ = false;       // since the last commit
  bool has_new_name_ = false;  // this rank made the file, and no sync has come since
  PathSync path_sync_;
  std::uint32_t committed_generation_ = 0;  // of the chunks that the file shows
  bool on_device_ = false;                  // some state is on the device
  std::int64_t commits_ = 0;
  double commit_seconds_ = 0;
};

}  // namespace forebay::netcdf4
