#include "hdf5/log/index_writer.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/attempt.h"
#include "base/hash.h"
#include "base/number_bytes.h"
#include "comm/agree.h"
#include "comm/exchange.h"
#include "comm/message_bytes.h"

namespace forebay::logged {
namespace {

constexpr Count round_bytes = 16 << 20;

/// An entry that is sent to the rank which owns its dataset. Numbers are native, within one job.
struct Sent {
  Entry entry;
  PatternRef ref;
  Offset first = 0, last = 0;
  bool bounded = false;  // low and high of each dimension follow, then the inner extents
};

class Gathering {
 public:
  Gathering(const Comm& comm, LogReader& reader) : comm_(comm), reader_(reader) {
    const auto owners = static_cast<std::uint64_t>(comm.size());
    for (const IndexPlace& place : reader.directory().places)
      if (place.dataset % owners == static_cast<std::uint64_t>(comm.rank())) {
        // The list has the number of dimensions.
        lookups_.emplace(place.dataset, reader.from_index(place.dataset, 0));
      }
    savings_ = comm.is_root() ? reader.directory().savings : Savings{};
  }

  /// Collective. Sends entries of the blocks [from, to) to their owners.
  void round(std::size_t from, std::size_t to) {
    std::vector<Message> messages;
    const auto failed = attempt_to([&] {
      messages.resize(static_cast<std::size_t>(comm_.size()));
      for (int rank = 0; rank < comm_.size(); ++rank)
        messages[static_cast<std::size_t>(rank)].to = rank;
      reader_.for_each_section(from, to, static_cast<std::size_t>(comm_.size()),
                               static_cast<std::size_t>(comm_.rank()), [&](const Section& section) {
                                 savings_ += section.savings;
                                 for (const Entry& entry : section.entries)
                                   send(section, entry, messages);
                               });
    });
    agree_on_error(comm_, failed);
    std::erase_if(messages, [](const Message& m) { return m.bytes.empty(); });
    agree_on_error(comm_, attempt_to([&] {
                     sparse_exchange(comm_, messages, [&](Rank, std::span<const std::byte> bytes) {
                       receive(bytes);
                     });
                   }));
  }

  std::map<std::uint64_t, Lookup>& lookups() { return lookups_; }
  const Savings& savings() const { return savings_; }

 private:
  void send(const Section& section, const Entry& entry, std::vector<Message>& messages) {
    const auto bounds = reader_.bounds(section, entry);
    Sent sent{entry, {}, 0, 0, bounds.has_value()};
    if (bounds) {
      sent.ref = section.patterns[entry.pattern];
      sent.first = bounds->first, sent.last = bounds->last;
    }
    auto& out = messages[entry.dataset % static_cast<std::uint64_t>(comm_.size())].bytes;
    put(out, sent);
    if (!bounds) return;
    put_list(out, std::span<const Count>(bounds->low));
    put_list(out, std::span<const Count>(bounds->high));
    put_list(out, std::span<const Count>(bounds->inner));
  }

  void receive(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto sent = take<Sent>(bytes);
      Bounds bounds{{}, {}, sent.first, sent.last, {}};
      if (sent.bounded) {
        bounds.low = take_list<Count>(bytes);
        bounds.high = take_list<Count>(bytes);
        bounds.inner = take_list<Count>(bytes);
      }
      Lookup& lookup = lookups_[sent.entry.dataset];
      if (!bounds.low.empty() && !lookup.set_ndims(static_cast<std::uint32_t>(bounds.low.size())))
        damaged("dataset " + std::to_string(sent.entry.dataset) + " has other dimensions");
      lookup.add(sent.entry, sent.ref, sent.entry.kind == Kind::write ? &bounds : nullptr);
    }
  }

  const Comm& comm_;
  LogReader& reader_;
  std::map<std::uint64_t, Lookup> lookups_;
  Savings savings_;
};

struct Share {
  std::vector<std::byte> lists;
  std::vector<IndexPlace> places;  // relative to the share
  std::uint64_t entries = 0;
};

Share print_share(std::map<std::uint64_t, Lookup>& lookups) {
  Share share;
  for (auto& [dataset, lookup] : lookups) {
    if (lookup.stale()) lookup.build();
    const auto list = print_list(lookup.list());
    const auto bytes = static_cast<Count>(list.size());
    const Count head = parse_head(list, bytes).bytes;
    share.places.push_back({dataset, static_cast<Offset>(share.lists.size()), bytes, head,
                            hash_of(std::span(list).first(static_cast<std::size_t>(head)))});
    share.lists.insert(share.lists.end(), list.begin(), list.end());
    share.entries += lookup.size();
  }
  return share;
}

void sum_up(const Comm& comm, IndexDirectory& directory) {
  Savings& s = directory.savings;
  std::uint64_t* numbers[] = {&s.writes, &s.blocks, &s.plain,  &s.flat,
                              &s.packed, &s.shared, &s.stored, &directory.entries};
  std::int64_t sums[8];
  for (std::size_t i = 0; i < 8; ++i) sums[i] = static_cast<std::int64_t>(*numbers[i]);
  comm.all_reduce(sums, Reduce::sum);
  for (std::size_t i = 0; i < 8; ++i) *numbers[i] = static_cast<std::uint64_t>(sums[i]);
}

}  // namespace

WrittenIndex write_index(const Comm& comm, ByteFile& file, BlockSpace& space, LogReader& reader,
                         Report& report) {
  StepTimer timer(report, Step::header);
  std::optional<Gathering> gathering;
  std::uint64_t last_epoch = 0;
  agree_on_error(comm, attempt_to([&] {
                   gathering.emplace(comm, reader);
                   last_epoch = reader.last_epoch();
                 }));
  const auto& blocks = reader.blocks();
  for (std::size_t from = reader.directory().blocks, to = from; from < blocks.size(); from = to) {
    for (Count sum = 0; to < blocks.size() && (to == from || sum < round_bytes); ++to)
      sum += blocks[to].bytes;
    gathering->round(from, to);
  }

  Share share;
  agree_on_error(comm, attempt_to([&] { share = print_share(gathering->lookups()); }));
  const auto sizes = comm.all_gather(static_cast<std::int64_t>(share.lists.size()));
  std::vector<std::int64_t> place_sizes;
  const auto all = comm.all_gather_bytes(std::as_bytes(std::span(share.places)), place_sizes);
  WrittenIndex index;
  IndexDirectory& directory = index.directory;
  directory.blocks = blocks.size();
  directory.epoch = last_epoch;
  directory.entries = share.entries;
  directory.savings = gathering->savings();
  sum_up(comm, directory);
  directory.places = all_of<IndexPlace>(all);
  const Count front = directory_bytes(directory.places.size());
  Offset begin = front;
  std::size_t n = 0;
  for (std::size_t rank = 0; rank < sizes.size(); begin += sizes[rank], ++rank)
    for (Count left = place_sizes[rank]; left > 0; left -= Count{sizeof(IndexPlace)})
      directory.places[n++].place += begin;
  std::sort(directory.places.begin(), directory.places.end(),
            [](auto& a, auto& b) { return a.dataset < b.dataset; });

  index.place = {space.allot(BlockSpace::Use::index, begin), begin};
  const Offset mine = index.place.place + front +
                      std::accumulate(sizes.begin(), sizes.begin() + comm.rank(), Offset{0});
  agree_on_error(comm, attempt_to([&] {
                   if (!share.lists.empty())
                     file.write_at(mine, std::span<const std::byte>(share.lists));
                   if (comm.is_root())
                     file.write_at(index.place.place,
                                   std::span<const std::byte>(print_directory(directory)));
                 }));
  return index;
}

}  // namespace forebay::logged
