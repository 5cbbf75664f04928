// The walk of one collective operation over the windows of a part of the file, in file order.
//
// Within a node pieces meet in its slots (slots.h). A window is written and read by the node that
// it is at home at: what another node has for it is gathered in that node's slots, too, and goes in
// one message. So there is one message for each window and each other node that has pieces in it,
// and one answer for a read. No round holds all ranks up: a rank goes on to its next window as soon
// as a slot is free for it, and what comes for windows at home is received where it fits, by one of
// the node's ranks for each window (its delegate), whenever that rank waits.
//
// Why nobody waits for ever: all nodes go through windows in file order. Consider the first one
// that is not finished. The slots of all nodes are free for it; who has pieces in it places them
// before any later ones; what is sent for it is received, since its home's slot is free; and who
// waits for room for later messages goes on receiving. A rank that has marked it for a read and
// waits for the slot of a later one has copied it: a slot that is not free had a window that is not
// finished, which is not before the first such, and a rank copies up to that before it waits.
// Wishes for later windows may have to wait for those; there are fewer of them than slots, hence
// than half of a mailbox's places, and they take none of the bytes that answers have.
//
// What a rank keeps: the mailbox's messages, and what other nodes wish for of windows that it
// receives for. Of these it lets more come only while they take less than the mailbox's limit, but
// for the first window that is not finished.
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

/// What a walk uses of its transport; all of it outlives the walk.
struct WindowSite {
  Rank rank;
  const Topology& topology;
  Slots& slots;
  Mailbox* mailbox;  ///< null where nodes send each other nothing
  Report& report;
  std::optional<Error>& failure;  ///< the first error that this rank meets
  /// By the rank that has a complete window before it.
  std::function<void(const Slots::Use&)> write_out, read_in;
  std::int64_t* messages_in = nullptr;  ///< adds those that came for windows at home; or null
  /// What is written at home the node's first rank writes, whoever comes last: others need not
  /// have opened the files.
  bool by_first = false;
  /// Windows that follow each other are different files', as a rule: whoever waits writes one that
  /// is complete. One node only.
  bool by_waiting = false;
};

/// Walks over extents of a read; none where there is no memory for them.
struct ReadWalks {
  std::optional<RowReader> marks, copies;
};

class WindowWalk {
 public:
  /// Local. Throws here or never: what goes wrong later is kept in `site.failure`. Needs no memory
  /// where there is one node.
  WindowWalk(const WindowSite& site, const WindowGrid& grid, bool writing);
  /// Local. What is to be walked over, by all ranks that planned it; `visits` outlive it.
  void over(std::span<const Visit> visits);

  /// All ranks that planned the visits call, and all of them return.
  void write(std::optional<ExtentReader>& pieces);
  void read(ReadWalks& walks);

 private:
  struct Wish {
    Rank from = -1;
    bool failed = false;
    std::vector<std::byte> message;  ///< that tells of the runs
  };
  /// A window at home here that this rank receives for.
  struct Delegated {
    std::size_t visit;
    int to_fetch;   ///< messages that are not on their way into this rank's memory
    int left;       ///< that have not come
    int to_answer;  ///< of them and those that have
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
  bool in_turns_;                         // who waits reads or writes what is complete
  bool leads_;                            // this rank writes what is complete
  std::size_t wanted_ = 0, untaken_ = 0;  // visits before them: it would move; all of them taken
  Step waits_as_ = Step::wait;            // what the time counts as in which this rank waits
  std::size_t ahead_;  // windows that a rank which has to wait waits for beyond the one it needs
  Slots::Meanwhile meanwhile_;
  std::vector<Delegated> delegated_;
  std::size_t front_ = 0;                  // of those that are not over
  std::vector<std::vector<Wish>> wishes_;  // of the windows that are open
  Count wished_ = 0;                       // bytes of them
  std::vector<std::size_t> asked_;         // visits that this rank expects an answer for
  std::vector<WindowRun> runs_;
};

}  // namespace forebay
