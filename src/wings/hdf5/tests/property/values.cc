#include "values.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace forebay_test {
namespace {

hid_t random_integer(Rng& rng) {
  const hid_t types[] = {H5T_STD_I8LE,  H5T_STD_I16LE, H5T_STD_I32LE, H5T_STD_I64LE,
                         H5T_STD_U8LE,  H5T_STD_U16BE, H5T_STD_U32LE, H5T_STD_U64BE,
                         H5T_STD_I16BE, H5T_STD_I32BE, H5T_STD_I64BE};
  return types[rng.below(std::size(types))];
}

hid_t random_float(Rng& rng) {
  const hid_t types[] = {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_IEEE_F64BE};
  return types[rng.below(std::size(types))];
}

Id random_string(Rng& rng) {
  Id type = copy_type(H5T_C_S1);
  check(H5Tset_size(type, static_cast<size_t>(rng.between(1, 9))), "H5Tset_size");
  const H5T_str_t pads[] = {H5T_STR_NULLTERM, H5T_STR_NULLPAD, H5T_STR_SPACEPAD};
  check(H5Tset_strpad(type, pads[rng.below(3)]), "H5Tset_strpad");
  if (rng.one_in(2)) check(H5Tset_cset(type, H5T_CSET_UTF8), "H5Tset_cset");
  return type;
}

Id random_enum(Rng& rng) {
  Id type(H5Tenum_create(rng.one_in(2) ? H5T_STD_I16LE : H5T_STD_I32BE), H5Tclose, "enum");
  const Id base(H5Tget_super(type), H5Tclose, "H5Tget_super");
  for (int k = 0; k < 4; ++k) {
    int value = k * 7;  // zero is one of them: what was never written converts
    check(H5Tconvert(H5T_NATIVE_INT, base, 1, &value, nullptr, H5P_DEFAULT), "H5Tconvert");
    check(H5Tenum_insert(type, ("member" + std::to_string(k)).c_str(), &value), "enum");
  }
  return type;
}

Id random_opaque(Rng& rng) {
  Id type(H5Tcreate(H5T_OPAQUE, static_cast<size_t>(rng.between(1, 11))), H5Tclose, "opaque");
  check(H5Tset_tag(type, "some bytes"), "H5Tset_tag");
  return type;
}

Id random_element(Rng& rng, bool serial, int depth);

Id random_compound(Rng& rng, bool serial, int depth) {
  std::vector<Id> members;
  size_t size = 0;
  for (int64_t k = rng.between(1, 4); k > 0; --k) {
    members.push_back(random_element(rng, serial, depth + 1));
    size += H5Tget_size(members.back()) + 2;  // with gaps
  }
  Id type(H5Tcreate(H5T_COMPOUND, size), H5Tclose, "compound");
  size_t at = 0;
  for (size_t k = 0; k < members.size(); ++k) {
    check(H5Tinsert(type, ("field" + std::to_string(k)).c_str(), at, members[k]), "H5Tinsert");
    at += H5Tget_size(members[k]) + static_cast<size_t>(rng.below(3));
  }
  return type;
}

Id random_array(Rng& rng, bool serial, int depth) {
  const Id base = random_element(rng, serial, depth + 1);
  const hsize_t dims[] = {static_cast<hsize_t>(rng.between(1, 3)),
                          static_cast<hsize_t>(rng.between(1, 3))};
  return {H5Tarray_create2(base, static_cast<unsigned>(rng.between(1, 2)), dims), H5Tclose,
          "array"};
}

Id random_variable_length(Rng& rng) {
  if (rng.one_in(2)) {
    Id type = copy_type(H5T_C_S1);
    check(H5Tset_size(type, H5T_VARIABLE), "H5Tset_size");
    return type;
  }
  return {H5Tvlen_create(random_integer(rng)), H5Tclose, "H5Tvlen_create"};
}

Id random_element(Rng& rng, bool serial, int depth) {
  const int64_t kind = rng.below(depth > 1 ? 6 : (serial ? 13 : 10));
  if (kind < 2) return copy_type(random_integer(rng));
  if (kind < 4) return copy_type(random_float(rng));
  if (kind == 4) return random_string(rng);
  if (kind == 5) return random_enum(rng);
  if (kind == 6) return random_opaque(rng);
  if (kind == 7) return random_array(rng, serial, depth);
  if (kind < 10) return random_compound(rng, serial, depth);
  if (kind < 12) return random_variable_length(rng);
  return copy_type(H5T_STD_REF);
}

bool is_null(const void* reference) {
  const auto* bytes = static_cast<const unsigned char*>(reference);
  return std::all_of(bytes, bytes + sizeof(H5R_ref_t), [](unsigned char b) { return b == 0; });
}

// What references may point to, and what they do point to.
struct Referable {
  const std::vector<std::string>& paths;
  std::set<std::string> taken;
};

void fill_one(hid_t type, Rng& rng, hid_t file, Referable& objects, void* out);

void fill_number(hid_t type, Rng& rng, void* out) {
  // Small enough for every numeric type, so that conversions are defined.
  double value = static_cast<double>(rng.between(-400, 400)) / 4;
  std::vector<unsigned char> room(std::max(sizeof value, H5Tget_size(type)));
  std::memcpy(room.data(), &value, sizeof value);
  check(H5Tconvert(H5T_NATIVE_DOUBLE, type, 1, room.data(), nullptr, H5P_DEFAULT), "H5Tconvert");
  std::memcpy(out, room.data(), H5Tget_size(type));
}

void fill_string(hid_t type, Rng& rng, char* out) {
  const size_t size = H5Tget_size(type);
  std::memset(out, H5Tget_strpad(type) == H5T_STR_SPACEPAD ? ' ' : 0, size);
  const size_t most = H5Tget_strpad(type) == H5T_STR_NULLTERM ? size - 1 : size;
  const auto length = static_cast<size_t>(rng.below(static_cast<int64_t>(most) + 1));
  for (size_t k = 0; k < length; ++k) out[k] = static_cast<char>('a' + rng.below(26));
}

void fill_sequence(hid_t type, Rng& rng, hid_t file, Referable& objects, void* out) {
  const Id base(H5Tget_super(type), H5Tclose, "H5Tget_super");
  const size_t width = H5Tget_size(base);
  hvl_t sequence{static_cast<size_t>(rng.below(5)), nullptr};
  if (sequence.len > 0) sequence.p = std::calloc(sequence.len, width);
  for (size_t k = 0; k < sequence.len; ++k) {
    fill_one(base, rng, file, objects, static_cast<char*>(sequence.p) + k * width);
  }
  std::memcpy(out, &sequence, sizeof sequence);
}

void fill_one(hid_t type, Rng& rng, hid_t file, Referable& objects, void* out) {
  auto* bytes = static_cast<char*>(out);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
    case H5T_FLOAT:
      return fill_number(type, rng, out);
    case H5T_STRING:
      if (H5Tis_variable_str(type) <= 0) return fill_string(type, rng, bytes);
      {
        const std::string text(static_cast<size_t>(rng.below(12)),
                               static_cast<char>('a' + rng.below(26)));
        char* copy = ::strdup(text.c_str());
        std::memcpy(out, &copy, sizeof copy);
      }
      return;
    case H5T_ENUM:
      check(H5Tget_member_value(type, static_cast<unsigned>(rng.below(H5Tget_nmembers(type))), out),
            "H5Tget_member_value");
      return;
    case H5T_COMPOUND:
      for (int k = 0; k < H5Tget_nmembers(type); ++k) {
        const auto member = static_cast<unsigned>(k);
        const Id part(H5Tget_member_type(type, member), H5Tclose, "member");
        fill_one(part, rng, file, objects, bytes + H5Tget_member_offset(type, member));
      }
      return;
    case H5T_ARRAY: {
      const Id base(H5Tget_super(type), H5Tclose, "H5Tget_super");
      const size_t width = H5Tget_size(base);
      for (size_t k = 0; k < H5Tget_size(type) / width; ++k) {
        fill_one(base, rng, file, objects, bytes + k * width);
      }
      return;
    }
    case H5T_VLEN:
      return fill_sequence(type, rng, file, objects, out);
    case H5T_REFERENCE: {
      const int64_t which = rng.below(static_cast<int64_t>(objects.paths.size()) + 1);
      if (which == 0) return;  // null
      const std::string& path = objects.paths[static_cast<size_t>(which - 1)];
      check(H5Rcreate_object(file, path.c_str(), H5P_DEFAULT, static_cast<H5R_ref_t*>(out)),
            "H5Rcreate_object");
      objects.taken.insert(path);
      return;
    }
    default:
      for (size_t k = 0; k < H5Tget_size(type); ++k) bytes[k] = static_cast<char>(rng.next());
  }
}

void add_hex(const char* bytes, size_t count, std::string& out) {
  constexpr char digits[] = "0123456789abcdef";
  for (size_t k = 0; k < count; ++k) {
    out += digits[static_cast<unsigned char>(bytes[k]) >> 4];
    out += digits[static_cast<unsigned char>(bytes[k]) & 15];
  }
}

void add_text(hid_t type, const void* in, std::string& out);

void add_reference(const void* in, std::string& out) {
  if (is_null(in)) {
    out += "null";
    return;
  }
  char name[512] = "";
  auto* reference =
      const_cast<H5R_ref_t*>(static_cast<const H5R_ref_t*>(in));  // HDF5 takes no const
  check(H5Rget_obj_name(reference, H5P_DEFAULT, name, sizeof name), "H5Rget_obj_name");
  H5O_type_t kind = H5O_TYPE_UNKNOWN;
  check(H5Rget_obj_type3(reference, H5P_DEFAULT, &kind), "H5Rget_obj_type3");
  const Id object(H5Ropen_object(reference, H5P_DEFAULT, H5P_DEFAULT), H5Oclose, "H5Ropen_object");
  H5O_info2_t info;
  check(H5Oget_info3(object, &info, H5O_INFO_BASIC), "H5Oget_info3");
  // Of several names HDF5 tells the one that it finds first in the file.
  out +=
      "->" + (info.rc > 1 ? std::to_string(info.rc) + " names" : name) + ":" + std::to_string(kind);
}

void add_text(hid_t type, const void* in, std::string& out) {
  const auto* bytes = static_cast<const char*>(in);
  switch (H5Tget_class(type)) {
    case H5T_COMPOUND:
      out += '{';
      for (int k = 0; k < H5Tget_nmembers(type); ++k) {
        const auto member = static_cast<unsigned>(k);
        const Id part(H5Tget_member_type(type, member), H5Tclose, "member");
        add_text(part, bytes + H5Tget_member_offset(type, member), out);
        out += ',';
      }
      out += '}';
      return;
    case H5T_ARRAY: {
      const Id base(H5Tget_super(type), H5Tclose, "H5Tget_super");
      const size_t width = H5Tget_size(base);
      out += '[';
      for (size_t k = 0; k < H5Tget_size(type) / width; ++k) {
        add_text(base, bytes + k * width, out);
        out += ',';
      }
      out += ']';
      return;
    }
    case H5T_VLEN: {
      hvl_t sequence;
      std::memcpy(&sequence, in, sizeof sequence);
      const Id base(H5Tget_super(type), H5Tclose, "H5Tget_super");
      out += std::to_string(sequence.len) + "(";
      for (size_t k = 0; k < sequence.len; ++k) {
        add_text(base, static_cast<const char*>(sequence.p) + k * H5Tget_size(base), out);
      }
      out += ')';
      return;
    }
    case H5T_STRING:
      if (H5Tis_variable_str(type) > 0) {
        const char* text = nullptr;
        std::memcpy(&text, in, sizeof text);
        // HDF5 reads what was never written as null or as empty.
        out += '"' + std::string(text ? text : "") + '"';
        return;
      }
      return add_hex(bytes, H5Tget_size(type), out);
    case H5T_REFERENCE:
      return add_reference(in, out);
    default:
      return add_hex(bytes, H5Tget_size(type), out);
  }
}

}  // namespace

Id random_type(Rng& rng, bool serial) { return random_element(rng, serial, 0); }

bool holds_memory(hid_t type) {
  return H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tdetect_class(type, H5T_REFERENCE) > 0 ||
         H5Tis_variable_str(type) > 0 ||
         (H5Tdetect_class(type, H5T_STRING) > 0 &&
          type_text(type).find("vlen") != std::string::npos);
}

Id random_memory_type(Rng& rng, hid_t file_type) {
  const H5T_class_t kind = H5Tget_class(file_type);
  if ((kind == H5T_INTEGER || kind == H5T_FLOAT) && rng.one_in(3)) {
    return copy_type(rng.one_in(2) ? random_integer(rng) : random_float(rng));
  }
  Id native(H5Tget_native_type(file_type, H5T_DIR_ASCEND), H5Tclose, "H5Tget_native_type");
  const int members = kind == H5T_COMPOUND ? H5Tget_nmembers(native) : 0;
  if (members < 2 || !rng.one_in(4)) return native;
  const auto member = static_cast<unsigned>(rng.below(members));
  const Id part(H5Tget_member_type(native, member), H5Tclose, "member");
  Id some(H5Tcreate(H5T_COMPOUND, H5Tget_size(part)), H5Tclose, "compound");
  char* name = H5Tget_member_name(native, member);
  const herr_t status = H5Tinsert(some, name, 0, part);
  H5free_memory(name);
  check(status, "H5Tinsert");
  return some;
}

Values::Values(hid_t type, size_t count)
    : type_(copy_type(type)),
      count_(count),
      width_(H5Tget_size(type)),
      bytes_(count * width_ + 1) {}

Values::~Values() {
  if (count_ == 0 || !holds_memory(type_)) return;
  const Id space = simple_space({count_});
  H5Treclaim(type_, space, H5P_DEFAULT, bytes_.data());
}

std::set<std::string> Values::fill(Rng& rng, hid_t file, const std::vector<std::string>& paths) {
  Referable objects{paths, {}};
  for (size_t k = 0; k < count_; ++k) {
    fill_one(type_, rng, file, objects, bytes_.data() + k * width_);
  }
  return std::move(objects.taken);
}

std::string Values::text() const {
  std::string out;
  for (size_t k = 0; k < count_; ++k) {
    add_text(type_, bytes_.data() + k * width_, out);
    out += ' ';
  }
  return out;
}

void Values::spoil() {
  for (size_t k = 0; k < count_; ++k) bytes_[k * width_] ^= std::byte{1};
}

std::string type_text(hid_t type) {
  std::string out = std::to_string(H5Tget_class(type)) + ":" + std::to_string(H5Tget_size(type));
  switch (H5Tget_class(type)) {
    case H5T_COMPOUND:
    case H5T_ENUM:
      for (int k = 0; k < H5Tget_nmembers(type); ++k) {
        char* name = H5Tget_member_name(type, static_cast<unsigned>(k));
        out += ' ' + std::string(name ? name : "?");
        H5free_memory(name);
        if (H5Tget_class(type) == H5T_ENUM) continue;
        const Id part(H5Tget_member_type(type, static_cast<unsigned>(k)), H5Tclose, "member");
        out += "(" + type_text(part) + ")";
      }
      return out;
    case H5T_ARRAY:
    case H5T_VLEN: {
      const Id base(H5Tget_super(type), H5Tclose, "H5Tget_super");
      return out + (H5Tget_class(type) == H5T_VLEN ? " vlen" : " of") + "(" + type_text(base) + ")";
    }
    case H5T_STRING:
      if (H5Tis_variable_str(type) > 0) return out + " vlen";
      return out + " pad " + std::to_string(H5Tget_strpad(type)) + " cset " +
             std::to_string(H5Tget_cset(type));
    case H5T_OPAQUE: {
      char* tag = H5Tget_tag(type);
      out += ' ' + std::string(tag ? tag : "");
      H5free_memory(tag);
      return out;
    }
    default:
      return out + " order " + std::to_string(H5Tget_order(type));
  }
}

}  // namespace forebay_test
