"""What a release contains besides our own code: python components.py LICENCES BOM.

Writes the licences of all crates that are linked into the command and the Python module as a text, and their list as a
CycloneDX bill of materials. Both depend on Cargo.lock and the sources alone, so the same commit gives the same bytes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from collections import defaultdict
from datetime import datetime, timezone
from os import environ
from pathlib import Path
from typing import Any

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

ROOTS = ("emab-cli", "emab-python")
TARGET = "x86_64-unknown-linux-gnu"
LICENCE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
# Licences of other software that a crate contains, which do not lie in the crate's folder.
BUNDLED: dict[str, list[Path | str]] = {
    "kuva": [Path(__file__).with_name("DejaVu-LICENSE")],
    "libmimalloc-sys": ["c_src/mimalloc/*/LICENSE"],
}

# Sources in C that crates contain: the crate, the header with the version, the version in it, the name for scanners of
# vulnerabilities, and the licence.
SOURCES = [
    ("libsqlite3-sys", "sqlite3/sqlite3.h", r'#define SQLITE_VERSION +"([0-9.]+)"', "sqlite", "blessing"),
    (
        "libmimalloc-sys",
        "c_src/mimalloc/v2/include/mimalloc.h",
        r"#define MI_MALLOC_VERSION +([0-9]+)",
        "mimalloc",
        "MIT",
    ),
]

Package = dict[str, Any]


def linked() -> tuple[dict[str, Package], dict[str, list[str]]]:
    """Return the packages by id that the roots need at run time, and the ids that each of them needs."""
    call = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", TARGET]
    metadata = json.loads(subprocess.run(call, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    needs = {
        node["id"]: [
            dependency["pkg"]
            for dependency in node["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    found: dict[str, Package] = {}
    waiting = [key for key, package in packages.items() if package["name"] in ROOTS]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found[key] = packages[key]
            waiting += needs[key]
    order = sorted(found, key=lambda key: (found[key]["name"], found[key]["version"]))
    return {key: found[key] for key in order}, {key: needs[key] for key in order}


def licences(packages: list[Package]) -> str:
    """Return the licence texts; a text that several packages share is printed once."""
    users = defaultdict(list)
    rows, silent = [], []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        rows.append(f"{name:<40} {package['license'].replace('/', ' OR ')}")
        folder = Path(package["manifest_path"]).parent
        files = sorted(path for path in folder.iterdir() if LICENCE.match(path.name) and path.is_file())
        for bundled in BUNDLED.get(package["name"], []):
            files += [bundled] if isinstance(bundled, Path) else sorted(folder.glob(bundled))
        for path in files:
            users[path.read_text(encoding="utf-8", errors="replace").strip()].append(f"{name}, {path.name}")
        if not files:
            authors = ", ".join(package["authors"]) or "its authors"
            silent.append(f"{name}: {package['license']}, by {authors}; the package contains no text of the licence.")
    parts = [
        "Licences of the libraries in emab",
        "=================================",
        "",
        *rows,
        "",
        "SQLite, which libsqlite3-sys contains, is in the public domain.",
        *silent,
    ]
    for text, names in users.items():
        parts += ["", "-" * 80, *names, "-" * 80, text]
    return "\n".join(parts) + "\n"


def bill_of_materials(packages: dict[str, Package], needs: dict[str, list[str]], version: str) -> str:
    """Return the CycloneDX document; fails if it is not valid."""
    lock = Path("Cargo.lock").read_text(encoding="utf-8")
    entry = r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"'
    sums = {(name, of): checksum for name, of, checksum in re.findall(entry, lock)}
    components = {}
    for key, package in packages.items():
        name, of = package["name"], package["version"]
        url = PackageURL("cargo", None, name, of)
        expression = (package["license"] or "").replace("/", " OR ")
        components[key] = Component(
            type=ComponentType.LIBRARY,
            name=name,
            version=of,
            description=package["description"],
            licenses=[LicenseExpression(expression)] if expression else [],
            purl=url,
            bom_ref=str(url),
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sums[name, of])] if (name, of) in sums else [],
        )
    for crate, header, pattern, name, licence in SOURCES:
        package = next(it for it in packages.values() if it["name"] == crate)
        text = (Path(package["manifest_path"]).parent / header).read_text(encoding="utf-8", errors="replace")
        found = re.search(pattern, text)
        if not found:
            raise SystemExit(f"{header} of {crate} has no version")
        components[crate + " source"] = Component(
            type=ComponentType.LIBRARY,
            name=name,
            version=found[1],
            description=f"C sources in the crate {crate}",
            licenses=[LicenseExpression(licence)],
            cpe=f"cpe:2.3:a:{name}:{name}:{found[1]}:*:*:*:*:*:*:*",
            bom_ref=f"{name}@{found[1]}",
        )
    product = Component(
        type=ComponentType.APPLICATION,
        name="emab",
        version=version,
        licenses=[LicenseExpression("MIT OR Apache-2.0")],
        bom_ref=f"emab@{version}",
    )
    bom = Bom(components=components.values(), serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"emab@{version}"))
    bom.metadata.component = product
    bom.metadata.timestamp = datetime.fromtimestamp(int(environ.get("SOURCE_DATE_EPOCH", "0")), timezone.utc)
    roots = [components[key] for key, package in packages.items() if package["name"] in ROOTS]
    bom.register_dependency(product, roots)
    for key, others in needs.items():
        bom.register_dependency(components[key], [components[other] for other in others])
    text: str = JsonV1Dot6(bom).output_as_string(indent=2)
    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if fault:
        raise SystemExit(f"the bill of materials is not valid: {fault}")
    return text + "\n"


def main(licences_file: str, bom_file: str) -> None:
    """Write both files."""
    packages, needs = linked()
    version = next(package["version"] for package in packages.values() if package["name"] == ROOTS[0])
    others = [package for package in packages.values() if package["source"]]
    Path(licences_file).write_text(licences(others), encoding="utf-8")
    Path(bom_file).write_text(bill_of_materials(packages, needs, version), encoding="utf-8")
    print(f"{len(others)} crates of others in {licences_file} and {bom_file}")


if __name__ == "__main__":
    main(*sys.argv[1:])
