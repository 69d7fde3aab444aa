"""Checks that the manifests have the metadata that crates.io and Maven Central require, and that both manifests
agree."""

import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree

from common import ROOT

POM = "{http://maven.apache.org/POM/4.0.0}"
PLACEHOLDER = ".invalid"  # a top-level domain that is never assigned


def crates():
    """The metadata of each crate, including the metadata that it takes from the workspace."""
    rust = ROOT / "bindings" / "rust"
    workspace = tomllib.loads((rust / "Cargo.toml").read_text())["workspace"]
    for member in workspace["members"]:
        package = tomllib.loads((rust / member / "Cargo.toml").read_text())["package"]
        shared = {key for key, value in package.items() if value == {"workspace": True}}
        yield package | {key: workspace["package"][key] for key in shared}


def wrong_of_crate(crate):
    for key in ("description", "license", "repository", "keywords", "categories", "rust-version"):
        if not crate.get(key):
            yield f"{crate['name']} has no {key}"
    for word in crate.get("keywords", []):
        if not re.fullmatch(r"[A-Za-z0-9][\w+-]{0,19}", word, re.ASCII):
            yield f"{crate['name']}: crates.io refuses the keyword {word}"
    if len(crate.get("keywords", [])) > 5 or len(crate.get("categories", [])) > 5:
        yield f"{crate['name']}: crates.io allows five keywords and five categories"


def text_of(pom, path):
    found = pom.find("/".join(POM + name for name in path.split("/")))
    return "" if found is None or not found.text else found.text.strip()


def wrong_of_pom(pom):
    for path in ("groupId", "artifactId", "version", "name", "description", "url", "licenses/license/name", "licenses/license/url",
                 "developers/developer/name", "scm/url", "scm/connection"):
        if not text_of(pom, path):
            yield f"pom.xml has no {path}"
    if "SNAPSHOT" in text_of(pom, "version"):
        yield "pom.xml: Maven Central takes no SNAPSHOT"
    for plugin in ("maven-source-plugin", "maven-javadoc-plugin"):
        if not any(each.text == plugin for each in pom.iter(POM + "artifactId")):
            yield f"pom.xml: Maven Central wants what the {plugin} makes"


def refused(repository):
    """Whether tools/crates refuses to publish a crate with the placeholder, before it does anything else."""
    done = subprocess.run([ROOT / "tools" / "crates", "--publish"], stdout=subprocess.PIPE, text=True)
    return done.returncode == 1 and f"no real repository, but '{repository}'" in done.stdout


def check_metadata():
    pom, found = ElementTree.parse(ROOT / "bindings" / "java" / "pom.xml").getroot(), list(crates())
    wrong = [each for crate in found for each in wrong_of_crate(crate)] + list(wrong_of_pom(pom))
    for key, path in (("repository", "url"), ("version", "version"), ("license", "licenses/license/name")):
        if len(values := {crate.get(key) for crate in found} | {text_of(pom, path)}) > 1:
            wrong.append(f"{key}: the crates and pom.xml differ: {', '.join(sorted(map(str, values)))}")
    repository = found[0].get("repository") or ""
    if PLACEHOLDER in repository and not refused(repository):
        wrong.append("tools/crates --publish does not refuse the placeholder of the repository")
    if wrong:
        sys.exit("\n".join(["what package registries ask for:", *wrong]))
