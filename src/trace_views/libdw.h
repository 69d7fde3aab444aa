// Declares libdw of elfutils, which reads symbols and line tables. It is loaded on first use. Only the few needed
// functions are declared, so building needs no header of it.
#pragma once
#include <cstdint>

namespace opd {

struct Libdw {
  static const Libdw *get();  // null if it is not installed; never unloaded

  struct Session;
  struct Module;
  struct Line;
  struct Unit;
  using FindElf = int(Module *, void **, const char *, uint64_t, char **, void *);
  using FindDebugInfo = int(Module *, void **, const char *, uint64_t, const char *, const char *, uint32_t, char **);
  struct Callbacks {
    FindElf *find_elf;
    FindDebugInfo *find_debuginfo;
    int (*section_address)(Module *, void **, const char *, uint64_t, const char *, uint32_t, const void *, uint64_t *);
    char **debuginfo_path;
  };

  // libdw's functions, without the prefix "dwfl_".
  Session *(*begin)(const Callbacks *callbacks);
  void (*end)(Session *session);  // frees its modules, too
  void (*report_begin_add)(Session *session);
  // Takes ownership of `file` unless it fails.
  Module *(*report_elf)(Session *session, const char *name, const char *path, int file, uint64_t base,
                        bool adds_to_addresses);
  int (*report_end)(Session *session, void *removed, void *user_data);
  int (*module_build_id)(Module *module, const unsigned char **out_bytes, uint64_t *out_address);  // returns the size
  const char *(*module_addrname)(Module *module, uint64_t address);
  Line *(*module_getsrc)(Module *module, uint64_t address);
  const char *(*lineinfo)(Line *line, uint64_t *out_address, int *out_line, int *out_column, uint64_t *out_time,
                          uint64_t *out_length);
  FindDebugInfo *build_id_find_debuginfo;  // searches only this machine's files
  // Returns the next unit of debug information after `last` (null: the first one), or null at the end. Its addresses
  // are those of the process minus the offset.
  Unit *(*module_nextcu)(Module *module, Unit *last, uint64_t *out_offset);

  // The functions below have the prefix "dwarf_".
  struct UnitLine;
  int (*haspc)(Unit *unit, uint64_t address);  // 1: the unit has code at the address
  UnitLine *(*getsrc_die)(Unit *unit, uint64_t address);
  const char *(*linesrc)(UnitLine *line, uint64_t *out_time, uint64_t *out_length);
  int (*lineno)(UnitLine *line, int *out_line);

 private:
  bool load();
};

}  // namespace opd
