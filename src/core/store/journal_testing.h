// Shared helpers for tests of journals: a journal in memory, and what a parser does with bytes that
// were changed.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
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

/// Returns whether `parse` throws an error of that code, with advice and with a text that contains
/// `words`.
inline ::testing::AssertionResult refuses(const std::function<void()>& parse,
                                          const std::string& words = {},
                                          Errc code = Errc::ebadlog) {
  try {
    parse();
  } catch (const Error& error) {
    if (error.code() != code || error.message().empty() || error.advice().empty())
      return ::testing::AssertionFailure() << to_int(error.code()) << ": " << error.what();
    if (std::string(error.what()).find(words) == std::string::npos)
      return ::testing::AssertionFailure() << error.what();
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "it was accepted";
}

/// Returns the code of the error that `act` throws, or Errc::ok.
inline Errc code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.code();
  }
  return Errc::ok;
}

/// Replaces the bytes from byte `at` on by those of `value`.
template <typename T>
void overwrite(std::span<std::byte> bytes, std::size_t at, T value) {
  ASSERT_LE(at + sizeof value, bytes.size());
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

}  // namespace forebay::journal
