// Requests and the buffer of buffered writes: wait, cancel, attach, detach.
#include <optional>
#include <span>
#include <string>

#include "api/pnetcdf/interface.h"

namespace forebay::pnetcdf {

namespace {

Which which_of(int count) {
  switch (count) {
    case NC_REQ_ALL:
      return Which::all;
    case NC_GET_REQ_ALL:
      return Which::gets;
    case NC_PUT_REQ_ALL:
      return Which::puts;
    default:
      return Which::listed;
  }
}

/// The lists of a wait or cancel. They are empty unless requests are listed.
struct Lists {
  std::span<int> ids, statuses;

  Lists(int count, int* requests, int* results) {
    if (count <= 0 || requests == nullptr) return;
    const auto n = static_cast<std::size_t>(count);
    ids = {requests, n};
    if (results != nullptr) statuses = {results, n};
  }
};

int wait(int ncid, int count, int* requests, int* results, bool collective) noexcept {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    if (ds.in_define_mode()) throw Error(Errc::eindefine, ds.path() + " is in define mode");
    if (collective && ds.mode() == Mode::independent) {
      throw Error(Errc::eindep, ds.path() + " is in independent data mode");
    }
    if (!collective && ds.mode() == Mode::collective) {
      throw Error(Errc::enotindep, ds.path() + " is in collective data mode",
                  "call ncmpi_wait_all");
    }
    std::optional<Error> mine;
    if (count > 0 && requests == nullptr)
      mine = Error(Errc::einval, "no list of requests is given");
    Lists lists(count, requests, results);
    ds.wait(which_of(count), lists.ids, lists.statuses, collective, std::move(mine));
  });
}

}  // namespace

}  // namespace forebay::pnetcdf

using namespace forebay;
using namespace forebay::pnetcdf;

int ncmpi_wait(int ncid, int count, int array_of_requests[], int array_of_statuses[]) {
  return forebay::pnetcdf::wait(ncid, count, array_of_requests, array_of_statuses, false);
}

int ncmpi_wait_all(int ncid, int count, int array_of_requests[], int array_of_statuses[]) {
  return forebay::pnetcdf::wait(ncid, count, array_of_requests, array_of_statuses, true);
}

int ncmpi_cancel(int ncid, int num, int* reqs, int* statuses) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    if (num < NC_PUT_REQ_ALL || (num > 0 && reqs == nullptr)) {
      throw Error(Errc::einval, "cannot cancel " + std::to_string(num) + " requests");
    }
    Lists lists(num, reqs, statuses);
    ds.cancel(which_of(num), lists.ids, lists.statuses);
  });
}

int ncmpi_inq_nreqs(int ncid, int* nreqs) {
  return guard([&] {
    const Dataset& ds = dataset(ncid);
    if (nreqs != nullptr) *nreqs = ds.pending();
  });
}

int ncmpi_buffer_attach(int ncid, MPI_Offset bufsize) {
  return guard([&] { dataset(ncid).buffer().attach(bufsize); });
}

int ncmpi_buffer_detach(int ncid) {
  return guard([&] { dataset(ncid).buffer().detach(); });
}

int ncmpi_inq_buffer_usage(int ncid, MPI_Offset* usage) {
  return guard([&] {
    const Count used = dataset(ncid).buffer().used();
    if (usage != nullptr) *usage = used;
  });
}

int ncmpi_inq_buffer_size(int ncid, MPI_Offset* buf_size) {
  return guard([&] {
    const Count size = dataset(ncid).buffer().size();
    if (buf_size != nullptr) *buf_size = size;
  });
}
