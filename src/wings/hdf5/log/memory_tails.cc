#include "hdf5/log/memory_tails.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace forebay::logged {

/// The slot's rank writes each number. The others read it at any time.
struct alignas(64) TailSlot {
  std::uint64_t generation;
  std::uint64_t moves;   ///< raised before memory that was shown is reused
  std::uint64_t stream;  ///< address of the stream
  std::uint64_t bytes;   ///< of the stream
  std::uint64_t saved;   ///< bytes of data in the temporary file
  std::uint64_t turn;    ///< of the last write
  std::uint64_t pid;
  std::uint64_t descriptor;  ///< of the temporary file
};

namespace {

constexpr std::size_t kept_tail_bytes = 1 << 20;  // kept for an empty stream

std::uint64_t get(std::uint64_t& number) {
  return std::atomic_ref(number).load(std::memory_order_acquire);
}
void put(std::uint64_t& number, std::uint64_t value) {
  std::atomic_ref(number).store(value, std::memory_order_release);
}

void raise_moves(TailSlot& mine) {
  put(mine.moves, mine.moves + 1);
  // Memory that was shown is overwritten only after readers can see the new number.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// Reads another process's memory. Returns false if it is not there, or no longer.
bool read_memory(std::uint64_t pid, std::uint64_t address, std::span<std::byte> into) {
  while (!into.empty()) {
    const iovec here{into.data(), std::min<std::size_t>(into.size(), 1 << 30)};
    // It is an address of the other process, so it comes from no pointer of this one.
    const iovec there{reinterpret_cast<void*>(address), here.iov_len};  // NOLINT
    const ssize_t n = ::process_vm_readv(static_cast<pid_t>(pid), &here, 1, &there, 1, 0);
    if (n <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(n));
    address += static_cast<std::uint64_t>(n);
  }
  return true;
}

std::string descriptors_of(std::uint64_t pid) { return "/proc/" + std::to_string(pid) + "/fd"; }

}  // namespace

std::unique_ptr<Tails> MemoryTails::make(const Comm& comm, OpenFile open) {
  static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);
  auto slots = NodeMemory::create(comm, sizeof(TailSlot) * static_cast<std::size_t>(comm.size()));
  if (!slots) return nullptr;
  std::unique_ptr<MemoryTails> tails(new MemoryTails(std::move(slots), comm, std::move(open)));
  if (!tails->can_read_neighbour(comm)) return nullptr;
  return tails;
}

MemoryTails::MemoryTails(NodeMemory slots, const Comm& comm, OpenFile open)
    : Tails(comm),
      slots_(std::move(slots)),
      open_(std::move(open)),
      data_(static_cast<std::size_t>(comm.size())) {}

TailSlot& MemoryTails::slot(int rank) const {
  return reinterpret_cast<TailSlot*>(slots_.data())[rank];  // NOLINT: zero-filled, of numbers only
}

/// Collective; returns the same on all ranks. A system may forbid it (Yama's ptrace_scope, a
/// container's filter of system calls). Containers may have process numbers of their own.
bool MemoryTails::can_read_neighbour(const Comm& comm) {
  TailSlot& mine = slot(rank());
  const std::uint64_t token = 0x7461696c00000000 + static_cast<std::uint64_t>(rank());
  put(mine.pid, static_cast<std::uint64_t>(::getpid()));
  put(mine.stream, reinterpret_cast<std::uintptr_t>(&token));
  comm.barrier();  // all slots are filled
  const int other = (rank() + 1) % ranks();
  TailSlot& next = slot(other);
  std::uint64_t found = 0;
  const bool can =
      read_memory(get(next.pid), get(next.stream), std::as_writable_bytes(std::span(&found, 1))) &&
      found == token - static_cast<std::uint64_t>(rank()) + static_cast<std::uint64_t>(other) &&
      ::access(descriptors_of(get(next.pid)).c_str(), R_OK | X_OK) == 0;
  return comm.all_reduce(can, Reduce::min) != 0;  // no rank reads tokens any more
}

// -- this rank's tail -----------------------------------------------------------------------------

void MemoryTails::reserve(std::size_t bytes) {
  if (bytes <= room_) return;
  const std::size_t room = std::max<std::size_t>({bytes, 2 * room_, 4096});
  auto larger = std::make_unique_for_overwrite<std::byte[]>(room);
  if (size_ > 0) std::memcpy(larger.get(), stream_.get(), size_);
  put(slot(rank()).stream, reinterpret_cast<std::uintptr_t>(larger.get()));
  raise_moves(slot(rank()));
  stream_ = std::move(larger);
  room_ = room;
}

void MemoryTails::append(std::uint32_t kind, std::span<const std::byte> payload) {
  const std::uint32_t front[] = {kind, static_cast<std::uint32_t>(payload.size())};
  reserve(size_ + sizeof front + payload.size());
  std::memcpy(&stream_[size_], front, sizeof front);
  if (!payload.empty()) std::memcpy(&stream_[size_ + sizeof front], payload.data(), payload.size());
  size_ += sizeof front + payload.size();
}

std::uint64_t MemoryTails::address_of(const PendingData& data, Offset position, Count) {
  return reinterpret_cast<std::uintptr_t>(data.address_of(position));
}

void MemoryTails::show(const Shown& shown, Count saved) {
  TailSlot& mine = slot(rank());
  put(mine.saved, static_cast<std::uint64_t>(saved));
  put(mine.turn, shown.turn);
  put(mine.bytes, shown.bytes);
  put(mine.generation, shown.generation);  // last: it makes the other numbers valid
}

void MemoryTails::saved(Count saved) {
  put(slot(rank()).saved, static_cast<std::uint64_t>(saved));
  raise_moves(slot(rank()));
}

void MemoryTails::set_descriptor(int descriptor) {
  put(slot(rank()).descriptor, static_cast<std::uint64_t>(descriptor));
}

void MemoryTails::clear() {
  size_ = 0;
  if (room_ <= kept_tail_bytes) return;
  stream_.reset();
  room_ = 0;
}

// -- the other ranks' tails -----------------------------------------------------------------------

void MemoryTails::look(std::span<Shown> shown) {
  for (int r = 0; r < ranks(); ++r) {
    TailSlot& theirs = slot(r);
    const std::uint64_t generation = get(theirs.generation);
    shown[static_cast<std::size_t>(r)] = {generation, get(theirs.bytes), get(theirs.turn)};
  }
}

void MemoryTails::read_stream(int rank, Offset position, std::span<std::byte> into) {
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

ByteFile& MemoryTails::data_file(int rank) {
  auto& file = data_[static_cast<std::size_t>(rank)];
  if (!file)
    file = open_(
        descriptors_of(get(slot(rank).pid)) + "/" + std::to_string(get(slot(rank).descriptor)),
        Open::read);
  return *file;
}

void MemoryTails::read_data(int rank, Offset position, std::uint64_t address,
                            std::span<std::byte> into) {
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
