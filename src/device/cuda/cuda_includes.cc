// Finds the files that a source in CUDA C++ includes.
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "device/cuda/cuda_compile.h"

namespace opd::cuda {
namespace {

constexpr std::string_view kBlanks = " \t\v\f\r";
constexpr size_t kMostFiles = 4096, kMostBytes = size_t{64} << 20;  // NVIDIA has a few hundred headers

// Removes line ends after a backslash, so that no word is split over two lines.
std::string joined_lines(std::string_view text) {
  std::string joined;
  joined.reserve(text.size());
  for (size_t at; (at = text.find('\\')) != text.npos;) {
    size_t next = at + 1;
    if (text.substr(next).starts_with('\r')) ++next;
    const bool is_end = text.substr(next).starts_with('\n');
    joined += text.substr(0, is_end ? at : at + 1);
    text.remove_prefix(is_end ? next + 1 : at + 1);
  }
  return joined += text;
}

// A place in a text that may name a file: the word of an include directive, or of a test for a file's existence.
class Mention {
 public:
  Mention(std::string_view text, size_t word, size_t word_bytes) {
    const std::string_view before = text.substr(0, word);
    const bool is_question = before.ends_with("__has_");
    std::string_view after = text.substr(word + word_bytes);
    if (after.starts_with("_next")) after.remove_prefix(5);
    skip_blanks(after);
    if (is_question && after.starts_with('(')) after.remove_prefix(1), skip_blanks(after);
    const char quote = after.empty() ? '\0' : after[0];
    after = after.substr(0, after.find('\n'));
    const size_t end = quote == '<' ? after.find('>') : quote == '"' ? after.find('"', 1) : after.npos;
    if (end != after.npos) name_ = after.substr(1, end - 1);
    is_unknown_ = name_.empty() && (is_question ? !is_asked_for(before) : is_directive(trimmed(before)));
  }
  std::string_view name() const { return name_; }  // "" if it has no file name
  bool is_unknown() const { return is_unknown_; }

 private:
  // A comment may stand between the directive's mark and its word.
  static bool is_directive(std::string_view before) {
    return before.ends_with('#') || before.ends_with("%:") || before.ends_with("*/");
  }
  // Whether the text only asks if the compiler supports the test. Such a question names no file.
  static bool is_asked_for(std::string_view before) {
    before = trimmed(before.substr(0, before.rfind("__has_")));
    if (before.ends_with('(')) before = trimmed(before.substr(0, before.size() - 1));
    return before.ends_with("defined") || before.ends_with("ifdef") || before.ends_with("ifndef");
  }
  static std::string_view trimmed(std::string_view text) {
    return text.substr(0, text.find_last_not_of(kBlanks) + 1);  // npos + 1 is 0
  }
  static void skip_blanks(std::string_view &text) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  }
  std::string_view name_;
  bool is_unknown_ = false;
};

class IncludedFiles {
 public:
  IncludedFiles(ContentHash &hash, const std::vector<std::string> &directories)
      : hash_(hash), directories_(directories) {
    directories_.emplace_back(".");  // NVRTC takes the source to be in this directory
  }

  bool add(std::string_view source) {
    if (!read(source, ".")) return false;
    for (size_t i = 0; i < waiting_.size(); ++i) {
      const std::string path = waiting_[i];
      const std::string content = read_file(path);
      bytes_ += content.size();
      hash_.add(path).add(content);
      if (i >= kMostFiles || bytes_ > kMostBytes || !read(content, path.substr(0, path.rfind('/')))) return false;
    }
    return true;
  }

 private:
  bool read(std::string_view content, const std::string &directory) {
    const std::string text = joined_lines(content);
    for (const std::string_view moment : {"__DATE__", "__TIME__", "__TIMESTAMP__"})
      if (text.find(moment) != text.npos) return false;
    for (const std::string_view word : {"include", "import", "embed"})
      for (size_t at = 0; (at = text.find(word, at)) != text.npos; at += word.size()) {
        const Mention mention(text, at, word.size());
        if (mention.is_unknown()) return false;
        if (!mention.name().empty()) wait_for(std::string(mention.name()), directory);
      }
    return true;
  }

  // Adds the files of this name in all directories. The compiler takes one of them, depending on the directive.
  void wait_for(const std::string &name, const std::string &directory) {
    if (name.starts_with('/')) return wait_for_path(name);
    wait_for_path(directory + "/" + name);
    for (const std::string &other : directories_) wait_for_path(other + "/" + name);
  }
  void wait_for_path(const std::string &path) {
    struct stat info {};
    if (!seen_.insert(path).second || ::stat(path.c_str(), &info) || !S_ISREG(info.st_mode)) return;
    waiting_.push_back(path);
  }

  ContentHash &hash_;
  std::vector<std::string> directories_, waiting_;
  std::set<std::string> seen_;
  size_t bytes_ = 0;
};

}  // namespace

bool add_included_files(ContentHash &hash, std::string_view source, const std::vector<std::string> &directories) {
  try {
    return IncludedFiles(hash, directories).add(source);
  } catch (const Exception &) { return false; }  // a file cannot be read
}

}  // namespace opd::cuda
