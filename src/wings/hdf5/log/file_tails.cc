#include "hdf5/log/file_tails.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/hash.h"
#include "base/stale_files.h"
#include "comm/agree.h"
#include "storage/client_caches.h"

namespace forebay::logged {
namespace {

// Slots of different nodes never share a page, of any page size. So a node caches only its own
// slots.
constexpr Offset page_bytes = 64 << 10;
constexpr Offset slot_bytes = 32;
constexpr std::size_t slots_per_page = page_bytes / slot_bytes;

constexpr Offset first_byte = 8;       // where data begins: an address is never 0
constexpr Count kept_bytes = 1 << 20;  // of data, in a file that is reused
constexpr Count tail_window_bytes = 8 << 20;
constexpr int most_looks = 10000;

}  // namespace

std::unique_ptr<Tails> FileTails::make(const Comm& comm, const Topology& topology,
                                       const std::string& folder, OpenFile open) {
  std::unique_ptr<FileTails> tails(new FileTails(comm, folder, std::move(open)));
  // A page begins with the slot of a node's first rank, or of the first rank that did not fit in
  // the page before. The page's number is that rank's number.
  const auto my_rank = static_cast<std::size_t>(topology.node().rank());
  for (int node = 0; node < topology.nodes(); ++node) {
    const auto ranks = topology.ranks_of(node);
    for (std::size_t i = 0; i < ranks.size(); i += slots_per_page) {
      const auto of_page = ranks.subspan(i, std::min(slots_per_page, ranks.size() - i));
      const Offset page = page_bytes * of_page.front();
      tails->areas_.push_back({page, {of_page.begin(), of_page.end()}});
      if (node == topology.my_node() && i <= my_rank)
        tails->place_ = page + slot_bytes * static_cast<Offset>(my_rank - i);
    }
  }
  by_root(comm, [&] {
    std::error_code error;
    std::filesystem::create_directory(folder, error);
    if (error) throw system_error(error.value(), Errc::efile, "making the folder", folder);
    tails->shown_ = tails->open_(tails->shown_path_, Open::create);
    tails->shown_->truncate(page_bytes * comm.size());  // no rank shows anything
  });
  // After this step the folder is there, with a file in which no rank shows anything.
  if (!tails->shown_) tails->shown_ = tails->open_(tails->shown_path_, Open::write);
  tails->weak_ = client_caches_of(tails->shown_path_, true) != ClientCaches::coherent;
  return tails;
}

void FileTails::remove_left(const std::string& folder) {
  remove_stale_files(folder, [](std::string_view name) {
    if (name.ends_with(".data")) name.remove_suffix(5);
    return name == "shown" || is_number(name);
  });
}

FileTails::FileTails(const Comm& comm, std::string folder, OpenFile open)
    : Tails(comm),
      folder_(std::move(folder)),
      shown_path_(path("shown")),
      open_(std::move(open)),
      streams_(static_cast<std::size_t>(comm.size())),
      datas_(static_cast<std::size_t>(comm.size())),
      end_(first_byte) {}

FileTails::~FileTails() {
  if (rank() == 0) ::unlink(shown_path_.c_str());
  if (stream_) {
    ::unlink(stream_->path().c_str());
    ::unlink(data_->path().c_str());
  }
  ::rmdir(folder_.c_str());  // fails as long as other ranks' files are there
}

std::uint64_t FileTails::check_of(const Slot& slot) {
  static_assert(sizeof(Slot) == slot_bytes);
  return hash_of(std::as_bytes(std::span(&slot, 1)).first(offsetof(Slot, check)));
}

// -- this rank's tail -----------------------------------------------------------------------------

void FileTails::make_files() {
  if (stream_) return;
  auto stream = open_(path(std::to_string(rank())), Open::create);
  data_ = open_(path(std::to_string(rank()) + ".data"), Open::create);
  stream_ = std::move(stream);
}

void FileTails::settle(ByteFile& file) {
  if (weak_) file.sync();
}

void FileTails::append(std::uint32_t kind, std::span<const std::byte> payload) {
  const std::uint32_t front[] = {kind, static_cast<std::uint32_t>(payload.size())};
  const std::size_t at = unwritten_.size();
  unwritten_.resize(at + sizeof front + payload.size());  // all or nothing
  std::memcpy(&unwritten_[at], front, sizeof front);
  std::copy(payload.begin(), payload.end(),
            unwritten_.begin() + static_cast<std::ptrdiff_t>(at + sizeof front));
}

std::uint64_t FileTails::address_of(const PendingData& data, Offset position, Count bytes) {
  make_files();
  const Offset begin = end_;
  if (const std::byte* memory = data.address_of(position)) {
    data_->write_at(begin, std::span(memory, static_cast<std::size_t>(bytes)));
  } else {  // it is in the temporary file by now
    std::vector<std::byte> window(static_cast<std::size_t>(std::min(bytes, tail_window_bytes)));
    for (Count done = 0; done < bytes;) {
      const auto part = std::span(window).first(
          static_cast<std::size_t>(std::min(bytes - done, tail_window_bytes)));
      data.read(position + done, part);
      data_->write_at(begin + done, std::span<const std::byte>(part));
      done += std::ssize(part);
    }
  }
  end_ += bytes;
  return static_cast<std::uint64_t>(begin);
}

void FileTails::show(const Shown& mine, Count) {
  make_files();
  stream_->write_at(written_, std::span<const std::byte>(unwritten_));
  settle(*data_);
  settle(*stream_);
  Slot slot{mine.generation, mine.bytes, mine.turn};
  slot.check = check_of(slot);
  shown_->write_at(place_, std::as_bytes(std::span(&slot, 1)));
  settle(*shown_);
  written_ += std::ssize(unwritten_);
  unwritten_.clear();
}

void FileTails::clear() {
  if (end_ > kept_bytes) data_->truncate(0);  // no rank reads it any more
  written_ = 0;
  end_ = first_byte;
  unwritten_.clear();
}

// -- the other ranks' tails -----------------------------------------------------------------------

void FileTails::look(std::span<Shown> shown) {
  if (weak_) {  // no cached page may be used
    shown_ = open_(shown_path_, Open::write);
    streams_.assign(streams_.size(), nullptr);
    datas_.assign(datas_.size(), nullptr);
  }
  std::vector<Slot> slots;
  for (const Area& area : areas_) {
    slots.resize(area.ranks.size());
    look(area, slots);
    for (std::size_t i = 0; i < slots.size(); ++i)
      shown[static_cast<std::size_t>(area.ranks[i])] = {slots[i].generation, slots[i].bytes,
                                                        slots[i].turn};
  }
}

void FileTails::look(const Area& area, std::span<Slot> slots) {
  const auto bytes = std::as_writable_bytes(slots);
  for (int time = 0; time < most_looks; ++time) {
    if (shown_->read_at(area.begin, bytes) != bytes.size()) break;
    const bool whole = std::all_of(slots.begin(), slots.end(), [](const Slot& slot) {
      return slot.generation == 0 || slot.check == check_of(slot);
    });
    if (whole) return;
    std::this_thread::yield();  // a slot is being written
  }
  throw Error(Errc::eread, shown_path_ + " is damaged",
              "it was changed while the file was open for writing");
}

ByteFile& FileTails::theirs(std::vector<std::shared_ptr<ByteFile>>& files, int rank,
                            const std::string& suffix) {
  auto& file = files[static_cast<std::size_t>(rank)];
  if (!file) file = open_(path(std::to_string(rank) + suffix), Open::read);
  return *file;
}

void FileTails::read_stream(int rank, Offset position, std::span<std::byte> into) {
  if (theirs(streams_, rank, "").read_at(position, into) != into.size()) gone(rank);
}

void FileTails::read_data(int rank, Offset, std::uint64_t address, std::span<std::byte> into) {
  if (theirs(datas_, rank, ".data").read_at(static_cast<Offset>(address), into) != into.size())
    gone(rank);
}

}  // namespace forebay::logged
