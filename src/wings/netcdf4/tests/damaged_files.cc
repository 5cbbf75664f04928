// Opens damaged netCDF-4 files, each in a process of its own, and counts what comes of it.
//
// Usage: damaged_files FOLDER ROUNDS SEED [FILE ...]
//
// Files are those named, and some that this program writes to FOLDER. Those with `hostile` in their
// names are whole, but may be refused; no other may. Each round damages one of
// them: bytes change, words become huge, the file is cut. Checksums are made right again, as
// somebody would who means harm. Then a child of this process opens the file, looks at all
// variables, reads them and closes the file. It has a second, and little memory. It must end with
// values or an error that names the file. A child that is killed by a signal, or does not end, is a
// failure: its file stays as FOLDER/bad.N.nc. Exits with 1 if there was any.
#include <execinfo.h>
#include <forebay.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/cases.h"

namespace {

using Bytes = std::string;
using Random = std::mt19937_64;

constexpr rlim_t memory = rlim_t{1} << 30;  // more than the process has at its start
constexpr unsigned seconds = 90;            // the reader of structures has 20 seconds of its own
constexpr MPI_Offset most_elements = 1 << 20;

Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// -- files of Forebay's own

void must(int code, const char* what) {
  if (code == NC_NOERR) return;
  std::fprintf(stderr, "%s: %s (%s)\n", what, ncmpi_strerror(code), forebay_error_message());
  std::exit(2);
}

void write_own(const std::string& path, const char* codec, int mode) {
  int id = -1, dims[2] = {}, vars[3] = {};
  must(ncmpi_create(MPI_COMM_SELF, path.c_str(), NC_CLOBBER | mode, MPI_INFO_NULL, &id), "create");
  must(ncmpi_def_dim(id, "time", NC_UNLIMITED, &dims[0]), "def_dim");
  must(ncmpi_def_dim(id, "x", 12, &dims[1]), "def_dim");
  must(ncmpi_def_var(id, "x", NC_DOUBLE, 1, dims + 1, &vars[0]), "def_var");
  must(ncmpi_def_var(id, "series", NC_INT, 2, dims, &vars[1]), "def_var");
  must(ncmpi_def_var(id, "letters", NC_CHAR, 1, dims + 1, &vars[2]), "def_var");
  const MPI_Offset shape[] = {2, 5};
  must(ncmpi_var_set_chunk(id, vars[1], shape), "set_chunk");
  must(ncmpi_var_set_filter(id, vars[1], codec), "set_filter");
  must(ncmpi_put_att_text(id, NC_GLOBAL, "title", 5, "title"), "put_att");
  const double range[] = {0, 1};
  must(ncmpi_put_att_double(id, vars[0], "valid_range", NC_DOUBLE, 2, range), "put_att");
  must(ncmpi_enddef(id), "enddef");
  std::vector<int> values(12);
  for (int t = 0; t < 5; ++t) {
    const MPI_Offset start[] = {t, 0}, count[] = {1, 12};
    for (int i = 0; i < 12; ++i) values[static_cast<std::size_t>(i)] = t * 100 + i;
    must(ncmpi_put_vara_int_all(id, vars[1], start, count, values.data()), "put");
  }
  must(ncmpi_put_var_int_all(id, vars[0], values.data()), "put");
  must(ncmpi_put_var_text_all(id, vars[2], "twelve chars"), "put");
  must(ncmpi_close(id), "close");
}

// -- damage

std::uint32_t rotated(std::uint32_t x, int k) { return x << k | x >> (32 - k); }

/// Jenkins' lookup3, by which HDF5 checks its metadata.
std::uint32_t lookup3(const Bytes& all, std::size_t begin, std::size_t size) {
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(size), b = a, c = a;
  const auto byte = [&](std::size_t i) {
    return i < size ? std::uint32_t{static_cast<unsigned char>(all[begin + i])} : 0U;
  };
  const auto word = [&](std::size_t i) {
    return byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24;
  };
  if (size == 0) return c;
  std::size_t at = 0;
  for (; size - at > 12; at += 12) {
    a += word(at), b += word(at + 4), c += word(at + 8);
    a -= c, a ^= rotated(c, 4), c += b;
    b -= a, b ^= rotated(a, 6), a += c;
    c -= b, c ^= rotated(b, 8), b += a;
    a -= c, a ^= rotated(c, 16), c += b;
    b -= a, b ^= rotated(a, 19), a += c;
    c -= b, c ^= rotated(b, 4), b += a;
  }
  a += word(at), b += word(at + 4), c += word(at + 8);
  c ^= b, c -= rotated(b, 14);
  a ^= c, a -= rotated(c, 11);
  b ^= a, b -= rotated(a, 25);
  c ^= b, c -= rotated(b, 16);
  a ^= c, a -= rotated(c, 4);
  b ^= a, b -= rotated(a, 14);
  c ^= b, c -= rotated(b, 24);
  return c;
}

void put_number(Bytes& all, std::size_t at, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size && at + i < all.size(); ++i)
    all[at + i] = static_cast<char>(value >> (8 * i));
}

std::uint64_t number(const Bytes& all, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size && at + i < all.size(); ++i)
    value |= std::uint64_t{static_cast<unsigned char>(all[at + i])} << (8 * i);
  return value;
}

void seal(Bytes& all, std::size_t begin, std::size_t size) {
  if (begin + size + 4 <= all.size()) put_number(all, begin + size, lookup3(all, begin, size), 4);
}

/// Makes checksums right of the superblock, and of object headers' first chunks.
void seal_all(Bytes& all) {
  if (all.size() > 48 && (all[8] == 2 || all[8] == 3)) seal(all, 0, 44);
  for (auto at = all.find("OHDR"); at != Bytes::npos; at = all.find("OHDR", at + 1)) {
    if (at + 6 > all.size()) return;
    const auto flags = static_cast<unsigned char>(all[at + 5]);
    const std::size_t times = flags & 0x20 ? 16 : 0, limits = flags & 0x10 ? 4 : 0,
                      width = std::size_t{1} << (flags & 3);
    const std::size_t head = 6 + times + limits;
    const std::uint64_t size = number(all, at + head, width);
    if (size < all.size()) seal(all, at, head + width + static_cast<std::size_t>(size));
  }
}

Bytes damaged(Bytes all, Random& random) {
  const auto draw = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  if (draw(20) == 0) {
    all.resize(draw(all.size()));
    return all;
  }
  static constexpr std::array<std::uint64_t, 8> words{0,
                                                      1,
                                                      ~std::uint64_t{0},
                                                      ~std::uint64_t{1},
                                                      std::uint64_t{1} << 63,
                                                      0x7fffffffffffffff,
                                                      0xffffffff,
                                                      0x80000000};
  for (std::size_t n = 1 + draw(3); n > 0; --n) {
    const std::size_t at = draw(all.size());
    switch (draw(5)) {
      case 0:
        all[at] = static_cast<char>(all[at] ^ 1 << draw(8));
        break;
      case 1:
        all[at] = static_cast<char>(draw(256));
        break;
      case 2:
        all[at] = static_cast<char>(all[at] + (draw(2) ? 1 : -1));
        break;
      case 3:
        put_number(all, at, words[draw(words.size())], std::size_t{1} << draw(4));
        break;
      default:  // an address or length that points to another place of the file
        put_number(all, at, draw(all.size()), draw(2) ? 8 : 4);
    }
  }
  seal_all(all);
  return all;
}

// -- what a child does

constexpr int fine = 0, refused = 3, nameless = 4;

int look_at(const char* path) {
  int id = -1;
  if (ncmpi_open(MPI_COMM_SELF, path, NC_NOWRITE, MPI_INFO_NULL, &id) != NC_NOERR) {
    const std::string said = forebay_error_message();
    const bool names = said.find(path) != std::string::npos || said.find("memory") != Bytes::npos;
    if (!names) std::fprintf(stderr, "%s\n", said.c_str());
    return names ? refused : nameless;
  }
  int nvars = 0, any = fine;
  ncmpi_inq_nvars(id, &nvars);
  for (int v = 0; v < nvars; ++v) {
    int ndims = 0;
    if (ncmpi_inq_varndims(id, v, &ndims) != NC_NOERR) continue;
    std::vector<int> dims(static_cast<std::size_t>(ndims));
    std::vector<MPI_Offset> start(dims.size(), 0), count(dims.size(), 1);
    ncmpi_inq_vardimid(id, v, dims.data());
    MPI_Offset elements = 1;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      MPI_Offset length = 0;
      ncmpi_inq_dimlen(id, dims[d], &length);
      count[d] = std::min<MPI_Offset>(length, std::max<MPI_Offset>(most_elements / elements, 1));
      elements *= count[d];
    }
    nc_type type = NC_NAT;
    ncmpi_inq_vartype(id, v, &type);
    std::vector<double> values(static_cast<std::size_t>(elements));
    std::string text(static_cast<std::size_t>(elements), ' ');
    const int code =
        type == NC_CHAR
            ? ncmpi_get_vara_text_all(id, v, start.data(), count.data(), text.data())
            : ncmpi_get_vara_double_all(id, v, start.data(), count.data(), values.data());
    if (code != NC_NOERR) any = refused;
  }
  ncmpi_close(id);
  return any;
}

// Says where a child ends.
void tell_where(int signal) {
  void* frames[40];
  ::backtrace_symbols_fd(frames, ::backtrace(frames, 40), STDERR_FILENO);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

void limit_child() {
  const rlimit most{memory, memory};
  ::setrlimit(RLIMIT_AS, &most);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::alarm(seconds);
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGALRM, SIGILL})
    std::signal(signal, tell_where);
}

int status_of(const char* path) {
  const pid_t child = ::fork();
  if (child == 0) {
    limit_child();
    int code = 0;
    try {
      code = look_at(path);
    } catch (const std::bad_alloc&) {  // of this program's own
      code = refused;
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  MPI_Init(&argc, &argv);
  const std::string folder = argv[1];
  const long rounds = forebay_test::few_of(std::atol(argv[2]));
  Random random(std::strtoull(argv[3], nullptr, 10));
  std::vector<std::string> seeds(argv + 4, argv + argc);
  for (const auto& [codec, mode] : std::map<const char*, int>{
           {"none", NC_NETCDF4 | NC_CLASSIC_MODEL}, {"shuffle,deflate:1,fletcher32", NC_NETCDF4}}) {
    seeds.push_back(folder + "/own" + std::to_string(seeds.size()) + ".nc");
    write_own(seeds.back(), codec, mode);
  }
  std::vector<Bytes> good;
  for (const std::string& seed : seeds) {
    good.push_back(read_file(seed));
    const int status = status_of(seed.c_str());
    const bool ended = WIFEXITED(status), hostile = seed.find("hostile") != std::string::npos;
    const bool well = WEXITSTATUS(status) == fine || (hostile && WEXITSTATUS(status) == refused);
    if (good.back().empty() || !ended || !well) {
      std::printf("%s cannot be read as it is\n", seed.c_str());
      MPI_Finalize();
      return 1;
    }
  }
  const std::string path = folder + "/damaged.nc";
  std::map<std::string, long> counts;
  long bad = 0;
  for (long round = 0; round < rounds; ++round) {
    const auto which = static_cast<std::size_t>(random() % good.size());
    const Bytes bytes = damaged(good[which], random);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    const int status = status_of(path.c_str());
    std::string outcome = "other";
    if (WIFSIGNALED(status))
      outcome = WTERMSIG(status) == SIGALRM
                    ? "hangs"
                    : std::string("crashes by signal ") + std::to_string(WTERMSIG(status));
    else if (WEXITSTATUS(status) == fine)
      outcome = "read";
    else if (WEXITSTATUS(status) == refused)
      outcome = "refused";
    else if (WEXITSTATUS(status) == nameless)
      outcome = "refused without the file's name";
    ++counts[outcome];
    if (outcome == "read" || outcome == "refused") continue;
    const std::string kept = folder + "/bad." + std::to_string(bad++) + ".nc";
    std::ofstream(kept, std::ios::binary | std::ios::trunc) << bytes;
    std::printf("round %ld, %s: %s, kept as %s\n", round, seeds[which].c_str(), outcome.c_str(),
                kept.c_str());
  }
  for (const auto& [outcome, count] : counts) std::printf("%ld %s\n", count, outcome.c_str());
  MPI_Finalize();
  return bad == 0 && counts["read"] > 0 && counts["refused"] > 0 ? 0 : 1;
}
