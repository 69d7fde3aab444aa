#include "module/tar_file.h"

#include <zlib.h>

#include <algorithm>

namespace opd {
namespace {

constexpr size_t kBlock = 512, kMagicAt = 257, kMaxNameBytes = 4096;
// Limits on the unpacked size of a compressed archive. Object files shrink to about a third. If an archive shrank to
// much less, it was made to fill memory and disk.
constexpr size_t kAlwaysUnpacked = size_t{64} << 20, kMaxRatio = 64;
constexpr std::string_view kGzipStart = "\x1f\x8b", kMagic = "ustar";

struct Field {
  size_t at, size;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kOwner{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12},
    kChecksum{148, 8}, kPrefix{345, 155};
constexpr size_t kTypeAt = 156;

std::string unpacked(Bytes packed, const std::string &shown) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) fail(OPD_OUT_OF_MEMORY, "there is no memory to unpack ", shown);
  struct End {
    z_stream &stream;
    ~End() { inflateEnd(&stream); }
  } const end{stream};
  const size_t most = std::max(kAlwaysUnpacked, packed.size() * kMaxRatio);
  std::string out;
  std::vector<uint8_t> chunk(1 << 16);
  Bytes rest = packed;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    if (stream.avail_in == 0) {
      stream.next_in = const_cast<uint8_t *>(rest.data());
      stream.avail_in = static_cast<uInt>(std::min<size_t>(rest.size(), 1 << 30));
      rest = rest.subspan(stream.avail_in);
    }
    stream.next_out = chunk.data();
    stream.avail_out = static_cast<uInt>(chunk.size());
    status = inflate(&stream, Z_NO_FLUSH);
    const size_t made = chunk.size() - stream.avail_out;
    if ((status != Z_OK && status != Z_STREAM_END) || (made == 0 && status == Z_OK))
      fail(OPD_BAD_FORMAT, shown, ": its gzip compression is damaged or cut short at offset ",
           packed.size() - rest.size() - stream.avail_in, stream.msg ? concat(": ", stream.msg) : "");
    if (made > most - out.size())
      fail(OPD_BAD_FORMAT, shown, " has ", packed.size(), " bytes and unpacks to more than ", most,
           "; if you trust it, unpack it (gunzip) and load the .tar");
    out.append(reinterpret_cast<const char *>(chunk.data()), made);
  }
  return out;
}

std::string_view text_of(Bytes header, Field field) {
  const std::string_view text = as_text(header).substr(field.at, field.size);
  return text.substr(0, text.find('\0'));
}

class TarReader {
 public:
  TarReader(Bytes archive, const std::string &shown) : what_(shown + ": tar archive"), in_(archive, what_.c_str()) {}

  std::vector<TarEntry> read() {
    std::vector<TarEntry> entries;
    std::string long_name;
    while (!in_.at_end()) {
      const Bytes header = in_.take(kBlock, "a header");
      if (std::ranges::all_of(header, [](uint8_t b) { return b == 0; })) break;
      check(header);
      uint64_t size = number(header, kSize);
      const char type = static_cast<char>(header[kTypeAt]);
      const std::string_view content = as_text(in_.take(size, "a file's bytes"));
      in_.take(std::min<uint64_t>((kBlock - size % kBlock) % kBlock, in_.remaining()), "padding");
      if (type == 'x') long_name = pax_path(content);
      else if (type == 'L') long_name = content.substr(0, content.find('\0'));
      if (type == 'x' || type == 'L' || type == 'g' || type == '5') {
        if (type == '5') long_name.clear();
        continue;
      }
      if (type != '0' && type != '\0' && type != '7')
        in_.bad("a member", concat("is of type '", printable(type), "': only plain files and directories are read"));
      std::string name = long_name.empty() ? name_of(header) : std::exchange(long_name, {});
      check_name(name);
      entries.push_back({std::move(name), std::string(content)});
    }
    return entries;
  }

 private:
  static char printable(char c) { return c > ' ' && c < 127 ? c : '?'; }

  void check(Bytes header) const {
    uint64_t sum = 0;
    for (size_t i = 0; i < kBlock; ++i) sum += i >= kChecksum.at && i < kChecksum.at + kChecksum.size ? ' ' : header[i];
    if (number(header, kChecksum) != sum) in_.bad("a header", "has a wrong checksum");
  }

  // Reads octal digits. Sizes of 8 GiB and more have another form, which is refused.
  uint64_t number(Bytes header, Field field) const {
    uint64_t value = 0;
    const std::string_view text = text_of(header, field);
    const size_t begin = std::min(text.find_first_not_of(' '), text.size());
    for (const char c : text.substr(begin, text.find(' ', begin) - begin)) {
      if (c < '0' || c > '7') in_.bad("a number of a header", "has other than octal digits");
      value = value << 3 | static_cast<uint64_t>(c - '0');
    }
    return value;
  }

  static std::string name_of(Bytes header) {
    const std::string_view name = text_of(header, kName), prefix = text_of(header, kPrefix);
    const bool is_posix = as_text(header).substr(kMagicAt).starts_with(std::string_view("ustar\0", 6));
    return is_posix && !prefix.empty() ? concat(prefix, "/", name) : std::string(name);
  }

  // Reads the path from records "LENGTH KEY=VALUE\n".
  std::string pax_path(std::string_view records) const {
    std::string path;
    while (!records.empty()) {
      uint64_t length = 0;
      size_t at = 0;
      for (; at < records.size() && at < 9 && records[at] >= '0' && records[at] <= '9'; ++at)
        length = length * 10 + static_cast<uint64_t>(records[at] - '0');
      if (at == 0 || length <= at + 1 || length > records.size() || records[at] != ' ' || records[length - 1] != '\n')
        in_.bad("an extended header", "has a malformed record");
      const std::string_view record = records.substr(at + 1, length - at - 2);
      if (record.starts_with("path=")) path = record.substr(5);
      if (record.starts_with("size=")) in_.bad("an extended header", "overrides a file's size");
      records.remove_prefix(length);
    }
    return path;
  }

  void check_name(std::string_view name) const {
    if (name.empty() || name.size() > kMaxNameBytes || name.find('\0') != std::string_view::npos)
      in_.bad("a member's name", concat("has ", name.size(), " bytes, or a 0 byte among them"));
    bool leads_out = name.front() == '/';
    for (size_t begin = 0, end; begin <= name.size(); begin = end + 1) {
      end = std::min(name.find('/', begin), name.size());
      leads_out |= name.substr(begin, end - begin) == "..";
    }
    if (leads_out) in_.bad("a member's name", concat("leads out of the archive: ", name.substr(0, 200)));
  }

  std::string what_;
  ByteReader in_;
};

void put(std::string &header, Field field, std::string_view text) { header.replace(field.at, text.size(), text); }

void put_octal(std::string &header, Field field, uint64_t value) {
  for (size_t at = field.at + field.size - 1; at-- > field.at; value >>= 3)
    header[at] = static_cast<char>('0' + (value & 7));
}

}  // namespace

bool looks_like_tar(Bytes start) {
  return as_text(start).starts_with(kGzipStart) ||
         (start.size() >= kMagicAt + kMagic.size() && as_text(start).substr(kMagicAt).starts_with(kMagic));
}

std::vector<TarEntry> read_tar(Bytes archive, const std::string &shown) {
  if (!as_text(archive).starts_with(kGzipStart)) return TarReader(archive, shown).read();
  const std::string plain = unpacked(archive, shown);
  return TarReader(as_bytes(plain), shown).read();
}

std::string write_tar(const std::vector<TarEntry> &entries) {
  std::string out;
  for (const auto &[name, content] : entries) {
    require(!name.empty() && name.size() <= kName.size, "a member of a tar archive cannot have the name \"", name,
            "\": it must have 1 to ", kName.size, " bytes");
    std::string header(kBlock, '\0');
    put(header, kName, name);
    for (const Field field : {kMode, kOwner, kGroup, kTime}) put_octal(header, field, field.at == kMode.at ? 0644 : 0);
    require(content.size() < uint64_t{1} << 33, name, " has ", content.size(), " bytes, too many for a tar archive");
    put_octal(header, kSize, content.size());
    header[kTypeAt] = '0';
    put(header, {kMagicAt, 8},
        std::string_view("ustar\0"
                         "00",
                         8));
    put(header, kChecksum, "        ");
    uint64_t sum = 0;
    for (const char c : header) sum += static_cast<uint8_t>(c);
    put_octal(header, {kChecksum.at, 7}, sum);
    header[kChecksum.at + 6] = '\0';
    out += header;
    out += content;
    out.append((kBlock - content.size() % kBlock) % kBlock, '\0');
  }
  return out.append(2 * kBlock, '\0');
}

}  // namespace opd
