"""Checks that the crate's types enforce the rules after "Threads:" in the headers. If only one thread at a time may
call a C function, the crate calls it through `&mut self` of a handle that is not Clone. Other C functions are safe on
any thread, so all handles may be Send and Sync."""

import re
import sys

# C functions that only one thread at a time may call, but that the crate calls through `&self`, with the reason why
# this is memory-safe.
GUARDED = {
    "opd_kv_state_": "the library refuses a second thread: tests/threads.rs",
    "opd_vm_set_input": "the library locks what the VM keeps: tests/threads.rs",
    "opd_vm_invoke_stateful": "as opd_vm_set_input",
    "opd_vm_get_outputs": "as opd_vm_set_input",
    "opd_metrics_set": "Metrics is not Send, and lent to `stop`",
}
MAKING = ("opd_tensor_copy", "opd_tensor_copy_from_bytes")  # also called without self, on a new tensor
HANDLE = re.compile(r"\b(handle|unique_handle)! \{(?:\s*///[^\n]*)*\s*\w+, (opd_\w+)")
UNGUARDED_RULES = ("safe", "as the function")  # a function is Sync, because from_c() and from_fn() require it


def rules(root):
    """A map from functions to the thread rule in their header comment."""
    found = {}
    for header in sorted((root / "include" / "opdyno").glob("*.h")):
        for comment, declaration in re.findall(r"/\*\*((?:(?!\*/).)*)\*/\s*(OPD_API[^;]*;)", header.read_text(), re.DOTALL):
            name = re.search(r"\b(opd_\w+)\(", declaration)
            rule = re.search(r"Threads: (.*?)(?:\.|,|;|$)", re.sub(r"\s*\n \*\s?", " ", comment))
            if name and rule:
                found[name[1]] = rule[1]
    return found


def methods(text):
    """The functions of a file with their receivers and bodies. Relies on rustfmt's layout."""
    for indent, receiver, body in re.findall(r"^( *)(?:pub(?:\([\w]+\))? )?(?:unsafe )?fn \w+(?:<[^\n]*?>)?\(\s*(&mut self|&'?\w* ?self|mut self|self)?"
                                             r"(.*?)^\1\}", text, re.MULTILINE | re.DOTALL):
        yield receiver, body


def check_threads(root, files):
    known, wrong, seen = rules(root), [], set()
    alone = {name for name, rule in known.items() if not rule.startswith(UNGUARDED_RULES)}
    for file, text in files.items():
        for receiver, body in methods(text):
            for name in set(re.findall(r"\bopd_\w+", body)) & alone:
                seen.add(name)
                exclusive = receiver in ("&mut self", "self", "mut self") or (name in MAKING and not receiver)
                if not exclusive and not name.startswith(tuple(GUARDED)):
                    wrong.append(f"{file} calls {name} through {receiver or 'no receiver'}, but the header says: {known[name]}")
    handles = [found for text in files.values() for found in HANDLE.findall(text)]
    for name in sorted(seen):
        kind, handle = max((each for each in handles if name.startswith(each[1] + "_")), key=lambda each: len(each[1]), default=("", ""))
        if kind == "handle" and not name.startswith(tuple(GUARDED)) and not name.startswith("opd_tensor_"):  # &mut checks it
            wrong.append(f"the handle of {handle} is Clone, so two threads may call {name}, of which the header says: {known[name]}")
    if wrong:
        sys.exit("\n".join(["the crate opdyno breaks the headers' rules of threads:", *wrong]))
    if len(known) < 200 or len(alone) < 15 or not {"opd_params_set", "opd_evaluator_call", "opd_report_builder_set"} <= seen:
        sys.exit(f"the rules of threads were not understood: {len(known)} rules, {len(seen)} of {len(alone)} functions seen")
