// Ranks as threads against a plain in-memory array: all layouts, stages and transports that do
// without MPI-IO, with buffers so small that every loop goes many times. Under a thread sanitizer
// (preset tsan) it finds memory that ranks touch without having met.
//
// FOREBAY_TEST_SEED chooses what is drawn (default 1).
#include "comm/thread_ranks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "dataset/dataset.h"
#include "method/parts_testing.h"

namespace forebay {
namespace {

struct Case {
  const char* name;
  int ranks;
  std::vector<std::pair<std::string, std::string>> hints;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

constexpr const char* codecs = "shuffle,zstd:1";

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"direct_posix", 3, {{"transport", "posix"}}},
      {"shared", 4, {{"transport", "aggregated"}}},
      {"nodes", 4, {{"transport", "aggregated"}, {"ranks_per_node", "2"}}},
      {"messages", 3, {{"transport", "aggregated"}, {"exchange", "message"}}},
      {"chunked", 4, {{"layout", "chunked"}, {"codec", codecs}, {"chunk_read", "owners"}}},
      {"chunked_everyone", 3, {{"layout", "chunked"}, {"chunk_read", "everyone"}}},
      {"chunked_nodes",
       4,
       {{"layout", "chunked"},
        {"codec", codecs},
        {"codec_threads", "2"},
        {"ranks_per_node", "2"},
        {"chunk_read", "owners"}}},
      {"chunked_messages", 3, {{"layout", "chunked"}, {"exchange", "message"}}},
      {"chunked_uncached", 7, {{"layout", "chunked"}, {"codec", codecs}, {"chunk_cache", "0"}}},
      {"burst", 3, {{"stage", "burst"}}},
      {"burst_shared_logs",
       4,
       {{"stage", "burst"}, {"nc_burst_buf_shared_logs", "enable"}, {"ranks_per_node", "2"}}},
      {"burst_background", 3, {{"stage", "burst"}, {"burst_flush_size", "2000"}}},
      {"burst_chunked", 3, {{"stage", "burst"}, {"layout", "chunked"}, {"codec", codecs}}},
  };
  if (!is_built("stage=burst"))
    std::erase_if(all, [](const Case& c) { return c.hints[0].second == "burst"; });
  return all;
}

/// One variable as it should be; all ranks have the same.
struct Model {
  VarId id = 0;
  bool record = false;
  std::vector<Count> shape;  // records first
  std::vector<float> values;

  std::size_t place(Count a, Count b) const { return static_cast<std::size_t>(a * shape[1] + b); }
};

/// One rank's view of the script. Everything is drawn from generators that are equal on all ranks.
class Player {
 public:
  Player(const Comm& comm, const Case& chosen, const std::string& path, unsigned seed)
      : comm_(comm), path_(path), random_(seed) {
    hints_ = {{"buffer_limit", "4k"}, {"window_size", "4k"}, {"chunk_bytes", "256"}};
    hints_["nc_burst_buf_dirname"] = std::filesystem::path(path).parent_path().string();
    for (const auto& [key, value] : chosen.hints) hints_[key] = value;
  }

  void play() {
    ds_ = Dataset::create(comm_, path_, 5, false, hints_);
    define("x", false, 90, 70);
    define("y", true, 6, 1100);
    define("z", false, 1, 9000);
    ds_->enddef();
    for (Model& m : models_) write(m, true);  // nothing stays undefined
    ds_->flush();
    for (int step = 0; step < 8; ++step) {
      // Of what is staged only a flush orders writes of several ranks to the same element, so no
      // variable is written twice between two.
      const std::size_t first = draw(3), number = 1 + draw(3);
      for (std::size_t n = 0; n < number; ++n) write(models_[(first + n) % 3], false);
      ds_->flush();
      read(models_[draw(3)]);
    }
    independent();
    ds_->close();
    ds_ = Dataset::open(comm_, path_, false, hints_);
    for (const Model& m : models_) read(m);
    ds_->close();
  }

 private:
  std::size_t draw(std::size_t below) { return random_() % below; }

  void define(const std::string& name, bool record, Count a, Count b) {
    const DimId first = ds_->def_dim(name + "_a", record ? 0 : a);
    const DimId second = ds_->def_dim(name + "_b", b);
    Model m{0, record, {a, b}, std::vector<float>(static_cast<std::size_t>(a * b), -1)};
    m.id = ds_->def_var(name, Type::float32, std::array{first, second});
    models_.push_back(m);
  }

  Request access(const Model& m, const Subarray& part, std::vector<float>& values, bool write) {
    Request a;
    a.var = m.id;
    a.write = write;
    a.elements = part.elements();
    values.resize(static_cast<std::size_t>(a.elements), -2);
    if (m.record) a.last_record = part.start[0] + part.count[0];
    a.selection = part;
    a.memory.data = reinterpret_cast<std::byte*>(values.data());
    a.memory.type = Type::float32;
    return a;
  }

  /// Rows [a, a + na) and columns [b, b + nb), columns cut into one strip a rank, or dealt to ranks
  /// in turn; one rank may have none.
  void write(Model& m, bool all) {
    const Count a = all ? 0 : static_cast<Count>(draw(static_cast<std::size_t>(m.shape[0])));
    const Count b = all ? 0 : static_cast<Count>(draw(static_cast<std::size_t>(m.shape[1])));
    const Count na =
        all ? m.shape[0] : 1 + static_cast<Count>(draw(static_cast<std::size_t>(m.shape[0] - a)));
    const Count nb =
        all ? m.shape[1] : 1 + static_cast<Count>(draw(static_cast<std::size_t>(m.shape[1] - b)));
    const bool dealt = draw(2) == 0;
    const Rank idle =
        all ? -1 : static_cast<Rank>(draw(static_cast<std::size_t>(comm_.size() + 1)));
    const auto base = static_cast<float>(++writes_ * 1000000);
    std::vector<Request> mine;
    std::vector<float> values;
    const Count ranks = comm_.size();
    for (Rank r = 0; r < ranks; ++r) {
      if (r == idle) continue;
      Subarray part{{a, b + (dealt ? r : nb * r / ranks)}, {na, 0}, {1, dealt ? ranks : 1}};
      part.count[1] = dealt ? (nb - r + ranks - 1) / ranks : nb * (r + 1) / ranks - nb * r / ranks;
      if (part.count[1] <= 0) continue;
      std::vector<float> written;
      for (Count i = 0; i < na; ++i) {
        for (Count j = 0; j < part.count[1]; ++j) {
          const std::size_t at = m.place(a + i, part.start[1] + j * part.stride[1]);
          m.values[at] = base + static_cast<float>(at);
          written.push_back(m.values[at]);
        }
      }
      if (r != comm_.rank()) continue;
      values = std::move(written);
      mine.push_back(access(m, part, values, true));
    }
    ds_->execute(mine, true);
  }

  /// A box of each rank's own, or a strip of columns each: then hardly a chunk is shared, and in
  /// most rounds nobody meets anybody.
  void read(const Model& m) {
    const bool strips = draw(2) == 0;
    std::mt19937 own(static_cast<unsigned>(random_() + static_cast<unsigned>(comm_.rank())));
    Subarray part{{0, 0}, {m.shape[0], m.shape[1]}, {}};
    if (strips) {
      part.start[1] = m.shape[1] * comm_.rank() / comm_.size();
      part.count[1] = m.shape[1] * (comm_.rank() + 1) / comm_.size() - part.start[1];
    } else if (own() % 4 != 0) {
      for (std::size_t d = 0; d < 2; ++d) {
        part.start[d] = static_cast<Count>(own() % static_cast<unsigned>(m.shape[d]));
        part.count[d] =
            1 + static_cast<Count>(own() % static_cast<unsigned>(m.shape[d] - part.start[d]));
      }
    }
    std::vector<float> got;
    std::vector<Request> mine(1);
    mine[0] = access(m, part, got, false);
    ds_->execute(mine, true);
    check(m, part, got);
  }

  /// Each rank its own rows, alone, read back by itself and, once the file is collective again, by
  /// others.
  void independent() {
    Model& m = models_[0];
    ds_->begin_independent();
    for (Rank r = 0; r < comm_.size(); ++r) {
      for (int n = 0; n < 6; ++n) {
        const Count row = (6 * r + n) % m.shape[0];
        Subarray part{{row, 0}, {1, m.shape[1]}, {}};
        std::vector<float> values;
        for (Count j = 0; j < m.shape[1]; ++j) {
          values.push_back(static_cast<float>(1000 * row + j));
          m.values[m.place(row, j)] = values.back();
        }
        if (r != comm_.rank()) continue;
        std::vector<Request> one(1);
        one[0] = access(m, part, values, true);
        ds_->execute(one, false);
        std::vector<float> got;
        std::vector<Request> again(1);
        again[0] = access(m, part, got, false);
        ds_->execute(again, false);
        check(m, part, got);
      }
    }
    ds_->end_independent();
    ds_->sync();
    read(m);
  }

  void check(const Model& m, const Subarray& part, const std::vector<float>& got) {
    std::size_t k = 0, wrong = 0;
    for (Count i = 0; i < part.count[0]; ++i) {
      for (Count j = 0; j < part.count[1]; ++j, ++k)
        wrong += got[k] != m.values[m.place(part.start[0] + i, part.start[1] + j)];
    }
    EXPECT_EQ(wrong, 0u) << "of variable " << m.id << " on rank " << comm_.rank();
  }

  const Comm& comm_;
  std::string path_;
  HintMap hints_;
  std::mt19937 random_;
  std::unique_ptr<Dataset> ds_;
  std::vector<Model> models_;
  int writes_ = 0;
};

class ThreadRanks : public ::testing::TestWithParam<Case> {};

TEST_P(ThreadRanks, find_what_they_wrote) {
  const Case& chosen = GetParam();
  const char* given = std::getenv("FOREBAY_TEST_SEED");
  const unsigned seed = given ? static_cast<unsigned>(std::atoi(given)) : 1;
  const auto folder = std::filesystem::canonical(::testing::TempDir()) /
                      ("forebay_threads_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  run_as_threads(chosen.ranks, [&](const Comm& comm) {
    Player(comm, chosen, folder / (std::string(chosen.name) + ".nc"), seed).play();
  });
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(All, ThreadRanks, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace forebay
