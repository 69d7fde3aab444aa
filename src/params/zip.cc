#include "params/zip.h"

#include <zlib.h>

#include <algorithm>

namespace opd {
namespace {

constexpr uint64_t kMostBytesOfCall = 1u << 30;  // zlib counts bytes of one call in 32 bits
constexpr uint16_t kEncrypted = 1, kSizesFollow = 1 << 3;
constexpr uint32_t kMore = UINT32_MAX;  // the number is in the zip64 part
constexpr size_t kEndRecord = 22, kLocator = 20, kBigEndRecord = 56, kLongestComment = 65535;

struct Directory {
  uint64_t offset = 0, size = 0, count = 0;
};

class DirectoryReader {
 public:
  DirectoryReader(Bytes file, const char *what) : file_(file), what_(what) {}

  std::vector<ZipEntry> read() {
    const Directory directory = find();
    ByteReader in(file_.subspan(directory.offset, directory.size), what_, directory.offset);
    std::vector<ZipEntry> entries;
    for (uint64_t i = 0; i < directory.count; ++i) entries.push_back(read_entry(in, directory.offset));
    if (!in.at_end()) bad(in.offset(), "has more entries than it counts");
    check_overlap(entries);
    return entries;
  }

 private:
  [[noreturn]] void bad(uint64_t offset, std::string_view problem) const {
    fail(OPD_BAD_FORMAT, what_, ": the zip directory at offset ", offset, " ", problem);
  }

  // Finds the directory by the record at the end of the archive. Large archives have another record before it.
  Directory find() const {
    const size_t search = file_.size() - std::min(file_.size(), kEndRecord + kLongestComment);
    const size_t found = as_text(file_.subspan(search)).rfind("PK\5\6");
    const size_t end = search + found;
    if (found == std::string_view::npos || file_.size() - end < kEndRecord)
      fail(OPD_BAD_FORMAT, what_, ": no end of a zip directory was found up to offset ", file_.size());
    ByteReader in(file_.subspan(end), what_, end);
    in.take(10, "end of the zip directory");
    Directory directory;
    directory.count = in.read<uint16_t>("number of entries");
    directory.size = in.read<uint32_t>("size of the zip directory");
    directory.offset = in.read<uint32_t>("offset of the zip directory");
    const auto comment = in.read<uint16_t>("size of the comment");
    if (in.remaining() != comment)
      bad(end, concat("has a comment of ", comment, " bytes, but ", in.remaining(), " follow"));
    const size_t directory_end = read_zip64(end, directory);
    if (directory.offset > directory_end || directory.size != directory_end - directory.offset)
      bad(end, concat("takes ", directory.size, " bytes from offset ", directory.offset, ", but ends at offset ",
                      directory_end, ": it is damaged"));
    return directory;
  }

  size_t read_zip64(size_t end, Directory &directory) const {
    if (end < kLocator + kBigEndRecord || !as_text(file_.subspan(end - kLocator)).starts_with("PK\6\7")) return end;
    const size_t place = end - kLocator;
    ByteReader locator(file_.subspan(place + 8, 8), what_, place + 8);
    const auto at = locator.read<uint64_t>("offset of the zip64 record");
    if (at > place - kBigEndRecord || !as_text(file_.subspan(at)).starts_with("PK\6\6"))
      bad(place, concat("has no zip64 record at offset ", at, ": it is damaged"));
    ByteReader in(file_.subspan(at + 32, 24), what_, at + 32);
    directory.count = in.read<uint64_t>("number of entries");
    directory.size = in.read<uint64_t>("size of the zip directory");
    directory.offset = in.read<uint64_t>("offset of the zip directory");
    return at;
  }

  ZipEntry read_entry(ByteReader &in, uint64_t directory) const {
    const size_t place = in.offset();
    if (in.read<uint32_t>("zip directory") != 0x02014B50) bad(place, "is damaged");
    in.take(4, "zip directory");
    const auto flags = in.read<uint16_t>("zip directory");
    ZipEntry entry;
    entry.method = in.read<uint16_t>("zip directory");
    in.take(4, "zip directory");
    entry.checksum = in.read<uint32_t>("zip directory");
    entry.packed = in.read<uint32_t>("zip directory");
    entry.unpacked = in.read<uint32_t>("zip directory");
    const auto name = in.read<uint16_t>("zip directory"), extra = in.read<uint16_t>("zip directory"),
               comment = in.read<uint16_t>("zip directory");
    in.take(8, "zip directory");
    entry.begin = in.read<uint32_t>("zip directory");
    entry.name = as_text(in.take(name, "name of an entry"));
    read_extra(in.take(extra, "zip directory"), in.offset(), entry);
    in.take(comment, "comment of an entry");
    if (flags & kEncrypted) fail(OPD_UNSUPPORTED, what_, ": the entry \"", entry.name, "\" is encrypted");
    if (entry.method != kZipStored && entry.method != kZipDeflated)
      fail(OPD_UNSUPPORTED, what_, ": the entry \"", entry.name, "\" is compressed by method ", entry.method,
           "; 0 (stored) and 8 (deflated) are supported");
    if (entry.method == kZipStored && entry.packed != entry.unpacked)
      bad(place, concat("stores the entry \"", entry.name, "\" of ", entry.unpacked, " bytes in ", entry.packed));
    find_content(entry, flags, place, directory);
    return entry;
  }

  // Reads the zip64 part. It has only the numbers that do not fit 32 bits, in this order.
  void read_extra(Bytes extra, size_t end, ZipEntry &entry) const {
    ByteReader in(extra, what_, end - extra.size());
    while (in.remaining() >= 4) {
      const auto kind = in.read<uint16_t>("zip directory"), size = in.read<uint16_t>("zip directory");
      ByteReader part(in.take(size, "zip64 part"), what_, in.offset() - size);
      if (kind != 1) continue;
      for (uint64_t *number : {&entry.unpacked, &entry.packed, &entry.begin})
        if (*number == kMore) *number = part.read<uint64_t>("zip64 part");
      return;
    }
  }

  void find_content(ZipEntry &entry, uint16_t flags, size_t place, uint64_t directory) const {
    constexpr size_t kLocalHeader = 30;
    const auto unfit = [&] { bad(place, concat("does not fit the header of the entry \"", entry.name, "\"")); };
    if (entry.begin > directory || directory - entry.begin < kLocalHeader) unfit();
    ByteReader in(file_.subspan(entry.begin, directory - entry.begin), what_, entry.begin);
    if (in.read<uint32_t>("header of an entry") != 0x04034B50) unfit();
    in.take(4, "header of an entry");
    if (in.read<uint16_t>("header of an entry") != entry.method) unfit();
    in.take(4, "header of an entry");
    const auto checksum = in.read<uint32_t>("header of an entry");
    if (!(flags & kSizesFollow) && checksum != entry.checksum) unfit();
    in.take(8, "header of an entry");
    const auto name = in.read<uint16_t>("header of an entry"), extra = in.read<uint16_t>("header of an entry");
    if (as_text(in.take(name, "name of an entry")) != entry.name) unfit();
    in.take(extra, "header of an entry");
    entry.offset = in.offset();
    if (entry.packed > in.remaining())
      bad(place,
          concat("has the entry \"", entry.name, "\" of ", entry.packed, " bytes, more bytes than the file has there"));
  }

  // Overlapping entries are refused: a small file could expand to a huge one, and a write to one tensor would change
  // another.
  void check_overlap(const std::vector<ZipEntry> &entries) const {
    std::vector<const ZipEntry *> order;
    for (const ZipEntry &entry : entries) order.push_back(&entry);
    std::ranges::sort(order, {}, &ZipEntry::begin);
    for (size_t i = 1; i < order.size(); ++i)
      if (order[i]->begin < order[i - 1]->offset + order[i - 1]->packed)
        bad(order[i]->begin,
            concat("has overlapping entries \"", order[i - 1]->name, "\" and \"", order[i]->name, "\""));
  }

  Bytes file_;
  const char *what_;
};

}  // namespace

std::vector<ZipEntry> read_zip_directory(Bytes file, const char *what) { return DirectoryReader(file, what).read(); }

uint32_t zip_checksum(Bytes bytes, uint32_t before) {
  if (bytes.empty()) return before;  // zlib takes NULL as a request to restart
  return static_cast<uint32_t>(crc32_z(before, bytes.data(), bytes.size()));
}

void fail_checksum(const char *what, const ZipEntry &entry) {
  fail(OPD_BAD_FORMAT, what, ": the content of the entry \"", entry.name, "\" at offset ", entry.offset,
       " does not fit its checksum");
}

// ---- inflating

Inflater::Inflater(Bytes file, const ZipEntry &entry, const char *what)
    : entry_(entry), what_(what), left_(file.subspan(entry.offset, entry.packed)), stream_(new z_stream{}) {
  if (inflateInit2(stream_.get(), -MAX_WBITS) != Z_OK) throw std::bad_alloc();
}

Inflater::~Inflater() { inflateEnd(stream_.get()); }

void Inflater::bad(std::string_view problem) const {
  fail(OPD_BAD_FORMAT, what_, ": the deflated entry \"", entry_.name, "\" at offset ", entry_.offset, " ", problem);
}

uint64_t Inflater::inflate_some(uint8_t *to, uint64_t size) {
  const auto given = static_cast<uInt>(std::min<uint64_t>(left_.size(), kMostBytesOfCall));
  const auto wanted = static_cast<uInt>(std::min(size, kMostBytesOfCall));
  stream_->next_in = const_cast<Bytef *>(left_.data());
  stream_->avail_in = given;
  stream_->next_out = to;
  stream_->avail_out = wanted;
  const int status = inflate(stream_.get(), Z_NO_FLUSH);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) bad("is damaged");
  left_ = left_.subspan(given - stream_->avail_in);
  return wanted - stream_->avail_out;
}

void Inflater::read(uint8_t *to, uint64_t size) {
  while (size > 0) {
    const uint64_t n = inflate_some(to, size);
    if (n == 0) bad(concat("ends after ", done_, " of ", entry_.unpacked, " bytes"));
    checksum_ = zip_checksum({to, n}, checksum_);
    done_ += n;
    to += n;
    size -= n;
  }
}

void Inflater::finish() {
  uint8_t more;
  if (inflate_some(&more, 1) != 0) bad(concat("goes on after its ", entry_.unpacked, " bytes"));
  if (checksum_ != entry_.checksum) fail_checksum(what_, entry_);
}

}  // namespace opd
