// How ChunkedHooks writes.
//
// The ranks of a collective write agree first, in one reduction: on what HDF5 must write itself,
// and on whether the call is small, and waits, or large, and goes to the file now, from the
// program's memory. After that a rank that fails takes part without data, as others wait.
#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "comm/agree.h"
#include "hdf5/connector/chunked_below.h"
#include "hdf5/connector/list_properties.h"
#include "hdf5/connector/logged_memory.h"
#include "hdf5/connector/logged_selection.h"
#include "hdf5/connector/mpio.h"
#include "hdf5/connector/under_objects.h"
#include "hdf5/shared/properties.h"

namespace forebay::vol {
namespace {

/// Calls of this size on some rank are not copied.
constexpr Count through_bytes = 512 << 10;
// Each call is noted on all ranks.
constexpr Count most_calls_waiting = 4096;

SelectionBox bounds_of(const Placed& placed) {
  Bounds bounds = forebay::bounds_of(placed.pattern, placed.base);
  return {std::move(bounds.low), std::move(bounds.high)};
}

}  // namespace

/// One dataset of a write.
struct ChunkedHooks::Part {
  const DatasetWrite* write;
  std::vector<Count> extents;
  bool has_places = true;                       ///< HDF5 has to write it otherwise
  bool in_part = false;                         ///< some fields stay as they are
  OwnedUnder held = {};                         ///< keeps its space while the write waits
  std::optional<LoggedTransfer> transfer = {};  ///< none if nothing is selected, or failed
  Request request = {};
  SelectionBox box = {};

  ChunkedHandle& handle() const { return ChunkedHandle::of(write->dataset); }
  ChunkedDataset& dataset() const { return *handle().dataset(); }
  Count bytes() const { return request.elements * request.element_size; }
  void select();
  void fill(bool lend, hid_t dxpl);
};

struct ChunkedHooks::Call {
  std::vector<Part> parts;
  std::optional<Error> failed;  ///< by this rank's arguments
  Count bytes = 0;
  bool in_place = true;  ///< this rank has only large pieces
  bool in_part = false;
  bool in_lists = false;  ///< selections are in a transfer property list
};

// Makes the request, without its data.
void ChunkedHooks::Part::select() {
  transfer = resolve_transfer(
      extents, [&] { return simple_space(extents); }, write->memory_space, write->file_space,
      write->buffer);
  if (transfer->file.elements == 0)
    transfer.reset();
  else
    request = request_for(transfer->file.placed, extents, static_cast<int>(dataset().element_size));
}

/// Copies the data, or lends it if memory has it as the file will.
void ChunkedHooks::Part::fill(bool lend, hid_t dxpl) {
  if (!transfer) return;
  const FileSelection& selection = transfer->file;
  const MemoryElements memory{write->memory_type, dataset().type, transfer->memory_space,
                              selection.elements, dxpl};
  const bool in_order = selection.order.empty();
  if (lend && in_order) {
    if (const auto lent = as_they_are(memory, write->buffer); !lent.empty()) {
      request.packed = const_cast<std::byte*>(lent.data());  // which writes do not change
      return;
    }
  }
  const auto size = static_cast<std::size_t>(request.element_size);
  const auto room = static_cast<std::size_t>(bytes());
  request.staging = std::make_unique_for_overwrite<std::byte[]>(room);
  request.packed = request.staging.get();
  if (in_order) return pack(memory, write->buffer, {}, {request.packed, room});
  std::vector<std::byte> given(static_cast<std::size_t>(selection.elements) * size);
  pack(memory, write->buffer, {}, given);
  put_in_order(given, selection.order, size, {request.packed, room});
}

// Local. Throws what no rank can go on without: another rank would take another way.
ChunkedHooks::Call ChunkedHooks::resolve(std::span<const DatasetWrite> writes) {
  const LibraryContext own;  // not part of the program's transfer
  Call call;
  call.parts.reserve(writes.size());
  for (const DatasetWrite& one : writes) {
    Part& part = call.parts.emplace_back(
        Part{&one, present_extents(ChunkedHandle::of(one.dataset).under()).now});
    ChunkedDataset& its = part.dataset();
    const UnderObject& under = part.handle().under();
    // A dataset that some ranks alone keep open would lose its space on the others when the program
    // removes and closes it.
    if (!held_[its.token]) part.held = open_by_token(under, its.token);
    if (one.file_space == H5S_PLIST || one.memory_space == H5S_PLIST) {
      call.in_lists = true;
      continue;
    }
    if (its.is_placed()) {
      part.has_places = find_places(its, under, part.extents);
      keep_first(call.failed, attempt_to([&] {
                   part.in_part = its.has_fields && needs_present(one.memory_type, its.type);
                 }));
      call.in_part = call.in_part || part.in_part;
      if (!part.has_places) continue;
    }
    keep_first(call.failed, attempt_to([&] { part.select(); }));
    call.bytes += part.bytes();
    if (part.bytes() == 0 || !call.in_place) continue;
    call.in_place = its.is_placed() && part.bytes() >= ChunkedFile::least_in_place;
    if (!call.in_place) continue;
    complete_places(its, under);
    call.in_place = file_->goes_in_place(part.request, its.placed);
  }
  return call;
}

void ChunkedHooks::enqueue(Part& part, bool collective) {
  const auto& dataset = part.handle().dataset();
  bool in_file = false;
  const auto failed = attempt_to([&] {
    if (auto& held = held_[dataset->token]; !held) held = std::move(part.held);
    if (part.request.packed == nullptr) return;
    part.box = bounds_of(part.transfer->file.placed);
    // A collective call that has more than that carries out all of them.
    if (collective || queue_.held() + part.bytes() <= method_.buffer_limit) return;
    std::byte* const to = beyond_limit_.take(part.bytes());
    std::copy_n(part.request.packed, part.bytes(), to);
    part.request.packed = to;
    part.request.staging.reset();
    in_file = true;
  });
  if (failed) part.request = {}, part.box = {};
  // The other ranks note this call, too.
  const auto lost = attempt_to([&] {
    queue_.add(dataset, collective, std::move(part.request), std::move(part.box), in_file);
  });
  if (lost && collective && !lost_) lost_ = lost;
  if (failed) throw *failed;
  if (lost) throw *lost;
}

void ChunkedHooks::write_in_place(std::span<Part> parts) {
  std::vector<const PlacedVariable*> placed;
  std::vector<Request> requests;
  for (Part& part : parts) {
    if (part.request.packed == nullptr) continue;
    placed.push_back(&part.dataset().placed);
    requests.push_back(std::move(part.request));
    requests.back().var = static_cast<VarId>(-std::ssize(placed));
  }
  file_->write_in_place(requests, placed);
}

void ChunkedHooks::write_together(const UnderObject& at, std::span<const DatasetWrite> writes,
                                  hid_t dxpl) {
  Call call;
  auto unready = attempt_to([&] {
    if (writes.empty()) throw Error(Errc::enomem, "a rank had no memory for a collective write");
    call = resolve(writes);
    queue_.make_room(call.parts.size());
  });
  if (!unready) unready = lost_;
  enum { held, bytes, in_pieces, in_part, in_lists, values };
  std::int64_t most[values] = {
      queue_.held(), call.bytes,
      !call.in_place || queue_.any_collective() || queue_.any_independent(), call.in_part,
      call.in_lists};
  agree_on_error(comm_, unready, most, Reduce::max);

  std::optional<Error> failed = std::move(call.failed);
  const auto by_hdf5 =
      std::stable_partition(call.parts.begin(), call.parts.end(), [&](const Part& part) {
        return most[in_lists] == 0 && part.has_places &&
               !(most[in_part] != 0 && part.dataset().has_fields);
      });
  const std::span<Part> ours(call.parts.begin(), by_hdf5), others(by_hdf5, call.parts.end());
  const bool through = most[bytes] >= through_bytes;
  for (Part& part : ours)
    if (!attempt_into(failed, [&] { part.fill(through && part.dataset().is_placed(), dxpl); }))
      part.request = {};
  if (through && most[in_pieces] == 0 && others.empty()) {
    ++in_place_;
    // Other ranks have no part in it, so they are told at the next flush.
    if (auto mine = attempt_to([&] { write_in_place(ours); })) {
      keep_first(untold_, mine);
      keep_first(failed, std::move(mine));
    }
  } else if (!ours.empty()) {
    for (Part& part : ours) attempt_into(failed, [&] { enqueue(part, true); });
    queue_.end_call();
    const bool full = atomic_ || most[held] + most[bytes] > method_.buffer_limit;
    if (through || full || queue_.collective_calls() >= most_calls_waiting) write_waiting(at);
  }
  if (!others.empty()) {
    WriteBelow below;
    together(comm_, [&] {
      write_waiting(at);
      for (const Part& part : others) {
        if (!part.dataset().is_placed()) part.dataset().stale = true;  // HDF5 encodes chunks
        below.add(*part.write);
      }
    });
    // HDF5 would have ranks that write all fields wait for those that do not.
    std::optional<LibraryContext> own;
    Hdf5Id list;
    if (most[in_part] != 0) {
      own.emplace();  // in the program's call HDF5 knows its list already
      list = owned_list(H5Pcopy(dxpl));
      set_independent(list);
    }
    const hid_t how = list.valid() ? static_cast<hid_t>(list) : dxpl;
    if (!failed) return below.run(how);
    attempt_to([&] { below.run(how); });
  }
  if (failed) throw *failed;
}

// If collective writes to a dataset wait, independent ones go behind them. HDF5 has no independent
// writes with filters in parallel, so those wait in any case.
void ChunkedHooks::write_alone(std::span<const DatasetWrite> writes, hid_t dxpl) {
  WriteBelow below;
  for (const DatasetWrite& one : writes) {
    const ChunkedDataset& its = *ChunkedHandle::of(one.dataset).dataset();
    if (its.is_placed() && !queue_.waits(its.token)) {
      below.add(one);
      continue;
    }
    Call call = resolve(std::span(&one, 1));
    if (call.failed) throw *call.failed;
    Part& part = call.parts[0];
    if (part.in_part) refuse_while_waiting(its, "an independent write of some fields");
    if (call.in_lists) refuse_while_waiting(its, "an independent write by H5S_PLIST");
    if (!part.has_places) refuse_while_waiting(its, "an independent write past its chunks");
    if (part.in_part || call.in_lists || !part.has_places) {
      below.add(one);
      continue;
    }
    part.fill(false, dxpl);
    enqueue(part, false);
  }
  below.run(dxpl);
}

void ChunkedHooks::write(const UnderObject& at, std::span<const DatasetWrite> writes, hid_t dxpl) {
  attempt_to([&] {
    if (must_copy(dxpl) || has_noted_copies_) return;
    method_.notes.push_back(std::string(set_copy) + " does not apply: the file has no log");
    has_noted_copies_ = true;
  });
  if (is_collective(dxpl, comm_))
    write_together(at, writes, dxpl);
  else
    write_alone(writes, dxpl);
}

}  // namespace forebay::vol
