// Shared helpers for tests of the log: a log in memory, writes whose data identify them, and the
// result of a walk.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/memory_file_testing.h"
#include "burst/log/staging_log_reader.h"
#include "burst/log/writer.h"

namespace forebay::staging {

/// The two files of a log, which can be opened any number of times.
struct TestLog {
  std::shared_ptr<MemoryDisk> records = std::make_shared<MemoryDisk>();
  std::shared_ptr<MemoryDisk> data = std::make_shared<MemoryDisk>();

  std::unique_ptr<ByteFile> records_file() const {
    return std::make_unique<MemoryFile>("log.records", records);
  }
  std::unique_ptr<ByteFile> data_file() const {
    return std::make_unique<MemoryFile>("log.data", data);
  }
  std::unique_ptr<Writer> writer(const Share& share = {}, const State& state = {},
                                 std::uint64_t session = 4711) const {
    Header header{session, share.part, share.parts, share, "/data/out.nc"};
    return std::make_unique<Writer>(records_file(), data_file(), header, state);
  }
  std::unique_ptr<Reader> reader(int part = 0) const {
    return std::make_unique<Reader>(records_file(), data_file(), part);
  }
  /// Copies of the files as they are now.
  TestLog copy() const {
    TestLog other;
    *other.records = *records;
    *other.data = *data;
    return other;
  }
};

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
  result.scan = reader.walk(
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
