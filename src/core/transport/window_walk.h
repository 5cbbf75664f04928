// Walks over the windows of a part of the file, in file order, for one collective operation.
//
// Within a node, pieces meet in its slots (slots.h). The home node of a window writes and reads it.
// Another node gathers its pieces of the window in its own slots, too, and sends them in one
// message. So there is one message for each window and each other node with pieces in it, and one
// answer for a read. No round holds all ranks up: a rank goes on to its next window as soon as a
// slot is free for it. One of the home node's ranks for each window (its delegate) receives what
// fits whenever it waits.
//
// Why nobody waits for ever: all nodes go through windows in file order. Consider the first
// unfinished window. The slots of all nodes are free for it. Ranks with pieces in it place them
// before any later ones. Messages for it are received, because its home's slot is free. Ranks that
// wait for room for later messages go on receiving. A rank that has marked it for a read, and waits
// for the slot of a later window, has copied it: a slot that is not free had an unfinished window,
// which is not before the first one, and a rank copies up to that before it waits. Wishes for later
// windows may have to wait for those windows. There are fewer wishes than slots, hence than half of
// a mailbox's places, and they take none of the bytes that answers have.
//
// A rank keeps the mailbox's messages, and the wishes of other nodes for windows that it receives
// for. It lets more wishes come only while they take less than the mailbox's limit, except for the
// first unfinished window.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/report.h"
#include "comm/comm.h"
#include "comm/mailbox.h"
#include "comm/topology.h"
#include "plan/windows.h"
#include "transport/extent_reader.h"
#include "transport/slots.h"
#include "transport/window_message.h"
#include "transport/window_visits.h"

namespace forebay {

/// What a walk uses of its transport. All of it outlives the walk.
struct WindowSite {
  Rank rank;
  const Topology& topology;
  Slots& slots;
  Mailbox* mailbox;  ///< null if nodes send each other nothing
  Report& report;
  std::optional<Error>& failure;  ///< the first error that this rank meets
  /// Called by the rank that has a complete window.
  std::function<void(const Slots::Use&)> write_out, read_in;
  std::int64_t* messages_in = nullptr;  ///< counts those that came for home windows; or null
  /// The node's first rank writes all home windows, whoever comes last. The others need not have
  /// opened the files.
  bool by_first = false;
  /// Successive windows usually belong to different files: any waiting rank writes a complete one.
  /// One node only.
  bool by_waiting = false;
};

/// Walks over the extents of a read; empty without memory for them.
struct ReadWalks {
  std::optional<RowReader> marks, copies;
};

class WindowWalk {
 public:
  /// Local. Throws here or never: a later error is kept in `site.failure`. Needs no memory if there
  /// is one node.
  WindowWalk(const WindowSite& site, const WindowGrid& grid, bool writing);
  /// Local. Sets what all ranks that planned it walk over; `visits` must outlive the walk.
  void over(std::span<const Visit> visits);

  /// All ranks that planned the visits call these, and all of them return.
  void write(std::optional<ExtentReader>& pieces);
  void read(ReadWalks& walks);

 private:
  struct Wish {
    Rank from = -1;
    bool failed = false;
    std::vector<std::byte> message;  ///< with the runs
  };
  /// A home window that this rank receives for.
  struct Delegated {
    std::size_t visit;
    int to_fetch;   ///< messages that are not being received yet
    int left;       ///< messages that have not come
    int to_answer;  ///< messages that have no answer yet
    bool is_over() const { return left == 0 && to_answer == 0; }
  };

  const Visit& visit(std::size_t i) const { return visits_[i]; }
  Slots::Use use_at(std::size_t i) const {
    return site_.slots.use_at(visit(i).home, visit(i).turn, grid_.begin_of(visit(i).window));
  }
  int who_come(std::size_t i) const { return visit(i).ranks + visit(i).nodes; }
  Rank delegate_of(Count window) const;
  Rank delegate(std::size_t i) const { return delegate_of(visit(i).window); }
  int tag(std::size_t i) const { return static_cast<int>(visit(i).window - grid_.first); }
  int answer_tag(std::size_t i) const {
    return tag(i) + static_cast<int>(WindowGrid::most_together);
  }

  void arrive(std::size_t i);
  bool move_complete_ones();
  void send(std::size_t i);
  Slots::Left progress();
  void receive(Delegated& d, std::vector<Wish>& wishes, bool more);
  void answer(Delegated& d, std::vector<Wish>& wishes);
  void receive_answers();
  void post(Rank to, int tag, const WindowHead& head, RawBytes&& message, bool apart);
  std::size_t ahead_of(std::size_t i, std::size_t end) const;
  void wait_until_free(std::size_t i);
  void wait_until_read(std::size_t i, std::size_t marked);
  void copy(std::size_t i, std::optional<RowReader>& copies);
  void settle();
  template <typename F>
  void move_on_until(F&& done);
  template <typename Reader, typename F>
  void walk(std::optional<Reader>& reader, std::size_t i, F&& f);

  WindowSite site_;
  WindowGrid grid_;  // the part
  std::span<const Visit> visits_;
  bool writing_;
  bool in_turns_;                         // waiting ranks read or write complete windows
  bool leads_;                            // this rank writes complete windows
  std::size_t wanted_ = 0, untaken_ = 0;  // limits of visits: to be moved by this rank; all taken
  Step waits_as_ = Step::wait;            // the step that waiting of this rank counts as
  std::size_t ahead_;  // windows that a waiting rank waits for beyond the one it needs
  Slots::Meanwhile meanwhile_;
  std::vector<Delegated> delegated_;
  std::size_t front_ = 0;                  // the first that is not over
  std::vector<std::vector<Wish>> wishes_;  // of the open windows
  Count wished_ = 0;                       // their bytes
  std::vector<std::size_t> asked_;         // visits that this rank expects an answer for
  std::vector<WindowRun> runs_;
};

}  // namespace forebay
