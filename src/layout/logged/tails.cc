#include "layout/logged/tails.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/error.h"

namespace forebay::logged {

/// Each number is written by the slot's rank and read by the others at any time.
struct alignas(64) TailSlot {
  std::uint64_t generation;
  std::uint64_t moves;   ///< raised before memory that was shown is used for something else
  std::uint64_t stream;  ///< its address
  std::uint64_t bytes;   ///< of the stream
  std::uint64_t saved;   ///< bytes of data that the file has
  std::uint64_t turn;    ///< of the last write
  std::uint64_t pid;
  std::uint64_t descriptor;  ///< of the file of data
};

namespace {

constexpr std::size_t kept_bytes = 1 << 20;  // of an empty stream

std::uint64_t get(std::uint64_t& number) {
  return std::atomic_ref(number).load(std::memory_order_acquire);
}
void put(std::uint64_t& number, std::uint64_t value) {
  std::atomic_ref(number).store(value, std::memory_order_release);
}

void raise_moves(TailSlot& mine) {
  put(mine.moves, mine.moves + 1);
  // Nothing is written into memory that was shown before readers can see this.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// Reads another process's memory. False if it is not there (any more).
bool read_memory(std::uint64_t pid, std::uint64_t address, std::span<std::byte> into) {
  while (!into.empty()) {
    const iovec here{into.data(), std::min<std::size_t>(into.size(), 1 << 30)};
    // An address of the other process, which no pointer of this one can have.
    const iovec there{reinterpret_cast<void*>(address), here.iov_len};  // NOLINT
    const ssize_t n = ::process_vm_readv(static_cast<pid_t>(pid), &here, 1, &there, 1, 0);
    if (n <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(n));
    address += static_cast<std::uint64_t>(n);
  }
  return true;
}

[[noreturn]] void gone(int rank) {
  throw Error(Errc::eread, "what rank " + std::to_string(rank) + " wrote cannot be read",
              "its process has ended");
}

std::string descriptors_of(std::uint64_t pid) { return "/proc/" + std::to_string(pid) + "/fd"; }

}  // namespace

std::unique_ptr<Tails> Tails::make(const Comm& comm, int ranks_per_node, OpenFile open) {
  const Comm node = comm.split_node(ranks_per_node);
  if (comm.all_reduce(node.size() == comm.size(), Reduce::min) == 0) return nullptr;
  static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);
  auto slots = NodeMemory::create(comm, sizeof(TailSlot) * static_cast<std::size_t>(comm.size()));
  if (!slots) return nullptr;
  std::unique_ptr<Tails> tails(new Tails(std::move(slots), comm, std::move(open)));
  return tails->can_read_neighbour(comm) ? std::move(tails) : nullptr;
}

Tails::Tails(NodeMemory slots, const Comm& comm, OpenFile open)
    : slots_(std::move(slots)),
      rank_(comm.rank()),
      open_(std::move(open)),
      data_(static_cast<std::size_t>(comm.size())) {}

TailSlot& Tails::slot(int rank) const {
  return reinterpret_cast<TailSlot*>(slots_.data())[rank];  // NOLINT: zero-filled, of numbers only
}

/// Collective, with an equal result: systems may forbid it (Yama's ptrace_scope, a container's
/// filter of system calls), and containers have processes and numbers of their own.
bool Tails::can_read_neighbour(const Comm& comm) {
  TailSlot& mine = slot(rank_);
  const std::uint64_t token = 0x7461696c00000000 + static_cast<std::uint64_t>(rank_);
  put(mine.pid, static_cast<std::uint64_t>(::getpid()));
  put(mine.stream, reinterpret_cast<std::uintptr_t>(&token));
  comm.barrier();  // all slots are filled
  const int other = (rank_ + 1) % ranks();
  TailSlot& next = slot(other);
  std::uint64_t found = 0;
  const bool can =
      read_memory(get(next.pid), get(next.stream), std::as_writable_bytes(std::span(&found, 1))) &&
      found == token - static_cast<std::uint64_t>(rank_) + static_cast<std::uint64_t>(other) &&
      ::access(descriptors_of(get(next.pid)).c_str(), R_OK | X_OK) == 0;
  return comm.all_reduce(can, Reduce::min) != 0;  // nobody reads tokens any more
}

// -- this rank's tail -----------------------------------------------------------------------------

std::uint32_t Tails::next_turn() {
  std::uint64_t last = turn_;
  for (int r = 0; r < ranks(); ++r)
    if (get(slot(r).generation) == generation_) last = std::max(last, get(slot(r).turn));
  if (last >= UINT32_MAX)
    throw Error(Errc::erange, "too many independent writes without a flush", "call H5Fflush");
  return static_cast<std::uint32_t>(last) + 1;
}

void Tails::reserve(std::size_t bytes) {
  if (bytes <= room_) return;
  const std::size_t room = std::max<std::size_t>({bytes, 2 * room_, 4096});
  auto larger = std::make_unique_for_overwrite<std::byte[]>(room);
  if (size_ > 0) std::memcpy(larger.get(), stream_.get(), size_);
  put(slot(rank_).stream, reinterpret_cast<std::uintptr_t>(larger.get()));
  raise_moves(slot(rank_));
  stream_ = std::move(larger);
  room_ = room;
}

void Tails::append(std::uint32_t kind, std::span<const std::byte> payload) {
  const std::uint32_t front[] = {kind, static_cast<std::uint32_t>(payload.size())};
  reserve(size_ + sizeof front + payload.size());
  std::memcpy(&stream_[size_], front, sizeof front);
  if (!payload.empty()) std::memcpy(&stream_[size_ + sizeof front], payload.data(), payload.size());
  size_ += sizeof front + payload.size();
}

void Tails::show(std::uint32_t turn, Count saved) {
  // A rank that is still before a collective write must not get a turn again.
  turn_ = std::max(turn_, turn);
  TailSlot& mine = slot(rank_);
  put(mine.saved, static_cast<std::uint64_t>(saved));
  put(mine.turn, turn_);
  put(mine.bytes, size_);
  put(mine.generation, generation_);  // last: the others are of this generation then
}

void Tails::saved(Count saved) {
  put(slot(rank_).saved, static_cast<std::uint64_t>(saved));
  raise_moves(slot(rank_));
}

void Tails::set_descriptor(int descriptor) {
  put(slot(rank_).descriptor, static_cast<std::uint64_t>(descriptor));
}

void Tails::restart() {
  ++generation_;
  size_ = 0;
  turn_ = 0;
  if (room_ <= kept_bytes) return;
  stream_.reset();
  room_ = 0;
}

// -- those of others ------------------------------------------------------------------------------

Count Tails::bytes(int rank) const {
  TailSlot& theirs = slot(rank);
  return get(theirs.generation) == generation_ ? static_cast<Count>(get(theirs.bytes)) : 0;
}

void Tails::read_stream(int rank, Offset position, std::span<std::byte> into) const {
  TailSlot& theirs = slot(rank);
  for (;;) {
    const std::uint64_t moves = get(theirs.moves);
    const bool read = read_memory(get(theirs.pid),
                                  get(theirs.stream) + static_cast<std::uint64_t>(position), into);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (moves != get(theirs.moves)) continue;
    if (!read) gone(rank);
    return;
  }
}

ByteFile& Tails::data_file(int rank) {
  auto& file = data_[static_cast<std::size_t>(rank)];
  if (!file)
    file = open_(descriptors_of(get(slot(rank).pid)) + "/" +
                 std::to_string(get(slot(rank).descriptor)));
  return *file;
}

void Tails::read_data(int rank, Offset position, std::uint64_t address, std::span<std::byte> into) {
  TailSlot& theirs = slot(rank);
  const auto end = static_cast<std::uint64_t>(position) + into.size();
  for (;;) {
    const std::uint64_t moves = get(theirs.moves);
    if (address == 0 || end <= get(theirs.saved)) {
      if (data_file(rank).read_at(position, into) != into.size()) gone(rank);
      return;
    }
    const bool read = read_memory(get(theirs.pid), address, into);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (moves != get(theirs.moves)) continue;
    if (!read) gone(rank);
    return;
  }
}

}  // namespace forebay::logged
