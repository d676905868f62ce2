#!/usr/bin/env python3
"""The libraries that draw a report's graphs: copies of what their npm packages hold.

    scripts/page_libraries.py            writes them anew, in the versions of libraries.json
    scripts/page_libraries.py --check    says which differ from their package

They stand in the repository, so that a page is built without a network. To renew one, change its
version in syncopate/show/page/libraries/libraries.json and run this; it needs npm. Exit status: 0;
1 when a file differs, or a package cannot be had.
"""

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "syncopate/show/page/libraries"
SUMS = FOLDER / "SHA256SUMS"  # as of sha256sum


def packed(name: str, version: str, folder: Path) -> Path:
    """The archive of a package, got by npm into a folder."""
    done = subprocess.run(
        ["npm", "pack", "--silent", f"{name}@{version}"],
        cwd=folder, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"page_libraries: npm has no {name}@{version}, or no network")
    return folder / done.stdout.strip().splitlines()[-1]


def wanted() -> dict[str, bytes]:
    """The files by their names here, as the packages have them."""
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, of in json.loads((FOLDER / "libraries.json").read_text()).items():
            with tarfile.open(packed(name, of["version"], Path(folder))) as archive:
                for path, here in of["files"].items():
                    files[here] = archive.extractfile(f"package/{path}").read()
    return files


def main() -> int:
    files = wanted()
    sums = [f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)]
    if "--check" not in sys.argv[1:]:
        for name, content in files.items():
            (FOLDER / name).write_bytes(content)
        SUMS.write_text("".join(sums))
        return 0
    others = [name for name, of in files.items() if (FOLDER / name).read_bytes() != of]
    others += ["SHA256SUMS"] if SUMS.read_text() != "".join(sums) else []
    for name in others:
        print(f"page_libraries: {FOLDER / name} is not what its package has")
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
