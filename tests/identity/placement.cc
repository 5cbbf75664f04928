// Placement against the peer: random definitions and redefinitions go through Debian's PnetCDF;
// after each enddef the header that it wrote is parsed, printed and placed by our rules, and all
// must agree.
//
//   placement [number of seeds] [first seed]        one rank; needs libpnetcdf, no part of our C
//   interface
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "format/classic_header.h"
#include "plan/classic_placement.h"

namespace {

using forebay::Alignment;
using forebay::Count;
using forebay::Schema;
namespace classic = forebay::classic;

constexpr const char* hint_names[] = {"nc_header_align_size", "nc_var_align_size",
                                      "nc_record_align_size", "striping_unit"};
constexpr Count alignments[] = {0,  1,   2,   3,   4,   5,   6,    8,    12,
                                16, 100, 128, 510, 512, 513, 1000, 1024, 4096};

void check(int code, const char* call) {
  if (code == NC_NOERR) return;
  std::fprintf(stderr, "%s: %s\n", call, ncmpi_strerror(code));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

std::vector<std::byte> contents(const std::string& path) {
  std::vector<std::byte> bytes(std::filesystem::file_size(path));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), std::ssize(bytes));
  return bytes;
}

// One random file, from creation over redefinitions and reopening to its end.
class Run {
 public:
  Run(std::string path, unsigned long seed) : path_(std::move(path)), seed_(seed), random_(seed) {}

  // True when everything agreed.
  bool play() {
    constexpr int modes[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA};
    const auto format = below(3);
    version_ = format == 2 ? 5 : static_cast<int>(format) + 1;
    MPI_Info hints = choose_hints();
    CHECK(ncmpi_create(MPI_COMM_WORLD, path_.c_str(), NC_CLOBBER | modes[format], hints, &file_));
    MPI_Info_free(&hints);
    const Count rounds = 1 + below(5);
    for (Count round = 0; round < rounds && agrees_; ++round) {
      if (round > 0) CHECK(ncmpi_redef(file_));
      define();
      end_definitions();
      if (agrees_ && below(2) != 0) write_records();
      if (agrees_ && below(3) == 0) reopen();
    }
    CHECK(ncmpi_close(file_));
    return agrees_;
  }

 private:
  Count below(Count n) { return static_cast<Count>(random_() % static_cast<unsigned long>(n)); }
  Count some_alignment() { return alignments[below(std::size(alignments))]; }

  void expect(const char* what, long ours, long peers) {
    if (ours == peers) return;
    agrees_ = false;
    std::fprintf(stderr, "seed %lu, enddef %d: %s is %ld, the peer's is %ld\n", seed_, enddefs_,
                 what, ours, peers);
  }

  MPI_Info choose_hints() {
    MPI_Info info;
    MPI_Info_create(&info);
    alignment_ = {};
    Count* values[] = {&alignment_.header_align, &alignment_.var_align, &alignment_.record_align,
                       &alignment_.striping_unit};
    for (std::size_t i = 0; i < std::size(values); ++i) {
      if (below(3) != 0) continue;
      *values[i] = i == 3 ? Count{64} << (2 * below(6)) : some_alignment();
      MPI_Info_set(info, hint_names[i], std::to_string(*values[i]).c_str());
    }
    return info;
  }

  std::string name(char kind, int number) {
    return kind + std::to_string(number) + std::string(static_cast<std::size_t>(below(6)), 'x');
  }

  void define() {
    for (Count i = below(3); i > 0; --i) {
      const bool record = record_dim_ < 0 && below(2) != 0;
      const Count length = record ? NC_UNLIMITED : 1 + below(below(4) != 0 ? 9 : 900);
      int id = 0;
      CHECK(ncmpi_def_dim(file_, name('d', dims_).c_str(), length, &id));
      if (record) record_dim_ = id;
      ++dims_;
    }
    for (Count i = below(5); i > 0; --i) define_variable();
    for (Count i = below(3); i > 0; --i) {
      const std::string text(static_cast<std::size_t>(below(below(3) != 0 ? 20 : 2000)), 't');
      CHECK(ncmpi_put_att_text(file_, NC_GLOBAL, name('a', attributes_++).c_str(),
                               static_cast<MPI_Offset>(text.size()), text.c_str()));
    }
  }

  void define_variable() {
    std::vector<int> dimids;
    if (record_dim_ >= 0 && below(2) != 0) dimids.push_back(record_dim_);
    for (Count more = dims_ == 0 ? 0 : below(3); more > 0; --more) {
      const int id = static_cast<int>(below(dims_));
      if (id != record_dim_) dimids.push_back(id);
    }
    const auto type = static_cast<nc_type>(1 + below(version_ == 5 ? 11 : 6));
    int id = 0;
    CHECK(ncmpi_def_var(file_, name('v', vars_++).c_str(), type, static_cast<int>(dimids.size()),
                        dimids.data(), &id));
    const std::vector<int> values(static_cast<std::size_t>(1 + below(40)), 7);
    if (below(4) == 0)
      CHECK(ncmpi_put_att_int(file_, id, "a", NC_INT, std::ssize(values), values.data()));
  }

  void end_definitions() {
    ++enddefs_;
    Alignment asked = alignment_;
    if (below(2) != 0) {
      asked.h_minfree = below(2) * below(700);
      asked.v_align = some_alignment();
      asked.v_minfree = below(2) * below(3000);
      asked.r_align = some_alignment();
      CHECK(ncmpi__enddef(file_, asked.h_minfree, asked.v_align, asked.v_minfree, asked.r_align));
    } else {
      CHECK(ncmpi_enddef(file_));
    }
    CHECK(ncmpi_sync(file_));
    compare(asked);
  }

  void compare(const Alignment& asked) {
    const auto bytes = contents(path_);
    const auto peers = classic::parse(bytes, std::ssize(bytes));
    const auto printed = classic::print(*peers);
    expect("a printed header's equality", 1,
           std::equal(printed.begin(), printed.end(), bytes.begin()));

    Schema ours = *peers;
    for (forebay::Variable& var : ours.vars) var.begin = 0;
    const Alignment settled = forebay::settle(asked, ours);
    forebay::place_variables(ours, schema_ ? &*schema_ : nullptr, settled,
                             classic::header_size(ours));
    for (std::size_t i = 0; i < ours.vars.size(); ++i)
      expect("begin", ours.vars[i].begin, peers->vars[i].begin);
    compare_inquiries(ours);
    compare_hints(settled);

    alignment_ = settled;
    alignment_.h_minfree = alignment_.v_align = alignment_.v_minfree = alignment_.r_align = 0;
    schema_ = std::move(ours);
  }

  void compare_inquiries(const Schema& ours) {
    MPI_Offset value = 0;
    CHECK(ncmpi_inq_header_size(file_, &value));
    expect("header size", ours.header_size, value);
    CHECK(ncmpi_inq_header_extent(file_, &value));
    // Of a file without variables that was opened, the peer says 0.
    if (!ours.vars.empty() || value != 0) expect("header extent", ours.header_extent, value);
    CHECK(ncmpi_inq_recsize(file_, &value));
    expect("record size", ours.recsize, value);
  }

  void compare_hints(const Alignment& settled) {
    MPI_Info info;
    CHECK(ncmpi_inq_file_info(file_, &info));
    const Count values[] = {settled.header_align, settled.var_align, settled.record_align};
    for (std::size_t i = 0; i < std::size(values); ++i) {
      char text[MPI_MAX_INFO_VAL] = "";
      int found = 0;
      MPI_Info_get(info, hint_names[i], sizeof text - 1, text, &found);
      expect(hint_names[i], values[i], found != 0 ? std::atol(text) : -1);
    }
    MPI_Info_free(&info);
  }

  void write_records() {
    for (int id = 0; id < vars_; ++id) {
      const forebay::Variable& var = schema_->vars[static_cast<std::size_t>(id)];
      if (!var.is_record || below(3) != 0) continue;
      std::vector<MPI_Offset> start(var.dimids.size(), 0);
      const std::vector<MPI_Offset> count(var.dimids.size(), 1);
      start[0] = below(5);
      const double value = 0;
      if (var.type == forebay::Type::chr) {
        CHECK(ncmpi_put_vara_text_all(file_, id, start.data(), count.data(), "c"));
      } else {
        CHECK(ncmpi_put_vara_double_all(file_, id, start.data(), count.data(), &value));
      }
    }
    CHECK(ncmpi_sync_numrecs(file_));
    MPI_Offset records = 0;
    if (record_dim_ >= 0) CHECK(ncmpi_inq_dimlen(file_, record_dim_, &records));
    schema_->numrecs = records;
  }

  void reopen() {
    CHECK(ncmpi_close(file_));
    const auto bytes = contents(path_);
    schema_ = classic::parse(bytes, std::ssize(bytes));
    MPI_Info hints = choose_hints();
    CHECK(ncmpi_open(MPI_COMM_WORLD, path_.c_str(), NC_WRITE, hints, &file_));
    MPI_Info_free(&hints);
    compare_inquiries(*schema_);
  }

  std::string path_;
  unsigned long seed_;
  std::mt19937_64 random_;
  int file_ = -1;
  int version_ = 1;
  int dims_ = 0, vars_ = 0, attributes_ = 0, record_dim_ = -1, enddefs_ = 0;
  Alignment alignment_;           // hints, then what was settled
  std::optional<Schema> schema_;  // placed by our rules at the last enddef
  bool agrees_ = true;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const unsigned long seeds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 300;
  const unsigned long first = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  const char* scratch = std::getenv("FOREBAY_TEST_DIR");
  const std::string path = std::string(scratch != nullptr ? scratch : ".") + "/placement.nc";
  unsigned long failures = 0;
  try {
    for (unsigned long seed = first; seed < first + seeds; ++seed)
      failures += Run(path, seed).play() ? 0 : 1;
  } catch (const forebay::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ++failures;
  }
  std::filesystem::remove(path);
  std::printf("%lu files, %lu of them placed differently from the peer\n", seeds, failures);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
