// What the connector does with a dataset in the log.
#pragma once

#include <vector>

#include "hdf5/connector/hooks.h"
#include "hdf5/connector/logged_selection.h"
#include "hdf5/connector/logged_store.h"
#include "hdf5/log/logged_file.h"
#include "hdf5/shared/dataset_state.h"

namespace forebay::vol {

/// Returns why the log cannot hold such a dataset; it is then stored as an ordinary HDF5 dataset.
/// Empty: it can. Datasets that HDF5 would refuse are left to HDF5, too.
std::string why_not_logged(hid_t type, hid_t space, hid_t dcpl);
/// Returns the creation properties as H5Dcreate completes them: filters set parameters by the
/// datatype.
Hdf5Id completed_properties(hid_t dcpl, hid_t type, hid_t space);
/// Returns a stand-in's creation properties: the object's, without those of the data.
Hdf5Id stand_in_properties(hid_t dcpl);
/// Returns the dataspace of a stand-in. `stand_in` then names an external file that does not exist,
/// so HDF5 allocates no storage, and reading without the connector is an error. A dataset without
/// chunks has its own space, so that HDF5 finds the extents if it bypasses the connector. A chunked
/// one has a scalar: HDF5 does not copy external datasets whose extents have changed.
Hdf5Id stand_in_space(hid_t space, hid_t dcpl, hid_t stand_in);
StoredDataset stored_from(std::uint64_t id, hid_t space, hid_t dcpl);

/// Local. Stages the data of one dataset's write in the log.
void write_logged(LoggedFile& file, DatasetState& dataset, const DatasetWrite& write, hid_t dxpl);
/// Local. Returns the present values of a selection, packed, in the file's type.
std::vector<std::byte> present_values(LoggedFile& file, DatasetState& dataset,
                                      const Placed& selection);
/// Stores them in `values`, and returns whether any may have been written. `indexed`: see
/// LogReader::read.
bool read_present(LoggedFile& file, DatasetState& dataset, const Placed& selection,
                  std::span<std::byte> values,
                  std::vector<logged::NumberedEntry>* indexed = nullptr);
/// Local. Appends packed values through the dataset's filters, if it has any. `lent`: see
/// LogWriter::write.
void append_values(LoggedFile& file, DatasetState& dataset, const Placed& selection,
                   std::span<const std::byte> values, bool lent);
/// Local. Returns which elements a read moves, and where they are in memory.
LoggedTransfer transfer_of(const DatasetState& dataset, const DatasetRead& read);
/// Local. Carries out one dataset's read.
void read_logged(LoggedFile& file, DatasetState& dataset, const DatasetRead& read,
                 const LoggedTransfer& transfer, hid_t dxpl,
                 std::vector<logged::NumberedEntry>* indexed = nullptr);

}  // namespace forebay::vol
