#include "container/classic/moved.h"

#include "method/method_values.h"

namespace forebay {

void Moved::add(const Schema& before, const Schema& now, Count bytes,
                const EnddefArguments& asked) {
  if (bytes == 0) return;
  if (now.header_size > before.header_extent) {
    by_header_ += bytes;
    h_minfree_ = now.header_size - first_header_.value_or(before.header_size);
  } else if (now.header_extent > before.header_extent || asked.r_align > 0 || asked.v_minfree > 0) {
    as_asked_ += bytes;
  } else if (now.begin_rec > before.begin_rec) {
    by_variables_ += bytes;
    v_minfree_ += now.begin_rec - before.begin_rec;
  } else {
    by_records_ += bytes;
  }
}

std::vector<std::string> Moved::reasons() const {
  std::vector<std::string> all;
  const auto tell = [&](Count bytes, const std::string& why) {
    if (bytes > 0) all.push_back(friendly_size(bytes) + " of data were moved, as " + why);
  };
  tell(by_header_, "the header outgrew its room: h_minfree=" + std::to_string(h_minfree_) +
                       " of the first ncmpi__enddef would have saved it");
  tell(by_variables_, "new variables of fixed size took the place of records: v_minfree=" +
                          std::to_string(v_minfree_) +
                          " of the first ncmpi__enddef would have saved it");
  tell(by_records_,
       "new record variables made records longer: define all of them before the first enddef");
  tell(as_asked_, "arguments of ncmpi__enddef asked for it");
  return all;
}

}  // namespace forebay
