#include "hdf5/convert/copy.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/attempt.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text_table.h"
#include "comm/agree.h"
#include "hdf5/commands/hdf5_commands.h"
#include "hdf5/convert/chunk_copy.h"
#include "hdf5/convert/direct_copy.h"
#include "hdf5/convert/hdf5_references.h"
#include "hdf5/convert/storage.h"
#include "tools/convert/convert_file.h"
#include "tools/progress.h"

namespace forebay::tools {
namespace {

// A dataset whose values are copied. Both files have it at the same path.
struct Job {
  std::string path;
  Extents extents;
  Count width = 0;                    // bytes of an element in memory
  bool plain = true;                  // no memory outside of elements, no references
  std::vector<std::uint64_t> hashes;  // of its blocks
};

// Elements in memory. Frees what HDF5 allocated for them.
class Elements {
 public:
  Elements(hid_t type, hid_t space, std::size_t bytes)
      : type_(type), space_(space), bytes_(bytes), owns_(has_varying_parts(type)) {}
  ~Elements() {
    if (owns_) H5Dvlen_reclaim(type_, space_, H5P_DEFAULT, bytes_.data());
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  void* data() { return bytes_.data(); }

 private:
  hid_t type_, space_;
  std::vector<std::byte> bytes_;  // zeros own nothing
  bool owns_;                     // HDF5 allocates memory for parts of elements
};

class Copier {
 public:
  Copier(hid_t in, const Hdf5View& view, std::string out, const Hdf5CopyOptions& options)
      : in_(in), view_(view), path_(std::move(out)), options_(options), storage_(options.method) {}

  ConvertResult run() {
    const Hdf5Id root = owned(H5Gopen2(in_, "/", H5P_DEFAULT), "/");
    create_file(root);
    const ReferenceTranslator references(
        in_, out_,
        [this](const Hdf5Address& address) {
          const auto found = made_.find(address);
          return found == made_.end() ? std::nullopt : std::optional(found->second);
        },
        [this](hid_t dataset) { return view_.space(dataset); });
    references_ = &references;
    find_types(root, "/");
    seen_.clear();
    made_.emplace(object_of(root).address, "/");
    objects_.emplace_back("/");
    build(root, owned(H5Gopen2(out_, "/", H5P_DEFAULT), "/"), "/");
    for (const std::string& path : objects_) naming(path, [&] { copy_attributes(path); });
    for (Job& job : jobs_) all_bytes_ += elements_of(job) * job.width;
    for (Job& job : jobs_) naming(job.path, [&] { copy_values(job); });
    result_.variables = std::ssize(jobs_) + std::ssize(direct_) + std::ssize(chunked_);
    close();
    if (options_.verify) verify();
    return result_;
  }

  // Returns paths of datasets that have space in the output, but no values yet.
  const std::vector<std::string>& direct() const { return direct_; }
  // Returns paths of datasets in chunks, which have no values yet.
  const std::vector<std::string>& chunked() const { return chunked_; }

 private:
  // Puts the object's path before errors.
  template <typename F>
  static void naming(const std::string& path, F f) {
    forebay::naming(printable(path), f);
  }

  static Count elements_of(const Job& job) {
    Count n = job.extents.null ? 0 : 1;
    for (const Count extent : job.extents.now)
      if (!multiply_fits(n, extent, n)) throw Error(Errc::evarsize, job.path + " is too large");
    return n;
  }

  // -- the file -----------------------------------------------------------------------------------

  void create_file(hid_t root) {
    const Hdf5Id creation = owned(H5Fget_create_plist(in_), "file creation");
    const Hdf5Id of_root = owned(H5Gget_create_plist(root), "/");
    unsigned links = 0, attributes = 0;
    H5Pget_link_creation_order(of_root, &links);
    H5Pget_attr_creation_order(of_root, &attributes);
    checked(H5Pset_link_creation_order(creation, links), "/");
    checked(H5Pset_attr_creation_order(creation, attributes), "/");
    // The properties have the size of the user block before the file. It is copied at the end.
    H5Pget_userblock(creation, &user_block_);
    out_ = owned(H5Fcreate(path_.c_str(), H5F_ACC_EXCL, creation, new_file_access()),
                 printable(path_));
  }

  void close() {
    types_.clear();
    references_ = nullptr;
    checked(H5Fflush(out_, H5F_SCOPE_LOCAL), printable(path_));
    if (H5Fclose(out_.release()) < 0) throw_hdf5(printable(path_));
    if (user_block_ > 0) copy_user_block();
  }

  void copy_user_block() {
    const std::string name = path_of(in_);
    const Descriptor from(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    const Descriptor to(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    if (from.get() < 0 || to.get() < 0)
      throw system_error(errno, Errc::ecantwrite, "copying the user block to", path_);
    std::array<std::byte, 4096> block{};
    for (hsize_t done = 0; done < user_block_; done += block.size()) {
      const auto part = std::span(block).first(std::min<hsize_t>(block.size(), user_block_ - done));
      const auto at = static_cast<Offset>(done);
      write_at(to.get(), at, part.first(read_at(from.get(), at, part, name)), path_);
    }
  }

  // -- objects ------------------------------------------------------------------------------------

  // Makes committed types first, without links, since datasets and attributes may use them.
  void find_types(hid_t group, const std::string& path) {
    if (!seen_.insert(object_of(group).address).second) return;
    for (const Hdf5Link& link : links_of(group)) {
      if (link.kind != H5L_TYPE_HARD || view_.hides_link(path, link.name)) continue;
      const std::string name = joined_path(path, link.name);
      const Hdf5Id object = owned(H5Oopen(group, link.name.c_str(), H5P_DEFAULT), printable(name));
      const Hdf5Object known = object_of(object);
      if (known.kind == H5O_TYPE_GROUP) find_types(object, name);
      if (known.kind != H5O_TYPE_NAMED_DATATYPE || types_.contains(known.address)) continue;
      Hdf5Id type = owned(H5Tcopy(object), printable(name));
      const Hdf5Id creation = owned(H5Tget_create_plist(object), printable(name));
      checked(H5Tcommit_anon(out_, type, creation, H5P_DEFAULT), printable(name));
      types_.emplace(known.address, std::move(type));
    }
  }

  // Returns the type for creating an object: for a committed type, its copy in the output.
  hid_t type_in_out(hid_t type) const {
    if (H5Tcommitted(type) <= 0) return type;
    const auto found = types_.find(object_of(type).address);
    return found == types_.end() ? type : static_cast<hid_t>(found->second);
  }

  void build(hid_t from, hid_t to, const std::string& path) {
    for (const Hdf5Link& link : links_of(from)) {
      if (view_.hides_link(path, link.name)) continue;
      const std::string name = joined_path(path, link.name);
      naming(name, [&] { copy_link(from, to, link, name); });
    }
  }

  void copy_link(hid_t from, hid_t to, const Hdf5Link& link, const std::string& path) {
    const Hdf5Id creation = owned(H5Pcreate(H5P_LINK_CREATE), "a link");
    H5L_info_t info;
    checked(H5Lget_info(from, link.name.c_str(), &info, H5P_DEFAULT), "a link");
    checked(H5Pset_char_encoding(creation, info.cset), "a link");
    if (link.kind != H5L_TYPE_HARD) {
      copy_soft_link(from, to, link, info.u.val_size, creation);
      return;
    }
    const Hdf5Id object = owned(H5Oopen(from, link.name.c_str(), H5P_DEFAULT), "cannot be opened");
    const Hdf5Object known = object_of(object);
    if (const auto made = made_.find(known.address); made != made_.end()) {
      checked(
          H5Lcreate_hard(out_, made->second.c_str(), to, link.name.c_str(), creation, H5P_DEFAULT),
          "a second name");
      return;
    }
    made_.emplace(known.address, path);
    objects_.push_back(path);
    if (known.kind == H5O_TYPE_GROUP) {
      const Hdf5Id how = group_properties(object);
      build(object, owned(H5Gcreate2(to, link.name.c_str(), creation, how, H5P_DEFAULT), "a group"),
            path);
    } else if (known.kind == H5O_TYPE_DATASET) {
      create_dataset(object, to, link.name, path, creation);
    } else if (const auto type = types_.find(known.address); type != types_.end()) {
      checked(H5Olink(type->second, to, link.name.c_str(), creation, H5P_DEFAULT), "a type");
    } else {
      throw Error(Errc::enotsupport, "is an object that HDF5 does not know");
    }
  }

  // Returns the creation properties of a group. HDF5's own list also says where the links of a
  // large group lie. A new group made with it would look for its links there.
  static Hdf5Id group_properties(hid_t group) {
    const Hdf5Id own = owned(H5Gget_create_plist(group), "a group");
    Hdf5Id how = owned(H5Pcreate(H5P_GROUP_CREATE), "a group");
    unsigned order = 0, most_compact = 0, least_dense = 0, entries = 0, length = 0;
    std::size_t heap = 0;
    hbool_t times = true;
    const bool done = H5Pget_link_creation_order(own, &order) >= 0 &&
                      H5Pset_link_creation_order(how, order) >= 0 &&
                      H5Pget_link_phase_change(own, &most_compact, &least_dense) >= 0 &&
                      H5Pset_link_phase_change(how, most_compact, least_dense) >= 0 &&
                      H5Pget_est_link_info(own, &entries, &length) >= 0 &&
                      H5Pset_est_link_info(how, entries, length) >= 0 &&
                      H5Pget_local_heap_size_hint(own, &heap) >= 0 &&
                      H5Pset_local_heap_size_hint(how, heap) >= 0 &&
                      H5Pget_attr_creation_order(own, &order) >= 0 &&
                      H5Pset_attr_creation_order(how, order) >= 0 &&
                      H5Pget_attr_phase_change(own, &most_compact, &least_dense) >= 0 &&
                      H5Pset_attr_phase_change(how, most_compact, least_dense) >= 0 &&
                      H5Pget_obj_track_times(own, &times) >= 0 &&
                      H5Pset_obj_track_times(how, times) >= 0;
    if (!done) throw_hdf5("a group");
    return how;
  }

  static void copy_soft_link(hid_t from, hid_t to, const Hdf5Link& link, std::size_t size,
                             hid_t creation) {
    const char* name = link.name.c_str();
    std::vector<char> value(size + 1, '\0');
    checked(H5Lget_val(from, name, value.data(), size, H5P_DEFAULT), "a link");
    if (link.kind == H5L_TYPE_SOFT) {
      checked(H5Lcreate_soft(value.data(), to, name, creation, H5P_DEFAULT), "a soft link");
      return;
    }
    if (link.kind != H5L_TYPE_EXTERNAL)
      throw Error(Errc::enotsupport, "is a link of a kind that only its own program knows");
    const char *file = nullptr, *object = nullptr;
    unsigned flags = 0;
    checked(H5Lunpack_elink_val(value.data(), size, &flags, &file, &object), "an external link");
    checked(H5Lcreate_external(file, object, to, name, creation, H5P_DEFAULT), "an external link");
  }

  // Replaces properties that refer to data elsewhere by chunks, or drops them, since values are
  // copied.
  static Hdf5Id storable(Hdf5Id creation, const Extents& extents) {
    if (H5Pget_external_count(creation) > 0) {
      Hdf5Id plain = owned(H5Pcreate(H5P_DATASET_CREATE), "its properties");
      unsigned order = 0;
      H5Pget_attr_creation_order(creation, &order);
      H5Pset_attr_creation_order(plain, order);
      return plain;
    }
    if (H5Pget_layout(creation) == H5D_VIRTUAL)
      checked(H5Pset_layout(creation, H5D_CONTIGUOUS), "its layout");
    const bool room = !extents.now.empty() && H5Pget_layout(creation) == H5D_COMPACT;
    if (room && extents.now != extents.most)
      checked(H5Pset_layout(creation, H5D_CONTIGUOUS), "its layout");
    return creation;
  }

  void create_dataset(hid_t dataset, hid_t to, const std::string& name, const std::string& path,
                      hid_t link) {
    const Hdf5Id type = view_.type(dataset), space = view_.space(dataset);
    Job job;
    job.path = path;
    job.extents = extents_of(space);
    job.width = static_cast<Count>(H5Tget_size(type));
    job.plain = !has_varying_parts(type) && !has_references(type);
    const Hdf5Id creation = storable(view_.creation(dataset), job.extents);
    const bool grows = job.extents.now != job.extents.most;
    if (!job.extents.null && (grows || (storage_.asks() && job.plain)))
      storage_.apply(creation, path.substr(1), job.extents, job.width);
    const bool direct = job.plain && fits_direct_copy(creation, job.extents, job.width);
    if (direct) prepare_direct_copy(creation);
    owned(H5Dcreate2(to, name.c_str(), type_in_out(type), space, link, creation, H5P_DEFAULT),
          "cannot be created");
    if (direct)
      direct_.push_back(path);
    else if (job.plain && fits_chunk_copy(creation, job.extents, job.width))
      chunked_.push_back(path);
    else if (!job.extents.null)
      jobs_.push_back(std::move(job));
  }

  // -- attributes ---------------------------------------------------------------------------------

  void copy_attributes(const std::string& path) {
    const Hdf5Id from = owned(H5Oopen(in_, path.c_str(), H5P_DEFAULT), "cannot be opened");
    const Hdf5Id to = owned(H5Oopen(out_, path.c_str(), H5P_DEFAULT), "cannot be opened");
    for (const std::string& name : attribute_names(from)) {
      if (view_.hides_attribute(from, name)) continue;
      naming("attribute " + name, [&] { copy_attribute(from, to, name); });
    }
  }

  void copy_attribute(hid_t from, hid_t to, const std::string& name) {
    const Hdf5Id source = owned(H5Aopen(from, name.c_str(), H5P_DEFAULT), "cannot be opened");
    const Hdf5Id type = owned(H5Aget_type(source), "its type");
    const Hdf5Id space = owned(H5Aget_space(source), "its dataspace");
    const Hdf5Id creation = owned(H5Aget_create_plist(source), "its properties");
    const Hdf5Id copy =
        owned(H5Acreate2(to, name.c_str(), type_in_out(type), space, creation, H5P_DEFAULT),
              "cannot be created");
    const auto n = static_cast<std::size_t>(checked(H5Sget_simple_extent_npoints(space), "it"));
    if (n == 0) return;
    Elements values(type, space, n * H5Tget_size(type));
    checked(H5Aread(source, type, values.data()), "cannot be read");
    if (has_references(type)) references_->translate(type, values.data(), n);
    checked(H5Awrite(copy, type, values.data()), "cannot be written");
  }

  // -- values -------------------------------------------------------------------------------------

  // Returns blocks of whole chunks of the output, so that each chunk is written once.
  Blocks blocks_of(const Job& job, hid_t dataset) const {
    const Hdf5Id creation = owned(H5Dget_create_plist(dataset), "its properties");
    return {job.extents.now, chunk_shape_of(creation, job.extents.now.size()), job.width,
            options_.block_bytes};
  }

  void copy_values(Job& job) {
    if (elements_of(job) == 0) return;
    const Hdf5Id from = open_with_cache(in_, job.path, 64 << 20);
    const Hdf5Id to = open_with_cache(out_, job.path, 0);
    const Hdf5Id type = owned(H5Tcopy(view_.type(from)), "its type");
    const Blocks blocks = blocks_of(job, to);
    for (Count b = 0; b < blocks.size(); ++b) {
      const Subarray part = blocks[b];
      const auto n = static_cast<std::size_t>(part.elements());
      const Hdf5Id memory = simple_space(part.count);
      Elements values(type, memory, n * static_cast<std::size_t>(job.width));
      view_.read(from, type, part, values.data());
      if (has_references(type)) references_->translate(type, values.data(), n);
      if (options_.verify && job.plain) job.hashes.push_back(hash_of(values, n, job));
      const Hdf5Id space = owned(H5Dget_space(to), "its dataspace");
      select(space, part);
      checked(H5Dwrite(to, type, memory, space, H5P_DEFAULT, values.data()), "cannot be written");
      result_.bytes += static_cast<Count>(n) * job.width;
      if (options_.progress) options_.progress("convert", result_.bytes, all_bytes_);
    }
  }

  static std::uint64_t hash_of(Elements& values, std::size_t n, const Job& job) {
    return forebay::hash_of(
        {static_cast<std::byte*>(values.data()), n * static_cast<std::size_t>(job.width)});
  }

  void verify() {
    const Hdf5Id file = open_hdf5_file(path_);
    const Hdf5View plain;
    Count done = 0;
    for (const Job& job : jobs_) {
      if (!job.plain) continue;
      if (!job.hashes.empty()) naming(job.path, [&] { verify_values(file, plain, job); });
      ++result_.verified;
      done += elements_of(job) * job.width;
      if (options_.progress) options_.progress("verify", done, all_bytes_);
    }
  }

  void verify_values(hid_t file, const Hdf5View& plain, const Job& job) const {
    const Hdf5Id dataset = open_with_cache(file, job.path, 0);
    const Hdf5Id type = owned(H5Tcopy(plain.type(dataset)), "its type");
    const Blocks blocks = blocks_of(job, dataset);
    for (Count b = 0; b < blocks.size(); ++b) {
      const Subarray part = blocks[b];
      const auto n = static_cast<std::size_t>(part.elements());
      Elements values(type, H5S_ALL, n * static_cast<std::size_t>(job.width));
      plain.read(dataset, type, part, values.data());
      if (hash_of(values, n, job) != job.hashes[static_cast<std::size_t>(b)])
        throw Error(Errc::eio, "verification: has other values in the output",
                    "the output was removed; try another disk");
    }
  }

  hid_t in_;
  const Hdf5View& view_;
  std::string path_;
  const Hdf5CopyOptions& options_;
  Hdf5Storage storage_;
  Hdf5Id out_;
  hsize_t user_block_ = 0;
  std::map<Hdf5Address, Hdf5Id> types_;      // input → committed type in the output
  std::map<Hdf5Address, std::string> made_;  // input → path in the output
  std::set<Hdf5Address> seen_;
  std::vector<std::string> objects_;  // paths, in the order of creation
  std::vector<Job> jobs_;
  std::vector<std::string> direct_, chunked_;
  const ReferenceTranslator* references_ = nullptr;
  Count all_bytes_ = 0;
  ConvertResult result_;
};

/// Returns rank 0's paths on every rank.
std::vector<std::string> shared_paths(const Comm& comm, const std::vector<std::string>& mine) {
  std::string text;
  for (const std::string& path : mine) text += path + '\0';
  comm.broadcast(text);
  std::vector<std::string> paths;
  for (std::size_t at = 0; at < text.size(); at += paths.back().size() + 1)
    paths.emplace_back(text.c_str() + at);
  return paths;
}

}  // namespace

ConvertResult copy_hdf5(const Comm& comm, hid_t in, const Hdf5View& view, const std::string& out,
                        const Hdf5CopyOptions& options) {
  ConvertResult result;
  std::vector<std::string> direct, chunked;
  by_root(comm, [&] {
    Copier copier(in, view, out, options);
    result = copier.run();
    direct = copier.direct();
    chunked = copier.chunked();
  });
  direct = shared_paths(comm, direct);
  chunked = shared_paths(comm, chunked);
  if (!direct.empty()) result.bytes += copy_direct(comm, in, view, out, direct, options);
  if (!chunked.empty()) result.bytes += copy_chunks(comm, in, view, out, chunked, options);
  if (options.verify) result.verified += std::ssize(direct) + std::ssize(chunked);
  by_root(comm, [&] { sync_file(out); });
  return result;
}

ConvertResult copy_hdf5_file(const Comm& comm, const std::string& in, const std::string& out,
                             const ConvertOptions& options) {
  Hdf5CopyOptions how;
  how.method = options.method;
  how.verify = options.verify;
  Progress progress("convert", options.quiet || !comm.is_root() ? Progress::Where::nowhere
                                                                : Progress::Where::automatic);
  how.progress = [&](const char* step, Count done, Count all) { progress.tell(step, done, all); };
  Hdf5Id file;
  std::unique_ptr<Hdf5View> view;
  try {
    agree_on_error(comm, attempt_to([&] {
                     file = open_hdf5_file(in);
                     view = make_view(file);
                   }));
    return copy_hdf5(comm, file, *view, out, how);
  } catch (const Error& error) {
    if (error.message().starts_with(printable(in))) throw;
    throw error.at(printable(in));
  }
}

}  // namespace forebay::tools
