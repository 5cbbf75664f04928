#include "layout/chunked/chunk_exchange.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "base/memory_at_hand.h"
#include "comm/exchange.h"
#include "comm/message_bytes.h"
#include "layout/chunked/unpack.h"

namespace forebay::chunked {
namespace {

constexpr std::size_t alignment = 64;  // of buffers: they share no cache lines
constexpr Count least_room = 64 << 10;

/// The header of the pieces of one request and chunk in a message.
struct ItemHead {
  std::uint32_t chunk = 0, pieces = 0;
};
struct PieceHead {
  std::uint32_t position = 0, length = 0;  // a chunk has at most 1 GiB
};

/// Appends the headers of a request's pieces; returns the bytes that they describe.
Count append_heads(std::vector<std::byte>& to, std::uint32_t chunk, const ChunkPieces& pieces) {
  const std::size_t at = to.size();
  put(to, ItemHead{chunk, 0});
  std::uint32_t number = 0;
  Count bytes = 0;
  pieces.for_each([&](const ChunkPiece& p) {
    put(to,
        PieceHead{static_cast<std::uint32_t>(p.position), static_cast<std::uint32_t>(p.length)});
    bytes += p.length;
    ++number;
  });
  std::memcpy(to.data() + at + offsetof(ItemHead, pieces), &number, sizeof number);
  return bytes;
}

/// The width of the words to reverse between a request's memory and a chunk.
int swap_into(bool native, const Request& r) {
  if (!native) return r.swap;
  return r.swap == 1 ? r.element_size : 1;
}

/// The available memory, cached for a while. A query takes as long as several collective steps, and
/// each file asks for it; a program may open many small files a second. If little memory is left,
/// it is queried each time, since it includes what the file before has taken.
std::optional<std::uint64_t> memory_lately() {
  constexpr std::uint64_t much = std::uint64_t{4} << 30;
  using Clock = std::chrono::steady_clock;
  thread_local std::optional<std::uint64_t> found;
  thread_local std::optional<Clock::time_point> looked;
  const auto now = Clock::now();
  if (found.value_or(0) < much || !looked || now - *looked > std::chrono::milliseconds(500)) {
    found = memory_at_hand();
    looked = now;
  }
  return found;
}

}  // namespace

void put_pieces(const ChunkPieces& pieces, const Request& r, bool native, std::byte* chunk) {
  const int swap = swap_into(native, r);
  pieces.for_each([&](const ChunkPiece& p) {
    copy_swapped_range(chunk + p.position, r.packed, p.memory, p.length, swap);
  });
}

Team::Team(const Comm& comm, int ranks_per_node, Report& report)
    : comm_(comm), report_(report), topology_(Topology::of(comm, ranks_per_node)) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  room_.reserve(ranks);  // so that part() cannot fail
  needed_.reserve(ranks);
  room_.resize(static_cast<std::size_t>(nodes()));
  for (auto* of_ranks : {&size_, &used_, &begin_}) of_ranks->resize(ranks);
  std::array<std::int64_t, 2> least{std::max<std::int64_t>(1, std::thread::hardware_concurrency()),
                                    INT64_MAX};
  if (topology_.node().is_root()) {
    // A part of the free memory: several files may be open, each uses it twice (two halves), and
    // some must stay free.
    const auto at_hand = memory_lately();
    if (at_hand) least[1] = static_cast<std::int64_t>(*at_hand) / 8 / node_size();
  }
  comm.all_reduce(least, Reduce::min);
  processors_ = static_cast<int>(least[0]);
  fair_room_ = std::max<Count>(least[1], least_room);
}

Team::~Team() {
  if (shares_) topology_.give_back(std::move(memory_));
}

void Team::make_room(Operation& op, std::uint32_t halves) {
  for (;;) {
    place(op, halves);
    if (grow()) return;
    if (room_.size() == size_.size()) {
      throw Error(Errc::enomem,
                  "no memory for the " + std::to_string(needed_[my_group()] >> 20) +
                      " MiB of chunks that a rank owns in a round",
                  "lower buffer_limit or the size of chunks");
    }
    part();
  }
}

void Team::place(Operation& op, std::uint32_t halves) {
  std::fill(size_.begin(), size_.end(), 0);
  for (const auto& round : op.of_round) {
    for (const std::uint32_t i : round) used_[static_cast<std::size_t>(op.chunks[i].owner)] = 0;
    for (const std::uint32_t i : round) {
      PlannedChunk& c = op.chunks[i];
      if (!c.shared) continue;
      const auto owner = static_cast<std::size_t>(c.owner);
      c.buffer = used_[owner];
      used_[owner] += (static_cast<std::size_t>(c.bytes) + alignment - 1) / alignment * alignment;
      size_[owner] = std::max(size_[owner], used_[owner]);
    }
  }
  needed_.assign(room_.size(), 0);
  for (std::size_t r = 0; r < size_.size(); ++r) {
    std::size_t& at = needed_[group_of(static_cast<Rank>(r))];
    begin_[r] = at;
    at += halves * size_[r];
  }
  for (PlannedChunk& c : op.chunks) {
    const auto owner = static_cast<std::size_t>(c.owner);
    c.buffer += begin_[owner] + op.met[c.round] % halves * size_[owner];
  }
}

// All ranks know what every node has and needs, so a collective step is needed only if a node needs
// more.
bool Team::grow() {
  bool any = false;
  for (std::size_t node = 0; node < room_.size(); ++node) any |= needed_[node] > room_[node];
  if (!any) return true;
  comm_.meet();  // all ranks are here: from now on those of a node wait for each other
  bool ok = true;
  if (const auto mine = my_group(); needed_[mine] > room_[mine]) {
    memory_ = NodeMemory{};  // release the old memory first: there may not be enough for both
    memory_ =
        shares_ ? topology_.take_memory(needed_[mine]) : NodeMemory::create(Comm(), needed_[mine]);
    ok = static_cast<bool>(memory_);
  }
  for (std::size_t node = 0; node < room_.size(); ++node)
    if (needed_[node] > room_[node]) room_[node] = 0;
  if (comm_.all_reduce(ok, Reduce::min) == 0) return false;
  for (std::size_t node = 0; node < room_.size(); ++node)
    room_[node] = std::max(room_[node], needed_[node]);
  return true;
}

// Makes every rank a group of its own.
void Team::part() {
  shares_ = false;
  memory_ = NodeMemory{};
  room_.assign(size_.size(), 0);
}

template <typename F>
void Team::for_each_touch(Operation& op, std::uint32_t round, bool local, F&& f) {
  for (const Touch& t : op.touches_of_round(round)) {
    const PlannedChunk& c = op.chunks[t.chunk];
    if (c.shared && is_local(c.owner) == local) f(t, c);
  }
}

void Team::scatter(Operation& op, std::uint32_t round, const GridOf& grid) {
  std::vector<Message> messages;
  // A rank that has failed sends nothing, but still takes part.
  auto failure = attempt_to([&] {
    StepTimer timer(report_, Step::pack);
    for_each_touch(op, round, true, [&](const Touch& t, const PlannedChunk& c) {
      const Request& r = op.requests[t.request];
      put_pieces(ChunkPieces(grid(t.var), r, t.id, op.finder.positions(r)), r, c.native, buffer(c));
    });
    if (room_.size() == 1) return;
    auto to = one_for_each_rank();
    for_each_touch(op, round, false, [&](const Touch& t, const PlannedChunk& c) {
      const Request& r = op.requests[t.request];
      const ChunkPieces pieces(grid(t.var), r, t.id, op.finder.positions(r));
      auto& message = to[static_cast<std::size_t>(c.owner)];
      const auto bytes = static_cast<std::size_t>(append_heads(message, t.chunk, pieces));
      std::size_t at = message.size();
      message.resize(at + bytes);
      pieces.for_each([&](const ChunkPiece& p) {
        copy_swapped_range(message.data() + at, r.packed, p.memory, p.length,
                           swap_into(c.native, r));
        at += static_cast<std::size_t>(p.length);
      });
    });
    messages = messages_of(to);
    for (const Message& m : messages)
      report_[Counter::message_bytes] += static_cast<std::int64_t>(m.bytes.size());
  });
  if (room_.size() > 1) {
    StepTimer timer(report_, Step::exchange);
    const auto unsent = attempt_to([&] {
      sparse_exchange(comm_, messages,
                      [&](Rank, std::span<const std::byte> bytes) { unpack(bytes, op); });
    });
    if (!failure) failure = unsent;
  }
  if (failure) throw *failure;
}

std::vector<std::vector<std::byte>> Team::one_for_each_rank() const {
  return std::vector<std::vector<std::byte>>(static_cast<std::size_t>(comm_.size()));
}

std::vector<Message> Team::messages_of(std::vector<std::vector<std::byte>>& to) {
  std::vector<Message> messages;
  for (std::size_t r = 0; r < to.size(); ++r) {
    if (!to[r].empty()) messages.push_back({static_cast<Rank>(r), std::move(to[r])});
  }
  report_[Counter::messages] += static_cast<std::int64_t>(messages.size());
  return messages;
}

void Team::unpack(std::span<const std::byte> message, Operation& op) {
  while (!message.empty()) {
    const auto head = take<ItemHead>(message);
    auto heads = message.first(head.pieces * sizeof(PieceHead));
    message = message.subspan(heads.size());
    std::byte* chunk = buffer(op.chunks[head.chunk]);
    while (!heads.empty()) {
      const auto piece = take<PieceHead>(heads);
      std::memcpy(chunk + piece.position, message.data(), piece.length);
      message = message.subspan(piece.length);
    }
  }
}

Message Team::answer(Rank to, std::span<const std::byte> wish, const Operation& op) {
  Message answer{to, {}};
  while (!wish.empty()) {
    const auto head = take<ItemHead>(wish);
    const std::byte* chunk = buffer(op.chunks[head.chunk]);
    for (std::uint32_t i = 0; i < head.pieces; ++i) {
      const auto piece = take<PieceHead>(wish);
      answer.bytes.insert(answer.bytes.end(), chunk + piece.position,
                          chunk + piece.position + piece.length);
    }
  }
  report_[Counter::message_bytes] += static_cast<std::int64_t>(answer.bytes.size());
  return answer;
}

void Team::take_answer(Rank from, std::span<const std::byte> bytes, Operation& op,
                       std::uint32_t round, const GridOf& grid) {
  for_each_touch(op, round, false, [&](const Touch& t, const PlannedChunk& c) {
    if (c.owner != from) return;
    const Request& r = op.requests[t.request];
    ChunkPieces(grid(t.var), r, t.id, op.finder.positions(r)).for_each([&](const ChunkPiece& p) {
      store_swapped_range(r.packed, p.memory, bytes.data(), p.length, r.swap);
      bytes = bytes.subspan(static_cast<std::size_t>(p.length));
    });
  });
}

void Team::gather(Operation& op, std::uint32_t round, const GridOf& grid) {
  std::vector<Message> wishes, answers;
  std::optional<Error> failure;
  // A rank that has failed continues with what it has, since the others wait for it.
  const auto attempt = [&](auto&& f) { attempt_into(failure, f); };
  attempt([&] {
    StepTimer timer(report_, Step::unpack);
    for_each_touch(op, round, true, [&](const Touch& t, const PlannedChunk& c) {
      const Request& r = op.requests[t.request];
      put_part(
          {ChunkPieces(grid(t.var), r, t.id, op.finder.positions(r)), Target(r.packed, r.swap)},
          buffer(c));
    });
    if (room_.size() == 1) return;
    auto to = one_for_each_rank();
    for_each_touch(op, round, false, [&](const Touch& t, const PlannedChunk& c) {
      const Request& r = op.requests[t.request];
      append_heads(to[static_cast<std::size_t>(c.owner)], t.chunk,
                   ChunkPieces(grid(t.var), r, t.id, op.finder.positions(r)));
    });
    wishes = messages_of(to);
  });
  if (room_.size() > 1) {
    StepTimer timer(report_, Step::exchange);
    attempt([&] {
      sparse_exchange(comm_, wishes, [&](Rank from, std::span<const std::byte> wish) {
        answers.push_back(answer(from, wish, op));
      });
    });
    // An owner answers in the order of this rank's requests.
    attempt([&] {
      sparse_exchange(comm_, answers, [&](Rank from, std::span<const std::byte> bytes) {
        take_answer(from, bytes, op, round, grid);
      });
    });
  }
  if (failure) throw *failure;
}

}  // namespace forebay::chunked
