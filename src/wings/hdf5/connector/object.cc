#include "hdf5/connector/object.h"

#include <algorithm>
#include <new>
#include <vector>

#include "hdf5/connector/under_objects.h"

namespace forebay::vol {
namespace {

// All open files of the process. They are few, and searched only when one is opened.
std::vector<FileState*>& open_files() {
  // Never destroyed: at exit HDF5 closes open objects after this library's objects are destroyed.
  static auto& files = *new std::vector<FileState*>;
  return files;
}

bool wraps_objects(void* under, hid_t connector) {
  const H5VL_class_t* cls = nullptr;
  if (H5VLintrospect_get_conn_cls(under, connector, H5VL_GET_CONN_LVL_CURR, &cls) < 0 || !cls)
    return true;
  return cls->wrap_cls.get_object || cls->wrap_cls.get_wrap_ctx || cls->wrap_cls.wrap_object;
}

bool file_number(void* under_file, hid_t connector, unsigned long& number) {
  const QuietErrors quiet;  // not every connector knows
  H5VL_file_get_args_t args;
  args.op_type = H5VL_FILE_GET_FILENO;
  args.args.get_fileno.fileno = &number;
  return H5VLfile_get(under_file, connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) >= 0;
}

}  // namespace

FileState::FileState(hid_t connector, bool under_wraps, bool numbered, unsigned long number)
    : connector_(connector), under_wraps_(under_wraps), numbered_(numbered), number_(number) {
  H5Iinc_ref(connector_);
  open_files().push_back(this);
}

FileState::~FileState() {
  std::erase(open_files(), this);
  for (FileState* file : open_files())
    if (file->parent_ == this) file->parent_ = nullptr;
  hooks_.reset();
  reached_.reset();
  ::operator delete(room_);
  const ErrorStackSaver saver;
  H5Idec_ref(connector_);
}

FileState* FileState::find(hid_t connector, unsigned long number) noexcept {
  for (FileState* file : open_files())
    if (file->numbered_ && file->number_ == number && file->open_ > 0 &&
        same_connector(file->connector_, connector))
      return file;
  return nullptr;
}

FileRef FileState::of(void* under_file, hid_t connector) {
  unsigned long number = 0;
  const bool numbered = file_number(under_file, connector, number);
  if (numbered)
    if (FileState* file = find(connector, number)) return FileRef(file);
  return FileRef(new FileState(connector, wraps_objects(under_file, connector), numbered, number));
}

FileRef FileState::of_object(const UnderObject& object, const FileRef& from) {
  if (object.type != H5I_GROUP && object.type != H5I_DATASET) return from;
  if (!from->numbered_ || !is_native(from->connector_)) return from;
  // H5VL_OBJECT_GET_FILE is not used: HDF5 would keep a file behind a link open afterwards.
  const unsigned long number = info_of(object, H5O_INFO_BASIC).fileno;
  if (number == from->number_) return from;
  if (FileState* file = find(from->connector_, number)) return FileRef(file);
  FileRef file(new FileState(from->connector_, from->under_wraps_, true, number));
  const LibraryContext own;  // not part of the program's call
  file->reached_ = reached_log(object);
  if (file->reached_) file->hidden_links_ = std::make_unique<HiddenLinks>(object);
  return file;
}

void FileState::each_open(const std::function<bool(FileState&)>& use) {
  for (FileState* file : open_files())
    if (file->a_handle() != nullptr && use(*file)) return;
}

bool FileState::any_log() noexcept {
  return std::any_of(open_files().begin(), open_files().end(),
                     [](const FileState* file) { return file->hooks() != nullptr; });
}

void FileState::attach(std::unique_ptr<FileHooks> hooks, void* under_file) {
  if (hooks && hooks->hides()) {
    const LibraryContext own;  // ranks read for themselves here: one may have failed by now
    hidden_links_ = std::make_unique<HiddenLinks>(UnderObject{under_file, connector_, H5I_FILE});
  }
  hooks_ = std::move(hooks);
  looked_into_ = true;
}

void FileState::make_room_for_wrapping() {
  if (!room_) room_ = ::operator new(sizeof(Object));
}

Object* FileState::wrap_for_library(void* under_file) {
  make_room_for_wrapping();
  return new (std::exchange(room_, nullptr)) Object(under_file, FileRef(this), H5I_FILE, false);
}

void FileState::flush_mounted() {
  if (flushes_mounted_) return;  // files may be mounted in each other, one after the other
  const struct Mark {
    explicit Mark(bool& on) : on_(on) { on_ = true; }
    ~Mark() { on_ = false; }
    bool& on_;
  } mark(flushes_mounted_);
  for (FileState* file : open_files()) {
    if (file->parent_ != this || file == this) continue;
    if (file->hooks()) file->hooks()->flush_with_parent();
    file->flush_mounted();
  }
}

WrapContext* FileState::get_wrap_context(void* under_object) {
  WrapContext* context = &plain_context_;
  if (under_wraps_) {
    void* under_context = nullptr;
    if (H5VLget_wrap_ctx(under_object, connector_, &under_context) < 0) throw UnderFailed{};
    context = new WrapContext{this, under_context};
  }
  ++owners_;
  return context;
}

void FileState::free_wrap_context(WrapContext* context) noexcept {
  FileState* file = context->file;
  if (context != &file->plain_context_) {
    if (context->under) H5VLfree_wrap_ctx(context->under, file->connector_);
    delete context;
  }
  if (--file->owners_ == 0) delete file;
}

Closing FileState::closing(const Object& object) const noexcept {
  if (open_ == 1) return Closing::last;
  if (object.type != H5I_FILE || handles_.size() > 1) return Closing::handle;
  return closes_all_ ? Closing::last : Closing::file;
}

Object* wrap(void* under, const FileRef& file, H5I_type_t type, hid_t dxpl) {
  OwnedUnder close_on_error(under, file->connector(), type);
  auto object =
      std::make_unique<Object>(under, FileState::of_object(close_on_error.get(), file), type);
  if (type == H5I_DATASET && object->hooks())
    object->logged = object->hooks()->open_dataset(object->below(), dxpl);
  close_on_error.release();
  return object.release();
}

}  // namespace forebay::vol
