// Shared helpers for tests of the log: a log in memory, writes whose data identify them, and the
// result of a walk.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "burst/log/staging_writer.h"
#include "burst/log/walk_writes.h"
#include "store/journal_testing.h"

namespace forebay::staging {

using journal::entry_length, journal::least_block, journal::seal_entry, journal::slot_of;
using TestLog = journal::TestJournal<Writer>;

/// The data of write `id`.
inline std::vector<int> values_of(int id, Count count) {
  std::vector<int> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int>(1000U * static_cast<unsigned>(id) + static_cast<unsigned>(i));
  return values;
}

/// A write of `count` ints to variable `id`. It owns its data.
struct TestWrite {
  Write write;
  std::vector<int> values;

  TestWrite(int id, Count count, bool continues = false) : values(values_of(id, count)) {
    write.var = id;
    write.type = Type::int32;
    write.continues = continues;
    write.selection = Subarray{{id}, {count}, {}};
  }
  void add_to(Writer& writer) {
    iovec piece{values.data(), values.size() * sizeof(int)};
    writer.add(write, {&piece, 1});
  }
};

/// Commits one write.
inline Write append(Writer& writer, int id, Count count = 5, bool continues = false) {
  TestWrite w(id, count, continues);
  w.add_to(writer);
  writer.commit();
  return w.write;
}

/// The variables of the writes that a walk visited. Their data were verified.
struct Walked {
  Scan scan;
  std::vector<int> ids;
  std::vector<std::uint64_t> sequences;
  std::vector<std::shared_ptr<const RunList>> pieces;
  int wrong_data = 0;
};

inline Walked walk(Reader& reader, bool everything = false) {
  Walked result;
  result.scan = walk_writes(
      reader,
      [&](std::uint64_t sequence, const Write& write, const std::shared_ptr<const RunList>& runs) {
        result.ids.push_back(write.var);
        result.sequences.push_back(sequence);
        result.pieces.push_back(runs);
        std::vector<int> got(static_cast<std::size_t>(write.bytes) / sizeof(int));
        reader.read(write, std::as_writable_bytes(std::span(got)));
        if (got != values_of(write.var, std::ssize(got))) ++result.wrong_data;
      },
      everything);
  return result;
}

inline Walked walk(const TestLog& log, int part = 0) { return walk(*log.reader(part)); }

}  // namespace forebay::staging
