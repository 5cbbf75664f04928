// The file's life and its schema: create, define, redefine, reopen, inquire.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "model/player.h"

namespace forebay_test {
namespace {

Bytes random_bytes(Rng& rng, nc_type type, int64_t n) {
  Bytes out;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t bits = rng.next();
    Bytes value(static_cast<size_t>(type_size(type)));
    std::memcpy(value.data(), &bits, value.size());
    if (type == NC_FLOAT) {
      const float x = static_cast<float>(static_cast<int64_t>(bits % 2000001) - 1000000) / 16.0F;
      std::memcpy(value.data(), &x, sizeof x);
    } else if (type == NC_DOUBLE) {
      const double x = static_cast<double>(static_cast<int64_t>(bits >> 12)) / 1024.0;
      std::memcpy(value.data(), &x, sizeof x);
    } else if (type == NC_CHAR) {
      value[0] = static_cast<uint8_t>('a' + bits % 26);
    }
    out.insert(out.end(), value.begin(), value.end());
  }
  return out;
}

}  // namespace

std::string Player::fresh_name(const char* stem, int longest) {
  std::string name = stem + std::to_string(names_++);
  const int64_t more = rng_.below(longest - static_cast<int>(name.size()) + 1);
  for (int64_t i = 0; i < more; ++i) name += "abcdefghij_klmnop"[rng_.below(17)];
  return name;
}

nc_type Player::draw_type() {
  static const nc_type types[] = {NC_BYTE,  NC_CHAR,   NC_SHORT, NC_INT,   NC_FLOAT, NC_DOUBLE,
                                  NC_UBYTE, NC_USHORT, NC_UINT,  NC_INT64, NC_UINT64};
  return types[rng_.below(model_.format == 5 ? 11 : 6)];
}

void Player::split(int ranks) {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  ranks_ = ranks;
  const bool in = world.rank < ranks;
  MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, world.rank, &comm_);
  me_ = in ? world.rank : -1;
  views_.assign(static_cast<size_t>(ranks), 0);
  buffer_used_.assign(static_cast<size_t>(ranks), 0);
  buffer_attached_ = false;
  for (auto& t : territories_) t.drawn = false;
}

MPI_Info Player::draw_hints() {
  if (!rng_.one_in(3)) return MPI_INFO_NULL;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  static const char* const keys[] = {"nc_header_align_size", "nc_var_align_size",
                                     "nc_record_align_size"};
  static const char* const values[] = {"4", "12", "64", "512", "1000"};
  for (const char* key : keys) {
    if (rng_.one_in(2)) MPI_Info_set(info, key, values[rng_.below(5)]);
  }
  return info;
}

void Player::create_file() {
  static const int formats[] = {1, 2, 5};
  static const int modes[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA};
  const auto which = rng_.below(3);
  model_.format = formats[which];
  MPI_Info info = draw_hints();
  trace("create, format " + std::to_string(model_.format));
  if (active()) {
    ok(ncmpi_create(comm_, path_.c_str(), NC_CLOBBER | modes[which], info, &ncid_), "create");
  }
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  define_some(true);
}

void Player::close_file() {
  trace("close");
  if (active()) {
    if (buffer_attached_) ok(ncmpi_buffer_detach(ncid_), "buffer_detach");
    ok(ncmpi_close(ncid_), "close");
  }
  buffer_attached_ = false;
  MPI_Barrier(MPI_COMM_WORLD);
}

void Player::open_file() {
  MPI_Info info = options_.peer ? MPI_INFO_NULL : draw_hints();
  trace("open on " + std::to_string(ranks_) + " ranks");
  if (active()) ok(ncmpi_open(comm_, path_.c_str(), NC_WRITE, info, &ncid_), "open");
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  // The file does not say which variables were filled; the library assumes all of them.
  for (auto& v : model_.vars) v.fill = true;
  check_schema();
}

void Player::set_fill(bool on) {
  trace(on ? "set_fill on" : "set_fill off");
  if (active()) ok(ncmpi_set_fill(ncid_, on ? NC_FILL : NC_NOFILL, nullptr), "set_fill");
  for (auto& v : model_.vars) v.fill = on;
}

void Player::draw_dim() {
  ModelDim dim;
  dim.name = fresh_name("d");
  dim.unlimited = model_.unlimited() < 0 && rng_.one_in(2);
  dim.length = dim.unlimited ? 0 : rng_.between(1, rng_.one_in(12) ? 60 : options_.longest);
  trace("def_dim " + dim.name + " " + std::to_string(dim.length));
  if (active()) {
    int id = -1;
    ok(ncmpi_def_dim(ncid_, dim.name.c_str(), dim.unlimited ? NC_UNLIMITED : dim.length, &id),
       "def_dim");
    if (id != static_cast<int>(model_.dims.size())) fail("def_dim gave id " + std::to_string(id));
  }
  model_.dims.push_back(dim);
}

void Player::draw_var() {
  ModelVar v;
  v.name = fresh_name("v");
  v.type = draw_type();
  v.wide = v.type == NC_CHAR || rng_.one_in(3);
  const int unlimited = model_.unlimited();
  std::vector<int> fixed;
  for (int i = 0; i < static_cast<int>(model_.dims.size()); ++i) {
    if (i != unlimited) fixed.push_back(i);
  }
  if (unlimited >= 0 && rng_.one_in(2)) v.dims.push_back(unlimited);
  const int64_t more = fixed.empty() ? 0 : rng_.below(4);
  int64_t elements = 1;
  for (int64_t i = 0; i < more; ++i) {
    const int d = fixed[static_cast<size_t>(rng_.below(static_cast<int64_t>(fixed.size())))];
    const int64_t length = model_.dims[static_cast<size_t>(d)].length;
    if (elements * length > 4000) break;
    elements *= length;
    v.dims.push_back(d);
  }
  const int id = static_cast<int>(model_.vars.size());
  trace("def_var " + v.name + " " + type_name(v.type) + " " + std::to_string(v.dims.size()) + "-d");
  if (active()) {
    int got = -1;
    ok(ncmpi_def_var(ncid_, v.name.c_str(), v.type, static_cast<int>(v.dims.size()), v.dims.data(),
                     &got),
       "def_var");
    if (got != id) fail("def_var gave id " + std::to_string(got));
  }
  model_.vars.push_back(v);
  territories_.emplace_back();
  if (rng_.one_in(4)) {  // a fill mode of its own, perhaps with a value of its own
    var(id).fill = !rng_.one_in(3);
    const bool valued = var(id).fill && rng_.one_in(2);
    const Bytes value = random_bytes(rng_, v.type, 1);
    trace("def_var_fill");
    if (active()) {
      ok(ncmpi_def_var_fill(ncid_, id, var(id).fill ? 0 : 1, valued ? value.data() : nullptr),
         "def_var_fill");
    }
    if (valued) var(id).atts.push_back({"_FillValue", v.type, value});
  }
}

void Player::draw_att(std::vector<ModelAtt>& atts, int varid, bool data_mode) {
  ModelAtt att;
  att.type = draw_type();
  int64_t n = rng_.below(8);
  size_t at = atts.size();
  if (data_mode || (!atts.empty() && rng_.one_in(4))) {
    if (atts.empty()) return;
    at = static_cast<size_t>(rng_.below(static_cast<int64_t>(atts.size())));
    att.name = atts[at].name;
    if (att.name == "_FillValue") return;
    if (data_mode) {  // no larger than what it replaces
      att.type = atts[at].type;
      n = rng_.below(atts[at].count() + 1);
    }
  } else {
    att.name = fresh_name("a");
  }
  att.values = random_bytes(rng_, att.type, n);
  trace("put_att " + att.name + " " + type_name(att.type) + " " + std::to_string(n));
  if (active()) {
    ok(ncmpi_put_att(ncid_, varid, att.name.c_str(), att.type, n, att.values.data()), "put_att");
  }
  if (at < atts.size()) {
    atts[at] = att;
  } else {
    atts.push_back(att);
  }
}

void Player::drop_att() {
  const int id = rng_.one_in(2) || model_.vars.empty() ? NC_GLOBAL : draw_varid();
  auto& atts = id == NC_GLOBAL ? model_.atts : var(id).atts;
  if (atts.empty()) return;
  const auto at = rng_.below(static_cast<int64_t>(atts.size()));
  const std::string name = atts[static_cast<size_t>(at)].name;
  if (name == "_FillValue") return;
  trace("del_att " + name);
  if (active()) ok(ncmpi_del_att(ncid_, id, name.c_str()), "del_att");
  atts.erase(atts.begin() + at);
}

void Player::rename_something(bool data_mode) {
  const auto which = rng_.below(3);
  std::string* name = nullptr;
  int id = 0;
  int owner = NC_GLOBAL;
  if (which == 0) {
    if (model_.dims.empty()) return;
    id = static_cast<int>(rng_.below(static_cast<int64_t>(model_.dims.size())));
    name = &model_.dims[static_cast<size_t>(id)].name;
  } else if (which == 1) {
    if (model_.vars.empty()) return;
    id = draw_varid();
    name = &var(id).name;
  } else {
    if (!model_.vars.empty() && rng_.one_in(2)) owner = draw_varid();
    auto& atts = owner == NC_GLOBAL ? model_.atts : var(owner).atts;
    if (atts.empty()) return;
    name = &atts[static_cast<size_t>(rng_.below(static_cast<int64_t>(atts.size())))].name;
    if (*name == "_FillValue") return;
  }
  const std::string next = fresh_name("n", data_mode ? static_cast<int>(name->size()) : 16);
  if (data_mode && next.size() > name->size()) return;
  trace("rename " + *name + " to " + next);
  if (active()) {
    if (which == 0) {
      ok(ncmpi_rename_dim(ncid_, id, next.c_str()), "rename_dim");
    } else if (which == 1) {
      ok(ncmpi_rename_var(ncid_, id, next.c_str()), "rename_var");
    } else {
      ok(ncmpi_rename_att(ncid_, owner, name->c_str(), next.c_str()), "rename_att");
    }
  }
  *name = next;
}

void Player::define_some(bool first) {
  const size_t first_new_var = model_.vars.size();
  if (first || rng_.one_in(2)) set_fill(rng_.one_in(2));
  const int64_t dims = first ? rng_.between(1, 4) : rng_.below(2);
  for (int64_t i = 0; i < dims; ++i) draw_dim();
  const int64_t vars = first ? rng_.between(1, 6) : rng_.below(3);
  for (int64_t i = 0; i < vars; ++i) {
    draw_var();
    while (rng_.one_in(2))
      draw_att(model_.vars.back().atts, static_cast<int>(model_.vars.size()) - 1, false);
  }
  while (!rng_.one_in(3)) draw_att(model_.atts, NC_GLOBAL, false);
  if (!first) {
    if (rng_.one_in(3)) drop_att();
    if (rng_.one_in(2)) rename_something(false);
  }
  end_define(first, first_new_var);
}

void Player::end_define(bool first, size_t first_new_var) {
  if (rng_.one_in(3)) {
    static const MPI_Offset free_space[] = {0, 10, 100, 1000};
    static const MPI_Offset aligns[] = {0, 4, 8, 64, 512};
    const MPI_Offset h = free_space[rng_.below(4)];
    const size_t most = options_.peer && !first ? 1 : 4;
    const MPI_Offset va = aligns[std::min<size_t>(rng_.below(5), most)];
    const MPI_Offset v = free_space[rng_.below(4)];
    const MPI_Offset ra = aligns[std::min<size_t>(rng_.below(5), most)];
    trace("_enddef " + std::to_string(h) + " " + std::to_string(va) + " " + std::to_string(v) +
          " " + std::to_string(ra));
    if (active()) ok(ncmpi__enddef(ncid_, h, va, v, ra), "_enddef");
  } else {
    trace("enddef");
    if (active()) ok(ncmpi_enddef(ncid_), "enddef");
  }
  for (size_t i = first_new_var; i < model_.vars.size(); ++i) model_.create(model_.vars[i]);
  check_schema();
  if (!first) check_everything();
}

void Player::redefine() {
  finish_pending();
  trace("redef");
  if (active()) ok(ncmpi_redef(ncid_), "redef");
  define_some(false);
}

void Player::check_atts(const std::vector<ModelAtt>& atts, int varid) {
  int n = -1;
  ok(varid == NC_GLOBAL ? ncmpi_inq_natts(ncid_, &n) : ncmpi_inq_varnatts(ncid_, varid, &n),
     "inq_natts");
  if (n != static_cast<int>(atts.size())) fail("number of attributes is " + std::to_string(n));
  for (size_t i = 0; i < atts.size(); ++i) {
    const auto& a = atts[i];
    char name[NC_MAX_NAME + 1] = "";
    ok(ncmpi_inq_attname(ncid_, varid, static_cast<int>(i), name), "inq_attname");
    if (a.name != name) fail("attribute " + std::to_string(i) + " is named " + name);
    nc_type type = 0;
    MPI_Offset length = -1;
    ok(ncmpi_inq_att(ncid_, varid, a.name.c_str(), &type, &length), "inq_att");
    if (type != a.type || length != a.count()) fail("attribute " + a.name + " has another shape");
    if (type != a.type || length != a.count()) continue;
    Bytes got(a.values.size() + 1, 0xEE);
    ok(ncmpi_get_att(ncid_, varid, a.name.c_str(), got.data()), "get_att");
    if (!std::equal(a.values.begin(), a.values.end(), got.begin()) || got.back() != 0xEE) {
      fail("attribute " + a.name + " has other values");
    }
  }
}

void Player::check_schema() {
  if (!active()) return;
  int ndims = -1;
  int nvars = -1;
  int natts = -1;
  int unlimited = -2;
  ok(ncmpi_inq(ncid_, &ndims, &nvars, &natts, &unlimited), "inq");
  if (ndims != static_cast<int>(model_.dims.size()) ||
      nvars != static_cast<int>(model_.vars.size()) || unlimited != model_.unlimited()) {
    fail("inq says " + std::to_string(ndims) + " dims, " + std::to_string(nvars) +
         " vars, unlimited " + std::to_string(unlimited));
    return;
  }
  int format = 0;
  ok(ncmpi_inq_format(ncid_, &format), "inq_format");
  // A file that a hint makes a netCDF-4 file has the types of the format that was asked for.
  const char* const hints = std::getenv("FOREBAY_HINTS");
  const bool netcdf4 = hints && std::strstr(hints, "container=netcdf4") != nullptr;
  const int wanted = !netcdf4             ? model_.format
                     : model_.format == 5 ? NC_FORMAT_NETCDF4
                                          : NC_FORMAT_NETCDF4_CLASSIC;
  if (format != wanted) fail("inq_format says " + std::to_string(format));
  char name[NC_MAX_NAME + 1];
  for (int i = 0; i < ndims; ++i) {
    const auto& d = model_.dims[static_cast<size_t>(i)];
    MPI_Offset length = -1;
    ok(ncmpi_inq_dim(ncid_, i, name, &length), "inq_dim");
    if (d.name != name) fail("dimension " + d.name + " is named " + name);
    if (length != (d.unlimited ? model_.numrecs : d.length)) {
      fail("dimension " + d.name + " has length " + std::to_string(length));
    }
  }
  for (int i = 0; i < nvars; ++i) {
    const auto& v = var(i);
    nc_type type = 0;
    int n = -1;
    std::vector<int> dims(std::max<size_t>(v.dims.size(), 16), -1);
    ok(ncmpi_inq_var(ncid_, i, name, &type, &n, nullptr, nullptr), "inq_var");
    if (v.name != name || v.type != type || n != static_cast<int>(v.dims.size())) {
      fail("variable " + v.name + " is " + name + " of type " + std::to_string(type));
      continue;
    }
    ok(ncmpi_inq_vardimid(ncid_, i, dims.data()), "inq_vardimid");
    if (!std::equal(v.dims.begin(), v.dims.end(), dims.begin())) fail("dimids of " + v.name);
    int id = -1;
    ok(ncmpi_inq_varid(ncid_, v.name.c_str(), &id), "inq_varid");
    if (id != i) fail("inq_varid of " + v.name + " is " + std::to_string(id));
    check_atts(v.atts, i);
  }
  check_atts(model_.atts, NC_GLOBAL);
}

}  // namespace forebay_test
