// Reads and writes .npz, a zip archive of .npy files. Stored entries are used in place. Deflated entries are inflated
// on request.
#include <algorithm>

#include "base/file.h"
#include "device/device.h"
#include "params/formats.h"
#include "params/npy.h"
#include "params/tensor_bytes.h"
#include "params/zip.h"

namespace opd {
namespace {

constexpr uint64_t kMostRatio = 1032;  // the best ratio of deflate: one bit for 129 bytes

// ---- reading

class NpzReader {
 public:
  NpzReader(Ref<ByteSource> source, bool verify)
      : source_(std::move(source)), what_(source_->name()), verify_(verify) {}

  Ref<Params> read() {
    for (const ZipEntry &entry : read_zip_directory(source_->bytes(), what_)) {
      if (!entry.name.ends_with(".npy")) bad(entry, "is not an .npy file");
      const std::string place = concat(what_, ": ", entry.name);
      StoredTensor stored = entry.method == kZipStored ? read_stored(entry, place) : read_deflated(entry, place);
      const std::string_view name(entry.name.data(), entry.name.size() - 4);
      if (!params_->add(name, std::move(stored)))
        fail(OPD_BAD_FORMAT, what_, ": the zip directory has two entries for the name \"", name, "\"");
      if (verify_ && entry.method == kZipDeflated) params_->tensor(params_->size() - 1);
    }
    return params_;
  }

 private:
  [[noreturn]] void bad(const ZipEntry &entry, std::string_view problem) const {
    fail(OPD_BAD_FORMAT, what_, ": the entry \"", entry.name, "\" at offset ", entry.begin, " ", problem);
  }
  void check_magic(const ZipEntry &entry, Bytes front) const {
    if (!as_text(front).starts_with(kNpyMagic)) bad(entry, "does not begin as an .npy file");
  }

  StoredTensor read_stored(const ZipEntry &entry, const std::string &place) const {
    const Bytes content = source_->bytes().subspan(entry.offset, entry.packed);
    check_magic(entry, content);
    if (verify_ && zip_checksum(content) != entry.checksum) fail_checksum(what_, entry);
    return read_npy(source_, entry.offset, entry.packed, place.c_str());
  }

  // Only the header is inflated here. It is inflated again together with the elements.
  StoredTensor read_deflated(const ZipEntry &entry, const std::string &place) const {
    if (entry.unpacked / kMostRatio > entry.packed)
      bad(entry, concat("has ", entry.unpacked, " bytes, which ", entry.packed, " deflated bytes cannot hold"));
    Inflater in(source_->bytes(), entry, what_);
    std::vector<uint8_t> front(std::min<uint64_t>(kNpyPreamble, entry.unpacked));
    in.read(front.data(), front.size());
    check_magic(entry, front);
    const size_t known = front.size();
    const uint64_t size = std::clamp<uint64_t>(npy_header_size(front, place.c_str()), known, entry.unpacked);
    front.resize(size);
    in.read(front.data() + known, size - known);
    NpyHeader header = read_npy_header(front, entry.unpacked, place.c_str());
    const bool column_major = header.column_major;
    return {
        header.dtype, std::move(header.dims),
        header.bytes, source_,
        header.size,  [entry, column_major](const StoredTensor &self) { return inflate(self, entry, column_major); }};
  }

  static Ref<Tensor> inflate(const StoredTensor &stored, const ZipEntry &entry, bool column_major) {
    Inflater in(stored.source->bytes(), entry, stored.source->name());
    std::vector<uint8_t> skipped(stored.offset), columns;
    in.read(skipped.data(), skipped.size());
    if (column_major) {
      columns.resize(stored.bytes);
      in.read(columns.data(), columns.size());
      in.finish();
      return from_column_major(stored.dims, stored.dtype, columns.data());
    }
    auto tensor = make_tensor(stored.dims, stored.dtype, kHost, MemoryUse::kParameter);
    advise_huge_pages(tensor->dl.data, stored.bytes);
    in.read(static_cast<uint8_t *>(tensor->dl.data), stored.bytes);
    in.finish();
    return tensor;
  }

  Ref<ByteSource> source_;
  const char *what_;
  bool verify_;
  Ref<Params> params_ = make_object<Params>();
};

// ---- writing

class ZipWriter {
 public:
  explicit ZipWriter(ByteSink &out) : out_(out) {}

  void add(const std::string &name, const Ref<Tensor> &tensor) {
    require(name.size() <= 65535 && name.find('\0') == std::string::npos, "the parameter name \"", name.substr(0, 100),
            "\" cannot name an entry of an .npz file");
    const std::string head = npy_header(tensor->dl);
    const Bytes data{reinterpret_cast<const uint8_t *>(data_of(tensor->dl)), bytes_of(tensor->dl)};
    ZipEntry entry{name, kZipStored, zip_checksum(data, zip_checksum(as_bytes(head))), 0, 0, out_.offset(), 0};
    entry.packed = entry.unpacked = head.size() + data.size();
    const bool big = entry.packed >= UINT32_MAX;
    ByteWriter header;
    header.write<uint32_t>(0x04034B50);
    write_common(header, entry, big);
    const std::string extra = local_extra(entry, big);
    header.write(static_cast<uint16_t>(extra.size()));
    header.write_bytes(name.data(), name.size());
    header.write_bytes(extra.data(), extra.size());
    out_.write(header.take());
    out_.write(head);
    write_elements(out_, tensor->dl);
    entries_.push_back(std::move(entry));
  }

  void finish() {
    const uint64_t begin = out_.offset();
    for (const ZipEntry &entry : entries_) write_directory_entry(entry);
    const uint64_t end = out_.offset(), size = end - begin, count = entries_.size();
    ByteWriter record;
    if (count >= UINT16_MAX || begin >= UINT32_MAX || size >= UINT32_MAX) {
      record.write<uint32_t>(0x06064B50);
      record.write<uint64_t>(44);             // size of the remaining record
      record.write<uint32_t>(45 << 16 | 45);  // versions
      record.write<uint64_t>(0);              // disks
      for (const uint64_t number : {count, count, size, begin}) record.write(number);
      record.write<uint32_t>(0x07064B50);
      record.write<uint32_t>(0);
      record.write(end);
      record.write<uint32_t>(1);
    }
    record.write<uint32_t>(0x06054B50);
    record.write<uint32_t>(0);
    for (int i = 0; i < 2; ++i) record.write(static_cast<uint16_t>(std::min<uint64_t>(count, UINT16_MAX)));
    record.write(static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX)));
    record.write(static_cast<uint32_t>(std::min<uint64_t>(begin, UINT32_MAX)));
    record.write<uint16_t>(0);
    out_.write(record.take());
  }

 private:
  // Writes the fields that both headers of an entry share, from the version to the length of the name.
  static void write_common(ByteWriter &out, const ZipEntry &entry, bool big) {
    constexpr uint16_t kUtf8Name = 1 << 11;
    out.write<uint16_t>(big ? 45 : 20);
    out.write(kUtf8Name);
    out.write(entry.method);
    out.write<uint32_t>(0x00210000);  // 1 January 1980, the earliest date of the format: equal tensors give equal files
    out.write(entry.checksum);
    out.write(big ? UINT32_MAX : static_cast<uint32_t>(entry.packed));
    out.write(big ? UINT32_MAX : static_cast<uint32_t>(entry.unpacked));
    out.write(static_cast<uint16_t>(entry.name.size()));
  }

  // Writes sizes beyond 32 bits, then the padding field of Android's zipalign. The padding aligns the elements, so that
  // they can be mapped.
  static std::string local_extra(const ZipEntry &entry, bool big) {
    constexpr uint16_t kAlignmentField = 0xD935;
    ByteWriter out;
    if (big) {
      out.write<uint32_t>(1 | 16 << 16);
      out.write(entry.unpacked);
      out.write(entry.packed);
    }
    const uint64_t pad = padding(entry.begin + 30 + entry.name.size() + out.size() + 6, kAlignment);
    out.write(kAlignmentField);
    out.write(static_cast<uint16_t>(2 + pad));
    out.write(static_cast<uint16_t>(kAlignment));
    const std::string zeros(pad, '\0');
    out.write_bytes(zeros.data(), zeros.size());
    return out.take();
  }

  void write_directory_entry(const ZipEntry &entry) {
    const bool big = entry.packed >= UINT32_MAX, far = entry.begin >= UINT32_MAX;
    ByteWriter out;
    out.write<uint32_t>(0x02014B50);
    out.write<uint16_t>(45);
    write_common(out, entry, big);
    const auto numbers = static_cast<uint16_t>(8 * (2 * big + far));
    out.write<uint16_t>(numbers ? numbers + 4 : 0);
    out.write<uint32_t>(0);  // comment, disk
    out.write<uint16_t>(0);
    out.write<uint32_t>(0);
    out.write(far ? UINT32_MAX : static_cast<uint32_t>(entry.begin));
    out.write_bytes(entry.name.data(), entry.name.size());
    if (numbers) out.write<uint32_t>(1 | numbers << 16);
    if (big) out.write(entry.unpacked), out.write(entry.packed);
    if (far) out.write(entry.begin);
    out_.write(out.take());
  }

  ByteSink &out_;
  std::vector<ZipEntry> entries_;
};

}  // namespace

bool is_npz(Bytes front) { return as_text(front).starts_with("PK\3\4") || as_text(front).starts_with("PK\5\6"); }

Ref<Params> read_npz(Ref<ByteSource> source, bool verify_checksums) {
  return NpzReader(std::move(source), verify_checksums).read();
}

void write_npz(const Params &params, ByteSink &out) {
  ZipWriter zip(out);
  for (size_t i = 0; i < params.size(); ++i) zip.add(params.name(i) + ".npy", on_host(params.tensor(i)));
  zip.finish();
}

}  // namespace opd
