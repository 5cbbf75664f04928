// Transfers of datasets of an ordinary file that HDF5 carries out.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "hdf5/connector/chunked_hooks.h"
#include "hdf5/connector/errors.h"

namespace forebay::vol {

/// The arguments of one call below. What needs memory is done before it, as in a collective call
/// the other ranks wait in HDF5.
template <class Buffer>
class TransferBelow {
 public:
  TransferBelow() = default;
  explicit TransferBelow(std::span<const DatasetTransfer<Buffer>> all) {
    for (const auto& one : all) add(one);
  }
  void add(const DatasetTransfer<Buffer>& one) {
    const UnderObject& under = ChunkedHandle::of(one.dataset).under();
    connector_ = under.connector;
    objects_.push_back(under.object);
    types_.push_back(one.memory_type);
    memory_.push_back(one.memory_space);
    file_.push_back(one.file_space);
    buffers_.push_back(one.buffer);
  }
  bool empty() const { return objects_.empty(); }
  /// Throws UnderFailed.
  void run(hid_t dxpl) {
    if (objects_.empty()) return;
    herr_t done = 0;
    if constexpr (std::is_same_v<Buffer, void*>)
      done = H5VLdataset_read(objects_.size(), objects_.data(), connector_, types_.data(),
                              memory_.data(), file_.data(), dxpl, buffers_.data(), nullptr);
    else
      done = H5VLdataset_write(objects_.size(), objects_.data(), connector_, types_.data(),
                               memory_.data(), file_.data(), dxpl, buffers_.data(), nullptr);
    if (done < 0) throw UnderFailed{};
  }

 private:
  hid_t connector_ = H5I_INVALID_HID;
  std::vector<void*> objects_;
  std::vector<hid_t> types_, memory_, file_;
  std::vector<Buffer> buffers_;
};
using ReadBelow = TransferBelow<void*>;
using WriteBelow = TransferBelow<const void*>;

}  // namespace forebay::vol
