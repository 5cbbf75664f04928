// The operations of the script.
#include <algorithm>
#include <cstdio>

#include "model/player.h"
#include "support/typed_api.h"

namespace forebay_test {
namespace {

constexpr int64_t attached_bytes = 20000;

}  // namespace

Player::Player(const Options& options, int round)
    : options_(options),
      round_(round),
      rng_(options.seed * 1000003 + static_cast<uint64_t>(round)),
      path_(world.path("model.nc")) {}

Player::~Player() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

void Player::fail(const std::string& what) {
  failed_ = true;
  // Where the failure leads to a hang, the report of other ranks at the end of the round never
  // comes.
  if (options_.trace) std::fprintf(stderr, "rank %d: %s\n", world.rank, what.c_str());
  ADD_FAILURE() << "seed " << options_.seed << " round " << round_ << " operation " << operation_
                << " (" << doing_ << "): " << what;
}

void Player::ok(int code, const std::string& what) {
  if (code != NC_NOERR) fail(what + " returned " + error_name(code));
}

void Player::trace(const std::string& what) {
  doing_ = what;
  if (options_.trace && world.rank == 0) {
    std::printf("round %d op %d: %s\n", round_, operation_, what.c_str());
    std::fflush(stdout);
  }
}

void Player::play() {
  split(world.size);
  create_file();
  for (operation_ = 1; operation_ <= options_.operations; ++operation_) {
    step();
    if (options_.paranoid) check_everything();
    int failed = failed_ ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (failed != 0) break;
  }
  int failed = failed_ ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (failed != 0) {  // the state is unknown; give the file up
    if (active()) ncmpi_abort(ncid_);
    return;
  }
  finish_pending();
  check_everything();
  close_file();
  split(world.size);
  open_file();
  check_everything();
  close_file();
  if (options_.keep && world.rank == 0) model_.write_expectation(path_ + ".expect");
  if (!options_.keep && !failed_ && world.rank == 0) ncmpi_delete(path_.c_str(), MPI_INFO_NULL);
}

void Player::step() {
  if (model_.vars.empty()) {
    redefine();
    return;
  }
  const int64_t dice = rng_.below(100);
  if (dice < 24) {
    collective_access(true);
  } else if (dice < 42) {
    collective_access(false);
  } else if (dice < 46) {
    whole_variable_write();
  } else if (dice < 52) {
    multi_access(rng_.one_in(2));
  } else if (dice < 66) {
    post_requests();
  } else if (dice < 74) {
    wait_requests(true, -1);
  } else if (dice < 76) {
    cancel_requests();
  } else if (dice < 82) {
    independent_session();
  } else if (dice < 86) {
    redefine();
  } else if (dice < 89) {
    fill_record();
  } else if (dice < 92) {
    toggle_buffer();
  } else if (dice < 94) {
    sync_something();
  } else if (dice < 96) {
    if (rng_.one_in(2)) {
      rename_something(true);
    } else {
      const int id = draw_varid();
      draw_att(var(id).atts, id, true);
    }
  } else if (dice < 98 && options_.reopen) {
    finish_pending();
    close_file();
    split(static_cast<int>(rng_.between(1, world.size)));
    open_file();
  } else {
    check_everything();
  }
}

void Player::collective_access(bool write) {
  const int id = draw_varid();
  territory(id);
  const bool scalar = var(id).dims.empty();
  Form form = draw_form(id, true);
  // A scalar cannot be selected emptily, so every rank writes the same value.
  if (scalar && (form == Form::vard || form == Form::varn)) form = Form::vara;
  const bool restricted = write && !scalar;
  std::vector<Choice> choices;
  for (int r = 0; r < ranks_; ++r) {
    choices.push_back(draw_choice(id, form, r, write, restricted));
    if (form == Form::var1 && choices.back().elements.empty()) form = Form::vara;
  }
  Access shared;
  for (int r = 0; r < ranks_; ++r) {
    auto& choice = choices[static_cast<size_t>(r)];
    // What was drawn for a single point also suits the form that took its place.
    if (form == Form::vara) {
      for (auto& box : choice.boxes) box.stride.clear();
    }
    Access a = make_access(id, form, write, std::move(choice), scalar);
    if (scalar && write) {
      if (r == 0) shared = a;
      a.values = shared.values;
    }
    if (r == me_ || (r == 0 && !active())) trace(a.describe(model_));
    if (write) {
      if (r == me_) {
        AccessBuffer buffer(model_, a);
        ok(perform(ncid_, model_, a, buffer, Mode::collective, nullptr), a.describe(model_));
        const std::string damage = buffer.damage();
        if (!damage.empty()) fail(damage);
      }
      apply(a, r);
    } else if (r == me_) {
      AccessBuffer buffer(model_, a);
      ok(perform(ncid_, model_, a, buffer, Mode::collective, nullptr), a.describe(model_));
      check_read(a, buffer);
    }
  }
  if (scalar && write) order_ranks();
}

void Player::order_ranks() {
  if (options_.staged && active()) ok(ncmpi_flush(ncid_), "flush");
}

// Every rank writes the whole variable with the same values.
void Player::whole_variable_write() {
  const int id = draw_varid();
  const ModelVar& v = var(id);
  Choice choice;
  Box box;
  for (const int64_t n : model_.shape(v)) {
    box.start.push_back(0);
    box.count.push_back(n);
  }
  choice.elements = model_.elements(v, box);
  choice.boxes.push_back(box);
  const Access a = make_access(id, Form::var, true, std::move(choice), false);
  trace(a.describe(model_));
  if (active()) {
    AccessBuffer buffer(model_, a);
    ok(perform(ncid_, model_, a, buffer, Mode::collective, nullptr), "put_var");
    const std::string damage = buffer.damage();
    if (!damage.empty()) fail(damage);
  }
  apply(a, 0);
  order_ranks();
}

// mput and mget: several variables in one flexible call.
void Player::multi_access(bool write) {
  if (options_.peer) finish_pending();
  std::vector<int> ids;
  for (int id = 0; id < static_cast<int>(model_.vars.size()); ++id) {
    if (!var(id).dims.empty() && rng_.one_in(2)) ids.push_back(id);
  }
  for (const int id : ids) territory(id);
  const bool strided = rng_.one_in(2);
  const Form form = strided ? Form::vars : Form::vara;
  trace(std::string(write ? "mput" : "mget") + " of " + std::to_string(ids.size()) + " variables");
  for (int r = 0; r < ranks_; ++r) {
    std::vector<Access> parts;
    for (const int id : ids) {
      Access a = make_access(id, form, write, draw_choice(id, form, r, write, write), false);
      if (a.layout == Layout::typed) a.layout = Layout::contiguous;
      parts.push_back(std::move(a));
    }
    if (r == me_) {
      std::vector<AccessBuffer> buffers;
      buffers.reserve(parts.size());
      std::vector<MPI_Offset*> starts, counts, strides;
      std::vector<void*> data;
      std::vector<MPI_Offset> sizes;
      std::vector<MPI_Datatype> types;
      for (auto& a : parts) {
        buffers.emplace_back(model_, a);
        auto& box = a.boxes[0];
        starts.push_back(box.start.data());
        counts.push_back(box.count.data());
        strides.push_back(box.stride.data());
        data.push_back(buffers.back().data());
        sizes.push_back(buffers.back().count());
        types.push_back(buffers.back().type());
      }
      const Wheres where{starts.data(), counts.data(), strides.data(), nullptr};
      const Kind kind = strided ? Kind::vars : Kind::vara;
      const int n = static_cast<int>(ids.size());
      ok(write ? Flexible::mput(kind, true, ncid_, n, ids.data(), where, data.data(), sizes.data(),
                                types.data())
               : Flexible::mget(kind, true, ncid_, n, ids.data(), where, data.data(), sizes.data(),
                                types.data()),
         write ? "mput" : "mget");
      for (size_t i = 0; i < parts.size(); ++i) {
        if (!write) check_read(parts[i], buffers[i]);
        const std::string damage = buffers[i].damage();
        if (write && !damage.empty()) fail(damage);
      }
    }
    if (write) {
      for (const auto& a : parts) apply(a, r);
    }
  }
}

void Player::post_requests() {
  const int64_t most = rng_.between(1, 6);
  for (int r = 0; r < ranks_; ++r) {
    for (int64_t i = rng_.below(most + 1); i > 0; --i) {
      const int id = draw_varid();
      territory(id);
      const bool write = !rng_.one_in(3);
      Form form = draw_form(id, false);
      if (var(id).dims.empty() && form == Form::varn) form = Form::vara;
      Choice choice = draw_choice(id, form, r, write, true);
      if (choice.boxes.empty() && form != Form::varn) continue;
      if (form == Form::var1 && choice.elements.empty()) continue;
      if (options_.peer && overlaps_own_pending(id, r, choice.elements)) continue;
      Access a = make_access(id, form, write, std::move(choice), false);
      const auto bytes = static_cast<int64_t>(a.values.size());
      auto& used = buffer_used_[static_cast<size_t>(r)];
      const bool buffered =
          write && buffer_attached_ && rng_.one_in(2) && used + bytes <= attached_bytes;
      if (buffered) used += bytes;
      const Mode mode = buffered ? Mode::bput : write ? Mode::iput : Mode::iget;
      Pending p{r, std::move(a), mode, NC_REQ_NULL, nullptr};
      if (r == me_) {
        trace("post " + p.access.describe(model_));
        p.buffer = std::make_unique<AccessBuffer>(model_, p.access);
        ok(perform(ncid_, model_, p.access, *p.buffer, mode, &p.request), "post");
        if (buffered) {
          const std::string damage = p.buffer->damage();
          if (!damage.empty()) fail(damage);
          p.buffer->scribble();
        }
        if (p.access.elements.empty() != (p.request == NC_REQ_NULL)) {
          fail("request " + std::to_string(p.request) + " for " +
               std::to_string(p.access.elements.size()) + " elements");
        }
      }
      if (!p.access.elements.empty()) pending_.push_back(std::move(p));
    }
  }
}

// Completes some of the pending requests of every rank, or of one.
void Player::wait_requests(bool collective, int only_rank) {
  std::vector<bool> chosen(pending_.size(), false);
  int count = 0;
  std::vector<int> ids;
  std::vector<size_t> mine;
  for (int r = 0; r < ranks_; ++r) {
    if (only_rank >= 0 && r != only_rank) continue;
    const int64_t dice = rng_.below(options_.peer ? 3 : 5);  // all, puts, gets, some, none
    std::vector<size_t> picked;
    for (size_t i = 0; i < pending_.size(); ++i) {
      if (pending_[i].rank != r) continue;
      const bool write = pending_[i].access.write;
      const bool take = dice == 0 || (dice == 1 && write) || (dice == 2 && !write) ||
                        (dice == 3 && rng_.one_in(2));
      if (take) {
        chosen[i] = true;
        picked.push_back(i);
      }
    }
    for (size_t i = picked.size(); i > 1; --i) {
      std::swap(picked[i - 1], picked[static_cast<size_t>(rng_.below(static_cast<int64_t>(i)))]);
    }
    const bool with_null = rng_.one_in(3);
    if (r != me_) continue;
    count = dice == 0 ? NC_REQ_ALL : dice == 1 ? NC_PUT_REQ_ALL : dice == 2 ? NC_GET_REQ_ALL : 0;
    mine = picked;
    if (dice >= 3) {
      for (const size_t i : picked) ids.push_back(pending_[i].request);
      if (with_null) ids.push_back(NC_REQ_NULL);
      count = static_cast<int>(ids.size());
    }
  }
  trace("wait " + std::to_string(count) + (collective ? " collective" : " independent"));
  if (active() && (only_rank < 0 || only_rank == me_)) {
    std::vector<int> statuses(ids.size(), 12345);
    const bool some = count >= 0;
    int* id_data = some ? ids.data() : nullptr;
    int* status_data = some ? statuses.data() : nullptr;
    ok(collective ? ncmpi_wait_all(ncid_, count, id_data, status_data)
                  : ncmpi_wait(ncid_, count, id_data, status_data),
       "wait");
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] != NC_REQ_NULL) fail("a finished request keeps its id " + std::to_string(ids[i]));
      if (statuses[i] != NC_NOERR) fail("status " + error_name(statuses[i]));
    }
  }
  for (size_t i = 0; i < pending_.size(); ++i) {  // puts first, in the order of posting
    if (chosen[i] && pending_[i].access.write) apply(pending_[i].access, pending_[i].rank);
  }
  for (const size_t i : mine) {
    auto& p = pending_[i];
    if (!p.access.write) {
      check_read(p.access, *p.buffer);
    } else {
      const std::string damage = p.buffer->damage();
      if (!damage.empty()) fail(p.access.describe(model_) + ": " + damage);
    }
  }
  std::vector<Pending> left;
  for (size_t i = 0; i < pending_.size(); ++i) {
    if (!chosen[i]) left.push_back(std::move(pending_[i]));
  }
  pending_ = std::move(left);
  for (int r = 0; r < ranks_; ++r) {
    const bool any = std::any_of(pending_.begin(), pending_.end(), [&](const Pending& p) {
      return p.rank == r && p.mode == Mode::bput;
    });
    if (!any) buffer_used_[static_cast<size_t>(r)] = 0;
  }
  if (active()) {
    int n = -1;
    ok(ncmpi_inq_nreqs(ncid_, &n), "inq_nreqs");
    const auto expected = std::count_if(pending_.begin(), pending_.end(),
                                        [&](const Pending& p) { return p.rank == me_; });
    if (n != expected) {
      fail("inq_nreqs says " + std::to_string(n) + ", expected " + std::to_string(expected));
    }
  }
}

void Player::cancel_requests() {
  std::vector<Pending> left;
  std::vector<int> ids;
  trace("cancel");
  for (auto& p : pending_) {
    if (!rng_.one_in(2) && !options_.peer) {
      left.push_back(std::move(p));
    } else if (p.rank == me_) {
      ids.push_back(p.request);
      const std::string damage = p.buffer->damage();
      if (p.access.write && !damage.empty()) fail(damage);
    }
  }
  pending_ = std::move(left);
  if (!active()) return;
  if (options_.peer) {
    ok(ncmpi_cancel(ncid_, NC_REQ_ALL, nullptr, nullptr), "cancel");
    return;
  }
  std::vector<int> statuses(ids.size(), 12345);
  ok(ncmpi_cancel(ncid_, static_cast<int>(ids.size()), ids.data(), statuses.data()), "cancel");
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != NC_REQ_NULL || statuses[i] != NC_NOERR) fail("cancel left a request");
  }
}

void Player::finish_pending() {
  if (pending_.empty()) return;
  trace("wait for everything");
  if (active()) ok(ncmpi_wait_all(ncid_, NC_REQ_ALL, nullptr, nullptr), "wait_all");
  for (const auto& p : pending_) {
    if (p.access.write) apply(p.access, p.rank);
  }
  for (const auto& p : pending_) {
    if (p.rank == me_ && !p.access.write) check_read(p.access, *p.buffer);
    if (p.rank == me_ && p.access.write && !p.buffer->damage().empty()) fail(p.buffer->damage());
  }
  pending_.clear();
  std::fill(buffer_used_.begin(), buffer_used_.end(), 0);
}

void Player::independent_access(int rank, bool write) {
  const int id = draw_varid();
  territory(id);
  Form form = draw_form(id, true);
  if (var(id).dims.empty() && (form == Form::varn || form == Form::vard)) form = Form::vara;
  Choice choice = draw_choice(id, form, rank, write, true);
  if (choice.boxes.empty() && form != Form::varn) return;
  if (form == Form::var1 && choice.elements.empty()) return;
  const Access a = make_access(id, form, write, std::move(choice), false);
  if (rank == me_) {
    trace("independent " + a.describe(model_));
    AccessBuffer buffer(model_, a);
    ok(perform(ncid_, model_, a, buffer, Mode::independent, nullptr), a.describe(model_));
    if (!write) check_read(a, buffer);
    const std::string damage = buffer.damage();
    if (!damage.empty()) fail(damage);
  }
  if (write) apply(a, rank);
}

void Player::independent_session() {
  for (int id = 0; id < static_cast<int>(model_.vars.size()); ++id) territory(id);
  order_ranks();
  trace("begin_indep_data");
  if (active()) ok(ncmpi_begin_indep_data(ncid_), "begin_indep_data");
  independent_ = true;
  std::fill(views_.begin(), views_.end(), model_.numrecs);
  for (int r = 0; r < ranks_; ++r) {
    for (int64_t i = rng_.below(5); i > 0; --i) {
      if (rng_.one_in(5)) {
        wait_requests(false, r);
      } else {
        independent_access(r, !rng_.one_in(3));
      }
    }
  }
  trace("end_indep_data");
  if (active()) ok(ncmpi_end_indep_data(ncid_), "end_indep_data");
  independent_ = false;
  check_schema();
}

void Player::fill_record() {
  const int id = draw_varid();
  ModelVar& v = var(id);
  if (!model_.is_record(v) || !v.fill || busy(id)) return;
  const int64_t record = rng_.between(0, model_.numrecs);
  trace("fill_var_rec " + v.name + " " + std::to_string(record));
  if (active()) ok(ncmpi_fill_var_rec(ncid_, id, record), "fill_var_rec");
  model_.grow(record + 1);
  model_.fill(v, record);
}

void Player::toggle_buffer() {
  if (buffer_attached_) {
    const bool used = std::any_of(pending_.begin(), pending_.end(),
                                  [](const Pending& p) { return p.mode == Mode::bput; });
    if (used) return;
    trace("buffer_detach");
    if (active()) ok(ncmpi_buffer_detach(ncid_), "buffer_detach");
    buffer_attached_ = false;
  } else {
    trace("buffer_attach");
    if (active()) ok(ncmpi_buffer_attach(ncid_, attached_bytes), "buffer_attach");
    buffer_attached_ = true;
    std::fill(buffer_used_.begin(), buffer_used_.end(), 0);
  }
}

void Player::sync_something() {
  const auto which = rng_.below(3);
  trace("sync " + std::to_string(which));
  if (!active()) return;
  if (which == 0) ok(ncmpi_sync(ncid_), "sync");
  if (which == 1) ok(ncmpi_flush(ncid_), "flush");
  if (which == 2) ok(ncmpi_sync_numrecs(ncid_), "sync_numrecs");
}

// Every rank reads every variable.
void Player::check_everything() {
  check_schema();
  if (!active()) return;
  for (int id = 0; id < static_cast<int>(model_.vars.size()); ++id) {
    Access a;
    a.varid = id;
    a.form = Form::var;
    a.write = false;
    a.memory = natural_memory(var(id).type);
    Box box;
    for (const int64_t n : model_.shape(var(id))) {
      box.start.push_back(0);
      box.count.push_back(n);
    }
    a.elements = model_.elements(var(id), box);
    a.boxes.push_back(box);
    AccessBuffer buffer(model_, a);
    ok(perform(ncid_, model_, a, buffer, Mode::collective, nullptr), "get_var");
    check_read(a, buffer);
  }
}

}  // namespace forebay_test
