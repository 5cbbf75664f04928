// Writes that wait until all ranks write together, and the order in which they may be carried out.
//
// Writes that are carried out together have no order between ranks. So they are cut into groups,
// one after another, where a later call writes elements that another rank wrote in an earlier one.
// Calls are numbered alike on all ranks: collective calls have even numbers, and independent writes
// between two collective calls have the odd number between them.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "array/pattern.h"
#include "array/request.h"
#include "comm/comm.h"
#include "hdf5/connector/chunked_dataset.h"

namespace forebay::vol {

/// The bounds of a selection: first coordinates, and those one past the last. `low` is empty if
/// nothing is selected.
struct SelectionBox {
  std::vector<Count> low, high;

  bool empty() const { return low.empty(); }
  bool meets(const SelectionBox& other) const;
  void add(const SelectionBox& other);
};

/// Returns the request for a selection of a variable with these extents, whose elements have
/// `element_size` bytes. It has no data yet.
Request request_for(const Placed& placed, const std::vector<Count>& extents, int element_size);

class ChunkedQueue {
 public:
  /// Local. Makes room for so many collective writes, which can be added then without memory.
  void make_room(std::size_t writes);
  /// Local. Adds one dataset's part of a write, packed in the order of the request. Without
  /// elements it only notes a collective call, which all ranks make. Data that neither the request
  /// owns nor `keeps` is lent (drop_lent).
  void add(std::shared_ptr<ChunkedDataset> dataset, bool collective, Request request,
           SelectionBox box, bool keeps);
  /// Local, on all ranks at the end of a collective call.
  void end_call() { ++calls_; }

  Count held() const { return held_; }  ///< bytes
  /// The same on all ranks: whether collective writes wait, and how many calls of datasets.
  bool any_collective() const { return !collective_.empty(); }
  Count collective_calls() const { return std::ssize(collective_); }
  bool any_independent() const { return !independent_.empty(); }
  /// Local. Returns whether some rank may have a write to the dataset that waits, as far as this
  /// rank knows.
  bool waits(const std::vector<std::byte>& token) const;

  /// A dataset that some rank writes; `dataset` is null if this rank has not seen it.
  struct Written {
    std::vector<std::byte> token;
    std::shared_ptr<ChunkedDataset> dataset;
  };
  /// The order of the writes that wait: groups that end before these numbers of calls.
  struct Plan {
    std::vector<Written> datasets;  ///< equal on all ranks
    std::vector<Count> ends;        ///< of groups but the last
  };
  /// Collective. `any_independent`: some rank has independent writes.
  Plan plan(const Comm& comm, bool any_independent) const;
  /// Local. Returns the requests of all groups, a list for each group, whose data stays in the
  /// queue. `vars` has the variable of each token.
  std::vector<std::vector<Request>> requests(
      const Plan& plan, const std::map<std::vector<std::byte>, VarId>& vars) const;
  void clear();
  /// Local. Forgets the data that the queue does not own, because the call that lent it ends.
  void drop_lent();

 private:
  struct Waiting {
    std::shared_ptr<ChunkedDataset> dataset;
    Count call;
    Request request;
    bool lent;
  };
  struct Call {
    std::shared_ptr<ChunkedDataset> dataset;
    Count number;
    SelectionBox box;  // of this rank
  };
  struct Place;  // of a call in the plan

  std::vector<Waiting> waiting_;
  std::vector<Call> collective_;   // equal on all ranks but for the boxes
  std::vector<Call> independent_;  // of this rank, one for each dataset and number
  Count calls_ = 0;
  Count held_ = 0;
};

}  // namespace forebay::vol
