"""What the public headers declare, for the tests of this directory: functions with their comments, structs, enums."""

import dataclasses
import os
import pathlib
import re

ROOT = pathlib.Path(os.environ["OPDYNO_ROOT"])
HEADERS = ROOT / "include" / "opdyno"
INCLUDES = [f"-I{ROOT / 'include'}", f"-I{pathlib.Path(os.environ['OPDYNO_BUILD']) / 'include'}"]

FUNCTION = re.compile(r"(?:/\*\*((?:(?!\*/).)*)\*/\s*)?(OPD_API|static inline) ([^;{(]*?)\b(opd_\w+)\(((?:[^()]|\([^()]*\))*)\)\s*[;{]", re.S)


@dataclasses.dataclass
class Function:
    name: str
    result: str
    parameters: str
    comment: str
    inline: bool
    header: str


    def parameter_names(self):
        given = [given.strip() for given in re.split(r",(?![^(]*\))", self.parameters) if given.strip() not in ("", "void")]
        return [next(filter(None, re.search(r"\(\*\s*(\w+)\)|(\w+)(?:\[\w*\])?$", each).groups())) for each in given]


def headers(directory=HEADERS):
    return sorted(directory.glob("*.h"))


def functions(directory=HEADERS):
    """All functions; those that OPD_HANDLE() defines are not among them."""
    found = []
    for header in headers(directory):
        text = re.sub(r"^#define.*?[^\\]\n", "", header.read_text(), flags=re.M | re.S)
        for comment, storage, result, name, parameters in FUNCTION.findall(text):
            result = " ".join(result.replace("OPD_NODISCARD", "").split())
            found.append(Function(name, result, " ".join(parameters.split()), comment, storage != "OPD_API", header.name))
    return found


def exported(directory=HEADERS):
    return sorted(function.name for function in functions(directory) if not function.inline)


def structs(directory=HEADERS):
    """Names of the members by struct. Unions within a struct count as one member."""
    found = {}
    for header in headers(directory):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        for name, body in re.findall(r"typedef struct (opd_\w+) \{(.*?)\n\} \1;", text, re.S):
            body = re.sub(r"union \{.*?\}", "union", body, flags=re.S)
            members = []
            for member in body.split(";")[:-1]:
                pointer = re.search(r"\(\*(\w+)\)", member)
                members.append(pointer[1] if pointer else re.search(r"(\w+)(?:\[\w+\])*\s*$", member)[1])
            found[name] = members
    return found


def enums(directory=HEADERS):
    """Names of the values by enum."""
    found = {}
    for header in headers(directory):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        for name, body in re.findall(r"typedef enum (opd_\w+) (?:OPD_ENUM_TYPE )?\{(.*?)\}", text, re.S):
            found[name] = re.findall(r"\b(OPD_\w+)\s*(?:=|,|$)", body)
    return found
