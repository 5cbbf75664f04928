// Drawing accesses: who writes where, in what form, from what memory.
#include <algorithm>
#include <cstring>
#include <set>

#include "model/player.h"

namespace forebay_test {
namespace {

// A small value in the external type.
void store_small(nc_type type, int64_t x, uint8_t* out) {
  if (type == NC_FLOAT) {
    const float f = static_cast<float>(x);
    std::memcpy(out, &f, sizeof f);
  } else if (type == NC_DOUBLE) {
    const double f = static_cast<double>(x);
    std::memcpy(out, &f, sizeof f);
  } else {
    std::memcpy(out, &x, static_cast<size_t>(type_size(type)));
  }
}

// Any value of the external type, but no NaN: those compare by bits only.
void store_wide(nc_type type, uint64_t bits, uint8_t* out) {
  std::memcpy(out, &bits, static_cast<size_t>(type_size(type)));
  if (type == NC_FLOAT) {
    float f;
    std::memcpy(&f, out, sizeof f);
    if (f != f) f = 1.5F;
    std::memcpy(out, &f, sizeof f);
  } else if (type == NC_DOUBLE) {
    double f;
    std::memcpy(&f, out, sizeof f);
    if (f != f) f = 2.5;
    std::memcpy(out, &f, sizeof f);
  }
}

}  // namespace

int Player::draw_varid() {
  return static_cast<int>(rng_.below(static_cast<int64_t>(model_.vars.size())));
}

int64_t Player::view(int rank) const {
  return independent_ ? views_[static_cast<size_t>(rank)] : model_.numrecs;
}

bool Player::busy(int varid) const {
  return std::any_of(pending_.begin(), pending_.end(),
                     [&](const Pending& p) { return p.access.varid == varid; });
}

Player::Territory& Player::territory(int varid) {
  Territory& t = territories_[static_cast<size_t>(varid)];
  // While ranks act on their own, nobody's territory moves.
  if (t.drawn && (independent_ || busy(varid) || rng_.one_in(2))) return t;
  const ModelVar& v = var(varid);
  if (t.drawn) order_ranks();
  t = Territory{};
  t.drawn = true;
  if (v.dims.empty()) {
    t.cuts.push_back(rng_.below(ranks_));
    return t;
  }
  t.dim = static_cast<int>(rng_.below(static_cast<int64_t>(v.dims.size())));
  t.cyclic = rng_.one_in(3);
  const bool records = t.dim == 0 && model_.is_record(v);
  const int64_t length = records ? model_.numrecs + 4 : model_.shape(v)[static_cast<size_t>(t.dim)];
  for (int i = 1; i < ranks_; ++i) t.cuts.push_back(rng_.between(0, length));
  t.cuts.push_back(0);
  t.cuts.push_back(length);
  std::sort(t.cuts.begin(), t.cuts.end());
  return t;
}

// One hyperslab of a rank, or false when it has nothing there.
bool Player::draw_box(int varid, int rank, bool write, bool restricted, bool strided, bool point,
                      Box* box) {
  const ModelVar& v = var(varid);
  const auto shape = model_.shape(v);
  const Territory& t = territories_[static_cast<size_t>(varid)];
  *box = Box{};
  if (shape.empty()) return !restricted || t.cuts[0] == rank;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool records = d == 0 && model_.is_record(v);
    int64_t low = 0;
    int64_t high = records ? view(rank) + (write ? 3 : 0) : shape[d];
    int64_t unit = 1;
    if (restricted && static_cast<int>(d) == t.dim) {
      if (t.cyclic) {
        low = rank;
        unit = ranks_;
      } else {
        low = t.cuts[static_cast<size_t>(rank)];
        high = std::min(high, t.cuts[static_cast<size_t>(rank) + 1]);
      }
    }
    const int64_t places = high <= low ? 0 : (high - low + unit - 1) / unit;
    if (places == 0) return false;
    const int64_t first = rng_.below(places);
    const bool may_stride = strided && (!records || !options_.peer);
    const int64_t step = may_stride ? rng_.between(1, 3) : 1;
    const int64_t most = (places - first - 1) / step + 1;
    int64_t n = rng_.one_in(2) ? most : rng_.between(1, most);
    if (point || (unit > 1 && !may_stride)) n = 1;
    box->start.push_back(low + first * unit);
    box->count.push_back(n);
    box->stride.push_back(step * unit);
  }
  if (!strided) box->stride.clear();
  return true;
}

// Counts of zero, with a start that is in order.
Box Player::empty_box(int varid, int rank) {
  const ModelVar& v = var(varid);
  const auto shape = model_.shape(v);
  Box box;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool records = d == 0 && model_.is_record(v);
    box.start.push_back(records ? rng_.between(0, view(rank)) : rng_.below(shape[d]));
    box.count.push_back(0);
  }
  return box;
}

Form Player::draw_form(int varid, bool blocking) {
  while (true) {
    static const Form forms[] = {Form::var1, Form::vara, Form::vara, Form::vars,
                                 Form::varm, Form::varn, Form::vard};
    const Form form = forms[rng_.below(7)];
    if (form == Form::vard && !blocking) continue;
    if (form == Form::varn && options_.peer &&
        (model_.is_record(var(varid)) || (blocking && !pending_.empty()))) {
      continue;
    }
    return form;
  }
}

Player::Choice Player::draw_choice(int varid, Form form, int rank, bool write, bool restricted) {
  Choice choice;
  const ModelVar& v = var(varid);
  const bool strided = form == Form::vars || form == Form::varm;
  const bool scalar = v.dims.empty();
  const int64_t most = form == Form::varn && !scalar ? rng_.below(6) : 1;
  std::set<int64_t> mine;
  for (int64_t i = 0; i < most; ++i) {
    Box box;
    const bool void_one = !scalar && form != Form::var1 && rng_.one_in(8);
    const bool got = draw_box(varid, rank, write, restricted, strided, form == Form::var1, &box);
    if (void_one || !got) {
      if (scalar) continue;
      if (form == Form::varn && rng_.one_in(2)) continue;
      box = empty_box(varid, rank);
      if (strided) box.stride.assign(box.count.size(), 1);
      choice.boxes.push_back(box);
      continue;
    }
    const auto elements = model_.elements(v, box);
    if ((write || options_.peer) && form == Form::varn &&
        std::any_of(elements.begin(), elements.end(),
                    [&](int64_t e) { return mine.count(e) > 0; })) {
      continue;
    }
    mine.insert(elements.begin(), elements.end());
    choice.boxes.push_back(box);
    choice.elements.insert(choice.elements.end(), elements.begin(), elements.end());
  }
  return choice;
}

Memory Player::draw_memory(const ModelVar& v, const Access& access) {
  const Memory natural = natural_memory(v.type);
  if (v.wide || access.form == Form::vard || rng_.one_in(3)) return natural;
  if (!access.write) {
    for (const int64_t e : access.elements) {
      if (v.known[static_cast<size_t>(e)] != Known::small) return natural;
    }
  }
  return static_cast<Memory>(rng_.between(1, memory_types - 1));
}

void Player::draw_values(Access& access) {
  const ModelVar& v = var(access.varid);
  const auto width = static_cast<size_t>(type_size(v.type));
  access.values.resize(access.elements.size() * width);
  for (size_t k = 0; k < access.elements.size(); ++k) {
    uint8_t* out = access.values.data() + k * width;
    if (v.wide) {
      store_wide(v.type, rng_.next(), out);
    } else {
      // Of values that may be off none is less than an unsigned type has.
      store_small(v.type, std::max<int64_t>(rng_.below(121), options_.bound > 0 ? 1 : 0), out);
    }
  }
}

// A permutation of the dimensions, with room between elements where the function is typed.
void Player::draw_map(Access& access) {
  const Box& box = access.boxes[0];
  const size_t ndims = box.count.size();
  std::vector<size_t> order(ndims);
  for (size_t d = 0; d < ndims; ++d) order[d] = d;
  for (size_t d = ndims; d > 1; --d) {
    std::swap(order[d - 1], order[static_cast<size_t>(rng_.below(static_cast<int64_t>(d)))]);
  }
  int64_t step = access.layout == Layout::typed ? rng_.between(1, 2) : 1;
  access.imap.assign(ndims, 1);
  for (const size_t d : order) {
    access.imap[d] = step;
    step *= std::max<int64_t>(box.count[d], 1);
  }
}

Access Player::make_access(int varid, Form form, bool write, Choice choice, bool scalar_shared) {
  Access a;
  a.varid = varid;
  a.form = form;
  a.write = write;
  a.boxes = std::move(choice.boxes);
  a.elements = std::move(choice.elements);
  a.memory = draw_memory(var(varid), a);
  a.layout =
      rng_.one_in(2) ? Layout::typed : static_cast<Layout>(rng_.between(1, options_.peer ? 4 : 6));
  if (form == Form::vard && a.layout == Layout::typed) a.layout = Layout::contiguous;
  if (form == Form::varm && !scalar_shared) draw_map(a);
  if (write) draw_values(a);
  return a;
}

bool Player::overlaps_own_pending(int varid, int rank, const std::vector<int64_t>& elements) const {
  for (const auto& p : pending_) {
    if (p.rank != rank || p.access.varid != varid) continue;
    const std::set<int64_t> theirs(p.access.elements.begin(), p.access.elements.end());
    for (const int64_t e : elements) {
      if (theirs.count(e) > 0) return true;
    }
  }
  return false;
}

void Player::apply(const Access& a, int rank) {
  ModelVar& v = var(a.varid);
  if (model_.is_record(v) && !a.elements.empty()) {
    const int64_t last = *std::max_element(a.elements.begin(), a.elements.end());
    const int64_t records = last / model_.slot(v) + 1;
    model_.grow(records);
    if (independent_) {
      auto& mine = views_[static_cast<size_t>(rank)];
      mine = std::max(mine, records);
    }
  }
  const auto width = static_cast<size_t>(type_size(v.type));
  for (size_t k = 0; k < a.elements.size(); ++k) {
    const auto e = static_cast<size_t>(a.elements[k]);
    std::memcpy(v.values.data() + e * width, a.values.data() + k * width, width);
    v.known[e] = v.wide ? Known::exactly : Known::small;
  }
}

void Player::check_read(const Access& a, const AccessBuffer& buffer) {
  const std::string difference = compare(model_, a, buffer, options_.bound);
  if (!difference.empty()) fail(a.describe(model_) + ": " + difference);
  const std::string damage = buffer.damage();
  if (!damage.empty()) fail(a.describe(model_) + ": " + damage);
}

}  // namespace forebay_test
