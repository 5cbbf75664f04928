// put, get, mput, mget, iput, iget, bput: checks modes, keeps collective calls collective, and
// hands requests to the engine.
#include <optional>

#include "api/pnetcdf/access.h"

namespace forebay::pnetcdf {

namespace {

/// Returns an error in one rank's arguments, lack of memory included, for the engine to carry
/// along.
template <typename F>
std::optional<Error> error_of(F&& f) {
  try {
    f();
    return std::nullopt;
  } catch (const Error& e) {
    return e;
  } catch (const std::exception& e) {
    return Error(Errc::enomem, e.what());
  }
}

Selection selection_at(const Selections& s, int i) {
  const auto at = [i](MPI_Offset* const* list) { return list == nullptr ? nullptr : list[i]; };
  return {.kind = s.kind,
          .start = at(s.starts),
          .count = at(s.counts),
          .stride = at(s.strides),
          .imap = at(s.imaps)};
}

Buffer buffer_at(const Buffers& b, int i) {
  return {.data = b.data[i],
          .native = b.native,
          .count = b.counts == nullptr ? 0 : b.counts[i],
          .type = b.types == nullptr ? MPI_DATATYPE_NULL : b.types[i]};
}

/// Keeps an empty request only if it creates records.
void add(std::vector<Request>& requests, Request&& request) {
  if (request.elements > 0 || (request.write && request.last_record > 0)) {
    requests.push_back(std::move(request));
  }
}

void run(Dataset& ds, Coordination coordination, std::vector<Request>& requests,
         std::optional<Error> mine) {
  if (coordination == independent) {
    if (mine) throw *mine;
    ds.execute(requests, false);
    return;
  }
  if (ds.method().safe_mode) agree_on_worst_error(ds.comm(), mine);
  if (mine) requests.clear();
  ds.execute(requests, true, std::move(mine));
}

}  // namespace

int transfer(Direction direction, Coordination coordination, int ncid, int varid,
             const Selection& selection, const Buffer& buffer) noexcept {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    check_mode(ds, direction, coordination);
    // Coarser levels exist only for data in the file.
    if (selection.level && coordination == collective) ds.flush();
    std::vector<Request> requests;
    auto mine = error_of([&] {
      if (selection.kind == Kind::file_type) {
        for (Request& a : make_typed_requests(ds, varid, direction, selection.file_type, buffer)) {
          add(requests, std::move(a));
        }
        return;
      }
      const bool queued = coordination == independent;  // then a bufcount of 0 means nothing to do
      add(requests, make_request(ds, varid, direction, selection, buffer, queued));
    });
    run(ds, coordination, requests, std::move(mine));
  });
}

int transfer_each(Direction direction, Coordination coordination, int ncid, int num,
                  const int* varids, const Selections& selections,
                  const Buffers& buffers) noexcept {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    if (coordination == independent && num <= 0 && !ds.in_define_mode()) return;
    check_mode(ds, direction, coordination);
    std::vector<Request> requests;
    auto mine = error_of([&] {
      if (num > 0 && (varids == nullptr || buffers.data == nullptr)) {
        throw Error(Errc::einval, "the list of variables or of buffers is a null pointer");
      }
      for (int i = 0; i < num; ++i) {
        add(requests, make_request(ds, varids[i], direction, selection_at(selections, i),
                                   buffer_at(buffers, i), true));
      }
    });
    run(ds, coordination, requests, std::move(mine));
  });
}

int post(Verb verb, int ncid, int varid, const Selection& selection, const Buffer& buffer,
         int* request) noexcept {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    if (request != nullptr) *request = NC_REQ_NULL;
    const Direction direction = verb == iget ? get : put;
    if (direction == put) check_writable(ds);
    if (verb == bput) {
      check_variable(ds, varid, buffer.native);
      static_cast<void>(ds.buffer().size());  // throws if no buffer is attached
    }
    Request made = make_request(ds, varid, direction, selection, buffer, true);
    if (made.elements == 0) return;
    made.buffered = verb == bput;
    std::optional<Error> deferred;
    const int id = ds.post(std::move(made), &deferred);
    if (request != nullptr) *request = id;
    if (deferred) throw *deferred;
  });
}

}  // namespace forebay::pnetcdf

using namespace forebay::pnetcdf;

// start and count belong to the level, whose lengths ncmpi_inq_var_levels returns. Data of other
// ranks is included once it is in the file, as after a collective call.
int ncmpi_get_vara_level(int ncid, int varid, int level, const MPI_Offset* start,
                         const MPI_Offset* count, void* buf, MPI_Offset bufcount,
                         MPI_Datatype buftype) {
  Selection selection = vara(start, count);
  selection.level = level;
  return transfer(get, independent, ncid, varid, selection, memory(buf, bufcount, buftype));
}

int ncmpi_get_vara_level_all(int ncid, int varid, int level, const MPI_Offset* start,
                             const MPI_Offset* count, void* buf, MPI_Offset bufcount,
                             MPI_Datatype buftype) {
  Selection selection = vara(start, count);
  selection.level = level;
  return transfer(get, collective, ncid, varid, selection, memory(buf, bufcount, buftype));
}
