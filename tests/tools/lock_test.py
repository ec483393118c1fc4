"""cmake/lock.cmake against a made-up deps.lock and a stand-in for dpkg-query: what it accepts and what it says."""

import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOCK = """release debian 12 bookworm amd64
apt build g++ 12.2
apt build libalpha-dev 3.1   # a remark
apt build libbeta-dev any
apt test libgamma-dev 1.12
apt fuzz clang-14 14.0
model tiny-model Tiny.gguf 00 1 tiny/Tiny.gguf
"""
INSTALLED = {"g++": "4:12.2.0-3", "libalpha-dev": "1:3.1.7+dfsg-1", "libbeta-dev": "20230311", "libgamma-dev": "1.12.1-0.2"}
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(lock_test LANGUAGES NONE)
set(CMAKE_CXX_COMPILER_ID {compiler})
set(CMAKE_CXX_COMPILER_VERSION {version})
include({root}/cmake/lock.cmake)
message(STATUS "default model: ${{SKUA_DEFAULT_MODEL}}")
"""


class Lock(unittest.TestCase):
    def configure(self, changed=None, status="installed", compiler=("GNU", "12.2.0"), settings=("-DSKUA_TESTS=ON",)):
        versions = {**INSTALLED, **(changed or {})}
        rows = "".join(f"{status if name in (changed or {}) else 'installed'} {name} {version}\n"
                       for name, version in versions.items() if version)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "deps.lock").write_text(LOCK)
            (path / "CMakeLists.txt").write_text(PROJECT.format(compiler=compiler[0], version=compiler[1], root=ROOT))
            stand_in = path / "dpkg-query"
            stand_in.write_text(f"#!/bin/sh\ncat <<'END'\n{rows}END\nexit 1\n")
            stand_in.chmod(0o755)
            command = ["cmake", "-G", "Ninja", "-S", folder, "-B", f"{folder}/b", f"-DSKUA_DPKG_QUERY={stand_in}", *settings]
            result = subprocess.run(command, capture_output=True, text=True)
        return result.returncode, " ".join((result.stdout + result.stderr).split())

    def assert_accepted(self, *arguments, **named):
        code, text = self.configure(*arguments, **named)
        self.assertEqual(code, 0, text)

    def assert_refused(self, message, *arguments, **named):
        code, text = self.configure(*arguments, **named)
        self.assertNotEqual(code, 0, text)
        self.assertIn(message, text)

    def test_accepts_what_fits_and_names_the_model(self):
        code, text = self.configure()
        self.assertEqual(code, 0, text)
        self.assertIn("default model: tiny-model", text)

    def test_accepts_security_updates(self):
        self.assert_accepted({"libalpha-dev": "1:3.1.9+dfsg-1+deb12u4", "libbeta-dev": "20250419~deb12u1"})
        self.assert_accepted({"libalpha-dev": "3.1-20221030-2"})

    def test_refuses_another_version_and_says_both(self):
        message = "libalpha-dev: expected 3.1, got 1:3.2.0-1"
        self.assert_refused(message, {"libalpha-dev": "1:3.2.0-1"})
        self.assert_refused("Run ./quickstart build", {"libalpha-dev": "1:3.2.0-1"})
        self.assert_refused("libalpha-dev: expected 3.1, got 3.11.2-2", {"libalpha-dev": "3.11.2-2"})
        self.assert_refused("libalpha-dev: expected 3.1, got 3", {"libalpha-dev": "3"})

    def test_refuses_a_missing_or_removed_package(self):
        self.assert_refused("libalpha-dev: expected 3.1, got none", {"libalpha-dev": None})
        self.assert_refused("g++: expected 12.2, got none", {"g++": None})
        self.assert_refused("libalpha-dev: expected 3.1, got none", {"libalpha-dev": "3.1.7-1"}, status="config-files")

    def test_groups_count_only_where_they_are_needed(self):
        self.assert_refused("libgamma-dev: expected 1.12, got none", {"libgamma-dev": None})
        self.assert_accepted({"libgamma-dev": None}, settings=["-DSKUA_TESTS=OFF"])
        self.assert_refused("clang-14: expected 14.0, got none", settings=["-DSKUA_FUZZ=ON"])

    def test_refuses_another_compiler(self):
        self.assert_accepted(compiler=("Clang", "14.0.6"))
        self.assert_refused("expected g++ 12.2 (or clang 14.0 for tools/fuzz), got GNU 11.4.0", compiler=("GNU", "11.4.0"))
        self.assert_refused("got Clang 16.0.6", compiler=("Clang", "16.0.6"))
        self.assert_refused("got Intel 12.2", compiler=("Intel", "12.2"))

    def test_can_be_switched_off(self):
        self.assert_accepted({"g++": None}, settings=["-DSKUA_ASSERT_DEPS=OFF"])


if __name__ == "__main__":
    unittest.main()
