// Files: IDs, create, open, modes, close.
#include "api/pnetcdf/files.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "api/pnetcdf/interface.h"
#include "array/names.h"
#include "comm/mpi.h"
#include "dataset/file_sharing.h"
#include "dataset/opening.h"

namespace forebay::pnetcdf {

namespace {

/// Open files by ID. A new file gets the lowest free number, as programs expect.
class Files {
 public:
  /// Reserves a place for a file that is about to be opened, until it is filled or destroyed.
  class Place {
   public:
    explicit Place(Files& files) : files_(files), place_(files.take()) {}
    ~Place() { files_.taken_[place_] = false; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    /// Never fails.
    int fill(std::unique_ptr<Dataset> ds) {
      const std::lock_guard lock(files_.mutex_);
      files_.slots_[place_] = std::move(ds);
      return static_cast<int>(place_);
    }

   private:
    Files& files_;
    std::size_t place_;
  };

  Dataset* find(int ncid) {
    return ncid < 0 || ncid >= NC_MAX_NFILES ? nullptr
                                             : slots_[static_cast<std::size_t>(ncid)].get();
  }

  std::unique_ptr<Dataset> remove(int ncid) {
    const std::lock_guard lock(mutex_);
    return std::move(slots_[static_cast<std::size_t>(ncid)]);
  }

  std::vector<int> ids() {
    const std::lock_guard lock(mutex_);
    std::vector<int> list;
    for (int i = 0; i < NC_MAX_NFILES; ++i) {
      const auto& file = slots_[static_cast<std::size_t>(i)];
      if (file && !file->is_closed()) list.push_back(i);
    }
    return list;
  }

 private:
  std::size_t take() {
    const std::lock_guard lock(mutex_);
    std::size_t i = 0;
    while (i < slots_.size() && (slots_[i] || taken_[i])) ++i;
    if (i == slots_.size()) throw Error(Errc::enfile, "1024 files are open");
    taken_[i] = true;
    return i;
  }

  std::mutex mutex_;
  std::array<std::unique_ptr<Dataset>, NC_MAX_NFILES> slots_;
  std::array<std::atomic<bool>, NC_MAX_NFILES> taken_{};
};

/// The table is never destroyed: at exit MPI has ended, and files left open must not call it.
Files& files() {
  static auto* all = new Files;
  return *all;
}

std::atomic<int> default_format{NC_FORMAT_CLASSIC};

}  // namespace

HintMap hints_of(MPI_Info info) {
  HintMap hints;
  if (info == MPI_INFO_NULL) return hints;
  int keys = 0;
  check_mpi(MPI_Info_get_nkeys(info, &keys), "MPI_Info_get_nkeys");
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    int length = 0, found = 0;
    check_mpi(MPI_Info_get_nthkey(info, i, key), "MPI_Info_get_nthkey");
    check_mpi(MPI_Info_get_valuelen(info, key, &length, &found), "MPI_Info_get_valuelen");
    if (!found) continue;
    std::string value(static_cast<std::size_t>(length) + 1, '\0');
    check_mpi(MPI_Info_get(info, key, length, value.data(), &found), "MPI_Info_get");
    value.resize(static_cast<std::size_t>(length));
    hints[key] = value;
  }
  return hints;
}

namespace {

/// Returns the version of a new file (Schema::version).
int version_of(int cmode) {
  if (cmode & (NC_DISKLESS | NC_MMAP)) {
    throw Error(Errc::einval_cmode, "NC_DISKLESS and NC_MMAP do not go with parallel files");
  }
  if (cmode & NC_BP) throw Error(Errc::enotbuilt, "this interface does not make BP files");
  if (cmode & NC_NETCDF4) {
    if (cmode & (NC_64BIT_DATA | NC_64BIT_OFFSET))
      throw Error(Errc::einval_cmode, "NC_NETCDF4 excludes the classic formats");
    return cmode & NC_CLASSIC_MODEL ? 4 : 3;
  }
  if ((cmode & NC_64BIT_DATA) && (cmode & NC_64BIT_OFFSET)) {
    throw Error(Errc::einval_cmode, "NC_64BIT_DATA and NC_64BIT_OFFSET exclude each other");
  }
  if (cmode & NC_64BIT_DATA) return 5;
  if (cmode & NC_64BIT_OFFSET) return 2;
  switch (default_format) {
    case NC_FORMAT_CDF5:
      return 5;
    case NC_FORMAT_CDF2:
      return 2;
    case NC_FORMAT_NETCDF4:
      return 3;
    case NC_FORMAT_NETCDF4_CLASSIC:
      return 4;
    default:
      return 1;
  }
}

/// Returns the hints for a new file of a version.
HintMap hints_to_create(MPI_Info info, int version) {
  HintMap hints = hints_of(info);
  if (is_netcdf4(version)) hints.try_emplace("container", "netcdf4");
  return hints;
}

/// What a rank contributes before a file is opened or created: what it knows of the file, and a
/// hash of rank 0's request. Other ranks contribute the hash of the last request that they
/// received.
struct Told {
  static constexpr std::size_t opening = std::tuple_size_v<OpeningFacts>;
  std::array<std::int64_t, opening + 2> facts{};  // maxima
  std::shared_ptr<const CreationRequest> asked;

  void look(const OpeningFacts& found, std::shared_ptr<const CreationRequest> known,
            const std::string& path) {
    asked = std::move(known);
    std::copy(found.begin(), found.end(), facts.begin());
    // A rank without a known request must equal no other rank.
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    facts[opening] = asked ? asked->hash_at(path) : none;
    facts[opening + 1] = asked ? -facts[opening] : none;
  }
  OpeningFacts found() const {
    OpeningFacts found{};
    std::copy_n(facts.begin(), opening, found.begin());
    return found;
  }
  bool is_known() const { return facts[opening] == -facts[opening + 1]; }
};

/// Opens or creates a file. Rank 0's mode counts. A rank that gave another one gets `differ`; in
/// safe mode all ranks get it. `make` tells all ranks about arguments that are wrong on one rank.
/// `ask` runs on rank 0 and returns its request, if the others may know it already.
template <typename Make>
int start_file(
    MPI_Comm mpi, const char* path, int mode, bool makes, int* ncidp, int differ,
    const std::function<std::shared_ptr<const CreationRequest>(const std::string& path)>& ask,
    Make&& make) {
  return guard([&]() -> int {
    const SharingEntry& sharing = file_sharing();
    Told told;
    std::optional<Files::Place> place;
    std::optional<Error> wrong;
    std::string name;
    std::unique_ptr<Entrance> entrance;
    const auto look = [&](bool is_root) {
      const OpeningFacts found = sharing.look(is_root, path, mode, makes);
      std::shared_ptr<const CreationRequest> known;
      wrong = attempt_to([&] {
        place.emplace(files());
        if (ncidp == nullptr) throw Error(Errc::einval, "ncidp is a null pointer");
        if (path == nullptr || *path == '\0') throw Error(Errc::ebad_file, "the path is empty");
        name = path;
        entrance = sharing.enter();
      });
      // An error is told with its text before anything is made.
      if (!wrong && ask) attempt_to([&] { known = is_root ? ask(name) : CreationRequest::last(); });
      told.look(found, std::move(known), name);
    };
    const Comm comm = make_comm(mpi, told.facts, std::cref(look));  // needs no memory
    std::int64_t code = NC_NOERR;
    const auto failed = up_to_meeting(comm, [&] {
      const auto [root_mode, waited] = sharing.agree(comm, path, told.found());
      if (ncidp != nullptr) *ncidp = -1;
      PriorMeeting met{std::move(wrong)};
      met.beside = [&](Dataset& file) { return entrance->say(file); };
      if (told.is_known() && !waited) met.asked = std::move(told.asked);
      // It takes part in the other ranks' steps even if this rank has failed, so nothing may throw
      // before it. It ends in a collective step.
      std::unique_ptr<Dataset> ds = make(comm, name, root_mode, std::move(met));
      entrance->join(*ds, told.found());
      code = root_mode == mode ? NC_NOERR : differ;
      if (ds->method().safe_mode) code = comm.all_reduce(code, Reduce::min);
      *ncidp = place->fill(std::move(ds));
    });
    if (failed) throw *failed;
    return static_cast<int>(code);
  });
}

}  // namespace

Dataset& dataset(int ncid) {
  Dataset* const ds = files().find(ncid);
  if (ds && !ds->is_closed()) return *ds;
  if (ds) throw Error(Errc::ebadid, ds->path() + " was closed as the program ended");
  throw Error(Errc::ebadid, std::to_string(ncid) + " is not the ID of an open file");
}

std::vector<int> open_files() { return files().ids(); }

std::unique_ptr<Dataset> remove_file(int ncid) {
  const auto wrong = attempt_to([&] { dataset(ncid); });
  std::unique_ptr<Dataset> file;
  if (files().find(ncid)) file = files().remove(ncid);
  if (wrong) throw *wrong;
  return file;
}

const Variable& variable_of(const Dataset& ds, int varid) {
  if (varid == NC_GLOBAL) throw Error(Errc::eglobal, "NC_GLOBAL is no variable");
  return ds.variable(varid);
}

std::string name_argument(const char* name) {
  if (name == nullptr || *name == '\0') throw Error(Errc::ebadname, "the name is empty");
  std::string text(name);
  if (text.size() > max_name_bytes)
    throw Error(Errc::emaxname, "the name is longer than 256 bytes");
  return text;
}

void check_writable(const Dataset& ds) {
  if (!ds.writable()) throw Error(Errc::eperm, ds.path() + " was opened for reading only");
}

void check_define_mode(const Dataset& ds) {
  if (!ds.in_define_mode()) throw Error(Errc::enotindefine, ds.path() + " is not in define mode");
}

}  // namespace forebay::pnetcdf

using namespace forebay;
using namespace forebay::pnetcdf;

int ncmpi_create(MPI_Comm comm, const char* path, int cmode, MPI_Info info, int* ncidp) {
  const auto ask = [&](const std::string& name) {
    const int version = version_of(cmode);
    return CreationRequest::of(name, version, (cmode & NC_NOCLOBBER) != 0,
                               hints_to_create(info, version));
  };
  return start_file(comm, path, cmode, (cmode & NC_NOCLOBBER) == 0, ncidp, NC_EMULTIDEFINE_CMODE,
                    ask, [&](const Comm& c, const std::string& name, int mode, PriorMeeting met) {
                      int version = 0;
                      HintMap hints;
                      const auto take = [&] {
                        version = version_of(mode);
                        hints = hints_to_create(info, version);
                      };
                      if (!met.asked) attempt_into(met.failed, take);
                      return Dataset::create(c, name, version, (mode & NC_NOCLOBBER) != 0, hints,
                                             true, &met);
                    });
}

int ncmpi_open(MPI_Comm comm, const char* path, int omode, MPI_Info info, int* ncidp) {
  return start_file(comm, path, omode, false, ncidp, NC_EMULTIDEFINE_OMODE, {},
                    [&](const Comm& c, const std::string& name, int mode, PriorMeeting met) {
                      HintMap hints;
                      attempt_into(met.failed, [&] {
                        if (mode & (NC_DISKLESS | NC_MMAP))
                          throw Error(Errc::einval_omode,
                                      "NC_DISKLESS and NC_MMAP do not go with parallel files");
                        hints = hints_of(info);
                      });
                      return Dataset::open(c, name, (mode & NC_WRITE) != 0, hints, &met);
                    });
}

// The ID is free afterwards in any case, because a second attempt would have nothing to close.
int ncmpi_close(int ncid) {
  return guard([&] { file_sharing().close(remove_file(ncid)); });
}

int ncmpi_abort(int ncid) {
  return guard([&] { file_sharing().abort(remove_file(ncid)); });
}

int ncmpi_enddef(int ncid) {
  return guard([&] { dataset(ncid).enddef(); });
}

int ncmpi__enddef(int ncid, MPI_Offset h_minfree, MPI_Offset v_align, MPI_Offset v_minfree,
                  MPI_Offset r_align) {
  return guard([&] { dataset(ncid).enddef({h_minfree, v_align, v_minfree, r_align}); });
}

int ncmpi_redef(int ncid) {
  return guard([&] { dataset(ncid).redef(); });
}

int ncmpi_begin_indep_data(int ncid) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    if (ds.mode() != Mode::independent) ds.begin_independent();
  });
}

int ncmpi_end_indep_data(int ncid) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    if (ds.mode() != Mode::collective) ds.end_independent();
  });
}

int ncmpi_sync(int ncid) {
  return guard([&] { dataset(ncid).sync(); });
}

int ncmpi_flush(int ncid) {
  return guard([&] {
    Dataset& ds = dataset(ncid);
    if (!ds.in_define_mode()) ds.flush();  // nothing is staged in define mode
  });
}

int ncmpi_sync_numrecs(int ncid) {
  return guard([&] { dataset(ncid).sync_numrecs(); });
}

int ncmpi_set_default_format(int format, int* old_formatp) {
  return guard([&] {
    if (format < NC_FORMAT_CLASSIC || format > NC_FORMAT_CDF5) {
      throw Error(Errc::einval, "format " + std::to_string(format) + " is unknown");
    }
    const int old = default_format.exchange(format);
    if (old_formatp != nullptr) *old_formatp = old;
  });
}

int ncmpi_inq_default_format(int* formatp) {
  if (formatp == nullptr) return NC_EINVAL;
  *formatp = default_format;
  return NC_NOERR;
}
