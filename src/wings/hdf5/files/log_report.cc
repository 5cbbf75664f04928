#include "hdf5/files/log_report.h"

#include <map>
#include <set>

#include "base/attempt.h"
#include "base/text_table.h"
#include "hdf5/files/log_view.h"

namespace forebay {
namespace {

// The paths of logged datasets, by number in the log.
class Names {
 public:
  Names(hid_t file, const Hdf5LogView& view, std::vector<std::string>& faults)
      : view_(view), faults_(faults) {
    visit(owned(H5Gopen2(file, "/", H5P_DEFAULT), "/"), "/");
  }

  std::string of(std::uint64_t id) const {
    const auto found = names_.find(id);
    return found == names_.end()
               ? "dataset " + std::to_string(id) + " of the log, which has no name any more"
               : printable(found->second);
  }

 private:
  void visit(hid_t group, const std::string& path) {
    if (!seen_.insert(object_of(group).address).second) return;
    for (const Hdf5Link& link : links_of(group)) {
      if (link.kind != H5L_TYPE_HARD || view_.hides_link(path, link.name)) continue;
      const std::string name = joined_path(path, link.name);
      const auto failed = attempt_to([&] {
        const Hdf5Id object = owned(H5Oopen(group, link.name.c_str(), H5P_DEFAULT), "it");
        const H5O_type_t kind = object_of(object).kind;
        if (kind == H5O_TYPE_GROUP) visit(object, name);
        if (kind != H5O_TYPE_DATASET) return;
        if (const auto id = view_.id_of(object)) names_.emplace(*id, name);
      });
      if (failed) faults_.push_back(printable(name) + ": " + failed->message());
    }
  }

  const Hdf5LogView& view_;
  std::vector<std::string>& faults_;
  std::map<std::uint64_t, std::string> names_;
  std::set<Hdf5Address> seen_;
};

}  // namespace

std::optional<Hdf5LogFacts> hdf5_log_facts(const std::string& path) {
  const Hdf5Id file = open_hdf5_file(path);
  if (!has_hdf5_log(file)) return std::nullopt;
  const Hdf5Log log = open_hdf5_log(file, true);
  return Hdf5LogFacts{log_statistics(*log.file), log.index_bytes, log.index_damage};
}

std::optional<Hdf5LogCheck> check_hdf5_log(const std::string& path,
                                           const std::function<void(Count, Count)>& progress) {
  const Hdf5Id file = open_hdf5_file(path);
  if (!has_hdf5_log(file)) return std::nullopt;
  Hdf5LogCheck result;
  const auto failed = attempt_to([&] {
    const Hdf5Log log = open_hdf5_log(file, true);
    if (!log.index_damage.empty()) result.faults.push_back("log: index: " + log.index_damage);
    const Names names(file, Hdf5LogView(file), result.faults);
    // If damage hides the total, progress has no known end.
    attempt_to([&] { result.all_bytes = log_statistics(*log.file).data_bytes; });
    result.check = check_log(*log.file, [&](Count done) {
      if (progress) progress(done, std::max(done, result.all_bytes));
    });
    for (const LogFault& fault : result.check.faults)
      result.faults.push_back((fault.dataset ? names.of(*fault.dataset) : "log") + ": " +
                              fault.problem);
  });
  if (failed) result.faults.push_back("log: " + failed->message());
  return result;
}

}  // namespace forebay
