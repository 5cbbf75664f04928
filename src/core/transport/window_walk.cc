#include "transport/window_walk.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/attempt.h"
#include "base/copy_few.h"
#include "comm/agree.h"

namespace forebay {

static_assert(2 * WindowGrid::most_together <= Mailbox::tags);
static_assert(sizeof(WindowHead) <= Letter::few);

namespace {

// A rank that has to wait for one window waits for some more, half a ring. Then it goes through
// them in one go. Otherwise each finished window would wake all ranks for one window's pieces,
// which takes most of the time if ranks outnumber cores. Nobody waits for ever: in the order that
// all follow, those windows come before all that their ranks have not reached. This holds in a ring
// of one kind. Between nodes there are two kinds, and waiting for the next window of one may take
// windows of the other.
std::size_t windows_ahead(const WindowSite& site) {
  return site.mailbox ? 0 : static_cast<std::size_t>(site.slots.rings().home - 1) / 2;
}

}  // namespace

// There is memory for whatever the others may have: who has what becomes known in a reduction after
// which nothing fails.
WindowWalk::WindowWalk(const WindowSite& site, const WindowGrid& grid, bool writing)
    : site_(site),
      grid_(grid),
      writing_(writing),
      in_turns_((!writing || site.by_waiting) && site.mailbox == nullptr),
      leads_(writing && site.by_first && site.topology.leader() == site.rank),
      ahead_(windows_ahead(site)),
      meanwhile_([this] { return progress(); }) {
  const auto [home, away] = site_.slots.rings();
  const int others = site_.topology.nodes() - 1;
  if (site_.mailbox == nullptr) return;
  asked_.reserve(static_cast<std::size_t>(away));
  std::size_t most = 0;
  for (Count w = grid_.first; w < grid_.first + grid_.count; ++w)
    most += delegate_of(w) == site_.rank ? 1 : 0;
  delegated_.reserve(most);
  if (writing || most == 0) return;
  wishes_.resize(std::min(static_cast<std::size_t>(home), most));
  for (auto& wishes : wishes_) wishes.reserve(static_cast<std::size_t>(others));
}

void WindowWalk::over(std::span<const Visit> visits) {
  visits_ = visits;
  for (std::size_t i = 0; i < visits_.size(); ++i) {
    const int nodes = visit(i).nodes;
    if (nodes > 0 && delegate(i) == site_.rank)
      delegated_.push_back({i, nodes, nodes, writing_ ? 0 : nodes});
  }
}

Rank WindowWalk::delegate_of(Count window) const {
  const auto ranks = site_.topology.ranks_of(grid_.home_of(window));
  return ranks[static_cast<std::size_t>(grid_.delegate_of(window, static_cast<int>(ranks.size())))];
}

template <typename F>
void WindowWalk::move_on_until(F&& done) {
  for (int idle = 0;; ++idle) {
    const Slots::Left left = progress();
    if (done(left)) return;
    if (left == Slots::Left::moved) idle = 0;
    site_.topology.peers().rest(idle);
  }
}

// A walk that fails is over: this rank goes on through the windows, without pieces.
template <typename Reader, typename F>
void WindowWalk::walk(std::optional<Reader>& reader, std::size_t i, F&& f) {
  const Offset limit = grid_.end_of(visit(i).window);
  if (reader && !attempt_into(site_.failure, [&] { reader->for_each_before(limit, f); }))
    reader.reset();
}

void WindowWalk::write(std::optional<ExtentReader>& pieces) {
  for (std::size_t i = 0; i < visits_.size(); ++i) {
    if (!visit(i).mine) continue;
    const Slots::Use use = use_at(i);
    wait_until_free(i);
    {
      StepTimer timer(site_.report, Step::pack);
      Slots::Placer placer(site_.slots, use);
      walk(pieces, i, [&](const Extent& e) { placer.add(e); });
    }
    arrive(i);
    if (!leads_) continue;
    wanted_ = i + 1;  // otherwise this one would wait until the next has come
    StepTimer timer(site_.report, Step::wait);
    move_complete_ones();
  }
  wanted_ = visits_.size();
  settle();
}

// Marks run ahead of copies, so that reading overlaps copying. But before a rank waits for a slot,
// it copies up to the window that had it, whoever has pieces in that: the slot's holder may wait
// for a slot that this rank holds. If it waits for several slots at once, it copies what those had.
void WindowWalk::read(ReadWalks& walks) {
  std::array<std::size_t, Slots::most> used{};  // visits up to the last that had the slot
  std::size_t copied = 0;                       // all before this one are copied
  const auto copy_up_to = [&](std::size_t end, std::size_t marked) {
    for (; copied < end; ++copied) {
      if (!visit(copied).mine) continue;
      wait_until_read(copied, marked);
      copy(copied, walks.copies);
    }
  };
  for (std::size_t i = 0; i < visits_.size(); ++i) {
    const Slots::Use use = use_at(i);
    if (visit(i).mine && !site_.slots.is_free(use)) {
      const Slots::Use last = use_at(ahead_of(i, visits_.size()));
      copy_up_to(used[static_cast<std::size_t>(last.slot)], i);
      wait_until_free(i);
    }
    used[static_cast<std::size_t>(use.slot)] = i + 1;
    if (!visit(i).mine) continue;
    {
      StepTimer timer(site_.report, Step::plan);
      if (visit(i).home) {
        walk(walks.marks, i, [&](const auto& piece) { site_.slots.need(use, piece); });
      } else {
        Slots::Placer placer(site_.slots, use);
        walk(walks.marks, i, [&](const auto& piece) {
          each_run(piece, 0, [&](Offset offset, Count bytes) { placer.wish(offset, bytes); });
        });
      }
    }
    arrive(i);
  }
  copy_up_to(visits_.size(), visits_.size());
  settle();
}

// Returns the last window of this rank from `i` to `i + ahead_`, before `end`.
std::size_t WindowWalk::ahead_of(std::size_t i, std::size_t end) const {
  std::size_t last = std::min(i + ahead_, end - 1);
  while (last > i && !visit(last).mine) --last;
  return last;
}

void WindowWalk::wait_until_free(std::size_t i) {
  StepTimer timer(site_.report, Step::wait);
  const Slots::Use use = use_at(i);
  wanted_ = i;
  if (ahead_ > 0 && !site_.slots.is_free(use))
    site_.slots.wait_until_empty(use_at(ahead_of(i, visits_.size())), meanwhile_);
  site_.slots.wait_until_free(use, meanwhile_);
}

// Of the later windows, only those count that this rank has marked: there others wait for it.
void WindowWalk::wait_until_read(std::size_t i, std::size_t marked) {
  StepTimer timer(site_.report, Step::wait);
  const std::size_t last = ahead_of(i, marked);
  wanted_ = last + 1;
  if (ahead_ > 0 && !site_.slots.is_read(use_at(i)))
    site_.slots.wait_until_read(use_at(last), meanwhile_);
  site_.slots.wait_until_read(use_at(i), meanwhile_);
}

void WindowWalk::copy(std::size_t i, std::optional<RowReader>& copies) {
  const Slots::Use use = use_at(i);
  StepTimer timer(site_.report, Step::unpack);
  walk(copies, i,
       [&](const auto& piece) { copy_in(piece, site_.slots.data(use, offset_of(piece))); });
  site_.slots.depart(use, who_come(i));
}

void WindowWalk::arrive(std::size_t i) {
  const Slots::Use use = use_at(i);
  if (!site_.slots.arrive(use, who_come(i))) return;
  if (!visit(i).home) return send(i);
  if (in_turns_ || (writing_ && site_.by_first))
    return site_.slots.complete(use, in_turns_ && writing_);
  writing_ ? site_.write_out(use) : site_.read_in(use);
}

// For one node: reads, and writes of several files. If the last rank to arrive moved a window, it
// would be the last at the next one, too, and would move nearly all while the others wait. So any
// rank may take a complete window. The rank that completed it looks here before it sleeps and
// before it leaves, and so do all who wait. Writes of one file would only wait for the file's lock.
// If calls are slow, the node's first rank looks for all of them until they are written, and does
// not sleep for long before. Returns whether some are left.
bool WindowWalk::move_complete_ones() {
  using Clock = std::chrono::steady_clock;
  for (std::size_t i = untaken_; i < wanted_; ++i) {
    const bool here = writing_ ? visit(i).home : visit(i).mine;
    if (here && site_.slots.take(use_at(i))) {
      const auto begin = Clock::now();
      writing_ ? site_.write_out(use_at(i)) : site_.read_in(use_at(i));
      // A rank that moves windows is not waiting, though its caller's timer says so. Only this time
      // is taken off: the report may also have grown by a thread's time.
      site_.report[waits_as_] -= std::chrono::duration<double>(Clock::now() - begin).count();
    }
    if (i == untaken_ && (!here || site_.slots.is_taken(use_at(i)))) ++untaken_;
  }
  return untaken_ < wanted_;
}

// Sends what this node has for a window, or wants of it, to the window's home node.
void WindowWalk::send(std::size_t i) {
  const Slots::Use use = use_at(i);
  WindowHead failed;
  failed.window = visit(i).window;
  failed.failed = 1;
  RawBytes message;
  {
    StepTimer timer(site_.report, Step::pack);
    const bool made = attempt_into(site_.failure, [&] {
      runs_.clear();
      Count bytes = 0;
      site_.slots.for_each_run(use, [&](Count from, Count to) {
        runs_.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)});
        bytes += to - from;
      });
      message = window_message(visit(i).window, runs_, writing_ ? bytes : 0);
      if (!writing_) return;
      std::byte* to = payload_of(std::span(message)).data();
      const std::byte* from = site_.slots.bytes(use);
      for (const WindowRun& r : runs_) {
        copy_few(to, from + r.from, r.to - r.from);
        to += r.to - r.from;
      }
    });
    if (!made) message.clear();
    if (writing_) site_.slots.release_placed(use);
  }
  StepTimer timer(site_.report, Step::exchange);
  // Wishes wait until their windows' turn comes. Answers must not wait for them.
  const auto may_send = [&] {
    return writing_ ? site_.mailbox->has_room() : site_.mailbox->has_place();
  };
  if (!may_send()) {
    waits_as_ = Step::exchange;
    move_on_until([&](Slots::Left) { return may_send(); });
    waits_as_ = Step::wait;
  }
  if (!writing_) asked_.push_back(i);
  post(delegate(i), tag(i), failed, std::move(message), !writing_);
}

void WindowWalk::post(Rank to, int tag, const WindowHead& head, RawBytes&& message, bool apart) {
  ++site_.report[Counter::messages];
  site_.report[Counter::message_bytes] += static_cast<std::int64_t>(message.size());
  message.empty() ? site_.mailbox->send_few(to, tag, head_bytes(head))
                  : site_.mailbox->send(to, tag, std::move(message), apart);
}

// Moves messages on while this rank waits. Nothing in it waits. As many windows are open, from the
// first that is not over, as there are slots.
Slots::Left WindowWalk::progress() {
  const bool some_left = (in_turns_ || leads_) && move_complete_ones();
  if (site_.mailbox == nullptr)
    return leads_ && some_left ? Slots::Left::idle : Slots::Left::nothing;
  const bool moved = site_.mailbox->look();
  receive_answers();
  while (front_ < delegated_.size() && delegated_[front_].is_over()) ++front_;
  const auto open = static_cast<std::size_t>(site_.slots.rings().home);
  const std::size_t end = std::min(delegated_.size(), front_ + open);
  std::vector<Wish> none;
  for (std::size_t k = front_; k < end; ++k) {
    Delegated& d = delegated_[k];
    auto& wishes = writing_ ? none : wishes_[k % open];
    const bool more = k == front_ || wished_ < site_.mailbox->limit();
    if (d.left > 0 && site_.slots.is_free(use_at(d.visit))) receive(d, wishes, more);
    if (!wishes.empty() && site_.slots.is_read(use_at(d.visit))) answer(d, wishes);
  }
  if (moved) return Slots::Left::moved;
  const bool over =
      site_.mailbox->is_empty() && front_ == delegated_.size() && asked_.empty() && !some_left;
  return over ? Slots::Left::nothing : Slots::Left::idle;
}

void WindowWalk::receive(Delegated& d, std::vector<Wish>& wishes, bool more) {
  const Slots::Use use = use_at(d.visit);
  const auto take = [&](Rank from, std::span<const std::byte> message) {
    StepTimer timer(site_.report, Step::exchange);
    const WindowHead head = head_of(message);
    Slots::Placer placer(site_.slots, use);
    const std::byte* data = payload_of(message).data();
    for_each_run(message, [&](Count at, Count bytes) {
      if (writing_) {
        placer.add_bytes(at, data, bytes);
        data += bytes;
      } else {
        site_.slots.need(use, use.begin + at, bytes);
      }
    });
    if (writing_) return;
    wishes.push_back({from, head.failed != 0, {}});  // memory is reserved
    Wish& wish = wishes.back();
    if (!wish.failed &&
        !attempt_into(site_.failure, [&] { wish.message.assign(message.begin(), message.end()); }))
      wish.failed = true;
    wished_ += static_cast<Count>(wish.message.size());
  };
  while (more && d.to_fetch > 0 && site_.mailbox->fetch(tag(d.visit))) --d.to_fetch;
  while (site_.mailbox->take(tag(d.visit), take)) {
    --d.left;
    if (site_.messages_in) ++*site_.messages_in;
    arrive(d.visit);
  }
}

// With each answer, the node that asked departs.
void WindowWalk::answer(Delegated& d, std::vector<Wish>& wishes) {
  const Slots::Use use = use_at(d.visit);
  for (; !wishes.empty() && site_.mailbox->has_room(); wishes.pop_back()) {
    StepTimer timer(site_.report, Step::exchange);
    const Wish& wish = wishes.back();
    WindowHead head;
    head.window = visit(d.visit).window;
    RawBytes message;
    const bool made = !wish.failed && attempt_into(site_.failure, [&] {
      Count bytes = 0;
      for_each_run(wish.message, [&](Count, Count length) { bytes += length; });
      message.resize(sizeof head + static_cast<std::size_t>(bytes));
      std::memcpy(message.data(), &head, sizeof head);
      std::byte* to = message.data() + sizeof head;
      const std::byte* from = site_.slots.bytes(use);
      for_each_run(wish.message, [&](Count at, Count length) {
        copy_few(to, from + at, length);
        to += length;
      });
    });
    if (!made) message.clear();
    head.failed = 1;
    post(wish.from, answer_tag(d.visit), head, std::move(message), false);
    wished_ -= static_cast<Count>(wish.message.size());
    --d.to_answer;
    site_.slots.depart(use, who_come(d.visit));
  }
}

void WindowWalk::receive_answers() {
  std::erase_if(asked_, [&](std::size_t i) {
    site_.mailbox->fetch(answer_tag(i));
    return site_.mailbox->take(answer_tag(i), [&](Rank, std::span<const std::byte> message) {
      StepTimer timer(site_.report, Step::exchange);
      const Slots::Use use = use_at(i);
      if (head_of(message).failed != 0) {
        attempt_into(site_.failure, [&] {
          throw error_of_others(to_int(Errc::enomem), "another rank could not answer");
        });
      } else {
        const std::byte* data = payload_of(message).data();
        std::byte* into = site_.slots.bytes(use);
        site_.slots.for_each_run(use, [&](Count from, Count to) {
          copy_few(into + from, data, to - from);
          data += to - from;
        });
      }
      site_.slots.publish(use);
    });
  });
}

void WindowWalk::settle() {
  StepTimer timer(site_.report, Step::wait);
  move_on_until([](Slots::Left left) { return left == Slots::Left::nothing; });
  site_.slots.go_on_behind(visits_.size(), [&](std::size_t i) { return use_at(i); });
}

}  // namespace forebay
