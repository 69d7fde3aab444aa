// .npz: a zip archive of .npy files, stored or deflated, read and written in memory through minizip.
#include <minizip/unzip.h>
#include <minizip/zip.h>

#include <algorithm>
#include <memory>

#include "device/allocator.h"
#include "params/npy.h"
#include "params/params.h"

namespace opd {
namespace {

constexpr unsigned kPiece = 1u << 30;  // minizip counts bytes of one call in 32 bits
constexpr uint64_t kMostRatio = 1032;  // what deflate reaches at best: one bit for 129 bytes
constexpr uLong kEncrypted = 1, kUtf8Name = 1 << 11;

// ---- minizip's view of memory. A stream is a MemoryFile; one that is read has no `out`.

struct MemoryFile {
  Bytes in;
  std::string *out = nullptr;
  uint64_t at = 0;
  uint64_t size() const { return out ? out->size() : in.size(); }
};

MemoryFile &file_of(voidpf stream) { return *static_cast<MemoryFile *>(stream); }

uLong read_stream(voidpf, voidpf stream, void *to, uLong size) {
  auto &file = file_of(stream);
  const uint64_t n = std::min<uint64_t>(size, file.size() - std::min(file.at, file.size()));
  if (n)
    std::memcpy(to, file.out ? reinterpret_cast<const uint8_t *>(file.out->data()) + file.at : file.in.data() + file.at,
                n);
  file.at += n;
  return static_cast<uLong>(n);
}

uLong write_stream(voidpf, voidpf stream, const void *from, uLong size) {
  auto &file = file_of(stream);
  try {  // minizip is C: it must not be unwound
    if (file.at + size > file.out->size()) file.out->resize(file.at + size);
  } catch (...) { return 0; }
  std::memcpy(file.out->data() + file.at, from, size);
  file.at += size;
  return size;
}

long seek_stream(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
  auto &file = file_of(stream);
  const uint64_t base = origin == ZLIB_FILEFUNC_SEEK_CUR ? file.at : origin == ZLIB_FILEFUNC_SEEK_END ? file.size() : 0;
  uint64_t target;
  if (__builtin_add_overflow(base, uint64_t{offset}, &target) || target > file.size()) return -1;
  file.at = target;
  return 0;
}

zlib_filefunc64_def functions_of(MemoryFile &file) {
  zlib_filefunc64_def functions{};
  functions.zopen64_file = [](voidpf opaque, const void *, int) { return opaque; };
  functions.zread_file = read_stream;
  functions.zwrite_file = write_stream;
  functions.ztell64_file = [](voidpf, voidpf stream) { return ZPOS64_T{file_of(stream).at}; };
  functions.zseek64_file = seek_stream;
  functions.zclose_file = [](voidpf, voidpf) { return 0; };
  functions.zerror_file = [](voidpf, voidpf) { return 0; };
  functions.opaque = &file;
  return functions;
}

// ---- reading

// The offset of the record that ends an archive. minizip reads what is cut off of it as zeros, and takes one at offset
// 0, as an archive without entries has it, for a missing one.
size_t find_end_record(Bytes bytes, const char *what) {
  constexpr size_t kEndRecord = 22;  // signature, numbers of disks and entries, sizes; the length of a comment
  const size_t begin = as_text(bytes).rfind("PK\5\6");
  if (begin == std::string_view::npos || bytes.size() - begin < kEndRecord)
    fail(OPD_BAD_FORMAT, what, ": no end of a zip directory was found up to offset ", bytes.size());
  const Bytes record = bytes.subspan(begin);
  const size_t comment = record[20] | size_t{record[21]} << 8;
  const bool empty = std::all_of(&record[4], &record[20], [](uint8_t byte) { return byte == 0; });
  if (record.size() != kEndRecord + comment || empty != (begin == 0))
    fail(OPD_BAD_FORMAT, what, ": the end of the zip directory at offset ", begin, " is damaged");
  return begin;
}

struct CloseUnzip {
  void operator()(void *file) const { unzClose(file); }
};

class Archive {
 public:
  Archive(Bytes bytes, const char *what) : what_(what), size_(bytes.size()), memory_{bytes} {
    zlib_filefunc64_def functions = functions_of(memory_);
    file_.reset(unzOpen2_64("", &functions));
    if (!file_)
      fail(OPD_BAD_FORMAT, what_, ": the end of the zip directory at offset ", find_end_record(bytes, what),
           " is damaged");
  }

  Ref<Params> read() {
    auto params = make_object<Params>();
    unz_global_info64 global{};
    unzGetGlobalInfo64(file_.get(), &global);
    int status = global.number_entry ? unzGoToFirstFile(file_.get()) : UNZ_END_OF_LIST_OF_FILE;
    for (uint64_t i = 0; status == UNZ_OK; ++i, status = unzGoToNextFile(file_.get())) read_entry(*params);
    if (status != UNZ_END_OF_LIST_OF_FILE || params->size() != global.number_entry) bad("is damaged");
    return params;
  }

 private:
  [[noreturn]] void bad(std::string_view problem) {
    fail(OPD_BAD_FORMAT, what_, ": the zip directory at offset ", unzGetOffset64(file_.get()), " ", problem);
  }

  void read_entry(Params &params) {
    unz_file_info64 info{};
    if (unzGetCurrentFileInfo64(file_.get(), &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK) bad("is damaged");
    std::string name(info.size_filename, '\0');
    if (unzGetCurrentFileInfo64(file_.get(), nullptr, name.data(), info.size_filename, nullptr, 0, nullptr, 0) !=
        UNZ_OK)
      bad("is damaged");
    if (!name.ends_with(".npy")) bad(concat("has the entry \"", name, "\", which is not an .npy file"));
    check_sizes(info, name);
    const auto content = std::make_unique_for_overwrite<uint8_t[]>(info.uncompressed_size);
    extract(content.get(), info.uncompressed_size, name);
    const Bytes bytes{content.get(), info.uncompressed_size};
    if (!as_text(bytes).starts_with(kNpyMagic))
      bad(concat("has the entry \"", name, "\", which does not begin as an .npy file"));
    const std::string place = concat(what_, ": ", name);
    auto tensor = read_npy(bytes, place.c_str());
    name.resize(name.size() - 4);
    if (!params.add(name, std::move(tensor))) bad(concat("has two entries for the name \"", name, "\""));
  }

  // Entries share no bytes and deflate has a best ratio, so an honest archive is bounded before anything is allocated.
  void check_sizes(const unz_file_info64 &info, const std::string &name) {
    if (info.flag & kEncrypted) fail(OPD_UNSUPPORTED, what_, ": the entry \"", name, "\" is encrypted");
    if (info.compression_method != 0 && info.compression_method != Z_DEFLATED)
      fail(OPD_UNSUPPORTED, what_, ": the entry \"", name, "\" is compressed by method ", info.compression_method,
           "; 0 (stored) and 8 (deflated) are known");
    const uint64_t packed = info.compressed_size, unpacked = info.uncompressed_size;
    if (packed > size_ - packed_) bad(concat("has entries of more bytes than the file, up to \"", name, "\""));
    packed_ += packed;
    if (info.compression_method == 0 ? unpacked != packed : unpacked / kMostRatio > packed)
      bad(concat("has the entry \"", name, "\" of ", unpacked, " bytes, which ", packed,
                 " bytes in the file cannot hold"));
    const uint64_t usable = usable_memory_bytes();
    if (unpacked > usable - std::min(usable, unpacked_))
      fail(OPD_OUT_OF_MEMORY, what_, ": the entries up to \"", name, "\" need more than the usable ", usable, " bytes");
    unpacked_ += unpacked;
  }

  void extract(uint8_t *to, uint64_t size, const std::string &name) {
    if (unzOpenCurrentFile(file_.get()) != UNZ_OK) bad(concat("does not fit the header of the entry \"", name, "\""));
    uint64_t done = 0;
    int n = 1;
    while (done < size && n > 0) {
      n = unzReadCurrentFile(file_.get(), to + done, static_cast<unsigned>(std::min<uint64_t>(kPiece, size - done)));
      if (n > 0) done += static_cast<uint64_t>(n);
    }
    const int status = unzCloseCurrentFile(file_.get());
    if (done != size || n < 0)
      bad(concat("has the entry \"", name, "\", of which only ", done, " of ", size, " bytes could be read"));
    if (status != UNZ_OK) bad(concat("has the entry \"", name, "\", whose checksum does not fit"));
  }

  const char *what_;
  uint64_t size_, packed_ = 0, unpacked_ = 0;
  MemoryFile memory_;
  std::unique_ptr<void, CloseUnzip> file_;
};

// ---- writing

void check_zip(int status) {
  if (status != ZIP_OK) fail(OPD_OUT_OF_MEMORY, "no memory for the .npz file (zip error ", status, ")");
}

void write_entry(zipFile zip, const std::string &name, const DLTensor &tensor) {
  require(name.find('\0') == std::string::npos && name.size() < 65000, "the parameter name \"", name.substr(0, 100),
          "\" cannot name an entry of an .npz file");
  const std::string header = npy_header(tensor);
  const uint64_t bytes = bytes_of(tensor);
  zip_fileinfo info{};
  info.dosDate = 0x00210000;  // 1 January 1980, the first there is: equal tensors give equal files
  const int zip64 = header.size() + bytes >= 0xFFFFFFFF;
  check_zip(zipOpenNewFileInZip4_64(zip, (name + ".npy").c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0, 0, 0,
                                    -MAX_WBITS, 8, 0, nullptr, 0, 20, kUtf8Name, zip64));
  check_zip(zipWriteInFileInZip(zip, header.data(), static_cast<unsigned>(header.size())));
  for (uint64_t done = 0; done < bytes; done += kPiece)
    check_zip(zipWriteInFileInZip(zip, data_of(tensor) + done,
                                  static_cast<unsigned>(std::min<uint64_t>(kPiece, bytes - done))));
  check_zip(zipCloseFileInZip(zip));
}

}  // namespace

Ref<Params> read_npz(Bytes bytes, const char *what) {
  return find_end_record(bytes, what) ? Archive(bytes, what).read() : make_object<Params>();
}

std::string write_npz(const Params &params) {
  std::string out;
  MemoryFile memory{{}, &out};
  zlib_filefunc64_def functions = functions_of(memory);
  const zipFile zip = zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &functions);
  if (!zip) throw std::bad_alloc();
  try {
    for (size_t i = 0; i < params.size(); ++i) write_entry(zip, params.name(i), on_host(params.tensor(i))->dl);
  } catch (...) {
    zipClose(zip, nullptr);
    throw;
  }
  check_zip(zipClose(zip, nullptr));
  return out;
}

}  // namespace opd
