#include "kill_burst_check.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace kill_burst {

void Contents::save(const std::string& path) const {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&records), sizeof records);
  for (const auto& list : values) {
    out.write(reinterpret_cast<const char*>(list.data()),
              static_cast<std::streamsize>(list.size() * sizeof(int)));
  }
}

Contents Contents::load(const std::string& path) {
  Contents contents;
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char*>(&contents.records), sizeof contents.records);
  for (int v = 0; v < variables; ++v) {
    auto& list = contents.values[static_cast<size_t>(v)];
    list.resize(static_cast<size_t>(contents.rows(v) * infos[static_cast<size_t>(v)].columns));
    in.read(reinterpret_cast<char*>(list.data()),
            static_cast<std::streamsize>(list.size() * sizeof(int)));
  }
  if (!in) {
    std::fprintf(stderr, "%s cannot be read\n", path.c_str());
    std::abort();
  }
  return contents;
}

void Check::fail(const std::string& what) {
  if (++failures_ <= 12) std::printf("%s\n", what.c_str());
}

void Check::read_logs(const std::string& log) {
  progress_.assign(static_cast<size_t>(writers_) + 1, {});
  Progress& shared = progress_.back();
  for (int r = 0; r < writers_; ++r) {
    Progress& own = progress_[static_cast<size_t>(r)];
    std::ifstream in(log + "." + std::to_string(r));
    std::string word;
    int shared_done = 0;
    bool flushes = false;
    while (in >> word) {
      int number = 0;
      if (word == "f" || word == "s") flushes = word == "f";
      if (word == "f") continue;
      if (word == "s") {
        own.synced = own.returned;
        shared.synced = std::max(shared.synced, shared_done);
        continue;
      }
      in >> number;
      if (word == "b") own.begun = std::max(own.begun, number);
      if (word == "d") own.returned = std::max(own.returned, number);
      if (word == "B") shared.begun = std::max(shared.begun, number);
      if (word != "D") continue;
      shared.returned = std::max(shared.returned, number);
      shared_done = number;
    }
    amid_flush_ = amid_flush_ || flushes;
  }
}

// An element with a later request's value tells that this one is missing there only if that one
// is not in its place: nothing. With an earlier value it tells that this one was not carried out.
void Check::see(int owner, const Request& request, bool may_be_partial, std::vector<Seen>& seen) {
  const auto var = static_cast<size_t>(request.var);
  const MPI_Offset columns = infos[var].columns;
  Seen& mine = seen[static_cast<size_t>(request.number)];
  for_each_element(request, [&](MPI_Offset row, MPI_Offset column) {
    const auto at = static_cast<size_t>(row * columns + column);
    Seen here = Seen::missing;
    if (row < found_.rows(request.var)) {
      const int value = found_.values[var][at];
      if (value == value_of(cycle_, owner, request.number, request.var, row, column)) {
        here = Seen::there;
        explained_[var][at] = 1;
      } else if (number_of(value) > request.number &&
                 value == value_of(cycle_, owner, number_of(value), request.var, row, column)) {
        return;
      }
    }
    if (mine != Seen::nothing && mine != here && !may_be_partial) {
      fail("owner " + std::to_string(owner) + ": request " + std::to_string(request.number) +
           " is there in part: " + infos[var].name + "(" + std::to_string(row) + "," +
           std::to_string(column) + ") is " +
           (row < found_.rows(request.var) ? words_for(found_.values[var][at])
                                           : std::string("beyond the records")));
    }
    mine = here;
  });
}

void Check::judge(int owner, const std::vector<Request>& requests, const std::vector<Seen>& seen,
                  bool acked) {
  const Progress& progress = progress_[static_cast<size_t>(owner)];
  const int must = acked ? progress.returned : progress.synced;
  int missing = 0;
  for (const Request& request : requests) {
    const Seen here = seen[static_cast<size_t>(request.number)];
    const std::string who =
        "owner " + std::to_string(owner) + ": request " + std::to_string(request.number);
    most_records_ = std::max(most_records_, request.last_record());
    if (here == Seen::there || (request.number <= must && here != Seen::missing))
      least_records_ = std::max(least_records_, request.last_record());
    if (here == Seen::missing && request.number <= must) {
      fail(who + " (" + std::to_string(request.elements()) + " elements of " +
           infos[static_cast<size_t>(request.var)].name + ") is not there; returned up to " +
           std::to_string(progress.returned) + ", flushed up to " +
           std::to_string(progress.synced) + ", begun up to " + std::to_string(progress.begun));
    }
    if (acked && here == Seen::there && missing > 0)
      fail(who + " is there though " + std::to_string(missing) + ", which came before it, is not");
    if (here == Seen::missing) missing = request.number;
  }
}

void Check::check_owner(int owner, bool acked) {
  Sequence sequence(seed_, owner, writers_);
  const int begun = progress_[static_cast<size_t>(owner)].begun;
  std::vector<Request> requests;
  while (requests.empty() || requests.back().number < begun) {
    if (begun == 0) break;
    for (Request& request : sequence.next()) {
      if (request.number <= begun) requests.push_back(std::move(request));
    }
  }
  std::vector<Seen> seen(static_cast<size_t>(begun) + 1, Seen::nothing);
  const int synced = progress_[static_cast<size_t>(owner)].synced;
  for (const Request& request : requests) {
    const bool may_be_partial = !acked && amid_flush_ && request.number > synced;
    see(owner, request, may_be_partial, seen);
  }
  judge(owner, requests, seen, acked);
}

void Check::check_others() {
  for (int v = 0; v < variables; ++v) {
    const auto var = static_cast<size_t>(v);
    for (size_t i = 0; i < found_.values[var].size(); ++i) {
      const int value = found_.values[var][i];
      const bool known = i < base_.values[var].size();
      if (explained_[var][i] || (known && value == base_.values[var][i])) continue;
      if (!known && (value == 0 || value == NC_FILL_INT)) continue;
      const auto at = static_cast<MPI_Offset>(i);
      fail(std::string(infos[var].name) + "(" + std::to_string(at / infos[var].columns) + "," +
           std::to_string(at % infos[var].columns) + ") is " + words_for(value) +
           (known ? ", was " + words_for(base_.values[var][i]) : ", and nobody wrote it"));
    }
  }
}

bool Check::run(const std::string& log, bool acked) {
  read_logs(log);
  for (size_t v = 0; v < variables; ++v) explained_[v].assign(found_.values[v].size(), 0);
  least_records_ = most_records_ = base_.records;
  for (int owner = 0; owner <= writers_; ++owner) check_owner(owner, acked);
  check_others();
  if (found_.records < least_records_ || found_.records > most_records_) {
    fail(std::to_string(found_.records) + " records, not " + std::to_string(least_records_) +
         " to " + std::to_string(most_records_));
  }
  int begun = 0;
  int returned = 0;
  for (const Progress& p : progress_) {
    begun += p.begun;
    returned += p.returned;
  }
  std::printf("%d requests begun, %d returned, %d failures\n", begun, returned, failures_);
  return failures_ == 0;
}

}  // namespace kill_burst
