// A journal in memory, for tests.
#pragma once

#include <memory>

#include "base/memory_file_testing.h"
#include "store/journal_reader.h"
#include "store/journal_writer.h"

namespace forebay::journal {

/// The two files of a log, which can be opened any number of times.
template <typename Writer = journal::Writer>
struct TestJournal {
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
  TestJournal copy() const {
    TestJournal other;
    *other.records = *records;
    *other.data = *data;
    return other;
  }
};

}  // namespace forebay::journal
