// Writes BP4 and BP3 files, for check_bp.py, which knows what is to be in them. The ranks are
// threads, or processes where an MPI launcher started them.
//
//   write_bp DIR RANKS RANKS_PER_FILE FIRST LAST [append] [column] [async] [early] [bp3] [burst]
//
// Steps FIRST to LAST, from 0; burst: their logs are in DIR.logs, which is there.
//
// Prints "ended N" behind each step; where a step fails, "failed N", and goes on.
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/session.h"
#include "comm/thread_ranks.h"
#include "groups/process_group/step_writer.h"
#include "groups/records/group_staging.h"

namespace {

using namespace forebay;
using process_group::Measure;
using process_group::StepWriter;
using process_group::WriteOptions;

class Program {
 public:
  Program(const Comm& comm, StepWriter& file) : comm_(comm), file_(file) {}

  void step(int s) {
    s_ = s;
    lent_.clear();
    const Count r = comm_.rank(), n = comm_.size();
    if (n >= 3 && r == 1 && s == 1) return file_.end_step();  // an empty rank
    attributes();
    numbers<std::int8_t>("int8", bp::Type::int8);
    numbers<std::int16_t>("int16", bp::Type::int16);
    numbers<std::int32_t>("int32", bp::Type::int32);
    numbers<std::int64_t>("int64", bp::Type::int64);
    numbers<std::uint8_t>("uint8", bp::Type::uint8);
    numbers<std::uint16_t>("uint16", bp::Type::uint16);
    numbers<std::uint32_t>("uint32", bp::Type::uint32);
    numbers<std::uint64_t>("uint64", bp::Type::uint64);
    numbers<float>("float", bp::Type::float32);
    numbers<double>("double", bp::Type::float64);
    numbers<std::complex<float>>("complex64", bp::Type::complex64);
    numbers<std::complex<double>>("complex128", bp::Type::complex128);
    if (r == 0) put_text("text", "step " + std::to_string(s));
    const auto own = static_cast<std::int32_t>(10 * r + s);
    put({"own", bp::Type::int32}, {{bp::local_value}, {}, {}}, std::vector{own});

    // Two boxes of one variable, whose shape changes, lent until the step ends.
    const Count columns = 6 + s;
    for (const Count row : {r, n + r}) {
      lend({"boxes", bp::Type::float64}, {{2 * n, columns}, {row, 0}, {1, columns}},
           series<double>(row * columns, columns));
    }
    const Count whole = r > 0 || n == 1;  // a local array without elements leaves no block
    put({"local", bp::Type::int32}, {{}, {}, {whole * (r + 1), whole * 3}},
        series<std::int32_t>(r * 100, whole * (3 * r + 3)));
    const Count joined = r + s + 1;
    put({"joined", bp::Type::float32}, {{bp::joined, 3}, {}, {joined, 3}},
        series<float>(r * 1000, 3 * joined));
    if ((s + r) % 2 == 0) {
      put({"only/" + std::to_string(r), bp::Type::int16}, {{4}, {0}, {4}},
          series<std::int16_t>(r, 4));
    }
    const Count rows = r % 2 == 0 ? 1 : 0;
    put({"holes", bp::Type::float32}, {{n, 2}, {r, 0}, {rows, 2}},
        series<float>(50 + 2 * r, 2 * rows));
    constexpr double inf = std::numeric_limits<double>::infinity();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    put({"strange", bp::Type::float64}, {{4 * n}, {4 * r}, {4}},
        std::vector<double>{nan, inf, -5.0 - static_cast<double>(r), -inf});
    file_.end_step();
  }

 private:
  template <typename T>
  std::vector<T> series(Count from, Count n) const {
    std::vector<T> values;
    for (Count i = 0; i < n; ++i) values.push_back(value<T>(from + i));
    return values;
  }
  template <typename T>
  T value(Count i) const {
    const Count v = i + 7 * s_;
    if constexpr (std::is_arithmetic_v<T>)
      return static_cast<T>(v);
    else
      return T(static_cast<typename T::value_type>(v), static_cast<typename T::value_type>(-v));
  }

  template <typename T>
  void put(const bp::Variable& variable, const bp::Shape& at, const std::vector<T>& values) {
    const auto measure = comm_.rank() % 2 == 1 ? Measure::moments : Measure::bounds;
    file_.add(variable, at, std::as_bytes(std::span(values)), false, measure);
  }
  void put_text(const std::string& name, const std::string& text) {
    file_.add({name, bp::Type::string}, {}, std::as_bytes(std::span(text)), false);
  }
  void lend(const bp::Variable& variable, const bp::Shape& at, std::vector<double> values) {
    lent_.push_back(std::move(values));
    file_.add(variable, at, std::as_bytes(std::span(lent_.back())), true);
  }
  /// A scalar, which all ranks write where its type is signed, and an array in blocks of 4 rows.
  template <typename T>
  void numbers(const std::string& name, bp::Type type) {
    const Count r = comm_.rank();
    if (name[0] != 'u' || r == 0) put<T>({"scalar/" + name, type}, {}, {value<T>(3)});
    put<T>({"array/" + name, type}, {{4 * comm_.size(), 5}, {4 * r, 0}, {4, 5}},
           series<T>(20 * r, 20));
  }
  void attributes() {
    const auto text = [&](const char* name, std::vector<std::string> texts) {
      const auto type = texts.size() == 1 ? bp::Type::string : bp::Type::string_array;
      file_.add_attribute({name, type, {}, std::move(texts)});
    };
    const auto number = [&](const char* name, bp::Type type, auto values) {
      const auto bytes = std::as_bytes(std::span(values));
      file_.add_attribute({name, type, {bytes.begin(), bytes.end()}, {}});
    };
    text("array/double/units", {"kelvin"});
    text("names", {"one", "", "three"});
    number("version", bp::Type::int32, std::vector<std::int32_t>{4, 5, 6});
    number("pi", bp::Type::float64, std::vector<double>{3.25});
    if (comm_.rank() == comm_.size() - 1)
      number("last", bp::Type::int64, std::vector<std::int64_t>{comm_.size()});
    if (s_ == 2) number("late", bp::Type::uint8, std::vector<std::uint8_t>{200});
  }

  const Comm& comm_;
  StepWriter& file_;
  Count s_ = 0;
  std::vector<std::vector<double>> lent_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  const std::string path = argv[1];
  WriteOptions options;
  options.group = "check";
  options.ranks_per_file = std::atoi(argv[3]);
  bool append = false, burst = false;
  for (int i = 6; i < argc; ++i) {
    append |= std::strcmp(argv[i], "append") == 0;
    options.column_major |= std::strcmp(argv[i], "column") == 0;
    if (std::strcmp(argv[i], "async") == 0) options.async_memory = 4096;
    burst |= std::strcmp(argv[i], "burst") == 0;
    if (std::strcmp(argv[i], "early") == 0) options.step_memory = 512;
    options.one_file |= std::strcmp(argv[i], "bp3") == 0;
  }
  const auto work = [&](const Comm& comm) {
    Report report;
    const auto file = append ? StepWriter::append(comm, path, options, report)
                             : StepWriter::create(comm, path, options, report);
    std::optional<GroupStaging> staging;
    if (burst) {
      Method method;
      method.burst_directory = path + ".logs";
      method.burst_flush_size = 40'000;  // after some steps each
      staging.emplace(comm, path, method, report);
      file->use_log(staging->take_log());
    }
    Program program(comm, *file);
    for (int s = std::atoi(argv[4]); s <= std::atoi(argv[5]); ++s) {
      const auto failed = attempt_to([&] { program.step(s); });
      if (comm.is_root()) std::printf("%s %d\n", failed ? "failed" : "ended", s);
      std::fflush(stdout);
    }
    file->sync();
    file->close();
    if (staging) staging->end();
  };
  try {
    if (launched_by_mpi()) {
      const Session session;
      work(session.world());
    } else {
      run_as_threads(std::atoi(argv[2]), work);
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "write_bp: %s\n", error.what());
    return 1;
  }
  return 0;
}
