// Files and standard streams. Every failed read or write is an error with the system's reason. Also facts from small
// files of the system.
#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace opd::cli {

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor &&from) noexcept : fd_(std::exchange(from.fd_, -1)) {}
  Descriptor &operator=(Descriptor &&from) noexcept {
    if (this != &from) reset(), fd_ = std::exchange(from.fd_, -1);
    return *this;
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

// "-" is standard input. Fails with Exit::failed.
std::string read_file(const std::string &path);
// "-" is standard output. A regular file is replaced as a whole, so that no reader sees a part of it.
void write_file(const std::string &path, std::string_view content);

// The first 4 KiB of a regular file; "" for others, and if it cannot be read.
std::string first_bytes(const std::string &path);

// The suffix in lower case, with its dot; "" for "-" and for names without one.
std::string suffix_of(const std::string &path);
// Fails with Exit::usage if both are the same file: writing the output would destroy the input.
void refuse_overwriting(const std::string &input, const std::string &output);

bool write_all(int fd, std::string_view text);  // errno has the reason of a failure
// Writes to standard output at once. A full disk ends the program with Exit::failed. If a pipe's reader has gone, as
// `head` does, this and all further texts are dropped, so that the command still writes its files.
void print(std::string_view text);
bool is_output_closed();  // whether texts were dropped
// Writes to standard error. Failures are ignored, because they cannot be reported anywhere.
void print_message(std::string_view text);
// If a mapped file is cut short, reading it kills the process with SIGBUS. The program then names the file. Called
// once, before anything is read.
void report_bus_errors();
// Gives a closed standard stream a descriptor that can be neither read nor written, as before. Otherwise the next
// opened file would get its number, and would be read or written in its place. Called once, at the start.
void occupy_standard_streams();
// Reports write errors that the system delayed; called once, at the end.
void close_output();

int wait_for(pid_t child);  // waits until it ends; the status of waitpid()

// Whether standard error is a terminal, where progress may be shown.
bool has_terminal();

// ---- facts from small files of the system: /proc, /sys and /etc

// `path` below $OPDYNO_SYSTEM_ROOT, which tests set to a copy of another machine's files. Without it: `path` itself.
std::string system_path(const std::string &path);
// The first 64 KiB of a file; "" if it cannot be read. Never waits.
std::string system_text(const std::string &path);
// The first line of a file, at most 4 KiB, without spaces at its ends.
std::string system_line(const std::string &path);
bool has_system_file(const std::string &path);
// The names in a directory that consist of `begin` and a number: "cpu0", "cpu1" … in the order of the numbers.
std::vector<std::string> numbered_names(const std::string &directory, const std::string &begin);

}  // namespace opd::cli
