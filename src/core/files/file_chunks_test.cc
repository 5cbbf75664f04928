// Reads files with chunked variables that Dataset wrote, unchanged and damaged.
#include "layout/chunked/file_chunks.h"

#include <random>
#include <set>
#include <thread>

#include "files/file_check.h"
#include "files/file_chunks_testing.h"
#include "method/part.h"

namespace forebay {
namespace file_chunks_test {

using FileChunksTest = ChunkedFileTest;

TEST_F(FileChunksTest, whole_variables_are_read_as_written) {
  const ClassicFile file(path_);
  ASSERT_NE(file.chunks(), nullptr);
  EXPECT_FALSE(file.chunks()->index().damage);
  EXPECT_EQ(file.shape(0), (std::vector<Count>{records, ny, nx}));
  for (const VarId var : {0, 1, 2, 3}) EXPECT_TRUE(agrees(file, var, whole(var)));
}

TEST_F(FileChunksTest, random_parts_are_read_as_written) {
  const ClassicFile file(path_);
  std::mt19937 random(3);
  const auto pick = [&](Count low, Count high) {
    return std::uniform_int_distribution<Count>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const auto var = static_cast<VarId>(pick(0, 3));
    Subarray part;
    for (const Count length : lengths(var)) {
      const Count start = pick(0, length - 1), stride = pick(0, 1) == 0 ? 1 : pick(1, 7);
      part.start.push_back(start);
      part.stride.push_back(stride);
      part.count.push_back(pick(1, (length - 1 - start) / stride + 1));
    }
    ASSERT_TRUE(agrees(file, var, part)) << "round " << round;
  }
}

TEST_F(FileChunksTest, types_are_converted_and_values_that_do_not_fit_are_told) {
  const ClassicFile file(path_);
  std::vector<float> floats(16 * nx);
  EXPECT_FALSE(file.read(1, {{0, 0}, {16, nx}, {}}, Type::float32, floats.data()));
  EXPECT_EQ(floats[300], static_cast<float>(value_of(1, 300)));
  std::vector<std::uint8_t> small(static_cast<std::size_t>(ny * nx));
  EXPECT_TRUE(file.read(1, whole(1), Type::uint8, small.data()));
  EXPECT_TRUE(file.read(1, {{20, 0}, {1, 1}, {}}, Type::uint8, small.data())) << "fill of -1";
  double one = 0;
  EXPECT_EQ(fault([&] { file.read(0, {{0, 0, 0}, {1, 1, 1}, {}}, Type::chr, &one); }), Errc::echar);
  EXPECT_EQ(fault([&] {
              file.read(0, {{records, 0, 0}, {1, 1, 1}, {}}, Type::float64, &one);
            }),
            Errc::einvalcoords);
}

// CDF-2 has no unsigned bytes, so bytes may be read as signed or unsigned.
TEST_F(FileChunksTest, bytes_are_unsigned_to_who_asks_for_them_so) {
  auto ds = Dataset::create(Comm(), path_, 2, false, {});
  const VarId var = ds->def_var("b", Type::byte, std::array{ds->def_dim("x", 4)});
  ds->set_chunk(var, std::array<Count, 1>{2});
  ds->enddef();
  ds->close();
  std::array<std::uint8_t, 4> values{};
  EXPECT_FALSE(ClassicFile(path_).read(var, {{0}, {4}, {}}, Type::uint8, values.data()));
  EXPECT_EQ(values, (std::array<std::uint8_t, 4>{129, 129, 129, 129})) << "the fill value, -127";
}

TEST_F(FileChunksTest, chunks_are_found_where_a_grown_header_has_moved_them) {
  auto ds = Dataset::open(Comm(), path_, true, {});
  ds->redef();
  ds->put_attribute(global_id, {"history", Type::chr, 100'000, std::vector<std::byte>(100'000)});
  ds->enddef();
  ds->close();
  const ClassicFile file(path_);
  const Offset shift = file.chunks()->shift();
  ASSERT_GT(shift, 90'000);
  for (const VarId var : {0, 1, 2, 3}) EXPECT_TRUE(agrees(file, var, whole(var)));
  EXPECT_EQ(check_file(path_, {}).status, CheckStatus::good);
  // The check before memory is allocated uses the shift too.
  const chunked::Entry entry = file.chunks()->table(0).get(0);
  const ReadInto read = [&](Offset offset, std::span<std::byte> into) {
    file.read_raw(offset, into);
  };
  std::vector<float> values(2 * 15 * nx);
  for (const Count missing : {0, 1}) {
    Schema schema = file.schema();
    auto index = load_chunk_index(read, file.chunks()->index().root, file.file_size(), schema,
                                  chunked::OpenState::newest);
    const FileChunks chunks(schema, std::move(index), entry.offset + entry.bytes + shift - missing,
                            read);
    EXPECT_EQ(fault([&] {
                chunks.read(0, {{0, 0, 0}, {2, 15, nx}, {}}, Type::float32, values.data(), 1);
              }),
              missing == 0 ? Errc::ok : Errc::enotnc);
  }
}

TEST_F(FileChunksTest, tells_what_is_stored) {
  const ClassicFile file(path_);
  const ChunkFacts t = file.chunks()->facts(0);
  EXPECT_EQ(t.shape, (std::vector<Count>{2, 15, 50}));
  EXPECT_EQ(t.grid, (std::vector<Count>{3, 2, 1}));
  EXPECT_EQ(t.chunks, 6);
  EXPECT_EQ(t.present, 6);
  EXPECT_EQ(t.raw, 0);
  EXPECT_EQ(t.raw_bytes, 6 * 2 * 15 * 50 * 4);
  EXPECT_LT(t.stored_bytes, t.raw_bytes);
  EXPECT_EQ(t.codec, "shuffle,zstd:3");
  EXPECT_EQ(t.reason, "set by the program");
  Count stored = 0;
  std::set<std::vector<Count>> places;
  file.chunks()->each_stored(0, [&](const ChunkPlace& one) {
    stored += one.bytes;
    places.emplace(one.at.begin(), one.at.end());
    EXPECT_TRUE(one.filtered);
    EXPECT_GT(one.place.value(), 0);
    EXPECT_LE(*one.place + one.bytes, file.file_size());
  });
  EXPECT_EQ(stored, t.stored_bytes);
  EXPECT_EQ(places.size(), 6u);
  EXPECT_EQ(*places.rbegin(), (std::vector<Count>{2, 1, 0}));
  EXPECT_EQ(fault([&] { file.chunks()->each_stored(2, {}); }), Errc::einval);
  const ChunkFacts p = file.chunks()->facts(1);
  EXPECT_EQ(p.grid, (std::vector<Count>{2, 4}));
  EXPECT_EQ(p.present, 4);
  const ChunkFacts n = file.chunks()->facts(3);
  EXPECT_EQ(n.present, n.chunks);
  EXPECT_FALSE(n.reason.empty());
  EXPECT_EQ(fault([&] { file.chunks()->facts(2); }), Errc::einval);
  const IndexFacts& index = file.chunks()->index();
  EXPECT_TRUE(index.synced);
  EXPECT_TRUE(index.certain);
  EXPECT_GE(index.generation, 2u);
  EXPECT_LE(index.end, file.file_size());
  EXPECT_GT(index.index_bytes, 0);
}

TEST_F(FileChunksTest, several_threads_read_at_once) {
  const ClassicFile file(path_);
  std::vector<int> right(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < right.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        const auto var = static_cast<VarId>((i + static_cast<std::size_t>(round)) % 4);
        right[i] += agrees(file, var, whole(var)) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(4, 20));
}

TEST_F(FileChunksTest, one_read_may_use_several_threads) {
  EXPECT_TRUE(shows_anchors(path_));
  const ClassicFile file(path_);
  for (const int threads : {2, 3, 100}) {
    for (VarId var = 0; var < 4; ++var) {
      const Subarray part = whole(var);
      std::vector<double> values(static_cast<std::size_t>(part.elements())), one(values);
      file.read(var, part, Type::float64, values.data(), threads);
      file.read(var, part, Type::float64, one.data());
      EXPECT_EQ(values, one);
      EXPECT_TRUE(agrees(file, var, part));
    }
    std::vector<std::uint8_t> small(static_cast<std::size_t>(ny * nx));
    EXPECT_TRUE(file.read(1, whole(1), Type::uint8, small.data(), threads)) << "out of range";
  }
}

TEST_F(FileChunksTest, a_damaged_chunk_is_an_error_on_any_thread) {
  const Offset at = ClassicFile(path_).chunks()->table(0).get(3).offset;
  bytes_[static_cast<std::size_t>(at + 9)] ^= 0x20;
  save(bytes_);
  const ClassicFile file(path_);
  std::vector<float> values(static_cast<std::size_t>(whole(0).elements()));
  EXPECT_EQ(fault([&] { file.read(0, whole(0), Type::float32, values.data(), 3); }), Errc::enotnc);
  EXPECT_NE(message_.find("chunk 3 of variable T"), std::string::npos) << message_;
}

TEST_F(FileChunksTest, a_damaged_chunk_harms_itself_only) {
  bytes_[place_of(0, 3) + 5] ^= 4;
  save(bytes_);
  const ClassicFile file(path_);
  EXPECT_EQ(fault([&] { file.read_doubles(0, whole(0)); }), Errc::enotnc);
  EXPECT_NE(message_.find(path_ + ": chunk 3 of variable T, which is T[2:4, 15:30, 0:50], is "
                                  "damaged: the checksum of its"),
            std::string::npos)
      << message_;
  EXPECT_TRUE(agrees(file, 0, {{0, 0, 0}, {2, ny, nx}, {}}));
  EXPECT_TRUE(agrees(file, 0, {{2, 0, 0}, {3, 15, nx}, {}}));
  for (const VarId var : {1, 2, 3}) EXPECT_TRUE(agrees(file, var, whole(var)));
}

TEST_F(FileChunksTest, a_damaged_index_leaves_header_and_other_variables) {
  const ClassicFile before(path_);
  for (const RootSlot& slot : before.chunks()->index().slots) {
    if (slot.state != RootSlot::State::valid) continue;
    if (slot.root.generation != before.chunks()->index().generation) continue;
    bytes_[static_cast<std::size_t>(slot.root.directory.offset) + 3] ^= 1;
  }
  save(bytes_);
  const ClassicFile file(path_);
  EXPECT_EQ(file.schema().vars.size(), 4u);
  EXPECT_TRUE(agrees(file, 2, whole(2)));
  ASSERT_TRUE(file.chunks()->index().damage);
  EXPECT_EQ(fault([&] { file.read_doubles(0, whole(0)); }), Errc::enotnc);
  EXPECT_NE(message_.find("variable T is chunked: chunk index damaged"), std::string::npos)
      << message_;
}

TEST_F(FileChunksTest, a_codec_that_is_not_known_is_named) {
  rename_everywhere("shuffle,zstd:3", "shuffle,zsty:3");
  const ClassicFile file(path_);
  EXPECT_EQ(fault([&] { file.read_doubles(0, whole(0)); }), Errc::enotsupport);
  EXPECT_NE(message_.find("variable T is encoded with \"shuffle,zsty:3\""), std::string::npos)
      << message_;
  // Where a wing is left out the codec may be one of those that divide chunks.
  EXPECT_EQ(file.chunks()->facts(0).present, absent_names().empty() ? 6 : 0);
  for (const VarId var : {1, 2, 3}) EXPECT_TRUE(agrees(file, var, whole(var)));
  EXPECT_EQ(check_file(path_, {}).status, CheckStatus::good) << "the file is not to blame";
}

TEST_F(FileChunksTest, a_header_that_contradicts_the_index_is_refused) {
  // With another length or codec, chunks might decode to other values without an error.
  bytes_.replace(bytes_.find("shuffle,zstd:3"), 14, "bitshuf,zstd:3");
  save(bytes_);
  const ClassicFile file(path_);
  EXPECT_EQ(fault([&] { file.read_doubles(0, whole(0)); }), Errc::enotnc);
  EXPECT_NE(message_.find("variable T: the header tells of another"), std::string::npos)
      << message_;
  for (const VarId var : {1, 2, 3}) EXPECT_TRUE(agrees(file, var, whole(var)));
  const FileCheck check = check_file(path_, {});
  EXPECT_EQ(check.status, CheckStatus::damaged);
  ASSERT_EQ(check.damages.size(), 1u);
  EXPECT_EQ(check.damages[0].place, Damage::Place::variable);
  EXPECT_FALSE(check.vars[0].readable);
}

TEST_F(FileChunksTest, a_file_cut_anywhere_gives_errors_or_right_values) {
  for (std::size_t size = bytes_.size(); size > 0; size -= std::min<std::size_t>(size, 499)) {
    save(bytes_.substr(0, size));
    try {
      const ClassicFile file(path_);
      for (const VarId var : {0, 1, 2, 3}) {
        const Errc code = fault([&] { EXPECT_TRUE(agrees(file, var, whole(var))); });
        EXPECT_TRUE(code == Errc::ok || code == Errc::enotnc || code == Errc::etrunc) << message_;
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::enotnc) << error.what();
    }
  }
}

TEST_F(FileChunksTest, check_finds_a_good_file_good) {
  CheckOptions options;
  options.decode = true;
  Count last = 0, all = 0;
  options.progress = [&](Count done, Count of) {
    EXPECT_GE(done, last);
    last = done;
    all = of;
  };
  const FileCheck check = check_file(path_, options);
  EXPECT_EQ(check.status, CheckStatus::good);
  EXPECT_TRUE(check.damages.empty());
  EXPECT_TRUE(check.notes.empty()) << check.notes[0];
  EXPECT_GE(check.chunks, 6 + 4 + 1);
  EXPECT_EQ(last, all);
  EXPECT_EQ(check.bytes, all);
}

TEST_F(FileChunksTest, check_lists_every_damaged_chunk) {
  bytes_[place_of(0, 1)] ^= 1;
  bytes_[place_of(0, 5) + 9] ^= 0x40;
  bytes_[place_of(1, 2) + 1] ^= 2;
  save(bytes_);
  const FileCheck check = check_file(path_, {});
  EXPECT_EQ(check.status, CheckStatus::damaged);
  ASSERT_EQ(check.damages.size(), 3u);
  EXPECT_EQ(check.damages[0].var, 0);
  EXPECT_EQ(check.damages[0].chunk, 1);
  EXPECT_EQ(check.damages[0].box->first, (std::vector<Count>{0, 15, 0}));
  EXPECT_EQ(check.damages[0].box->extent, (std::vector<Count>{2, 15, 50}));
  EXPECT_EQ(check.damages[1].chunk, 5);
  EXPECT_EQ(check.damages[2].var, 1);
  EXPECT_EQ(check.damages[2].chunk, 2);
  EXPECT_EQ(check.vars[0].damaged, 2);
  EXPECT_TRUE(check.vars[0].readable);
  EXPECT_TRUE(check.vars[2].problem.empty());
}

TEST_F(FileChunksTest, check_names_the_chunks_of_a_damaged_page_and_goes_on) {
  const ClassicFile before(path_);
  const auto& page = before.chunks()->table(0).pages()[0];
  bytes_[static_cast<std::size_t>(page->place.offset) + 40] ^= 1;
  bytes_[place_of(1, 2) + 1] ^= 2;
  save(bytes_);
  const FileCheck check = check_file(path_, {});
  EXPECT_EQ(check.status, CheckStatus::damaged);
  ASSERT_EQ(check.damages.size(), 2u);
  EXPECT_EQ(check.damages[0].place, Damage::Place::page);
  EXPECT_EQ(check.damages[0].var, 0);
  EXPECT_EQ(check.damages[0].chunk, 0);
  EXPECT_EQ(check.vars[0].damaged, 6);
  EXPECT_EQ(check.damages[1].place, Damage::Place::chunk);
  EXPECT_EQ(check.damages[1].chunk, 2);
  EXPECT_FALSE(check.vars[0].readable);
  EXPECT_TRUE(check.vars[2].readable);
}

TEST_F(FileChunksTest, check_tells_a_damaged_copy_of_a_root) {
  const ClassicFile before(path_);
  bytes_[static_cast<std::size_t>(before.chunks()->index().root) + 12] ^= 1;
  save(bytes_);
  const FileCheck check = check_file(path_, {});
  EXPECT_EQ(check.status, CheckStatus::damaged);
  ASSERT_EQ(check.damages.size(), 1u);
  EXPECT_EQ(check.damages[0].place, Damage::Place::root);
  const ClassicFile file(path_);
  for (const VarId var : {0, 1, 2, 3}) EXPECT_TRUE(agrees(file, var, whole(var)));
}

TEST_F(FileChunksTest, check_tells_what_cannot_be_read_at_all) {
  save("no netCDF file");
  const FileCheck check = check_file(path_, {});
  EXPECT_EQ(check.status, CheckStatus::unreadable);
  EXPECT_NE(check.error.find("this is no netCDF file"), std::string::npos);
  EXPECT_EQ(check_file("/nonexistent.nc", {}).status, CheckStatus::unreadable);
}

}  // namespace file_chunks_test
}  // namespace forebay
