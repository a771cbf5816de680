"""The PEP 517 backend behind ``pip install .``: CMake builds and installs, this packs the wheel.

It uses the standard library only, so that an isolated build downloads nothing. Environment:
CMAKE_ARGS holds further arguments of CMake. Settings (``--config-settings``): ``build-dir`` names a
configured build folder to take the operators from, instead of a new one.
"""

import base64
import hashlib
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("CMakeLists.txt", "LICENSE", "README.md", "cmake", "filigree/CMakeLists.txt")
SOURCES += ("filigree/entmax", "pyproject.toml", "python")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as folder:
        build = (config_settings or {}).get("build-dir")
        if build is None:
            build = f"{folder}/build"
            _configure(build)
        _cmake("--build", build, "--target", "filigree_operators", "--parallel", os.cpu_count())
        _cmake("--install", build, "--component", "python", "--prefix", f"{folder}/prefix")
        package = next(Path(folder, "prefix").rglob("filigree/__init__.py")).parent
        return _pack(package, Path(wheel_directory))


def build_sdist(sdist_directory, config_settings=None):
    base = f"filigree-{_version()}"
    with tarfile.open(Path(sdist_directory, f"{base}.tar.gz"), "w:gz") as archive:
        for source in SOURCES:
            archive.add(ROOT / source, f"{base}/{source}", filter=_without_caches)
        metadata = _metadata().encode()
        entry = tarfile.TarInfo(f"{base}/PKG-INFO")
        entry.size = len(metadata)
        archive.addfile(entry, BytesIO(metadata))
    return f"{base}.tar.gz"


def _without_caches(entry):
    return None if "__pycache__" in entry.name else entry


def _cmake(*arguments):
    subprocess.run(["cmake", *map(str, arguments)], check=True)


def _configure(build):
    arguments = ["-D", "FILIGREE_OPERATORS_ONLY=ON", "-D", "FILIGREE_BUILD_TESTS=OFF"]
    arguments += ["-D", f"FILIGREE_PYTHON={sys.executable}", "-D", "FILIGREE_PYTHON_DIR=python"]
    # An isolated build cannot import the PyTorch that the package is for, but it can see it lie
    # there. Debian's is found by CMake itself.
    places = {sysconfig.get_path("platlib"), sysconfig.get_path("purelib")}
    for place in sorted(places):
        config = Path(place, "torch", "share", "cmake", "Torch")
        if config.is_dir():
            arguments += ["-D", f"Torch_DIR={config}"]
    arguments += shlex.split(os.environ.get("CMAKE_ARGS", ""))
    _cmake("-S", ROOT, "-B", build, *arguments)


def _version():
    project = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(filigree VERSION (\S+)", project).group(1)


def _metadata():
    return (
        "Metadata-Version: 2.1\n"
        "Name: filigree\n"
        f"Version: {_version()}\n"
        "Summary: Alpha-entmax for PyTorch: attention weights and losses with exact zeros\n"
        "License: MIT\n"
        "Requires-Python: >=3.8\n"
        "Requires-Dist: torch\n"
    )


def _pack(package, directory):
    # The library depends on the platform and on PyTorch, but on no version of Python.
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    information = f"filigree-{_version()}.dist-info"
    contents = {f"filigree/{file.name}": file.read_bytes() for file in sorted(package.iterdir())}
    contents[f"{information}/METADATA"] = _metadata().encode()
    contents[f"{information}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    wheel = f"Wheel-Version: 1.0\nGenerator: filigree\nRoot-Is-Purelib: false\nTag: {tag}\n"
    contents[f"{information}/WHEEL"] = wheel.encode()
    record = "".join(f"{name},{_digest(data)},{len(data)}\n" for name, data in contents.items())
    contents[f"{information}/RECORD"] = f"{record}{information}/RECORD,,\n".encode()
    name = f"filigree-{_version()}-{tag}.whl"
    with zipfile.ZipFile(directory / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in contents.items():
            archive.writestr(path, data)
    return name


def _digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
